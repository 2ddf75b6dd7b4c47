"""A table of results as text: for the terminal, as Markdown and as CSV.

In here: which rows there are, and how a number is written with its n and its interval; one list of rows feeds every form, so that no form can
say something else. Deliberately not in here: the numbers (``results``) and the HTML file (``html_report``). Text from outside (names, reasons)
loses its control characters, and is never read as markup.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from apex_tui.trials.results_left_out import REPEAT
from apex_tui.trials.results_model import AgentResult, Cut, Mean, Share, Spread, Table
from apex_tui.trials.tables_plots import answers, effort, reliability

ABSENT = "—"
HATCH = "▒"
"""Stands before a figure of fewer than five workflows."""
MAX_TEXT = 160
MAX_REMARK = 2000
"""What must be said is said whole, as far as anyone could read it."""
SHOWN_FAILURES = 20
"""Failures that the terminal lists."""

Row = tuple[str, Callable[[AgentResult], str]]


def clean(text: object, limit: int = MAX_TEXT) -> str:
    """One line without control characters, of at most ``limit`` characters."""
    line = "".join(ch if ch.isprintable() else " " for ch in str(text))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def percent(value: float | None) -> str:
    """``87.5 %``."""
    return ABSENT if value is None else f"{100 * value:.1f} %"


def shown_share(share: Share) -> str:
    """``87.5 % [70.1, 95.6] (14/16)``."""
    return f"{percent(share.value)}{_edges(share.low, share.high, 100)} ({share.hits}/{share.n})"


def shown_mean(mean: Mean, scale: float = 100, unit: str = " %", digits: int = 1) -> str:
    """``87.5 % [70.1, 95.6] (n 16)``."""
    if mean.value is None:
        return f"{ABSENT} (n 0)"
    return f"{scale * mean.value:.{digits}f}{unit}{_edges(mean.low, mean.high, scale, digits)} (n {mean.n})"


def shown_spread(spread: Spread, unit: str = "ms") -> str:
    """``median 577 ms, p95 890 ms (n 24, 2 at least so long)``."""
    if spread.median is None:
        return f"{ABSENT} (n 0)"
    scale, digits = (1000, 1) if unit == "s" else (1, 0)
    tail = f", p95 {spread.p95 / scale:.{digits}f} {unit}" if spread.p95 is not None else ""
    more = f", {spread.censored} at least so long" if spread.censored else ""
    return f"median {spread.median / scale:.{digits}f} {unit}{tail} (n {spread.n}{more})"


def _edges(low: float | None, high: float | None, scale: float, digits: int = 1) -> str:
    return "" if low is None or high is None else f" [{scale * low:.{digits}f}, {scale * high:.{digits}f}]"


def _counted(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in found.items()) or "none"


def _rate(mean: Mean) -> str:
    return shown_mean(mean, 1, "", 2)


def rows_of(table: Table) -> list[tuple[str, list[Row]]]:
    """(section, rows) of the table; a row is its name and how it reads for an agent."""
    k = table.k
    return [
        ("work", [
            (f"Reliable@{k}", lambda a: shown_mean(a.reliable_k)),
            ("Pass@1", lambda a: shown_mean(a.pass_1)),
            *([(f"Pass@{k}", lambda a: shown_mean(a.pass_k))] if k > 1 else []),
            ("inclusive Pass@1", lambda a: shown_mean(a.inclusive)),
            ("Pass@1 of uncorrected twins", lambda a: shown_mean(a.twins.pass_1) if a.twins else ABSENT),
            ("sessions that succeeded", lambda a: shown_share(a.success)),
            ("TS target state", lambda a: shown_share(a.gates["TS"])),
            ("PV process validity", lambda a: shown_share(a.gates["PV"])),
            ("AC action completion", lambda a: shown_share(a.gates["AC"])),
            ("AV artifact validity", lambda a: shown_share(a.gates["AV"])),
            ("AFA (fields)", lambda a: shown_share(a.afa)),
            ("AFA (mean of workflows)", lambda a: shown_mean(a.afa_workflows)),
            ("wrong values", lambda a: _counted(a.wrong_values)),
        ]),
        ("corrections", [
            ("AFA of corrected fields", lambda a: shown_share(a.corrections.corrected)),
            ("AFA of other fields", lambda a: shown_share(a.corrections.other)),
            ("correction gap", lambda a: _points(a.corrections.gap)),
            ("same fields, uncorrected twin", lambda a: shown_share(a.corrections.twin) if a.corrections.twin else ABSENT),
            ("gap against the twin", lambda a: _points(a.corrections.twin_gap)),
            ("AV failures with a corrected field", lambda a: shown_share(a.corrections.linked)),
            ("uptake", lambda a: shown_spread(a.corrections.uptake_ms)),
            ("taken up / anticipated / never", lambda a:
                f"{a.corrections.taken_up} / {a.corrections.anticipated} / {a.corrections.censored}"),
        ]),
        ("floor", [
            ("yielded within 2 s", lambda a: shown_share(a.turns.yielded) + (
                "" if a.turns.yielded_at_most is None else f", at most {percent(a.turns.yielded_at_most)}")),
            ("falls silent uninterrupted", lambda a: shown_share(a.turns.silent_by_chance)),
            ("stop delay", lambda a: shown_spread(a.turns.stop_delay_ms)),
            ("kinds of stop", lambda a: _counted(a.turns.stop_kinds)),
            ("first audible", lambda a: shown_spread(a.turns.first_audible_ms)),
            ("first audible after a tool", lambda a: shown_spread(a.turns.first_audible_after_tool_ms)),
            ("first sentence", lambda a: shown_spread(a.turns.first_sentence_ms)),
            ("dead air per session", lambda a: _rate(a.turns.dead_air)),
            ("silent waits per session", lambda a: _rate(a.turns.silent_wait)),
            ("cut-ins per session", lambda a: _rate(a.turns.cut_ins)),
            ("unanswered turns per session", lambda a: _rate(a.turns.unanswered)),
            ("false yields at back-channels", lambda a: shown_share(a.turns.false_yields)),
            ("overlap", lambda a: shown_mean(a.turns.overlap_ratio)),
        ]),
        ("effort", [
            ("complete", lambda a: shown_spread(a.complete_ms, "s")),
            ("minutes per session", lambda a: _rate(a.minutes)),
            ("cost per session", lambda a: ABSENT if a.usd.value is None else shown_mean(a.usd, 1, " USD", 3)),
            ("tokens per session", lambda a: ABSENT if a.tokens.value is None else shown_mean(a.tokens, 1, "", 0)),
            ("tool ratio", lambda a: _rate(a.tools.ratio)),
            ("tool calls ok", lambda a: f"{a.tools.ok} of {a.tools.calls}"),
            ("unknown / invalid / repeated / after interruption", lambda a:
                f"{a.tools.unknown_tool} / {a.tools.invalid_arguments} / {a.tools.repeated} / {a.tools.after_interruption}"),
        ]),
        ("lapses", [
            ("stale calls", lambda a: str(a.lapses.stale_calls)),
            ("results dropped", lambda a: str(a.lapses.results_dropped)),
            ("misread approvals", lambda a: str(a.lapses.misread_approvals)),
            ("disclosures before identity", lambda a: str(a.lapses.disclosures)),
            ("success reported after a failed commit", lambda a: str(a.lapses.false_success)),
            ("required lookups missing", lambda a: str(a.lapses.lookups_missing)),
            ("critical values read back", lambda a: shown_share(a.lapses.confirmed)),
        ]),
        ("sessions", [
            ("scored of all", lambda a: f"{a.scored} of {a.sessions}"),
            ("of uncorrected twins, scored of all", lambda a: f"{a.twins.scored} of {a.twins.sessions}" if a.twins else ABSENT),
            ("invalid", lambda a: _counted(a.invalid)),
            ("infrastructure retries", lambda a: str(a.retries)),
            ("never began", lambda a: str(a.not_run)),
            ("timing degraded", lambda a: str(a.degraded)),
            ("clock", lambda a: a.clock),
            ("profiles", lambda a: f"environment {a.environment_profile}, graded {a.grading_profile}"),
        ]),
    ]  # fmt: skip


def _points(gap: float | None) -> str:
    return ABSENT if gap is None else f"{100 * gap:+.1f} points"


def heading(agent: AgentResult) -> str:
    """An agent's name with its rank, or with the label that it must carry."""
    label = clean(agent.label)
    if agent.rehearsal:
        return f"{label} · rehearsal (scripted)"
    return f"#{agent.rank} {label}" if agent.rank is not None else f"{label} · unranked"


