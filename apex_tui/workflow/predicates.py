"""Which predicates can be judged at all: their kinds, and the arguments without which one says nothing. Deliberately not in here: judging them."""

from __future__ import annotations

from collections.abc import Iterator

from apex_tui.workflow.outcome_model import Gold, Predicate

NEEDS: dict[str, tuple[str, ...]] = {
    "state_equals": ("path",),
    "state_in": ("path",),
    "artifact_field_equals": ("artifact_id", "field"),
    "artifact_field_present": ("artifact_id", "field"),
    "artifact_not_stale": ("artifact_id", "field"),
    "artifact_lifecycle_at_least": ("artifact_id", "state"),
    "tool_called": ("tool",),
    "tool_called_with": ("tool",),
    "kb_gold_retrieved": (),
    "commit_authorized": ("action_type",),
    "no_unauthorized_commit": (),
    "no_commit_after_revocation": (),
    "agent_act_observed": ("act_key",),
    "consistency": (),
}
"""Every kind of predicate that can be scored -> arguments that are names, and must be there."""


def predicates_of(gold: Gold) -> Iterator[Predicate]:
    """Every predicate of a gold outcome."""
    yield from gold.terminal_state
    for rows in gold.alternate_terminal_states:
        yield from rows
    yield from (*gold.required_actions, *gold.required_evidence, *gold.forbidden)
    yield from (gate.predicate for gate in gold.critical_gates)


def unjudgeable(row: Predicate) -> str | None:
    """Why a predicate can never be judged, in one sentence, or None."""
    if row.kind not in NEEDS:
        return f"The predicate {row.id} is of the kind {row.kind}, which is unknown."
    missing = [name for name in NEEDS[row.kind] if not isinstance(row.args.get(name), str)]
    if missing:
        return f"The predicate {row.id} ({row.kind}) needs the argument {missing[0]}, a text."
    return None
