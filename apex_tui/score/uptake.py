"""Corrections: which fields the caller changed, how soon the wanted value was written, and when everything that hangs on it was right again.

Times run from the end of the corrected value's word (media ms) to the version that writes it. Deliberately not in here: whether the field is
right at the end (`fields`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from apex_tui.score.case import Case, Moment
from apex_tui.score.graders import grade
from apex_tui.timeline.state import Turn
from apex_tui.workflow.outcome_model import ArtifactExpectation, GoldField


class Change(NamedTuple):
    """The last correction of a field: the turn that spoke it (None: its words are not in the log), and the value wanted since."""

    turn: Turn | None
    wanted: Any


class Uptake(NamedTuple):
    """``uptake_ms`` only when ``kind`` is taken_up; ``settled_ms`` only when the field and its dependents came right after
    the words, and stayed so.
    """

    kind: Literal["taken_up", "anticipated", "censored"] | None = None
    uptake_ms: float | None = None
    settled_ms: float | None = None


def right(case: Case, gold: GoldField, moment: Moment, wanted: Any) -> bool:
    """Whether the field holds ``wanted`` at a moment, stale or not; a wanted None asks only that it is there."""
    if gold.field not in moment.fields:
        return False
    if wanted is None:
        return True
    found = moment.fields[gold.field]
    return grade(gold.grader, found, wanted, gold.tolerance, case.grading, case.workflow.locale).passed is True


def change_of(case: Case, artifact: str, gold: GoldField) -> Change | None:
    """The last correction of the field in this session, or None.

    It was corrected when an event that the caller spoke repairs it, or (strict) when a turn states another value than an earlier one.
    Official grading knows events with CORRECTION in their type only.
    """
    path = f"{artifact}.{gold.field}"
    said = list(case.stated(artifact, gold.field))
    found: list[tuple[int, Turn | None]] = [
        (c.seq, c.turn) for c in case.corrections if path in c.repairs and (case.strict or "CORRECTION" in c.kind)
    ]
    if case.strict:
        for (_, before), (stating, value) in pairwise(said):
            if not grade(gold.grader, value, before, gold.tolerance, "strict", case.workflow.locale).passed:
                found.append((stating.seq, stating))
    if not found:
        return None
    turn = max(found, key=lambda item: item[0])[1]
    spoken = [value for stated, value in said if turn is not None and stated.number == turn.number]
    return Change(turn, spoken[0] if spoken else gold.expected)


def since(moments: Sequence[Moment], holds: Callable[[Moment], bool]) -> Moment | None:
    """The moment from which ``holds`` is true up to the end; None when it is not true at the end."""
    found: Moment | None = None
    for moment in reversed(moments):
        if not holds(moment):
            break
        found = moment
    return found


def uptake_of(case: Case, expected: ArtifactExpectation, gold: GoldField, change: Change) -> Uptake:
    """How a correction was taken up; nothing when its words are not in the log."""
    turn = change.turn
    if turn is None:
        return Uptake()
    moments = case.history.get(expected.artifact_id, [])
    before = [m for m in moments if m.at_ms < turn.onset_ms]
    after = [m for m in moments if m.at_ms >= turn.onset_ms]
    settled = since(moments, lambda m: _all_right(case, expected, gold, change.wanted, m))
    at_ms = None if settled is None else settled.at_ms - turn.value_end_ms
    settled_ms = None if at_ms is None or at_ms < 0 else round(at_ms, 3)
    if before and right(case, gold, before[-1], change.wanted):
        return Uptake("anticipated", None, settled_ms)
    wrote = next((m for m in after if gold.field in m.written and right(case, gold, m, change.wanted)), None)
    if wrote is None:
        return Uptake("censored", None, settled_ms)
    if wrote.at_ms < turn.value_end_ms:
        return Uptake("anticipated", None, settled_ms)
    return Uptake("taken_up", round(wrote.at_ms - turn.value_end_ms, 3), settled_ms)


def _all_right(case: Case, expected: ArtifactExpectation, gold: GoldField, wanted: Any, moment: Moment) -> bool:
    """The field and everything that depends on it: right where gold says what is right, and nowhere stale."""
    if gold.field in moment.stale or not right(case, gold, moment, wanted):
        return False
    graded = {g.field: g for g in expected.fields}
    for name in _dependents(case, expected.artifact_id, gold.field):
        if name in moment.stale:
            return False
        other = graded.get(name)
        needed = other is not None and (other.required or name in moment.fields)
        if other is not None and needed and not right(case, other, moment, other.expected):
            return False
    return True


def _dependents(case: Case, artifact: str, name: str) -> list[str]:
    """Everything that depends on the field, directly or through others; the field itself left out."""
    found: list[str] = []
    waiting = [name]
    while waiting:
        spec = case.spec(artifact, waiting.pop())
        for dependent in spec.dependents if spec is not None else ():
            if dependent not in found and dependent != name:
                found.append(dependent)
                waiting.append(dependent)
    return found
