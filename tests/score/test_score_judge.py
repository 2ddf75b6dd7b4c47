"""The whole verdict: a hand-made session with a known answer for every field of the score, and what changes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_logs import Log, leave_gold, workflow

from apex_tui.score.judge import score_folder, score_log
from apex_tui.score.verdict import Score
from apex_tui.store.layout import SessionFolder
from apex_tui.timeline.errors import RecordingError, WorkflowError
from apex_tui.timeline.events import from_line, to_line
from apex_tui.timeline.session_facts import Outcome, SessionPulse, SessionStarted
from apex_tui.timeline.work_facts import ArtifactStale, KnowledgeSearched, ToolCancelled
from apex_tui.workflow.outcome_model import ArtifactExpectation, Gate, GoldField, Precedence, Predicate
from apex_tui.workflow.snapshot import digest, to_json

FIRST = {"employee": "e 1042", "end_date": "2026-12-11", "working_days": 3}
MOVED = {**FIRST, "end_date": "December 23, 2026"}
RIGHT = {**MOVED, "working_days": "7 working days"}
CAUSE = "the caller changed it at 10.0 s: evt"


def good() -> Log:
    """A leave request that is read back, corrected by a barge-in, approved and committed."""
    log = Log()
    log.start()
    log.plan(900, 1)
    log.caller(1, 1000, 3000, values={"form.employee": "E-1042", "form.end_date": "2026-12-11"})
    log.caller_ends(1, 3000)
    log.reply(3400, "r1")
    log.on(3500, "r1", 100)
    log.generated(4000, "r1")
    log.off(5000, "r1")
    log.closed(5300, "r1")
    log.tool(5400, "t1", "search", {"query": "calendar"})
    log.add(5600, KnowledgeSearched(call="t1", query="calendar", hits=("calendar",)))
    log.tool_done(5600, "t1", "search", result={"hits": ["calendar"]})
    log.tool(6000, "t2", "update_form", {"fields": FIRST})
    log.version(6200, 1, FIRST, FIRST, call="t2")
    log.tool_done(6200, "t2", "update_form", result={"updated": 3})
    log.reply(6900, "r2", after_tool=True)
    log.on(7000, "r2", 100)
    log.plan(9900, 2)
    turn = log.caller(2, 10000, 12000, "CORRECT", {"form.end_date": "2026-12-23"}, 11500, ("end2",), ((10500, 11000),))
    log.fired(10000, ("form.end_date", "form.working_days"), turn, ("end2",))
    log.add(
        10000,
        ArtifactStale(artifact="form", version=1, fields={"end_date": CAUSE, "working_days": CAUSE}, since_ms=10000),
    )
    log.noticed(10080)
    log.flushed(10090, "r2")
    log.generated(10100, "r2", "cancelled")
    log.off(10141, "r2")
    log.closed(10420, "r2", "flushed")
    log.caller_ends(2, 12000)
    log.tool(12300, "t3", "update_form", {"fields": {"end_date": "December 23, 2026"}})
    log.version(
        12500, 2, MOVED, ("end_date",), {"working_days": "depends on end_date, written in version 2"}, call="t3"
    )
    log.tool_done(12500, "t3", "update_form", result={"updated": 1})
    log.reply(12700, "r3", after_tool=True)
    log.on(12800, "r3")
    log.tool(13000, "t4", "update_form", {"fields": {"working_days": "7 working days"}})
    log.version(13200, 3, RIGHT, ("working_days",), call="t4")
    log.tool_done(13200, "t4", "update_form", result={"updated": 1})
    log.tool(13300, "t5", "update_form", {"fields": {"working_days": "7 working days"}})
    log.version(13350, 4, RIGHT, ("working_days",), call="t5")
    log.tool_done(13350, "t5", "update_form", result={"updated": 1})
    log.tool(13400, "t6", "teleport", error="there is no tool teleport")
    log.tool(13450, "t7", "submit_form", {"target_id": "other"}, error="'target_id' must be one of form")
    log.tool(13500, "t9", "search", {"query": "late"}, after_interruption=True)
    log.add(13600, ToolCancelled(call="t9", name="search", reason="the reply was cut off"))
    log.off(14000, "r3")
    log.closed(14300, "r3")
    log.plan(14900, 3)
    log.caller(3, 15000, 15500, "APPROVE")
    log.caller_ends(3, 15500)
    log.tool(16000, "t8", "submit_form", {"target_id": "form"})
    log.decided(16000, "t8", "AUTHORIZED", "call")
    log.version(17200, 5, RIGHT, (), lifecycle="COMMITTED", call="t8")
    log.decided(17200, "t8", "AUTHORIZED")
    log.tool_done(17200, "t8", "submit_form", result={"committed": True})
    log.reply(17900, "r4")
    log.on(18000, "r4")
    log.caller(4, 18200, 18400, "BACKCHANNEL")
    log.caller_ends(4, 18400)
    log.off(19000, "r4")
    log.end(23000)
    return log


def types(log: Log, evidence: tuple[int, ...]) -> list[str]:
    return [log.events[seq].type for seq in evidence]


def judged(log: Log, grading: Any = "strict", **gold: Any) -> Score:
    return score_log(log.events, workflow(leave_gold(**gold)), grading)


def test_every_field_of_the_score() -> None:
    log = good()
    score = judged(log)
    assert [d.first_disagreement for d in score.work.drift] == [None, None]
    assert not any(score.work.model_dump(exclude={"drift", "confirmations"}).values())
    flat = score.model_dump(exclude={"gates", "fields", "floor", "latency", "tools", "work"})
    assert flat == {
        "schema_version": 1,
        "session": "s1",
        "workflow": "leave",
        "agent": "fake",
        "rehearsal": True,
        "environment_profile": "strict",
        "grading_profile": "strict",
        "validity": "scored",
        "outcome": "completed",
        "ended_because": "over",
        "success": True,
        "afa": 0.75,
        "afa_n": 4,
        "timing_degraded": False,
        "directed": False,
        "degraded_because": (),
        "late_p99_ms": 0.7,
        "clock_basis": "simulated",
        "duration_ms": 23000.0,
        "usage": {},
        "limits": {},
    }
    assert [(g.gate, g.passed, g.reason) for g in score.gates] == [
        ("TS", True, "1 check holds"),
        ("PV", True, "1 check holds"),
        ("AC", True, "1 check holds"),
        ("AV", True, "5 checks hold"),
    ]
    assert [c.id for c in score.gate("AV").checks] == [
        "form.lifecycle",
        "form.employee",
        "form.end_date",
        "form.working_days",
        "form.end_date.not_stale",
    ]
    assert types(log, score.gate("TS").checks[0].evidence) == ["artifact.version"]
    assert types(log, score.gate("AC").checks[0].evidence) == ["commit.decided"]


def test_the_fields_with_their_corrections() -> None:
    log = good()
    employee, end_date, days, note = judged(log).fields
    assert (employee.passed, employee.corrected, employee.reason) == (True, False, "employee is e 1042, as wanted")
    assert types(log, employee.evidence) == ["caller.turn_started", "artifact.version"]
    assert (end_date.found, end_date.expected, end_date.stale) == ("December 23, 2026", "2026-12-23", False)
    assert (end_date.uptake, end_date.uptake_ms, end_date.settled_ms) == ("taken_up", 1000.0, 1700.0)
    assert [log.events[seq].media_ms for seq in end_date.evidence] == [10000.0, 12500.0]
    assert (days.corrected, days.uptake, days.uptake_ms, days.settled_ms) == (True, "taken_up", 1700.0, 1700.0)
    assert (note.passed, note.required, note.found, note.reason) == (False, False, None, "note was never written, wanted none")  # fmt: skip


def test_the_numbers_of_the_floor() -> None:
    score = judged(good())
    row = score.floor.barge_ins[0]
    assert row.evidence
    assert row.model_dump(exclude={"evidence"}) == {
        "barge_in": 1, "kind": "overlap", "onset_ms": 10000.0, "stop_kind": "yielded", "stop_delay_ms": 141.0,
        "detect_ms": 80.0, "detect_source": "server_vad", "flush_ms": 61.0,
        "played_ms": 1141.0, "generated_ms": 4000.0, "stale_bursts": 0, "last_audible_ms": 10141.0, "echo_suspect": False, "across_stall": False,
    }  # fmt: skip
    assert score.floor.model_dump(exclude={"barge_ins"}) == {
        "yielded_low": 1.0,
        "yielded_high": 1.0,
        "chance_share": 0.5,
        "chance_n": 4,
        "invalid_n": 0,
        "talk_overs": 0,
        "late_dropped_ms": 0.0,
        "disagreements": (),
        "yielded_share": 1.0,
        "yielded_n": 1,
        "observed_n": 1,
        "stop_delay_ms": {"n": 1, "values": (141.0,), "median": None, "p95": None, "censored": 0},
        "cut_ins": 0,
        "terminal_overlaps": 0,
        "agent_backchannels": 0,
        "false_yields": 0,
        "backchannels": 1,
        "undecided": 0,
        "echo_suspects": 0,
        "overlap_ratio": round((141 + 200) / 23000, 4),
    }
    detailed = {"first_speech_ms", "first_speakable_ms", "first_sentence_ms", "first_sentence_estimated_n", "stages"}
    during = {"questions_during_call", "writes_during_call"}
    assert score.latency.model_dump(exclude=detailed | during) == {
        "first_byte_ms": {"n": 2, "values": (400.0, 2400.0), "median": None, "p95": None, "censored": 0},
        "first_audible_ms": {"n": 2, "values": (500.0, 2500.0), "median": None, "p95": None, "censored": 0},
        "first_audible_after_tool_ms": {"n": 1, "values": (800.0,), "median": None, "p95": None, "censored": 0},
        "leading_silence_ms": {"n": 1, "values": (100.0,), "median": None, "p95": None, "censored": 0},
        "unanswered": 0,
        "band": "holds together",
        "dead_air_n": 1,
        "silent_wait_n": 0,
        "across_stall_n": 0,
        "complete_ms": 17200.0,
    }


def test_the_counts_of_the_tools() -> None:
    assert judged(good()).tools.model_dump() == {
        "calls": 9, "ok": 6, "failed": 2, "cancelled": 1, "reference_calls": 4, "ratio": 1.5, "unknown_tool": 1,
        "invalid_arguments": 1, "repeated": 1, "after_interruption": 1,
    }  # fmt: skip


def test_a_correction_that_was_not_written_fails_the_artifact_only_and_says_why() -> None:
    log = Log()
    log.start()
    log.version(6200, 1, FIRST, FIRST)
    turn = log.caller(2, 63200, 65000, "CORRECT", {"form.end_date": "2026-12-23"})
    log.fired(63200, ("form.end_date",), turn)
    log.tool(66000, "t1", "submit_form")
    log.version(67000, 2, FIRST, (), lifecycle="COMMITTED")
    log.decided(67000, "t1", "AUTHORIZED")
    log.tool_done(67000, "t1", "submit_form")
    log.end(70000)
    score = judged(log)
    assert [g.passed for g in score.gates] == [True, True, True, False]
    assert not score.success
    field = score.fields[1]
    assert field.reason == "end_date is 2026-12-11, wanted 2026-12-23: the caller changed it at 63.2 s"
    assert (field.uptake, field.uptake_ms, field.settled_ms) == ("censored", None, None)
    assert score.gate("AV").reason == f"{field.reason} (and 1 more check)"
    assert score.latency.complete_ms is None
    assert score.afa == 0.25


@pytest.mark.parametrize(
    ("order", "passed", "reason"),
    [
        (("search", "submit_form"), True, "search was done before submit_form"),
        (("submit_form", "search"), False, "search was done only after submit_form"),
        (("submit_form",), False, "submit_form was done without search"),
        (("search",), True, "submit_form never succeeded, so nothing had to come before it"),
    ],
)
def test_precedence_is_read_over_the_log_in_strict_grading(order: tuple[str, ...], passed: bool, reason: str) -> None:
    log = Log()
    log.start()
    for n, name in enumerate(order):
        log.tool(1000 * (n + 1), f"t{n}", name)
        log.tool_done(1000 * (n + 1) + 500, f"t{n}", name)
    rule = Precedence(before="search", after="submit_form")
    check = judged(log, precedence=(rule,)).gate("PV").checks[-1]
    assert (check.id, check.passed, check.reason) == ("search_before_submit_form", passed, reason)
    assert judged(log, "official", precedence=(rule,)).gate("PV").passed


def test_forbidden_things_and_negative_gates() -> None:
    called = Predicate(id="used_search", kind="tool_called", args={"tool": "search"})
    log = Log()
    log.start()
    gold: dict[str, Any] = {
        "forbidden": (called,),
        "critical_gates": (Gate(id="no_search", predicate=called, must_hold=False),),
    }
    assert judged(log, **gold).gate("PV").passed
    log.tool(1000, "t1", "search")
    log.tool_done(1100, "t1", "search")
    gate = judged(log, **gold).gate("PV")
    assert [(c.id, c.passed, c.evidence) for c in gate.checks] == [
        ("used_search", False, (1,)),
        ("no_search", False, (1,)),
    ]
    assert gate.reason == "search was called (and 1 more check)"


def test_alternate_ends() -> None:
    def lifecycle(state: str) -> Predicate:
        return Predicate(id=state, kind="artifact_lifecycle_at_least", args={"artifact_id": "form", "state": state})

    log = Log()
    log.start()
    log.version(1000, 1, {"note": "x"}, ("note",))
    gold = {"terminal_state": (lifecycle("COMMITTED"),)}
    reached = judged(log, **gold, alternate_terminal_states=((lifecycle("APPROVED"),), (lifecycle("DRAFT"),))).gate(
        "TS"
    )
    assert (reached.passed, [c.id for c in reached.checks]) == (True, ["DRAFT"])
    assert reached.reason == "an alternate end was reached: 1 check holds"
    missed = judged(log, **gold, alternate_terminal_states=((lifecycle("APPROVED"),),)).gate("TS")
    assert (missed.passed, [c.id for c in missed.checks]) == (False, ["COMMITTED", "APPROVED"])
    assert missed.reason.endswith("no alternate end either")
    assert judged(log, terminal_state=()).gate("TS").reason == "nothing is asked"


@pytest.mark.parametrize(
    ("outcome", "validity", "success"),
    [
        ("completed", "scored", True),
        ("agent_stalled", "scored", True),
        ("agent_closed", "scored", True),
        ("over_time", "scored", True),
        ("infrastructure", "infrastructure", False),
        ("simulator", "simulator", False),
        ("operator", "operator", False),
    ],
)
def test_validity_follows_from_the_end(outcome: Outcome, validity: str, success: bool) -> None:
    log = good()
    log.events.pop()
    log.end(23000, outcome, degraded=True)
    score = judged(log)
    assert (score.validity, score.outcome, score.success, score.timing_degraded) == (validity, outcome, success, True)
    assert all(gate.passed for gate in score.gates)


@given(st.integers(1, len(good().events) - 1))
def test_a_log_cut_anywhere_is_judged_on_what_is_there(cut: int) -> None:
    score = score_log(good().events[:cut], workflow(leave_gold()))
    assert (score.validity, score.outcome, score.success, score.late_p99_ms) == ("cut_off", "cut_off", False, None)
    assert json.loads(score.model_dump_json())["validity"] == "cut_off"


def test_an_empty_log_and_one_without_its_start() -> None:
    with pytest.raises(RecordingError, match="the log is empty"):
        score_log([], workflow(leave_gold()))
    with pytest.raises(RecordingError, match="start of the session"):
        score_log(good().events[1:], workflow(leave_gold()))


@pytest.mark.parametrize(("p99", "late", "degraded"), [(2.0, 0, False), (12.0, 0, True), (2.0, 1, True)])
def test_a_cut_log_is_degraded_by_its_seconds(p99: float, late: int, degraded: bool) -> None:
    log = Log()
    log.start()
    pulse = SessionPulse(
        frames=50,
        late_p50_ms=0,
        late_p99_ms=p99,
        late_max_ms=25,
        over_20ms=late,
        dropped=0,
        caller_db=-60,
        agent_db=-60,
        queue_ms=0,
    )
    log.add(1000, pulse)
    assert judged(log).timing_degraded is degraded


def test_the_verdict_survives_its_own_json() -> None:
    log = good()
    score = judged(log)
    assert Score.model_validate_json(score.model_dump_json()) == score
    again = [from_line(to_line(event)) for event in log.events]
    assert score_log(again, workflow(leave_gold())) == score


def test_an_unusable_gold_outcome_is_named() -> None:
    with pytest.raises(WorkflowError, match="predicate bad: there is no kind 'magic'"):
        judged(good(), required_evidence=(Predicate(id="bad", kind="magic"),))


def test_completion_waits_for_everything_that_is_needed() -> None:
    note = Predicate(id="n", kind="artifact_field_present", args={"artifact_id": "form", "field": "working_days"})
    used = Predicate(id="u", kind="tool_called", args={"tool": "search"})
    assert judged(good(), required_actions=(note, used), terminal_state=()).latency.complete_ms == 17200.0
    early = ArtifactExpectation(
        artifact_id="form", fields=(GoldField(field="employee", expected="E-1042", required=True),)
    )
    score = judged(good(), required_actions=(note,), terminal_state=(), artifact_expectations=(early,))
    assert score.latency.complete_ms == 13200.0  # the rewriting at 13.35 s added nothing
    assert judged(good(), required_actions=(), terminal_state=(), artifact_expectations=()).latency.complete_ms is None


def test_a_folder_is_judged_by_its_own_files(tmp_path: Path) -> None:
    log = good()
    folder = SessionFolder(tmp_path)
    folder.write_workflow(to_json(workflow(leave_gold())))
    lines = "".join(f"{to_line(event)}\n" for event in log.events)
    folder.events.write_text(lines, encoding="utf-8")
    with pytest.raises(RecordingError, match="not the workflow that the session ran"):
        score_folder(tmp_path)
    started = log.events[0].fact
    assert isinstance(started, SessionStarted)
    ran = digest(workflow(leave_gold()))
    told = f'"workflow_digest":"{started.workflow_digest}"'
    folder.events.write_text(lines.replace(told, f'"workflow_digest":"{ran}"', 1), encoding="utf-8")
    assert score_folder(tmp_path) == judged(log)
    assert score_folder(tmp_path, "official").grading_profile == "official"
    text = folder.events.read_bytes()
    folder.events.write_bytes(text[: len(text) // 2])
    assert score_folder(tmp_path).validity == "cut_off"


def test_one_failing_and_one_ungraded_claim_of_the_gate_are_told_apart() -> None:
    wanted = {"artifact_id": "form", "field": "note", "value": "none", "grader": "semantic"}
    log = Log()
    log.start()
    log.version(1000, 1, {"note": "nothing"}, ("note",))
    bad = Predicate(id="b", kind="tool_called", args={"tool": "search"})
    ungraded = Predicate(id="a", kind="artifact_field_equals", args=wanted)
    gate = judged(log, required_actions=(ungraded, bad)).gate("AC")
    assert (gate.passed, gate.reason) == (False, "search was never called (and 1 more check)")
