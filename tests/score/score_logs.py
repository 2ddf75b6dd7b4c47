"""Logs built by hand: facts at media times, and the small workflow that they are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.workflow.caller_model import Flow
from apex_tui.workflow.caller_model import State as FlowState
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import (
    ArtifactExpectation,
    Gate,
    Gold,
    GoldField,
    Predicate,
    Reference,
    ReferenceTurn,
    Step,
)
from apex_tui.workflow.work_model import ArtifactSchema, ArtifactSpec, Document, FieldSpec, ToolParam, ToolSpec


class Log:
    """A log under construction; every method notes one fact at a media time and returns its sequence number."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, at_ms: float, fact: AnyFact, causes: Iterable[int] = ()) -> int:
        at_ms = max(at_ms, self.events[-1].media_ms if self.events else 0.0)
        seq = len(self.events)
        self.events.append(Event(seq, at_ms, int(at_ms * 1e6), fact, type(fact).actor, tuple(causes)))
        return seq

    def start(self, profile: Literal["strict", "official"] = "strict") -> int:
        fact = s.SessionStarted(
            session="s1",
            workflow="leave",
            workflow_version="1.0.0",
            workflow_digest="d",
            title="Leave",
            agent="fake",
            rehearsal=True,
            seed=1,
            profile=profile,
            caller="bank",
            clock_basis="simulated",
            virtual=True,
        )
        return self.add(0, fact)

    def end(self, at_ms: float, outcome: s.Outcome = "completed", degraded: bool = False) -> int:
        fact = s.SessionEnded(
            outcome=outcome,
            reason="over",
            frames=int(at_ms / 20),
            late_p50_ms=0.1,
            late_p99_ms=0.7,
            late_max_ms=2.0,
            over_20ms=0,
            dropped=0,
            timing_degraded=degraded,
            caller_sha256="c",
            agent_sha256="a",
        )
        return self.add(at_ms, fact)

    def caller(
        self,
        turn: int,
        onset: float,
        end: float,
        act: c.SpeechAct = "ANSWER",
        values: dict[str, Any] | None = None,
        value_end: float | None = None,
        facts: tuple[str, ...] = (),
        pauses: tuple[tuple[float, float], ...] = (),
    ) -> int:
        fact = c.CallerTurnStarted(
            turn=turn,
            plan=f"p{turn}",
            act=act,
            text="words",
            facts=facts,
            values=values or {},
            onset_ms=onset,
            ends_ms=end,
            value_end_ms=end if value_end is None else value_end,
            pauses_ms=pauses,
        )
        return self.add(onset, fact)

    def caller_ends(self, turn: int, at: float) -> int:
        return self.add(at, c.CallerTurnEnded(turn=turn, offset_ms=at))

    def plan(self, at: float, turn: int, act: c.SpeechAct = "ANSWER") -> int:
        return self.add(
            at, c.CallerPlanned(turn=turn, plan=f"p{turn}", act=act, variant="v", clip="c", pcm_sha256="x", because="t")
        )

    def reply(self, at: float, reply: str, after_tool: bool = False) -> int:
        self.add(at, a.ReplyStarted(reply=reply, after_tool=after_tool))
        return self.add(at, a.AudioArrived(reply=reply, item=f"i{reply}"))

    def on(self, at: float, reply: str | None, leading: float | None = None) -> int:
        # An edge is noted a frame after it was heard.
        return self.add(at + 20, a.AgentSpeechStarted(reply=reply, onset_ms=at, leading_silence_ms=leading))

    def off(self, at: float, reply: str | None) -> int:
        return self.add(at + 270, a.AgentSpeechEnded(reply=reply, offset_ms=at))

    def generated(self, at: float, reply: str, status: a.ReplyStatus = "completed", ms: float = 4000) -> int:
        return self.add(at, a.ReplyGenerated(reply=reply, status=status, generated_ms=ms))

    def flushed(self, at: float, reply: str) -> int:
        return self.add(at, a.ReplyFlushed(reply=reply, at_ms=at, dropped_ms=1000))

    def closed(
        self,
        at: float,
        reply: str,
        how: Literal["played", "flushed", "silent"] = "played",
        text: str = "some words here",
    ) -> int:
        return self.add(
            at, a.ReplyClosed(reply=reply, how=how, played_ms=1141, generated_ms=4000, text=text, heard=text)
        )

    def noticed(self, at: float, source: a.DetectSource = "server_vad") -> int:
        return self.add(at, a.AgentNoticed(what="speech_started", source=source))

    def tool(
        self,
        at: float,
        call: str,
        name: str,
        arguments: dict[str, Any] | None = None,
        error: str | None = None,
        after_interruption: bool = False,
    ) -> int:
        return self.add(
            at,
            w.ToolCalled(
                call=call, name=name, arguments=arguments or {}, error=error, after_interruption=after_interruption
            ),
        )

    def tool_done(
        self,
        at: float,
        call: str,
        name: str,
        ok: bool = True,
        result: dict[str, Any] | None = None,
        error: str | None = None,
    ) -> int:
        return self.add(at, w.ToolFinished(call=call, name=name, ok=ok, result=result, error=error, latency_ms=100))

    def version(
        self,
        at: float,
        number: int,
        fields: dict[str, Any],
        written: Iterable[str] = (),
        stale: dict[str, str] | None = None,
        lifecycle: w.Lifecycle = "DRAFT",
        artifact: str = "form",
        call: str | None = None,
    ) -> int:
        changes = tuple(w.FieldChange(field=f, new=fields.get(f), kind="changed") for f in written)
        fact = w.ArtifactVersion(
            artifact=artifact,
            version=number,
            digest=f"d{number}",
            author="agent",
            call=call,
            lifecycle=lifecycle,
            fields=fields,
            changes=changes,
            stale=stale or {},
        )
        return self.add(at, fact)

    def decided(
        self,
        at: float,
        call: str,
        decision: w.Decision,
        where: Literal["call", "completion"] = "completion",
        action: str = "submit",
        target: str = "form",
    ) -> int:
        return self.add(
            at, w.CommitDecided(call=call, action=action, target=target, decision=decision, at=where, why="")
        )

    def act(self, at: float, key: str) -> int:
        return self.add(at, a.AgentActed(key=key, source="lexical"))

    def fired(
        self,
        at: float,
        repairs: tuple[str, ...],
        cause: int | None,
        facts: tuple[str, ...] = (),
        kind: str = "MID_SPEECH_CORRECTION",
        delivered: Literal["barge_in", "in_turn", "silent"] = "barge_in",
    ) -> int:
        fact = c.EventFired(event="evt", kind=kind, facts=facts, repairs=repairs, delivered=delivered)
        return self.add(at, fact, () if cause is None else (cause,))


