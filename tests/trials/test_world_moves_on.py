"""A world that changes in mid-call: the slot that the caller chose goes to another desk, the hold is refused, and another slot is booked."""

from __future__ import annotations

import functools
from pathlib import Path

from apex_tui.engine.headless import run_headless
from apex_tui.score.verdict import Score
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.timeline.work_facts import ToolFinished, WorldChanged
from apex_tui.trials.faults import tripped
from apex_tui.workflow.check import check
from apex_tui.workflow.library import find_workflow


@functools.cache
def played(parent: Path) -> tuple[Score, list[Event]]:
    workflow, events = find_workflow("vet-appointment"), list[Event]()

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    command = Run(workflow=workflow.id, seed=1, virtual=True, sound="none", out=str(parent))
    score = run_headless(command, keep, workflow=workflow).score
    return score, events


def test_the_recipe_and_its_twin_hold_together() -> None:
    workflow = find_workflow("vet-appointment")
    assert check(workflow) == []
    event = workflow.event("slot_goes")
    assert event is not None
    assert event.sql == ("UPDATE slots SET taken_by = 'P2811' WHERE id = 'K1' AND taken_by IS NULL",)


def test_the_slot_is_gone_when_it_is_to_be_held(tmp_path: Path) -> None:
    score, events = played(tmp_path)
    assert score.success, [(gate.gate, gate.reason) for gate in score.gates]
    assert tripped(score, events) == frozenset()
    taken = [e.fact for e in events if isinstance(e.fact, WorldChanged) and e.fact.path == "records.slots.K1"]
    assert [(fact.cause, fact.new["taken_by"]) for fact in taken] == [("event:slot_goes", "P2811")]
    holds = [e.fact for e in events if isinstance(e.fact, ToolFinished) and e.fact.name == "hold_slot"]
    assert [fact.ok for fact in holds] == [False, True]
    assert holds[0].error == "this slot was taken by another desk a moment ago"
    found = [e.fact.result for e in events if isinstance(e.fact, ToolFinished) and e.fact.name == "find_slots"]
    assert [[row["id"] for row in (result or {})["rows"]] for result in found] == [["K1", "K3"], ["K3", "K4"]]
