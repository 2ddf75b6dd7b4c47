"""Charts of a table as inline SVG: Reliable@k with its intervals, and how it stands against time and cost.

In here: pure functions from a table to SVG text. Deliberately not in here: the page around them (``html_report``). Rehearsals are drawn hollow
and named so; colours come from the page's variables, and no meaning rests on colour alone.
"""

from __future__ import annotations

from html import escape

from apex_tui.trials.results_model import AgentResult, Table
from apex_tui.trials.tables import clean, heading, percent

WIDTH = 860
_ROW, _LEFT, _RIGHT = 26, 300, 120
_PLOT_H, _PAD = 300, 48
_LABEL_H, _LABEL_W = 14, 180


def reliability_bars(table: Table) -> str:
    """One bar per agent in order of rank: Reliable@k, with Pass@1 as a tick and the interval as a line."""
    height = _ROW * len(table.agents) + 34
    span = WIDTH - _LEFT - _RIGHT
    parts = [_axis(span, height)]
    for number, agent in enumerate(table.agents):
        y = number * _ROW + 6
        mean = agent.reliable_k
        name = escape(clean(heading(agent)))
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" class="name">{name}</text>')
        if mean.value is None:
            parts.append(f'<text x="{_LEFT + 6}" y="{y + 13}" class="faint">no workflow has enough sessions</text>')
            continue
        kind = "bar hollow" if agent.rehearsal else "bar"
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="{span * mean.value:.1f}" height="16" class="{kind}"/>')
        if mean.low is not None and mean.high is not None:
            x1, x2 = _LEFT + span * mean.low, _LEFT + span * mean.high
            parts.append(
                f'<path d="M{x1:.1f} {y + 8}H{x2:.1f}M{x1:.1f} {y + 3}v10M{x2:.1f} {y + 3}v10" class="whisker"/>'
            )
        if agent.pass_1.value is not None:
            x = _LEFT + span * agent.pass_1.value
            parts.append(
                f'<path d="M{x:.1f} {y - 2}v20" class="tick"><title>Pass@1 {percent(agent.pass_1.value)}</title></path>'
            )
        parts.append(f'<text x="{WIDTH - _RIGHT + 8}" y="{y + 13}">{percent(mean.value)} (n {mean.n})</text>')
    return _svg(height, f"Reliable@{table.k} by agent; the upright line is Pass@1", parts)


def _axis(span: float, height: float) -> str:
    lines = []
    for tenth in range(0, 11, 2):
        x = _LEFT + span * tenth / 10
        lines.append(f'<path d="M{x:.1f} 0V{height - 22}" class="grid"/>')
        lines.append(f'<text x="{x:.1f}" y="{height - 6}" class="scale">{tenth * 10} %</text>')
    return "".join(lines)


def effort_plot(table: Table) -> str:
    """Time to complete (median) against Reliable@k; the area of a mark grows with the cost of a session where the plan states one."""
    points = [a for a in table.agents if a.complete_ms.median is not None and a.reliable_k.value is not None]
    if not points:
        return '<p class="faint">No agent has both a Reliable@k and a session that completed the work.</p>'
    longest = max(a.complete_ms.median or 0.0 for a in points) * 1.15
    dearest = max((a.usd.value or 0.0 for a in points), default=0.0)
    w, h = WIDTH - 2 * _PAD, _PLOT_H - 2 * _PAD
    parts = []
    for tenth in range(0, 11, 2):
        y = _PAD + h - h * tenth / 10
        parts.append(
            f'<path d="M{_PAD} {y:.1f}h{w}" class="grid"/><text x="{_PAD - 6}" y="{y + 4:.1f}" class="name">{tenth * 10} %</text>'
        )
    for quarter in range(5):
        x = _PAD + w * quarter / 4
        seconds = longest * quarter / 4 / 1000
        parts.append(f'<text x="{x:.1f}" y="{_PLOT_H - _PAD + 18}" class="scale">{seconds:.0f} s</text>')
    taken: list[tuple[float, float]] = []
    for agent in points:
        parts.append(_mark(agent, table.k, longest, dearest, (w, h), taken))
    parts.append(f'<text x="{WIDTH / 2}" y="{_PLOT_H - 8}" class="scale">complete, median</text>')
    return _svg(_PLOT_H, f"Reliable@{table.k} against the time to complete, and cost", parts)


def _mark(
    agent: AgentResult,
    k: int,
    longest: float,
    dearest: float,
    size: tuple[float, float],
    taken: list[tuple[float, float]],
) -> str:
    done, value = agent.complete_ms.median or 0.0, agent.reliable_k.value or 0.0
    x, y = _PAD + size[0] * done / longest, _PAD + size[1] * (1 - value)
    cost = agent.usd.value
    radius = 5 + (9 * (cost / dearest) ** 0.5 if cost and dearest else 0)
    words = f"{clean(heading(agent))}: Reliable@{k} {percent(value)}, complete {done / 1000:.1f} s (n {agent.complete_ms.n})"
    words += "" if cost is None else f", {cost:.3f} USD a session"
    kind = "dot hollow" if agent.rehearsal else "dot"
    left, below = _free(x, y + 4, taken)
    at = f'x="{x - radius - 4:.1f}" class="name"' if left else f'x="{x + radius + 4:.1f}"'
    label = f'<text {at} y="{below:.1f}">{escape(clean(agent.label))}</text>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{kind}"><title>{escape(words)}</title></circle>{label}'


def _free(x: float, y: float, taken: list[tuple[float, float]]) -> tuple[bool, float]:
    """Where a label goes: to the left of a mark in the right third, and below every label that it would cover."""
    while any(abs(y - other_y) < _LABEL_H and abs(x - other_x) < _LABEL_W for other_x, other_y in taken):
        y += _LABEL_H
    taken.append((x, y))
    return x > WIDTH * 2 / 3, y


def _svg(height: float, title: str, parts: list[str]) -> str:
    body = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{escape(title)}</title>{body}</svg>'
