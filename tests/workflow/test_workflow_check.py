"""Static checks: silent for sound workflows, one sentence for each thing that does not hold together."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_packages import toy
from workflow_recipes import RECIPES, changed, recipe

from apex_tui.workflow.check import check
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package
from apex_tui.workflow.snapshot import from_json, to_json


@pytest.mark.parametrize("name", RECIPES)
def test_our_recipes_hold_together(name: str) -> None:
    assert check(recipe(name)) == []


def test_the_official_toy_package_holds_together() -> None:
    assert check(read_package(toy())) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "found"),
    [
        ("leave-request", "    working_days: 4\n", "    working_days: 5\n", "The gold expects working_days to be 5, and the reference writes 4."),
        ("payment", "    amount: 555.23\n", "    amount: 500\n", "The gold expects amount to be 500, and the reference writes 555.23."),
        ("leave-request", "  - \"Great, thanks a lot. Bye.\"", "  - \"Great, so from the fourteenth. Bye.\"",
         "The wording close#v1 states the value of start_date, which it may not reveal."),
        ("leave-request", "I need the seventeenth to the twenty-third.", "Not the fourteenth, the seventeenth to the twenty-third.",
         "The wording change_dates#v1 states the value of start_date, which was superseded."),
        ("leave-request", "\"E, two oh four seven.\"", "\"I don't have it here.\"",
         "The wording ans_employee_id#v2 does not state employee_id (E2047) in a form that is known."),
        ("leave-request", "\"Uh-huh.\"", "\"Mm-hm.\"", "The plan listening has one wording only; give it two or more."),
        ("leave-request", "ask: Got it. Who will cover for you?", "ask: Got it. Anything else?",
         "The question 'Got it. Anything else?' names none of handover_to."),
        ("leave-request", "ask: Which dates would", "ask: What's your employee number, and which dates would",
         "also names employee_id, so it would be answered as well."),
        ("leave-request", "when: [\"CONFIRM:start_date\", \"CONFIRM:end_date\"]", "when: [\"CONFIRM:contact_during_leave\"]",
         "No line of the reference reads back contact_during_leave, so change_dates never happens."),
        ("leave-request", "onset_ms: [5700, 7600]", "onset_ms: [5700, 64000]",
         "The line agent.read_back may end before change_dates begins (64000 ms); make it longer."),
        ("leave-request", "query: leave policy working days company calendar offices holidays", "query: receipts trips travel",
         "The gold document leave_policy is found by no search of the reference."),
        ("payment", "      - {call: get_payment, args: {entity_id: \"{customer_number}\"}}\n", "", "The tool get_payment is used by nothing."),
        ("payment", "when: {tool_call: get_payment}", "when: {tool_call: get_pay}",
         "The event listening waits for the tool get_pay, which does not exist."),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_found(name: str, old: str, new: str, found: str) -> None:
    findings = check(changed(name, old, new))
    assert any(found in finding for finding in findings), findings


def _edited(workflow: Workflow, *path: str | int, value: Any) -> Workflow:
    data = to_json(workflow)
    part: Any = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return from_json(data)


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        (("gold", "required_actions", 0, "kind"), "agent_was_nice", "is of the kind agent_was_nice, which is unknown."),
        (("gold", "terminal_state", 0, "args", "artifact_id"), "form", "names the artifact form, which does not exist."),
        (("gold", "artifact_expectations", 0, "fields", 0, "field"), "staff", "The gold expects leave_form.staff, which does not exist."),
        (("gold", "precedence", 0, "before"), "ask", "The gold order names the tool ask, which does not exist."),
        (("facts", 0, "reveal"), {}, "The fact leave_type has no reveal rule, so it can never be told."),
        (("facts", 6, "supersedes"), "nothing", "supersedes nothing, which does not exist."),
        (("facts", 0, "field"), "leave_form.kind", "The fact leave_type fills leave_form.kind, which does not exist."),
        (("flow", "states", "CALL", "transitions", 4, "do", "facts"), ["kind"], "tells the fact kind, which does not exist."),
        (("flow", "states", "CALL", "transitions", 0, "when", "external_event"), "change", "waits for the event change, which does not exist."),
        (("flow", "states", "CALL", "transitions", 2, "do", "approves"), "submit", "is about the action submit, which no tool commits."),
        (("flow", "states", "CALL", "transitions", 4, "when", "agent_act"), "ASK:kind",
         "waits for ASK:kind, which nothing in the observer can tell."),
        (("flow", "states", "DONE", "terminal"), False, "No state of the dialogue is terminal"),
        (("events", 0, "expected_repairs"), ["leave_form.kind"], "expects a repair of leave_form.kind, which does not exist."),
        (("events", 1, "trigger"), {}, "The event listening has an empty trigger, so it happens at once."),
        (("tools", 2, "effect", "artifact_id"), "form", "The tool update_leave_form writes to form, which does not exist."),
        (("tools", 4, "effect", "set_fields"), {"state": "x"}, "sets leave_form.state, which does not exist."),
        (("autonomy", "approval_required_for"), ["send"], "Approval is required for send, which no tool commits."),
        (("documents", 2, "distractor"), False, "The document plant_calendar_2026 is neither gold nor"),
        (("wordings", 0, "variants", 0, "text"), "Hello.", "is not the text that its checksum was made for."),
        (("wordings", 0, "variants"), [], "The plan open has no wording."),
        (("reference", "turns"), [], "There is no reference solution."),
        (("reference", "turns", 1, "after"), "ans_nothing", "waits for the plan ans_nothing, which nobody says."),
        (("reference", "turns", 1, "steps", 0, "call"), "write", "The reference calls write, which does not exist."),
    ],
)  # fmt: skip
def test_a_broken_workflow_is_found(path: tuple[str | int, ...], value: Any, found: str) -> None:
    findings = check(_edited(recipe("leave-request"), *path, value=value))
    assert any(found in finding for finding in findings), findings


def test_a_question_that_brings_back_a_superseded_value_is_found() -> None:
    leave = recipe("leave-request")
    kept = [
        step.model_dump(mode="json")
        for step in leave.flow.states["CALL"].transitions
        if not (step.when.agent_act == "ASK:start_date" and step.when.events_done)
    ]
    findings = check(_edited(leave, "flow", "states", "CALL", "transitions", value=kept))
    assert (
        "After change_dates, ASK:start_date is still answered with start_date, which start_date_v2 supersedes."
        in findings
    )


def test_free_form_arguments_of_a_package_may_hold_anything() -> None:
    leave = recipe("leave-request")
    for path, value in (
        (("tools", 2, "effect"), {"artifact_id": ["x"], "set_fields": 3}),
        (("gold", "terminal_state", 0, "args"), {"artifact_id": {"a": 1}, "field": [1]}),
        (("reference", "turns", 5, "steps", 1, "args"), {"query": 3, "top_k": "many", "fields": "x"}),
    ):
        assert check(_edited(leave, *path, value=value))
