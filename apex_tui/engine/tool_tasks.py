"""Tools as tasks: each call waits its declared latency on the media clock, beside speech, and can be cancelled before it has an effect.

A call comes over the agent's own connection, or from an agent that mounted the tools (``mounted``): then whoever brought it gets the result.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from apex_tui.agents.seam import Agent, ToolRequest
from apex_tui.caller.observer import read_tool
from apex_tui.caller.policy import CallerPolicy
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.agent_facts import AgentActed
from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.timeline.work_facts import ToolCalled
from apex_tui.workbench.calls import CallDone
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.model import Workflow

Answer = Callable[[str], None]
"""Gets the result of a call, as JSON text, once."""
NOT_DONE = json.dumps({"ok": False, "error": "the session ended before the tool was done", "hint": "it had no effect"})


_AUTHORITY = ("request_approval", "set_lifecycle")


UNSPOKEN_MS = 5_000.0
"""Silence after a result in which what an agent has to say on it begins, if it says anything."""


class ToolTasks:
    """Begins, finishes and cancels calls; tells the caller's policy what a person at the other end could notice."""

    def __init__(
        self, workbench: Workbench, agent: Agent, wiring: Wiring, policy: CallerPolicy, workflow: Workflow
    ) -> None:
        self._workbench, self._agent, self._wiring, self._policy = workbench, agent, wiring, policy
        self._acts = workflow.observer.tool_act_map
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._names: dict[str, str] = {}
        self._answers: dict[str, Answer] = {}
        self._taken_back: set[str] = set()
        self._closed = False
        self._authority_tools = {t.name for t in workflow.tools if t.commits or t.handler in _AUTHORITY}
        self.look: Callable[[], Awaitable[None]] | None = None
        """Looks afresh at the agent's own backend: an approval must cover, and a commit take, what stands there at that moment."""
        self.failed: Callable[[str], None] | None = None
        """Is told why a call could not be run to its end: its result will never come, and that is no fault of the agent."""
        self.awaiting_answer = False
        """A result was sent and the agent has not begun to react."""
        self.answered_ms = -1.0
        """When the agent was given a result last (media ms)."""
        self.handed_over: str | None = None
        """Why the agent gave the call to a person; None: it did not."""

    @property
    def running(self) -> tuple[str, ...]:
        """Names of the tools that run now."""
        return tuple(self._names.values())

    @property
    def approval_pending(self) -> bool:
        """Whether a request for approval waits for the caller."""
        return bool(self._workbench.open_requests)

    def awaits_answer(self, now_ms: float, quiet_since_ms: float) -> bool:
        """Whether the agent has still to react to a result; one that may leave it unspoken is awaited for `UNSPOKEN_MS` of its silence."""
        owes = self._agent.capabilities.answers_results
        return self.awaiting_answer and (owes or now_ms - max(self.answered_ms, quiet_since_ms) < UNSPOKEN_MS)

    def begin(self, request: ToolRequest, after_interruption: bool, answer: Answer | None = None) -> None:
        """The agent asked for a tool. ``answer`` gets the result of one that came over MCP."""
        if self._closed and answer is not None:
            answer(NOT_DONE)
            return
        now = self._wiring.media_ms()
        begun = self._workbench.call(
            now, request.call_id, request.name, request.arguments, request.error, request.reply, after_interruption
        )
        causes = (self._wiring.reply_seq.get(request.reply or ""), self._wiring.turn_seq)
        facts = begun.facts
        if answer is not None:
            self._answers[request.call_id] = answer
            facts = tuple(f.model_copy(update={"source": "mcp"}) if isinstance(f, ToolCalled) else f for f in facts)
        seqs = self._wiring.emit_all(facts, causes)
        if seqs:
            self._wiring.call_seq[request.call_id] = seqs[0]
        if begun.latency_ms is None:
            self._answer(request.call_id, begun.output or "{}")
            commit = (begun.commit[0], begun.commit[2] == "AUTHORIZED") if begun.commit else None
            self._policy.note_tool(now, request.name, False, (), None, commit)
            return
        self._names[request.call_id] = request.name
        task = asyncio.create_task(
            self._run(request.call_id, request.name, begun.latency_ms), name=f"tool {request.name[:100]}"
        )
        task.add_done_callback(self._over)
        self._tasks[request.call_id] = task

    def take_back(self, call_id: str, reason: str) -> None:
        """The agent took a call back: it is stopped if it still runs; one that already had its effect cannot be, and the session says so."""
        task = self._tasks.pop(call_id, None)
        name = self._names.pop(call_id, None)
        self._answers.pop(call_id, None)
        if task is not None:
            task.cancel()
            self._taken_back.add(call_id)
            facts = self._workbench.cancel(self._wiring.media_ms(), call_id, reason)
            self._wiring.emit_all(facts, self._causes(call_id))
            return
        if call_id in self._wiring.call_seq and name is None and call_id not in self._taken_back:
            why = f"{reason}, but the call {call_id[:100]} had ended: what it did stands, and the agent may believe that it never ran"
            self._wiring.emit(SessionWarning(code="taken-back-too-late", message=why), self._causes(call_id))

    async def cancel_all(self, reason: str) -> None:
        """Cancel what still runs; nothing of it takes effect, and nothing more is begun."""
        self._closed = True
        for call_id, task in list(self._tasks.items()):
            task.cancel()
            self._wiring.emit_all(
                self._workbench.cancel(self._wiring.media_ms(), call_id, reason), self._causes(call_id)
            )
            if (answer := self._answers.pop(call_id, None)) is not None:
                answer(NOT_DONE)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self.look is not None:
            await self.look()  # what the agent wrote last counts, however short before the end
        self._tasks.clear()
        self._names.clear()

    async def _run(self, call_id: str, name: str, latency_ms: float) -> None:
        await asyncio.sleep(latency_ms / 1000)
        if self.look is not None and name in self._authority_tools:
            await self.look()
        now = self._wiring.media_ms()
        done = self._workbench.complete(now, call_id)
        self._tasks.pop(call_id, None)
        self._names.pop(call_id, None)
        self.handed_over = self._workbench.handed_over
        seqs = self._wiring.emit_all(done.facts, self._causes(call_id))
        self._answer(call_id, done.output)
        self._tell_caller(now, name, done, seqs)

    def _over(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and self.failed is not None:
            self.failed(f"{task.get_name()} could not be run to its end: {error}")

    def _answer(self, call_id: str, output: str) -> None:
        answer = self._answers.pop(call_id, None)
        if answer is not None:
            answer(output)  # whether the agent will speak now is its own affair: nobody waits for it
            return
        self.awaiting_answer = True
        self.answered_ms = self._wiring.media_ms()
        self._agent.send_tool_result(call_id, output)

    def _tell_caller(self, now: float, name: str, done: CallDone, seqs: list[int]) -> None:
        self._policy.note_tool(
            now,
            name,
            done.ok,
            done.mutations,
            done.approval_request[0] if done.approval_request else None,
            (done.commit[0], done.commit[2] == "AUTHORIZED") if done.commit else None,
        )
        for reading in read_tool(self._acts, name, done.result):
            self._wiring.emit(AgentActed(key=reading.key, source="tool", evidence=reading.evidence), seqs[-1:])
            self._policy.note_act(now, reading.key, None)

    def _causes(self, call_id: str) -> tuple[int | None, ...]:
        return (self._wiring.call_seq.get(call_id),)
