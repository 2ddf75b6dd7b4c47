"""Turns at a microphone: energy for the time, a confirmation that it is speech, and the remedies against echo."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

import numpy as np
import pytest

from apex_tui.audio import echo
from apex_tui.audio.echo import Canceller, HalfDuplexGate, Headphones, open_echo
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, level_db, to_ms, to_samples
from apex_tui.audio.turns import Heard, SileroVad, TurnFinder, find_vad

RNG = np.random.default_rng(11)


def lane(seconds: float, *sounds: tuple[float, float, float], noise: int = 3) -> Pcm:
    """Noise, and sounds as (from ms, length ms, amplitude)."""
    out = RNG.integers(-noise, noise + 1, round(seconds * 24_000)).astype(np.int16)
    for at, ms, amplitude in sounds:
        time = np.arange(to_samples(ms)) / 24_000
        begin = to_samples(at)
        out[begin : begin + len(time)] += (amplitude * np.sin(2 * np.pi * 220 * time)).astype(np.int16)
    return out


def frames(pcm: Pcm) -> Iterable[Pcm]:
    return (pcm[at : at + FRAME_SAMPLES] for at in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES))


def follow(finder: TurnFinder, pcm: Pcm, agent_from_ms: float = float("inf")) -> list[Heard]:
    """The turns: a sound that may be one is told before it."""
    out = []
    for number, frame in enumerate(frames(pcm)):
        out += finder.feed(frame, number * 20 >= agent_from_ms)
    return [heard for heard in out if heard.kind in ("began", "ended")]


class ScriptedVad:
    """Says what is speech by the clock; one window a frame."""

    def __init__(self, *speech_ms: tuple[float, float]) -> None:
        self.speech = speech_ms
        self.samples = 0

    def feed(self, pcm: Pcm) -> list[float]:
        self.samples += len(pcm)
        return [0.9 if any(a <= to_ms(self.samples) <= b for a, b in self.speech) else 0.1]


def test_a_turn_is_dated_by_its_energy_and_ends_after_half_a_second() -> None:
    finder = TurnFinder()
    heard = follow(finder, lane(3, (1000, 600, 8000)))
    assert [turn.kind for turn in heard] == ["began", "ended"]
    assert [to_ms(turn.at) for turn in heard] == pytest.approx([1000, 1600], abs=8)
    assert to_ms(heard[0].known_at) <= 1000 + 150
    assert to_ms(heard[1].known_at) == pytest.approx(2100, abs=40)
    assert (finder.turns, finder.rejected, finder.speaking) == (1, 0, False)


def test_pauses_between_words_belong_to_the_turn_and_an_answer_ends_it_sooner() -> None:
    words = lane(4, (1000, 400, 8000), (1800, 400, 8000))
    assert [to_ms(turn.at) for turn in follow(TurnFinder(), words)] == pytest.approx([1000, 2200], abs=8)
    heard = follow(TurnFinder(), words, agent_from_ms=2460)
    assert to_ms(heard[1].at) == pytest.approx(2200, abs=8)
    assert to_ms(heard[1].known_at) < 2520


def test_a_click_is_no_turn() -> None:
    finder = TurnFinder()
    assert follow(finder, lane(2, (1000, 20, 20_000))) == []
    assert finder.rejected == 1


def test_speech_must_be_confirmed_within_a_quarter_of_a_second() -> None:
    door = lane(3, (1000, 500, 8000))
    finder = TurnFinder(ScriptedVad())
    assert follow(finder, door) == []
    assert (finder.turns, finder.rejected) == (0, 1)
    heard = follow(TurnFinder(ScriptedVad((1200, 1500))), door)
    assert to_ms(heard[0].at) == pytest.approx(1000, abs=8)  # the energy gives the time, whenever it is confirmed
    assert to_ms(heard[0].known_at) == pytest.approx(1200, abs=20)


def test_speech_that_rises_out_of_a_noise_is_dated_by_the_detector() -> None:
    fan_then_words = lane(4, (1000, 2500, 900), (2000, 1000, 8000))
    heard = follow(TurnFinder(ScriptedVad((2051, 3050))), fan_then_words)
    assert to_ms(heard[0].at) == pytest.approx(2000, abs=40)


def test_the_room_is_measured_before_the_first_edge_is_looked_for() -> None:
    loud = 100  # -57 dBFS: 12 dB above it is far above the -75 that clean audio begins with
    finder = TurnFinder()
    heard = follow(finder, lane(4, (2000, 500, 8000), noise=loud))
    assert [to_ms(turn.at) for turn in heard] == pytest.approx([2000, 2500], abs=20)
    assert finder.noise_db == pytest.approx(level_db(lane(1, noise=loud)), abs=2)
    early = follow(TurnFinder(), lane(2, (100, 600, 8000)))
    assert to_ms(early[0].at) == pytest.approx(100, abs=8)


@pytest.mark.parametrize(("amplitude", "error"), [(16_000, 10.0), (1500, 31.0)])
def test_the_stated_error_widens_in_noise(amplitude: float, error: float) -> None:
    finder = TurnFinder()
    follow(finder, lane(3, (1000, 600, amplitude), noise=140))
    assert finder.error_ms == pytest.approx(error, abs=8)


def test_a_turn_that_is_open_at_the_end_ends_there() -> None:
    finder = TurnFinder()
    follow(finder, lane(2, (1000, 1000, 8000)))
    assert [to_ms(turn.at) for turn in finder.finish()] == pytest.approx([2000], abs=15)
    assert finder.finish() == []


def test_a_sound_is_told_at_its_edge_and_decided_later() -> None:
    finder = TurnFinder(ScriptedVad((3150, 4000)))
    told, pending = [], []
    for frame in frames(lane(5, (1000, 400, 8000), (3000, 900, 8000))):
        told += finder.feed(frame)
        pending.append(finder.undecided)
    assert [heard.kind for heard in told] == ["sound", "refused", "sound", "began", "ended"]
    assert [to_ms(heard.at) for heard in told] == pytest.approx([1000, 1000, 3000, 3000, 3900], abs=10)
    assert [to_ms(heard.known_at) for heard in told[:4]] == pytest.approx([1010, 1260, 3010, 3160], abs=20)
    assert sum(pending) * 20 == pytest.approx(250 + 150, abs=40)
    finder.feed(lane(0.1, (0, 100, 8000)))
    assert [heard.kind for heard in finder.finish()] == ["refused"]


def test_a_shut_microphone_and_the_agents_sound_say_nothing_of_the_room() -> None:
    voice = lane(24, (20_000, 600, 8000), noise=60)
    finder = TurnFinder()
    told = []
    for number, frame in enumerate(frames(voice)):
        shut, agent = 1 <= number / 50 < 9, 10 <= number / 50 < 18
        residual = (frame // 20).astype(np.int16) if agent else frame
        told += finder.feed(frame * 0 if shut else residual, agent, shut)
    assert [heard.kind for heard in told] == ["sound", "began", "ended"]  # not an endless turn of the room's own noise
    assert [to_ms(heard.at) for heard in told[1:]] == pytest.approx([20_000, 20_600], abs=20)
    assert finder.noise_db == pytest.approx(level_db(lane(1, noise=60)), abs=2)


@pytest.mark.parametrize("vad", [None, ScriptedVad((8050, 8700))])
def test_a_fan_that_is_switched_on_becomes_the_room(vad: ScriptedVad | None) -> None:
    fan = np.concatenate((lane(3), lane(12, (5000, 600, 8000), noise=500)))
    finder = TurnFinder(vad)
    heard = follow(finder, fan)
    if vad is None:
        assert (heard[0].kind, heard.pop(0).kind) == ("began", "began")  # nothing tells it from a voice at first
        assert to_ms(heard[0].known_at) == pytest.approx(4500, abs=40)
        assert to_ms(heard.pop(0).at) < 3100
    assert [to_ms(turn.at) for turn in heard] == pytest.approx([8000, 8600], abs=40)


def test_a_turn_in_noise_that_moves_ends_when_the_detector_hears_no_speech_any_more() -> None:
    music = lane(8, *((at, 150, 3000) for at in range(1000, 7800, 200)))
    heard = follow(TurnFinder(ScriptedVad((2050, 3060))), music)
    assert [to_ms(turn.at) for turn in heard] == pytest.approx([2000, 3000], abs=40)


def test_a_pause_while_the_agent_goes_on_speaking_is_no_end() -> None:
    words = lane(4, (1000, 400, 8000), (1800, 400, 8000))
    assert [to_ms(turn.at) for turn in follow(TurnFinder(), words, agent_from_ms=600)] == pytest.approx(
        [1000, 2200], abs=8
    )


def test_the_gate_is_shut_from_the_first_sound_to_the_end_of_its_echo() -> None:
    gate = HalfDuplexGate()
    voice, agent, nothing = lane(0.02, (0, 20, 8000)), lane(0.02, (0, 20, 8000)), lane(0.02, noise=0)
    passed = []
    for number in range(40):
        passed.append(bool(gate.clean(voice, 60.0, speaking=False).any()))
        gate.played(agent if 5 <= number < 10 else nothing)
    shut = [number for number, through in enumerate(passed) if not through]
    assert shut == list(range(6, 10 + 13))  # 60 ms of way and 200 ms of room after the last frame
    assert gate.kind == "gate"


def test_what_stands_against_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_echo("auto", True)[0].kind == "none"
    assert open_echo("none", False)[1] is None
    kept, banner = open_echo("gate", True)
    assert kept.kind == "gate"
    assert "as you asked" in (banner or "")
    assert Headphones().clean(lane(0.02), 0.0, False) is not None

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    missing, banner = open_echo("auto", False)
    assert missing.kind == "gate"
    assert echo.INSTALL in (banner or "")
    assert find_vad() is None

    def broken(name: str) -> None:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr("importlib.import_module", broken)
    assert "cannot start (RuntimeError)" in (open_echo("cancel", False)[1] or "")


def test_windows_of_the_speech_detector_are_half_a_frame_and_more() -> None:
    sizes = []

    def process(window: bytearray) -> float:
        sizes.append(len(window))
        return 0.25

    vad = SileroVad(process)
    told = [p for frame in frames(lane(1)) for p in vad.feed(frame)]
    assert told == [0.25] * 31
    assert set(sizes) == {4 * 512}


def test_what_the_canceller_takes_away_is_told_of_the_echo_alone() -> None:
    class Library:
        """Takes 20 dB of everything away, but not while ``spoken``."""

        spoken = False

        class AudioFrame:
            def __init__(self, data: bytes, *_: int) -> None:
                self.data = data

        class apm:
            class AudioProcessingModule:
                def __init__(self, **_: bool) -> None: ...
                def set_stream_delay_ms(self, _: int) -> None: ...
                def process_reverse_stream(self, _: object) -> None: ...
                def process_stream(self, frame: Library.AudioFrame) -> None:
                    if not Library.spoken:
                        frame.data = (np.frombuffer(frame.data, dtype=np.int16) // 10).tobytes()

    canceller = Canceller(Library)
    sound = lane(0.02, (0, 20, 3000))

    def hear(number: int, speaking: bool = False, undecided: bool = False) -> None:
        for _ in range(number):
            canceller.played(sound)
            canceller.clean(sound, 60.0, speaking, undecided)

    hear(50)
    assert canceller.erle_db == pytest.approx(20, abs=0.5)
    Library.spoken = True
    hear(3)  # the person's first sounds, before the edge is known
    hear(6, undecided=True)
    hear(10, speaking=True)
    assert canceller.erle_db == pytest.approx(20, abs=0.5)
    hear(20, undecided=True)
    hear(1)  # it was no voice: an echo that got through counts
    assert (canceller.erle_db or 0) < 15


needs_canceller = pytest.mark.skipif(
    importlib.util.find_spec("livekit") is None, reason="SKIPPED: the extra mic is not installed (livekit)"
)


@needs_canceller
def test_the_canceller_takes_the_agent_away_and_leaves_the_person() -> None:
    import importlib

    importlib.import_module("livekit.rtc.apm")
    canceller = Canceller(importlib.import_module("livekit.rtc"))
    time = np.arange(6 * 24_000) / 24_000
    agent = (
        6000 * np.sin(2 * np.pi * (200 + 90 * np.sin(2 * np.pi * 1.7 * time)) * time) * (np.sin(9 * time) > -0.4)
    ).astype(np.int16)
    echoed = np.concatenate((np.zeros(1440, dtype=np.int16), agent))[: len(agent)] // 10
    room = echoed + RNG.integers(-3, 4, len(agent)).astype(np.int16)
    left = []
    for heard, played in zip(frames(room), frames(agent), strict=True):
        left.append(canceller.clean(heard, 60.0, speaking=False))
        canceller.played(played)
    remains = level_db(np.concatenate(left)[2 * 24_000 :])
    assert level_db(echoed[2 * 24_000 :]) - remains > 15
    assert (canceller.erle_db or 0) > 15
    assert canceller.closed is False
