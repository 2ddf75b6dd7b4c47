"""The noise floor: a running low percentile of the level where nobody speaks.

In here: ``NoiseFloor``, a histogram of levels in half decibels with a pointer at the percentile, so that an update costs
the same however long a session lasts, and the result depends on nothing but the levels. Deliberately not in here: what
counts as unvoiced; the edge detector decides that.
"""

from __future__ import annotations

import math

MIN_FLOOR_DB = -75.0
MAX_FLOOR_DB = -45.0
"""Below -75 dBFS lies no noise that matters (a synthetic clip may be digitally silent between words); above -45 dBFS
it is no longer a floor but a sound of its own."""

FLOOR_PERCENTILE = 10.0
"""Low enough that breaths and word endings among the unvoiced hops do not lift the floor."""

_BINS_PER_DB = 2
_LAST_BIN = round((MAX_FLOOR_DB - MIN_FLOOR_DB) * _BINS_PER_DB)

_HALVE_AT = 4_000
"""Hops (20 s) after which all counts are halved: the floor follows a room that changes within half a minute."""

_START_HOPS = 20
"""The weight of the starting floor: another level has to last 0.9 s before it moves the 10th percentile."""

_LOWEST_RATIO = 10.0 ** (MIN_FLOOR_DB / 10.0)


class NoiseFloor:
    """The floor in dBFS (``db``), from ``start_db`` on; clamped to -75..-45."""

    def __init__(self, start_db: float = MIN_FLOOR_DB) -> None:
        start = min(max(round((start_db - MIN_FLOOR_DB) * _BINS_PER_DB), 0), _LAST_BIN)
        self._counts = [0] * (_LAST_BIN + 1)
        self._counts[start] = _START_HOPS
        self._total = _START_HOPS
        self._bin = start
        self._below = 0  # counted hops in the bins under the pointer
        self.db = MIN_FLOOR_DB + start / _BINS_PER_DB

    def add(self, ratio: float) -> bool:
        """Count one unvoiced hop of mean square ``ratio`` (1.0 is full scale); tell whether the floor moved."""
        if ratio <= _LOWEST_RATIO:
            return self._count(0, 1)
        return self._count(min(int((10.0 * math.log10(ratio) - MIN_FLOOR_DB) * _BINS_PER_DB), _LAST_BIN), 1)

    def add_silence(self, hops: int) -> bool:
        """Count ``hops`` hops of digital silence, exactly as one after the other; tell whether the floor moved."""
        moved = False
        while hops:
            step = min(hops, _HALVE_AT - self._total)
            moved |= self._count(0, step)
            hops -= step
        return moved

    def _count(self, level: int, hops: int) -> bool:
        self._counts[level] += hops
        self._total += hops
        if level < self._bin:
            self._below += hops
        if self._total >= _HALVE_AT:
            self._counts = [count // 2 for count in self._counts]
            self._total = sum(self._counts)
            self._below = sum(self._counts[: self._bin])
        return self._settle()

    def _settle(self) -> bool:
        """Move the pointer to the lowest bin that reaches the percentile."""
        before = self._bin
        wanted = self._total * FLOOR_PERCENTILE / 100.0
        while self._below + self._counts[self._bin] < wanted:
            self._below += self._counts[self._bin]
            self._bin += 1
        while self._bin and self._below >= wanted:
            self._bin -= 1
            self._below -= self._counts[self._bin]
        self.db = MIN_FLOOR_DB + self._bin / _BINS_PER_DB
        return self._bin != before
