"""A call as it is told: what comes back when it arrives and when it is over, and the facts and texts that say so."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import (
    Decision,
    ToolCalled,
    ToolFinished,
)
from apex_tui.workbench.bench import Outcome, RunningCall
from apex_tui.workbench.schemas import ToolError
from apex_tui.workbench.values import UnfitValueError, clean, clean_object


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A call has arrived. ``latency_ms`` None: it is over already, and ``output`` is what the agent gets; else call `complete` then.

    ``commit`` is set when the guard refused a commit at the door.
    """

    facts: tuple[Fact, ...]
    latency_ms: float | None = None
    output: str | None = None
    commit: tuple[str, str, Decision] | None = None


@dataclass(frozen=True, slots=True)
class CallDone:
    """A call has completed. ``output`` is the JSON text for the agent, ``mutations`` the ``artifact.field`` paths written."""

    facts: tuple[Fact, ...]
    output: str
    ok: bool
    mutations: tuple[str, ...] = ()
    approval_request: tuple[str, str] | None = None
    commit: tuple[str, str, Decision] | None = None
    result: Json | None = None


def called_fact(
    call_id: str, name: str, arguments: Mapping[str, Any] | None, reply: str | None, after_interruption: bool
) -> tuple[ToolCalled, Json | None]:
    """The fact of a call and its arguments as they will be used; None and ``error`` when they cannot be."""
    args: Json | None = None
    problem: str | None = None
    if arguments is not None:
        try:
            args = clean_object(arguments)
        except UnfitValueError as unfit:
            problem = str(unfit)
    called = ToolCalled(
        call=str(clean(call_id)),
        name=str(clean(name[:200])),
        arguments=args or {},
        reply=reply,
        after_interruption=after_interruption,
        error=problem,
    )
    return called, args


def refused_call(called: ToolCalled, problem: ToolError) -> CallBegun:
    """A call that does not run: the log holds what the agent was told, hint included."""
    finished = ToolFinished(
        call=called.call, name=called.name, ok=False, error=problem.error, hint=problem.hint, latency_ms=0.0
    )
    return CallBegun((called.model_copy(update={"error": problem.error}), finished), None, refusal_text(problem))


def finished_fact(call: RunningCall, outcome: Outcome, now_ms: float) -> ToolFinished:
    """The fact of a call that has completed."""
    return ToolFinished(
        call=call.id,
        name=call.tool.name,
        ok=outcome.ok,
        result=outcome.result,
        error=outcome.error,
        hint=outcome.hint,
        decision=outcome.decision,
        latency_ms=max(0.0, now_ms - call.began_ms),
    )


def refusal_text(problem: ToolError, decision: Decision | None = None) -> str:
    """The structured error that an agent can act on."""
    told: Json = {"ok": False, "error": problem.error, "hint": problem.hint}
    if decision is not None:
        told["decision"] = decision
    return json_text(told)


def json_text(value: Sequence[Any] | Mapping[str, Any]) -> str:
    """What an agent is sent."""
    return json.dumps(value, ensure_ascii=False, default=str)
