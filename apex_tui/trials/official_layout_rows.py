"""Our timeline as rows of the reference's log (section 10.2): ten keys, its types, its payloads.

In here: which of our events become which rows, in the order of media time. Deliberately not in here: files. Where the reference's own stamp is
known to be wrong (a barge-in dated at the agent's onset) the true time is written; nothing reads that field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apex_tui.score.verdict import Score
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Reply
from apex_tui.timeline.view import SessionView
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official_recovery import CLOSING, NUDGE

CONDITION = "C2"
WINDOW_MS = 1500.0
"""An agent has yielded for the reference when it fell silent within this."""
YIELDS = frozenset(
    {"MID_SPEECH_CORRECTION", "CANCELLATION_REVOCATION", "USER_BARGE_IN", "URGENT_INTERRUPTION", "INTENT_SWITCH"}
)
"""Types of rows that the reference's results count as barge-ins."""
DECISIONS = {
    "AUTHORIZED": "AUTHORIZED",
    "PREMATURE": "PREMATURE_COMMIT",
    "POST_REVOCATION": "POST_REVOCATION_COMMIT",
    "WRONG_SCOPE": "WRONG_SCOPE_COMMIT",
}
"""Our decisions -> the reference's; those that only the strict environment knows have no name there."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stretches:
    """What was audible of each side, as (from, to) in ms."""

    caller: tuple[tuple[float, float], ...]
    agent: tuple[tuple[float, float], ...]


def stretches_of(events: Sequence[Event]) -> Stretches:
    """Caller turns as whole clips (pauses included, as the reference counts them), the agent as played."""
    state = SessionView.fold(events).state
    caller = tuple((t.onset_ms, t.offset_ms if t.offset_ms is not None else t.ends_ms) for t in state.turns)
    agent = tuple(
        (start, state.media_ms if end is None else end)
        for name in state.reply_order
        for start, end in state.replies[name].speech
    )
    return Stretches(caller, agent)


def duplex_records(events: Sequence[Event], workflow: Workflow) -> list[Row]:
    """One record per barge-in that was observed to its end, as the reference's run-time records."""
    fired = _fired(events)
    turns = {e.fact.turn: e.seq for e in events if isinstance(e.fact, c.CallerTurnStarted)}
    out: list[Row] = []
    for event in events:
        fact = event.fact
        if not isinstance(fact, a.BargeInClosed) or fact.stop_kind == "censored":
            continue
        news = fired.get(turns.get(fact.turn, -1))
        kind = news.kind if news is not None and news.kind in YIELDS else "USER_BARGE_IN"
        delay = fact.stop_delay_ms if fact.stop_kind in ("yielded", "resumed", "natural_end", "unattributed") else None
        yielded = fact.stop_kind == "yielded" and delay is not None and delay <= WINDOW_MS
        out.append(
            {
                "event_id": news.event if news is not None else f"turn_{fact.turn}",
                "type": kind,
                "isl_ms": None if delay is None else max(0, round(delay)),
                "agent_yielded": yielded,
                "onset_ms": round(fact.onset_ms),
            }
        )
    return out


def _fired(events: Sequence[Event]) -> dict[int, c.EventFired]:
    return {cause: e.fact for e in events if isinstance(e.fact, c.EventFired) for cause in e.causes}


@dataclass(slots=True)
class _Rows:
    """Rows in the making; each knows the sequence number of our event that it stands for."""

    found: list[tuple[float, int, str, str, Row, Event]] = field(default_factory=list)

    def add(self, event: Event, at_ms: float, kind: str, actor: str, payload: Row) -> None:
        self.found.append((at_ms, len(self.found), kind, actor, payload, event))


def rows_of(events: Sequence[Event], run: str, workflow: Workflow, model: str, speech: str, score: Score) -> list[Row]:
    """The whole log, dense from 0 and in the order of media time."""
    rows = _Rows()
    replies = SessionView.fold(events).state.replies
    planned = {e.fact.turn: e.fact for e in events if isinstance(e.fact, c.CallerPlanned)}
    barged = {e.fact.turn for e in events if isinstance(e.fact, a.BargeInOpened)}
    heard: set[str] = set()
    for event in events:
        fact = event.fact
        match fact:
            case s.SessionStarted():
                payload = {"task_id": workflow.id, "model_id": model, "condition": CONDITION, "user_audio": speech}
                rows.add(event, 0, "RUN_START", "harness", payload)
            case s.SessionEnded():
                outcome = "SUCCESS" if score.success else "FAILURE"
                rows.add(event, event.media_ms, "RUN_END", "harness", {"outcome": outcome, "pts": int(score.success)})
            case c.CallerTurnStarted():
                _turn(rows, event, fact, planned.get(fact.turn), fact.turn in barged)
            case a.AgentSpeechStarted() if fact.reply is not None and fact.reply not in heard:
                heard.add(fact.reply)
                _reply(rows, event, fact, replies.get(fact.reply))
            case _:
                _other(rows, event)
    _barge_ins(rows, events, workflow)
    return _numbered(rows, run, workflow.version)


