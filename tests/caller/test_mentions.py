"""How a value stands in a sentence, case by case."""

from __future__ import annotations

import pytest

from apex_tui.caller.mentions import called_old, denied, is_offered, offers, only_for, stands
from apex_tui.workflow.spoken_numbers import canonical


def standing(form: str, sentence: str, tail: str | None = None) -> bool:
    words, form = canonical(sentence), f" {form} "
    at = words.index(form)
    return stands(form, words[: at + 1], words[at + len(form) - 1 :], tail)


@pytest.mark.parametrize(
    ("form", "sentence", "said"),
    [
        ("annual leave", "So it is annual leave.", True),
        ("annual leave", "You have eleven days of annual leave.", False),
        ("annual leave", "Your annual leave balance is eleven.", False),
        ("annual leave", "That is the annual leave policy.", False),
        ("checking", "From checking, please.", True),
        ("checking", "Checking.", True),
        ("checking", "From checking on the third.", True),
        ("checking", "I'm checking.", False),
        ("checking", "Checking that for you.", False),
        ("the 3", "So on the third.", True),
        ("the 3", "On the third business day.", False),
        ("december 3", "December third business trip.", True),
    ],
)
def test_a_value_is_said_or_only_mentioned(form: str, sentence: str, said: bool) -> None:
    assert standing(form, sentence) is said


@pytest.mark.parametrize(
    ("form", "prefix", "tail", "said"),
    [
        ("the 3", "so on the third", "", True),
        ("the 3", "so on the third", "bus", False),
        ("the 3", "so on the third", "please", True),
        ("annual leave", "annual leave", "", False),
        ("annual leave", "annual leave from december", "", True),
    ],
)
def test_an_incomplete_sentence_waits_until_it_cannot_turn(form: str, prefix: str, tail: str, said: bool) -> None:
    assert standing(form, prefix, tail) is said


@pytest.mark.parametrize(
    ("sentence", "asks", "old"),
    [
        ("It was five hundred.", False, True),
        ("It was five hundred, right?", True, False),
        ("Before that was five hundred.", False, True),
        ("Before I submit it, five hundred dollars.", False, False),
        ("Instead of the fourteenth.", False, True),
        ("I've taken it out, the fourteenth.", False, True),
        ("So it is the fourteenth.", False, False),
        ("I hold the fourteenth.", False, False),
    ],
)
def test_a_sentence_can_call_a_value_old(sentence: str, asks: bool, old: bool) -> None:
    assert called_old(sentence, asks=asks) is old


def test_a_denial_stands_near() -> None:
    assert denied(" so not the ")
    assert not denied(" not a problem so that is ")


def test_several_values_are_offered() -> None:
    choices = (" checking ", " savings ")
    words = canonical("from checking or savings")
    assert is_offered(" checking ", words, " from ", " or savings ", choices)
    assert offers(words, choices)
    assert not offers(canonical("from checking or not"), choices)
    words = canonical("was that 500 or 550")
    assert is_offered(" 500 ", words, " was that ", " or 550 ", ())
    assert is_offered(" 550 ", words, " was that 500 or ", " ", ())
    assert not is_offered(" 500 ", canonical("500 or not"), " ", " or not ", ())
    assert not is_offered(" 500 ", canonical("is it 500"), " is it ", " ", ())


def test_an_occasion_is_not_said() -> None:
    assert only_for(" what dates for your ")
    assert not only_for(" is it ")
