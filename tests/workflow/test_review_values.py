"""Values as they are typed on one line of the review: whatever a value holds, the line gives back the same."""

from __future__ import annotations

import pytest

from apex_tui.timeline.errors import UserError
from apex_tui.workflow.part import Value
from apex_tui.workflow.review import values_of, values_text

AWKWARD: dict[str, Value] = {
    "place": "Gate 3, west side", "said": 'so "ready", he said\\', "digits": "2", "count": 2, "share": 0.5, "ok": True, "word": "true",
    "none": None, "empty": "", "lead": " x", "lines": "a\nb", "sum": "a = b", "phone": "0142", "mid": 'a "b" c', "name, odd": '"q"',
    "hidden": "\u202ex", "umlaut": "Zoë, Gül",
}  # fmt: skip


def test_what_a_value_holds_survives_the_line_on_which_it_is_edited() -> None:
    text = values_text(AWKWARD)
    assert values_of(text) == AWKWARD
    assert values_of(values_text(values_of(text))) == AWKWARD
    assert text.isprintable()
    assert text.startswith('place = "Gate 3, west side", said = ')
    assert (
        values_text({"day": "2026-12-14", "seats": 2}) == "day = 2026-12-14, seats = 2"
    )  # quotes only where they are needed


@pytest.mark.parametrize("text", ["abc", 'a = "x', 'a = "x" y', "= 3", "a = 1, west side", 'a = "\\q"'])
def test_what_cannot_be_read_is_said_and_nothing_is_guessed(text: str) -> None:
    with pytest.raises(UserError):
        values_of(text)
