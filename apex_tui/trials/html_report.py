"""The table of results as one HTML file that needs nothing else: charts, slices, failures, and sessions on their two lanes.

In here: the page. Deliberately not in here: numbers (``results``), charts and lanes (``html_report_charts``, ``html_report_lanes``). Everything
from outside is escaped; a policy in the page itself forbids it to load anything, so it can be sent to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from apex_tui.store.recording import open_recording
from apex_tui.timeline.errors import ApexError
from apex_tui.trials.html_report_charts import effort_plot, reliability_bars
from apex_tui.trials.html_report_lanes import lanes, legend, sound, transcript
from apex_tui.trials.results_model import Table
from apex_tui.trials.results_read import SessionRow
from apex_tui.trials.tables import clean, heading, remarks, rows_of, shown_cut

TIMELINES = 60
"""Sessions whose lanes are drawn when nobody asks for another number; failures come first."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; media-src data:; img-src data:"
_STYLE = """
:root { --ink: #1b1f24; --paper: #fff; --faint: #68707a; --line: #d5dae0; --a: #1f6fb2; --b: #b3541e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #14171a; --faint: #98a1ab; --line: #343a41; --a: #6cb4ee; --b: #e59a62; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1140px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.hatched { background: repeating-linear-gradient(45deg, transparent 0 6px, var(--line) 6px 7px); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink); }
.name { text-anchor: end; } .scale { text-anchor: middle; fill: var(--faint); }
.grid { stroke: var(--line); fill: none; } .bar, .dot { fill: var(--a); } .hollow { fill: none; stroke: var(--a); stroke-dasharray: 3 2; }
.whisker { stroke: var(--ink); stroke-width: 1.5; fill: none; } .tick { stroke: var(--b); stroke-width: 3; fill: none; }
.lane { fill: none; stroke: var(--line); }
.caller { fill: var(--b); } .agent { fill: var(--a); } .mark { text-anchor: middle; font-weight: 600; } .head { stroke: var(--ink); fill: none; }
.faint, .at { color: var(--faint); } .words { list-style: none; padding: 0; columns: 2; font-size: 13px; }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
audio { width: 100%; } summary { cursor: pointer; } .fail { color: var(--b); }
"""
_SCRIPT = """
for (const box of document.querySelectorAll('details.session')) {
  const svg = box.querySelector('svg.lanes'), audio = box.querySelector('audio');
  if (!svg || !audio) continue;
  const left = +svg.dataset.left, right = +svg.dataset.right, seconds = svg.dataset.ms / 1000, head = svg.querySelector('.head');
  const move = () => {
    const x = (right - left) * Math.min(1, audio.currentTime / seconds);
    head.setAttribute('transform', `translate(${x} 0)`);
  };
  for (const name of ['timeupdate', 'seeking', 'seeked']) audio.addEventListener(name, move);
  svg.addEventListener('click', event => {
    const at = svg.createSVGPoint(); at.x = event.clientX; at.y = event.clientY;
    const x = at.matrixTransform(svg.getScreenCTM().inverse()).x;
    audio.currentTime = Math.max(0, Math.min(seconds, seconds * (x - left) / (right - left)));
  });
}
"""


def html_report(
    table: Table, rows: Sequence[SessionRow], *, with_sound: bool = False, timelines: int = TIMELINES
) -> str:
    """The page.

    Args:
        table: the numbers.
        rows: the sessions that the table was made from.
        with_sound: put the recordings into the page (about 0.4 MB a minute).
        timelines: at most so many sessions get their lanes drawn, those that failed first.
    """
    title = f"apex-tui results: {len(table.agents)} agents, {sum(a.sessions for a in table.agents)} sessions"
    body = [
        f"<h1>{escape(title)}</h1>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in remarks(table)) + "</ul>",
        f"<h2>Reliable@{table.k}</h2>",
        reliability_bars(table),
        "<h2>Time and cost</h2>",
        effort_plot(table),
        "<h2>Numbers</h2>",
        _numbers(table),
        "<h2>Slices</h2><p class='faint'>Success over sessions; hatched: fewer than five workflows, too few to compare.</p>",
        _slices(table),
        "<h2>Failures</h2>",
        _failures(table),
        "<h2>Sessions</h2>",
        _sessions(rows, with_sound, timelines),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style></head>'
        f"<body>{''.join(body)}<script>{_SCRIPT}</script></body></html>\n"
    )


