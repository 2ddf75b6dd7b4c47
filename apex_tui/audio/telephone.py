"""A telephone line: 300-3400 Hz, eight thousand 8-bit mu-law samples a second (G.711), and back to 24 kHz.

The filters are minimum-phase, so the line adds no delay of its own to compensate: above 500 Hz sound comes out within 1.5 ms of where it was
(median 0.6 ms). Coefficients, samples and all sums are whole numbers, which double precision holds exactly; the same audio gives the same
bytes on every machine, however it is cut into frames. Digital silence stays digital silence. Deliberately not in here: other codecs, loss and
noise (``loss``, ``babble``), and where a line is used (``channel``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from apex_tui.audio.frames import FRAME_SAMPLES, RATE, Pcm

LINE_RATE = 8_000
STEP = RATE // LINE_RATE
_LINE_SAMPLES = FRAME_SAMPLES // STEP
Taps = NDArray[np.float64]

UNIT = 32_768
"""Coefficients are multiples of 1/32768."""

_LOW_PASS_HZ, _LOW_PASS_TAPS, _LOW_PASS_SHAPE = 3850.0, 95, 5.65
"""Flat to 3400 Hz, 44 dB down from 4300 Hz on, so that what folds over at 8 kHz is inaudible."""
_LOW_PASS_KEPT = 66
"""Of the minimum-phase response, a multiple of ``STEP``: what is cut off costs a little stop band, counted in the 44 dB."""
_HIGH_PASS_HZ, _HIGH_PASS_TAPS, _HIGH_PASS_SHAPE = 260.0, 95, 4.5
"""At 8 kHz: 2.5 dB down at 300 Hz, 36 dB at 150 Hz."""
_SPECTRUM = 8_192
_DEEPEST = 1e-4
"""Depth (of the peak) below which a stop band is not followed: the logarithm of a true zero does not exist."""


def _sinc(taps: int, cut_hz: float, rate: int, shape: float) -> Taps:
    ratio = 2.0 * cut_hz / rate
    times = np.arange(taps) - (taps - 1) / 2.0
    return np.asarray(ratio * np.sinc(ratio * times) * np.kaiser(taps, shape))


def _minimum_phase(taps: Taps, kept: int) -> Taps:
    """The response of the same magnitude with the least delay (by its real cepstrum), in whole units."""
    magnitude = np.abs(np.fft.fft(taps, _SPECTRUM))
    cepstrum = np.fft.ifft(np.log(np.maximum(magnitude, _DEEPEST * magnitude.max()))).real
    cepstrum[1 : _SPECTRUM // 2] *= 2.0
    cepstrum[_SPECTRUM // 2 + 1 :] = 0.0
    response = np.fft.ifft(np.exp(np.fft.fft(cepstrum))).real[:kept]
    return np.rint(response * UNIT)


def low_pass() -> Taps:
    """Coefficients at 24 kHz, in units."""
    return _minimum_phase(_sinc(_LOW_PASS_TAPS, _LOW_PASS_HZ, RATE, _LOW_PASS_SHAPE), _LOW_PASS_KEPT)


def high_pass() -> Taps:
    """Coefficients at 8 kHz, in units."""
    taps = -_sinc(_HIGH_PASS_TAPS, _HIGH_PASS_HZ, LINE_RATE, _HIGH_PASS_SHAPE)
    taps[_HIGH_PASS_TAPS // 2] += 1.0
    return _minimum_phase(taps, _HIGH_PASS_TAPS)


# --- mu-law ----------------------------------------------------------------------------------------------------------------------------

_BIAS = 132
_CLIP = 32_635


def decode_table() -> NDArray[np.int16]:
    """G.711: code (0..255) -> 16-bit sample."""
    code = ~np.arange(256) & 0xFF
    size = (((code & 0x0F) << 3) + _BIAS << (code >> 4 & 7)) - _BIAS
    return np.where(code & 0x80, -size, size).astype(np.int16)


def encode_table() -> NDArray[np.uint8]:
    """G.711: 16-bit sample, as the index ``sample & 0xFFFF`` -> code."""
    sample = np.arange(65_536)
    sample = np.where(sample > 32_767, sample - 65_536, sample) >> 2 << 2  # the codec's input has 14 bits
    size = np.minimum(np.abs(sample), _CLIP) + _BIAS
    exponent = np.floor(np.log2(size)).astype(np.int64) - 7
    code = exponent << 4 | (size >> exponent + 3 & 0x0F)
    return np.asarray(~np.where(sample < 0, code | 0x80, code) & 0xFF, dtype=np.uint8)


def companded() -> NDArray[np.float64]:
    """16-bit sample, as the index ``sample & 0xFFFF`` -> what the far end hears."""
    return decode_table()[encode_table()].astype(np.float64)


# --- the line --------------------------------------------------------------------------------------------------------------------------


class Telephone:
    """One call. ``send`` takes frames of 480 samples in order and returns as many."""

    def __init__(self) -> None:
        self._low = low_pass()[::-1].copy()  # np.correlate wants the newest sample's coefficient last
        self._fill = [low_pass()[phase::STEP][::-1].copy() for phase in range(STEP)]
        self._high = high_pass()[::-1].copy()
        self._codec = companded()
        self._wide = np.zeros(len(self._low) - 1 + FRAME_SAMPLES)
        self._narrow = np.zeros(len(self._high) - 1 + _LINE_SAMPLES)
        self._far = np.zeros(len(self._fill[0]) - 1 + _LINE_SAMPLES)
        self._quiet = True

    def send(self, frame: Pcm) -> Pcm:
        """The frame as the far end hears it."""
        if self._quiet and not frame.any():
            return frame
        narrow = _whole(np.correlate(_moved(self._wide, frame), self._low)[::STEP])
        coded = _whole(np.correlate(_moved(self._narrow, narrow), self._high))
        far = _moved(self._far, self._codec[coded.astype(np.int64) & 0xFFFF])
        out = np.empty((_LINE_SAMPLES, STEP))
        for phase, taps in enumerate(self._fill):
            out[:, phase] = np.correlate(far, taps)
        self._quiet = not (self._wide.any() or self._narrow.any() or self._far.any())
        return _whole(out.reshape(-1) * STEP).astype(np.int16)


def _moved(past: Taps, new: Pcm | Taps) -> Taps:
    """Move a filter's memory on by the new samples, in place."""
    past[: -len(new)] = past[len(new) :]
    past[-len(new) :] = new
    return past


def _whole(units: Taps) -> Taps:
    """Sums of units as 16-bit samples: rounded, and clipped as the line would."""
    return np.minimum(np.maximum(np.floor(units * (1.0 / UNIT) + 0.5), -32_768.0), 32_767.0)
