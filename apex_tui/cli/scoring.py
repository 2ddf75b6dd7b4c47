"""``apex-tui score``: the verdict on a recorded session, as a scorecard or as JSON."""

from __future__ import annotations

import sys
from pathlib import Path

from apex_tui.cli.plain import clock
from apex_tui.cli.text import clean
from apex_tui.score.limits import grouped
from apex_tui.score.usage import usage_words
from apex_tui.score.verdict import GATE_WORDS, FieldVerdict, Floor, Latency, Score, Summary
from apex_tui.score.verdict_work import WorkMeasures
from apex_tui.store.files import Unreadable, read_json
from apex_tui.store.layout import SessionFolder
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK, RecordingError, UserError


def score(session: str | None, profile: str, *, as_json: bool) -> int:
    """Judge a session from its own files; returns the exit code."""
    from apex_tui.score.judge import score_recording
    from apex_tui.store.recording import find_recording, open_recording

    if profile not in ("strict", "official"):
        raise UserError(f"--profile {profile!r}: choose strict or official")
    recording = open_recording(find_recording(session))
    if (
        recording.problem and recording.own_workflow and recording.events
    ):  # all else is refused, in a sentence of its own
        print(f"apex-tui: {recording.problem}", file=sys.stderr)
    verdict = score_recording(recording, "strict" if profile == "strict" else "official")
    if as_json:
        print(verdict.model_dump_json())
    else:
        print_score(verdict, recording.folder.path)
    if verdict.validity != "scored":
        return EXIT_INVALID
    return EXIT_OK if verdict.success else EXIT_FAILED


def _who_steered(folder: Path) -> str:
    """Whether a run's own directions did, which were written in advance, or a person while it went on."""
    try:
        parameters = read_json(SessionFolder(folder).meta).get("parameters")
    except (Unreadable, RecordingError):
        return "a person"
    written = isinstance(parameters, dict) and parameters.get("directions")
    return "directions" if written else "a person"


def print_score(verdict: Score, folder: Path) -> None:
    """The scorecard as text on stdout."""
    head = f"{verdict.workflow} · {verdict.agent}" + (" · rehearsal (scripted)" if verdict.rehearsal else "")
    print(clean(f"{head} · environment {verdict.environment_profile}, graded {verdict.grading_profile}"))
    word = "SUCCESS" if verdict.success else "NOT SCORED" if verdict.validity != "scored" else "FAILED"
    validity = f" ({verdict.validity})" if verdict.validity != verdict.outcome else ""
    why = f": {clean(verdict.ended_because)}" if verdict.ended_because and verdict.outcome != "completed" else ""
    print(f"{word}  {clean(verdict.outcome)}{validity}, {clock(verdict.duration_ms)}{why}")
    if verdict.directed:
        print(f"  directed: {_who_steered(folder)} steered the caller, so this counts with no other session")
    judged = verdict.validity == "scored"
    if not judged:
        print("  the gates as they stood at the end; they judge nobody")
    for gate in verdict.gates:
        mark = "·" if not judged else "✓" if gate.passed else "✗"
        print(f"  {mark} {gate.gate} {GATE_WORDS[gate.gate]:<18} {clean(gate.reason)}")
    afa = "—" if verdict.afa is None else f"{100 * verdict.afa:.1f} %"
    print(f"  AFA {afa} (n {verdict.afa_n})")
    for field in verdict.fields:
        print(f"    {_field(field)}")
    if "floor" not in verdict.limits:
        _print_floor(verdict.floor, verdict.latency)
    calls = verdict.tools
    print(f"  tools           {calls.ok} of {calls.calls} calls ok, reference {calls.reference_calls}")
    if verdict.usage:
        print(f"  usage           {clean(usage_words(verdict.usage))}")
    for line in work_lines(verdict.work):
        print(f"  {line}")
    for why, measures in grouped(verdict.limits).items():
        print(f"  limits          {', '.join(measures)}: {clean(why)}")
    if verdict.timing_degraded:
        print(f"  timing degraded: {clean('; '.join(verdict.degraded_because) or 'this machine was too slow')}")
    print(f"  {folder}")


def _print_floor(floor: Floor, latency: Latency) -> None:
    """Interruptions and answers."""
    share = "—" if floor.yielded_share is None else f"{100 * floor.yielded_share:.0f} %"
    print(f"  stop delay      {_values(floor.stop_delay_ms)}; yielded within 2 s {share} (n {floor.observed_n})")
    print(f"  first audible   {_values(latency.first_audible_ms)}" + (f"; {latency.band}" if latency.band else ""))
    print(f"  after a tool    {_values(latency.first_audible_after_tool_ms)}")
    print(f"  cut-ins {floor.cut_ins}, false yields {floor.false_yields} of {floor.backchannels} back-channels")
    if floor.undecided or floor.echo_suspects:
        print(f"  not counted     {floor.undecided} undecided, {floor.echo_suspects} that sound like the loudspeaker")


def work_lines(work: WorkMeasures) -> list[str]:
    """The work section of the scorecard: one line for each finding, under a heading; no lines when there is nothing to say."""
    rows = [("drift", row.reason) for row in work.drift if row.first_disagreement is not None]
    rows += [("stale call", row.reason) for row in work.stale_calls]
    rows += [("result dropped", row.reason) for row in work.results_dropped]
    rows += [("misread approval", row.reason) for row in work.misread_approvals]
    rows += [("unconfirmed", row.reason) for row in work.confirmations.unconfirmed]
    rows += [("disclosed", row.reason) for row in work.disclosures]
    rows += [("false success", row.reason) for row in work.false_success]
    rows += [("lookup missing", row.reason) for row in work.required_lookups_missing]
    rows += [(f"handover {work.handover}", work.handover_reason)] if work.handover is not None else []
    if not rows:
        return []
    told = work.confirmations
    head = f"work            {told.confirmed} of {told.n} critical values confirmed" if told.n else "work"
    return [head, *(f"  {name:<18} {clean(reason)}" for name, reason in rows)]


def _field(field: FieldVerdict) -> str:
    mark = "?" if field.passed is None else "✓" if field.passed else "✗"
    uptake = "" if field.uptake_ms is None else f"  uptake {field.uptake_ms:.0f} ms"
    return f"{mark} {field.artifact}.{field.field:<18} {clean(field.found)}  {clean(field.reason)}{uptake}"


def _values(summary: Summary) -> str:
    if summary.n == 0:
        return "—"
    count = f"(n {summary.n}" + (f", {summary.censored} at least so long)" if summary.censored else ")")
    if summary.median is not None and summary.p95 is not None:
        return f"median {summary.median:.0f} ms, p95 {summary.p95:.0f} ms {count}"
    return ", ".join(f"{value:.0f}" for value in summary.values) + f" ms {count}"