def _head(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<th>{escape(clean(cell))}</th>" for cell in cells) + "</tr>"


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(clean(cell))}</td>" for cell in cells) + "</tr>"


def _numbers(table: Table) -> str:
    out = [_head(["", *(heading(agent) for agent in table.agents)])]
    for section, rows in rows_of(table):
        out.append(f'<tr><th colspan="{len(table.agents) + 1}">{escape(section)}</th></tr>')
        out += [_row([name, *(read(agent) for agent in table.agents)]) for name, read in rows]
    return f"<div class='wide'><table>{''.join(out)}</table></div>"


def _slices(table: Table) -> str:
    out = [_head(["axis", "label", *(heading(agent) for agent in table.agents)])]
    for part in table.slices:
        axis = part.axis + (" (overlapping)" if part.overlapping else "")
        cells = [f"<td>{escape(clean(axis))}</td><td>{escape(clean(part.label))}</td>"]
        for agent in table.agents:
            cut = part.cuts.get(agent.label)
            kind = ' class="hatched"' if cut is not None and cut.hatched else ""
            cells.append(f"<td{kind}>{escape(shown_cut(cut))}</td>")
        out.append(f"<tr>{''.join(cells)}</tr>")
    return f"<div class='wide'><table>{''.join(out)}</table></div>"


def _failures(table: Table) -> str:
    if not table.failures:
        return "<p>None.</p>"
    out = [_head(["session", "workflow", "agent", "seed", "outcome", "why"])]
    for f in table.failures:
        why = "; ".join(f"{gate}: {reason}" for gate, reason in f.gates.items())
        out.append(_row([f.session, f.workflow, f.agent, str(f.seed), f.outcome, why]))
    return f"<div class='wide'><table>{''.join(out)}</table></div>"


def _sessions(rows: Sequence[SessionRow], with_sound: bool, timelines: int) -> str:
    chosen = sorted(rows, key=lambda row: (row.score.success, str(row.path)))[: max(0, timelines)]
    out = [_session(row, with_sound) for row in chosen]
    if len(chosen) < len(rows):
        out.append(
            f"<p class='faint'>{len(rows) - len(chosen)} more sessions are counted above and not drawn here.</p>"
        )
    return "".join(out)


def _session(row: SessionRow, with_sound: bool) -> str:
    score = row.score
    word = "succeeded" if score.success else "failed" if row.scored else f"not scored ({score.validity})"
    label = "rehearsal (scripted) · " if score.rehearsal else ""
    name = f"{row.workflow} · {row.agent} · {label}seed {row.meta.seed}: {word}"
    kind = "" if score.success else " class='fail'"
    failed = "; ".join(f"{g.gate}: {g.reason}" for g in score.gates if row.scored and not g.passed)
    return (
        f"<details class='session'><summary{kind}>{escape(clean(name))}</summary><p>{escape(clean(failed))}</p>"
        f"{_drawn(row.path, with_sound)}<p class='faint'>{escape(clean(row.path.name))}</p></details>"
    )


def _drawn(path: Path, with_sound: bool) -> str:
    try:
        recording = open_recording(path)
        if not recording.events:
            return f"<p class='faint'>not drawn: {escape(clean(recording.problem or 'the log is empty'))}</p>"
        heard = (sound(path) or "<p class='faint'>no recording was kept</p>") if with_sound else ""
        return lanes(recording) + legend(recording) + heard + transcript(recording)
    except ApexError as error:
        return f"<p class='faint'>not drawn: {escape(clean(error))}</p>"
