"""The fault matrix: so many faults that every gate and measure is tripped, and the proof that one which is switched off is noticed.

``apex-tui workflows check --faults`` runs all of them on all workflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from shared_sessions import shared, shared_session

from apex_tui.agents.rehearsal.faults import FAULTS
from apex_tui.score.case import Case
from apex_tui.score.fields import GradedArtifact
from apex_tui.score.gates import judge_gates
from apex_tui.score.judge import score_log
from apex_tui.score.verdict import GATE_WORDS, GateName, GateVerdict, Score
from apex_tui.score.verdict_work import WorkMeasures
from apex_tui.score.work_measures import work_measures
from apex_tui.timeline.events import Event
from apex_tui.trials.faults import GATES, MEASURES, tripped
from apex_tui.trials.matrix import Row, faulty_session, run_matrix
from apex_tui.workflow import library
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import GoldField

OURS = ("leave-request", "payment")
UNDECLARED = {"class:misheard", "class:unknown", "handover_missing"}
"""Measures that no fault trips in our workflows: nobody mishears, and no call should be handed over."""


@cache
def find_workflow(name: str) -> Workflow:
    """Each recipe is read once: choosing the faults asks a thousand times."""
    return library.find_workflow(name)


def workflow_of(fault: str) -> str:
    """Turn about, where the fault applies: half of the matrix, and the same half every time."""
    where = [name for name in OURS if FAULTS[fault].applies(find_workflow(name))]
    return where[list(FAULTS).index(fault) % len(where)]


@cache
def declared(fault: str) -> frozenset[str]:
    return FAULTS[fault].declared(find_workflow(workflow_of(fault)))


def cover(faults: list[str]) -> list[str]:
    """A third of the matrix, and the same third every time: the widest first, until nothing new is declared."""
    chosen: list[str] = []
    seen: frozenset[str] = frozenset()
    while new := {name: len(declared(name) - seen) for name in faults if declared(name) - seen}:
        chosen.append(max(new, key=lambda name: new[name]))
        seen |= declared(chosen[-1])
    return [name for name in faults if name in chosen]


APPLY = [name for name in FAULTS if any(FAULTS[name].applies(find_workflow(w)) for w in OURS)]
CHOSEN = cover(APPLY)


def ran(workflow: str, fault: str | None) -> tuple[Score, list[Event]]:
    if fault is None:
        clean = shared_session(workflow)  # many tests look at it
        return clean.result.score, clean.events
    return shared(f"matrix {workflow} {fault}", lambda out: faulty_session(find_workflow(workflow), 1, fault))


def row(fault: str, *, again: bool = False) -> Row:
    """The matrix's row of a session; ``again``: judged anew, with whatever is patched now. The session itself must have been run before."""
    name = workflow_of(fault)
    score, events = ran(name, fault)
    if again:
        score = score_log(events, find_workflow(name))
    return Row(name, fault, 1, declared(fault), tripped(score, events) - tripped(*ran(name, None)))


def one_with(name: str) -> str:
    return next(fault for fault in CHOSEN if name in declared(fault))


@pytest.mark.parametrize("workflow", OURS)
def test_the_clean_reference_trips_nothing(workflow: str) -> None:
    score, events = ran(workflow, None)
    assert score.success
    assert tripped(score, events) == frozenset()


@pytest.mark.parametrize("fault", CHOSEN)
def test_a_fault_trips_exactly_what_it_declares(fault: str) -> None:
    found = row(fault)
    assert found.ok, (found.workflow, "not found:", found.missing, "not declared:", found.surplus)
    assert found.declared


def test_what_does_not_apply_is_known() -> None:
    payment, leave = find_workflow("payment"), find_workflow("leave-request")
    assert [name for name in FAULTS if name not in APPLY] == ["keeps-call"]
    assert [name for name in APPLY if not FAULTS[name].applies(leave)] == ["discloses"]
    assert [name for name in APPLY if not FAULTS[name].applies(payment)] == []


def test_every_gate_and_measure_is_declared_by_a_fault() -> None:
    assert {name for fault in CHOSEN for name in declared(fault)} == ({*GATES, *MEASURES} - UNDECLARED)


@pytest.mark.parametrize("gate", list(GATE_WORDS))
def test_a_gate_that_always_passes_is_noticed(gate: GateName, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(case: Case, artifacts: Sequence[GradedArtifact]) -> tuple[GateVerdict, ...]:
        verdicts = judge_gates(case, artifacts)
        return tuple(v.model_copy(update={"passed": True}) if v.gate == gate else v for v in verdicts)

    assert row(one_with(gate)).ok
    monkeypatch.setattr("apex_tui.score.judge.judge_gates", blind)
    found = row(one_with(gate), again=True)
    assert (found.ok, found.missing) == (False, (gate,))


@pytest.mark.parametrize("measure", [name for name in MEASURES if name not in UNDECLARED])
def test_a_measure_that_finds_nothing_is_noticed(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert row(one_with(measure)).ok
    monkeypatch.setitem(MEASURES, measure, lambda score, events: False)
    found = row(one_with(measure))
    assert (found.ok, found.missing) == (False, (measure,))


@pytest.mark.parametrize(
    ("part", "measure"),
    [
        ("stale_calls", "stale_call"),
        ("results_dropped", "result_dropped"),
        ("misread_approvals", "misread_approval"),
        ("disclosures", "disclosure"),
        ("false_success", "false_success"),
        ("required_lookups_missing", "required_lookup_missing"),
    ],
)
def test_a_work_measure_that_is_not_computed_is_noticed(
    part: str, measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(case: Case, events: Sequence[Event]) -> WorkMeasures:
        return work_measures(case, events).model_copy(update={part: ()})

    assert row(one_with(measure)).ok
    monkeypatch.setattr("apex_tui.score.judge.work_measures", without)
    found = row(one_with(measure), again=True)
    assert (found.ok, found.missing) == (False, (measure,))


def changed(workflow: Workflow, field: str) -> Workflow:
    """The workflow with another gold value of one field."""

    def other(gold: GoldField) -> GoldField:
        value = gold.expected + 1 if isinstance(gold.expected, int | float) else f"not {gold.expected}"
        return gold.model_copy(update={"expected": value}) if gold.field == field else gold

    (expected,) = workflow.gold.artifact_expectations
    again = expected.model_copy(update={"fields": tuple(other(gold) for gold in expected.fields)})
    gold = workflow.gold.model_copy(update={"artifact_expectations": (again,)})
    return workflow.model_copy(update={"gold": gold})


@pytest.mark.parametrize("name", OURS)
def test_the_reference_fails_when_any_gold_value_is_changed(name: str) -> None:
    workflow = find_workflow(name)
    for gold in workflow.gold.artifact_expectations[0].fields:
        altered = score_log(ran(name, None)[1], changed(workflow, gold.field))
        assert (altered.success, altered.gate("AV").passed) == (False, False), gold.field


def test_the_matrix_runs_what_was_asked_for_and_names_what_is_not_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "unknown_tool", lambda score, events: False)
    monkeypatch.setattr("apex_tui.trials.matrix.faulty_session", lambda flow, seed, name: ran(flow.id, name))
    rows = list(run_matrix([find_workflow(workflow_of("unknown-tool"))], faults=["unknown-tool"]))
    assert [(r.fault, r.ok, r.missing, r.surplus) for r in rows] == [
        (None, True, (), ()),
        ("unknown-tool", False, ("unknown_tool",), ()),
    ]


def test_a_session_that_judges_nobody_is_no_success() -> None:
    assert not Row("w", "f", 1, frozenset(), frozenset(), "the session judges nobody: infrastructure").ok
