from __future__ import annotations

import numpy as np
import pytest
from agent_kit import tone

from apex_tui.agents.rehearsal.ears import Ears, Heard
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import Hint
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, silence, to_ms, to_samples


class Room:
    """Ears that hear a lane frame by frame; ``heard`` holds (kind, edge in ms, time in ms)."""

    def __init__(self, manner: Manner | None = None) -> None:
        self.ears = Ears(manner or Manner())
        self.heard: list[tuple[str, float, float]] = []
        self.turns: list[Heard] = []

    def hint(self, plan: str, from_ms: float, to_ms_: float, act: str = "ANSWER") -> None:
        self.ears.hint(Hint(1, plan, act, plan, to_samples(from_ms), to_samples(to_ms_)))

    def hear(self, pcm: Pcm) -> None:
        for start in range(0, len(pcm), FRAME_SAMPLES):
            frame = pcm[start : start + FRAME_SAMPLES]
            end = (self.ears.samples + len(frame)) / 24_000
            while (due := self.ears.next_due()) is not None and due < end:
                self._poll(due)
            self.ears.feed(frame, end)
            self._poll(end)

    def _poll(self, now: float) -> None:
        for heard in self.ears.poll(now):
            self.heard.append((heard.kind, to_ms(heard.sample), round(now * 1000, 3)))
            self.turns.append(heard)

    def plans(self) -> list[str | None]:
        return [heard.turn.hint.plan if heard.turn.hint else None for heard in self.turns if heard.kind == "ended"]


def quiet(ms: float) -> Pcm:
    return silence(to_samples(ms))


def test_a_hint_dates_both_edges_exactly() -> None:
    room = Room()
    room.hint("a", 103, 803)
    room.hear(quiet(103))
    room.hear(tone(0.7))
    room.hear(quiet(997))
    assert room.heard == [("began", 103.0, 193.0), ("ended", 803.0, 1103.0)]
    assert room.plans() == ["a"]


def test_a_hinted_sound_that_never_comes_is_no_turn() -> None:
    room = Room()
    room.hint("a", 100, 800)
    room.hear(quiet(3000))
    room.hint("b", 3100, 3600)
    room.hear(quiet(100))
    room.hear(tone(0.5))
    room.hear(quiet(1000))
    assert room.plans() == ["b"]


def test_a_late_hint_names_the_turn_that_was_found() -> None:
    room = Room()
    room.hear(quiet(200))
    room.hear(tone(0.2))
    room.hint("late", 200, 900)
    room.hear(tone(0.5))
    room.hear(quiet(1000))
    assert [kind for kind, _, _ in room.heard] == ["began", "ended"]
    assert room.heard[1] == ("ended", 900.0, 1200.0)
    assert room.plans() == ["late"]


def test_a_late_hint_of_a_back_channel_calls_the_turn_off() -> None:
    room = Room()
    room.hear(quiet(200))
    room.hear(tone(0.06))
    room.hint("mm-hm", 200, 500, "BACKCHANNEL")
    room.hear(tone(0.24))
    room.hear(quiet(2000))
    assert room.heard == []


def test_words_right_after_a_back_channel_are_heard() -> None:
    room = Room()
    room.hint("mm-hm", 200, 500, "BACKCHANNEL")
    room.hint("then", 600, 1200)
    room.hear(quiet(200))
    room.hear(tone(0.3))
    room.hear(quiet(100))
    room.hear(tone(0.6))
    room.hear(quiet(1000))
    assert room.heard == [("began", 600.0, 690.0), ("ended", 1200.0, 1500.0)]


def test_an_unhinted_pause_shorter_than_the_endpoint_does_not_end_the_turn() -> None:
    room = Room()
    room.hear(quiet(200))
    room.hear(tone(0.4))
    room.hear(quiet(500))
    room.hear(tone(0.4))
    room.hear(quiet(2000))
    assert [kind for kind, _, _ in room.heard] == ["began", "ended"]
    assert room.heard[1][1] == pytest.approx(1500, abs=10)
    assert room.heard[1][2] - room.heard[1][1] == pytest.approx(700, abs=0.1)


def test_a_slow_ear_still_notices_a_short_turn_before_it_ends() -> None:
    room = Room(Manner(detect_ms=1500))
    room.hint("a", 100, 400)
    room.hear(quiet(100))
    room.hear(tone(0.3))
    room.hear(quiet(2000))
    assert room.heard == [("began", 100.0, 1600.0), ("ended", 400.0, 1600.0)]


def test_a_second_hint_waits_for_the_first_turn_also_when_foreknown() -> None:
    room = Room(Manner(detect_ms=0, foreknown=True))
    room.hint("a", 100, 400)
    room.hint("b", 1000, 1400)
    room.hear(quiet(100))
    room.hear(tone(0.3))
    room.hear(quiet(600))
    room.hear(tone(0.4))
    room.hear(quiet(1000))
    assert room.heard == [
        ("began", 100.0, 100.0),
        ("ended", 400.0, 700.0),
        ("began", 1000.0, 1000.0),
        ("ended", 1400.0, 1700.0),
    ]


def test_a_late_message_does_not_move_the_onset() -> None:
    ears = Ears(Manner())
    ears.hint(Hint(1, "a", "ANSWER", "a", 2400, 12_000))
    pcm = np.concatenate((quiet(100), tone(0.4)))
    for index in range(25):
        late = 0.030 if 5 <= index < 8 else 0.0
        ears.feed(pcm[index * 480 : (index + 1) * 480], (index + 1) * 0.02 + late)
        if index == 7:
            assert ears.next_due() == pytest.approx(0.190, abs=0.001)


def test_edges_do_not_depend_on_when_nothing_was_said() -> None:
    room = Room()
    room.hear(quiet(20_000))
    assert room.heard == []
    assert room.ears.next_due() is None
