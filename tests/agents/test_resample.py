"""The resampler at the wire: nothing shifted, nothing lost, nothing held back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.agents.resample import Resampler, Voices
from apex_tui.agents.seam import AgentAudio, AgentEvent, ReplyBegun, ReplyEnded
from apex_tui.audio.frames import Pcm, pcm_bytes, pcm_from_bytes

RATES = [(24_000, 16_000), (16_000, 24_000), (48_000, 24_000), (24_000, 48_000), (24_000, 8_000), (44_100, 24_000)]


def sine(rate: int, hz: float, seconds: float = 0.5) -> Pcm:
    wave: Pcm = (10_000 * np.sin(2 * np.pi * hz * np.arange(round(rate * seconds)) / rate)).astype(np.int16)
    return wave


@pytest.mark.parametrize(("rate_in", "rate_out"), RATES)
def test_a_tone_keeps_its_place_and_level(rate_in: int, rate_out: int) -> None:
    stream = Resampler(rate_in, rate_out)
    out = pcm_from_bytes(stream.feed(pcm_bytes(sine(rate_in, 440))) + stream.finish())
    wanted = sine(rate_out, 440)
    assert abs(len(out) - len(wanted)) <= 1
    middle = slice(500, len(wanted) - 500)
    assert np.abs(out[middle].astype(int) - wanted[middle].astype(int)).max() <= 60


@pytest.mark.parametrize(("rate_in", "rate_out"), RATES)
def test_at_most_two_milliseconds_are_held_back(rate_in: int, rate_out: int) -> None:
    stream = Resampler(rate_in, rate_out)
    fed = made = 0
    for frame in range(20):
        part = sine(rate_in, 300, 0.02 if frame % 3 else 0.0313)
        fed += len(part)
        made += len(stream.feed(pcm_bytes(part))) // 2
        assert 0 <= fed / rate_in - made / rate_out <= 0.0021


def test_what_the_lower_rate_cannot_hold_is_gone() -> None:
    stream = Resampler(24_000, 16_000)
    out = pcm_from_bytes(stream.feed(pcm_bytes(sine(24_000, 10_000))))
    assert np.abs(out[200:].astype(int)).max() < 300, "30 dB below at 10 kHz, which 16 kHz would show as 6 kHz"


@given(cuts=st.lists(st.integers(0, 700), max_size=12), rates=st.sampled_from(RATES))
def test_how_the_audio_is_cut_changes_nothing(cuts: list[int], rates: tuple[int, int]) -> None:
    pcm = np.random.default_rng(1).integers(-20_000, 20_000, 2_000).astype(np.int16)
    whole = Resampler(*rates)
    wanted = whole.feed(pcm_bytes(pcm)) + whole.finish()
    parts = Resampler(*rates)
    got, at = b"", 0
    for cut in cuts:
        got += parts.feed(pcm_bytes(pcm[at : at + cut]))
        at += cut
    got += parts.feed(pcm_bytes(pcm[at:])) + parts.finish()
    assert got == wanted


def test_equal_rates_are_left_alone() -> None:
    stream = Resampler(24_000, 24_000)
    assert (stream.feed(b"\x01\x02"), stream.finish()) == (b"\x01\x02", b"")


def test_items_have_streams_of_their_own_and_are_emptied_before_the_end() -> None:
    voices = Voices(48_000, 24_000)
    first = AgentAudio("r", "a", pcm_bytes(sine(48_000, 200, 0.1)))
    events: list[AgentEvent] = [ReplyBegun("r"), first, replace(first, item="b"), ReplyEnded("r", "completed")]
    out = voices.heard(events)
    assert isinstance(out[-1], ReplyEnded)
    per_item = {
        name: b"".join(event.pcm for event in out if isinstance(event, AgentAudio) and event.item == name)
        for name in "ab"
    }
    assert per_item["a"] == per_item["b"]
    assert len(per_item["a"]) == 2 * 2_400
