"""How often the intervals of a table hold the truth: simulated campaigns of agents that pass with a known probability.

    python tests/benchmarks/intervals.py

Workflows are drawn from a population whose mean Pass@1, Pass@3 and Reliable@3 are known in closed form; each is run three times. Prints, per
population and number of workflows, the share of campaigns whose 95 % interval holds that mean; exit code 1 when one is under 90 % from 20
workflows on. The figures in docs/campaigns.md come from here.
"""

from __future__ import annotations

import sys

import numpy as np

from apex_tui.trials import stats

REPEATS, K = 3, 3
CAMPAIGNS = 1000
WORKFLOWS = (10, 20, 40, 120)
FROM, LEAST = 20, 0.90

POPULATIONS: dict[str, list[tuple[float, float]]] = {
    # name -> (weight, chance to pass) of the kinds of workflows
    "every workflow 50 %": [(1.0, 0.5)],
    "every workflow 90 %": [(1.0, 0.9)],
    "every workflow 98 %": [(1.0, 0.98)],
    "every workflow 10 %": [(1.0, 0.1)],
    "half 95 %, half 20 %": [(0.5, 0.95), (0.5, 0.2)],
    "always or never, 70 %": [(0.7, 1.0), (0.3, 0.0)],
    "mixed": [(0.2, 0.05), (0.3, 0.4), (0.3, 0.8), (0.2, 1.0)],
}


def truth(kinds: list[tuple[float, float]]) -> dict[str, float]:
    """The population's means."""
    return {
        "Pass@1": sum(w * p for w, p in kinds),
        "Pass@3": sum(w * (1 - (1 - p) ** K) for w, p in kinds),
        "Reliable@3": sum(w * p**K for w, p in kinds),
    }


def coverage(
    kinds: list[tuple[float, float]], workflows: int, campaigns: int, seed: int = 1
) -> dict[str, float | None]:
    """Share of campaigns whose interval holds the truth; None where no interval is shown."""
    rng = np.random.default_rng(seed)
    wanted = truth(kinds)
    held = dict.fromkeys(wanted, 0)
    shown = 0
    weights = [w for w, _ in kinds]
    for _ in range(campaigns):
        chances = np.array([p for _, p in kinds])[rng.choice(len(kinds), workflows, p=weights)]
        passes = rng.binomial(REPEATS, chances).tolist()
        values = {
            "Pass@1": [c / REPEATS for c in passes],
            "Pass@3": [stats.pass_at_k(REPEATS, c, K) for c in passes],
            "Reliable@3": [stats.reliable_at_k(REPEATS, c, K) for c in passes],
        }
        for name, row in values.items():
            interval = stats.bootstrap_mean(row)
            if interval is not None:
                shown += 1
                held[name] += interval.low <= wanted[name] <= interval.high
    return {name: held[name] / campaigns if shown else None for name in wanted}


def main() -> int:
    """Print the table; returns the exit code."""
    worst = 1.0
    print(f"{CAMPAIGNS} campaigns each; share whose 95 % interval holds the truth")
    print(f"{'population':<26} {'workflows':>9}  {'Pass@1':>8} {'Pass@3':>8} {'Reliable@3':>10}")
    for name, kinds in POPULATIONS.items():
        for workflows in WORKFLOWS:
            found = coverage(kinds, workflows, CAMPAIGNS)
            cells = [100 * x for x in found.values() if x is not None]
            print(f"{name:<26} {workflows:>9}  {cells[0]:>7.1f}% {cells[1]:>7.1f}% {cells[2]:>9.1f}%", flush=True)
            if workflows >= FROM:
                worst = min([worst, *(x / 100 for x in cells)])
    print(f"lowest from {FROM} workflows on: {100 * worst:.1f} % (wanted: at least {100 * LEAST:.0f} %)")
    return 0 if worst >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
