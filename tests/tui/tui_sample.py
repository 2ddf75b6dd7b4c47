"""A synthetic session: a leave request with an interruption, versions, an approval that goes stale, a new one, and the commit.

Times are media ms. Everything is made up; nothing comes from a run.
"""

from __future__ import annotations

from typing import Any

from rich.text import Text

from apex_tui.score.verdict import (
    Check,
    FieldVerdict,
    Floor,
    GateVerdict,
    Latency,
    Score,
    StopRow,
    Summary,
    ToolUse,
)
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.state import State
from apex_tui.tui.render_work import artifact_rows

SHA = "0" * 64
FIELDS_1 = {"employee_id": "4411", "leave_type": "annual", "start_date": "2026-12-14", "end_date": "2026-12-18"}
FIELDS_2 = {**FIELDS_1, "working_days": 5, "handover_to": "M. Ruiz"}
FIELDS_3 = {**FIELDS_2, "end_date": "2026-12-16", "working_days": 3}


def _change(field: str, old: Any, new: Any, kind: Any) -> w.FieldChange:
    return w.FieldChange(field=field, old=old, new=new, kind=kind)


def _version(number: int, call: str, fields: dict[str, Any], changes: tuple[w.FieldChange, ...]) -> w.ArtifactVersion:
    return w.ArtifactVersion(
        artifact="leave_form", version=number, digest=SHA, author="agent", call=call, lifecycle="DRAFT", fields=fields,
        changes=changes,
    )  # fmt: skip


def _pulse(caller_db: float, agent_db: float) -> s.SessionPulse:
    return s.SessionPulse(
        frames=50, late_p50_ms=0.2, late_p99_ms=2.5, late_max_ms=4.0, over_20ms=0, dropped=0, caller_db=caller_db,
        agent_db=agent_db, queue_ms=120,
    )  # fmt: skip


def _opening() -> list[tuple[float, AnyFact]]:
    return [
        (0, s.SessionStarted(
            session="20261129T140000-leave-request-rehearsal-7", workflow="leave-request", workflow_version="1.0.0",
            workflow_digest=SHA, title="Leave request", agent="rehearsal", rehearsal=True, seed=7, profile="strict",
            caller="bank", clock_basis="playout", virtual=False)),
        (0, s.SessionClock(utc="2026-11-29T14:00:00Z")),
        (120, a.AgentConnected(family="openai-realtime", url="ws://127.0.0.1:1/", instructions_sha256=SHA,
                               tools_sha256=SHA)),
        (1000, _pulse(-70, -70)),
        (1500, c.CallerTurnStarted(
            turn=1, plan="opening", act="OPENING_REQUEST", text="Hi, I'd like to book some leave before Christmas.",
            onset_ms=1500, ends_ms=4200, value_end_ms=4200)),
        (4200, c.CallerTurnEnded(turn=1, offset_ms=4200)),
        (4210, c.CallerWaits(why="patience", until_ms=10_200, next_plan="nudge")),
        (4400, a.AgentHeardCaller(item="i1", text="Hi, I'd like to book some leave before Christmas", final=True)),
        (4450, a.ReplyStarted(reply="r1")),
        (4800, a.AudioArrived(reply="r1", item="m1")),
        (4830, a.AgentSpeechStarted(reply="r1", onset_ms=4820)),
        (4830, a.AgentSaid(reply="r1", item="m1", text="Of course. Which days do you need?", final=True)),
        (4840, a.ResponseMeasured(turn=1, reply="r1", first_byte_ms=600, first_audible_ms=620, leading_silence_ms=20)),
        (7000, a.AgentSpeechEnded(reply="r1", offset_ms=6900)),
        (7100, a.ReplyGenerated(reply="r1", status="completed", generated_ms=2100)),
        (7100, a.ReplyClosed(reply="r1", how="played", played_ms=2100, generated_ms=2100,
                             text="Of course. Which days do you need?", heard="Of course. Which days do you need?")),
        (7400, c.CallerTurnStarted(
            turn=2, plan="dates", act="ANSWER", text="From the fourteenth to the eighteenth of December.",
            facts=("start_date", "end_date"), values={"start_date": "2026-12-14", "end_date": "2026-12-18"},
            onset_ms=7400, ends_ms=10_300, value_end_ms=10_200)),
        (10_300, c.CallerTurnEnded(turn=2, offset_ms=10_300)),
        (10_310, c.CallerWaits(why="listening")),
        (10_500, a.ReplyStarted(reply="r2")),
        (10_520, w.ToolCalled(call="c1", name="update_leave_form", reply="r2", arguments=dict(FIELDS_1))),
        (10_604, w.ToolFinished(call="c1", name="update_leave_form", ok=True, result={"version": 1}, latency_ms=84)),
        (10_604, _version(1, "c1", FIELDS_1, tuple(_change(k, None, v, "added") for k, v in FIELDS_1.items()))),
        (10_620, w.ToolCalled(call="c2", name="search_documents", reply="r2",
                              arguments={"query": "company calendar december"})),
        (11_000, _pulse(-68, -70)),
        (11_824, w.ToolFinished(call="c2", name="search_documents", ok=True, result={}, latency_ms=1204)),
        (11_830, w.ToolCalled(call="c3", name="update_leave_form", reply="r2",
                              arguments={"working_days": 5, "handover_to": "M. Ruiz"})),
        (11_920, w.ToolFinished(call="c3", name="update_leave_form", ok=True, result={"version": 2}, latency_ms=90)),
        (11_920, _version(2, "c3", FIELDS_2, (_change("working_days", None, 5, "added"),
                                              _change("handover_to", None, "M. Ruiz", "added")))),
    ]  # fmt: skip


