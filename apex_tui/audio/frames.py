"""The unit of all audio here: mono 16-bit PCM at 24 kHz, in frames of 20 ms (480 samples).

In here: the constants, conversions between milliseconds, samples and bytes, and the level of a stretch of audio.
Deliberately not in here: other rates or encodings (resampling happens at devices and wires), and any notion of time.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

RATE = 24_000
"""Samples a second, on both lanes, in every clip and in every recording."""

FRAME_MS = 20
FRAME_SAMPLES = 480

FULL_SCALE = 32_768
"""The amplitude that counts as 0 dBFS."""

SILENCE_DB = -120.0
"""What is reported for digital silence and anything below: 16 bits end near -98 dBFS."""

Pcm: TypeAlias = NDArray[np.int16]
"""Mono samples, shape (n,)."""


def to_samples(ms: float) -> int:
    """Convert milliseconds to the nearest number of samples."""
    return round(ms * RATE / 1000)


def to_ms(samples: int) -> float:
    """Convert samples to milliseconds, rounded to 3 decimals (one sample is 0.0417 ms)."""
    return round(samples * 1000 / RATE, 3)


def pcm_from_bytes(raw: bytes | bytearray | memoryview) -> Pcm:
    """Read little-endian 16-bit samples into an array of its own.

    Raises ``ValueError`` when the number of bytes is odd.
    """
    view = memoryview(raw)
    if view.nbytes % 2:
        raise ValueError(f"16-bit audio has an even number of bytes, not {view.nbytes}")
    return np.frombuffer(view, dtype="<i2").astype(np.int16)


SILENT_FRAME: Pcm = np.zeros(FRAME_SAMPLES, dtype=np.int16)
"""20 ms of digital silence, read-only. Whoever has nothing to say hands out this very array, and what is known of it is not worked out again:
most frames of a lane are silent."""
SILENT_FRAME.flags.writeable = False

SILENT_FRAME_BYTES = SILENT_FRAME.tobytes()


def pcm_bytes(pcm: Pcm) -> bytes:
    """Return the samples as little-endian 16-bit bytes, without a header."""
    if pcm is SILENT_FRAME:
        return SILENT_FRAME_BYTES
    return pcm.astype("<i2", copy=False).tobytes()


def silence(samples: int) -> Pcm:
    """Return ``samples`` samples of digital silence."""
    return np.zeros(samples, dtype=np.int16)


def level_db(pcm: Pcm) -> float:
    """Return the RMS level in dBFS (a full-scale square wave is 0 dB); at least ``SILENCE_DB``, also for no samples."""
    if pcm is SILENT_FRAME or pcm.size == 0:
        return SILENCE_DB
    wide = pcm.astype(np.float64)
    mean_square = float(np.dot(wide, wide)) / pcm.size
    if mean_square == 0.0:
        return SILENCE_DB
    return max(SILENCE_DB, 10.0 * math.log10(mean_square / FULL_SCALE**2))