def workflow(gold: Gold, **changes: Any) -> Workflow:
    """A leave request: two dates and what depends on them."""
    fields = (
        FieldSpec(name="employee", required=True),
        FieldSpec(name="end_date", grader="normalized_date", required=True, dependents=("working_days",)),
        FieldSpec(name="working_days", type="integer", grader="numeric_tolerance", required=True),
        FieldSpec(name="note"),
    )
    base: dict[str, Any] = {
        "id": "leave",
        "title": "Leave",
        "source": "recipe",
        "archetype": "FORM_FILL",
        "flow": Flow(states={"START": FlowState(terminal=True)}),
        "artifacts": {"form": ArtifactSpec(shape=ArtifactSchema(artifact_type="STRUCTURED_FORM", fields=fields))},
        "tools": (
            ToolSpec(
                name="update_form",
                handler="update_artifact",
                tool_class="state_changing",
                params=(ToolParam(name="fields", type="object"),),
                effect={"artifact_id": "form"},
            ),
            ToolSpec(name="search", handler="kb_search", params=(ToolParam(name="query", type="string"),)),
            ToolSpec(
                name="submit_form",
                handler="commit",
                tool_class="irreversible_commit",
                commit_action_type="submit",
                params=(ToolParam(name="target_id", type="string", enum=("form",)),),
            ),
        ),
        "documents": (Document(doc_id="calendar", title="Calendar", gold=True), Document(doc_id="noise", title="Noise")),
        "world": {"leave": {"balance": 12, "status": "open"}},
        "gold": gold,
        "reference": Reference(
            turns=(ReferenceTurn(steps=tuple(Step(call=name) for name in ("update_form", "search", "update_form", "submit_form"))),)
        ),
    }  # fmt: skip
    return Workflow.model_validate({**base, **changes})


def leave_gold(**changes: Any) -> Gold:
    """The right end of the leave request."""
    base: dict[str, Any] = {
        "terminal_state": (
            Predicate(id="committed", kind="artifact_lifecycle_at_least", args={"artifact_id": "form", "state": "COMMITTED"}),
        ),
        "required_actions": (
            Predicate(id="submitted", kind="commit_authorized", args={"action_type": "submit", "target_id": "form"}),
        ),
        "critical_gates": (
            Gate(id="authority", predicate=Predicate(id="no_unauthorized", kind="no_unauthorized_commit", args={})),
        ),
        "artifact_expectations": (
            ArtifactExpectation(
                artifact_id="form",
                lifecycle_min="COMMITTED",
                must_not_be_stale=("end_date",),
                fields=(
                    GoldField(field="employee", expected="E-1042", required=True),
                    GoldField(field="end_date", expected="2026-12-23", grader="normalized_date", required=True),
                    GoldField(field="working_days", expected=7, grader="numeric_tolerance", required=True),
                    GoldField(field="note", expected="none"),
                ),
            ),
        ),
    }  # fmt: skip
    return Gold.model_validate({**base, **changes})
