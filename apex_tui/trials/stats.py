"""The statistics of many sessions: Pass@k, Reliable@k, and intervals that say how far a share or a mean can be trusted.

In here: closed forms and intervals over plain numbers. Deliberately not in here: which sessions count (``results``). No clock and no global
random state: the bootstrap draws from a generator with a fixed seed, so a table is the same whenever it is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
"""Confidence level of every interval."""
MIN_N = 10
"""No interval is shown below this many independent units: it would be as wide as the scale, or falsely narrow."""
DRAWS = 2000
"""Bootstrap resamples: the ends of a 95 % interval then move by less than half a point between seeds."""
CHUNK = 100
"""Resamples drawn at a time: they stay in the processor's cache."""
_Z = 1.959963984540054  # the 97.5 % point of the normal distribution
_SEED = 20_240_229


class Interval(NamedTuple):
    """A 95 % interval, both ends included."""

    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of ``k`` sessions drawn without replacement from ``n`` (``c`` of them successes) succeeds.

    Raises:
        ValueError: not 0 <= c <= n, or not 1 <= k <= n.
    """
    _check(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def reliable_at_k(n: int, c: int, k: int) -> float:
    """Chance that all ``k`` sessions drawn without replacement from ``n`` (``c`` of them successes) succeed.

    Raises:
        ValueError: as `pass_at_k`.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"{c} successes of {n} sessions cannot be")
    if not 1 <= k <= n:
        raise ValueError(f"{k} sessions cannot be drawn from {n}")


def wilson(successes: int, n: int) -> Interval | None:
    """Wilson's interval for a share; None below `MIN_N` observations.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} cannot be")
    return None if n < MIN_N else _wilson(successes / n, n)


def _wilson(share: float, n: int) -> Interval:
    scale = 1 + _Z * _Z / n
    centre = (share + _Z * _Z / (2 * n)) / scale
    half = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n)) / scale
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def bootstrap_mean(values: Sequence[float], *, shares: bool = True) -> Interval | None:
    """Percentile bootstrap interval for the mean over independent units (workflows); None below `MIN_N` units.

    Its ends are moved out by the small-sample factor. ``shares``: the values lie in 0..1. Resampling cannot see beyond what was observed, so
    where nearly every unit gave the same extreme value the interval is widened to Wilson's for that many units; without this, twenty
    workflows that all succeeded would claim certainty.
    """
    if len(values) < MIN_N:
        return None
    drawn = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(_SEED)
    centre, wider = float(drawn.mean()), _small_sample(len(drawn))
    low = high = centre
    if drawn.min() < drawn.max():
        means = np.concatenate([
            drawn[rng.integers(0, len(drawn), (CHUNK, len(drawn)))].mean(axis=1) for _ in range(DRAWS // CHUNK)
        ])  # fmt: skip
        edges = np.quantile(means, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        low, high = (centre + wider * (float(x) - centre) for x in edges)
    if not shares:
        return Interval(low, high)
    edge = _wilson(min(1.0, max(0.0, centre)), len(drawn))
    # Only towards the scale's nearer end is resampling blind; the other side stands as drawn.
    if centre <= EDGE:
        high = max(high, edge.high)
    if centre >= 1 - EDGE:
        low = min(low, edge.low)
    return Interval(max(0.0, low), min(1.0, high))


def _small_sample(n: int) -> float:
    """By how much percentile intervals of few units are too narrow: Student's t over the normal's point, and n over n - 1."""
    free = n - 1
    t = _Z + (_Z**3 + _Z) / (4 * free) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * free**2)
    return t / _Z * math.sqrt(n / free)


EDGE = 0.15
"""Means this close to 0 or 1 get Wilson's end on the side of the middle."""


def median(values: Sequence[float]) -> float | None:
    """The median; None of nothing."""
    return percentile(values, 0.5)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value at position (n - 1) * share of the sorted values, interpolated linearly; None of nothing."""
    if not values:
        return None
    ranked = sorted(values)
    place = (len(ranked) - 1) * share
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)


def sign_test(wins: int, losses: int) -> float | None:
    """Two-sided exact p of as uneven a split of ``wins`` and ``losses`` under equal chances (ties left out); None without any."""
    n = wins + losses
    if n == 0:
        return None
    tail: float = (
        sum(math.comb(n, i) for i in range(min(wins, losses) + 1)) / 2**n
    )  # whole numbers: neither need fit a float
    return min(1.0, 2 * tail)
