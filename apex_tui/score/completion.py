"""When the work was done: the last write or authorised commit that the gold outcome needs, in ms from the start of the session.

A value counts from when it was right and stayed so, not from its last rewriting. Absent unless the target state, the actions and the
artifacts all came out right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apex_tui.score.case import Case, Moment, rank
from apex_tui.score.predicates import authorised
from apex_tui.score.uptake import right, since
from apex_tui.score.verdict import GateVerdict
from apex_tui.workflow.outcome_model import ArtifactExpectation, GoldField, Predicate


def complete_ms(case: Case, gates: Sequence[GateVerdict]) -> float | None:
    """Session start to the last needed write or commit; None when the outcome was not reached, or nothing had to be done."""
    if not all(gate.passed for gate in gates if gate.gate != "PV"):
        return None
    times = [at for at in _needed(case) if at is not None and at > 0]
    return round(max(times), 3) if times else None


def _needed(case: Case) -> Iterator[float | None]:
    gold = case.workflow.gold
    for predicate in (*gold.terminal_state, *gold.required_actions, *gold.required_evidence):
        yield _of_predicate(case, predicate)
    for expected in gold.artifact_expectations:
        moments = case.history.get(expected.artifact_id, [])
        if expected.lifecycle_min is not None:
            yield _reached(moments, expected.lifecycle_min)
        for field in expected.fields:
            if field.required:
                yield _held(case, expected, field)


def _held(case: Case, expected: ArtifactExpectation, gold: GoldField) -> float | None:
    moments = case.history.get(expected.artifact_id, [])
    found = since(moments, lambda m: gold.field not in m.stale and right(case, gold, m, gold.expected))
    return None if found is None else found.at_ms


def _reached(moments: Sequence[Moment], lifecycle: str) -> float | None:
    found = since(moments, lambda m: rank(m.lifecycle) >= rank(lifecycle))
    return None if found is None else found.at_ms


def _of_predicate(case: Case, predicate: Predicate) -> float | None:
    args = predicate.args
    moments = case.history.get(args.get("artifact_id", ""), [])
    match predicate.kind:
        case "commit_authorized":
            commit = authorised(case, args["action_type"], args.get("target_id"))
            return None if commit is None else commit.at_ms
        case "artifact_lifecycle_at_least":
            return _reached(moments, args["state"])
        case "artifact_field_equals" | "artifact_field_present":
            name = args["field"]
            found = since(moments, lambda m: name in m.fields and m.fields[name] == moments[-1].fields.get(name))
            return None if found is None else found.at_ms
        case _:
            return None
