"""Versions, digests and staleness, in both profiles."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workbench_cases import MOVED, PRICE, Desk, names, only, said, workflow

from apex_tui.timeline.work_facts import ArtifactStale, ArtifactVersion, WorldChanged
from apex_tui.workbench import Workbench
from apex_tui.workbench.values import canonical, digest, same_value
from apex_tui.workflow.caller_model import CallerFact, Reveal, ScriptedEvent
from apex_tui.workflow.work_model import FieldSpec


def version(desk: Desk, now: float | None = None, takes: float = 0.0, **fields: Any) -> ArtifactVersion:
    return only(desk.write(now, takes, **fields).facts, ArtifactVersion)


def stale(desk: Desk, artifact: str = "leave") -> dict[str, str]:
    """What is stale now, as the next version states it (a write of an unrelated field)."""
    if desk.bench._strict:
        return version(desk, employee_id="E1").stale
    return dict(desk.bench._bench.artifacts._all[artifact].stale)


def test_opening_emits_what_begins_with_content() -> None:
    facts = Workbench(workflow(), 1, "strict").opening()
    first = only(facts, ArtifactVersion)
    assert (first.artifact, first.version, first.author, first.lifecycle) == ("payment", 1, "environment", "DRAFT")
    assert (first.fields, first.call) == ({"sum": 5}, None)
    assert [(c.field, c.new, c.kind) for c in first.changes] == [("sum", 5, "added")]


def test_a_write_is_one_immutable_version_with_its_diff() -> None:
    desk = Desk()
    first = version(desk, start_date="a", extra={"k": [1]})
    second = version(desk, start_date="b", extra={"k": [1]}, leave_type="annual")
    third = version(desk, start_date=None)
    assert [v.version for v in (first, second, third)] == [1, 2, 3]
    assert [(c.field, c.old, c.new, c.kind) for c in second.changes] == [
        ("start_date", "a", "b", "changed"),
        ("extra", {"k": [1]}, {"k": [1]}, "same"),
        ("leave_type", None, "annual", "added"),
    ]
    assert [(c.field, c.old, c.kind) for c in third.changes] == [("start_date", "b", "removed")]
    assert third.fields == {"extra": {"k": [1]}, "leave_type": "annual"}
    assert first.fields == {"start_date": "a", "extra": {"k": [1]}}
    assert (second.author, second.call, second.lifecycle) == ("agent", "c2", "DRAFT")
    assert only(desk.write(start_date=None).facts, ArtifactVersion).changes[0].kind == "same"
    copied = desk.bench.artifact_fields("leave")
    copied["extra"]["k"].append(2)
    assert desk.bench.artifact_fields("leave")["extra"] == {"k": [1]}
    assert desk.bench.artifact_fields("ghost") == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=5,
)


def alike(left: Any, right: Any) -> bool:
    """Equality of JSON values: true is not 1, 1.0 is 1, keys in any order."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(alike(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    return bool(left == right)


@given(st.dictionaries(st.text(max_size=2), JSON, max_size=3), st.dictionaries(st.text(max_size=2), JSON, max_size=3))
def test_digests_are_equal_exactly_when_fields_are(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert (digest(left) == digest(right)) == alike(left, right)
    assert digest(left) == digest(dict(reversed(left.items())))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(("amount", "start_date", "nonsense")), st.sampled_from((1, "x")), max_size=3)
    )
)
def test_version_numbers_are_dense_and_refused_writes_take_none(writes: list[dict[str, Any]]) -> None:
    desk = Desk()
    seen: list[ArtifactVersion] = []
    for fields in writes:
        done = desk.write(**fields)
        new = [fact for fact in done.facts if isinstance(fact, ArtifactVersion)]
        fit = bool(fields) and "nonsense" not in fields
        fit = fit and fields.get("amount", 1) == 1 and fields.get("start_date", "x") == "x"
        assert len(new) == done.ok == fit
        seen += new
    assert [v.version for v in seen] == list(range(1, len(seen) + 1))
    assert all((a.digest == b.digest) == (a.fields == b.fields) for a in seen for b in seen)


# --- dependents ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("start_date", "working_days"), ("working_days", "start_date")])
def test_dependents_written_in_the_same_call_hold_in_either_order(order: tuple[str, str]) -> None:
    desk = Desk()
    version(desk, start_date="a", working_days=3)
    values: dict[str, Any] = {"start_date": "b", "working_days": 4}
    assert version(desk, **{name: values[name] for name in order}).stale == {}


def test_a_changed_field_makes_its_dependents_stale_and_writing_them_clears() -> None:
    desk = Desk()
    assert version(desk, start_date="a").stale == {}, "a dependent without a value is missing, not stale"
    version(desk, working_days=3)
    assert version(desk, start_date="a").stale == {}, "the same value again changes nothing"
    assert version(desk, start_date="b").stale == {"working_days": "depends on start_date, written in version 4"}
    assert version(desk, working_days=3).stale == {}
    assert version(desk, start_date=None).stale == {"working_days": "depends on start_date, written in version 6"}


