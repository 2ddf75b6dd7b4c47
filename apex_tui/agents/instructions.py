"""What every agent is told, from the public side of a workflow only, and the digests that prove equal input.

In here: the prompts and the two digests. Deliberately not in here: anything that only the caller or the grader knows (facts,
gold, the world, the reference solution), and the tool list, which the workbench states.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import date
from typing import Any

from apex_tui.timeline.messages import Preset
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ArtifactSpec, FieldSpec

_COACHING = (
    "You are on a live phone call with a caller.",
    "Speak one short sentence per turn, and ask one question at a time.",
    "As soon as the caller answers, record the answer with the update tool, before you go on.",
    "When a rule may matter, search the policies.",
    "When the caller corrects something, write the corrected field again at once.",
    "Ask the caller before every action that needs approval.",
    "Finalise the work before you say goodbye.",
)
"""What the published benchmark advises its agents, in our words: it coaches them for the test, and says nothing of the artifact."""

_RULES = (
    "Ask for what you need, one thing at a time, and use what the caller has already told you.",
    "Do the work with the tools. Never state a result, a rule or a value that neither a tool nor the caller gave you.",
    "Write what you learn into the artifact as you go. When the caller corrects something, update the artifact at once, "
    "together with everything that depends on it, and never use the old value again.",
    "Before a step that needs approval, say what it will do with the current values, ask for approval through the request "
    "tool, and wait for the caller's answer. If anything changes afterwards, ask again. If the caller takes it back, stop.",
    "When a tool reports an error, read it, and correct the call or tell the caller.",
    "If you are interrupted, stop and listen.",
)

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def build_instructions(workflow: Workflow, preset: Preset = "neutral") -> str:
    """The prompt of a preset. Same workflow and preset, same text, whatever the agent.

    ``neutral``: the job, what may be done alone, the artifacts' fields, the rules. ``coaching``: advice for the test, and the task's title,
    as the published benchmark has it. Both tell a recipe's ``world.today``. The tools are the same with both.
    """
    return _coaching(workflow) if preset == "coaching" else _neutral(workflow)


def _coaching(workflow: Workflow) -> str:
    return " ".join([*_COACHING, *_today(workflow)]) + f"\n\nTask: {workflow.title}"


def _neutral(workflow: Workflow) -> str:
    job = f"You are on a live phone call with a caller. The task: {workflow.title}."
    if workflow.profession:
        job += f" You work as: {workflow.profession}."
    if workflow.industry:
        job += f" Field: {workflow.industry}."
    job = " ".join([job, *_today(workflow), "Speak naturally and keep every turn short."])
    parts = [job, _authority(workflow)]
    parts += [_artifact(name, spec) for name, spec in workflow.artifacts.items() if spec.shape is not None]
    parts.append("Rules:\n" + "\n".join(f"- {rule}" for rule in _RULES))
    return "\n\n".join(parts)


def instructions_sha256(text: str) -> str:
    """SHA-256 (hex) of the prompt as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def tools_sha256(tools: Iterable[dict[str, Any]]) -> str:
    """SHA-256 (hex) of the tool list as canonical JSON (sorted keys, no spaces, UTF-8)."""
    text = json.dumps(list(tools), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _authority(workflow: Workflow) -> str:
    commits = [tool for tool in workflow.tools if tool.commits and not tool.discoverable]
    needed = set(workflow.autonomy.approval_required_for)
    gated = [tool.name for tool in commits if tool.commit_action_type in needed or tool.required_authority]
    actions = sorted(needed - {tool.commit_action_type for tool in commits})
    lines = [
        f"What you may do alone (autonomy level {workflow.autonomy.level}): read, search, prepare and edit drafts."
    ]
    if gated or actions:
        lines.append(f"What needs the caller's approval first: {', '.join([*gated, *actions])}.")
    return "\n".join(lines)


def _today(workflow: Workflow) -> list[str]:
    """The day of the call, where the recipe states one: without it nobody could read "Thursday" or "tomorrow"."""
    day = workflow.world.get("today") if workflow.source == "recipe" else None
    try:
        found = date.fromisoformat(str(day))
    except ValueError:
        return []
    return [f"Today is {_DAYS[found.weekday()]}, {found.isoformat()}."]


def _artifact(name: str, spec: ArtifactSpec) -> str:
    assert spec.shape is not None
    fields = "\n".join(_field(field) for field in spec.shape.fields)
    return f"Artifact {name} ({spec.shape.artifact_type}), fields:\n{fields}"


def _field(field: FieldSpec) -> str:
    notes = [field.type]
    if field.required:
        notes.append("required")
    if field.enum:
        notes.append("one of " + ", ".join(field.enum))
    if field.protected:
        notes.append("protected: not before the caller's identity was verified")
    if field.dependents:
        notes.append("when it changes, renew " + ", ".join(field.dependents))
    line = f"- {field.name} ({'; '.join(notes)})"
    return f"{line}: {field.description}" if field.description else line
