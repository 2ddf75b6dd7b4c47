"""Samples, milliseconds, bytes and levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.audio.frames import (
    FRAME_MS,
    FRAME_SAMPLES,
    RATE,
    level_db,
    pcm_bytes,
    pcm_from_bytes,
    silence,
    to_ms,
    to_samples,
)


def test_a_frame_is_20_ms_at_24_khz() -> None:
    assert (RATE, FRAME_MS, FRAME_SAMPLES) == (24_000, 20, 480)
    assert to_samples(FRAME_MS) == FRAME_SAMPLES


@pytest.mark.parametrize(("ms", "samples"), [(0, 0), (5, 120), (0.05, 1), (-8, -192), (1000.02, 24_000)])
def test_to_samples_rounds(ms: float, samples: int) -> None:
    assert to_samples(ms) == samples


@pytest.mark.parametrize(("samples", "ms"), [(0, 0.0), (1, 0.042), (480, 20.0), (24_001, 1000.042)])
def test_to_ms_keeps_three_decimals(samples: int, ms: float) -> None:
    assert to_ms(samples) == ms


@given(st.integers(-(10**9), 10**9))
def test_samples_survive_the_way_through_milliseconds(samples: int) -> None:
    assert to_samples(to_ms(samples)) == samples


def test_bytes_are_little_endian() -> None:
    assert pcm_bytes(np.array([1, -2, 256], dtype=np.int16)) == b"\x01\x00\xfe\xff\x00\x01"
    assert pcm_from_bytes(b"\x01\x00\xfe\xff\x00\x01").tolist() == [1, -2, 256]
    assert pcm_from_bytes(b"").tolist() == []


def test_samples_from_bytes_are_our_own() -> None:
    raw = bytearray(b"\x01\x00")
    pcm = pcm_from_bytes(raw)
    raw[0] = 9
    assert pcm.tolist() == [1]


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="even number of bytes, not 3"):
        pcm_from_bytes(b"abc")


def test_levels() -> None:
    assert level_db(np.full(100, -32_768, dtype=np.int16)) == 0.0
    tone = (3276.8 * np.sin(np.arange(RATE) * 2 * np.pi * 440 / RATE)).astype(np.int16)
    assert level_db(tone) == pytest.approx(-23.01, abs=0.02)
    assert level_db(silence(480)) == -120.0
    assert level_db(silence(0)) == -120.0
