"""Calls, arguments, latency, identity, knowledge, world, and what agents are given."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workbench_cases import Desk, names, only, said, workflow

from apex_tui.timeline.work_facts import (
    ApprovalRequested,
    ArtifactVersion,
    KnowledgeSearched,
    ToolCalled,
    ToolCancelled,
    ToolFinished,
    WorldChanged,
)
from apex_tui.workbench import tool_schemas
from apex_tui.workbench.knowledge import Knowledge
from apex_tui.workbench.values import MAX_BYTES, UnfitValueError, clean
from apex_tui.workbench.world import World
from apex_tui.workflow.work_model import Document, Latency, ToolSpec

FORM = "update_form"


@pytest.mark.parametrize(
    ("name", "arguments", "error", "hint"),
    [
        ("update_from", {}, "there is no tool 'update_from'", "did you mean 'update_form'?"),
        ("zzz", {}, "there is no tool 'zzz'", "known: ask_any, balance, broken"),
        (FORM, {}, "update_form needs the argument 'fields'", '"employee_id"'),
        (
            FORM,
            {"feilds": {}},
            "update_form has no argument 'feilds'; did you mean 'fields'?",
            "parameters of update_form",
        ),
        (FORM, {"fields": "x"}, "argument 'fields' must be an object, not \"x\"", "parameters of update_form"),
        ("lookup", {"path": 7}, "argument 'path' must be a string, not 7", "parameters of lookup"),
        ("search", {"query": "a", "top_k": 1.5}, "argument 'top_k' must be an integer, not 1.5", "parameters of"),
        (
            "balance",
            {"who": "E1042"},
            "balance needs the caller's identity, which is not verified",
            "verify the caller's",
        ),
        ("unbound", {}, "unbound cannot be run: no handler is bound to it", "go on without it"),
    ],
)
def test_refused_at_the_door(name: str, arguments: dict[str, Any], error: str, hint: str) -> None:
    desk = Desk()
    _, begun = desk.begin(name, **arguments)
    assert begun.latency_ms is None
    answer = said(begun.output)
    assert answer["ok"] is False
    assert answer["error"].startswith(error)
    assert hint in answer["hint"]
    assert names(begun.facts) == ["ToolCalled", "ToolFinished"]
    assert only(begun.facts, ToolCalled).error == answer["error"]
    finished = only(begun.facts, ToolFinished)
    assert (finished.ok, finished.hint, finished.latency_ms) == (False, answer["hint"], 0.0)
    assert desk.bench.running == ()


@pytest.mark.parametrize(
    ("fields", "error", "hint"),
    [
        ({}, "'fields' is empty", "name at least one field"),
        ({"start_dat": "x"}, "leave has no field 'start_dat'", "did you mean 'start_date'?"),
        ({"qqq": "x"}, "leave has no field 'qqq'", "known: amount, employee_id"),
        ({"status": "submitted"}, "the field 'status' is set by submit_form when it commits", "leave 'status' out"),
        ({"employee_id": 1042}, "the field 'employee_id' must be a string, not 1042", "a string: Staff number"),
        ({"leave_type": "sick"}, "the field 'leave_type' must be one of annual, unpaid", "one of annual, unpaid"),
        ({"working_days": "3"}, "the field 'working_days' must be an integer, not \"3\"", "an integer"),
        ({"working_days": True}, "the field 'working_days' must be an integer, not true", "an integer"),
        ({"amount": False}, "the field 'amount' must be a number, not false", "a number"),
        ({"urgent": 1}, "the field 'urgent' must be a boolean, not 1", "a boolean"),
        ({"tags": {"a": "x" * 100}}, 'the field \'tags\' must be an array, not {"a":"xxx', "an array"),
    ],
)
def test_strict_refuses_a_wrong_write_as_a_whole(fields: dict[str, Any], error: str, hint: str) -> None:
    desk = Desk()
    done = desk.do(FORM, fields={**fields, **({"end_date": "x"} if fields else {})})
    answer = said(done.output)
    assert answer["error"].startswith(error)
    assert hint in answer["hint"]
    assert names(done.facts) == ["ToolFinished"]
    finished = only(done.facts, ToolFinished)
    assert (finished.ok, finished.error, finished.hint) == (False, answer["error"], answer["hint"])
    assert desk.bench.artifact_fields("leave") == {}


def test_right_types_are_taken() -> None:
    fields = {"working_days": 3.0, "amount": 2, "urgent": True, "extra": {}, "tags": ["a"], "leave_type": "annual"}
    done = Desk().do(FORM, fields=fields)
    assert done.ok
    assert done.mutations == tuple(f"leave.{name}" for name in fields)
    assert done.result == {"updated": list(fields), "artifact_id": "leave", "version": 1}


def test_which_artifact_a_write_is_about() -> None:
    desk = Desk()
    assert (
        "works on 'leave', not on 'payment'"
        in said(desk.do(FORM, fields={"a": 1}, artifact_id="payment").output)["error"]
    )
    assert desk.do(FORM, fields={"start_date": "x"}, artifact_id="leave").ok
    ghost = said(desk.do("write_any", artifact_id="leaf", fields={"a": 1}).output)
    assert (ghost["error"], ghost["hint"]) == ("there is no artifact 'leaf'", "did you mean 'leave'?")
    free = desk.do("write_any", artifact_id="payment", fields={"anything": [1]})
    assert free.mutations == ("payment.anything",), "an artifact without a schema takes any field"


def test_the_only_artifact_needs_no_name() -> None:
    tools = (ToolSpec(name="write", handler="update_artifact", params=workflow().tools[0].params),)
    flow = workflow(artifacts={"leave": workflow().artifacts["leave"]}, tools=tools)
    assert Desk(flow=flow).do("write", fields={"start_date": "x"}).mutations == ("leave.start_date",)
    assert "start_date" in tool_schemas(flow)[0]["parameters"]["properties"]["fields"]["properties"]
    assert "there is no artifact 'None'" in said(Desk("official", flow).do("write", fields={"a": 1}).output)["error"]


def test_official_takes_any_field_and_any_argument() -> None:
    desk = Desk("official")
    done = desk.do(FORM, fields={"nonsense": 1, "leave_type": "sick"}, artifact_id="payment", more=1)
    assert done.mutations == ("payment.nonsense", "payment.leave_type")
    assert said(done.output) == {"updated": ["nonsense", "leave_type"], "artifact_id": "payment"}
    assert "must be an object" in said(desk.do(FORM, fields="x").output)["error"]
    assert "there is no artifact" in said(desk.do(FORM, fields={}, artifact_id="x").output)["error"]
    assert only(desk.do(FORM, fields={"urgent": None}).facts, ArtifactVersion).fields == {"urgent": None}


@pytest.mark.parametrize("profile", ["strict", "official"])
def test_unreadable_arguments_are_never_run_as_empty(profile: Any) -> None:
    desk = Desk(profile)
    for arguments, error in ((None, "Expecting value at 3"), (None, None), ({}, "cut off")):
        begun = desk.bench.call(5, f"c{error}", "mark_ready", arguments, error)
        answer = said(begun.output)
        assert begun.latency_ms is None
        assert answer["error"] == f"the arguments of mark_ready could not be read: {error or 'they are missing'}"
        assert answer["hint"].startswith('parameters of mark_ready: {"additionalProperties":false')
        assert only(begun.facts, ToolCalled).arguments == {}
    assert desk.bench.running == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "nan is not a JSON number"),
        (math.inf, "inf is not a JSON number"),
        ("x" * MAX_BYTES, "at most 65536 are taken"),
        (10**400, "a number of more than 300 digits"),
        (object(), "a object is not JSON"),
        ([[]], None),
    ],
)
def test_arguments_are_bounded(value: Any, reason: str | None) -> None:
    desk = Desk()
    _, begun = desk.begin(FORM, fields={"tags": value})
    assert (begun.latency_ms is None) == (reason is not None)
    assert (reason or "") in (only(begun.facts, ToolCalled).error or "")


def test_deep_nesting_and_lone_surrogates() -> None:
    deep: list[Any] = []
    for _ in range(40):
        deep = [deep]
    with pytest.raises(UnfitValueError, match="more than 32 levels"):
        clean(deep)
    assert clean({1: ("a\ud800", None)}) == {"1": ["a\ufffd", None]}


def test_a_call_id_is_used_once() -> None:
    desk = Desk()
    first = desk.bench.call(1, "x", "mark_ready", {})
    again = desk.bench.call(2, "x", "mark_ready", {})
    assert first.latency_ms == 0.0
    assert "the call id 'x' was used already" in said(again.output)["error"]
    assert only(again.facts, ToolCalled).call == "x#2"
    assert only(desk.bench.call(3, "x", "mark_ready", {}).facts, ToolCalled).call == "x#3"
    assert desk.bench.running == (("x", "mark_ready"),)


def test_a_cancelled_call_has_no_effect() -> None:
    desk = Desk()
    call_id, _ = desk.begin(FORM, fields={"start_date": "x"})
    stopped = only(desk.bench.cancel(20, call_id, "the caller hung up"), ToolCancelled)
    assert (stopped.call, stopped.name, stopped.reason) == (call_id, FORM, "the caller hung up")
    assert desk.bench.cancel(21, call_id, "again") == []
    done = desk.bench.complete(30, call_id)
    assert (done.facts, done.ok) == ((), False)
    assert said(done.output)["error"] == f"no call '{call_id}' is running"
    assert desk.bench.artifact_fields("leave") == {}


# --- latency -------------------------------------------------------------------------------------------------------------------------


def test_declared_latency_is_the_official_vector() -> None:
    tool = ToolSpec(name="submit_expense", handler="get_entity", latency=Latency(base_ms=100, jitter_ms=50))
    desk = Desk(flow=workflow(tools=(tool,)))
    assert [desk.begin("submit_expense")[1].latency_ms for _ in range(3)] == [107, 96, 80]


def test_unknown_tools_do_not_advance_the_call_index_and_refused_ones_do() -> None:
    tool = ToolSpec(name="submit_expense", handler="get_entity", latency=Latency(base_ms=100, jitter_ms=50))
    desk = Desk(flow=workflow(tools=(tool,)))
    desk.begin("nobody")
    desk.begin("submit_expense", unknown=1)
    assert desk.begin("submit_expense")[1].latency_ms == 96


@pytest.mark.parametrize(
    ("latency", "expected"),
    [
        (Latency(), 0.0),
        (Latency(base_ms=333, stress_multiplier=1.5), 499.0),
        (Latency(base_ms=-5), 0.0),
    ],
)
def test_latency_is_truncated_and_never_negative(latency: Latency, expected: float) -> None:
    flow = workflow(tools=(ToolSpec(name="t", handler="get_entity", latency=latency),))
    assert Desk(flow=flow).begin("t")[1].latency_ms == expected


def test_the_override_wins() -> None:
    desk = Desk(latency_ms={"mark_ready": 42, "lookup": -1})
    assert desk.begin("mark_ready")[1].latency_ms == 42.0
    assert desk.begin("lookup", path="a")[1].latency_ms == 0.0


# --- identity, knowledge, world --------------------------------------------------------------------------------------------------------


def test_identity_opens_protected_tools() -> None:
    desk = Desk()
    wrong = said(desk.do("verify", number="1", born="1980-03-12").output)
    assert wrong["error"] == "identity not verified: the details do not match our records"
    assert wrong["hint"] == "ask the caller to repeat number and born; tries left: 2"
    assert said(desk.do("balance", who="E1042").output)["ok"] is False
    assert desk.do("verify", number="48213a", born=" 1980-03-12").result == {"verified": True}
    assert desk.bench.identity_verified
    assert desk.do("balance", who="E1042").result == {"entity": {"days": 12}}
    assert desk.do("balance", who="E1042.days").result == {"entity": None}
    assert desk.do("verify", number="?", born="?").ok, "once verified, it stays so"


def test_three_failures_lock_identity() -> None:
    desk = Desk()
    answers = [said(desk.do("verify", number="1", born="x").output) for _ in range(3)]
    answers.append(said(desk.do("verify", number="48 213 A", born="1980-03-12").output))
    assert "tries left: 1" in answers[1]["hint"]
    for answer in answers[2:]:
        assert answer["error"].startswith("identity not verified after 3 tries")
        assert "hand the call over" in answer["hint"]
    assert not desk.bench.identity_verified


@pytest.mark.parametrize("world", [{}, {"customer": {"number": "", "born": ""}}])
def test_what_the_world_does_not_hold_never_matches(world: dict[str, Any]) -> None:
    desk = Desk(flow=workflow(world=world))
    assert not desk.do("verify", number="", born="").ok
    assert not Desk("official").do("verify", number="48 213 A").ok, "a missing argument never matches"
    assert "declares nothing to compare" in said(desk.do("no_match").output)["error"]


def test_search_is_logged_with_what_it_returned() -> None:
    desk = Desk()
    done = desk.do("search", query="Holiday CALENDAR, soup-free 2026?")
    assert done.result is not None
    assert [hit["doc_id"] for hit in done.result["hits"]] == ["b", "a", "c"]
    assert done.result["hits"][0]["title"] == "Calendar 2026"
    assert done.result["hits"][0]["text"] == "holiday December 25"
    found = only(done.facts, KnowledgeSearched)
    assert (found.query, found.hits) == ("Holiday CALENDAR, soup-free 2026?", ("b", "a", "c"))
    assert names(done.facts) == ["KnowledgeSearched", "ToolFinished"]
    one = desk.do("search", query="holiday", top_k=1)
    assert only(one.facts, KnowledgeSearched).hits == ("a",), "equal scores: by id"
    assert desk.do("search", query="nothing").result == {"hits": []}
    assert desk.do("search", query="holiday", top_k=-1).result == {"hits": []}
    as_published = Desk("official").do("search", query="Holiday CALENDAR, soup-free 2026?").result
    assert as_published is not None
    assert [(hit["doc_id"], hit["score"]) for hit in as_published["hits"]] == [("b", 3), ("a", 2), ("c", 1)]
    failed = Desk("official").do("search", query="x", top_k="many")
    assert said(failed.output)["error"] == "'top_k' must be a whole number"


def test_search_results_fit_into_one_answer() -> None:
    long = [Document(doc_id=f"d{n}", title="x", text="word " * 8000) for n in range(3)]
    assert [hit["doc_id"] for hit in Knowledge(long).search("word")] == ["d0"]
    cut = Knowledge([Document(doc_id="d", title="t" * 1000, text="wörd " + "é" * 200_000)]).search("rd")
    assert cut[0]["text"].endswith("longer than one result may be)")
    desk = Desk(
        flow=workflow(documents=(Document(doc_id="d", title="t" * 1000, text="word " + "\U0001f642" * 200_000),))
    )
    assert desk.do("search", query="word").ok


def test_the_world_is_read_and_written_by_dotted_path() -> None:
    state = {"a": {"b": [1]}, "flat": 3}
    world = World(state)
    assert world.get("a.b") == [1]
    assert world.get("a.c") is None
    assert world.get("flat.deeper") is None
    assert world.get("") is None
    assert world.set("flat.x.y", 5, "event:e") == WorldChanged(path="flat.x.y", old=None, new=5, cause="event:e")
    assert [c.old for c in world.update({"a.b": 2, "flat.x": 0}, "c")] == [[1], {"y": 5}]
    world.get("a")["b"] = "changed outside"
    assert world.get("a.b") == 2
    assert state == {"a": {"b": [1]}, "flat": 3}


def test_lookups_follow_authored_then_sent_paths() -> None:
    desk = Desk()
    assert desk.do("lookup", path="customer.number").result == {"entity": "48 213 A"}
    assert desk.do("lookup", path="nowhere").result == {"entity": None}
    assert Desk("official").do("lookup", entity_id="customer.born").result == {"entity": "1980-03-12"}


def test_a_result_that_is_too_large_is_an_error() -> None:
    done = Desk(flow=workflow(world={"big": "x" * MAX_BYTES})).do("lookup", path="big")
    assert (done.ok, done.result) == (False, None)
    assert said(done.output)["hint"] == "ask for less"


def test_a_fault_in_a_declared_effect_is_a_failed_tool() -> None:
    done = Desk().do("broken")
    assert done.ok is False
    assert said(done.output)["error"] == "broken failed: ValueError"
    assert only(done.facts, ToolFinished).ok is False


def test_an_irreversible_tool_without_handler_commits_in_strict_use_only() -> None:
    assert Desk().do("send_note", target_id="anna").commit == ("note", "anna", "AUTHORIZED")
    assert "no handler is bound" in said(Desk("official").do("send_note", target_id="anna").output)["error"]


def test_official_request_takes_the_action_from_the_call() -> None:
    asked = only(Desk("official").do("request_approval", action_type="pay", target_id="p").facts, ApprovalRequested)
    assert (asked.action, asked.target, asked.artifact, asked.version) == ("pay", "p", None, None)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(("strict", "official")),
    st.lists(
        st.tuples(
            st.sampled_from([tool.name for tool in workflow().tools] + ["nobody"]),
            st.dictionaries(
                st.sampled_from(
                    ("fields", "artifact_id", "target_id", "state", "path", "query", "top_k", "version", "who")
                ),
                st.sampled_from(
                    (None, "leave", "payment", 1, -1.5, {"start_date": "x"}, {"amount": None}, [1], "COMMITTED")
                ),
            ),
        ),
        max_size=6,
    ),
)
def test_nothing_that_an_agent_sends_raises(profile: Any, calls: list[tuple[str, dict[str, Any]]]) -> None:
    desk = Desk(profile)
    for name, arguments in calls:
        call_id, begun = desk.begin(name, **arguments)
        assert isinstance(begun.facts[0], ToolCalled)
        assert (begun.latency_ms is None) == (begun.output is not None)
        facts = begun.facts
        if begun.latency_ms is not None:
            done = desk.bench.complete(desk.now, call_id)
            facts += done.facts
            assert isinstance(done.facts[-1], ToolFinished)
            assert isinstance(said(done.output), dict)
        for fact in facts:
            assert type(fact).model_validate_json(fact.model_dump_json()) == fact
        if not desk.now % 3:
            desk.bench.approve(desk.now, "submit")
    assert desk.bench.running == ()
