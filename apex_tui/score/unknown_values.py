"""Dates and long numbers that a read-back states and nobody knows: a value that was made up, and so has no form by which it could be found.

Deliberately narrow, since talk is full of other numbers: a value counts only where exactly one covered field of its kind was not read back, and
exactly one value of that kind was said that neither the workflow (world, records, documents) nor the session knows. Made-up amounts, plain
numbers and texts are not found. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

from apex_tui.score.typed import date_of
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.spoken_numbers import MONTHS, tokens
from apex_tui.workflow.work_model import FieldSpec

LEAST_DIGITS = 5
"""Shorter runs of digits are years, amounts and times as well as codes."""
Known = frozenset[str]
"""``december 14`` for dates, ``5550142`` for runs of digits."""


def values_of(text: str) -> set[str]:
    """The dates (month and day) and the long runs of digits in a text."""
    words = tokens(text, commas=False)
    dates = {f"{word} {day}" for word, day in pairwise(words) if word in MONTHS and day.isdigit()}
    return dates | {word for word in words if word.isdigit() and len(word) >= LEAST_DIGITS}


def known_of(workflow: Workflow) -> Known:
    """What the workflow itself mentions anywhere."""
    parts = [
        json.dumps(
            [workflow.world, {name: table.model_dump(mode="json") for name, table in workflow.records.items()}],
            default=str,
        )
    ]
    parts += [document.text for document in workflow.documents]
    return frozenset(value for part in parts for value in values_of(part))


def made_up(
    heard: str,
    covered: Mapping[str, Any],
    stated: Collection[str],
    specs: Mapping[str, FieldSpec],
    known: Callable[[], Collection[str]],
) -> Iterator[tuple[str, str]]:
    """(path, what was said) for each covered field in whose place something unknown was read back.

    ``stated``: the paths whose values the read-back states. ``known``: tells what the workflow and the session mention; it is only asked when a
    field of that kind was left out, since approvals are flagged while frames are paced.
    """
    said = values_of(heard)
    for dates in (True, False):
        missing = {
            path: form
            for path, value in covered.items()
            if path not in stated and _is_date(specs.get(path)) == dates and (form := _form(value, dates))
        }
        of_kind = {value for value in said if (" " in value) == dates}
        strange = of_kind.difference(known()) if missing and of_kind else set()
        if len(strange) != 1:
            continue
        (value,) = strange
        alike = [path for path, form in missing.items() if dates or len(form) == len(value)]
        if len(alike) == 1 and missing[alike[0]] != value:
            yield alike[0], value.capitalize()


def _is_date(spec: FieldSpec | None) -> bool:
    return spec is not None and spec.grader == "normalized_date"


def _form(value: Any, date: bool) -> str:
    """A value as `values_of` finds it in speech; empty: it is no date, or no long number."""
    if date:
        day = date_of(value)
        return f"{MONTHS[day.day.month - 1]} {day.day.day}" if day is not None else ""
    digits = "".join(char for char in str(value) if char.isdigit())
    return digits if isinstance(value, str) and len(digits) >= LEAST_DIGITS else ""
