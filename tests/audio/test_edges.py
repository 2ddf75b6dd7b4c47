"""The edge detector against sound whose edges are known."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from apex_tui.audio.edges import (
    OFFSET_BIAS,
    ONSET_BIAS,
    PARAMETERS,
    Edge,
    EdgeDetector,
    audible_edges,
    pauses,
    segments,
)
from apex_tui.audio.floor import NoiseFloor
from apex_tui.audio.frames import RATE, Pcm, silence, to_ms, to_samples

TOLERANCE = to_samples(10)


def tone(ms: float, amplitude: float = 0.3, hz: float = 220.0) -> Pcm:
    t = np.arange(to_samples(ms)) / RATE
    pcm: Pcm = np.rint(amplitude * 32_767 * np.sin(2 * np.pi * hz * t)).astype(np.int16)
    return pcm


def noise(ms: float, amplitude: float, seed: int) -> Pcm:
    values = np.random.default_rng(seed).uniform(-amplitude, amplitude, to_samples(ms))
    pcm: Pcm = np.rint(values * 32_767).astype(np.int16)
    return pcm


def lane(*parts: Pcm | float) -> Pcm:
    """Join audio; a number is that many milliseconds of silence."""
    return np.concatenate([part if isinstance(part, np.ndarray) else silence(to_samples(part)) for part in parts])


def speech_like(seed: int, peak: float) -> NDArray[np.float64]:
    """Harmonics of a voice with noise, syllables at 4 Hz, an attack of 2-15 ms and a decay of 10-60 ms."""
    rng = np.random.default_rng(seed)
    t = np.arange(to_samples(rng.uniform(300, 1200))) / RATE
    pitch = rng.uniform(90, 240)
    voice = sum(np.sin(2 * np.pi * h * pitch * t + rng.uniform(0, 6.28)) / h for h in range(1, int(4000 / pitch)))
    sound = voice / np.abs(voice).max() + 0.05 * rng.standard_normal(len(t))
    sound *= 0.55 + 0.45 * np.sin(2 * np.pi * 4 * t + rng.uniform(0, 6.28))
    attack, decay = to_samples(rng.uniform(2, 15)), to_samples(rng.uniform(10, 60))
    sound[:attack] *= np.sin(np.linspace(0, np.pi / 2, attack)) ** 2
    sound[-decay:] *= np.cos(np.linspace(0, np.pi / 2, decay)) ** 2
    shaped: NDArray[np.float64] = sound * peak / np.abs(sound).max()
    return shaped


def true_edges(sound: NDArray[np.float64]) -> tuple[int, int]:
    """Where the 5 ms RMS crosses 35 dB below its peak (the middle of the window)."""
    window = to_samples(5)
    rms = np.sqrt(np.convolve(sound**2, np.ones(window) / window)[: len(sound)])
    loud = np.nonzero(rms >= rms.max() * 10 ** (-35 / 20))[0]
    return int(loud[0]) - window // 2, int(loud[-1]) - window // 2


def errors_ms(peak: float) -> tuple[list[float], list[float]]:
    onsets, offsets = [], []
    for seed in range(60):
        sound = speech_like(seed, peak)
        lead = 7_000 + 37 * seed  # every place on the hop grid
        first, last = true_edges(sound)
        pcm = lane(silence(lead), np.rint(sound * 32_767).astype(np.int16), 400)
        onset, offset = audible_edges(pcm)
        onsets.append(to_ms(onset - lead - first))
        offsets.append(to_ms(offset - lead - last))
    return onsets, offsets


@pytest.mark.parametrize("amplitude", [0.3, 0.03])
@pytest.mark.parametrize("lead", [7_200, 7_201, 7_259, 7_319])
@pytest.mark.parametrize("kind", ["tone", "noise"])
def test_sharp_edges_are_found_within_3_ms_at_any_level(kind: str, lead: int, amplitude: float) -> None:
    burst = tone(433, amplitude) if kind == "tone" else noise(433, amplitude, seed=lead)
    onset, offset = audible_edges(lane(silence(lead), burst, 500))
    assert abs(onset - lead) <= to_samples(3.1)
    assert abs(offset - lead - len(burst)) <= to_samples(3.1)


@pytest.mark.parametrize("peak", [0.4, 0.04])
def test_speech_like_edges_are_found_within_10_ms_also_20_db_quieter(peak: float) -> None:
    onsets, offsets = errors_ms(peak)
    assert max(map(abs, onsets)) <= 10
    assert np.percentile(np.abs(offsets), 95) <= 10


def test_the_bias_is_calibrated() -> None:
    onsets, offsets = errors_ms(0.4)
    assert abs(np.median(onsets)) <= 1.5
    assert abs(np.median(offsets)) <= 1.5
    assert PARAMETERS["onset_bias_ms"] == to_ms(ONSET_BIAS) == -7.0
    assert PARAMETERS["offset_bias_ms"] == to_ms(OFFSET_BIAS) == 8.0


@pytest.mark.parametrize("shift", [0, 31, 60, 119])
@pytest.mark.parametrize(("gap_ms", "count"), [(100, 1), (240, 1), (260, 2), (400, 2)])
def test_a_gap_under_250_ms_does_not_close_a_segment(gap_ms: float, count: int, shift: int) -> None:
    first, second = tone(400), tone(300)
    pcm = lane(silence(4800 + shift), first, gap_ms, second, 600)
    found = segments(pcm)
    assert len(found) == count
    assert abs(found[0][0] - 4800 - shift) <= TOLERANCE
    end = 4800 + shift + len(first) + to_samples(gap_ms) + len(second)
    assert abs(found[-1][1] - end) <= TOLERANCE
    if count == 2:
        ((start, stop),) = pauses(pcm)
        assert abs(stop - start - to_samples(gap_ms)) <= TOLERANCE
        assert pauses(pcm, shortest_ms=500) == []


def test_when_an_edge_is_known() -> None:
    detector = EdgeDetector()
    found: list[Edge] = []
    pcm = lane(200, tone(300), 400)
    for start in range(0, len(pcm), 480):
        found += detector.feed(pcm[start : start + 480])
    on, off = found
    assert (on.kind, off.kind) == ("on", "off")
    assert to_samples(200) < on.known_at <= to_samples(200 + 15)
    assert to_samples(500 + 240) <= off.known_at <= to_samples(500 + 265)
    assert detector.finish() == []


def told(detector: EdgeDetector) -> tuple[bool, bool, int]:
    return detector.active, detector.audible, detector.last_audible


def test_what_it_says_in_between() -> None:
    detector = EdgeDetector()
    detector.feed(silence(480))
    assert told(detector) == (False, False, 0)
    assert detector.floor_db == -75.0
    detector.feed(tone(20))
    assert told(detector) == (True, True, 960)
    detector.feed(silence(480))
    assert told(detector) == (True, False, 960 + 120)  # a gap so far; one more window covered the tone
    for _ in range(14):
        detector.feed(silence(480))
    assert told(detector) == (False, False, 960 + 120)


def test_finish_closes_at_the_last_sample() -> None:
    pcm = lane(100, tone(333))
    detector = EdgeDetector()
    (on,) = detector.feed(pcm)
    (off,) = detector.finish()
    assert off.kind == "off"
    assert abs(off.at - len(pcm)) <= to_samples(3)
    assert off.at <= len(pcm) == off.known_at
    assert on.at < off.at
    assert detector.finish() == []
    assert not detector.active
    with pytest.raises(RuntimeError, match="finished"):
        detector.feed(silence(480))


def test_sound_from_the_first_to_the_last_sample() -> None:
    onset, offset = audible_edges(tone(500))
    assert 0 <= onset <= to_samples(3)
    assert to_samples(497) <= offset <= to_samples(500)


def test_silence_has_no_edges() -> None:
    assert segments(silence(RATE)) == []
    assert segments(silence(0)) == []
    with pytest.raises(ValueError, match="nothing audible"):
        audible_edges(noise(1000, amplitude=1 / 32_767, seed=1))


def test_a_click_is_a_segment_of_positive_length() -> None:
    click = lane(200, np.array([20_000], dtype=np.int16), 400)
    ((onset, offset),) = segments(click)
    assert 0 < offset - onset <= to_samples(10)
    assert abs(onset - to_samples(200)) <= TOLERANCE


def test_the_floor_follows_noise_that_rises_below_the_threshold_and_is_frozen_in_speech() -> None:
    detector = EdgeDetector()
    hum = noise(3000, amplitude=10 ** (-66 / 20) * 3**0.5, seed=3)
    assert detector.feed(hum) == []
    assert detector.floor_db == pytest.approx(-66, abs=2)
    before = detector.floor_db
    detector.feed(tone(2000))
    assert detector.floor_db == before


def test_a_measured_floor_may_be_given_and_is_clamped() -> None:
    room = noise(2000, amplitude=10 ** (-55 / 20) * 3**0.5, seed=4)
    assert EdgeDetector().feed(room) != []
    assert EdgeDetector(floor_db=-55).feed(room) == []
    assert EdgeDetector(floor_db=-10).floor_db == -45.0
    assert EdgeDetector(floor_db=-99).floor_db == -75.0


def test_the_floor_is_the_10th_percentile_of_what_it_was_given() -> None:
    floor = NoiseFloor()
    for n in range(1000):
        floor.add(10 ** ((-70.0 if n % 5 == 0 else -60.0) / 10) * 1.0001)
    assert floor.db == -70.0
    for _ in range(40_000):
        floor.add(10 ** (-60.0 / 10) * 1.0001)
    assert floor.db == -60.0


@given(st.lists(st.integers(1, 5000), max_size=6), st.integers(0, 2))
def test_silence_is_counted_in_bulk_as_one_by_one(counts: list[int], between: int) -> None:
    bulk, single = NoiseFloor(-60.0), NoiseFloor(-60.0)
    for count in counts:
        bulk.add_silence(count)
        for _ in range(count):
            single.add(0.0)
        for _ in range(between * 50):
            bulk.add(1e-5)
            single.add(1e-5)
        assert bulk.db == single.db


parts = st.lists(
    st.tuples(st.sampled_from(["silence", "tone", "noise", "hum", "loud"]), st.integers(1, 9000)),
    min_size=1,
    max_size=6,
)


def build(drawn: list[tuple[str, int]]) -> Pcm:
    levels = {"silence": 0.0, "tone": 0.1, "noise": 0.05, "hum": 0.0007, "loud": 0.9}
    made = [
        tone(to_ms(count), levels[kind])[:count] if kind == "tone" else noise(to_ms(count), levels[kind], count)[:count]
        for kind, count in drawn
    ]
    return np.concatenate(made)


@settings(deadline=None, max_examples=60)
@given(parts, st.lists(st.sampled_from([480, 480, 480, 960, 1, 119, 240, 3000]), max_size=60))
def test_how_the_lane_is_cut_does_not_matter(drawn: list[tuple[str, int]], cuts: list[int]) -> None:
    pcm = build(drawn)
    once = EdgeDetector()
    expected = once.feed(pcm)
    pieces = EdgeDetector()
    found: list[Edge] = []
    at = 0
    for cut in [*cuts, *[480] * (len(pcm) // 480 + 1)]:
        found += pieces.feed(pcm[at : at + cut])
        at = min(len(pcm), at + cut)
    state = ("active", "audible", "last_audible", "floor_db")
    assert found == expected
    assert [getattr(pieces, name) for name in state] == [getattr(once, name) for name in state]
    assert pieces.finish() == once.finish()


@settings(deadline=None, max_examples=60)
@given(parts)
def test_edges_alternate_and_never_lie_in_the_future(drawn: list[tuple[str, int]]) -> None:
    pcm = build(drawn)
    detector = EdgeDetector()
    found = [*detector.feed(pcm), *detector.finish()]
    assert [edge.kind for edge in found] == ["on", "off"] * (len(found) // 2)
    assert all(0 <= edge.at <= edge.known_at <= len(pcm) for edge in found)
    assert [edge.at for edge in found] == sorted(edge.at for edge in found)


def test_silence_is_nearly_free_and_speech_is_cheap() -> None:
    speech = np.rint(speech_like(1, 0.4) * 32_767).astype(np.int16)
    frames = [speech[at : at + 480] for at in range(0, len(speech) - 480, 480)]
    zero = silence(480)
    detector = EdgeDetector()

    def each_us(work: list[Pcm]) -> float:
        best = float("inf")
        for _ in range(5):
            began = time.process_time()
            for frame in work:
                detector.feed(frame)
            best = min(best, (time.process_time() - began) / len(work) * 1e6)
        return best

    # 9 us and 2 us on a quiet machine; the margins are for a shared one.
    assert each_us(frames) < 150
    for _ in range(15):
        detector.feed(zero)
    assert each_us([zero] * 1000) < 40
