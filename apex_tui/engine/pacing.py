"""How late our own frames are. Pure: the conductor says when a frame was due and when it was handled.

A slow machine must not pass for a slow agent, so these figures are part of every session (measures.md section 1).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from apex_tui.timeline.base import Json
from apex_tui.timeline.session_facts import SessionEnded

LATE_MS = 20.0
DEGRADED_P99_MS = 10.0
DEGRADED_SHARE = 0.001
NEAR_EDGE_MS = 1000.0
ENOUGH_FRAMES = 1000
"""Frames (20 s) before shares are judged while the session runs: at its start a single late frame would be a large share."""


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
        self._over_10ms = 0
        self._late: list[tuple[float, float]] = []  # media position, lateness

    def note(self, late_ms: float, media_ms: float) -> None:
        """One frame was handled ``late_ms`` after its deadline."""
        self._all.append(max(0.0, late_ms))
        if late_ms > DEGRADED_P99_MS:
            self._over_10ms += 1
        if late_ms > LATE_MS:
            self._late.append((media_ms, late_ms))

    @property
    def late_ms(self) -> Sequence[float]:
        """The lateness of every frame so far, in ms."""
        return self._all

    def second(self) -> Pace:
        """The frames since the last call."""
        pace = pace_of(self._all[self._second_from :])
        self._second_from = len(self._all)
        return pace

    def whole(self) -> Pace:
        """The whole session so far."""
        return pace_of(self._all)

    def degraded(self, edges_ms: Sequence[float]) -> bool:
        """Whether the timings may not be trusted."""
        return bool(self.reasons(edges_ms))

    def reasons(self, edges_ms: Sequence[float]) -> tuple[str, ...]:
        """Which rules are broken, a sentence each: p99, share of late frames, a late frame within 1 s of a scored edge."""
        pace = self.whole()
        out = []
        if pace.p99 > DEGRADED_P99_MS:
            out.append(f"the 99th percentile of frame lateness is {pace.p99:.1f} ms, above {DEGRADED_P99_MS:.0f} ms")
        out += self._share()
        return (*out, *self._near(edges_ms))

    def reasons_so_far(self, edges_ms: Sequence[float]) -> tuple[str, ...]:
        """The same while the session runs, without sorting anything: the instrument must not become late by looking at itself."""
        out = []
        if len(self._all) >= ENOUGH_FRAMES:
            if self._over_10ms > 0.01 * len(self._all):
                out.append(f"{self._over_10ms} of {len(self._all)} frames are more than {DEGRADED_P99_MS:.0f} ms late")
            out += self._share()
        return (*out, *self._near(edges_ms))

    def _share(self) -> list[str]:
        late, frames = len(self._late), len(self._all)
        if late <= DEGRADED_SHARE * max(1, frames):
            return []
        return [f"{late} of {frames} frames are more than {LATE_MS:.0f} ms late, above {100 * DEGRADED_SHARE:.1f} %"]

    def _near(self, edges_ms: Sequence[float]) -> list[str]:
        for at, late in self._late:
            if any(abs(at - edge) <= NEAR_EDGE_MS for edge in edges_ms):
                return [f"a frame was {late:.0f} ms late at {at / 1000:.1f} s, within 1 s of a scored edge"]
        return []


def stored_pacing(ended: SessionEnded) -> Json:
    """How late our own frames were, in the whole session."""
    return {
        "frames": ended.frames,
        "late_p50_ms": ended.late_p50_ms,
        "late_p99_ms": ended.late_p99_ms,
        "late_max_ms": ended.late_max_ms,
        "over_20ms": ended.over_20ms,
        "dropped": ended.dropped,
        "tick_max_ms": ended.tick_max_ms,
        "underruns": ended.underruns,
        "degraded_because": list(ended.degraded_because),
    }
