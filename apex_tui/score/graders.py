"""Whether a value is what was wanted, by strict or official rules, with one sentence that says why.

Strict rules read a value whole and by its type (`typed`); what only a judge could decide is *ungraded* (None), never passed or failed in
silence. Official rules are those of the reference format (`official_graders`), without its judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NamedTuple, get_args

from apex_tui.score.official_graders import official_score
from apex_tui.score.official_judge import ASKED
from apex_tui.score.typed import (
    address_of,
    date_of,
    identifier_of,
    is_identifier,
    number_of,
    phone_of,
    text_of,
    words_of,
)
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.part import Grader

Grading = Literal["strict", "official"]
UNGRADED = "ungraded: only a semantic judge could decide"
_SHOWN = 60


class Grade(NamedTuple):
    """``passed`` None: ungraded. ``score``: 0 to 1, as the reference counts it (strict: 1 or 0)."""

    passed: bool | None
    reason: str
    score: float


def show(value: Any) -> str:
    """A value as it stands in a reason: short, on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return (text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…") or '""'


def grade(
    grader: str,
    found: Any,
    expected: Any,
    tolerance: float | None = None,
    grading: Grading = "strict",
    locale: str = "en-US",
) -> Grade:
    """Grade a value that is there against the wanted one.

    Raises:
        WorkflowError: there is no such grader.
    """
    if grader not in get_args(Grader):
        raise WorkflowError(f"there is no grader {grader!r}: use one of {', '.join(get_args(Grader))}")
    if grading == "official":
        return _official(grader, found, expected, tolerance)
    if found is None or expected is None:
        return _told(found is expected, found, expected)
    if grader == "numeric_tolerance":
        return _numeric(found, expected, tolerance)
    if grader == "normalized_date":
        return _date(found, expected, locale)
    return _STRICT[grader](found, expected)


def _official(grader: str, found: Any, expected: Any, tolerance: float | None) -> Grade:
    """Without its judge a miss scores 0. Where the judge is the grader itself the value is ungraded; elsewhere the reason names the judge."""
    score = official_score(grader, found, expected, tolerance)
    if score >= 1.0 or grader not in ASKED or not str(found).strip():
        return _told(score >= 1.0, found, expected, score=score)
    if grader == "semantic":
        return Grade(None, f"is {show(found)}, wanted {show(expected)}: {UNGRADED}", 0.0)
    return _told(False, found, expected, "the reference's judge was not asked", score)


def _told(passed: bool, found: Any, expected: Any, why: str = "", score: float | None = None) -> Grade:
    tail = f" ({why})" if why else ""
    sentence = f"is {show(found)}, as wanted{tail}" if passed else f"is {show(found)}, wanted {show(expected)}{tail}"
    return Grade(passed, sentence, float(passed) if score is None else score)


def _numeric(found: Any, expected: Any, tolerance: float | None) -> Grade:
    left, right = number_of(found), number_of(expected)
    if right is None:
        return _told(_same_text(found, expected), found, expected, "the wanted value is no number: compared as text")
    if left is None:
        return _told(False, found, expected, "not one whole number")
    if left.unit and right.unit and left.unit != right.unit:
        return _told(False, found, expected, f"{left.unit} is not {right.unit}")
    allowed = Decimal(str(tolerance or 0))
    close = abs(left.value - right.value) <= allowed
    return _told(close, found, expected, f"within {allowed}" if allowed and close and left.value != right.value else "")


def _date(found: Any, expected: Any, locale: str) -> Grade:
    left, right = date_of(found, locale), date_of(expected, locale)
    if right is None:
        return _told(_same_text(found, expected), found, expected, "the wanted value is no date: compared as text")
    if left is None:
        return _told(False, found, expected, "not one date that exists")
    return _told(left.day == right.day and right.at in (None, left.at), found, expected)


def _same_text(found: Any, expected: Any) -> bool:
    return text_of(found).casefold() == text_of(expected).casefold()


def _same(found: Any, expected: Any) -> bool:
    """Equality by the type of what is wanted: truth value, number, code, list, or text without case."""
    if isinstance(expected, bool) or isinstance(found, bool):
        return text_of(found).casefold() == text_of(expected).casefold()
    if isinstance(expected, int | float):
        left, right = number_of(found), number_of(expected)
        return left is not None and right is not None and left.value == right.value
    if isinstance(expected, list | tuple):
        listed = isinstance(found, list | tuple) and len(found) == len(expected)
        return listed and all(map(_same, found, expected))
    if isinstance(expected, dict) or isinstance(found, dict | list | tuple):
        return bool(found == expected)
    if is_identifier(expected):
        return is_identifier(found) and identifier_of(found) == identifier_of(expected)
    return _same_text(found, expected)


def _exact(found: Any, expected: Any) -> Grade:
    return _told(_same(found, expected), found, expected)


def _enum(found: Any, expected: Any) -> Grade:
    return _told(words_of(found) == words_of(expected), found, expected)


def _phone(found: Any, expected: Any) -> Grade:
    left, right = phone_of(found), phone_of(expected)
    if right is None:
        return _told(_same_text(found, expected), found, expected, "the wanted value is no telephone number")
    return _told(left == right, found, expected, "" if left else "not one telephone number")


def _address(found: Any, expected: Any) -> Grade:
    return _told(address_of(found) == address_of(expected), found, expected)


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _covered(items: list[Any], by: list[Any]) -> int:
    return sum(1 for item in items if any(_same(item, other) or _same(other, item) for other in by))


def _sets(need_precision: bool, need_recall: bool) -> Callable[[Any, Any], Grade]:
    def graded(found: Any, expected: Any) -> Grade:
        left, right = _items(found), _items(expected)
        right_ones, reached = _covered(left, right), _covered(right, left)
        passed = (right_ones == len(left) or not need_precision) and (reached == len(right) or not need_recall)
        why = f"{right_ones} of {len(left)} entries are wanted, {reached} of {len(right)} wanted ones are there"
        return _told(passed, found, expected, why)

    return graded


def _ordered(found: Any, expected: Any) -> Grade:
    return _told(_same(_items(found), _items(expected)), found, expected)


def _interval(found: Any, expected: Any) -> Grade:
    pair = isinstance(found, list | tuple) and len(found) == 2
    return _told(
        pair and _same(list(found), list(_items(expected))), found, expected, "" if pair else "not [start, end]"
    )


def _judged(found: Any, expected: Any) -> Grade:
    if _same(found, expected):
        return _told(True, found, expected)
    if not text_of(found):
        return _told(False, found, expected, "it is empty")
    return Grade(None, f"is {show(found)}, wanted {show(expected)} ({UNGRADED})", 0.0)


_STRICT: dict[str, Callable[[Any, Any], Grade]] = {
    "exact": _exact,
    "casefold_exact": _exact,
    "enum": _enum,
    "normalized_phone": _phone,
    "normalized_address": _address,
    "set_exact": _sets(True, True),
    "set_f1": _sets(True, True),
    "set_precision": _sets(True, False),
    "set_recall": _sets(False, True),
    "ordered_list": _ordered,
    "interval_overlap": _interval,
    "semantic": _judged,
    "claim_atoms": _judged,
}
