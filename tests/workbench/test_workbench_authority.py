"""Who may commit what: a table of scenarios, and both checks."""

from collections.abc import Callable
from typing import Any

import pytest
from workbench_cases import MOVED, STOP, Desk, names, only, said, workflow

from apex_tui.timeline.work_facts import (
    ApprovalRevoked,
    ApprovalStale,
    ArtifactVersion,
    CommitDecided,
    ToolCalled,
    ToolFinished,
)
from apex_tui.workbench.authority import Authority, Scope
from apex_tui.workflow.work_model import Autonomy


def premature(desk: Desk) -> str:
    desk.write(start_date="x")
    return desk.submit()


def asked_only(desk: Desk) -> str:
    desk.ask()
    return desk.submit()


def denied(desk: Desk) -> str:
    desk.ask()
    desk.bench.deny(50, "submit", 1)
    return desk.submit(60)


def approved(desk: Desk) -> str:
    desk.approved(start_date="x")
    return desk.submit()


def before_the_words(desk: Desk) -> str:
    desk.ask(10)
    desk.bench.approve(100, "submit")
    return desk.submit(99)


def words_before_the_request(desk: Desk) -> str:
    desk.ask(200)
    desk.bench.approve(100, "submit")
    return desk.submit(300)


def reused(desk: Desk) -> str:
    desk.approved(start_date="x")
    desk.submit()
    return desk.submit()


def revoked(desk: Desk) -> str:
    desk.approved(start_date="x")
    desk.bench.revoke(500, "submit")
    return desk.submit(600)


def revoked_by_event(desk: Desk) -> str:
    desk.approved(start_date="x")
    desk.bench.fire(500, STOP)
    return desk.submit(600)


def revoked_request(desk: Desk) -> str:
    desk.ask()
    desk.bench.revoke(500, "submit")
    desk.bench.approve(550, "submit")
    return desk.submit(600)


def nothing_to_revoke(desk: Desk) -> str:
    assert desk.bench.revoke(500, "submit") == []
    return desk.submit(600)


def approved_again(desk: Desk) -> str:
    desk.approved(start_date="x")
    desk.bench.revoke(500, "submit")
    desk.now = 600
    desk.approved(start_date="y")
    return desk.submit()


def other_target_revoked(desk: Desk) -> str:
    desk.approved(start_date="x")
    assert desk.bench.revoke(500, "submit", "payment") == []
    return desk.submit(600)


def changed_after(desk: Desk) -> str:
    desk.approved(start_date="x")
    desk.write(start_date="y")
    return desk.submit()


def changed_and_back(desk: Desk) -> str:
    desk.approved(start_date="x")
    desk.write(start_date="y")
    desk.write(start_date="x")
    return desk.submit()


def rewritten_alike(desk: Desk) -> str:
    desk.approved(amount=240)
    desk.write(amount=240.0)
    return desk.submit()


def corrected_after(desk: Desk) -> str:
    desk.approved(start_date="2026-12-14")
    desk.bench.fire(500, MOVED)
    return desk.submit(600)


def corrected_between_request_and_yes(desk: Desk) -> str:
    desk.write(start_date="2026-12-14")
    desk.ask()
    desk.bench.fire(500, MOVED)
    facts = desk.bench.approve(600, "submit")
    assert names(facts) == ["ApprovalGranted", "ApprovalStale"]
    return desk.submit(700)


def old_version_read_back(desk: Desk) -> str:
    desk.write(start_date="x")
    desk.write(start_date="y")
    desk.do("request_approval", target_id="leave", version=1)
    desk.bench.approve(500, "submit")
    return desk.submit(600)


def other_target(desk: Desk) -> str:
    desk.approved(start_date="x")
    done = desk.do("submit_form", target_id="payment")
    assert done.commit is not None
    assert said(done.output)["hint"] == "name 'leave' as the target"
    return done.commit[2]


def other_artifact(desk: Desk) -> str:
    desk.approved(start_date="x")
    done = desk.do("submit_form", target_id="leave", artifact_id="payment")
    assert done.commit is not None
    return done.commit[2]


