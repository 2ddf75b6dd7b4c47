"""Questions as agents put them, and the facts that callers of our recipes tell in answer."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from observer_lines import observer, wants, workflow

from apex_tui.workflow.library import LIBRARY

ASKED = {
    "arrears-plan": {
        "How much could you pay a month?": "instalments",
        "Over how many months shall we spread the rest?": "asked_instalments",
        "In how many monthly instalments would you like to pay the rest?": "asked_instalments",
        "So fifteen would be 49 dollars a month. Would that work for you?": "instalments",
        "What number can we reach you on for a reminder?": "phone",
    },
    "band-agreement": {
        "How many sound panels does the cellar need?": "panels",
        "The sound panels. How many do you need?": "panels",
        "Which evening would be the first under the agreement?": "from_day",
        "Which evenings would you offer?": "evenings",
    },
    "charge-point": {"What's the number on the charge point?": "post", "Where are you?": "post"},
    "feast-enquiry": {
        "Where will it take place?": "venue_code",
        "Have you got a venue in mind?": "venue_code",
        "When is the dinner?": "day",
        "What date is it for?": "day",
        "How many of them eat no meat?": "vegetarians",
        "What may it cost per head?": "budget",
    },
    "forklift-statement": {
        "Who was driving?": "witness_name",
        "Please tell me in your own words what happened.": "bay",
        "What happened to her?": "injury",
    },
    "heating-advice": {
        "Do you have a quote from an installer?": "offer_sum",
        "Is there a plate on the boiler with a year on it?": "boiler_year",
    },
    "lime-advice": {"What would you like to grow there?": "crop"},
    "outbreak-interview": {
        "When did the illness begin?": "onset",
        "When did you fall ill?": "onset",
        "What time did it start?": "onset",
        "When did you first feel unwell?": "onset",
        "When did your symptoms begin?": "onset",
        "What are your symptoms?": "signs",
        "Where do you work?": "workplace",
        "Which day may we fetch a sample from you?": "sample_day",
    },
    "payment": {
        "To which date would you like to move it?": "payment_date",
        "To move it, I need your customer number.": "customer_number",
        "What's the payment for?": "reference",
    },
    "playground-inspection": {"What did you find?": "surface", "Can you check the other pegs?": "depth_mm"},
    "print-deal": {
        "Within how many days could you pay?": "payment_days",
        "When can you pay?": "payment_days",
        "Will you collect it or shall we send it by courier?": "delivery",
    },
    "venue-walkthrough": {
        "What does it say next to the yellow lamp?": "panel",
        "How many exits open fully?": "usable_exits",
    },
}


@pytest.mark.parametrize(("name", "line", "field"), [(n, q, f) for n, rows in ASKED.items() for q, f in rows.items()])
def test_a_question_asks_for_one_field(name: str, line: str, field: str) -> None:
    found = observer(name).read_words(line, line, True, wants(name, False))
    assert [reading.key for reading in found] == [f"ASK:{field}"]


def test_a_way_out_before_a_request_to_go_ahead_leaves_it_one() -> None:
    line = "Do you want to change the delivery, or shall I send it?"
    found = observer("print-deal").read_words(line, line, True, wants("print-deal", False))
    assert [reading.key for reading in found] == ["REQUEST_APPROVAL:close_deal"]


QUESTIONS: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "data" / "questions.yaml").read_text(encoding="utf-8")
)


def facts_of(name: str) -> dict[str, str]:
    """Field -> the fact that tells it."""
    (path,) = LIBRARY.glob(f"*/{name}.yaml")
    facts = yaml.safe_load(path.read_text(encoding="utf-8"))["facts"]
    return {field: key for key, fact in facts.items() for field in fact["fills"]}


@pytest.mark.parametrize("name", sorted(path.stem for path in LIBRARY.glob("*/*.yaml")))
def test_questions_as_agents_put_them_are_answered(name: str) -> None:
    telling, groups = facts_of(name), QUESTIONS[name]
    assert set(groups) - {"several", "nothing"} == set(telling.values())
    opened = {fact.id for fact in workflow(name).facts if fact.reveal.may_volunteer}
    wanted = {line: {key} for key, lines in groups.items() if key not in ("several", "nothing") for line in lines}
    wanted |= {line: set(keys.split()) for line, keys in groups["several"].items()}
    wanted |= {line: set() for line in groups["nothing"]}
    wrong = {}
    for line, facts in wanted.items():
        read = observer(name).read_words(f"asked {line}", line, True, wants(name, False), set(telling) - opened)
        asked = {telling[r.key[4:]] for r in read if r.key.startswith("ASK:") and r.key[4:] in telling}
        taken = {r.key for r in read if r.key.startswith(("MISREAD", "REQUEST_APPROVAL"))}
        yes = {
            telling.get(r.key[8:]) for r in read if r.key.startswith("CONFIRM:")
        }  # "is it annual leave?", which was told
        if taken or (asked != facts and (asked or yes != facts)):
            wrong[line] = sorted(asked | taken)
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "line", "untold", "keys"),
    [
        ("lift-plan", "Are you using mats?", {"ground"}, ["ASK:ground"]),
        ("lift-plan", "Are you using mats?", set(), ["CONFIRM:ground"]),
        ("print-deal", "Could you pay within ten days?", {"payment_days"}, ["ASK:payment_days"]),
        ("pallet-freight", "Shall I take Harland or Brightline?", set(), ["ASK:carrier"]),
        ("pallet-freight", "That's Harland, or did I mishear?", set(), ["CONFIRM:carrier"]),
        ("print-deal", "Do you want us to send them by courier?", {"delivery"}, ["ASK:delivery"]),
        ("water-damage", "Should we send it by text, letter or email?", set(), ["ASK:confirm_by"]),
        ("water-damage", "Where shall I send the confirmation?", {"confirm_by"}, ["ASK:confirm_by"]),
        ("lift-plan", "When do you want to lift?", {"start_time"}, ["ASK:start_time"]),
        ("vet-appointment", "Which of the two would you like?", {"first_choice"}, ["ASK:first_choice"]),
    ],
)
def test_what_a_question_proposes_or_offers_is_no_read_back(
    name: str, line: str, untold: set[str], keys: list[str]
) -> None:
    found = observer(name).read_words(f"{line} {untold}", line, True, wants(name, False), untold)
    assert [reading.key for reading in found] == keys
