"""Giving the call to a person, and tools that fail because the session's parameters say so."""

from __future__ import annotations

import json

from apex_tui.timeline.work_facts import ToolFinished, WorldChanged
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.library import find_workflow


def bench(failures: dict[str, int] | None = None) -> Workbench:
    return Workbench(find_workflow("leave-request"), 1, "strict", {}, failures)


def test_handing_over_is_kept_in_the_world_with_its_reason() -> None:
    desk = bench()
    reason_before = desk.handed_over
    assert reason_before is None
    begun = desk.call(1000.0, "c1", "hand_over_to_human", {"reason": "they ask for a person"})
    assert begun.latency_ms == 200
    done = desk.complete(1200.0, "c1")
    (changed,) = [fact for fact in done.facts if isinstance(fact, WorldChanged)]
    assert (changed.path, changed.new) == ("handover.reason", "they ask for a person")
    assert (desk.handed_over, done.ok) == ("they ask for a person", True)


def test_a_hand_over_needs_a_reason() -> None:
    desk = bench()
    begun = desk.call(0.0, "c1", "hand_over_to_human", {})
    assert "needs the argument 'reason'" in json.loads(begun.output or "{}")["error"]
    assert desk.handed_over is None


def test_so_many_calls_of_a_tool_fail_as_the_session_says() -> None:
    desk = bench({"get_employee": 1})
    answers = []
    for number in ("c1", "c2"):
        desk.call(0.0, number, "get_employee", {"entity_id": "E2047"})
        done = desk.complete(500.0, number)
        (finished,) = [fact for fact in done.facts if isinstance(fact, ToolFinished)]
        answers.append((finished.ok, json.loads(done.output).get("error")))
    assert answers == [(False, "get_employee failed: the system behind it did not answer"), (True, None)]
