"""What a workflow's gold outcome asks for at all; who only wants to know that need not load the judge."""

from __future__ import annotations

from apex_tui.workflow.model import Workflow


def asks_nothing(workflow: Workflow) -> bool:
    """Whether the gold outcome is empty, so that any agent would succeed."""
    gold = workflow.gold
    return not (
        gold.terminal_state
        or gold.required_actions
        or gold.required_evidence
        or gold.critical_gates
        or gold.forbidden
        or gold.artifact_expectations
        or gold.alternate_terminal_states
    )
