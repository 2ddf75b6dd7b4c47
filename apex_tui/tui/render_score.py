"""The scorecard: four gates with their reasons, the fields, stops and latencies with n. Pure functions from a verdict to lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from apex_tui.score.limits import grouped
from apex_tui.score.usage import usage_words
from apex_tui.timeline.errors import RecordingError
from apex_tui.tui.lines import Part, hanging, pad, row, wrap
from apex_tui.tui.plain import compact, plain
from apex_tui.tui.words import (
    GATE_NAMES,
    NONE,
    OUTCOMES,
    REHEARSAL,
    Word,
    at,
    clock,
    millis,
    stages,
    stop_word,
    values_text,
)

if TYPE_CHECKING:
    from apex_tui.score.verdict import FieldVerdict, Floor, Latency, Score, Summary


def read_score(record: Mapping[str, Any]) -> Score:
    """Validate the content of score.json.

    Raises:
        RecordingError: it is not a verdict of this version.
    """
    from pydantic import ValidationError

    from apex_tui.score.verdict import Score  # a hundred models: not before a verdict is there

    try:
        return Score.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RecordingError(
            f"score.json is not a verdict ({where}: {first['msg']}): score the session again"
        ) from error


def headline(score: Score) -> Word:
    """Success, failure with the failed gates, or why nobody is judged."""
    if score.validity != "scored":
        why = {"operator": "ended by the operator", "cut_off": "the recording is cut off"}.get(
            score.validity, score.validity
        )
        return Word("?", f"NOT SCORED · {why}", "warn")
    alone = " · directed, counts with no others" if score.directed else ""
    if score.success:
        return Word("✓", f"SUCCESS · all four gates passed{alone}", "good")
    failed = ", ".join(f"{g.gate} {GATE_NAMES[g.gate]}" for g in score.gates if not g.passed)
    return Word("✗", f"FAILED · {failed or 'see below'}{alone}", "bad")


def score_lines(score: Score, width: int) -> list[Text]:
    """The whole scorecard in lines of ``width`` cells."""
    word = headline(score)
    lines = [row((str(word), word.role))]
    if score.rehearsal:
        told = f"{REHEARSAL}: the agent knows the solution; this tests the instrument, not an agent"
        lines += wrap(row((told, "warn")), width)
    outcome = OUTCOMES.get(score.outcome, plain(score.outcome, 60))
    why = f": {plain(score.ended_because, 200)}" if score.ended_because and score.outcome != "completed" else ""
    basis = f"{score.environment_profile} environment, {score.grading_profile} grading, clock {score.clock_basis}"
    lines += hanging(Text(""), row((f"{outcome} after {clock(score.duration_ms)}{why} · {basis}", "quiet")), width)
    if score.timing_degraded:
        why = "; ".join(score.degraded_because) or f"frames were late, p99 {millis(score.late_p99_ms)}"
        lines += hanging(Text(""), row((f"✗ TIMING DEGRADED: {plain(why, 300)}", "bad")), width)
    voiced = "floor" not in score.limits
    return [
        *lines,
        *_section(
            "gates" if score.validity == "scored" else "gates as they stood; they judge nobody",
            gate_lines(score, width),
        ),
        *_section("fields", field_lines(score, width)),
        *(_section("stops", stop_lines(score.floor)) if voiced else ()),
        *_section("answers", latency_lines(score.latency, voiced=voiced)),
        *_section("tools", tool_lines(score)),
        *(_section("work", found) if (found := work_lines(score, width)) else ()),
        *(_section("limits", limits) if (limits := limit_lines(score, width)) else ()),
    ]


def _section(title: str, lines: list[Text]) -> list[Text]:
    return [Text(""), row((title, "head")), *lines]


def gate_lines(score: Score, width: int) -> list[Text]:
    """Each gate with its reason and, when it failed, the checks that failed it."""
    lines: list[Text] = []
    for gate in score.gates:
        mark = ("✓ pass", "good") if gate.passed else ("✗ FAIL", "bad")
        if score.validity != "scored":
            mark = ("· held" if gate.passed else "· open", "quiet")
        lead = row((f"  {mark[0]}  ", mark[1]), (f"{gate.gate} {GATE_NAMES[gate.gate]:<18}", "strong"))
        lines += hanging(lead, row(plain(gate.reason, 400)), width)
        for check in gate.checks:
            if check.passed is False:
                seqs = f"  seq {', '.join(map(str, check.evidence[:5]))}" if check.evidence else ""
                body = row(plain(check.id, 80), ": ", plain(check.reason, 300), (seqs, "quiet"))
                lines += hanging(row(("          └ ", "quiet")), body, width)
        ungraded = sum(1 for c in gate.checks if c.passed is None)
        if ungraded:
            lines.append(row((f"          └ {ungraded} ungraded: only a semantic judge could decide", "quiet")))
    return lines


def field_lines(score: Score, width: int) -> list[Text]:
    """Field, expected, found, why: wrong ones first in their artifact's order are not moved; a glyph and a word tell them."""
    if not score.fields:
        return [row(("  the workflow names no gold fields", "quiet"))]
    name_cells = min(24, max(len(plain(f.field, 60)) for f in score.fields) + 1)
    uptake_cells = max((len(_uptake(f)) for f in score.fields), default=0) + 1
    value_cells = max(9, min(28, (width - name_cells - uptake_cells - 12) // 3))
    head = f"{'':<10}{pad('field', name_cells)}{pad('expected', value_cells)} {pad('found', value_cells)} "
    head += f"{pad('uptake', uptake_cells) if uptake_cells > 1 else ''}why"
    lines = [row((head, "quiet"))]
    for verdict in score.fields:
        word = _field_word(verdict)
        lead = row(
            (pad(f"  {word}", 10), word.role),
            (pad(plain(verdict.field, 60), name_cells), "strong"),
            pad(compact(verdict.expected, 80), value_cells), " ", pad(compact(verdict.found, 80), value_cells), " ",
            (pad(_uptake(verdict), uptake_cells) if uptake_cells > 1 else "", "quiet"),
        )  # fmt: skip
        lines += hanging(lead, _field_why(verdict), width)
    share = NONE if score.afa is None else f"{100 * score.afa:.1f} %"
    lines.append(row((f"  AFA {share} (n {score.afa_n}; a diagnosis, no part of success)", "quiet")))
    return lines


def _field_word(verdict: FieldVerdict) -> Word:
    if verdict.passed is None:
        return Word("?", "open", "quiet")
    return Word("✓", "ok", "good") if verdict.passed else Word("✗", "WRONG", "bad")


def _uptake(verdict: FieldVerdict) -> str:
    """How a correction was taken up: the time, or a word; empty when the caller corrected nothing."""
    if not verdict.corrected:
        return ""
    if verdict.uptake_ms is not None:
        return millis(verdict.uptake_ms)
    return NONE if verdict.uptake is None else verdict.uptake.replace("_", " ")


def _field_why(verdict: FieldVerdict) -> Text:
    """``as wanted``, or the reason; staleness, correction and a value that was overwritten always."""
    parts: list[Part] = []
    parts.append(("as wanted", "quiet") if verdict.passed else plain(verdict.reason, 200))
    if verdict.stale:
        parts.append(("▲ stale", "bad"))
    if verdict.overwritten:
        parts.append(("written right, then overwritten", "bad"))
    if verdict.corrected:
        parts.append(("corrected", "quiet"))
    spaced = [piece for part in parts for piece in (" ", part)]
    return row(*spaced[1:])


def stop_lines(floor: Floor) -> list[Text]:
    """Barge-ins with their stop delay, and the summary with n."""
    lines: list[Text] = []
    for stop in floor.barge_ins:
        word = stop_word(plain(stop.stop_kind, 40))
        lines.append(row(
            f"  B{stop.barge_in}  {at(stop.onset_ms)}  ", (f"{millis(stop.stop_delay_ms):>8}  ", "strong"),
            (f"{word!s:<15}", word.role), ("echo? not counted  " if stop.echo_suspect else "", "warn"),
            (stages(stop.detect_ms, stop.detect_source, stop.flush_ms), "quiet"),
        ))  # fmt: skip
    if not floor.barge_ins:
        lines.append(row(("  the caller never spoke over the agent", "quiet")))
    share = NONE if floor.yielded_share is None else f"{floor.yielded_share:.0%}"
    lines.append(row(f"  stop delay {summary_text(floor.stop_delay_ms)}",
                     (f" · yielded {floor.yielded_n} of {floor.observed_n} ({share})", "quiet")))  # fmt: skip
    others = f"cut-ins {floor.cut_ins} · false yields {floor.false_yields} of {floor.backchannels} back-channels"
    lines.append(row((f"  {others}", "quiet")))
    if floor.undecided or floor.echo_suspects:
        unsure = f"undecided {floor.undecided} · sounds like the loudspeaker {floor.echo_suspects}"
        lines.append(row((f"  not counted: {unsure}", "warn")))
    return lines


def latency_lines(latency: Latency, *, voiced: bool = True) -> list[Text]:
    """First audible, apart by whether a tool was needed, with its band in words; of an agent without a voice only when the work was done."""
    complete = NONE if latency.complete_ms is None else clock(latency.complete_ms)
    if not voiced:
        return [row((f"  complete at {complete}", "quiet"))]
    rows = (
        ("first audible", latency.first_audible_ms),
        ("after a tool", latency.first_audible_after_tool_ms),
        ("first byte", latency.first_byte_ms),
        ("leading silence", latency.leading_silence_ms),
    )
    lines = [row(f"  {label:<16} {summary_text(summary)}") for label, summary in rows]
    if latency.band is not None:
        role = {"natural": "good", "holds together": "warn"}.get(latency.band, "bad")
        lines[0].append(f"  {latency.band}", role)
    waits = f"unanswered {latency.unanswered} · dead air {latency.dead_air_n} · silent waits {latency.silent_wait_n}"
    lines.append(row((f"  {waits} · complete at {complete}", "quiet")))
    return lines


def tool_lines(score: Score) -> list[Text]:
    """Calls against the reference solution, and what the provider counted."""
    tools = score.tools
    ratio = NONE if tools.ratio is None else f"{tools.ratio:.2f}"
    first = f"  {tools.ok} ok of {tools.calls} calls · {tools.failed} failed · {tools.cancelled} cancelled"
    second = f" · reference {tools.reference_calls} · ratio {ratio}"
    faults = (
        ("unknown tool", tools.unknown_tool),
        ("invalid arguments", tools.invalid_arguments),
        ("repeated", tools.repeated),
        ("after an interruption", tools.after_interruption),
    )
    named = " · ".join(f"{n} {label}" for label, n in faults if n)
    lines = [row(first, (second, "quiet"))]
    if named:
        lines.append(row((f"  {named}", "warn")))
    if score.usage:
        lines.append(row((f"  {plain(usage_words(score.usage), 400)}", "quiet")))
    return lines


def work_lines(score: Score, width: int) -> list[Text]:
    """What the work measures found, a sentence each with its evidence; nothing when nothing was found."""
    work = score.work
    rows: list[tuple[str, str, tuple[int, ...]]] = [
        ("drift", d.reason, d.evidence.get(d.first_disagreement, ())) for d in work.drift if d.first_disagreement
    ]
    rows += [("stale call", r.reason, r.evidence) for r in work.stale_calls]
    rows += [("result dropped", r.reason, r.evidence) for r in work.results_dropped]
    rows += [("misread", r.reason, r.evidence) for r in work.misread_approvals]
    rows += [("unconfirmed", r.reason, r.evidence) for r in work.confirmations.unconfirmed]
    rows += [("disclosed", r.reason, r.evidence) for r in work.disclosures]
    rows += [("false success", r.reason, r.evidence) for r in work.false_success]
    rows += [("no lookup", r.reason, r.evidence) for r in work.required_lookups_missing]
    if work.handover in ("missing", "wrong"):
        rows.append(("hand-over", work.handover_reason, work.handover_evidence))
    lines: list[Text] = []
    for label, reason, seqs in rows:
        told = f"  seq {', '.join(map(str, seqs[:4]))}" if seqs else ""
        lines += hanging(row((f"  {label:<15}", "warn")), row(plain(reason, 300), (told, "quiet")), width)
    return lines


def limit_lines(score: Score, width: int) -> list[Text]:
    """What the way in which the agent was connected makes not applicable, or less exact."""
    lines: list[Text] = []
    for why, measures in grouped(score.limits).items():
        body = row((plain(", ".join(measures), 300), "strong"), f": {plain(why, 300)}")
        lines += hanging(row("  "), body, width)
    return lines


def summary_text(summary: Summary) -> str:
    """``n 2: 141 and 182 ms``; with 20 values and more ``median 161 ms p95 412 ms (n 143)``."""
    if summary.n == 0:
        return f"{NONE} (n 0)"
    if summary.n >= 20 and summary.median is not None:
        return f"median {millis(summary.median)} p95 {millis(summary.p95)} (n {summary.n})"
    text = f"n {summary.n}: {values_text(list(summary.values))}"
    if summary.median is not None and summary.n > 1:
        text += f", median {millis(summary.median)}"
    return text
