"""Tone speech: a stand-in of the right length for the words of a package that ships no audio.

In here: ``tone_speech``. It must be labelled wherever it is used; it is no speech, and nothing can be heard from it.
Deliberately not in here: voices. The optional speech engine of the bank makes those.
"""

from __future__ import annotations

import numpy as np

from apex_tui.audio.frames import RATE, Pcm, to_samples
from apex_tui.workflow.determinism import stable_int

WORD_MS = 320
AMPLITUDE = 0.1
"""-20 dBFS at the peak: an edge detector sees it (the reference format's 0.01 is nearly its noise floor)."""

LOWEST_HZ = 110
SPREAD_HZ = 220


def tone_speech(text: str, voice: str) -> Pcm:
    """Return a sine of 320 ms a word (at least one word) at the pitch of this text and voice (110-329 Hz)."""
    samples = to_samples(WORD_MS) * max(1, len(text.split()))
    phase = np.arange(samples) * (2.0 * np.pi * tone_hz(text, voice) / RATE)
    pcm: Pcm = np.trunc(AMPLITUDE * np.sin(phase) * 32_767).astype(np.int16)
    return pcm


def tone_hz(text: str, voice: str) -> int:
    """Return the pitch of the tone speech in Hz."""
    return LOWEST_HZ + stable_int(text, voice) % SPREAD_HZ
