"""What can be spoken in a workflow, as clips: every wording of the caller and every line of the reference agent.

In here: the ids, words and voices of the clips, which of them a seed needs, and the choice of a wording. Deliberately not in here: rendering,
or cutting a text at its pause marks (only their syntax is known here).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import Variant
from apex_tui.workflow.determinism import stable_choice
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official_recovery import CLOSING

PAUSE = re.compile(r"<pause (\d{1,2}(?:\.\d{1,3})?)s>")
"""An authored pause inside an utterance, in seconds: ``five hundred <pause 2.0s> fifty-five``."""
SHORTEST_PAUSE_S = 0.3
"""Shorter ones are no pause to the edge detector, which joins gaps under 250 ms."""
LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True)
class Line:
    """One clip to speak. ``plan``, ``variant`` and ``facts`` are the caller's; the agent's lines have none."""

    id: str
    role: Literal["caller", "agent"]
    text: str
    voice: str
    plan: str | None = None
    variant: str | None = None
    facts: tuple[str, ...] = ()


def slug(text: str) -> str:
    """Return ``text`` as a file name: every run of characters outside letters, digits, ``_ . -`` becomes one ``_``."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("_")


def choose_variant(workflow: Workflow, seed: int, plan: str, *, early: bool = False) -> Variant:
    """Return the wording that this seed speaks (the official choice; closing lines are taken in turn). ``WorkflowError``: the plan has no wording.

    ``early``: what the words would stop is not in prospect yet; wordings that speak of it are left out where there are others.
    """
    wording = workflow.wording(plan)
    if wording is None or not wording.variants:
        raise WorkflowError(f"{workflow.id}: the plan {plan!r} has no wording; add one.")
    if plan == CLOSING:
        return wording.variants[seed % len(wording.variants)]
    fitting = tuple(variant for variant in wording.variants if variant.fits in ("any", "early" if early else "late"))
    return stable_choice(fitting or wording.variants, workflow.scenario_id, seed, plan)


def chosen_variants(workflow: Workflow, seed: int) -> dict[str, tuple[Variant, ...]]:
    """Return the wordings that a session with this seed can need, by plan: one, or two where one of them is for before its time."""
    plans = dict.fromkeys(wording.user_plan_id for wording in workflow.wordings)
    both = {plan: [choose_variant(workflow, seed, plan, early=early) for early in (False, True)] for plan in plans}
    return {plan: tuple({variant.variant_id: variant for variant in found}.values()) for plan, found in both.items()}


def clip_id(workflow: Workflow, plan: str, variant: Variant) -> str:
    """Return the id of a wording's clip, ``<plan>.v<n>`` with n from 1 in file order."""
    wording = workflow.wording(plan)
    number = wording.variants.index(variant) + 1 if wording and variant in wording.variants else 0
    if not number:
        raise WorkflowError(f"{workflow.id}: {variant.variant_id!r} is no wording of the plan {plan!r}.")
    return slug(f"{plan}.v{number}")


def spoken_lines(workflow: Workflow) -> tuple[Line, ...]:
    """Return every line that can be spoken, the caller's in file order, then the agent's; ids are unique."""
    lines: dict[str, Line] = {}
    for plan in dict.fromkeys(wording.user_plan_id for wording in workflow.wordings):
        wording = workflow.wording(plan)
        for number, variant in enumerate(wording.variants if wording else (), 1):
            line_id = slug(f"{plan}.v{number}")
            lines[line_id] = Line(
                line_id,
                "caller",
                variant.text,
                workflow.caller.voice,
                plan,
                variant.variant_id,
                variant.expressed_fact_ids,
            )
    for line in agent_lines(workflow):
        lines[line.id] = line
    return tuple(lines.values())


def agent_lines(workflow: Workflow) -> tuple[Line, ...]:
    """Return the distinct lines of the reference agent, spare ones last (steps that have words and a clip id)."""
    lines: dict[str, Line] = {}
    steps = [step for turn in workflow.reference.turns for step in turn.steps]
    for step in (*steps, *workflow.reference.spare):
        if step.say and step.clip:
            lines.setdefault(step.clip, Line(step.clip, "agent", step.say, workflow.reference.agent_voice))
    return tuple(lines.values())


def choosable(workflow: Workflow, seed: int) -> tuple[str, ...]:
    """Return the ids of the clips that a session with this seed can need: its wordings of each plan, and all agent lines."""
    chosen = chosen_variants(workflow, seed).items()
    caller = [clip_id(workflow, plan, variant) for plan, variants in chosen for variant in variants]
    return (*caller, *(line.id for line in agent_lines(workflow)))


def without_pauses(text: str) -> str:
    """Return the words alone, single-spaced."""
    return " ".join(PAUSE.sub(" ", text).split())


def mark_fault(text: str) -> str | None:
    """Return what is wrong with a text's pause marks, or None."""
    if not text.strip():
        return "no words"
    pieces = PAUSE.split(text)
    if any("<" in part or ">" in part for part in pieces[::2]):
        return "a mark that is no pause; write pauses as <pause 1.5s>"
    if any(not any(char.isalnum() for char in part) for part in pieces[::2]):
        return "a pause without words on both sides"
    if any(not SHORTEST_PAUSE_S <= float(pause) <= LONGEST_PAUSE_S for pause in pieces[1::2]):
        return f"a pause outside {SHORTEST_PAUSE_S} to {LONGEST_PAUSE_S:g} s"
    return None
