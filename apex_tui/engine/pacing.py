"""How late our own frames are. Pure: the conductor says when a frame was due and when it was handled.

A slow machine must not pass for a slow agent, so these figures are part of every session (measures.md section 1).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

LATE_MS = 20.0
DEGRADED_P99_MS = 10.0
DEGRADED_SHARE = 0.001
NEAR_EDGE_MS = 1000.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Lateness of a stretch of frames, in ms. ``over_20ms``: frames more than 20 ms late."""

    frames: int
    p50: float
    p99: float
    max: float
    over_20ms: int


def pace_of(late_ms: Sequence[float]) -> Pace:
    """Nearest-rank percentiles of lateness values; all zero for no frames."""
    if not late_ms:
        return Pace(0, 0.0, 0.0, 0.0, 0)
    ranked = sorted(late_ms)
    last = len(ranked) - 1
    p50, p99 = ranked[round(0.50 * last)], ranked[round(0.99 * last)]
    return Pace(len(ranked), round(p50, 3), round(p99, 3), round(ranked[-1], 3), sum(1 for x in ranked if x > LATE_MS))


class Pacing:
    """Collects the lateness of every frame; one float each, so that an hour is 1.4 MB."""

    def __init__(self) -> None:
        self._all = array("d")
        self._second_from = 0
        self._late_at: list[float] = []

    def note(self, late_ms: float, media_ms: float) -> None:
        """One frame was handled ``late_ms`` after its deadline."""
        self._all.append(max(0.0, late_ms))
        if late_ms > LATE_MS:
            self._late_at.append(media_ms)

    def second(self) -> Pace:
        """The frames since the last call."""
        pace = pace_of(self._all[self._second_from :])
        self._second_from = len(self._all)
        return pace

    def whole(self) -> Pace:
        """The whole session so far."""
        return pace_of(self._all)

    def degraded(self, edges_ms: Sequence[float]) -> bool:
        """Whether the timings may not be trusted: p99, share of late frames, or a late frame within 1 s of a scored edge."""
        pace = self.whole()
        if pace.p99 > DEGRADED_P99_MS or pace.over_20ms > DEGRADED_SHARE * max(1, pace.frames):
            return True
        return any(abs(late - edge) <= NEAR_EDGE_MS for late in self._late_at for edge in edges_ms)
