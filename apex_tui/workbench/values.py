"""JSON values: one text for equal content, digests of it, cleaning what comes from outside, and loose comparison.

Deliberately not in here: graders (they belong to the score) and the shape of tool arguments (``schemas``).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from apex_tui.timeline.base import Json

MAX_BYTES = 64 * 1024
"""Largest tool argument object and largest tool result, as JSON; a form field or a document is far smaller."""
MAX_DEPTH = 32
"""Deepest nesting that is taken; no tool needs more than four, and parsers recurse."""

_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?")


class UnfitValueError(ValueError):
    """A value from outside that is no JSON, nested too deep or too large; the message says which."""


def clean(value: Any, depth: int = 0) -> Any:
    """Return a deep copy that holds JSON types only.

    Lone surrogates become U+FFFD, since no log could store them. Raises `UnfitValueError` for NaN, infinities, foreign types and
    nesting below ``MAX_DEPTH``.
    """
    if depth > MAX_DEPTH:
        raise UnfitValueError(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int) and value.bit_length() > 1024:
        raise UnfitValueError("a number of more than 300 digits")
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnfitValueError(f"{value} is not a JSON number")
        return value
    if isinstance(value, list | tuple):
        return [clean(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(clean(str(key))): clean(item, depth + 1) for key, item in value.items()}
    raise UnfitValueError(f"a {type(value).__name__} is not JSON")


def clean_object(value: Mapping[str, Any]) -> Json:
    """`clean` for a whole object, at most ``MAX_BYTES`` as JSON."""
    copy: Json = clean(value)
    size = len(canonical(copy))
    if size > MAX_BYTES:
        raise UnfitValueError(f"{size} bytes of JSON; at most {MAX_BYTES} are taken")
    return copy


def canonical(value: Any) -> str:
    """Return the one ASCII text of a JSON value: sorted keys, no spaces; 240.0 is written as 240, true is not 1."""
    return json.dumps(_plain_numbers(value), sort_keys=True, separators=(",", ":"), default=str)


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain_numbers(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain_numbers(item) for key, item in value.items()}
    return value


def digest(fields: Mapping[str, Any]) -> str:
    """Return the sha256 (hex) of the canonical JSON of an artifact's fields: equal exactly when the fields are equal."""
    return hashlib.sha256(canonical(fields).encode("ascii")).hexdigest()


def same_value(left: Any, right: Any) -> bool:
    """Whether two values say the same apart from how they are written: "CC 330" and "cc-330", "$1,200.00" and 1200."""
    if canonical(left) == canonical(right):
        return True
    if isinstance(left, bool) or isinstance(right, bool) or not _scalar(left) or not _scalar(right):
        return False
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return _letters(left) == _letters(right) != ""


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _letters(value: Any) -> str:
    return "".join(char for char in str(value).casefold() if char.isalnum())


def _number(value: Any) -> float | None:
    """The number that a value *is*; identifiers with leading zeros and dates are none."""
    if isinstance(value, int | float):
        return float(value)
    text = str(value).strip().lstrip("$€£").replace(",", "").strip()
    return float(text) if _PLAIN_NUMBER.fullmatch(text) else None
