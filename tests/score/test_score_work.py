"""Stale calls, dropped results, lookups, disclosure, false success, handing over, and all of it in the verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from work_scenes import Scene, begun, gold, measured, order, written_late

from apex_tui.cli.scoring import print_score, work_lines
from apex_tui.score.case import build
from apex_tui.score.judge import score_log
from apex_tui.score.verdict import Score
from apex_tui.score.verdict_work import WorkMeasures
from apex_tui.score.work_measures import work_measures
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.tui.render_score import score_lines
from apex_tui.workflow.outcome_model import Predicate, Reference, ReferenceTurn, Step
from apex_tui.workflow.work_model import ToolSpec


def test_a_right_call_gives_nothing_to_say() -> None:
    work = Scene().work()
    assert work.model_dump(exclude={"drift"}) == {
        "stale_calls": (), "results_dropped": (), "misread_approvals": (), "disclosures": (), "false_success": (),
        "required_lookups_missing": (), "handover": None, "handover_reason": "", "handover_evidence": (),
        "confirmations": {"confirmed": 3, "n": 3, "unconfirmed": ()},
    }  # fmt: skip
    assert work_lines(work) == []


# --- stale calls -------------------------------------------------------------------------------------------------------------------------


def test_an_update_with_the_old_value_after_the_correction() -> None:
    (row,) = Scene(amounts=(555.23, 500)).work().stale_calls
    assert (row.call, row.tool, row.argument, row.field) == ("t9", "update", "fields.amount", "order.amount")
    assert (row.value, row.superseded_by) == (500, 555.23)
    assert row.reason == "update at 19.2 s carried 500 for amount: the caller had changed it to 555.23 at 17.5 s"
    log = Scene(amounts=(555.23, 500)).log()
    assert [log.events[seq].type for seq in row.evidence] == [
        "caller.turn_started",
        "caller.turn_started",
        "tool.called",
    ]


@pytest.mark.parametrize(
    ("extra", "argument"),
    [
        ({"query": "500"}, "query"),  # the whole argument is the value
        ({"query": "$500.00"}, "query"),
        ({"amount": "$500"}, "amount"),
        ({"of": {"sums": [7, 500]}}, "of.sums.1"),
        ({"query": "rules for more than 500 dollars"}, None),  # words may speak of it
        ({"query": "rules", "amount": 555.23, "day": 500}, None),
        ({"limit": 50}, None),
        ({"flag": True, "none": None}, None),
    ],
)
def test_other_arguments_that_carry_an_old_value(extra: dict[str, Any], argument: str | None) -> None:
    assert [row.argument for row in Scene(extra=extra).work().stale_calls] == ([argument] if argument else [])


def test_what_is_old_depends_on_when_the_call_was_made() -> None:
    log = begun()
    log.says(1000, 1, {"amount": 500, "day": "2026-12-03"}, None)
    log.says(3000, 2, {"amount": 700}, None)
    log.writes(3500, amount=500)  # the new amount is still being said
    log.writes(4500, amount=500)
    log.says(5000, 3, {"amount": 500}, None)
    log.writes(6500, amount=500)  # back to the first one
    log.writes(6800, amount=700)
    log.says(7000, 4, {"day": "2026-12-30"}, None)
    log.does(8500, "search", {"query": "2026-12-03"})
    log.tool(8800, "t9", "pay", {"amount": 700}, error="no such argument")
    rows = measured(log).stale_calls
    assert [(row.call, row.value, row.superseded_by) for row in rows] == [
        ("t2", 500, 700), ("t4", 700, 500), ("t5", "2026-12-03", "2026-12-30"), ("t9", 700, 500),
    ]  # fmt: skip


def test_a_value_that_another_field_holds_now_is_not_old() -> None:
    log = begun()
    log.says(1000, 1, {"customer": "407193", "amount": 500}, None)
    log.says(3000, 2, {"customer": "500", "amount": 700}, None)
    log.does(5000, "look_up", {"id": "500"})
    assert measured(log).stale_calls == ()


# --- dropped results ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payee", [None, "Somebody Else"])
def test_a_looked_up_value_that_never_reached_its_field(payee: str | None) -> None:
    (row,) = Scene(payee=payee).work().results_dropped
    assert (row.field, row.tool, row.call, row.wanted, row.found) == (
        "order.payee", "look_up", "t3", "Harbor Street", payee,
    )  # fmt: skip
    words = "was never written" if payee is None else "holds Somebody Else"
    assert (
        row.reason
        == f"payee {words} and should be Harbor Street: look_up answered at 6.6 s, and its result holds the value"
    )


def test_a_derived_value_that_was_never_written_after_the_lookups() -> None:
    (row,) = Scene(arrivals=("", "")).work().results_dropped
    assert (row.field, row.tool, row.found) == ("order.arrival", "search", None)
    assert row.reason.endswith("search answered at 14.1 s, and the value follows from its result")


@pytest.mark.parametrize(
    "scene",
    [
        Scene(arrivals=("2026-12-04", "")),  # written after the results, and wrong later: not the result's fault
        Scene(arrivals=("", ""), amounts=()),  # what it depends on is wrong
        Scene(arrivals=("", ""), look_up=False, payee="Harbor Street"),
        Scene(arrivals=("", ""), search=False),
        Scene(payee=None, look_up=False),
    ],
)
def test_what_is_no_dropped_result(scene: Scene) -> None:
    assert [row for row in scene.work().results_dropped if row.field == "order.arrival"] == []
    assert not [row for row in scene.work().results_dropped if not scene.look_up]


def test_a_field_that_the_reference_never_writes_needs_nothing() -> None:
    steps = (Step(call="look_up"), Step(call="update", args={"fields": "odd"}))
    changes: dict[str, Any] = {"reference": Reference(turns=(ReferenceTurn(steps=steps),))}
    assert Scene(arrivals=("", "")).work(**changes).results_dropped == ()


def test_no_artifact_at_all() -> None:
    log = begun()
    log.does(1000, "look_up", {}, {"entity": "Harbor Street"})
    log.does(2000, "search", {}, {"hits": []})
    rows = measured(log).results_dropped
    assert [(row.field, row.tool) for row in rows] == [("order.payee", "look_up")]


def test_required_lookups() -> None:
    work = Scene(look_up=False, search=False, verify=False, payee=None).work()
    assert [(row.tool, row.reason) for row in work.required_lookups_missing] == [
        ("look_up", "look_up was never called"),
        ("search", "0 of 1 needed documents were found; missing: rules"),
    ]
    called = Predicate(id="p", kind="tool_called", args={"tool": "pay"})
    other = Predicate(id="q", kind="agent_act_observed", args={"act_key": "GREET"})
    changes: dict[str, Any] = {"gold": gold(required_actions=(called, other), required_evidence=())}
    assert Scene(look_up=False, payee=None).work(**changes).required_lookups_missing == ()


# --- disclosure --------------------------------------------------------------------------------------------------------------------------


def test_a_protected_value_spoken_before_identity_was_verified() -> None:
    scene = Scene(before_identity="The payment to Harbor Street, yes. What is your date of birth?")
    (row,) = scene.work().disclosures
    assert (row.field, row.how) == ("order.payee", "spoken")
    assert row.reason == "the agent said Harbor Street (payee) before identity was verified"
    assert measured(written_late(scene.log(), "r1")).disclosures == (row,)


def test_a_protected_value_read_before_identity_was_verified() -> None:
    scene = Scene(verify=False, recap="Your payment to Harbor Street.")
    rows = scene.work().disclosures
    assert {(row.field, row.how) for row in rows} == {("order.payee", "read"), ("order.payee", "spoken")}
    read = next(row for row in rows if row.how == "read")
    assert read.reason == "look_up returned payee at 6.6 s, before identity was verified"
    unguarded = tuple(tool for tool in order().tools if tool.name != "verify")
    assert scene.work(tools=unguarded).disclosures == ()


def test_what_the_caller_named_or_what_comes_after_is_no_disclosure() -> None:
    assert Scene(recap="Your payment to Harbor Street.").work().disclosures == ()
    log = begun()
    log.says(1000, 1, {}, None, text="I pay Harbor Street every month.")
    log.speaks(3000, "r1", "To Harbor Street, I see.")
    assert measured(log).disclosures == ()


@pytest.mark.parametrize(("said", "heard", "found"), [(3100, True, 1), (4200, True, 0), (3100, False, 0)])
def test_words_count_from_when_the_agent_had_them_and_only_if_they_were_heard(
    said: int, heard: bool, found: int
) -> None:
    log = begun()
    log.reply(3000, "r1")
    text = "You pay Harbor Street, right?"
    if said < 4000:
        log.add(said, a.AgentSaid(reply="r1", item="i1", text=text))
    log.does(3900, "verify", {}, {"verified": True})
    if said > 4000:
        log.add(said, a.AgentSaid(reply="r1", item="i1", text=text))
    log.closed(6000, "r1", "flushed", text if heard else "You")
    assert len(measured(log).disclosures) == found


def test_an_identity_check_that_failed_verifies_nothing() -> None:
    log = begun()
    log.tool(1000, "t1", "verify")
    log.tool_done(1100, "t1", "verify", ok=False, error="no match")
    log.speaks(2000, "r1", "It goes to Harbor Street.")
    assert len(measured(log).disclosures) == 1


# --- false success -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("closing", "reports"),
    [
        ("Done, your payment is scheduled.", True),
        ("You are all set. Goodbye.", True),
        ("It went through.", True),
        ("It's done, the payment is in and they will call you.", True),
        ("It's done, but it didn't go through.", False),
        ("It will be done, and then it is scheduled.", False),
        ("I'm sorry, it was not scheduled.", False),
        ("I couldn't get that done.", False),
        ("Is it done?", False),
        ("It will be scheduled as soon as you approve.", False),
        ("Before it is submitted I need your yes.", False),
        ("Goodbye.", False),
    ],
)
@pytest.mark.parametrize("how", [{"decision": "PREMATURE"}, {"commit_error": "out of order"}])
def test_success_reported_after_the_commit_failed(closing: str, reports: bool, how: dict[str, Any]) -> None:
    scene = Scene(closing=closing, **how)
    rows = scene.work().false_success
    assert len(rows) == len(measured(written_late(scene.log(), "r5")).false_success) == int(reports)
    if rows:
        cause = how.get("decision") or how["commit_error"]
        assert rows[0].reason == (f"the agent said {rows[0].words} although pay had failed at 27.2 s: {cause}")


def test_a_later_commit_makes_it_true() -> None:
    log = Scene(decision="PREMATURE").log()
    log.events.pop()
    log.commits(31000)
    assert measured(log).false_success == ()


def test_success_that_was_real_is_not_undone_by_a_second_try() -> None:
    log = Scene(closing="One moment.").log()
    log.events.pop()
    log.commits(31000, "ALREADY_USED")
    log.speaks(32000, "r9", "It is done.")
    assert measured(log).false_success == ()


def test_the_success_of_another_action_makes_it_no_truer() -> None:
    close = ToolSpec(name="close", handler="commit", tool_class="irreversible_commit", commit_action_type="close")
    log = begun()
    log.commits(4000, tool="close")
    log.commits(6000, error="out of order")
    log.speaks(8000, "r9", "The repair is ordered.")
    (row,) = measured(log, tools=(*order().tools, close)).false_success
    assert row.reason == "the agent said The repair is ordered. although pay had failed at 6.2 s: out of order"


def test_words_from_before_the_failure_and_a_call_without_a_commit() -> None:
    log = begun()
    log.speaks(1000, "r1", "Your form is done.")
    assert measured(log).false_success == ()
    log.commits(4000, "PREMATURE")
    assert measured(log).false_success == ()


# --- handing over ------------------------------------------------------------------------------------------------------------------------

CALLED = Predicate(id="h", kind="tool_called", args={"tool": "hand_over_to_human"})
STATED = Predicate(id="h", kind="state_in", args={"path": "handover.reason", "values": ["fraud"]})
OTHER = Predicate(id="o", kind="state_equals", args={"path": "ledger.x", "value": 1})
UNSET = Predicate(id="h", kind="state_equals", args={"path": "handover.reason", "value": None})


@pytest.mark.parametrize(
    ("asked_for", "happened", "verdict"),
    [
        ({}, False, None),
        ({}, True, "wrong"),
        ({"required_actions": (CALLED,)}, True, "right"),
        ({"required_actions": (CALLED,)}, False, "missing"),
        ({"terminal_state": (OTHER, STATED)}, True, "right"),
        ({"terminal_state": (STATED,)}, False, "missing"),
        ({"terminal_state": (UNSET,)}, True, "wrong"),
        ({"alternate_terminal_states": ((STATED,),)}, False, None),
        ({"alternate_terminal_states": ((STATED,),)}, True, "right"),
    ],
)
def test_handing_over(asked_for: dict[str, Any], happened: bool, verdict: str | None) -> None:
    log = begun()
    if happened:
        log.does(1000, "hand_over_to_human", {"reason": "fraud"})
        log.add(1100, w.WorldChanged(path="handover.reason", new="fraud", cause="tool"))
    work = measured(log, gold=gold(**asked_for))
    assert work.handover == verdict
    assert work.handover_evidence == ((1,) if happened else ())
    assert ("fraud" in work.handover_reason) is happened
    heads = [line for line in work_lines(work) if "handover" in line]
    assert len(heads) == int(verdict is not None)


def test_a_tool_of_another_name_hands_over_too() -> None:
    tools = (*order().tools, ToolSpec(name="escalate", handler="hand_over"))
    log = begun()
    log.does(1000, "escalate", {})
    work = measured(log, tools=tools)
    assert (work.handover, work.handover_evidence) == ("wrong", (1,))


def test_the_worlds_path_alone_tells_it() -> None:
    log = begun()
    log.add(1100, w.WorldChanged(path="handover.reason", new="fraud", cause="tool"))
    assert measured(log).handover_evidence == (1,)


# --- in the verdict ----------------------------------------------------------------------------------------------------------------------


def test_the_work_is_part_of_the_score_and_of_the_scorecard() -> None:
    scene = Scene(
        amounts=(555.23, 500), payee=None, decision="PREMATURE", before_identity="Harbor Street? And your birthday?"
    )
    score = score_log(scene.log().events, order())
    assert score.work == scene.work()
    amount = next(field for field in score.fields if field.field == "amount")
    assert (amount.passed, amount.overwritten) == (False, True)
    assert not any(field.overwritten for field in score.fields if field.field != "amount")
    kinds = [line.split("  ")[1].strip() for line in work_lines(score.work)[1:]]
    assert kinds == ["drift", "stale call", "result dropped", "misread approval", "disclosed", "false success"]
    assert Score.model_validate_json(score.model_dump_json()) == score


def test_an_older_verdict_without_the_work_still_parses() -> None:
    held = score_log(Scene().log().events, order()).model_dump(mode="json")
    del held["work"]
    for field in held["fields"]:
        del field["overwritten"]
    assert Score.model_validate(held).work == WorkMeasures()


@pytest.mark.parametrize("cut", range(1, 70, 3))
def test_a_log_cut_anywhere_has_its_work_measured(cut: int) -> None:
    scene = replace(Scene(), closing="Done.")
    events = scene.log().events[:cut]
    found = work_measures(build(events, order(), "strict"), events)
    assert evidence(found.model_dump()) <= {event.seq for event in events}


def evidence(part: object, named: bool = False) -> set[int]:
    """All event numbers that are named as evidence, however deep."""
    if isinstance(part, dict):
        return set().union(*(evidence(held, named or key == "evidence") for key, held in part.items()))
    if isinstance(part, list | tuple):
        return set().union(*(evidence(held, named) for held in part))
    return {part} if named and isinstance(part, int) else set()


def test_the_card_of_a_session_that_is_not_scored_passes_and_fails_no_gate(capsys: pytest.CaptureFixture[str]) -> None:
    log = Scene().log()
    whole = score_log(log.events, order())
    print_score(whole, Path("here"))
    assert "  ✓ PV process validity" in capsys.readouterr().out
    print_score(score_log(log.events[:-1], order()), Path("here"))
    shown = capsys.readouterr().out
    assert "the gates as they stood at the end; they judge nobody\n  · TS target state" in shown
    assert not any(line.startswith(("  ✓", "  ✗")) for line in shown.splitlines())


def test_the_card_says_why_a_session_ended_before_the_work_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    log = begun()
    log.end(9000, "agent_stalled")
    score = score_log(log.events, order())
    print_score(score, Path("here"))
    assert capsys.readouterr().out.splitlines()[1] == "FAILED  agent_stalled (scored), 00:09.000: over"
    assert "the agent stalled after 00:09.000: over · strict environment" in score_lines(score, 120)[2].plain
    print_score(score_log(Scene().log().events, order()), Path("here"))
    assert capsys.readouterr().out.splitlines()[1] == "SUCCESS  completed (scored), 00:32.000"
