"""What a tool's handler is given, what it gives back, and how a call's inputs are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import Decision
from apex_tui.workbench.artifacts import Artifact, Artifacts
from apex_tui.workbench.authority import Authority, Scope
from apex_tui.workbench.knowledge import Knowledge
from apex_tui.workbench.official_guard import OfficialGuard
from apex_tui.workbench.records import Records
from apex_tui.workbench.schemas import ToolError, near
from apex_tui.workbench.world import World
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ToolSpec


@dataclass(slots=True)
class Identity:
    """Whether the caller's identity was verified, and how often it failed."""

    verified: bool = False
    failures: int = 0


@dataclass(slots=True)
class Bench:
    """Everything that a handler may touch."""

    workflow: Workflow
    strict: bool
    artifacts: Artifacts
    authority: Authority | OfficialGuard
    knowledge: Knowledge
    world: World
    records: Records
    identity: Identity = field(default_factory=Identity)


@dataclass(slots=True)
class RunningCall:
    """A call between its begin and its completion."""

    id: str
    tool: ToolSpec
    args: Json
    began_ms: float
    scope: Scope | None = None
    """What a commit is about."""
    revoked_ms: float | None = None
    """The caller took its action back while it ran."""


@dataclass(slots=True)
class Outcome:
    """What a completed call did. ``facts`` in any order (the workbench sorts them)."""

    result: Json | None = None
    ok: bool = True
    facts: list[Fact] = field(default_factory=list)
    error: str | None = None
    hint: str | None = None
    decision: Decision | None = None
    mutations: tuple[str, ...] = ()
    approval_request: tuple[str, str] | None = None
    commit: tuple[str, str, Decision] | None = None


Handler = Callable[[Bench, RunningCall, float], Outcome]


def first_there(*values: Any) -> Any:
    """The first value that is there (neither None nor empty text)."""
    return next((value for value in values if value is not None and value != ""), None)


def as_text(value: Any) -> str | None:
    """A value as text; None stays None."""
    return None if value is None else str(value)


def input_of(call: RunningCall, name: str, default: Any) -> Any:
    """An input of a reading tool: argument first, then the authored effect."""
    return call.args.get(name, call.tool.effect.get(name, default))


def artifact_of(bench: Bench, call: RunningCall, fallback: str | None) -> Artifact:
    """The artifact that a writing tool is about. Strict: the declared one, and an argument may not name another."""
    declared, sent = call.tool.effect.get("artifact_id"), call.args.get("artifact_id")
    if bench.strict and declared is not None and sent is not None and sent != declared:
        raise ToolError(f"{call.tool.name} works on {declared!r}, not on {sent!r}", "leave 'artifact_id' out")
    name = first_there(sent, declared, fallback)
    art = bench.artifacts.get(str(name))
    if art is None:
        raise ToolError(f"there is no artifact {str(name)[:100]!r}", near(str(name), list(bench.artifacts)))
    return art


def statements_of(call: RunningCall) -> tuple[str, ...]:
    """The author's statements; a transaction on the records belongs to a tool that has some."""
    return tuple(call.tool.effect.get("sql") or ())


def refusal_words(call: RunningCall) -> str:
    """What the author lets the tool say when no row fits its statements."""
    return str(call.tool.effect.get("refusal") or "")
