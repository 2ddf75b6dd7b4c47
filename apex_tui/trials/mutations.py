"""Whether the outcome is looked at whole: with any one gold value changed, the reference's own session must fail.

The session's events are judged again, nothing is run again. Pure. Deliberately not in here: gold that asks for calls or their order; the planted
faults prove those.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from apex_tui.score.case import build
from apex_tui.score.fields import grade_artifacts
from apex_tui.score.gates import judge_gates
from apex_tui.timeline.events import Event
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import ArtifactExpectation, Gold, Predicate


def unnoticed(workflow: Workflow, events: Sequence[Event]) -> list[str]:
    """Gold values that can be changed without the session's failing. ``events``: of a session that succeeds."""
    case = build(events, workflow, "strict")
    found = []
    for name, gold in mutants(workflow.gold):
        again = copy.copy(case)
        again.workflow = workflow.model_copy(update={"gold": gold})
        if all(gate.passed for gate in judge_gates(again, grade_artifacts(again))):
            found.append(name)
    return found


def mutants(gold: Gold) -> Iterator[tuple[str, Gold]]:
    """Every gold with one value changed, and the name of what was changed: required fields, and the values of the target state."""
    for at, expectation in enumerate(gold.artifact_expectations):
        for number, field in enumerate(expectation.fields):
            if field.expected is None or not field.required:
                continue
            changed = field.model_copy(update={"expected": other(field.expected)})
            fields = (*expectation.fields[:number], changed, *expectation.fields[number + 1 :])
            yield f"{expectation.artifact_id}.{field.field}", _with(gold, at, expectation, fields)
    for number, row in enumerate(gold.terminal_state):
        if row.kind == "state_equals":
            changed_row = row.model_copy(update={"args": {**row.args, "value": other(row.args.get("value"))}})
            rows: tuple[Predicate, ...] = (
                *gold.terminal_state[:number],
                changed_row,
                *gold.terminal_state[number + 1 :],
            )
            yield str(row.args.get("path")), gold.model_copy(update={"terminal_state": rows})


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"not {value}"


def _with(gold: Gold, at: int, expectation: ArtifactExpectation, fields: tuple[Any, ...]) -> Gold:
    rows = gold.artifact_expectations
    changed = expectation.model_copy(update={"fields": fields})
    return gold.model_copy(update={"artifact_expectations": (*rows[:at], changed, *rows[at + 1 :])})
