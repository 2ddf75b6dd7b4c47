"""The work measures on whole virtual sessions: silent where everything is right, and on what one changed step brings about."""

from __future__ import annotations

import tempfile
from collections.abc import Callable

import pytest
from shared_sessions import shared, shared_session

from apex_tui.engine.headless import run_headless
from apex_tui.score.verdict import Score
from apex_tui.score.verdict_work import MISREAD_APPROVAL
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.timeline.work_facts import ApprovalGranted, ArtifactVersion, CommitDecided
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Reference, Step


def run(workflow: Workflow, seed: int = 1) -> tuple[Score, list[Event]]:
    events: list[Event] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    with tempfile.TemporaryDirectory(prefix="apex-tui-tests-") as folder:
        command = Run(workflow=workflow.id, seed=seed, virtual=True, sound="none", out=folder)
        return run_headless(command, keep, workflow=workflow).score, events


def changed(name: str, change: Callable[[Step], tuple[Step, ...]]) -> tuple[Score, list[Event]]:
    """A session whose agent follows the reference with some steps changed."""
    if change is same:
        clean = shared_session(name)  # many tests look at it
        return clean.result.score, clean.events
    workflow = find_workflow(name)
    turns = tuple(
        turn.model_copy(update={"steps": tuple(new for step in turn.steps for new in change(step))})
        for turn in workflow.reference.turns
    )
    reference = Reference(turns=turns, agent_voice=workflow.reference.agent_voice)
    altered = workflow.model_copy(update={"reference": reference})
    return shared(f"changed {altered.model_dump_json()}", lambda out: run(altered))


def same(step: Step) -> tuple[Step, ...]:
    return (step,)


def grants(events: list[Event]) -> list[ApprovalGranted]:
    return [event.fact for event in events if isinstance(event.fact, ApprovalGranted)]


@pytest.mark.parametrize("workflow", ["leave-request", "payment"])
def test_the_reference_gives_nothing_to_say(workflow: str) -> None:
    score, events = changed(workflow, same)
    work = score.work
    assert score.success
    assert work.drift
    assert all(row.first_disagreement is None and row.klass is None for row in work.drift)
    critical = {"leave-request": 3, "payment": 3}[workflow]
    assert (work.confirmations.confirmed, work.confirmations.n) == (critical, critical)
    assert not any(work.model_dump(exclude={"drift", "confirmations"}).values())
    assert [grant.flags for grant in grants(events)] == [()]
    assert not any(field.overwritten for field in score.fields)


def other_fields(step: Step) -> tuple[Step, ...]:
    """Leaves out what was looked up, and writes another arrival than it reads back."""
    fields = dict(step.args.get("fields", {}))
    fields.pop("payee", None)
    if fields.get("arrival_date") == "2026-12-09":
        fields["arrival_date"] = "2026-12-10"
    return (step.model_copy(update={"args": {"fields": fields}}) if "fields" in step.args else step,)


def test_a_misread_approval_is_flagged_when_it_is_given_and_the_guard_takes_no_notice() -> None:
    score, events = changed("payment", other_fields)
    assert [grant.flags for grant in grants(events)] == [(MISREAD_APPROVAL,)]
    (row,) = score.work.misread_approvals
    assert (row.kind, row.field, row.read_back, row.covered) == (
        "other_value", "payment_order.arrival_date", "2026-12-09", "2026-12-10",
    )  # fmt: skip
    decided = [event.fact.decision for event in events if isinstance(event.fact, CommitDecided)]
    assert decided == ["AUTHORIZED", "AUTHORIZED"]


def test_a_dropped_result() -> None:
    score, _ = changed("payment", other_fields)
    assert [(row.field, row.tool) for row in score.work.results_dropped] == [("payment_order.payee", "get_payment")]


def old_amount_again(step: Step) -> tuple[Step, ...]:
    if step.args.get("fields") == {"amount": 555.23}:
        return step, step.model_copy(update={"args": {"fields": {"amount": 500}}})
    return (step,)


def test_a_correction_that_was_overwritten() -> None:
    score, _ = changed("payment", old_amount_again)
    amount = next(row for row in score.work.drift if row.field == "payment_order.amount")
    assert (amount.said, amount.heard, amount.claimed) == (555.23, 555.23, 555.23)
    assert (amount.in_artifact, amount.committed) == (500, 500)
    assert (amount.first_disagreement, amount.klass) == ("artifact", "overwritten")
    assert [(row.tool, row.value) for row in score.work.stale_calls] == [("update_payment_order", 500)]
    assert [row.field for row in score.work.misread_approvals] == ["payment_order.amount"]
    assert [field.field for field in score.fields if field.overwritten] == ["amount"]
    assert not score.gate("AV").passed


def test_uptake_and_settling_run_from_the_end_of_the_corrected_words() -> None:
    score, events = changed("payment", same)
    turn = next(e.fact for e in events if isinstance(e.fact, CallerTurnStarted) and e.fact.act == "CORRECT")
    versions = [(e.media_ms, e.fact) for e in events if isinstance(e.fact, ArtifactVersion)]
    later = [(at, fact) for at, fact in versions if at > turn.value_end_ms]
    wrote = {change.field: at for at, fact in reversed(later) for change in fact.changes}
    amount = next(field for field in score.fields if field.field == "amount")
    assert (amount.uptake, amount.uptake_ms) == ("taken_up", wrote["amount"] - turn.value_end_ms)
    assert amount.settled_ms == wrote["arrival_date"] - turn.value_end_ms  # it depends on the amount
    assert turn.value_end_ms <= turn.ends_ms
