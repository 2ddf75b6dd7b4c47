"""Questions as agents put them, and the facts that callers of our recipes tell in answer."""

import pytest
from observer_lines import observer, wants

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
