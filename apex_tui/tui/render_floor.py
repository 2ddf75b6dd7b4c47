"""Panes 5 and 6: barge-ins with the answers' latencies, and the event log. Pure functions to lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from rich.text import Text

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import BargeIn, State
from apex_tui.tui.figures import answers, observed_stops, overlaps, stop_delays
from apex_tui.tui.lines import fit, row, teach, wrap
from apex_tui.tui.plain import arguments, compact, plain
from apex_tui.tui.words import (
    NONE,
    at,
    clock,
    latency_word,
    millis,
    seconds,
    stages,
    stop_word,
    values_text,
)


def barge_lines(state: State, width: int) -> list[Text]:
    """Barge-ins newest first (onset, stop, kind, stages), their summary with n, and the latencies of the answers."""
    lines: list[Text] = []
    if not state.barge_ins:
        lines += teach(
            width,
            "No barge-in yet: the caller has not spoken over the agent.",
            "The stop delay runs from the caller's onset to the last agent sample played.",
        )
    else:
        shown = sorted(state.barge_ins.values(), key=lambda b: -b.number)
        column = max(len(str(stop_word(b.closed.stop_kind))) if b.closed else 0 for b in shown)
        lines.append(fit(row((f"   at           stop  {'how':<{column}}  stages, ms", "quiet")), width))
        lines += [fit(_barge(b, column), width) for b in shown]
        lines += wrap(barge_summary(state), width, indent=2)
    lines += [line for answer in _answers(state) for line in wrap(answer, width, indent=2)]
    others = []
    if state.false_yields:
        others.append(f"{len(state.false_yields)} false yield")
    if state.cut_ins:
        kinds = Counter(c.kind for c in state.cut_ins)
        others += [f"{n} {kind.replace('_', ' ').replace('cut in', 'cut-in')}" for kind, n in kinds.items()]
    if state.silences:
        others += [f"{s.kind.replace('_', ' ')} {seconds(s.to_ms - s.from_ms)}" for s in state.silences[-3:]]
    if others:
        lines += wrap(row((" · ".join(others), "warn")), width)
    return lines


def _barge(barge: BargeIn, column: int) -> Text:
    head = (f"B{barge.number} ", "strong")
    began = f"{at(barge.onset_ms)} "
    closed = barge.closed
    if closed is None:
        return row(head, began, ("… observed for 2 s", "warn"))
    word = stop_word(closed.stop_kind)
    bursts = f" · {closed.stale_bursts} late bursts" if closed.stale_bursts else ""
    bursts += " · echo?" if closed.echo_suspect else ""
    where = " in a pause" if barge.kind == "in_pause" else ""
    return row(
        head, began, (f"{millis(closed.stop_delay_ms):>8} ", "strong"), (f"{word!s:<{column}}  ", word.role),
        (f"{stages(closed.detect_ms, closed.detect_source, closed.flush_ms)}{where}{bursts}", "quiet"),
    )  # fmt: skip


def barge_summary(state: State) -> Text:
    """``n 2: 141 and 182 ms · 2/2 yielded · 1 censored``: the bad ones are never left out."""
    delays = stop_delays(state)
    watched, over = observed_stops(state), overlaps(state)
    kinds = Counter(stop.stop_kind for stop in watched)
    parts = [f"n {len(delays)}: {values_text(delays)}", f"{kinds['yielded']}/{len(watched)} yielded"]
    parts += [
        f"{kinds[kind]} {stop_word(kind).word}" for kind in ("not_stopped", "resumed", "unattributed") if kinds[kind]
    ]
    unproven = Counter(stop.stop_kind for stop in over if stop.stop_kind in ("censored", "invalid"))
    parts += [f"{number} {stop_word(kind).word}" for kind, number in sorted(unproven.items())]
    stalled = len(over) - len(watched) - unproven.total()
    parts += [f"{stalled} across a stall of ours"] if stalled else []
    closed = [b.closed for b in state.barge_ins.values() if b.closed and not b.closed.echo_suspect]
    pauses = sum(1 for stop in closed if stop.kind == "in_pause")
    parts += [f"{pauses} in a pause"] if pauses else []
    return row((" · ".join(parts), "quiet"))


def _answers(state: State) -> list[Text]:
    lines: list[Text] = []
    found = answers(state)
    for label, rows, half in (
        ("answers ", found.plain, found.median),
        ("after tool ", found.after_tool, found.median_after_tool),
    ):
        if not rows:
            continue
        word = latency_word(half if half is not None else 0.0)
        lines.append(
            row((label, "quiet"), f"n {len(rows)}: {values_text(rows)}  ", ("median ", "quiet"), millis(half), " ",
                (word.word, word.role))
        )  # fmt: skip
    if not lines:
        lines.append(row(("answers ", "quiet"), NONE))
    return lines


def event_line(event: Event) -> Text:
    """``01:48.912 caller.turn_started  "No wait" CORRECT  seq 121``: one event on one line."""
    kind = event.type
    role = (
        "bad"
        if kind in ("agent.error", "session.warning")
        else event.actor
        if event.actor in ("caller", "agent")
        else "head"
    )
    causes = f" <- {', '.join(map(str, event.causes[:4]))}" if event.causes else ""
    return row(
        (f"{clock(event.media_ms)} ", "quiet"), (f"{kind:<22} ", role), event_summary(event),
        (f"  seq {event.seq}{causes}", "quiet"),
    )  # fmt: skip


def event_summary(event: Event) -> str:
    """The parts of a fact that matter, in words; other facts show their fields."""
    fact: Any = event.fact
    special = _SUMMARIES.get(event.type)
    if special is not None:
        return special(fact)
    pairs = [
        f"{k}={compact(v, 60)}" for k, v in fact.model_dump(exclude={"type"}).items() if v not in (None, "", {}, (), [])
    ]
    return plain(" ".join(pairs), 300)


def _quote(text: str) -> str:
    return f'"{plain(text, 160)}"'


_SUMMARIES: dict[str, Callable[[Any], str]] = {
    "session.started": lambda f: plain(f"{f.workflow} · {f.agent} · seed {f.seed} · {f.profile}", 200),
    "session.pulse": lambda f: f"late p99 {f.late_p99_ms:.1f} ms max {f.late_max_ms:.1f} ms, queue {f.queue_ms:.0f} ms",
    "session.warning": lambda f: plain(f"{f.code}: {f.message}", 300),
    "session.ended": lambda f: plain(f"{f.outcome} {f.reason}", 300),
    "caller.planned": lambda f: plain(f"{f.act} {f.plan} because {f.because}", 200),
    "caller.turn_started": lambda f: f"{f.act} {_quote(f.text)}",
    "caller.turn_ended": lambda f: f"turn {f.turn}",
    "caller.waits": lambda f: plain(f"{f.why}" + (f", next {f.next_plan}" if f.next_plan else ""), 200),
    "director.acted": lambda f: plain(f"{f.what.replace('_', ' ')} {f.plan or f.device or ''} by {f.by}", 200),
    "agent.connected": lambda f: plain(f"{f.family} {f.url} {f.model or ''}", 200),
    "agent.closed": lambda f: plain(f"code {f.code} {f.reason}", 200),
    "agent.error": lambda f: plain(f"{f.kind}: {f.message}", 300),
    "agent.said": lambda f: f"{plain(f.reply, 40)} {_quote(f.text)}",
    "agent.heard_caller": lambda f: _quote(f.text),
    "agent.reply_closed": lambda f: plain(f"{f.reply} {f.how}, played {f.played_ms:.0f} of {f.generated_ms:.0f} ms", 200),
    "barge_in.opened": lambda f: plain(f"B{f.barge_in} {f.kind} in {f.reply}", 200),
    "barge_in.closed": lambda f: (
        f"B{f.barge_in} {stop_word(f.stop_kind).word} {millis(f.stop_delay_ms)} "
        f"({stages(f.detect_ms, f.detect_source, f.flush_ms)})"
    ),
    "response.measured": lambda f: f"turn {f.turn} first audible {millis(f.first_audible_ms)}",
    "tool.called": lambda f: plain(
        f"{f.name}({arguments(f.arguments)}){' over MCP' if f.source == 'mcp' else ''}" + (f" refused: {f.error}" if f.error else ""), 300
    ),
    "tool.finished": lambda f: plain(
        f"{f.name} {'ok' if f.ok else f'failed: {f.error}'} after {f.latency_ms:.0f} ms" + (f" {f.decision}" if f.decision else ""), 300
    ),
    "approval.requested": lambda f: plain(f"{f.action} on {f.target} v{f.version}", 200),
    "approval.granted": lambda f: plain(f"{f.action} on {f.target} covers v{f.version}", 200),
    "commit.decided": lambda f: plain(f"{f.action} {f.decision} at {f.at} {f.why}", 300),
    "artifact.version": lambda f: plain(
        f"{f.artifact} v{f.version}: {', '.join(c.field for c in f.changes if c.kind != 'same') or 'changed no field'}"
        + (f" (seen: {f.source})" if f.source else ""), 200
    ),
}  # fmt: skip