def test_official_order_inside_a_call_matters() -> None:
    desk = Desk("official")
    assert version(desk, start_date="a", working_days=1).stale == {}
    late = version(desk, working_days=1, start_date="a")
    assert late.stale == {"working_days": "depends on start_date, written in version 2"}
    empty = Desk("official")
    assert "working_days" in version(empty, start_date="a").stale, "marked whether or not it has a value"


# --- corrections ---------------------------------------------------------------------------------------------------------------------


def test_a_correction_marks_what_has_a_value_from_the_onset_on() -> None:
    desk = Desk()
    version(desk, start_date="2026-12-14")
    facts = desk.bench.fire(63_210, MOVED)
    assert names(facts) == ["WorldChanged", "ArtifactStale"]
    assert only(facts, WorldChanged).cause == "event:moved"
    mark = only(facts, ArtifactStale)
    assert (mark.version, mark.since_ms) == (1, 63_210)
    assert mark.fields == {"start_date": "the caller changed it at 63.2 s: moved"}


@pytest.mark.parametrize(
    ("began", "value", "holds"),
    [
        (400, "2026-12-14", False),
        (400, "2026-12-28", False),
        (500, "2026-12-28", False),
        (501, "2026-12-28", True),
        (501, "2026-12-14", False),
        (501, "14 december", False),
        (501, "2026-12-21", True),
        (400, "2026-12-21", True),
    ],
)
@pytest.mark.parametrize("filled", [True, False])
def test_what_clears_a_correction(began: float, value: str, holds: bool, filled: bool) -> None:
    """Onset at 500; the superseded value is 2026-12-14, the new one 2026-12-21. The call completes at 900."""
    desk = Desk()
    if filled:
        version(desk, 100, start_date="14 December")
    elif value == "14 december":
        holds = True  # the agent's own wording is known only when it stood in the field
    if began <= 500:
        call_id, _ = desk.begin("update_form", began, fields={"start_date": value})
        desk.bench.fire(500, MOVED)
    else:
        desk.bench.fire(500, MOVED)
        call_id, _ = desk.begin("update_form", began, fields={"start_date": value})
    written = only(desk.bench.complete(900, call_id).facts, ArtifactVersion)
    assert ("start_date" not in written.stale) == holds


def test_without_a_stated_value_any_call_after_the_onset_clears() -> None:
    desk = Desk()
    version(desk, 10, working_days=3)
    desk.bench.fire(500, MOVED)
    assert "working_days" in version(desk, 490, 100, working_days=3).stale
    assert version(desk, 600, working_days=3).stale == {}


def test_a_value_that_holds_already_is_not_marked() -> None:
    desk = Desk()
    version(desk, 10, start_date="2026-12-21")
    assert names(desk.bench.fire(500, MOVED)) == ["WorldChanged"]


def test_a_call_that_answered_before_the_event_was_handled_counts() -> None:
    desk = Desk()
    version(desk, 510, start_date="2026-12-28")
    assert names(desk.bench.fire(500, MOVED)) == ["WorldChanged"]


def test_writing_the_superseded_value_later_makes_it_stale_again() -> None:
    desk = Desk()
    version(desk, 10, amount=500)
    only(desk.bench.fire(500, PRICE), ArtifactStale)
    assert version(desk, 600, amount=555.23).stale == {}
    assert "amount" in version(desk, 700, amount=500.0).stale


def test_a_second_correction_replaces_the_first() -> None:
    desk = Desk()
    version(desk, 10, amount=500)
    desk.bench.fire(500, PRICE)
    back = PRICE.model_copy(update={"id": "back", "fact_updates": {"amount": 500}})
    only(desk.bench.fire(600, back), ArtifactStale)
    assert stale(desk) == {}, "the caller wants the first value again"
    assert "amount" in version(desk, 700, amount=555.23).stale, "and no longer the second"


def test_a_correction_does_not_mend_what_depends_on_a_changed_field() -> None:
    flow = workflow(
        facts=(CallerFact(id="days", value=4, field="leave.working_days", reveal=Reveal(events=("moved",))),)
    )
    desk = Desk(flow=flow)
    version(desk, start_date="a", working_days=4)
    version(desk, start_date="b")
    desk.bench.fire(500, MOVED)
    assert stale(desk)["working_days"].startswith("depends on start_date")


def test_facts_find_their_field_by_name_when_a_package_states_none() -> None:
    facts = (
        CallerFact(id="total", value=240.0),
        CallerFact(id="total_v2", value=200.0, supersedes="total", reveal=Reveal(events=("moved",))),
        CallerFact(id="ring", value=1, supersedes="ring", reveal=Reveal(events=("moved",))),
    )
    event = MOVED.model_copy(update={"expected_repairs": ("payment.total", "ghost.field", "payment")})
    desk = Desk(flow=workflow(facts=facts))
    desk.do("write_any", artifact_id="payment", fields={"total": 240})
    assert only(desk.bench.fire(500, event), ArtifactStale).artifact == "payment"
    rewritten = desk.do("write_any", now=600, artifact_id="payment", fields={"total": "240.00"})
    assert "total" in only(rewritten.facts, ArtifactVersion).stale
    assert (
        only(desk.do("write_any", now=700, artifact_id="payment", fields={"total": 200}).facts, ArtifactVersion).stale
        == {}
    )


