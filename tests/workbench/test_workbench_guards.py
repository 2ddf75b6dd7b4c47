"""An independent model that the strict guard must agree with, and the official guard."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from workbench_cases import MOVED, STOP, Desk, only, said, workflow

from apex_tui.timeline.work_facts import ApprovalGranted, ApprovalRevoked, ArtifactVersion
from apex_tui.workflow.work_model import Autonomy

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2)),
        st.tuples(st.just("ask"), st.just(0)),
        st.tuples(st.just("approve"), st.just(0)),
        st.tuples(st.just("deny"), st.just(0)),
        st.tuples(st.just("revoke"), st.just(0)),
        st.tuples(st.just("correct"), st.just(0)),
        st.tuples(st.just("commit"), st.just(0)),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_the_guard_never_authorises_without_a_live_matching_approval(steps: list[tuple[str, int]]) -> None:
    """An independent, much simpler model: is there a yes to exactly this content that nothing has ended since?"""
    desk = Desk(flow=workflow(tools=(*workflow().tools[:6], _plain_submit())))
    content: int | None = None
    mark: float | None = None
    frozen = False
    pending: tuple[int | None, float | None] | None = None
    yes: list[tuple[int | None, float | None]] = []
    for step, value in steps:
        desk.now += 100
        if step == "write":
            desk.write(amount=value)
            if not frozen:
                content, mark = value, None
        elif step == "ask":
            desk.ask()
            pending = content, mark
        elif step == "approve":
            desk.bench.approve(desk.now, "submit")
            yes += [pending] if pending is not None else []
            pending = None
        elif step == "deny":
            desk.bench.deny(desk.now, "submit")
            pending = None
        elif step == "revoke":
            desk.bench.revoke(desk.now, "submit")
            yes, pending = [], None
        elif step == "correct":
            event = MOVED.model_copy(update={"id": f"e{desk.now}", "expected_repairs": ("leave.amount",)})
            desk.bench.fire(desk.now, event)
            mark = desk.now if content is not None else None  # an empty field cannot stop being true
        else:
            decision = desk.submit()
            assert (decision == "AUTHORIZED") == bool(yes), (steps, decision)
            frozen = frozen or decision == "AUTHORIZED"
            yes = yes[:-1]
        yes = [bound for bound in yes if bound[0] == content and mark in (None, bound[1])]


def _plain_submit() -> Any:
    """A commit that changes no field, so that the model can commit more than once."""
    tool = next(t for t in workflow().tools if t.name == "submit_form")
    return tool.model_copy(update={"effect": {"target_id": "leave"}})


# --- official ------------------------------------------------------------------------------------------------------------------------


def test_official_tokens_bind_nothing_and_are_never_used_up() -> None:
    desk = Desk("official")
    desk.approved(start_date="x")
    desk.write(start_date="y")
    assert [desk.submit(), desk.submit()] == ["AUTHORIZED", "AUTHORIZED"]


def test_official_refusals() -> None:
    desk = Desk("official")
    assert desk.bench.approve(1, "submit") == []
    assert desk.bench.revoke(2, "submit") == []
    done = desk.do("submit_form", now=5, target_id="leave")
    assert done.commit == ("submit", "leave", "PREMATURE")
    assert said(done.output) == {"action_type": "submit", "target_id": "leave", "committed": False}
    desk.ask(10)
    asked = desk.bench.open_requests
    assert [(r.action, r.target, r.binding) for r in asked] == [("submit", "leave", None)]
    granted = only(desk.bench.approve(20, "anything"), ApprovalGranted)
    assert (granted.action, granted.version, granted.digest) == ("submit", None, None)
    assert desk.bench.open_requests == ()
    wrong = desk.do("submit_form", now=30, target_id="payment")
    assert wrong.commit == ("submit", "payment", "WRONG_SCOPE")
    assert desk.submit(15) == "PREMATURE"
    assert only(desk.bench.deny(40, "submit"), ApprovalRevoked).approvals == ("apr-1",)
    assert desk.submit(50) == "POST_REVOCATION"
    assert desk.do("submit_form", now=60, target_id="payment").commit == ("submit", "payment", "PREMATURE")


def test_official_event_revokes_the_pending_pair_whatever_it_names() -> None:
    desk = Desk("official")
    assert desk.bench.fire(5, STOP) == []
    desk.approved(start_date="x")
    other = STOP.model_copy(update={"forbidden_tool_commits": ("pay",)})
    assert only(desk.bench.fire(500, other), ApprovalRevoked).action == "submit"
    assert desk.submit(600) == "POST_REVOCATION"


def test_official_pair_is_the_latest_request() -> None:
    desk = Desk("official")
    desk.ask()
    desk.do("ask_any", action_type="pay", target_id="p")
    granted = only(desk.bench.approve(500, "submit"), ApprovalGranted)
    assert (granted.action, granted.target) == ("pay", "p")


def test_official_arguments_win_over_the_effect() -> None:
    desk = Desk("official")
    desk.approved(start_date="x")
    done = desk.do("submit_form", target_id="leave", artifact_id="payment")
    assert done.commit == ("submit", "leave", "AUTHORIZED")
    assert only(done.facts, ArtifactVersion).artifact == "payment"
    nowhere = desk.do("submit_form", target_id="leave", artifact_id="ghost")
    assert (nowhere.ok, nowhere.mutations) == (True, ())


def test_official_free_actions_commit_at_once() -> None:
    desk = Desk("official", workflow(autonomy=Autonomy()))
    assert desk.submit() == "AUTHORIZED"
