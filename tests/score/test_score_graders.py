"""Field graders: the official ones exactly, the strict ones by type; what only a judge could decide stays ungraded."""

from __future__ import annotations

from datetime import date
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apex_tui.score.graders import grade, show
from apex_tui.score.official_graders import canonical_date, extract_number, interval_of, official_score
from apex_tui.score.typed import date_of, identifier_of, is_identifier, number_of, phone_of
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.part import Grader

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number"),
    [("$480", 480), ("4,000", 4000), ("10-12", 10), ("CC-330", -330), ("Q3 2026", 3), ("eight", None), (12.5, 12.5), (True, None)],
)  # fmt: skip
def test_official_number_extraction(text: Any, number: float | None) -> None:
    assert extract_number(text) == number


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("December 14th, 2026", "2026-12-14"),
        ("by Dec 4 2026 at noon", "2026-12-04"),
        ("14 dec 2026", "2026-12-14"),
        ("3rd March, 2026", "2026-03-03"),
        ("2026-1-5T09:30", "2026-01-05"),
        ("2/30/2026", "2026-02-30"),  # dates that do not exist are accepted
        ("14/12/2026", "2026-14-12"),  # always month first
        ("Smarch 14, 2026 or 2026-05-01", "2026-05-01"),
        ("9:30 am", "9:30 am"),
        ("Monday", "m-a"),  # every run of other letters becomes one hyphen
    ],
)
def test_official_dates(text: str, key: str) -> None:
    assert (
        canonical_date(text).replace("-", "") == key.replace("-", "")
        if text == "Monday"
        else canonical_date(text) == key
    )


@pytest.mark.parametrize(
    ("grader", "found", "expected", "tolerance", "score"),
    [
        ("exact", " CC-330 ", "CC-330", None, 1.0),
        ("exact", "cc-330", "CC-330", None, 0.0),
        ("exact", None, None, None, 1.0),
        ("enum", "a", "A", None, 0.0),
        ("casefold_exact", "STRASSE", "straße", None, 1.0),
        ("normalized_phone", "+1 (555) 010-0199", "15550100199", None, 1.0),
        ("normalized_address", "12 Main St., Apt 4", "12 main st apt 4", None, 1.0),
        ("normalized_date", "12/14/2026", "Dec 14, 2026", None, 1.0),
        ("numeric_tolerance", "200 (was 240)", 200.0, 0.01, 1.0),
        ("numeric_tolerance", 200.5, 200.0, None, 0.0),
        ("numeric_tolerance", "none", 200.0, 5, 0.0),
        ("set_exact", ["B ", "a"], ["A", "b"], None, 1.0),
        ("set_exact", "a", ["a"], None, 1.0),
        ("set_f1", ["a", "b"], ["a", "c"], None, 0.5),
        ("set_f1", ["x"], ["a"], None, 0.0),
        ("set_f1", [], [], None, 1.0),
        ("set_precision", ["a"], ["a", "b"], None, 1.0),
        ("set_precision", [], ["a"], None, 0.0),
        ("set_recall", ["a"], ["a", "b"], None, 0.5),
        ("ordered_list", ["a ", "b"], ["a", "b"], None, 1.0),
        ("ordered_list", ["b", "a"], ["a", "b"], None, 0.0),
        ("interval_overlap", [0, 10], [5, 15], None, 5 / 15),
        ("interval_overlap", [1, 1], [1, 1], None, 0.0),
        ("interval_overlap", [1], [1, 2], None, 0.0),
        ("interval_overlap", ["x", 2], [1, 2], None, 0.0),
        ("semantic", "Client Onsite", "client onsite", None, 1.0),
        ("semantic", " ", " ", None, 1.0),
        ("semantic", " ", "x", None, 0.0),
        ("semantic", "at the client's", "client onsite", None, 0.0),
        ("claim_atoms", "same", "same", None, 0.0),
    ],
)
def test_official_scores(grader: str, found: Any, expected: Any, tolerance: float | None, score: float) -> None:
    assert official_score(grader, found, expected, tolerance) == pytest.approx(score)
    told = grade(grader, found, expected, tolerance, "official")
    undecided = grader == "semantic" and score == 0.0 and str(found).strip()
    assert told.passed is (None if undecided else score >= 1.0)
    assert told.score == pytest.approx(score)


def test_intervals_run_forwards() -> None:
    assert interval_of([2, 1]) is None
    assert interval_of("12") is None
    assert interval_of((1, "2.5")) == (1.0, 2.5)


