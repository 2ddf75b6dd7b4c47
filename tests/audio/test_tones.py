"""Tone speech, by the vector of the reference format."""

from __future__ import annotations

import numpy as np
import pytest

from apex_tui.audio.edges import audible_edges
from apex_tui.audio.frames import RATE, silence, to_samples
from apex_tui.audio.tones import tone_hz, tone_speech


def test_the_reference_vector() -> None:
    assert tone_hz("Hi, there.", "voice_03") == 187
    pcm = tone_speech("Hi, there.", "voice_03")
    assert len(pcm) == to_samples(640)
    spectrum = np.abs(np.fft.rfft(pcm))
    assert np.argmax(spectrum) * RATE / len(pcm) == pytest.approx(187, abs=1)


@pytest.mark.parametrize(("text", "words"), [("", 1), ("  ", 1), ("yes", 1), ("one  two\nthree", 3)])
def test_320_ms_a_word_and_at_least_one(text: str, words: int) -> None:
    assert len(tone_speech(text, "v")) == to_samples(320) * words


def test_it_is_audible_at_minus_20_dbfs_and_the_same_every_time() -> None:
    pcm = tone_speech("the amount is two hundred", "v")
    assert np.abs(pcm).max() == pytest.approx(3276, abs=2)
    assert np.array_equal(pcm, tone_speech("the amount is two hundred", "v"))
    onset, offset = audible_edges(np.concatenate((silence(4800), pcm, silence(4800))))
    assert abs(onset - 4800) <= to_samples(10)
    assert abs(offset - 4800 - len(pcm)) <= to_samples(10)