def print_table(table: Table, console: Console, say: Callable[[str], object] | None = None) -> None:
    """The table on a terminal (or a pipe: without colour and without bars of another width). ``say`` prints the lines that stand in no grid."""
    say = say or (lambda line: console.print(Text(line), soft_wrap=True))
    if not table.agents:
        for line in ["no session to count", *(line for line in remarks(table) if line.startswith("not counted"))]:
            say(line)
        return
    grid = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    grid.add_column(Text("agents in order of rank"), no_wrap=False)
    for agent in table.agents:
        grid.add_column(Text(heading(agent)), overflow="fold")
    for number, (section, rows) in enumerate(rows_of(table)):
        if number:
            grid.add_section()
        grid.add_row(Text(section, style="bold"))
        for name, read in rows:
            grid.add_row(Padding(Text(name), (0, 0, 0, 2)), *(Text(read(agent)) for agent in table.agents))
    console.print(grid)
    for lines in (reliability(table, heading), answers(table, heading), effort(table, heading)):
        for line in [*lines, ""] if lines else ():
            say(line)
    _print_slices(table, console)
    for line in (*failure_lines(table), *remarks(table)):
        say(line)


def failure_lines(table: Table) -> list[str]:
    """The sessions that failed: which, why, and where each lies, so that `why` and `regress` can be asked about it."""
    if not table.failures:
        return []
    lines = [f"failures ({len(table.failures)}); `apex-tui why PATH artifact.field`, `apex-tui regress PATH`"]
    for f in table.failures[:SHOWN_FAILURES]:
        why = "; ".join(f"{gate}: {reason}" for gate, reason in f.gates.items())
        lines += [
            clean(f"  {f.workflow} · {f.agent} · seed {f.seed}: {why}"),
            f"    {''.join(ch for ch in f.path if ch.isprintable())}",
        ]
    rest = len(table.failures) - SHOWN_FAILURES
    return [*lines, *([f"  and {rest} more: --json, --markdown and --html name them all"] if rest > 0 else []), ""]