def test_official_marks_everything_at_once_and_any_write_clears() -> None:
    desk = Desk("official")
    mark = only(desk.bench.fire(500, MOVED), ArtifactStale)
    assert set(mark.fields) == {"start_date", "working_days"}
    assert names(desk.bench.fire(500, MOVED)) == ["WorldChanged"]
    after = version(desk, 100, start_date="2026-12-14", working_days=1)
    assert after.stale == {}


# --- lifecycle -----------------------------------------------------------------------------------------------------------------------


def test_the_first_write_makes_a_draft_and_the_authored_state_wins() -> None:
    desk = Desk()
    assert version(desk, start_date="x").lifecycle == "DRAFT"
    ready = only(desk.do("mark_ready").facts, ArtifactVersion)
    assert (ready.version, ready.lifecycle, ready.changes) == (2, "READY_FOR_REVIEW", ())
    again = desk.do("mark_ready")
    assert (again.ok, names(again.facts)) == (True, ["ToolFinished"])


def test_the_authored_state_wins_over_the_argument() -> None:
    tools = tuple(
        t.model_copy(update={"effect": {"artifact_id": "leave", "state": "READY_FOR_REVIEW"}})
        if t.name == "set_state"
        else t
        for t in workflow().tools
    )
    done = {p: Desk(p, workflow(tools=tools)).do("set_state", state="COMMITTED") for p in ("strict", "official")}
    assert {p: d.result and d.result["lifecycle"] for p, d in done.items()} == {
        "strict": "READY_FOR_REVIEW",
        "official": "COMMITTED",
    }


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ("COMMITTED", "set_state cannot commit leave"),
        ("PARTIAL", "leave is DRAFT already and cannot go back to PARTIAL"),
        ("APPROVED", "the caller has not approved the current content of leave"),
        ("DONE", "'DONE' is no lifecycle state"),
    ],
)
def test_lifecycle_states_that_a_tool_may_not_set(state: str, error: str) -> None:
    desk = Desk()
    version(desk, start_date="x")
    done = desk.do("set_state", state=state)
    assert not done.ok
    assert said(done.output)["error"] == error
    assert said(done.output)["hint"]


def test_approved_needs_a_live_approval() -> None:
    desk = Desk()
    desk.approved(start_date="x")
    only(desk.do("set_state", state="APPROVED").facts, ArtifactVersion)
    assert desk.submit() == "AUTHORIZED", "a state is no content: the approval still covers it"


def test_official_sets_any_state_in_any_order() -> None:
    desk = Desk("official")
    states = [only(desk.do("set_state", state=s).facts, ArtifactVersion).lifecycle for s in ("COMMITTED", "PARTIAL")]
    assert states == ["COMMITTED", "PARTIAL"]
    failed = desk.do("set_state", state="DONE")
    assert "no lifecycle state" in said(failed.output)["error"]


def test_a_committed_artifact_is_frozen() -> None:
    desk = Desk()
    desk.approved(start_date="x")
    desk.submit()
    for done in (desk.write(start_date="y"), desk.do("mark_ready")):
        assert said(done.output)["error"] == "leave is committed and can no longer be changed"
    assert desk.bench.artifact_fields("leave")["start_date"] == "x"
    free = Desk("official")
    free.approved(start_date="x")
    free.submit()
    assert free.write(start_date="y").ok


# --- values --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("CC 330", "cc-330", True),
        ("$1,200.00", 1200, True),
        (240.0, 240, True),
        (True, 1, False),
        (True, True, True),
        ("0012", 12, False),
        ("a", "b", False),
        ("", "-", False),
        ([1], "1", False),
        (500, "500 dollars", False),
        ("2026-12-14", "2026 12 14", True),
        (1, 2, False),
    ],
)
def test_same_value(left: Any, right: Any, same: bool) -> None:
    assert same_value(left, right) == same
    assert same_value(right, left) == same


def test_canonical_text() -> None:
    assert canonical({"b": 1.0, "a": [True, None, "é", (2.5,)]}) == '{"a":[true,null,"\\u00e9",[2.5]],"b":1}'


def test_field_names_may_hold_dots() -> None:
    flow = workflow()
    spec = flow.artifacts["leave"]
    assert spec.shape is not None
    shape = spec.shape.model_copy(update={"fields": (FieldSpec(name="trip.city"),)})
    desk = Desk(flow=workflow(artifacts={"leave": spec.model_copy(update={"shape": shape})}))
    city: dict[str, Any] = {"trip.city": "Rome"}
    version(desk, **city)
    event = ScriptedEvent(id="e", type="X", expected_repairs=("leave.trip.city",))
    assert set(only(desk.bench.fire(100, event), ArtifactStale).fields) == {"trip.city"}
