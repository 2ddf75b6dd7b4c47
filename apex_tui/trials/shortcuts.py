"""Agents that take a short cut, and must not reach the right end by it: what a workflow proves about luck.

``first-turn``   knows what the caller would tell if asked, and does all of the work in its first turn, so that it hears no correction
``defaults``     writes what the systems show and what a form would propose, and asks the caller for nothing but approval
``submits``      writes nothing, and goes for the end at once
``guesses``      writes values that a seed picks, and goes for the end

Each is a list of lines for the typed agent (words, or a tool call). Where the caller has to answer, the agent waits for it. Pure but for running
a session. Deliberately not in here: what an agent does wrong while it does the rest right (planted faults).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

from apex_tui.agents.rehearsal.solution import Solution
from apex_tui.agents.typed import TypedAgent
from apex_tui.engine.speech import Speech
from apex_tui.score.verdict import Score
from apex_tui.timeline.events import Event
from apex_tui.trials.throwaway import play
from apex_tui.workflow.determinism import seeded_rng
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Step
from apex_tui.workflow.part import value_key
from apex_tui.workflow.work_model import FieldSpec, ToolSpec

ASKS = "Shall I go ahead?"
ENDS_WITH = ("request_approval", "commit", "set_lifecycle", "hand_over")
"""Handlers of the calls that end a work."""
LISTENS = 2
"""Caller turns that it still hears when it has done all it does."""
BUDGET_S = 60.0
"""Seconds of the call; by then the caller has answered all that such an agent asks."""


def reached(workflow: Workflow, name: str, speech: Speech | None = None) -> tuple[Score, list[Event]]:
    """Play one short cut (a key of ``SHORTCUTS``) under seed 1. Raises ``ApexError``: it could not be run."""
    lines: Iterator[str] = iter((*SHORTCUTS[name](workflow), *("",) * LISTENS))
    return play(workflow, typed=lambda events: TypedAgent(lambda: next(lines, None)), speech=speech, budget_s=BUDGET_S)


def first_turn(workflow: Workflow) -> list[str]:
    """Everything that the reference calls before it hears a correction; of a caller who corrects nothing, only what the opening tells is known."""
    corrections = {event.id for event in workflow.events if event.type == "MID_SPEECH_CORRECTION"}
    steps = [step for turn in workflow.reference.turns if turn.after not in corrections for step in turn.steps]
    if not corrections:
        told = _opened(workflow)
        steps = [kept for step in steps if (kept := _only(workflow, step, told)) is not None]
    return list(_typed(workflow, steps))


def defaults(workflow: Workflow) -> list[str]:
    """What stands in the systems is copied; elsewhere the first choice, no, nought, and today."""
    held = set(_scalars(workflow.world))
    right = {gold.field: gold.expected for row in workflow.gold.artifact_expectations for gold in row.fields}

    def value(field: FieldSpec) -> Any:
        wanted = right.get(field.name)
        return wanted if wanted is not None and value_key(wanted) in held else _proposed(workflow, field)

    return [*_writes(workflow, value), *_typed(workflow, _end(workflow))]


def submits(workflow: Workflow) -> list[str]:
    """Only the calls that end the work."""
    return list(_typed(workflow, _end(workflow)))


def guesses(workflow: Workflow) -> list[str]:
    """Values of the right kind, picked by a seed."""
    rng = seeded_rng(workflow.scenario_id, 1, "shortcuts", "guesses")
    return [*_writes(workflow, lambda field: _picked(workflow, field, rng)), *_typed(workflow, _end(workflow))]


SHORTCUTS: dict[str, Callable[[Workflow], list[str]]] = {
    "first-turn": first_turn,
    "defaults": defaults,
    "submits": submits,
    "guesses": guesses,
}
ABOUT = {
    "first-turn": "agent that answers everything in the first turn",
    "defaults": "agent that copies every default",
    "submits": "agent that submits at once",
    "guesses": "agent that guesses without asking",
}


# --- lines -------------------------------------------------------------------------------------------------------------------------------


def _typed(workflow: Workflow, steps: Iterable[Step]) -> Iterator[str]:
    """Calls as they are typed, each once in a row; after a request for approval the caller is asked, and answers."""
    before: Step | None = None
    for step in steps:
        if step.call is None or step == before:
            continue
        before = step
        yield f"/{step.call} {json.dumps(step.args)}"
        tool = workflow.tool(step.call)
        if tool is not None and tool.handler == "request_approval":
            yield ASKS


def _end(workflow: Workflow) -> list[Step]:
    """The calls that end the work, as the reference makes them, each once."""
    found: list[Step] = []
    for turn in workflow.reference.turns:
        for step in turn.steps:
            tool = workflow.tool(step.call) if step.call else None
            if tool is not None and tool.handler in ENDS_WITH:
                plain = step.model_copy(update={"args": {k: v for k, v in step.args.items() if k != "version"}})
                if plain not in found:
                    found.append(plain)
    return found


def _writes(workflow: Workflow, value: Callable[[FieldSpec], Any]) -> Iterator[str]:
    """One call of each tool that writes the artifact, with a value for every field that it may write and the end does not set."""
    set_later = set(Solution.of(workflow).set_by_commit)
    for tool in workflow.tools:
        if tool.handler != "update_artifact":
            continue
        fields = {field.name: value(field) for field in _fields(workflow, tool) if field.name not in set_later}
        if fields:
            yield f"/{tool.name} {json.dumps({'fields': fields})}"


def _fields(workflow: Workflow, tool: ToolSpec) -> Iterator[FieldSpec]:
    artifact = workflow.artifacts.get(str(tool.effect.get("artifact_id", "")))
    allowed = tool.effect.get("fields")
    for field in artifact.shape.fields if artifact is not None and artifact.shape is not None else ():
        if not allowed or field.name in allowed:
            yield field


def _opened(workflow: Workflow) -> set[str]:
    wording = workflow.wording("open")
    told = wording.variants[0].expressed_fact_ids if wording is not None and wording.variants else ()
    return {fact.field.partition(".")[2] for name in told if (fact := workflow.fact(name)) is not None and fact.field}


def _only(workflow: Workflow, step: Step, told: set[str]) -> Step | None:
    """The step with nothing written but what was told; None: nothing is left of it."""
    tool = workflow.tool(step.call) if step.call else None
    if tool is None or tool.handler != "update_artifact":
        return step
    fields = {name: value for name, value in step.args.get("fields", {}).items() if name in told}
    return step.model_copy(update={"args": {**step.args, "fields": fields}}) if fields else None


# --- values ------------------------------------------------------------------------------------------------------------------------------


def _proposed(workflow: Workflow, field: FieldSpec) -> Any:
    """What a form would stand at."""
    if field.enum:
        return field.enum[0]
    if field.type == "boolean":
        return False
    if field.type in ("integer", "number"):
        return 0
    return _today(workflow).isoformat() if field.grader == "normalized_date" else "-"


def _picked(workflow: Workflow, field: FieldSpec, rng: Random) -> Any:
    if field.enum:
        return rng.choice(field.enum)
    if field.type == "boolean":
        return rng.random() < 0.5
    if field.type in ("integer", "number"):
        return rng.randint(1, 20)
    if field.grader == "normalized_date":
        return (_today(workflow) + timedelta(days=rng.randint(1, 30))).isoformat()
    return rng.choice(sorted(_scalars(workflow.world)) or ["-"])


def _today(workflow: Workflow) -> date:
    try:
        return date.fromisoformat(str(workflow.world.get("today")))
    except ValueError:
        return date(2026, 12, 1)


def _scalars(node: Any) -> Iterator[str]:
    """Every value in the world, as ``value_key`` writes it."""
    if isinstance(node, dict):
        for inner in node.values():
            yield from _scalars(inner)
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from _scalars(inner)
    elif node is not None:
        yield value_key(node)
