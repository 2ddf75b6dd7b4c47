"""The workbench as the engine sees it: calls come in, facts go out. No I/O and no clock; every method takes media time in ms.

A call is checked when it arrives (`Workbench.call`), runs for its declared latency on the conductor's clock, and has its effects
when it completes (`Workbench.complete`). Deliberately not in here: rules of artifacts, authority and single tools.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import (
    ApprovalRequested,
    ApprovalStale,
    ArtifactStale,
    ArtifactVersion,
    CommitDecided,
    KnowledgeSearched,
    ToolCalled,
    ToolCancelled,
    WorldChanged,
)
from apex_tui.workbench.approvals import commit_scope, decided_fact, refused_commit
from apex_tui.workbench.artifacts import Artifacts
from apex_tui.workbench.authority import Authority, Request
from apex_tui.workbench.bench import Bench, Outcome, RunningCall
from apex_tui.workbench.calls import (
    CallBegun,
    CallDone,
    called_fact,
    finished_fact,
    json_text,
    refusal_text,
    refused_call,
)
from apex_tui.workbench.knowledge import Knowledge
from apex_tui.workbench.official_guard import OfficialGuard
from apex_tui.workbench.records import Records
from apex_tui.workbench.schemas import ToolError, check_arguments, near, parameter_hint, tool_schemas
from apex_tui.workbench.tools import HANDED_OVER, HANDLERS, handler_name
from apex_tui.workbench.values import MAX_BYTES, canonical, clean, clean_object
from apex_tui.workbench.world import World
from apex_tui.workflow.caller_model import ScriptedEvent
from apex_tui.workflow.determinism import seeded_rng
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ToolSpec

Profile = Literal["strict", "official"]

_ORDER: tuple[type[Fact], ...] = (
    KnowledgeSearched, WorldChanged, ArtifactVersion, ArtifactStale, ApprovalStale, ApprovalRequested, CommitDecided,
)  # fmt: skip
"""Order of a completion's facts on the timeline."""