_READ_BACK = "That is five working days, Monday the fourteenth to Friday the eighteenth. Shall I submit it?"
_HEARD = "That is five working days, Monday the fourteenth"


def _interruption() -> list[tuple[float, AnyFact]]:
    return [
        (11_930, a.ReplyClosed(reply="r2", how="silent", played_ms=0, generated_ms=0, text="", heard="")),
        (11_950, a.ReplyStarted(reply="r3", after_tool=True)),
        (12_200, a.AgentSpeechStarted(reply="r3", onset_ms=12_190)),
        (12_210, a.AgentSaid(reply="r3", item="m3", text=_READ_BACK, final=True)),
        (12_220, a.ResponseMeasured(turn=2, reply="r3", first_byte_ms=1850, first_audible_ms=1890, after_tool=True)),
        (12_300, w.ApprovalRequested(request="q1", action="submit_leave_request", target="leave_form",
                                     artifact="leave_form", version=2, digest=SHA)),
        (14_000, w.ApprovalGranted(approval="a1", request="q1", action="submit_leave_request", target="leave_form",
                                   artifact="leave_form", version=2, digest=SHA, turn=None, granted_ms=13_900)),
        (15_300, c.CallerTurnStarted(
            turn=3, plan="correction", act="CORRECT", text="No wait, make that the sixteenth.",
            facts=("end_date_2",), values={"end_date": "2026-12-16"}, floor="BARGE_IN", onset_ms=15_300,
            ends_ms=17_100, value_end_ms=17_000)),
        (15_300, a.BargeInOpened(barge_in=1, turn=3, reply="r3", kind="overlap", onset_ms=15_300)),
        (15_396, a.AgentNoticed(what="speech_started", source="server_vad", audio_ms=15_320)),
        (15_441, a.ReplyFlushed(reply="r3", at_ms=15_441, dropped_ms=2900)),
        (15_450, a.AgentSpeechEnded(reply="r3", offset_ms=15_441)),
        (15_460, a.ReplyGenerated(reply="r3", status="cancelled", reason="turn_detected", generated_ms=6100)),
        (15_460, a.ReplyClosed(reply="r3", how="flushed", played_ms=3250, generated_ms=6100, text=_READ_BACK, heard=_HEARD)),
        (17_100, c.CallerTurnEnded(turn=3, offset_ms=17_100)),
        (17_110, c.CallerWaits(why="awaits_answer", awaits="UPDATE", next_plan="approve")),
        (17_300, a.BargeInClosed(
            barge_in=1, turn=3, reply="r3", kind="overlap", onset_ms=15_300, stop_kind="yielded", stop_delay_ms=141,
            detect_ms=96, detect_source="server_vad", flush_ms=45, played_ms=3250, generated_ms=6100)),
        (17_400, a.ReplyStarted(reply="r4")),
        (17_420, w.ToolCalled(call="c4", name="update_leave_form", reply="r4",
                              arguments={"end_date": "2026-12-16", "working_days": 3})),
        (17_504, w.ToolFinished(call="c4", name="update_leave_form", ok=True, result={"version": 3}, latency_ms=84)),
        (17_504, _version(3, "c4", FIELDS_3, (_change("end_date", "2026-12-18", "2026-12-16", "changed"),
                                              _change("working_days", 5, 3, "changed")))),
        (17_504, w.ApprovalStale(approval="a1", covers=2, now=3, differs=("end_date", "working_days"))),
        (17_600, a.ReplyStarted(reply="r5", after_tool=True)),
        (17_800, a.AgentSpeechStarted(reply="r5", onset_ms=17_790)),
        (17_810, a.AgentSaid(reply="r5", item="m5", text="Done, the fourteenth to the sixteenth, three days.")),
        (17_820, a.ResponseMeasured(turn=3, reply="r5", first_byte_ms=640, first_audible_ms=690, after_tool=True)),
        (18_000, _pulse(-70, -18)),
    ]  # fmt: skip


