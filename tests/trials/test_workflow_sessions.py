"""One session of the reference on a workflow with everything in it: it succeeds, trips nothing, and leaves the tables as the outcome says.

CI plays the reference of every workflow (``workflows check --ci``); here is what only its files can show.
"""

from __future__ import annotations

import functools
import sqlite3
from pathlib import Path

import pytest
from shared_sessions import shared_session

from apex_tui.score.verdict import Score
from apex_tui.timeline.caller_facts import CallerTurnStarted, EventFired
from apex_tui.timeline.events import Event
from apex_tui.trials.check import not_interrupting
from apex_tui.trials.faults import tripped
from apex_tui.workflow.check import check
from apex_tui.workflow.library import find_workflow as read_workflow
from apex_tui.workflow.model import Workflow

find_workflow = functools.cache(read_workflow)
PLAYED = ("hotel-booking",)
WORKFLOWS = (*PLAYED, "it-ticket", "print-deal")


def played(name: str) -> tuple[Score, list[Event], Path]:
    ran = shared_session(name)
    return ran.result.score, ran.events, ran.result.folder


def corrections(workflow: Workflow) -> set[str]:
    return {event.id for event in workflow.events if event.type == "MID_SPEECH_CORRECTION"}


@pytest.mark.parametrize("name", PLAYED)
def test_the_reference_succeeds_and_trips_nothing(name: str) -> None:
    score, events, _ = played(name)
    assert score.success, [(gate.gate, gate.reason) for gate in score.gates]
    assert tripped(score, events) == frozenset()
    assert score.outcome == "completed"
    assert score.tools.calls == find_workflow(name).reference.calls


@pytest.mark.parametrize("name", PLAYED)
def test_a_correction_that_does_not_break_into_the_agents_words_is_found(name: str) -> None:
    _, events, _ = played(name)
    workflow = find_workflow(name)
    assert not_interrupting(workflow, events) == []
    without = [event for event in events if not isinstance(event.fact, EventFired)]
    assert len(not_interrupting(workflow, without)) == len(corrections(workflow)) > 0


@pytest.mark.parametrize("name", PLAYED)
def test_the_tables_hold_the_outcome(name: str) -> None:
    _, _, folder = played(name)
    wanted = [row for row in find_workflow(name).gold.terminal_state if row.kind == "state_equals"]
    assert wanted
    with sqlite3.connect(folder / "records.sqlite") as database:
        for predicate in wanted:
            _, table, key, column = (*str(predicate.args["path"]).split("."), "*")[:4]
            named = find_workflow(name).records[table].key
            found = database.execute(f'SELECT {column} FROM "{table}" WHERE {named} = ?', (key,)).fetchone()
            assert (found[0] if found else None) == predicate.args["value"], predicate.args["path"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflow_and_twin_hold_together(name: str) -> None:
    workflow, twin = find_workflow(name), find_workflow(f"{name}-uncorrected")
    assert check(workflow) == []
    assert check(twin) == []
    assert 10 <= len(workflow.gold.artifact_expectations[0].fields) <= 20
    assert 8 <= workflow.reference.calls <= 17
    assert [row.expected for row in twin.gold.artifact_expectations[0].fields] == [
        row.expected for row in workflow.gold.artifact_expectations[0].fields
    ]
    assert not corrections(twin)
    assert twin.bank == workflow.id


@pytest.mark.parametrize("name", PLAYED)
def test_a_hedge_comes_once_and_before_the_answer(name: str) -> None:
    _, events, _ = played(name)
    plans = [e.fact.plan for e in events if isinstance(e.fact, CallerTurnStarted)]
    for hedge in {plan for plan in plans if plan.startswith("hedge_")}:
        assert plans.count(hedge) == 1
        assert plans.index(hedge) < plans.index(hedge.replace("hedge_", "ans_", 1))
