"""What a planted fault can trip: the gates, and the measures of a verdict by name, read as *tripped or not*.

Pure. Deliberately not in here: which fault must trip what (that is the fault's own declaration), and running anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apex_tui.score.verdict import GATE_WORDS, GateName, Score
from apex_tui.timeline.events import Event
from apex_tui.timeline.work_facts import CommitDecided

Reader = Callable[[Score, Sequence[Event]], bool]


def _gate(name: GateName) -> Reader:
    return lambda score, events: not score.gate(name).passed


def _decision(name: str) -> Reader:
    return lambda score, events: any(isinstance(e.fact, CommitDecided) and e.fact.decision == name for e in events)


def _class(name: str) -> Reader:
    return lambda score, events: any(row.klass == name for row in score.work.drift)


GATES: dict[str, Reader] = {name: _gate(name) for name in GATE_WORDS}
MEASURES: dict[str, Reader] = {
    "wrong_fields": lambda score, events: any(field.passed is False and field.required for field in score.fields),
    "uptake_censored": lambda score, events: any(field.uptake == "censored" for field in score.fields),
    "stale_call": lambda score, events: bool(score.work.stale_calls),
    "result_dropped": lambda score, events: bool(score.work.results_dropped),
    "drift": lambda score, events: any(row.first_disagreement is not None for row in score.work.drift),
    **{f"class:{name}": _class(name) for name in ("misheard", "misplanned", "miswritten", "overwritten", "unknown")},
    **{
        f"decision:{name}": _decision(name)
        for name in ("PREMATURE", "POST_REVOCATION", "STALE_APPROVAL", "WRONG_SCOPE", "ALREADY_USED")
    },
    "misread_approval": lambda score, events: bool(score.work.misread_approvals),
    "unconfirmed_critical": lambda score, events: bool(score.work.confirmations.unconfirmed),
    "disclosure": lambda score, events: bool(score.work.disclosures),
    "false_success": lambda score, events: bool(score.work.false_success),
    "required_lookup_missing": lambda score, events: bool(score.work.required_lookups_missing),
    "handover_missing": lambda score, events: score.work.handover == "missing",
    "handover_wrong": lambda score, events: score.work.handover == "wrong",
    "unknown_tool": lambda score, events: score.tools.unknown_tool > 0,
    "invalid_arguments": lambda score, events: score.tools.invalid_arguments > 0,
    "repeated": lambda score, events: score.tools.repeated > 0,
    "after_interruption": lambda score, events: score.tools.after_interruption > 0,
    "dead_air": lambda score, events: score.latency.dead_air_n > 0,
    "silent_wait": lambda score, events: score.latency.silent_wait_n > 0,
    "stalled": lambda score, events: score.outcome == "agent_stalled",
}
"""By name. A gate or a measure that is missing from these maps trips nothing: the matrix then shows what was declared and not found."""


def tripped(score: Score, events: Sequence[Event]) -> frozenset[str]:
    """The gates and measures that a session tripped."""
    readers = {**GATES, **MEASURES}
    return frozenset(name for name, read in readers.items() if read(score, events))