def other_action_approved(desk: Desk) -> str:
    desk.do("ask_any", action_type="pay", target_id="pay-88")
    desk.bench.approve(500, "pay")
    return desk.submit(600)


SCENARIOS: list[tuple[Callable[[Desk], str], str]] = [
    (premature, "PREMATURE"),
    (asked_only, "PREMATURE"),
    (denied, "PREMATURE"),
    (approved, "AUTHORIZED"),
    (before_the_words, "PREMATURE"),
    (words_before_the_request, "PREMATURE"),
    (reused, "ALREADY_USED"),
    (revoked, "POST_REVOCATION"),
    (revoked_by_event, "POST_REVOCATION"),
    (revoked_request, "POST_REVOCATION"),
    (nothing_to_revoke, "PREMATURE"),
    (approved_again, "AUTHORIZED"),
    (other_target_revoked, "AUTHORIZED"),
    (changed_after, "STALE_APPROVAL"),
    (changed_and_back, "STALE_APPROVAL"),
    (rewritten_alike, "AUTHORIZED"),
    (corrected_after, "STALE_APPROVAL"),
    (corrected_between_request_and_yes, "STALE_APPROVAL"),
    (old_version_read_back, "STALE_APPROVAL"),
    (other_target, "WRONG_SCOPE"),
    (other_artifact, "WRONG_SCOPE"),
    (other_action_approved, "WRONG_SCOPE"),
]


@pytest.mark.parametrize(("scenario", "decision"), SCENARIOS, ids=[s.__name__ for s, _ in SCENARIOS])
def test_strict_scenarios(scenario: Callable[[Desk], str], decision: str) -> None:
    desk = Desk()
    committed = decision == "AUTHORIZED"
    before = desk.bench.artifact_fields("leave").get("status")
    assert scenario(desk) == decision
    if scenario is not reused:
        assert desk.bench.artifact_fields("leave").get("status") == ("submitted" if committed else before)


def test_refused_at_the_call_ends_at_once_with_something_to_act_on() -> None:
    desk = Desk()
    _, begun = desk.begin("submit_form", target_id="leave")
    assert begun.latency_ms is None
    assert names(begun.facts) == ["ToolCalled", "CommitDecided", "ToolFinished"]
    decided = only(begun.facts, CommitDecided)
    assert (decided.at, decided.decision, decided.artifact, decided.version) == ("call", "PREMATURE", "leave", 0)
    finished = only(begun.facts, ToolFinished)
    assert (finished.ok, finished.decision, finished.latency_ms) == (False, "PREMATURE", 0.0)
    assert only(begun.facts, ToolCalled).error is None
    assert begun.commit == ("submit", "leave", "PREMATURE")
    answer = said(begun.output)
    assert (answer["ok"], answer["decision"]) == (False, "PREMATURE")
    assert "request approval" in answer["hint"]
    assert desk.bench.running == ()


def test_a_commit_is_one_version_and_uses_the_approval_up() -> None:
    desk = Desk()
    desk.approved(start_date="x", employee_id="E1")
    call_id, begun = desk.begin("submit_form", now=1000, target_id="leave")
    assert names(begun.facts) == ["ToolCalled", "CommitDecided"]
    assert begun.latency_ms is not None
    assert 950 <= begun.latency_ms <= 1050
    assert desk.bench.running == ((call_id, "submit_form"),)
    done = desk.bench.complete(2000, call_id)
    assert names(done.facts) == ["WorldChanged", "ArtifactVersion", "CommitDecided", "ToolFinished"]
    version = only(done.facts, ArtifactVersion)
    assert (version.version, version.lifecycle, version.fields["status"]) == (2, "COMMITTED", "submitted")
    decided = only(done.facts, CommitDecided)
    assert (decided.at, decided.decision, decided.approval, decided.version) == ("completion", "AUTHORIZED", "apr-1", 1)
    assert only(done.facts, ToolFinished).latency_ms == 1000
    assert done.mutations == ("leave.status",)
    assert said(done.output) == {"ok": True, "action_type": "submit", "target_id": "leave", "committed": True}