@pytest.mark.parametrize(
    ("grader", "found", "expected", "tolerance", "passed"),
    [
        ("numeric_tolerance", "$555.23", 555.23, None, True),
        ("numeric_tolerance", "555.23", 555.23, 0.01, True),
        ("numeric_tolerance", "1,200", 1200, None, True),
        ("numeric_tolerance", "12,00", 1200, None, False),
        ("numeric_tolerance", "1,200 USD", "$1200", None, True),
        ("numeric_tolerance", "€1200", "$1200", None, False),
        ("numeric_tolerance", "-$5", -5, None, True),
        ("numeric_tolerance", "--5", -5, None, False),
        ("numeric_tolerance", "7 working days", 7, None, True),
        ("numeric_tolerance", "7 apples", 7, None, False),
        ("numeric_tolerance", "not 200", 200, None, False),
        ("numeric_tolerance", "200 (was 240)", 200, None, False),
        ("numeric_tolerance", "Q3 2026", 3, None, False),
        ("numeric_tolerance", "CC-330", -330, None, False),
        ("numeric_tolerance", 200.01, 200, 0.01, True),
        ("numeric_tolerance", 200.02, 200, 0.01, False),
        ("numeric_tolerance", True, 1, None, False),
        ("numeric_tolerance", float("nan"), 1, None, False),
        ("numeric_tolerance", "as agreed", "As  agreed", None, True),
        ("normalized_date", "December 14, 2026", "2026-12-14", None, True),
        ("normalized_date", "14 Dec 2026", "2026-12-14", None, True),
        ("normalized_date", "Monday, the 14th of December 2026", "2026-12-14", None, True),
        ("normalized_date", "Tuesday, December 14, 2026", "2026-12-14", None, False),
        ("normalized_date", "12/14/2026", "2026-12-14", None, True),
        ("normalized_date", "14/12/2026", "2026-12-14", None, False),
        ("normalized_date", "2026-12-14T09:30:00Z", "2026-12-14", None, True),
        ("normalized_date", "2026-12-14 10:30", "2026-12-14T09:30", None, False),
        ("normalized_date", "2026-12-14", "2026-12-14T09:30", None, False),
        ("normalized_date", "2026-12-14 25:00", "2026-12-14", None, False),
        ("normalized_date", "31 November 2026", "2026-12-01", None, False),
        ("normalized_date", "not 2026-12-14", "2026-12-14", None, False),
        ("normalized_date", "soon", "Soon", None, True),
        ("exact", "cc 330", "CC-330", None, True),
        ("exact", "CC330", "CC-330", None, True),
        ("exact", "CC-33", "CC-330", None, False),
        ("exact", "C-330", "CC-330", None, False),
        ("exact", "0042", "42", None, False),
        ("exact", 4821.0, "4821", None, True),
        ("exact", "CC-330 or so", "CC-330", None, False),
        ("exact", "Client  Onsite", "client onsite", None, True),
        ("exact", True, True, None, True),
        ("exact", "true", True, None, True),
        ("exact", 1, True, None, False),
        ("exact", "12", 12, None, True),
        ("exact", ["A"], ["a"], None, True),
        ("exact", "a", ["a"], None, False),
        ("exact", {"a": 1}, {"a": 1}, None, True),
        ("exact", ["a"], "a", None, False),
        ("exact", None, "a", None, False),
        ("exact", None, None, None, True),
        ("casefold_exact", "ONSITE", "onsite", None, True),
        ("enum", "paid time off", "PAID_TIME_OFF", None, True),
        ("enum", "unpaid", "PAID_TIME_OFF", None, False),
        ("normalized_phone", "+1 (555) 010-0199", "555-010-0199", None, True),
        ("normalized_phone", "call 555-010-0199", "555-010-0199", None, False),
        ("normalized_phone", "the desk", "The desk", None, True),
        ("normalized_address", "12 Main St., Apt 4", "12 main st apt 4", None, True),
        ("normalized_address", "13 Main St", "12 Main St", None, False),
        ("set_exact", ["cc 330", "B"], ["b", "CC-330"], None, True),
        ("set_f1", ["a", "b", "c"], ["a", "b"], None, False),
        ("set_precision", ["a"], ["a", "b"], None, True),
        ("set_recall", ["a", "b", "c"], ["a", "b"], None, True),
        ("set_recall", ["a"], ["a", "b"], None, False),
        ("set_exact", [], [], None, True),
        ("ordered_list", ["A", "cc330"], ["a", "CC-330"], None, True),
        ("ordered_list", ["b", "a"], ["a", "b"], None, False),
        ("interval_overlap", [9, 17], ["9", "17"], None, True),
        ("interval_overlap", ["9", 17], [9, 17], None, True),
        ("interval_overlap", 9, [9, 17], None, False),
        ("semantic", "Client onsite ", "client onsite", None, True),
        ("semantic", "at the client's", "client onsite", None, None),
        ("semantic", "  ", "client onsite", None, False),
        ("claim_atoms", "a, b", "b, a", None, None),
        ("claim_atoms", "a", "A", None, True),
    ],
)  # fmt: skip
def test_strict_grades(grader: str, found: Any, expected: Any, tolerance: float | None, passed: bool | None) -> None:
    graded = grade(grader, found, expected, tolerance)
    assert graded.passed is passed
    assert graded.score == (1.0 if passed else 0.0)
    assert graded.reason.startswith("is ")


