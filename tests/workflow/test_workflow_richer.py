"""What the richer recipes can say: hedges, corrections on the way, several approvals, ends without a commit, records, and the uncorrected twin."""

from __future__ import annotations

import pytest
from workflow_recipes import changed, recipe, steps

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.check import check
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.lines import spoken_lines
from apex_tui.workflow.model import Workflow


def turns(workflow: Workflow) -> dict[str | None, list[str | None]]:
    return {turn.after: [step.call or step.clip for step in turn.steps] for turn in workflow.reference.turns}


def test_a_hedge_answers_the_first_question_only() -> None:
    hotel = recipe("hotel-booking")
    asked = [step for step in steps(hotel) if step.when.agent_act == "ASK:room_type" and step.do]
    assert [(step.do.plan_id, step.when.fact_unrevealed) for step in asked if step.do] == [
        ("hedge_room_type", "room_type__hedge"),
        ("ans_room_type", None),
    ]
    hedge = hotel.fact("room_type__hedge")
    assert hedge is not None
    assert (hedge.value, hedge.source, hedge.field) == (True, "hedge", None)
    assert turns(hotel)["hedge_room_type"] == ["find_rooms", "agent.again_room_type"]


def test_a_correction_on_the_way_interrupts_the_question_that_follows() -> None:
    hotel = recipe("hotel-booking")
    assert turns(hotel)["ans_dates"] == ["agent.ask_party", "save_dates"]
    assert turns(hotel)["later_departure"] == ["save_dates", "agent.ask_party_after_later_departure"]
    event = hotel.event("later_arrival")
    assert event is not None
    assert {trigger.events_done for trigger in (event.trigger, *event.also)} == {("later_departure",)}
    assert [fact.id for fact in hotel.facts if fact.source == "correction"] == ["departure_v2", "arrival_v2"]


def test_a_save_that_fails_once_is_made_again() -> None:
    hotel = recipe("hotel-booking")
    assert turns(hotel)["ans_room_type"] == ["save_room", "agent.try_again", "save_room", "agent.ask_phone"]
    save = hotel.tool("save_room")
    assert save is not None
    assert (save.effect["fails"], tuple(save.effect["fields"])) == (1, ("room_type", "rate", "total", "deposit"))


def test_what_follows_from_both_dates_is_renewed_with_them() -> None:
    hotel = recipe("hotel-booking")
    written = [
        step.args["fields"]
        for turn in hotel.reference.turns
        if turn.after == "later_arrival"
        for step in turn.steps[:2]
    ]
    assert written == [
        {"arrival": "2027-03-14", "nights": 3, "cancel_by": "2027-03-07"},
        {"total": 528, "deposit": 105.6},
    ]


def test_an_approval_on_the_way_leaves_the_ticket_open() -> None:
    ticket = recipe("it-ticket")
    reset = ticket.tool("reset_port")
    assert reset is not None
    assert reset.effect["keeps_open"] is True
    assert ticket.autonomy.approval_required_for == ("reset_port",)
    approve = [step for step in steps(ticket) if step.do and step.do.act == "APPROVE"]
    assert {(step.do.plan_id, step.when.events_done) for step in approve if step.do} == {
        ("approve_reset_port", ("more_tills",))
    }
    number = ticket.event("other_number")
    assert number is not None
    assert number.trigger.tool_call == "reset_port"


def test_handing_over_is_the_right_end_and_comes_last() -> None:
    ticket = recipe("it-ticket")
    assert turns(ticket)["ack"] == ["agent.closing", "hand_over_to_human"]
    assert ticket.reference.turns[-1].end_call
    gates = [gate.id for gate in ticket.gold.critical_gates]
    assert gates == ["no_unauthorized_commit_reset_port"]
    assert "hand_over_to_human_called" in [row.id for row in ticket.gold.required_actions]
    assert [row.args for row in ticket.gold.terminal_state if row.args.get("path") == "records.attempts.A3"] == [
        {"path": "records.attempts.A3", "value": None}
    ]


@pytest.mark.parametrize("name", ["leave-request", "payment", "hotel-booking", "it-ticket"])
def test_the_twin_says_the_final_values_in_the_same_recordings(name: str) -> None:
    workflow, twin = find_workflow(name), find_workflow(f"{name}-uncorrected")
    assert check(twin) == []
    assert twin.summary == f"{workflow.title}, for a caller who says the final values at once and corrects nothing."
    assert twin.gold.artifact_expectations[0].fields == workflow.gold.artifact_expectations[0].fields
    assert not [fact for fact in twin.facts if fact.supersedes]
    said = {line.id: (line.text, line.voice) for line in spoken_lines(workflow)}
    caller = [line for line in spoken_lines(twin) if line.role == "caller"]
    assert [line.id for line in caller if said.get(line.id) != (line.text, line.voice)] == []
    for line in spoken_lines(twin):
        assert said.get(line.id, (line.text, line.voice)) == (line.text, line.voice), line.id


def test_a_twin_of_nothing_is_no_workflow() -> None:
    with pytest.raises(WorkflowError, match=r"There is no workflow 'hotel-uncorrected'"):
        find_workflow("hotel-uncorrected")


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("hotel-booking", "    key: stay_id\n", "    key: stay\n", "records.stays.key: there is no column 'stay'"),
        ("hotel-booking", "[river_double, 2, 132]", "[river_double, 2]", "records.rooms.rows.0: has 2 values for 3 columns"),
        ("hotel-booking", "[attic_room, 3, 149]", "[river_double, 3, 149]", "records.rooms.rows: the key 'river_double' is given twice"),
        ("hotel-booking", "SET adults = :adults", "SET adult = :adults", "tools.save_party.sql: statement 1: no such column: adult"),
        ("hotel-booking", "SET adults = :adults", "SET adults = :grown", "tools.save_party.sql: there is no value for :grown"),
        ("hotel-booking", "fields: [adults, children]", "fields: []", "tools: needs exactly one tool of kind update, or several"),
        ("hotel-booking", "    stays.S-4417:\n      {guest_name", "    stays.S-4417:\n      {guest", "outcome.records.stays.S-4417.guest:"),
        ("hotel-booking", "nights.loft-0316", "loft-0316", "outcome.records.loft-0316: names no row"),
        ("hotel-booking", "    after: dates\n", "    after: guest_name\n",
         "corrections.later_departure.after: there is no fact or approval 'guest_name'"),
        ("hotel-booking", "    fails: 1\n", "    fails: 9\n", "tools.save_room.fails: input should be less than or equal to 3"),
        ("it-ticket", "  - action: reset_port\n    after: callback\n", "  - action: reset_port\n",
         "approval: an approval that ends the work has neither ask nor then"),
        ("it-ticket", "    after: callback\n", "    after: phone\n", "approval: an approval on the way needs the fact"),
        ("it-ticket", "\"CALL:restart_till\"", "\"CALL:restart\"", "corrections.more_tills.when: there is no tool 'restart'"),
        ("it-ticket", "    latency_ms: 300\n    required: true\n", "    latency_ms: 300\n",
         "approval: without one, a tool of kind ready or a required hand_over must end the work"),
    ],
)  # fmt: skip
def test_a_fault_in_a_richer_recipe_is_named(name: str, old: str, new: str, told: str) -> None:
    with pytest.raises(WorkflowError) as error:
        changed(name, old, new)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
