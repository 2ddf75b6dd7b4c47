"""Our two recipes as text that a test may change, and what they compile to."""

from __future__ import annotations

from functools import cache

from apex_tui.workflow.caller_model import Transition
from apex_tui.workflow.compile import compile_text
from apex_tui.workflow.library import LIBRARY, find_workflow
from apex_tui.workflow.model import Workflow

RECIPES = ("leave-request", "payment")


@cache
def recipe(name: str) -> Workflow:
    """One of our workflows, compiled once."""
    return find_workflow(name)


def text_of(name: str) -> str:
    """The recipe's own text."""
    return next(LIBRARY.glob(f"*/{name}.yaml")).read_text(encoding="utf-8")


def changed(name: str, old: str, new: str) -> Workflow:
    """The recipe compiled with one change of its text."""
    text = text_of(name)
    assert old in text
    return compile_text(text.replace(old, new, 1), f"{name}.yaml")


def steps(workflow: Workflow) -> tuple[Transition, ...]:
    """The transitions of the derived dialogue, in order."""
    return workflow.flow.states["CALL"].transitions


def plan_after(workflow: Workflow, act: str, done: frozenset[str]) -> str | None:
    """The plan that answers an act when these events were delivered: the first transition that matches."""
    for step in steps(workflow):
        if step.when.agent_act == act and set(step.when.events_done) <= done:
            return step.do.plan_id if step.do else None
    return None
