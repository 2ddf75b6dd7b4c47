"""A workbench without a voice: the tools of a workflow for whoever builds an agent's tool use, with a log of what was called and written.

Calls take their declared latency, artifacts have versions, the guard decides as in a session. What there is not is a caller: nobody can approve.
A request for approval is therefore refused with that reason, unless whoever started the bench grants every request (``approve_all``), which the
log says. Nothing of it is judged: it is no session.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import cast

from apex_tui.agents.seam import ToolRequest
from apex_tui.engine.tool_tasks import NOT_DONE, Answer
from apex_tui.store.files import write_json
from apex_tui.store.layout import SessionFolder
from apex_tui.timeline.base import Actor, Fact, Json
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.log import TimelineWriter
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ApprovalGranted, ApprovalRequested, ArtifactVersion, ToolCalled, ToolFinished
from apex_tui.workbench.calls import CallBegun
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.model import Workflow

NO_CALLER = "there is no caller here who could approve anything"
NO_CALLER_HINT = "go on without; a commit that needs approval can be tried in a voice session, or with --approve"


class LoneBench:
    """Carries out calls at loop time since it was made (ms); facts go to the log and to ``notify``."""

    def __init__(
        self, workflow: Workflow, folder: SessionFolder, notify: Callable[[Event], None], *, approve_all: bool = False
    ) -> None:
        self._workflow, self._folder, self._notify, self._approve_all = workflow, folder, notify, approve_all
        self._bench = Workbench(workflow, 1, "strict")
        self._loop = asyncio.get_running_loop()
        self._start = self._loop.time()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._answers: dict[str, Answer] = {}
        self._seqs: dict[str, int] = {}
        self._view = SessionView()
        self._writer = TimelineWriter(folder.events, self._loop.time, self._now, self._learn)
        self._emit(self._bench.opening())

    def _now(self) -> float:
        return round(1000 * (self._loop.time() - self._start), 3)

    def _learn(self, event: Event) -> None:
        self._view.apply(event)
        if isinstance(event.fact, ArtifactVersion):
            fact = event.fact
            self._folder.write_artifact(fact.artifact, fact.version, fact.model_dump(mode="json", exclude={"type"}))
        self._notify(event)

    def emit(self, fact: Fact) -> int:
        """Note a fact."""
        return self._emit([fact])[0]

    def _emit(self, facts: Iterable[Fact], call: str | None = None) -> list[int]:
        seqs: list[int] = []
        for fact in facts:
            causes = [*([self._seqs[call]] if call in self._seqs else []), *seqs[-1:]]
            granted: Actor | None = "operator" if isinstance(fact, ApprovalGranted) else None
            seqs.append(self._writer.emit(cast(AnyFact, fact), causes, granted))
        self._writer.flush()
        return seqs

    def take(self, request: ToolRequest, answer: Answer) -> None:
        """Begin a call; ``answer`` gets its result."""
        begun = self._begin(request)
        facts = [f.model_copy(update={"source": "mcp"}) if isinstance(f, ToolCalled) else f for f in begun.facts]
        self._seqs[request.call_id] = self._emit(facts)[0]
        if begun.latency_ms is None:
            answer(begun.output or "{}")
            return
        self._answers[request.call_id] = answer
        task = self._loop.create_task(self._run(request.call_id, begun.latency_ms), name=f"tool {request.name[:100]}")
        self._tasks[request.call_id] = task

    def _begin(self, request: ToolRequest) -> CallBegun:
        tool = self._workflow.tool(request.name)
        if tool is not None and tool.handler == "request_approval" and not self._approve_all:
            return _nobody_approves(request)
        return self._bench.call(self._now(), request.call_id, request.name, request.arguments)

    async def _run(self, call_id: str, latency_ms: float) -> None:
        await asyncio.sleep(latency_ms / 1000)
        now = self._now()
        done = self._bench.complete(now, call_id)
        self._tasks.pop(call_id, None)
        self._emit(done.facts, call_id)
        asked = next((fact for fact in done.facts if isinstance(fact, ApprovalRequested)), None)
        if asked is not None:
            self._emit(self._bench.approve(now, asked.action), call_id)
        self._answers.pop(call_id)(done.output)

    def take_back(self, call_id: str, reason: str) -> None:
        """Stop a call before it has an effect."""
        task = self._tasks.pop(call_id, None)
        self._answers.pop(call_id, None)
        if task is not None:
            task.cancel()
            self._emit(self._bench.cancel(self._now(), call_id, reason), call_id)

    async def close(self) -> Json:
        """Stop what runs, close the log, and return the summary (also written as ``summary.json``)."""
        for call_id, task in list(self._tasks.items()):
            task.cancel()
            self._emit(self._bench.cancel(self._now(), call_id, "the workbench was closed"), call_id)
            self._answers.pop(call_id)(NOT_DONE)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._writer.close()
        summary = self.summary()
        write_json(self._folder.path / "summary.json", summary)
        return summary

    def summary(self) -> Json:
        """Calls by tool and how they ended, refused commits, and each artifact as it is now."""
        state = self._view.state
        calls: dict[str, dict[str, int]] = {}
        for call in state.calls.values():
            row = calls.setdefault(call.name, {})
            row[call.state] = row.get(call.state, 0) + 1
        return {
            "schema_version": 1,
            "workflow": self._workflow.id,
            "judged": False,
            "approvals": "granted by the operator (--approve)" if self._approve_all else f"none: {NO_CALLER}",
            "clients": [fact.client for _, _, fact in state.mounted],
            "calls": calls,
            "errors": [{"tool": c.name, "error": c.error} for c in state.calls.values() if c.error][-50:],
            "commits": [
                {"action": fact.action, "target": fact.target, "decision": fact.decision, "why": fact.why}
                for _, _, fact in state.decisions
                if fact.at == "completion" or fact.decision != "AUTHORIZED"
            ],
            "artifacts": {
                name: {"version": v.number, "lifecycle": v.lifecycle, "fields": v.fields, "stale": artifact.stale}
                for name, artifact in state.artifacts.items()
                if (v := artifact.current) is not None
            },
        }


def _nobody_approves(request: ToolRequest) -> CallBegun:
    called = ToolCalled(call=request.call_id, name=request.name, arguments=request.arguments or {}, error=NO_CALLER)
    finished = ToolFinished(
        call=request.call_id, name=request.name, ok=False, error=NO_CALLER, hint=NO_CALLER_HINT, latency_ms=0.0
    )
    return CallBegun((called, finished), None, json.dumps({"ok": False, "error": NO_CALLER, "hint": NO_CALLER_HINT}))