def _print_slices(table: Table, console: Console) -> None:
    grid = RichTable(box=SIMPLE_HEAD, pad_edge=False, title=Text("success by slice (sessions)"), title_justify="left")
    grid.add_column(Text("axis"))
    grid.add_column(Text("label"))
    for agent in table.agents:
        grid.add_column(Text(heading(agent)))
    last = ""
    for part in table.slices:
        cells = [Text(shown_cut(part.cuts.get(agent.label))) for agent in table.agents]
        grid.add_row(Text(clean(part.axis) if part.axis != last else ""), Text(clean(part.label)), *cells)
        last = part.axis
    console.print(grid)
    console.print(Text(f"{HATCH} fewer than five workflows: too few to compare"))


def shown_cut(cut: Cut | None) -> str:
    """``▒ 66.7 % (2/3)``."""
    if cut is None:
        return ABSENT
    return f"{HATCH + ' ' if cut.hatched else ''}{percent(cut.success)} ({cut.successes}/{cut.sessions})"


def remarks(table: Table) -> list[str]:
    """What must be said beside the numbers: provenance, what was left out, and why."""
    origin = table.provenance
    lines = [f"note: {note}" for note in table.notes]
    lines.append(f"callers: {'; '.join(origin.callers) or 'none'}; {origin.clips} clips, each known by its digest")
    if any("synthetic" in caller for caller in origin.callers):
        lines.append("the bank's clips were chosen and checked by machine; no person listened to them")
    lines.append(f"profiles: {'; '.join(origin.profiles) or 'none'}; clock: {', '.join(origin.clock_bases) or 'none'}")
    lines.append(f"apex-tui {', '.join(origin.app_versions) or '?'}; seeds {_seeds(origin.seeds)}")
    for workflow, who in table.too_few.items():
        lines.append(f"{workflow}: left out at k = {table.k} for all; fewer sessions of {', '.join(map(clean, who))}")
    lines += [f"{workflow}: left out of Pass@1 for all; not every agent ran it" for workflow in table.uncommon]
    lines += left_out(table.skipped)
    return [clean(line, MAX_REMARK) for line in lines]


def left_out(skipped: Mapping[str, str]) -> list[str]:
    """A line for everything that was not counted; identical repeats, of which there may be hundreds, share one."""
    lines = [f"not counted: {clean(path)}: {clean(why)}" for path, why in skipped.items() if why != REPEAT]
    again = [path for path, why in skipped.items() if why == REPEAT]
    more = f" and {len(again) - 1} more" if len(again) > 1 else ""
    return lines + [f"not counted: {clean(path)}{more}: {REPEAT}" for path in again[:1]]


def _seeds(seeds: Sequence[int]) -> str:
    shown = ", ".join(map(str, seeds[:12]))
    return f"{shown} … {seeds[-1]} ({len(seeds)})" if len(seeds) > 12 else shown or "none"


