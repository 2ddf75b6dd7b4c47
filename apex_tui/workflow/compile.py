"""From a recipe to a workflow: the reader of our one-file recipes.

In here: reading, the order of the checks, and putting the derived halves together. Deliberately not in here: the derivations themselves
(``caller_side``, ``work_side``, ``reference_side``). Every fault is told as ``file:line: key: what is wrong``, all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow import caller_side, reference_side, work_side
from apex_tui.workflow.caller_model import CallerProfile
from apex_tui.workflow.files import line_of, parse_yaml, read_text
from apex_tui.workflow.lines import agent_lines
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Step
from apex_tui.workflow.problems import Key, joined, problems, told
from apex_tui.workflow.recipe import Recipe
from apex_tui.workflow.rules import faults
from apex_tui.workflow.stages import Fault, world
from apex_tui.workflow.twin import uncorrected
from apex_tui.workflow.work_model import Autonomy

OWN_SPEECH = ".speech"
"""Ends the name of the folder beside a recipe that holds a person's clips."""


def read_recipe(path: Path, *, twin: bool = False) -> Workflow:
    """Return the workflow of a recipe file, or its uncorrected twin; it knows the folder of the clips beside it, if there is one.

    Raises ``WorkflowError`` that names file, line and key of every fault.
    """
    found = compile_text(read_text(path, path.name), path.name, twin=twin)
    speech = path.with_suffix(OWN_SPEECH)
    return found.found_in(speech) if speech.is_dir() else found


def compile_text(text: str, name: str, *, twin: bool = False) -> Workflow:
    """Return the workflow of a recipe's text, or its uncorrected twin; ``name`` is what errors call the file."""
    data = parse_yaml(text, name, as_written=True)
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        raise _told(name, text, problems(error)) from None
    found = faults(recipe)
    if found:
        raise _told(name, text, found)
    try:
        return compile_twin(recipe) if twin else compile_recipe(recipe)
    except Fault as fault:
        raise _told(name, text, [(fault.key, fault.words)]) from None


def compile_recipe(recipe: Recipe) -> Workflow:
    """Return the workflow that a recipe states. The recipe has passed ``rules.faults``; ``Fault``: its values cannot be computed."""
    solution = reference_side.reference(recipe)
    return Workflow(
        id=recipe.id,
        version=recipe.version,
        title=recipe.title,
        summary=recipe.summary,
        source="recipe",
        archetype=recipe.archetype,
        profession=recipe.profession,
        industry=recipe.industry,
        economic_function=recipe.economic_function,
        primary_artifact=recipe.artifact.type,
        risk_tier=recipe.risk_tier,
        knowledge_burden=recipe.knowledge_burden,
        tool_burden=recipe.tool_burden,
        delegation_patterns=recipe.delegation_patterns,
        duplex_events=_phenomena(recipe),
        temporal_dynamics=recipe.temporal_dynamics,
        time_budget_s=recipe.time_budget_s,
        locale=recipe.locale,
        autonomy=Autonomy(level=recipe.autonomy, approval_required_for=tuple(recipe.tools_of("commit"))),
        caller=CallerProfile(
            voice=recipe.caller.voice,
            profile=recipe.caller.profile,
            goal=recipe.caller.goal,
            gap_ms=recipe.caller.gap_ms,
            patience_ms=recipe.caller.patience_ms,
            nudges=recipe.caller.nudges,
        ),
        facts=caller_side.facts(recipe),
        flow=caller_side.flow(recipe),
        events=caller_side.events(recipe),
        wordings=caller_side.wordings(recipe),
        observer=caller_side.observer(recipe),
        artifacts={recipe.artifact.id: work_side.artifact(recipe)},
        tools=work_side.tools(recipe, solution),
        documents=work_side.documents(recipe),
        world=world(recipe),
        records=work_side.records(recipe),
        recorded=recipe.speech == "recorded",
        gold=work_side.gold(recipe),
        reference=solution,
    )


def compile_twin(recipe: Recipe) -> Workflow:
    """Return the uncorrected twin: the caller says the final values at once, with the same recordings where the words are the same.

    Its agent's lines that differ are clips of their own, ``<line>_uncorrected``. Raises ``Fault``: there is no correction to leave out.
    """
    if not recipe.corrections:
        raise Fault(("corrections",), "there is none, so there is no uncorrected twin")
    same = {line.text: line.id for line in agent_lines(compile_recipe(recipe))}
    twin = compile_recipe(uncorrected(recipe))

    def renamed(step: Step) -> Step:
        if step.say is None or step.clip is None:
            return step
        return step.model_copy(update={"clip": same.get(step.say, f"{step.clip}_uncorrected")})

    turns = tuple(turn.model_copy(update={"steps": tuple(map(renamed, turn.steps))}) for turn in twin.reference.turns)
    spare = tuple(map(renamed, twin.reference.spare))
    return twin.model_copy(update={"reference": twin.reference.model_copy(update={"turns": turns, "spare": spare})})


def _phenomena(recipe: Recipe) -> tuple[str, ...]:
    found = []
    if recipe.corrections:
        found.append("MID_SPEECH_CORRECTION")
    if any(change.revokes for change in recipe.corrections.values()):
        found.append("CANCELLATION_REVOCATION")
    if recipe.backchannels:
        found.append("BACKCHANNEL")
    return tuple(found)


def _told(name: str, text: str, found: Sequence[tuple[Key, str]]) -> WorkflowError:
    rows = []
    for key, words in found:
        line = line_of(text, key)
        rows.append(f"{name}{f':{line}' if line else ''}: {told(key, words)}")
    return WorkflowError(joined(rows) + ".")