def _ending() -> list[tuple[float, AnyFact]]:
    text = "Done, the fourteenth to the sixteenth, three days. Shall I submit it?"
    return [
        (20_000, w.ApprovalRequested(request="q2", action="submit_leave_request", target="leave_form",
                                     artifact="leave_form", version=3, digest=SHA)),
        (21_000, a.AgentSaid(reply="r5", item="m5", text=" Shall I submit it?")),
        (21_800, a.AgentSpeechEnded(reply="r5", offset_ms=21_600)),
        (21_800, a.ReplyGenerated(reply="r5", status="completed", generated_ms=3800)),
        (21_800, a.ReplyClosed(reply="r5", how="played", played_ms=3800, generated_ms=3800, text=text, heard=text)),
        (22_200, c.CallerTurnStarted(turn=4, plan="approve", act="APPROVE", text="Yes please, go ahead.",
                                     onset_ms=22_200, ends_ms=23_400, value_end_ms=23_400)),
        (22_210, w.ApprovalGranted(approval="a2", request="q2", action="submit_leave_request", target="leave_form",
                                   artifact="leave_form", version=3, digest=SHA, turn=4, granted_ms=22_200)),
        (23_400, c.CallerTurnEnded(turn=4, offset_ms=23_400)),
        (23_600, a.ReplyStarted(reply="r6")),
        (23_620, w.ToolCalled(call="c5", name="submit_leave_request", reply="r6", arguments={"target": "leave_form"})),
        (23_620, w.CommitDecided(call="c5", action="submit_leave_request", target="leave_form", decision="AUTHORIZED",
                                 at="call", artifact="leave_form", version=3, approval="a2")),
        (24_820, w.CommitDecided(call="c5", action="submit_leave_request", target="leave_form", decision="AUTHORIZED",
                                 at="completion", artifact="leave_form", version=3, approval="a2")),
        (24_820, w.ToolFinished(call="c5", name="submit_leave_request", ok=True, result={"status": "submitted"},
                                decision="AUTHORIZED", latency_ms=1200)),
        (25_000, s.OperatorMarked(note="committed")),
        (26_000, s.SessionEnded(
            outcome="completed", reason="the caller hung up", frames=1300, late_p50_ms=0.2, late_p99_ms=2.5,
            late_max_ms=4.0, over_20ms=0, dropped=0, timing_degraded=False, caller_sha256=SHA, agent_sha256=SHA)),
    ]  # fmt: skip


