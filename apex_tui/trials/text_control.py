"""The text condition (C0) of the reference: a package's dialogue, tools and gates without any audio, turn by turn, to the byte.

In here: the loop of section 5.4 with the clock of 5.7, the log rows of section 10.2, and the four gates in the official grading profile. It runs
no agent of a provider: the agent is a list of turns, such as the package's own reference. Recovery is off unless asked for, as in the reference;
its closing lines, prompts and nudge are sentences of ours, since the reference's own for this condition are published nowhere.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from apex_tui.caller.flow import EMPTY, FlowEngine, Observation, Plan, matches
from apex_tui.caller.observer import ActObserver, read_tool
from apex_tui.caller.official import DRAIN_CAP
from apex_tui.caller.recovery import Recovery
from apex_tui.score.case import build
from apex_tui.score.fields import grade_artifacts
from apex_tui.score.gates import judge_gates
from apex_tui.score.verdict import GateVerdict
from apex_tui.timeline.agent_facts import AgentActed
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.session_facts import SessionStarted
from apex_tui.timeline.work_facts import ApprovalGranted, ApprovalRevoked, ToolFinished
from apex_tui.trials.official_layout_rows import DECISIONS, Row
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.caller_model import ScriptedEvent, Trigger
from apex_tui.workflow.determinism import stable_choice
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official_recovery import OUR_CLOSINGS, OUR_FINALIZE, OUR_NUDGE
from apex_tui.workflow.outcome_model import ReferenceTurn, Step
from apex_tui.workflow.snapshot import digest

STEP_MS = 2000
"""What a spoken plan, and a turn of the agent, add to the clock."""
MAX_TURNS = 60
FINALIZE = 2
"""Recovery asks so often to finish before it closes."""
CONDITION = "C0"
SILENT: tuple[ReferenceTurn, ...] = (ReferenceTurn(end_call=True),)
"""An agent that says nothing and ends the call at once."""
_READ = {"agent_act", "tool_call", "artifact_mutation", "commit_attempt", "media_time_ms_gte"}
"""What this condition looks at in the trigger of an event; everything else is ignored, as in the reference."""


@dataclass(slots=True)
class TextRun:
    """What came of it. ``rows``: the log; ``leaks``: (plan, fact) that were planned before their reveal rule allowed it."""

    rows: list[Row]
    events: list[Event]
    """What the gates were read from: calls, versions, staleness, authority."""
    turns: int
    outcome: str
    gates: tuple[GateVerdict, ...]
    leaks: list[tuple[str, str]]
    acts: frozenset[str]
    """Acts that the dialogue got to know: those of the last beat are not among them."""

    @property
    def passed(self) -> bool:
        """PTS."""
        return all(gate.passed for gate in self.gates)


def run_text(
    workflow: Workflow,
    agent: Sequence[ReferenceTurn] | None = None,
    seed: int = 1,
    *,
    recovery: bool = False,
    max_turns: int = MAX_TURNS,
    wall_ns: Callable[[], int] = time.monotonic_ns,
) -> TextRun:
    """Play a package in the text condition.

    Args:
        workflow: an official package.
        agent: its turns, one per beat, then it ends the call; None: the package's reference solution.
        seed: chooses wordings and tool latencies.
        recovery: say something when the dialogue has nothing to say, instead of nothing.
        max_turns: the session ends after so many.
        wall_ns: the clock that stamps the rows.

    Raises:
        WorkflowError: a predicate or a pattern of the package cannot be read.
    """
    return _Text(workflow, workflow.reference.turns if agent is None else agent, seed, recovery, wall_ns).run(max_turns)


@dataclass(slots=True)
class _Beat:
    """What the agent did in one turn."""

    acts: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    mutations: list[str] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


class _Text:
    def __init__(
        self,
        workflow: Workflow,
        agent: Sequence[ReferenceTurn],
        seed: int,
        recovery: bool,
        wall_ns: Callable[[], int],
    ) -> None:
        self.workflow = workflow.model_copy(update={"condition": CONDITION})
        self._agent, self._seed, self._wall_ns = list(agent), seed, wall_ns
        self._run = hashlib.sha256(f"{self.workflow.scenario_id} {seed}".encode()).hexdigest()[:12]
        self._engine = FlowEngine(self.workflow)
        self._recovery = Recovery(self.workflow, FINALIZE) if recovery else None
        self._observer = ActObserver(self.workflow)
        self._bench = Workbench(self.workflow, seed, "official")
        self._log: list[Event] = []
        self._rows: list[Row] = []
        self._heard: Counter[str] = Counter()
        self._fired: set[str] = set()
        self._now = 0
        self._calls = 0
        self._fallback = False

    def run(self, max_turns: int) -> TextRun:
        workflow = self.workflow
        started = SessionStarted(
            session=self._run, workflow=workflow.id, workflow_version=workflow.version, workflow_digest=digest(workflow), title=workflow.title,
            agent="script", rehearsal=True, seed=self._seed, profile="official", caller="tones", clock_basis="simulated", virtual=True,
        )  # fmt: skip
        self._note([started, *self._bench.opening()])
        self._row("RUN_START", "harness", {"task_id": workflow.id, "model_id": "script", "condition": CONDITION})
        seen, turns = EMPTY, 0
        while turns < max_turns:
            if not self._user_beat(seen) and (self._engine.done or not self._recovered(seen)):
                break
            turn = self._agent.pop(0) if self._agent else ReferenceTurn(end_call=True)
            turns += 1
            seen = self._agent_beat(turn)
            if turn.end_call:
                break
        return self._judged(turns)

    # --- the caller ----------------------------------------------------------------------------------------------------------------

    def _user_beat(self, seen: Observation) -> int:
        """Drain the flow over one observation; returns how many plans were spoken."""
        spoken = 0
        while spoken < DRAIN_CAP:
            before = self._engine.state
            plan = self._engine.step(seen)
            if plan is None:
                break
            self._speak(plan)
            spoken += 1
            if self._engine.state != before:
                break
        return spoken

    def _recovered(self, seen: Observation) -> bool:
        """Say what recovery says to a beat that the flow does not answer; False when the session is over."""
        if self._recovery is None:
            return True
        found = self._recovery.choose(seen.agent_acts, self._engine.book.revealed)
        if found.kind == "end":
            return False
        self._recovery.take(found)
        if found.kind == "answer" and found.action is not None:
            facts = found.action.facts
            self._engine.book.revealed.update(facts)
            plan = {"plan_id": found.plan, "speech_act": "ANSWER", "facts": list(facts), "recovered": True}
            self._row("USER_PLAN", "user", plan)
            self._row("USER_TEXT", "user", {"text": self._wording(found.plan), "recovered": True})
        else:
            text, flag = {
                "finalize": (OUR_FINALIZE, "finalize_nudge"),
                "closing": (OUR_CLOSINGS[self._seed % len(OUR_CLOSINGS)], "closing"),
                "nudge": (OUR_NUDGE, "nudge"),
            }[found.kind]
            self._row("USER_TEXT", "user", {"text": text, flag: True})
        self._now += STEP_MS
        return True

    def _speak(self, plan: Plan) -> None:
        self._row("USER_PLAN", "user", {"plan_id": plan.id, "speech_act": plan.act, "facts": list(plan.facts)})
        self._row("USER_TEXT", "user", {"text": self._wording(plan.id)})
        if plan.act == "APPROVE":
            self._authority(self._bench.approve(self._now, ""))
        elif plan.act in ("REVOKE", "DENY"):
            self._authority(self._bench.revoke(self._now, ""))
        self._now += STEP_MS

    def _wording(self, plan: str) -> str:
        wording = self.workflow.wording(plan)
        if wording is not None and wording.variants:
            return stable_choice(wording.variants, self.workflow.scenario_id, self._seed, plan).text
        self._fallback = True
        self._row("SIMULATOR_FALLBACK", "harness", {"user_plan_id": plan})
        return f"[FALLBACK:{plan}]"

    def _authority(self, facts: Sequence[Fact]) -> None:
        self._note(facts)
        for fact in facts:
            if isinstance(fact, ApprovalGranted):
                self._row("APPROVAL_EVENT", "user", {"granted": fact.action, "target_id": fact.target})
            elif isinstance(fact, ApprovalRevoked):
                self._row("APPROVAL_EVENT", "user", {"revoked": fact.action, "target_id": fact.target})

    # --- the agent -----------------------------------------------------------------------------------------------------------------

    def _agent_beat(self, turn: ReferenceTurn) -> Observation:
        beat = _Beat()
        text = " ".join(step.say for step in turn.steps if step.say)
        if text:
            self._row("AGENT_TEXT", "agent", {"text": text})
            for reading in self._observer.read_text(text):
                self._act(beat, reading.key, "pattern")
        for step in turn.steps:
            if step.call:
                self._call(beat, step)
        self._now += STEP_MS
        fired = self._fire(beat)
        return self._seen(beat, fired)

    def _act(self, beat: _Beat, key: str, source: str) -> None:
        beat.acts.append(key)
        self._heard[key] += 1
        self._note([AgentActed(key=key, source="tool" if source == "tool" else "pattern")])
        self._row("AGENT_ACT", "agent", {"act": key, "source": source})

    def _call(self, beat: _Beat, step: Step) -> None:
        name, args = step.call or "", dict(step.args)
        self._row("TOOL_CALL", "agent", {"tool": name, "args": args})
        self._calls += 1
        begun = self._bench.call(self._now, f"call-{self._calls}", name, args)
        facts = list(begun.facts)
        if begun.latency_ms is not None:
            done = self._bench.complete(self._now, f"call-{self._calls}")
            facts += done.facts
            beat.mutations += done.mutations
        self._note(facts)
        finished = next(fact for fact in reversed(facts) if isinstance(fact, ToolFinished))
        decision = None if finished.decision is None else DECISIONS.get(finished.decision)
        self._row(
            "TOOL_RESULT",
            "environment",
            {"tool": name, "ok": finished.ok, "result": finished.result, "auth_decision": decision},
        )
        self._contributes(beat, name, finished.result)
        for reading in read_tool(self.workflow.observer.tool_act_map, name, finished.result):
            self._act(beat, reading.key, "tool")

    def _contributes(self, beat: _Beat, name: str, result: dict[str, Any] | None) -> None:
        """Section 7.4: what a call adds to the next observation."""
        beat.tools.append(name)
        tool = self.workflow.tool(name)
        if tool is None or result is None:
            return
        if tool.tool_class == "irreversible_commit" or tool.commit_action_type:
            beat.commits.append(str(result.get("action_type", name)))
        if result.get("status") == "awaiting_approval":
            beat.requests.append(str(result.get("requested_action")))

    def _fire(self, beat: _Beat) -> list[str]:
        """Section 6: events whose trigger is met now, each once, in file order."""
        seen = self._seen(beat, [])
        fired = []
        for event in self.workflow.events:
            if event.id not in self._fired and matches(_as_read(event), seen, self._engine.book):
                self._fired.add(event.id)
                fired.append(event.id)
                self._row("DUPLEX_EVENT", "user", {"event_id": event.id, "type": event.type})
                self._authority(self._bench.fire(self._now, event))
        return fired

    def _seen(self, beat: _Beat, fired: Sequence[str]) -> Observation:
        return Observation(
            agent_acts=tuple(beat.acts),
            tool_calls=tuple(beat.tools),
            mutations=tuple(beat.mutations),
            commit_attempts=tuple(beat.commits),
            approval_requests=tuple(beat.requests),
            events=tuple(fired),
            media_ms=float(self._now),
            repetitions=max((self._heard[key] for key in beat.acts), default=0),
        )

    # --- the end -------------------------------------------------------------------------------------------------------------------

    def _judged(self, turns: int) -> TextRun:
        known = frozenset(self._engine.book.acts)
        case = build(self._log, self.workflow, "official")
        case.late_acts = frozenset(key for key in case.acts if key not in known)
        gates = judge_gates(case, grade_artifacts(case))
        passed = all(gate.passed for gate in gates)
        outcome = "SIMULATOR_FALLBACK" if self._fallback else "SUCCESS" if passed else "FAILURE"
        self._row("RUN_END", "harness", {"outcome": outcome, "pts": int(passed)})
        return TextRun(self._rows, self._log, turns, outcome, gates, list(self._engine.leaks), known)

    def _note(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            self._log.append(Event(len(self._log), float(self._now), 0, cast(AnyFact, fact), fact.actor))

    def _row(self, kind: str, actor: str, payload: Row) -> None:
        self._rows.append(
            {
                "seq": len(self._rows),
                "type": kind,
                "actor": actor,
                "wall_time_ns": self._wall_ns(),
                "media_time_ms": self._now,
                "payload": payload,
                "causal_parents": [],
                "run_id": self._run,
                "task_version": self.workflow.version,
                "condition": CONDITION,
            }
        )


def _as_read(event: ScriptedEvent) -> Trigger:
    return Trigger(**event.trigger.model_dump(include=_READ))
