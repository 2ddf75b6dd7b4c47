"""A chirp, and where it lies in a recording: how a sound's way from the loudspeaker to the microphone is timed.

In here: the sound and a matched filter. Deliberately not in here: playing and listening (``device_test``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apex_tui.audio.frames import RATE, Pcm

SECONDS = 0.25
LOW_HZ, HIGH_HZ = 300.0, 3500.0
"""Inside what small loudspeakers and telephone headsets carry."""

AMPLITUDE = 0.25
"""-12 dBFS: loud enough for a laptop in a room, not startling."""

CERTAIN = 0.5
"""Correlation from which a chirp was heard: noise and speech stay below 0.2 over a quarter of a second."""


@dataclass(frozen=True, slots=True)
class Found:
    """A chirp begins at sample ``at`` (fractions count); ``correlation`` 1.0 is a perfect copy."""

    at: float
    correlation: float


def chirp() -> Pcm:
    """A quarter of a second from 300 to 3500 Hz with soft ends, at 24 kHz."""
    t = np.arange(round(SECONDS * RATE)) / RATE
    phase = 2 * np.pi * (LOW_HZ * t + (HIGH_HZ - LOW_HZ) * t * t / (2 * SECONDS))
    wave: Pcm = np.rint(np.sin(phase) * np.hanning(len(t)) ** 0.5 * AMPLITUDE * 32_767).astype(np.int16)
    return wave


def find_chirp(heard: Pcm) -> Found | None:
    """The best place of the chirp in ``heard``, shape (n,) at 24 kHz; None when nothing is like it."""
    return match(chirp(), heard, CERTAIN)


def match(wanted: Pcm, heard: Pcm, certain: float) -> Found | None:
    """The place in ``heard`` that is most like ``wanted``; None when the likeness stays below ``certain``."""
    template = wanted.astype(np.float64)
    if len(heard) < len(template):
        return None
    sound = heard.astype(np.float64)
    size = 1 << (len(sound) + len(template)).bit_length()
    match = np.fft.irfft(np.fft.rfft(sound, size) * np.conj(np.fft.rfft(template, size)), size)
    places = len(sound) - len(template) + 1
    energy = np.concatenate(([0.0], np.cumsum(sound * sound)))
    local = energy[len(template) :] - energy[:places]
    scale = np.sqrt(np.maximum(local, 1.0) * max(float(template @ template), 1.0))
    likeness = match[:places] / scale
    best = int(np.argmax(likeness))
    if likeness[best] < certain:
        return None
    return Found(best + _top(match, best, places), float(likeness[best]))


def _top(match: np.ndarray[tuple[int], np.dtype[np.float64]], at: int, places: int) -> float:
    """Where between two samples the peak lies: the top of the parabola through three values."""
    if not 0 < at < places - 1:
        return 0.0
    before, here, after = (float(match[at + step]) for step in (-1, 0, 1))
    bend = before - 2 * here + after
    return 0.0 if bend == 0 else 0.5 * (before - after) / bend