def markdown(table: Table) -> str:
    """The table as Markdown; interval in brackets, n in parentheses."""
    lines = _md_table(
        ["", *(heading(agent) for agent in table.agents)],
        [
            [name, *(read(agent) for agent in table.agents)]
            for section, rows in rows_of(table)
            for name, read in [(f"**{section}**", _blank), *rows]
        ],
    )
    lines += ["", "Success by slice (sessions); " + HATCH + " fewer than five workflows.", ""]
    lines += _md_table(
        ["axis", "label", *(heading(agent) for agent in table.agents)],
        [[s.axis, s.label, *(shown_cut(s.cuts.get(a.label)) for a in table.agents)] for s in table.slices],
    )
    if table.failures:
        lines += ["", "Failures", ""]
        lines += _md_table(
            ["session", "workflow", "agent", "seed", "outcome", "why"],
            [
                [
                    f.session,
                    f.workflow,
                    f.agent,
                    str(f.seed),
                    f.outcome,
                    "; ".join(f"{g}: {r}" for g, r in f.gates.items()),
                ]
                for f in table.failures
            ],
        )
    lines += ["", *(f"- {_md(line)}" for line in remarks(table)), ""]
    return "\n".join(lines)


def _blank(_: AgentResult) -> str:
    return ""


def _md(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _md_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(map(_md, head)) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(map(_md, row)) + " |" for row in rows]


CSV_COLUMNS = ("scope", "axis", "label", "agent", "rehearsal", "rank", "measure", "value", "low", "high", "n", "hits")


def csv_text(table: Table) -> str:
    """The table as CSV in long form: one number a row, raw (shares in 0..1, times in ms), with its interval and n."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_COLUMNS)
    for agent in table.agents:
        who = (_cell(agent.label), agent.rehearsal, agent.rank)
        for measure, number in _numbers(agent, table.k):
            writer.writerow(("total", "", "", *who, measure, *_flat(number)))
    for part in table.slices:
        for agent in table.agents:
            cut = part.cuts.get(agent.label)
            if cut is not None:
                who = (_cell(agent.label), agent.rehearsal, agent.rank)
                where = ("slice", _cell(part.axis), _cell(part.label))
                writer.writerow((*where, *who, "success", _raw(cut.success), "", "", cut.sessions, cut.successes))
                writer.writerow((*where, *who, "afa", _raw(cut.afa), "", "", cut.afa_n, cut.afa_right))
    return out.getvalue()


def _numbers(agent: AgentResult, k: int) -> list[tuple[str, Share | Mean | Spread]]:
    turns, fixes = agent.turns, agent.corrections
    rows: list[tuple[str, Share | Mean | Spread]] = [
        *((("twins_pass_at_1", agent.twins.pass_1),) if agent.twins else ()),
        ("pass_at_1", agent.pass_1), (f"pass_at_{k}", agent.pass_k) if k > 1 else ("pass_at_k", agent.pass_k),
        (f"reliable_at_{k}", agent.reliable_k), ("inclusive_pass_at_1", agent.inclusive), ("success", agent.success),
        *((f"gate_{name}", share) for name, share in agent.gates.items()),
        ("afa", agent.afa), ("afa_workflows", agent.afa_workflows), ("afa_corrected", fixes.corrected),
        ("afa_other", fixes.other), ("correction_gap", Mean(value=fixes.gap, n=fixes.corrected.n)),
        ("twin_gap", Mean(value=fixes.twin_gap, n=fixes.twin.n if fixes.twin else 0)),
        ("correction_linked", fixes.linked), ("uptake_ms", fixes.uptake_ms),
        ("yielded", turns.yielded),
        ("silent_by_chance", turns.silent_by_chance), ("stop_delay_ms", turns.stop_delay_ms), ("first_audible_ms", turns.first_audible_ms),
        ("first_audible_after_tool_ms", turns.first_audible_after_tool_ms), ("first_sentence_ms", turns.first_sentence_ms),
        ("dead_air_per_session", turns.dead_air), ("silent_wait_per_session", turns.silent_wait),
        ("cut_ins_per_session", turns.cut_ins), ("false_yields", turns.false_yields), ("overlap_ratio", turns.overlap_ratio),
        ("complete_ms", agent.complete_ms), ("minutes", agent.minutes), ("usd", agent.usd), ("tokens", agent.tokens),
        ("tool_ratio", agent.tools.ratio),
        ("critical_values_confirmed", agent.lapses.confirmed),
    ]  # fmt: skip
    return rows


def _flat(number: Share | Mean | Spread) -> tuple[object, ...]:
    """value, low, high, n, hits; for a spread the p95 stands in ``high``, and hits are the censored values."""
    match number:
        case Share():
            return _raw(number.value), _raw(number.low), _raw(number.high), number.n, number.hits
        case Mean():
            return _raw(number.value), _raw(number.low), _raw(number.high), number.n, ""
        case Spread():
            return _raw(number.median), "", _raw(number.p95), number.n, number.censored


def _raw(value: float | None) -> object:
    return "" if value is None else round(value, 6)


def _cell(text: str) -> str:
    """A spreadsheet must not take a name for a formula."""
    line = clean(text)
    return "'" + line if line[:1] in "=+-@" else line
