"""Short cuts, changed gold and words too many: what ``workflows check`` finds, and that it can find it."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from shared_sessions import shared_session

from apex_tui.engine.speech import tones_of
from apex_tui.trials.check import Finding, check_workflows
from apex_tui.trials.mutations import mutants, other, unnoticed
from apex_tui.trials.shortcuts import SHORTCUTS, reached
from apex_tui.trials.unsaid import said_too_much, without_wording
from apex_tui.workflow.caller_model import Variant, Wording
from apex_tui.workflow.library import find_workflow as read_workflow
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold

find_workflow = functools.cache(read_workflow)
PAYMENT = "payment"


def with_gold(workflow: Workflow, **parts: Any) -> Workflow:
    return workflow.model_copy(update={"gold": workflow.gold.model_copy(update=parts)})


def test_a_short_cut_does_what_it_is_named_for() -> None:
    lines = {name: SHORTCUTS[name](find_workflow(PAYMENT)) for name in SHORTCUTS}
    assert lines["submits"][0].startswith("/request_approval ")
    assert lines["submits"][1:3] == ["Shall I go ahead?", '/schedule_payment {"target_id": "payment_order"}']
    first = next(line for line in lines["first-turn"] if "amount" in line)
    assert '"amount": 500' in first
    assert not any("555" in line for line in lines["first-turn"]), (
        "what the caller corrects is not known in the first turn"
    )
    assert "Harbor Street Properties" in lines["defaults"][0], "what the system shows is copied"
    assert lines["guesses"][0] != lines["defaults"][0]


def test_a_workflow_that_a_short_cut_solves_is_found() -> None:
    """Nothing is wanted but that nothing is committed without approval: whoever submits at once has done it."""
    workflow = find_workflow(PAYMENT)
    loose = with_gold(
        workflow, terminal_state=(), required_actions=(), required_evidence=(), precedence=(), artifact_expectations=()
    )
    score, _ = reached(workflow, "submits", tones_of(workflow, 1))
    assert not all(gate.passed for gate in score.gates)
    score, _ = reached(loose, "submits", tones_of(loose, 1))
    assert all(gate.passed for gate in score.gates)


def test_every_gold_value_is_looked_at() -> None:
    workflow = find_workflow(PAYMENT)
    events = shared_session(PAYMENT, seed=1).events
    assert unnoticed(workflow, events) == []
    names = [name for name, _ in mutants(workflow.gold)]
    assert names[:10] == [f"payment_order.{field.field}" for field in workflow.gold.artifact_expectations[0].fields]
    (row,) = workflow.gold.artifact_expectations
    slack = row.model_copy(update={"fields": tuple(f.model_copy(update={"tolerance": 5.0}) for f in row.fields)})
    assert unnoticed(with_gold(workflow, artifact_expectations=(slack,)), events) == ["payment_order.amount"]


@pytest.mark.parametrize(("value", "changed"), [(True, False), (5, 6), (0.5, 1.5), ("a", "not a"), (None, "not None")])
def test_another_value(value: Any, changed: Any) -> None:
    assert other(value) == changed


def test_gold_without_values_has_no_mutants() -> None:
    assert list(mutants(Gold())) == []


def say(workflow: Workflow, plan: str, text: str) -> Workflow:
    rows = tuple(
        Wording(user_plan_id=plan, speech_act=w.speech_act, variants=(Variant(variant_id="x", text=text),)) if w.user_plan_id == plan else w
        for w in workflow.wordings
    )  # fmt: skip
    return workflow.model_copy(update={"wordings": rows})


@pytest.mark.parametrize(
    "text", ["It will arrive on December ninth.", "So it is there on 12/9?", "The 9th of December, then."]
)
def test_a_right_value_that_the_caller_does_not_know_is_found_in_words_and_figures(text: str) -> None:
    workflow = find_workflow(PAYMENT)
    assert said_too_much(workflow) == []
    (found,) = said_too_much(say(workflow, "close", text))
    assert found == "The wording x states the right arrival_date, which the caller does not know."


def test_a_change_that_no_wording_tells_is_found() -> None:
    workflow = find_workflow(PAYMENT)
    assert without_wording(workflow) == []
    mute = workflow.model_copy(update={"wordings": tuple(w for w in workflow.wordings if w.speech_act != "CORRECT")})
    assert any("CORRECT tells amount_v2, which supersedes amount" in found for found in without_wording(mute))


def test_parts_of_several_workflows_come_back_one_by_one_with_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def tasks(workflow: Workflow, seeds: Any, *, tones: bool) -> list[Any]:
        return [functools.partial(lambda name: [Finding(name, True, "")], f"{workflow.id} {n}") for n in range(2)]

    monkeypatch.setattr("apex_tui.trials.check.tasks_of", tasks)
    flows = [find_workflow(PAYMENT), find_workflow("leave-request")]
    found = [(flow.id, [row.check for row in rows]) for flow, rows in check_workflows(flows, workers=1)]
    assert found == [
        ("payment", ["payment 0"]),
        ("payment", ["payment 1"]),
        ("leave-request", ["leave-request 0"]),
        ("leave-request", ["leave-request 1"]),
    ]
