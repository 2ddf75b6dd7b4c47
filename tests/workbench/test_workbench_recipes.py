"""Our own recipes through the strict workbench: the derived reference solution ends fresh, approved and committed."""

import json

import pytest
from workbench_cases import Desk, only

from apex_tui.timeline.work_facts import ArtifactVersion, WorldChanged
from apex_tui.workbench import CallDone, Workbench
from apex_tui.workflow.caller_model import Action
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow


def actions(workflow: Workflow, plan: str | None) -> list[Action]:
    """What the caller does with a plan, each action once."""
    found = [t.do for state in workflow.flow.states.values() for t in state.transitions if t.do is not None]
    return list({(a.event_id, a.approves, a.revokes): a for a in found if a.plan_id == plan}.values())


@pytest.mark.parametrize("name", ["leave-request", "payment"])
def test_the_reference_of_a_recipe(name: str) -> None:
    workflow = find_workflow(name)
    bench = Workbench(workflow, 1, "strict")
    bench.opening()
    now, done = 0.0, list[CallDone]()
    marked = False
    for turn in workflow.reference.turns:
        now += 5_000
        for action in actions(workflow, turn.after):
            event = workflow.event(action.event_id or "")
            if event is not None:
                marked = bool(bench.fire(now, event)) or marked
            if action.revokes:
                bench.revoke(now, action.revokes)
            if action.approves:
                bench.approve(now, action.approves)
        for step in turn.steps:
            if step.call is None:
                continue
            now += 1_000
            begun = bench.call(now, f"c{len(done)}", step.call, step.args, None, None, False)
            assert begun.latency_ms is not None, begun.output
            now += begun.latency_ms
            done.append(bench.complete(now, f"c{len(done)}"))
            assert done[-1].ok, done[-1].output
    assert marked, "a correction made something stale"
    last = only(done[-1].facts, ArtifactVersion)
    assert (last.lifecycle, last.stale) == ("COMMITTED", {})
    assert done[-1].commit is not None
    assert done[-1].commit[2] == "AUTHORIZED"
    gold = {f.field: f.expected for expectation in workflow.gold.artifact_expectations for f in expectation.fields}
    assert {field: last.fields.get(field) for field in gold} == gold


@pytest.mark.parametrize("key", ["calendar", "calendar.office_holidays", "E2047.manager", "today", "records", ""])
def test_a_lookup_gives_entries_and_nothing_that_the_right_values_follow_from(key: str) -> None:
    bench = Workbench(find_workflow("leave-request"), 1, "strict")
    for call, wanted in (("c1", key), ("c2", "E2047")):
        bench.call(0.0, call, "get_employee", {"entity_id": wanted}, None, None, False)
        entity = json.loads(bench.complete(1_000.0, call).output)["entity"]
        assert (entity is not None) == (wanted == "E2047")


def test_what_a_lookup_may_read_is_stated_with_the_tool() -> None:
    lookups = [
        (name, tool)
        for name in ("leave-request", "payment")
        for tool in find_workflow(name).tools
        if "entries" in tool.effect
    ]
    assert [(name, tool.name, tool.effect["entries"]) for name, tool in lookups] == [
        ("leave-request", "get_employee", ["E2047"]),
        ("payment", "get_payment", ["407193"]),
    ]


@pytest.mark.parametrize(
    ("written", "kept"),
    [("5550162", "555-0162"), ("555 01 62", "555-0162"), ("555-0162", "555-0162"), ("ring 5550162", "ring 5550162")],
)
def test_a_telephone_number_is_kept_in_one_form_however_it_is_written(written: str, kept: str) -> None:
    desk = Desk(flow=find_workflow("it-ticket"))
    done = desk.do("update_ticket", fields={"callback": written})
    assert only(done.facts, ArtifactVersion).fields["callback"] == kept
    assert only(done.facts, WorldChanged).new["callback"] == kept


def test_a_later_message_to_the_other_side_replaces_the_earlier_one() -> None:
    desk = Desk(flow=find_workflow("band-agreement"))
    row = {"id": "P1", "number": "RM417", "evenings": "tuesdays_and_fridays"}
    for ends in ("21:15", "20:45"):
        done = desk.do("pass_on_proposal", number="RM417", evenings="tuesdays_and_fridays", ends=ends)
        told = only(done.facts, WorldChanged)
        assert (told.path, told.new) == ("records.proposals.P1", row | {"ends": ends})
