"""Likeness of recipes and the balance of the set."""

from __future__ import annotations

from apex_tui.trials.similar import MOST_LIKE, balance, likeness, pairs
from apex_tui.workflow.library import find_workflow, list_workflows


def test_a_recipe_is_like_itself_and_its_twin_and_unlike_the_others() -> None:
    ours = [find_workflow(card.id) for card in list_workflows()]
    assert likeness(ours[0], ours[0]) == 1.0
    assert likeness(ours[0], find_workflow(f"{ours[0].id}-uncorrected")) > 0.9
    found = pairs(ours)
    assert len(found) == len(ours) * (len(ours) - 1) // 2
    assert found[0].likeness >= found[-1].likeness
    assert [pair for pair in found if pair.likeness > MOST_LIKE] == []
    assert likeness(ours[0], ours[1]) == likeness(ours[1], ours[0])
    voices = [workflow.caller.voice for workflow in ours]
    assert sorted(set(voices)) == sorted(voices), "a voice belongs to one caller"


def test_the_balance_counts_every_recipe_on_every_axis() -> None:
    names = ["payment", "it-ticket", "hotel-booking"]
    found = balance([find_workflow(name) for name in names])
    assert found["archetype"] == {"COORDINATE": 1, "FORM_FILL": 1, "TROUBLESHOOT": 1}
    assert all(sum(counts.values()) == len(names) for axis, counts in found.items() if axis != "features")
    assert found["features"]["lookup with distractors"] == 3
    assert (found["features"]["identity before data"], found["features"]["ends with a person"]) == (1, 1)
    assert found["features"]["tool that fails"] == 1