class Workbench:
    """One session's artifacts, authority, tools, knowledge and world.

    ``latency_ms`` overrides declared tool latencies by tool name; ``failures`` says how many of a tool's first calls fail, as a system that
    is down would make them (a workflow may say so of a tool itself). ``records``: the file of its tables; None: in memory. ``withdrawn``: tools that
    this session does without, because the agent's own backend is looked at instead. No method raises for anything that an agent sends.
    """

    tool_schemas = staticmethod(tool_schemas)

    def __init__(
        self,
        workflow: Workflow,
        seed: int,
        profile: Profile,
        latency_ms: Mapping[str, float] | None = None,
        failures: Mapping[str, int] | None = None,
        records: Path | None = None,
        withdrawn: Collection[str] = (),
    ) -> None:
        strict = profile == "strict"
        artifacts = Artifacts(workflow.artifacts, strict)
        required = workflow.autonomy.approval_required_for
        authority = (
            Authority(required, artifacts.drift, lambda name: artifacts.binding(name).version)
            if strict
            else OfficialGuard(required)
        )
        world = World(workflow.world)
        knowledge = Knowledge(workflow.documents, official=not strict or workflow.source == "official")
        kept = Records(workflow.records, world, records if workflow.records else None)
        self._bench = Bench(workflow, strict, artifacts, authority, knowledge, world, kept)
        self._workflow = workflow
        self._withdrawn = frozenset(withdrawn)
        self._strict = strict
        self._seed = seed
        self._latency_ms = dict(latency_ms or {})
        fails = {tool.name: int(tool.effect["fails"]) for tool in workflow.tools if tool.effect.get("fails")}
        self._failures = {**fails, **(failures or {})}
        self._running: dict[str, RunningCall] = {}
        self._seen: set[str] = set()
        self._known_calls = 0

    # --- reading -----------------------------------------------------------------------------------------------------------------

    @property
    def running(self) -> tuple[tuple[str, str], ...]:
        """``(call id, tool name)`` of every call under way, oldest first."""
        return tuple((call.id, call.tool.name) for call in self._running.values())

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """Requests for approval that the caller has not answered, oldest first."""
        return self._bench.authority.open_requests

    @property
    def last_request(self) -> Request | None:
        """The newest request, answered or not: what a bare "yes" or "stop" of an official flow is about."""
        return self._bench.authority.last_request

    @property
    def identity_verified(self) -> bool:
        """Whether the caller's identity was verified."""
        return self._bench.identity.verified

    @property
    def handed_over(self) -> str | None:
        """Why the call was given to a person; None: it was not."""
        reason = self._bench.world.get(HANDED_OVER)
        return None if reason is None else str(reason)

    def artifact_fields(self, artifact: str) -> Json:
        """A copy of an artifact's current fields; empty for an unknown one."""
        art = self._bench.artifacts.get(artifact)
        copied: Json = clean(art.fields) if art is not None else {}
        return copied

    # --- calls -------------------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the records' file."""
        self._bench.records.close()

    def opening(self) -> list[Fact]:
        """Version 1 of every artifact that begins with content. An empty artifact has no version yet."""
        return list(self._bench.artifacts.opening())

    def call(
        self,
        now_ms: float,
        call_id: str,
        name: str,
        arguments: Mapping[str, Any] | None,
        error: str | None = None,
        reply: str | None = None,
        after_interruption: bool = False,
    ) -> CallBegun:
        """Take a call. ``arguments`` None or ``error`` given: they could not be read, and the call is refused."""
        called, args = called_fact(self._unique(call_id), name, arguments, reply, after_interruption)
        tool = self._workflow.tool(name)
        try:
            if tool is None:
                tools = [t.name for t in self._workflow.tools if not t.discoverable]
                why = ": a probe reads your own backend in its place, so write there" if name in self._withdrawn else ""
                raise ToolError(f"there is no tool {called.name!r}{why}", near(name, tools))
            index = self._known_calls
            self._known_calls += 1
            if called.call != call_id:
                raise ToolError(f"the call id {call_id[:100]!r} was used already", "give every call an id of its own")
            self._check(tool, args, error or called.error)
        except ToolError as problem:
            return refused_call(called, problem)
        running = RunningCall(called.call, tool, args or {}, now_ms)
        if handler_name(tool, self._strict) == "commit":
            return self._begin_commit(now_ms, running, called, index)
        self._running[running.id] = running
        return CallBegun((called,), self._latency(tool, index))

    def _unique(self, call_id: str) -> str:
        """The call's id on the timeline: an id that was used before gets a number, so that no two calls are one."""
        count, name = 1, call_id
        while name in self._seen:
            count += 1
            name = f"{call_id}#{count}"
        self._seen.add(name)
        return name

    def _check(self, tool: ToolSpec, args: Json | None, error: str | None) -> None:
        if error is not None or args is None:
            raise ToolError(
                f"the arguments of {tool.name} could not be read: {error or 'they are missing'}",
                parameter_hint(self._workflow, tool),
            )
        if handler_name(tool, self._strict) not in HANDLERS:
            raise ToolError(f"{tool.name} cannot be run: no handler is bound to it", "go on without it")
        if self._strict:
            check_arguments(self._workflow, tool, args)
        if tool.needs_identity and not self.identity_verified:
            raise ToolError(
                f"{tool.name} needs the caller's identity, which is not verified",
                "verify the caller's identity first, then call it again",
            )

    def _latency(self, tool: ToolSpec, index: int) -> float:
        """Declared latency in ms (section 7.6 of the format); the override wins."""
        if tool.name in self._latency_ms:
            return max(0.0, float(self._latency_ms[tool.name]))
        spread = tool.latency.jitter_ms
        jitter = seeded_rng(self._seed, tool.name, index).randint(-spread, spread) if spread > 0 else 0
        return float(max(0, int((tool.latency.base_ms + jitter) * tool.latency.stress_multiplier)))

    def _begin_commit(self, now_ms: float, call: RunningCall, called: ToolCalled, index: int) -> CallBegun:
        """The guard's first look. In strict use a commit of a reply that was cut off is held, whatever was approved."""
        call.scope = commit_scope(self._bench, call.tool, call.args)
        ruling = self._bench.authority.decide(now_ms, call.scope)
        if ruling.authorized and called.after_interruption and self._strict:
            ruling = replace(
                ruling,
                decision="PREMATURE",
                why="the caller interrupted the reply that this call belongs to",
                hint="the caller interrupted; listen, then ask again before you commit",
                approval=None,
            )
        decided = decided_fact(self._bench, call, call.scope, ruling, "call")
        if ruling.authorized:
            self._running[call.id] = call
            return CallBegun((called, decided), self._latency(call.tool, index))
        outcome = refused_commit(call.scope, ruling, [decided])
        facts = (called, decided, finished_fact(call, outcome, now_ms))
        return CallBegun(facts, None, self._output(outcome), outcome.commit)

    def complete(self, now_ms: float, call_id: str) -> CallDone:
        """Carry out a running call. An id that is not running (finished, cancelled, unknown) has no effect and no facts."""
        call = self._running.pop(call_id, None)
        if call is None:
            return CallDone(
                (), refusal_text(ToolError(f"no call {call_id[:100]!r} is running", "call the tool again")), False
            )
        outcome = self._run(call, now_ms)
        facts = [*outcome.facts, *self._bench.authority.refresh()]
        facts.sort(key=lambda fact: _ORDER.index(type(fact)))
        return CallDone(
            facts=(*facts, finished_fact(call, outcome, now_ms)),
            output=self._output(outcome),
            ok=outcome.ok,
            mutations=outcome.mutations,
            approval_request=outcome.approval_request,
            commit=outcome.commit,
            result=outcome.result,
        )

    def _run(self, call: RunningCall, now_ms: float) -> Outcome:
        handler = HANDLERS[handler_name(call.tool, self._strict) or ""]
        try:
            self._fail_as_told(call.tool.name)
            outcome = handler(self._bench, call, now_ms)
            if outcome.result is not None and len(canonical(outcome.result)) > MAX_BYTES:
                raise ToolError(f"the result of {call.tool.name} is larger than {MAX_BYTES} bytes", "ask for less")
        except ToolError as problem:
            return Outcome(ok=False, error=problem.error, hint=problem.hint)
        except Exception as fault:
            # A workflow from outside may declare effects that no handler expects; the agent sees a failed tool, the session goes on.
            return Outcome(
                ok=False,
                error=f"{call.tool.name} failed: {type(fault).__name__}",
                hint="tell the caller that it did not work, and go on without it",
            )
        return outcome

    def _fail_as_told(self, name: str) -> None:
        """Raise ``ToolError`` for one of the first calls that the session's parameters let fail."""
        left = self._failures.get(name, 0)
        if left > 0:
            self._failures[name] = left - 1
            raise ToolError(
                f"{name} failed: the system behind it did not answer",
                "nothing was done; try again, or tell the caller that it did not work",
            )

    def _output(self, outcome: Outcome) -> str:
        """What the agent gets. Official: the bare result object whenever there is one."""
        if outcome.result is not None and not self._strict:
            return json_text(outcome.result)
        if outcome.ok:
            return json_text({"ok": True, **(outcome.result or {})})
        return refusal_text(ToolError(outcome.error or "it failed", outcome.hint or ""), outcome.decision)

    def cancel(self, now_ms: float, call_id: str, reason: str) -> list[Fact]:
        """Stop a running call before it has an effect; one that is not running: no facts."""
        call = self._running.pop(call_id, None)
        return [ToolCancelled(call=call.id, name=call.tool.name, reason=reason)] if call is not None else []

    def observe(self, artifact: str, values: Mapping[str, Any], source: str, since_ms: float | None) -> list[Fact]:
        """What a probe sees (`Artifacts.observe`): a version and what it ends, or nothing. Raises `UnfitValueError`: no JSON, too large."""
        seen = self._bench.artifacts.observe(artifact, clean_object(values), source=source, since_ms=since_ms)
        return [] if seen is None else [seen, *self._bench.authority.refresh()]

    # --- what the caller's words do ------------------------------------------------------------------------------------------------

    def approve(self, onset_ms: float, action: str, turn: int | None = None) -> list[Fact]:
        """The caller says yes: answers the oldest pending request of that action; none pending: no facts."""
        return self._bench.authority.approve(onset_ms, action, turn)

    def deny(self, onset_ms: float, action: str, turn: int | None = None) -> list[Fact]:
        """The caller says no to the oldest pending request of that action; none pending: no facts."""
        return self._bench.authority.deny(onset_ms, action, turn)

    def revoke(self, onset_ms: float, action: str, target: str | None = None, turn: int | None = None) -> list[Fact]:
        """The caller takes an action back from ``onset_ms`` on: approvals, pending requests, and commits that are under way."""
        stopped = [
            call
            for call in self._running.values()
            if call.scope is not None and call.scope.action == action and target in (None, call.scope.target)
        ]
        facts = self._bench.authority.revoke(onset_ms, action, target, turn, running=bool(stopped))
        for call in stopped:
            call.revoked_ms = onset_ms if call.revoked_ms is None else min(call.revoked_ms, onset_ms)
        return facts

    def fire(self, onset_ms: float, event: ScriptedEvent) -> list[Fact]:
        """A scripted event takes effect at ``onset_ms``: the world, fields that no longer hold, approvals, revocations."""
        facts: list[Fact] = []
        facts += self._bench.world.update(event.world_updates, f"event:{event.id}")
        if event.sql:
            # Refused: what it would have changed is no longer so, since the world went another way.
            with suppress(ToolError):
                facts += self._bench.records.run(event.sql, {}, f"event:{event.id}")[1]
        facts += self._bench.artifacts.correct(self._workflow, event, onset_ms)
        facts += self._bench.authority.refresh()
        if self._strict:
            for action in event.forbidden_tool_commits:
                facts += self.revoke(onset_ms, action)
        elif event.forbidden_tool_commits:
            facts += self._bench.authority.revoke(onset_ms, "", None, None)
        return facts