def _turn(rows: _Rows, event: Event, turn: c.CallerTurnStarted, plan: c.CallerPlanned | None, barged: bool) -> None:
    recovered = plan is not None and plan.recovered
    said = {CLOSING: "closing", NUDGE: "nudge"}.get(turn.plan)
    payload: Row = {"plan_id": turn.plan, "speech_act": turn.act, "facts": list(turn.facts)}
    if said == "closing":
        payload = {"plan_id": "close", "speech_act": "END", "facts": []}
    else:
        payload |= {"recovered": True} if recovered else {"floor_action": turn.floor}
    if said != "nudge":  # the reference has no plan for it
        rows.add(event, turn.onset_ms, "USER_PLAN", "user", payload)
    label = "barge" if barged else said or ("recovered" if recovered else None)
    audio: Row = {"text": turn.text, "duration_ms": round(turn.ends_ms - turn.onset_ms)}
    rows.add(event, turn.onset_ms, "USER_AUDIO_START", "user", {**audio, **({label: True} if label else {})})


def _reply(rows: _Rows, event: Event, started: a.AgentSpeechStarted, reply: Reply | None) -> None:
    text = reply.text if reply is not None else ""
    played = [(x, y) for x, y in reply.speech if y is not None] if reply is not None else []
    last = max((end for _, end in played), default=started.onset_ms)
    payload = {"text": text, "duration_ms": round(last - started.onset_ms)}
    rows.add(event, started.onset_ms, "AGENT_AUDIO_START", "agent", payload)
    rows.add(event, last, "AGENT_AUDIO_END", "agent", {})
    if text:
        rows.add(event, last, "AGENT_TEXT", "agent", {"text": text})


def _other(rows: _Rows, event: Event) -> None:
    at = event.media_ms
    match event.fact:
        case c.EventFired() as fact:
            rows.add(event, at, "DUPLEX_EVENT", "user", {"event_id": fact.event, "type": fact.kind})
            if fact.delivered == "in_turn" and fact.kind in YIELDS:
                late = {"event_id": fact.event, "type": "USER_CORRECTION", "onset_ms": round(at)}
                rows.add(event, at, "DUPLEX_EVENT", "user", late)
        case w.ApprovalGranted() as fact:
            payload = {"granted": fact.action, "target_id": fact.target}
            rows.add(event, fact.granted_ms, "APPROVAL_EVENT", "user", payload)
        case w.ApprovalRevoked() as fact:
            rows.add(
                event, fact.revoked_ms, "APPROVAL_EVENT", "user", {"revoked": fact.action, "target_id": fact.target}
            )
        case a.AgentActed() as fact if fact.source != "tool":
            rows.add(event, at, "AGENT_ACT", "agent", {"act": fact.key, "source": "pattern"})
        case w.ToolCalled() as fact:
            rows.add(event, at, "TOOL_CALL", "agent", {"tool": fact.name, "args": fact.arguments})
            if fact.error is not None:
                refused = {"tool": fact.name, "ok": False, "result": None, "auth_decision": None, "error": fact.error}
                rows.add(event, at, "TOOL_RESULT", "environment", refused)
        case w.ToolFinished() as fact:
            decision = None if fact.decision is None else DECISIONS.get(fact.decision)
            result = {"tool": fact.name, "ok": fact.ok, "result": fact.result, "auth_decision": decision}
            rows.add(event, at, "TOOL_RESULT", "environment", result)


def _barge_ins(rows: _Rows, events: Sequence[Event], workflow: Workflow) -> None:
    closed = [e for e in events if isinstance(e.fact, a.BargeInClosed) and e.fact.stop_kind != "censored"]
    for event, record in zip(closed, duplex_records(events, workflow), strict=True):
        rows.add(event, record["onset_ms"], "DUPLEX_EVENT", "user", record)


def _numbered(rows: _Rows, run: str, version: str) -> list[Row]:
    ordered = sorted(rows.found, key=lambda row: (row[2] == "RUN_END", round(row[0]), row[5].seq, row[1]))
    place: dict[int, int] = {}
    out: list[Row] = []
    for seq, (at_ms, _, kind, actor, payload, event) in enumerate(ordered):
        out.append(
            {
                "seq": seq,
                "type": kind,
                "actor": actor,
                "wall_time_ns": event.wall_ns,
                "media_time_ms": round(at_ms),
                "payload": payload,
                "causal_parents": sorted({place[cause] for cause in event.causes if cause in place}),
                "run_id": run,
                "task_version": version,
                "condition": CONDITION,
            }
        )
        place.setdefault(event.seq, seq)
    return out
