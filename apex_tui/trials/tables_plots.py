"""Plots of a table in characters: Reliable@k as bars, answers against their bands, and reliability against time and cost.

In here: pure functions from a table to lines of text. Marks are letters, so that no meaning rests on colour. Deliberately not in here: the table
itself (``tables``) and the page (``html_report_charts``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters

from apex_tui.trials.results_model import AgentResult, Table

BAR = 24
PLOT_WIDTH, PLOT_HEIGHT = 56, 11
BANDS = ((600.0, "natural"), (1500.0, "holds together"))
"""First audible in ms: up to here, in words; above all, *strained*."""
_MOST = len(ascii_letters)

Name = Callable[[AgentResult], str]


def bar(value: float | None) -> str:
    """A share of a whole bar."""
    full = 0 if value is None else round(BAR * value)
    return "█" * full + "░" * (BAR - full)


def reliability(table: Table, name: Name) -> list[str]:
    """A bar for each agent in the order of the table, with its interval marked below where there is one."""
    lines = []
    for agent in table.agents:
        mean = agent.reliable_k
        shown = "—" if mean.value is None else f"{100 * mean.value:.1f} %"
        lines.append(f"{bar(mean.value)} Reliable@{table.k} {shown:>8}  {name(agent)}")
        if mean.low is not None and mean.high is not None:
            left, right = (min(BAR - 1, int(BAR * edge)) for edge in (mean.low, mean.high))
            cells = ["├" if i == left else "┤" if i == right else "─" if left < i < right else " " for i in range(BAR)]
            lines.append(f"{''.join(cells)} 95 % from {100 * mean.low:.1f} to {100 * mean.high:.1f}")
    return lines


def answers(table: Table, name: Name) -> list[str]:
    """How fast each agent answers, on one scale, with the band in words; nothing where no agent answered."""
    known = [(agent, value) for agent in table.agents if (value := agent.turns.first_audible_ms.median) is not None]
    if not known:
        return []
    longest = max(1500.0, *(value for _, value in known))
    lines = [f"first audible, median (scale 0 to {longest:.0f} ms)"]
    for agent, value in known:
        word = next((words for limit, words in BANDS if value <= limit), "strained")
        lines.append(f"{bar(max(0.0, value) / longest)} {value:>7.0f} ms  {word:<15} {name(agent)}")
    return lines


def effort(table: Table, name: Name) -> list[str]:
    """Time to complete (median, to the right) against Reliable@k (upwards), a letter for each agent, with its cost in the legend."""
    points = [a for a in table.agents if a.complete_ms.median is not None and a.reliable_k.value is not None][:_MOST]
    if not points:
        return []
    longest = max(a.complete_ms.median or 0.0 for a in points) * 1.1 or 1.0
    cells = [[" "] * PLOT_WIDTH for _ in range(PLOT_HEIGHT)]
    for letter, agent in zip(ascii_letters, points, strict=False):
        x = round((agent.complete_ms.median or 0.0) / longest * (PLOT_WIDTH - 1))
        y = round((1 - (agent.reliable_k.value or 0.0)) * (PLOT_HEIGHT - 1))
        while x < PLOT_WIDTH - 1 and cells[y][x] != " ":
            x += 1
        cells[y][x] = letter
    lines = [f"Reliable@{table.k} against the time to complete"]
    for number, row in enumerate(cells):
        share = 100 * (1 - number / (PLOT_HEIGHT - 1))
        scale = f"{share:>5.0f} %" if number % 5 == 0 else " " * 7
        lines.append(f"{scale} │{''.join(row).rstrip()}")
    lines.append(f"{' ' * 8}└{'─' * PLOT_WIDTH}")
    lines.append(f"{' ' * 9}0 s{f'{longest / 1000:.0f} s':>{PLOT_WIDTH - 3}}")
    return [*lines, *_legend(points, name)]


def _legend(points: Sequence[AgentResult], name: Name) -> list[str]:
    lines = []
    for letter, agent in zip(ascii_letters, points, strict=False):
        seconds = (agent.complete_ms.median or 0.0) / 1000
        cost = "" if agent.usd.value is None else f", {agent.usd.value:.3f} USD a session"
        lines.append(f"  {letter}  {name(agent)}: {seconds:.1f} s (n {agent.complete_ms.n}){cost}")
    return lines