def to_events(facts: list[tuple[float, AnyFact]], first: int = 0) -> list[Event]:
    """Facts in their envelopes, in order. Replies are caused by the turn before them, calls by their reply, versions by their call."""
    events: list[Event] = []
    turn: tuple[int, ...] = ()
    made: dict[str, int] = {}
    for number, (ms, fact) in enumerate(facts, first):
        causes: tuple[int, ...] = ()
        if isinstance(fact, c.CallerTurnStarted):
            turn = (number,)
        elif isinstance(fact, a.ReplyStarted):
            causes, made[fact.reply] = turn, number
        elif isinstance(fact, w.ToolCalled):
            causes, made[fact.call] = (made[fact.reply],) if fact.reply in made else (), number
        elif isinstance(fact, w.ArtifactVersion) and fact.call in made:
            causes = (made[fact.call],)
        events.append(
            Event(seq=number, media_ms=ms, wall_ns=int(ms * 1e6), fact=fact, actor=type(fact).actor, causes=causes)
        )
    return events


def until_stale() -> list[Event]:
    """Up to the moment at which the first approval has gone stale and the agent speaks again."""
    return to_events([*_opening(), *_interruption()])


def session() -> list[Event]:
    """The whole session."""
    return to_events([*_opening(), *_interruption(), *_ending()])


def score(success: bool = True) -> Score:
    """A verdict on it."""
    gates = tuple(
        GateVerdict(gate=name, passed=success or name != "AV", reason=reason, checks=checks)
        for name, reason, checks in (
            ("TS", "the request is submitted", ()),
            ("PV", "every commit was authorised", ()),
            ("AC", "submit_leave_request was done once", ()),
            ("AV", "all 6 fields are right" if success else "end_date is wrong",
             () if success else (Check(id="field.end_date", passed=False, reason="2026-12-18, not 2026-12-16",
                                       evidence=(41, 52)),)),
        )
    )  # fmt: skip
    fields = (
        FieldVerdict(artifact="leave_form", field="employee_id", expected="4411", found="4411", passed=True, stale=False,
                     required=True, corrected=False, reason="exact"),
        FieldVerdict(artifact="leave_form", field="end_date", expected="2026-12-16",
                     found="2026-12-16" if success else "2026-12-18", passed=success, stale=False, required=True,
                     corrected=True, reason="normalized date", uptake_ms=504.0 if success else None,
                     uptake="taken_up" if success else "censored"),
        FieldVerdict(artifact="leave_form", field="reason", expected=None, found=None, passed=None, stale=False,
                     required=False, corrected=False, reason="only a judge could tell"),
    )  # fmt: skip
    return Score(
        session="20261129T140000-leave-request-rehearsal-7", workflow="leave-request", agent="rehearsal", rehearsal=True,
        environment_profile="strict", grading_profile="strict", validity="scored", outcome="completed", success=success,
        gates=gates, afa=1.0 if success else 0.5, afa_n=2, fields=fields,
        floor=Floor(
            barge_ins=(StopRow(barge_in=1, kind="overlap", onset_ms=15_300, stop_kind="yielded", stop_delay_ms=141,
                               detect_ms=96, detect_source="server_vad", flush_ms=45),),
            yielded_share=1.0, yielded_n=1, observed_n=1, stop_delay_ms=Summary(n=1, values=(141.0,), median=141.0),
            backchannels=1),
        latency=Latency(first_audible_ms=Summary(n=1, values=(620.0,), median=620.0),
                        first_audible_after_tool_ms=Summary(n=2, values=(1890.0, 690.0), median=1290.0),
                        first_byte_ms=Summary(n=1, values=(600.0,), median=600.0), band="holds together",
                        complete_ms=24_820.0),
        tools=ToolUse(calls=5, ok=5, failed=0, cancelled=0, reference_calls=5, ratio=1.0),
        timing_degraded=False, late_p99_ms=2.5, clock_basis="playout", duration_ms=26_000,
    )  # fmt: skip


def artifact_lines(state: State, width: int, diff: bool = False, **more: Any) -> list[Text]:
    """What pane 2 shows, without what each line is about."""
    return [line for line, _, _ in artifact_rows(state, width, diff, **more)]
