"""A value that the caller's words are easily taken for is a misreading, as one that no longer holds is."""

from __future__ import annotations

import pytest

from apex_tui.caller.observer import ActObserver
from apex_tui.workflow.library import find_workflow

WANTS = {"payment_order.payment_date": "2026-12-03", "payment_order.amount": 500}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("So it goes out on December thirtieth.", ["MISREAD:payment_date"]),
        ("So it goes out on December 30th.", ["MISREAD:payment_date"]),
        ("So it goes out on December third.", ["CONFIRM:payment_date"]),
        ("Not December thirtieth, December third.", ["CONFIRM:payment_date"]),
        ("It was set for November thirtieth.", []),
        ("That is five hundred fifty-five dollars and twenty-three cents.", []),  # told later: no mishearing
    ],
)
def test_what_a_mishearing_reads_as(text: str, keys: list[str]) -> None:
    read = ActObserver(find_workflow("payment")).read_words("r", text, True, WANTS)
    assert [reading.key for reading in read] == keys
