"""Requests for approval: what they bind, the queue, and what a target may be."""

from typing import Any

import pytest
from workbench_cases import Desk, only, said, workflow

from apex_tui.timeline.work_facts import ApprovalDenied, ApprovalGranted, ApprovalRequested, ArtifactVersion
from apex_tui.workflow.work_model import Autonomy


def test_a_request_names_what_was_read_back() -> None:
    desk = Desk()
    desk.write(start_date="x")
    done = desk.ask()
    asked = only(done.facts, ApprovalRequested)
    assert (asked.request, asked.action, asked.target, asked.artifact, asked.version) == (
        "req-1",
        "submit",
        "leave",
        "leave",
        1,
    )
    assert done.approval_request == ("submit", "leave")
    assert said(done.output)["version"] == 1
    granted = only(desk.bench.approve(500, "submit", 4), ApprovalGranted)
    assert (granted.request, granted.digest, granted.granted_ms, granted.turn) == ("req-1", asked.digest, 500, 4)
    assert desk.bench.open_requests == ()
    assert desk.bench.approve(600, "submit") == []


def test_a_no_closes_the_request() -> None:
    desk = Desk()
    desk.ask()
    no = only(desk.bench.deny(500, "submit"), ApprovalDenied)
    assert (no.request, no.target, no.at_ms) == ("req-1", "leave", 500)
    assert desk.bench.open_requests == ()
    assert desk.bench.deny(600, "submit") == []


def test_the_queue_answers_the_oldest_request_of_the_action() -> None:
    desk = Desk()
    desk.ask()
    desk.do("ask_any", action_type="pay", target_id="pay-88")
    assert [r.id for r in desk.bench.open_requests] == ["req-1", "req-2"]
    assert only(desk.bench.approve(500, "pay"), ApprovalGranted).request == "req-2"
    assert [r.id for r in desk.bench.open_requests] == ["req-1"]


def test_asking_again_replaces_the_question() -> None:
    desk = Desk()
    desk.write(start_date="x")
    desk.ask()
    desk.write(start_date="y")
    desk.ask()
    assert [r.id for r in desk.bench.open_requests] == ["req-2"]
    assert only(desk.bench.approve(500, "submit"), ApprovalGranted).version == 2
    assert desk.submit(600) == "AUTHORIZED"


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ({"target_id": "payment"}, "'payment' is not what submit commits", "name 'leave' as the target"),
        ({"target_id": "leave", "version": 4}, "leave has no version 4; the current one is 1", "leave 'version' out"),
        ({"target_id": "leave", "version": "1"}, "argument 'version' must be an integer", "parameters of"),
    ],
)
def test_requests_that_cannot_be_put(arguments: dict[str, Any], error: str, hint: str) -> None:
    desk = Desk()
    desk.write(start_date="x")
    answer = said(desk.do("request_approval", **arguments).output)
    assert error in answer["error"]
    assert hint in answer["hint"]
    assert desk.bench.open_requests == ()


def test_a_request_needs_an_action_and_may_be_about_no_artifact() -> None:
    desk = Desk()
    assert "names no action" in said(desk.do("ask_any", target_id="leave").output)["error"]
    asked = only(desk.do("ask_any", action_type="note", target_id="anna").facts, ApprovalRequested)
    assert (asked.artifact, asked.version, asked.digest) == (None, None, None)
    assert desk.do("request_approval").approval_request == ("submit", "leave"), "the declared target when none is sent"


def test_a_declared_target_stands_for_its_artifact() -> None:
    desk = Desk()
    desk.do("ask_any", action_type="pay", target_id="pay-88")
    desk.bench.approve(500, "pay")
    done = desk.do("pay", now=600)
    assert done.commit == ("pay", "pay-88", "AUTHORIZED")
    assert only(done.facts, ArtifactVersion).artifact == "payment"


def test_an_approval_of_no_artifact_is_used_once() -> None:
    flow = workflow(autonomy=Autonomy(approval_required_for=("note",)))
    desk = Desk(flow=flow)
    desk.do("ask_any", action_type="note", target_id="anna")
    desk.bench.approve(100, "note")
    desk.write(now=150, start_date="x")
    first, second = (desk.do("send_note", now=now, target_id="anna").commit for now in (200, 300))
    assert (first, second) == (("note", "anna", "AUTHORIZED"), ("note", "anna", "ALREADY_USED"))


def test_a_tool_that_declares_a_target_but_no_artifact() -> None:
    tools = tuple(
        t.model_copy(update={"effect": {"target_id": "crew"}}) if t.name == "send_note" else t for t in workflow().tools
    )
    desk = Desk(flow=workflow(tools=tools))
    decisions = [desk.do("send_note", target_id=target).commit for target in ("crew", "anna")]
    assert decisions == [("note", "crew", "AUTHORIZED"), ("note", "anna", "WRONG_SCOPE")]


def test_an_artifact_that_does_not_exist_is_out_of_scope() -> None:
    tools = tuple(
        t.model_copy(update={"effect": {"artifact_id": "ghost"}}) if t.name == "pay" else t for t in workflow().tools
    )
    desk = Desk(flow=workflow(tools=tools))
    assert desk.do("pay").commit == ("pay", "ghost", "WRONG_SCOPE")


@pytest.mark.parametrize("profile", ["strict", "official"])
def test_the_last_request_stays_known_after_its_answer(profile: Any) -> None:
    desk = Desk(profile)
    before = desk.bench.last_request
    desk.ask()
    desk.bench.approve(500, "submit")
    after = desk.bench.last_request
    assert desk.bench.open_requests == ()
    assert before is None
    assert after is not None
    assert (after.action, after.target) == ("submit", "leave")
