"""Ears in a room that is never quiet: hints tell every utterance, so babble is neither a turn nor the end of one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from apex_tui.agents.rehearsal.ears import PERSON, Ears, Heard
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import Hint
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, to_ms, to_samples

RNG = random.Random(3)
BABBLE: Pcm = np.asarray([RNG.randint(-900, 900) for _ in range(24_000)], dtype=np.int16)


def hear(hints: dict[int, Hint], frames: int) -> list[tuple[str, str | None, float, float]]:
    """(kind, plan, edge in ms, time in ms) with hints arriving before the frame of their number; the room babbles all the time."""
    ears = Ears(Manner())
    found: list[tuple[str, str | None, float, float]] = []

    def note(heard: Heard, now: float) -> None:
        found.append(
            (heard.kind, heard.turn.hint.plan if heard.turn.hint else None, to_ms(heard.sample), round(now * 1000, 3))
        )

    for frame in range(frames):
        if frame in hints:
            ears.hint(hints[frame])
        end = (frame + 1) * 0.02
        while (due := ears.next_due()) is not None and due < end:
            for heard in ears.poll(due):
                note(heard, due)
        at = frame % 50 * FRAME_SAMPLES
        ears.feed(BABBLE[at : at + FRAME_SAMPLES], end)
        for heard in ears.poll(end):
            note(heard, end)
    return found


def hint(plan: str, from_ms: float, until_ms: float) -> Hint:
    return Hint(1, plan, "ANSWER", plan, to_samples(from_ms), to_samples(until_ms))


def test_hinted_turns_are_heard_at_their_own_edges_in_babble() -> None:
    heard = hear({0: hint("one", 500, 1500), 150: hint("two", 3210, 4000)}, 300)
    assert heard == [
        ("began", "one", 500.0, 590.0),
        ("ended", "one", 1500.0, 1800.0),
        ("began", "two", 3210.0, 3300.0),
        ("ended", "two", 4000.0, 4300.0),
    ]


def test_babble_that_was_taken_for_the_caller_goes_over_into_the_caller() -> None:
    heard = hear({20: hint("one", 500, 1500)}, 120)
    assert [(kind, plan) for kind, plan, _, _ in heard] == [("began", None), ("ended", "one")]
    assert heard[1][2:] == (1500.0, 1800.0)


def plainly(lane: Pcm, person_from: int | None = None) -> list[tuple[str, float]]:
    """(kind, edge in ms) without hints; from frame ``person_from`` on a person has the call."""
    ears, found = Ears(Manner()), list[tuple[str, float]]()
    for frame in range(len(lane) // FRAME_SAMPLES):
        if frame == person_from:
            ears.hint(Hint(0, "person", PERSON, "", ears.samples, ears.samples))
        ears.feed(lane[frame * FRAME_SAMPLES : (frame + 1) * FRAME_SAMPLES], (frame + 1) * 0.02)
        found += [(heard.kind, to_ms(heard.sample)) for heard in ears.poll((frame + 1) * 0.02)]
    return found


def in_a_room(*loud: tuple[float, float, float], silent_ms: float = 0.0) -> Pcm:
    """Twelve seconds: digital silence, then a room of -60 dBFS in which somebody speaks from 5 to 6 s, and other noises (from, to, amplitude)."""
    noise = np.random.default_rng(5)
    lane = noise.normal(size=12 * 24_000) * 33
    for begin, end, amplitude in loud:
        lane[to_samples(begin) : to_samples(end)] += noise.normal(size=to_samples(end) - to_samples(begin)) * amplitude
    words = np.arange(24_000)
    lane[5 * 24_000 : 6 * 24_000] += 6000 * np.sin(words / 17) * np.where(words % 4800 < 3400, 1.0, 0.2)
    lane[: to_samples(silent_ms)] = 0
    return np.asarray(lane, dtype=np.int16)


@pytest.mark.parametrize("silent_ms", [0.0, 300.0, 2000.0])
def test_a_person_is_heard_and_answered_in_an_ordinary_room(silent_ms: float) -> None:
    heard = plainly(in_a_room(silent_ms=silent_ms))
    assert [kind for kind, _ in heard] == ["began", "ended"]
    assert [at for _, at in heard] == pytest.approx([5000, 6000], abs=20)


def test_a_person_who_takes_over_brings_their_room_along() -> None:
    heard = plainly(in_a_room(silent_ms=2000), person_from=100)
    assert [round(at, -2) for _, at in heard] == [5000, 6000]


def test_a_fan_is_taken_for_the_caller_for_a_second_and_a_half_at_most() -> None:
    heard = plainly(in_a_room((2000.0, 12_000.0, 250.0)))
    assert [kind for kind, _ in heard] == ["began", "ended"] * 2
    assert [at for _, at in heard[2:]] == pytest.approx([5000, 6000], abs=40)