@pytest.mark.parametrize("how", ["revoke", "event", "write", "correct"])
def test_what_happens_between_call_and_completion_counts(how: str) -> None:
    desk = Desk()
    desk.approved(start_date="2026-12-14")
    call_id, begun = desk.begin("submit_form", now=1000, target_id="leave")
    assert begun.latency_ms is not None
    if how == "revoke":
        gone = only(desk.bench.revoke(1400, "submit", None, 7), ApprovalRevoked)
        assert (gone.approvals, gone.requests, gone.turn, gone.revoked_ms) == (("apr-1",), (), 7, 1400)
        desk.bench.revoke(1500, "submit")
    elif how == "event":
        desk.bench.fire(1400, STOP)
    elif how == "write":
        stale = only(desk.write(now=1400, start_date="later").facts, ApprovalStale)
        assert (stale.approval, stale.covers, stale.now, stale.differs) == ("apr-1", 1, 2, ("start_date",))
    else:
        desk.bench.fire(1400, MOVED)
    done = desk.bench.complete(2000, call_id)
    expected = "POST_REVOCATION" if how in ("revoke", "event") else "STALE_APPROVAL"
    assert only(done.facts, CommitDecided).decision == expected
    assert not done.ok
    assert "status" not in desk.bench.artifact_fields("leave")


def test_two_commits_under_way_share_one_approval() -> None:
    desk = Desk()
    desk.approved(start_date="x")
    first, _ = desk.begin("submit_form", target_id="leave")
    second, _ = desk.begin("submit_form", target_id="leave")
    done = [desk.bench.complete(3000, first), desk.bench.complete(3000, second)]
    assert [only(d.facts, CommitDecided).decision for d in done] == ["AUTHORIZED", "ALREADY_USED"]


def test_a_free_action_under_way_is_stopped_by_a_revocation() -> None:
    flow = workflow(autonomy=Autonomy())
    desk = Desk(flow=flow)
    call_id, _ = desk.begin("submit_form", now=100, target_id="leave")
    assert only(desk.bench.revoke(500, "submit"), ApprovalRevoked).approvals == ()
    assert only(desk.bench.complete(1100, call_id).facts, CommitDecided).decision == "POST_REVOCATION"
    assert desk.submit(1200) == "AUTHORIZED"


@pytest.mark.parametrize(("profile", "decision"), [("strict", "PREMATURE"), ("official", "AUTHORIZED")])
def test_a_commit_of_a_cut_off_reply_is_held(profile: Any, decision: str) -> None:
    desk = Desk(profile)
    desk.approved(start_date="x")
    _, begun = desk.begin("submit_form", interrupted=True, target_id="leave")
    assert only(begun.facts, CommitDecided).decision == decision
    assert only(begun.facts, ToolCalled).after_interruption
    if profile == "strict":
        assert "the caller interrupted" in said(begun.output)["hint"]
        assert desk.submit() == "AUTHORIZED", "the hold uses nothing up"


def test_other_calls_of_a_cut_off_reply_run_and_are_marked() -> None:
    desk = Desk()
    call_id, begun = desk.begin("update_form", interrupted=True, fields={"start_date": "x"})
    assert only(begun.facts, ToolCalled).after_interruption
    assert desk.bench.complete(20, call_id).ok


def test_the_ruling_compares_the_digest_once_more() -> None:
    desk = Desk()
    desk.write(start_date="x")
    artifacts = desk.bench._bench.artifacts
    guard = Authority(("submit",), artifacts.drift, lambda name: 1)
    guard.request(0, "c", "submit", "leave", artifacts.binding("leave"))
    guard.approve(10, "submit", None)
    assert guard.decide(20, Scope("submit", "leave", "leave")).authorized
    artifacts.write("leave", {"start_date": "y"}, began_ms=15, call="c2")
    assert guard.decide(20, Scope("submit", "leave", "leave")).decision == "STALE_APPROVAL"