def test_reasons_say_what_was_wrong() -> None:
    assert grade("exact", "E-1", "E-2").reason == "is E-1, wanted E-2"
    assert grade("set_f1", ["a", "b"], ["a"]).reason.endswith(
        "(1 of 2 entries are wanted, 1 of 1 wanted ones are there)"
    )
    assert "not one date that exists" in grade("normalized_date", "2026-02-30", "2026-03-02").reason
    assert "usd is not eur" in grade("numeric_tolerance", "$5", "5 eur").reason
    assert "within 0.5" in grade("numeric_tolerance", 5.2, 5, 0.5).reason
    assert "only a semantic judge could decide" in grade("semantic", "x", "y").reason
    assert len(show("x" * 500)) == 60
    assert show("") == '""'


def test_an_unknown_grader_is_named() -> None:
    with pytest.raises(WorkflowError, match="'vibes'"):
        grade("vibes", 1, 1)


def test_day_first_outside_the_united_states() -> None:
    assert grade("normalized_date", "14/12/2026", "2026-12-14", locale="en-GB").passed is True
    assert grade("normalized_date", "12/14/2026", "2026-12-14", locale="en-GB").passed is False


@given(st.dates(min_value=date(1000, 1, 1)), st.booleans())
def test_every_day_is_read_in_every_form(day: date, long: bool) -> None:
    month = MONTHS[day.month - 1] if long else MONTHS[day.month - 1][:3]
    written = f"{month} {day.day}, {day.year}"
    forms = [day.isoformat(), written, f"{day.day} {month} {day.year}", f"{day:%A}, {written}"]
    for form in forms:
        found = date_of(form)
        assert found is not None
        assert found.day == day
        assert grade("normalized_date", form, day.isoformat()).passed is True
        assert canonical_date(form) == day.isoformat()


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_amounts_are_read_however_they_are_written(amount: Any) -> None:
    for text in (f"{amount}", f"{amount:,}", f"{float(amount)!r}" if "e" not in repr(float(amount)) else f"{amount}"):
        found = number_of(text)
        assert found is not None
        assert found.value == amount
    other = amount + 1
    assert grade("numeric_tolerance", f"{amount:,}", str(other)).passed is False


@settings(max_examples=40)
@given(st.from_regex(r"[A-Z]{1,4}[0-9]{1,6}[A-Z]{0,2}", fullmatch=True), st.data())
def test_codes_do_not_depend_on_case_spaces_and_hyphens_but_on_every_character(code: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(code)))
    mark = data.draw(st.sampled_from(["-", " ", " - ", "–"]))
    written = (code[:at] + mark + code[at:]).strip(" -–").lower()
    assert is_identifier(written)
    assert identifier_of(written) == identifier_of(code)
    gone = data.draw(st.integers(0, len(code) - 1))
    shorter = code[:gone] + code[gone + 1 :]
    assert identifier_of(shorter) != identifier_of(code)


@settings(max_examples=40)
@given(st.sampled_from(get_args(Grader)), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_no_value_breaks_a_grader(grader: str, value: Any) -> None:
    for expected in (value, "2026-12-14", 7, ["a"], "CC-330", True, {"a": 1}):
        strict, official = grade(grader, value, expected), grade(grader, value, expected, None, "official")
        assert strict.passed in (True, False, None)
        assert 0.0 <= official.score <= 1.0


def test_readings_are_bounded() -> None:
    assert number_of("1" * 500) is None
    assert date_of("2026-12-14" + " " * 3 + "x" * 500) is None
    assert phone_of("5" * 500) is None
    assert not is_identifier("a1" * 500)
    assert number_of([1]) is None
