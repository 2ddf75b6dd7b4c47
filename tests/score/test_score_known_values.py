"""Which values a text states."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from work_scenes import Scene, order

from apex_tui.score.known_values import KnownValues
from apex_tui.workflow.caller_model import CallerFact, Observer
from apex_tui.workflow.forms import forms
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ArtifactSchema, ArtifactSpec, FieldSpec

KNOWN = KnownValues(order())


def with_fields(*fields: FieldSpec, lexicon: dict[str, tuple[str, ...]] | None = None) -> Workflow:
    held = ArtifactSpec(shape=ArtifactSchema(artifact_type="FORM", fields=fields))
    return order(artifacts={"order": held}, facts=(), observer=Observer(lexicon=lexicon or {}))


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("", {}),
        ("That is $555.23.", {"amount": (555.23,)}),
        ("Five hundred fifty-five twenty-three, then.", {"amount": (555.23,)}),
        ("It was five hundred. Now it is $555.23.", {"amount": (500, 555.23)}),
        ("Not the thirtieth, the third.", {"day": ("2026-12-30", "2026-12-03")}),
        ("On December third, from checking.", {"day": ("2026-12-03",), "account": ("checking",)}),
        ("Number four oh seven, one nine three.", {"customer": ("407193",)}),
        ("Your number is 407-193, right?", {"customer": ("407193",)}),
        ("I have 4 zero 7 193 here.", {"customer": ("407193",)}),
        ("That would be six hundred dollars.", {}),
        ("We have 500.5 of them and 1,500 more.", {}),
    ],
)
def test_what_a_text_states(text: str, stated: dict[str, tuple[Any, ...]]) -> None:
    assert KNOWN.stated(text, {}) == {f"order.{name}": values for name, values in stated.items()}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(("date", "money")), st.dates(date(2000, 1, 1), date(2039, 12, 31)), st.integers(100_00, 999_999_99)
)
def test_every_form_of_a_value_states_it(kind: Any, day: date, cents: int) -> None:
    assume(day not in (date(2026, 12, 3), date(2026, 12, 30)))  # the workflow lists fewer forms of its own dates
    field, value = ("day", day.isoformat()) if kind == "date" else ("amount", cents / 100)
    known = KnownValues(order())
    known.add(f"order.{field}", value)
    for form in forms(kind, value):
        text = f"So that makes {form}, okay?"
        if form in ("the third", "the thirtieth", "the 3rd", "the 30th"):
            continue  # the workflow's own dates say the same
        found = known.stated(text, {f"order.{field}": value})[f"order.{field}"]
        assert any(known.same(f"order.{field}", value, one) for one in found)


def test_a_lone_small_number_needs_the_name_of_its_field() -> None:
    workflow = with_fields(
        FieldSpec(name="days", type="integer", grader="numeric_tolerance"), lexicon={"days": ("working days",)}
    )
    known = KnownValues(workflow)
    for value in (5, "7 working days", 25):
        known.add("order.days", value)
    assert known.stated("I have five here. That is twenty-five, or 5, or 25.", {}) == {}
    assert known.stated("So five working days.", {}) == {"order.days": (5,)}
    assert known.stated("Twenty-five working days.", {}) == {"order.days": (25,)}
    assert known.stated("Seven working days.", {}) == {"order.days": ("7 working days",)}


def test_a_form_of_two_fields_belongs_to_the_one_that_holds_it_or_is_named() -> None:
    first, last = (FieldSpec(name=name, grader="normalized_date") for name in ("first", "last"))
    known = KnownValues(with_fields(first, last, lexicon={"last": ("last day",)}))
    for name in ("first", "last"):
        known.add(f"order.{name}", "2026-12-17")
    said = "It is December seventeenth."
    assert known.stated(said, {}) == {}
    assert known.stated(said, {"order.first": "December 17, 2026"}) == {"order.first": ("2026-12-17",)}
    assert known.stated("Your last day is December seventeenth.", {}) == {"order.last": ("2026-12-17",)}


def test_values_of_any_kind_can_be_made_known() -> None:
    fields = (
        FieldSpec(name="code"),
        FieldSpec(name="when", grader="normalized_date"),
        FieldSpec(name="sum", type="number", grader="numeric_tolerance"),
        FieldSpec(name="topics", grader="set_exact"),
    )
    known = KnownValues(with_fields(*fields))
    values: dict[str, Any] = {"code": "Blue Harbor", "when": "next spring", "sum": -1200, "topics": ["a", "b"]}
    for name, value in values.items():
        known.add(f"order.{name}", value)
        known.add("order.nothing", value)
    for odd in (None, True, "", "   ", "x" * 300, "more than a dollar"):
        known.add("order.sum", odd)
    text = "The blue harbor, next spring, for -1200 or more than a dollar."
    assert known.stated(text, {}) == {
        "order.code": ("Blue Harbor",),
        "order.when": ("next spring",),
        "order.sum": (-1200, "more than a dollar"),
    } or set(known.stated(text, {})) == {"order.code", "order.when", "order.sum"}


def test_equality_is_the_graders() -> None:
    assert KNOWN.same("order.day", "December 3, 2026", "2026-12-03")
    assert KNOWN.same("order.amount", "$555.23", 555.23)
    assert not KNOWN.same("order.amount", 555.24, 555.23)
    assert not KNOWN.same("order.amount", None, None)
    assert KNOWN.same("elsewhere.x", 1, 1)
    assert not KNOWN.same("elsewhere.x", 1, 2)


def test_a_package_without_forms_is_read_by_its_facts() -> None:
    facts = (
        CallerFact(id="amount", value=500),
        CallerFact(id="new", value=700, supersedes="amount"),
        CallerFact(id="ring", value=800, supersedes="ring2"),
        CallerFact(id="ring2", value=900, supersedes="ring"),
    )
    known = KnownValues(order(facts=facts, observer=Observer()))
    assert known.stated("From 500 dollars to seven hundred, not 900.", {}) == {"order.amount": (500, 700)}
    assert known.path_of("order.amount") == known.path_of("amount") == "order.amount"
    assert known.path_of("shoe") is None


def test_a_session_teaches_what_was_said_and_written_once() -> None:
    state = Scene(amounts=(987.65,)).case().state
    known = KnownValues(order())
    assert known.stated("That is 987 dollars and 65 cents", {}) == {}
    for _ in range(2):
        known.learn(state)
        assert known.stated("It is $987.65.", {}) == {"order.amount": (987.65,)}
