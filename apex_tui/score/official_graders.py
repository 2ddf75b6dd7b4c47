"""The field graders of the reference format, exactly: scores from 0 to 1, quirks included. No judge is ever asked.

What the reference hands to a language model on a miss is a miss here; verdicts of this module are the deterministic part of its two tiers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = {name: index for index, month in enumerate(_MONTHS, start=1) for name in (month, month[:3])}
_MONTH_FIRST = re.compile(r"([a-z]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([a-z]+)\.?,?\s+(\d{4})")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def extract_number(value: Any) -> float | None:
    """The first number in the text of a value, as the reference finds it: "$480" is 480, "10-12" is 10, "CC-330" is -330."""
    match = _NUMBER.search(str(value))
    return float(match[0].replace(",", "")) if match else None


def canonical_date(value: Any) -> str:
    """The key by which the reference compares dates: ``YYYY-MM-DD`` where a rule matches anywhere, else a cleaned text."""
    text = str(value).strip().lower()
    match = _MONTH_FIRST.search(text)
    if match and match[1] in _MONTH:
        return _key(match[3], _MONTH[match[1]], match[2])
    match = _DAY_FIRST.search(text)
    if match and match[2] in _MONTH:
        return _key(match[3], _MONTH[match[2]], match[1])
    match = _ISO.search(text)
    if match:
        return _key(match[1], match[2], match[3])
    match = _SLASHED.search(text)
    if match:
        return _key(match[3], match[1], match[2])
    cleaned = re.sub(r"[^0-9:apm ]", "-", text.replace("t", " "))
    return re.sub(r"-+", "-", cleaned).strip("- ")


def _key(year: str, month: str | int, day: str) -> str:
    return f"{int(year):04d}-{int(month):02d}-{int(day):02d}"


def official_score(grader: str, found: Any, expected: Any, tolerance: float | None = None) -> float:
    """Grade one value. Raises ``KeyError`` for a grader that the format does not know."""
    if grader == "numeric_tolerance":
        left, right = extract_number(found), extract_number(expected)
        close = left is not None and right is not None and abs(left - right) <= (tolerance or 0)
        return float(close)
    return _GRADERS[grader](found, expected)


def _exact(found: Any, expected: Any) -> float:
    return float(str(found).strip() == str(expected).strip())


def _casefold(found: Any, expected: Any) -> float:
    return float(str(found).strip().casefold() == str(expected).strip().casefold())


def _phone(found: Any, expected: Any) -> float:
    return float(re.sub(r"\D", "", str(found)) == re.sub(r"\D", "", str(expected)))


def _address(found: Any, expected: Any) -> float:
    left, right = (re.sub(r"[^a-z0-9]+", " ", str(side).lower()).strip() for side in (found, expected))
    return float(left == right)


def _date(found: Any, expected: Any) -> float:
    return float(canonical_date(found) == canonical_date(expected))


def _items(value: Any) -> list[str]:
    return [str(item).strip() for item in value] if isinstance(value, list | tuple) else [str(value).strip()]


def _sets(found: Any, expected: Any) -> tuple[set[str], set[str]]:
    return {item.casefold() for item in _items(found)}, {item.casefold() for item in _items(expected)}


def _set_exact(found: Any, expected: Any) -> float:
    left, right = _sets(found, expected)
    return float(left == right)


def _precision(found: Any, expected: Any) -> float:
    left, right = _sets(found, expected)
    return len(left & right) / len(left) if left else float(not right)


def _recall(found: Any, expected: Any) -> float:
    return _precision(expected, found)


def _f1(found: Any, expected: Any) -> float:
    precision, recall = _precision(found, expected), _recall(found, expected)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _ordered(found: Any, expected: Any) -> float:
    return float(_items(found) == _items(expected))


def _overlap(found: Any, expected: Any) -> float:
    left, right = interval_of(found), interval_of(expected)
    if left is None or right is None:
        return 0.0
    common = max(0.0, min(left[1], right[1]) - max(left[0], right[0]))
    union = (left[1] - left[0]) + (right[1] - right[0]) - common
    return common / union if union > 0 else 0.0


def interval_of(value: Any) -> tuple[float, float] | None:
    """A pair of numbers [start, end] with start <= end, or None."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    try:
        start, end = float(value[0]), float(value[1])
    except (TypeError, ValueError):
        return None
    return (start, end) if start <= end else None


_GRADERS: dict[str, Callable[[Any, Any], float]] = {
    "exact": _exact,
    "enum": _exact,
    "casefold_exact": _casefold,
    "semantic": _casefold,
    "normalized_phone": _phone,
    "normalized_address": _address,
    "normalized_date": _date,
    "set_exact": _set_exact,
    "set_f1": _f1,
    "set_precision": _precision,
    "set_recall": _recall,
    "ordered_list": _ordered,
    "interval_overlap": _overlap,
    "claim_atoms": lambda found, expected: 0.0,
}
