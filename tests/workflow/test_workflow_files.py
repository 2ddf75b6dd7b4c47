"""The door for workflow files: what YAML and JSON can say and nothing here can keep is refused with its line; what people write stays as it is."""

from __future__ import annotations

import re

import pytest

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.files import parse_json, parse_yaml


@pytest.mark.parametrize("as_written", [True, False])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\nb: " + "9" * 5000, "x:2: holds a number beyond 64 bits"),
        ("a: 1\nb: [9223372036854775808]", "x:2: holds a number beyond 64 bits"),
        ("a: !!set {b, c}", "x: holds !!set, which nothing here takes"),
        ("a: !!binary aGVsbG8=", "x: holds !!binary"),
        ("a: !!omap [b: 1]", "x: holds !!omap"),
        ("a: 1\nb: !!bool maybe", "x:2: this is no bool"),
        ("a: 1\nb: !!timestamp soon", "x:2: this is no timestamp"),
        ("a: 1\nb: 0x_", "x:2: this is no int"),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, why: str, as_written: bool) -> None:
    with pytest.raises(WorkflowError, match=re.escape(why)):
        parse_yaml(text, "x", as_written=as_written)


@pytest.mark.parametrize("tail", ["", ".5"])
def test_a_number_to_the_base_of_sixty_takes_no_time(tail: str) -> None:
    text = "a: 1" + ":1" * 60_000 + tail
    with pytest.raises(WorkflowError, match="x:1: holds a number beyond 64 bits"):
        parse_yaml(text, "x")
    assert parse_yaml(text, "x", as_written=True) == {"a": text[3:]}


def test_times_of_day_and_codes_in_a_recipe_are_what_they_look_like() -> None:
    text = "[10:30, 0042, 1:30:00.5, 0b1, 2026-12-14, 7, -5, 1_000, 0x1f, 0, 1.5, .5, yes]"
    as_written = ["10:30", "0042", "1:30:00.5", "0b1", "2026-12-14", 7, -5, 1000, 31, 0, 1.5, 0.5, True]
    assert parse_yaml(text, "x", as_written=True) == as_written
    assert parse_yaml(text, "x")[:3] == [630, 34, 5400.5], "a package is read as its reference reads it"


@pytest.mark.parametrize("text", ["9" * 5000, "[9223372036854775808]"])
def test_numbers_of_json_are_bounded_as_well(text: str) -> None:
    with pytest.raises(WorkflowError, match="number"):
        parse_json(text, "x")
