"""Other sample rates, at a wire or a device: our side is always 24 kHz, theirs may not be.

In here: one stream in one direction. The filter is our own, because it must not hold audio back: a general streaming resampler keeps up to
20 ms, and releases it in lumps, which would be added to every delay that is measured. This one looks 16 samples of the lower rate ahead
(1 ms at 16 kHz). Deliberately not in here: who speaks at which rate (``agents.resample``, devices).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from apex_tui.audio.frames import pcm_bytes, pcm_from_bytes

REACH = 16
"""Samples of the lower rate that the filter reaches to each side."""

MANY = 32
"""Different weights from which each output is computed by itself. A matter of the rates alone, so that how audio is cut changes nothing."""

BAND = 0.92
"""Share of the lower rate's band that is kept; what lies above would come back as whistling."""


@cache
def _filters(up: int, down: int) -> NDArray[np.float64]:
    """Weights for each of the ``up`` positions between two input samples, shape (up, 2 * reach in input samples)."""
    scale = min(1.0, up / down)
    reach = math.ceil(REACH / scale)
    offsets = np.arange(-reach + 1, reach + 1)[None, :] - (np.arange(up) / up)[:, None]
    window = np.i0(8.0 * np.sqrt(np.maximum(0.0, 1.0 - (offsets / reach) ** 2))) / np.i0(8.0)
    weights = np.sinc(offsets * scale * BAND) * window
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


class Resampler:
    """16-bit mono audio from one rate to another, fed in pieces of any length; nothing is done when the rates are equal.

    Output sample j lies at input position j * rate_in / rate_out: nothing is shifted, and how the audio is cut changes nothing.
    """

    def __init__(self, rate_in: int, rate_out: int) -> None:
        common = math.gcd(rate_in, rate_out)
        self._up, self._down = rate_out // common, rate_in // common
        self._plain = rate_in == rate_out
        self._weights = _filters(self._up, self._down)
        self._reach = self._weights.shape[1] // 2
        self._kept = np.zeros(self._reach - 1, dtype=np.float64)
        self._from = 1 - self._reach  # input position of the first kept sample
        self._fed = 0
        self._made = 0

    def feed(self, raw: bytes) -> bytes:
        """The samples that are ready."""
        if self._plain:
            return raw
        pcm = pcm_from_bytes(raw)
        self._fed += len(pcm)
        return self._take(pcm.astype(np.float64), self._fed - self._reach - 1)

    def finish(self) -> bytes:
        """What lies between the last output and the end of the input; the stream is used up."""
        if self._plain:
            return b""
        return self._take(np.zeros(self._reach), self._fed - 1)

    def _take(self, more: NDArray[np.float64], last: int) -> bytes:
        """The outputs that lie before input position ``last`` + 1."""
        self._kept = np.concatenate((self._kept, more))
        until = max(self._made, ((last + 1) * self._up + self._down - 1) // self._down)
        made = self._outputs(self._made, until - self._made)
        self._made = until
        drop = (until * self._down) // self._up - self._reach + 1 - self._from
        if drop > 0:
            self._kept, self._from = self._kept[drop:].copy(), self._from + drop
        return made

    def _outputs(self, at: int, count: int) -> bytes:
        """``count`` outputs from index ``at`` on. Every ``up``-th has the same weights, at inputs that lie ``down`` apart."""
        if self._up > MANY:
            return self._each(at, count)
        values = np.empty(count)
        size = self._kept.itemsize
        for turn in range(min(self._up, count)):
            position, phase = divmod((at + turn) * self._down, self._up)
            windows: NDArray[np.float64] = np.ndarray(
                (-(-(count - turn) // self._up), 2 * self._reach),
                dtype=np.float64,
                buffer=self._kept,
                offset=(position - self._reach + 1 - self._from) * size,
                strides=(self._down * size, size),
            )
            values[turn :: self._up] = windows @ self._weights[phase]
        return pcm_bytes(np.clip(np.rint(values), -32_768, 32_767).astype(np.int16))

    def _each(self, at: int, count: int) -> bytes:
        """The same for rates of which hardly two outputs of a piece have the same weights (44.1 kHz has 80 or 147 of them)."""
        if count <= 0:
            return b""
        places = (at + np.arange(count)) * self._down
        first = places // self._up - self._reach + 1 - self._from
        windows = np.lib.stride_tricks.sliding_window_view(self._kept, 2 * self._reach)[first]
        values = (windows * self._weights[places % self._up]).sum(axis=1)
        return pcm_bytes(np.clip(np.rint(values), -32_768, 32_767).astype(np.int16))
