"""Computed fields, spoken forms, clips, snapshots and the library."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workflow_packages import toy
from workflow_recipes import RECIPES, recipe, text_of

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.computed import FUNCTIONS
from apex_tui.workflow.forms import Kind, cardinal, forms, ordinal, spoken, states, without
from apex_tui.workflow.library import find_workflow, list_workflows
from apex_tui.workflow.lines import choosable, choose_variant, clip_id, mark_fault, spoken_lines, without_pauses
from apex_tui.workflow.part import value_key
from apex_tui.workflow.snapshot import digest, from_json, to_json


@pytest.mark.parametrize(
    ("function", "args", "result"),
    [
        ("working_days", {"start": "2026-12-14", "end": "2026-12-18", "holidays": []}, 5),
        ("working_days", {"start": "2026-12-17", "end": "2026-12-23", "holidays": ["2026-12-22"]}, 4),
        ("working_days", {"start": "2026-12-19", "end": "2026-12-20", "holidays": []}, 0),
        ("working_days", {"start": "2026-12-19", "end": "2026-12-21", "holidays": ["2026-12-20"]}, 1),
        ("business_day_on_or_after", {"day": "2026-12-03", "closed": []}, "2026-12-03"),
        ("business_day_on_or_after", {"day": "2026-12-05", "closed": ["2026-12-07"]}, "2026-12-08"),
        ("business_days_after", {"day": "2026-12-03", "days": 1, "closed": []}, "2026-12-04"),
        ("business_days_after", {"day": "2026-12-03", "days": 3, "closed": ["2026-12-07"]}, "2026-12-09"),
        ("business_days_after", {"day": "2026-12-05", "days": 0, "closed": []}, "2026-12-07"),
        ("transfer_arrival", {"day": "2026-12-03", "amount": 500, "limit": 500, "days": 1, "days_above": 3, "closed": []}, "2026-12-04"),
        ("transfer_arrival", {"day": "2026-12-03", "amount": 500.01, "limit": 500, "days": 1, "days_above": 3, "closed": []}, "2026-12-08"),
        ("difference", {"whole": 11, "less": 4}, 7),
        ("difference", {"whole": 0.3, "less": 0.1}, 0.2),
        ("minutes_between", {"start": "01:40", "end": "01:52"}, 12),
        ("minutes_between", {"start": "23:50", "end": "00:05"}, 15),
        ("copied", {"value": "x"}, "x"),
    ],
)  # fmt: skip
def test_computed_fields(function: str, args: dict[str, Any], result: object) -> None:
    assert FUNCTIONS[function](**args) == result


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("working_days", {"start": "2026-12-18", "end": "2026-12-14", "holidays": []}),
        ("working_days", {"start": "2026-12-18", "end": "2999-12-14", "holidays": []}),
        ("working_days", {"start": "soon", "end": "2026-12-14", "holidays": []}),
        ("working_days", {"start": "2026-12-14", "end": "2026-12-18", "holidays": "none"}),
        ("business_days_after", {"day": "2026-12-14", "days": -1, "closed": []}),
        ("difference", {"whole": "11", "less": 4}),
        ("difference", {"whole": True, "less": 4}),
        ("minutes_between", {"start": "24:10", "end": "01:52"}),
    ],
)
def test_arguments_that_do_not_fit(function: str, args: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        FUNCTIONS[function](**args)


def test_numbers_in_words() -> None:
    assert [cardinal(n) for n in (0, 14, 20, 23, 100, 555, 4012, -3)] == [
        "zero", "fourteen", "twenty", "twenty-three", "one hundred", "five hundred fifty-five", "four thousand twelve", "minus three",
    ]  # fmt: skip
    assert [ordinal(n) for n in (1, 2, 3, 5, 8, 9, 12, 20, 23, 30, 31)] == [
        "first", "second", "third", "fifth", "eighth", "ninth", "twelfth", "twentieth", "twenty-third", "thirtieth", "thirty-first",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("date", "2026-12-23", "December twenty-third"),
        ("money", 500, "five hundred dollars"),
        ("money", 555.23, "five hundred fifty-five dollars and twenty-three cents"),
        ("identifier", "E2047", "E two zero four seven"),
        ("phone", "555-0142", "five five five zero one four two"),
        ("integer", 4, "four"),
        ("enum", "on_hold", "on hold"),
        ("text", "Dana Whitfield", "Dana Whitfield"),
    ],
)
def test_a_value_is_said_as_people_say_it_and_found_again(kind: Kind, value: object, said: str) -> None:
    assert spoken(kind, value) == said
    assert any(states(f"Well, {said}, please.", form) for form in forms(kind, value))


@given(st.dates(), st.integers(min_value=0, max_value=99_999_999))
def test_what_is_said_is_always_among_the_forms(day: object, cents: int) -> None:
    pairs: tuple[tuple[Kind, object], ...] = (
        ("date", str(day)),
        ("money", cents / 100),
        ("integer", cents % 1_000_000),
    )
    for kind, value in pairs:
        assert spoken(kind, value) in forms(kind, value)


def test_the_third_is_not_the_thirtieth() -> None:
    third, thirtieth = forms("date", "2026-12-03"), forms("date", "2026-12-30")
    for said in ("on the thirtieth", "December 30", "12/30", "the 30th of December"):
        assert not any(states(said, form) for form in third)
    for said in ("on the third", "December 3", "12/3", "the 3rd of December"):
        assert not any(states(said, form) for form in thirtieth)


def test_a_longer_amount_hides_the_shorter_one() -> None:
    said = "Make it five hundred fifty-five twenty-three."
    assert states(said, "five hundred")
    assert not states(without(said, forms("money", 555.23)), "five hundred")


def test_keys_of_values() -> None:
    assert [value_key(value) for value in (500, 500.0, 555.23, "500", True)] == ["500", "500", "555.23", "500", "True"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("five hundred <pause 2.0s> fifty", None),
        ("plain", None),
        ("a <pause 2s> b", None),
        ("a <pause> b", "a mark that is no pause"),
        ("a <break 1s> b", "a mark that is no pause"),
        ("<pause 1.0s> b", "a pause without words"),
        ("a <pause 0.1s> b", "a pause outside"),
        ("a <pause 31s> b", "a pause outside"),
        (" ", "no words"),
    ],
)
def test_pause_marks(text: str, fault: str | None) -> None:
    found = mark_fault(text)
    assert (found is None) if fault is None else (found is not None and fault in found)


def test_words_without_pauses() -> None:
    assert without_pauses("five hundred <pause 2.0s>  fifty-five") == "five hundred fifty-five"


@pytest.mark.parametrize("name", RECIPES)
def test_a_seed_needs_its_wordings_of_each_plan_and_every_agent_line(name: str) -> None:
    workflow = recipe(name)
    lines = {line.id: line for line in spoken_lines(workflow)}
    assert len(lines) == len(spoken_lines(workflow))
    assert {line.voice for line in lines.values() if line.role == "caller"} == {workflow.caller.voice}
    assert {line.voice for line in lines.values() if line.role == "agent"} == {"heart"}
    assert all(line.id == f"agent.{line.id.removeprefix('agent.')}" for line in lines.values() if line.role == "agent")
    for seed in (1, 2, 3):
        needed = choosable(workflow, seed)
        assert len(set(needed)) == len(needed)
        assert set(needed) <= set(lines)
        plans = [lines[clip].plan for clip in needed if lines[clip].role == "caller"]
        both = [w.user_plan_id for w in workflow.wordings if {"early", "late"} & {v.fits for v in w.variants}]
        assert set(plans) == {wording.user_plan_id for wording in workflow.wordings}
        assert {plan for plan in plans if plans.count(plan) > 1} <= set(both), "two where one is for before its time"
        assert {line.id for line in lines.values() if line.role == "agent"} <= set(needed)
    chosen = choose_variant(workflow, 1, "approve")
    line = lines[clip_id(workflow, "approve", chosen)]
    assert (line.text, line.variant, line.plan) == (chosen.text, chosen.variant_id, "approve")


def test_a_plan_without_wording_cannot_be_chosen() -> None:
    with pytest.raises(WorkflowError, match="the plan 'sing' has no wording"):
        choose_variant(recipe("payment"), 1, "sing")
    other = choose_variant(recipe("payment"), 1, "open")
    with pytest.raises(WorkflowError, match="is no wording of the plan 'approve'"):
        clip_id(recipe("payment"), "approve", other)


def test_agent_lines_of_an_official_package_have_ids() -> None:
    lines = spoken_lines(find_workflow(str(toy())))
    assert [line.id for line in lines if line.role == "agent"] == [f"agent.turn_{number}" for number in range(1, 8)]
    assert {line.voice for line in lines if line.role == "caller"} == {"af_bella"}


@pytest.mark.parametrize("name", [*RECIPES, "toy"])
def test_a_snapshot_is_the_same_workflow(name: str) -> None:
    workflow = find_workflow(str(toy())) if name == "toy" else recipe(name)
    data = json.loads(json.dumps(to_json(workflow)))
    again = from_json(data)
    assert again == workflow
    assert digest(again) == digest(workflow)
    assert len(digest(workflow)) == 64
    assert digest(workflow.model_copy(update={"title": "Another"})) != digest(workflow)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "workflow.json: expected a JSON object"),
        ({"schema_version": 2}, "workflow.json: schema_version: 2 was written by a newer apex-tui"),
        ({"schema_version": "1"}, "workflow.json: schema_version: expected a whole number"),
        ({"id": "x"}, "workflow.json: title: missing"),
    ],
)
def test_a_snapshot_that_cannot_be_used(data: object, told: str) -> None:
    with pytest.raises(WorkflowError) as error:
        from_json(data)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_the_library_lists_the_recipes_quickly() -> None:
    list_workflows()
    began = time.process_time()
    cards = list_workflows()
    took = time.process_time() - began
    found = [(card.id, card.title, card.archetype, card.fields, card.corrections) for card in cards]
    assert [card for card in found if card[2] == "FORM_FILL"] == [
        ("leave-request", "Leave request", "FORM_FILL", 10, 1),
        ("payment", "Payment", "FORM_FILL", 10, 1),
    ]
    assert ("hotel-booking", "Hotel booking", "COORDINATE", 16, 2) in found
    assert all(card.path.name == f"{card.id}.yaml" and card.summary for card in cards)
    assert took < 0.25, "CPU seconds; a tenth of it on a quiet core"


def test_a_name_or_a_path_becomes_a_workflow(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text_of("payment"), encoding="utf-8")
    assert find_workflow("payment") == find_workflow(str(path))
    assert find_workflow(str(toy())).source == "official"
    assert find_workflow(str(toy() / "task.yaml")).id == "toy_form_001"


def test_a_name_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    for name, told in (
        ("paymnet", "did you mean payment?"),
        ("zzzz", "there are heating-advice"),
        ("zzzz.yaml", "zzzz.yaml: there is no such file"),
        (str(tmp_path), "no task.yaml in it"),
        (str(tmp_path / "notes.txt"), "not a recipe"),
    ):
        with pytest.raises(WorkflowError) as error:
            find_workflow(name)
        assert told in str(error.value)
