"""Validation errors in words: one short clause per problem, each beginning with the key at fault.

In here: how a pydantic error is told to an author. Deliberately not in here: which file it was, that is the reader's to add.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

SHOWN = 20
"""Problems listed in one error; a hopeless file is told apart from a mistyped key without filling the screen."""

Key = tuple[str | int, ...]


def problems(error: ValidationError) -> list[tuple[Key, str]]:
    """Return (key path, what is wrong) for each problem, unknown keys first: they usually explain the rest."""
    found = [(tuple(item["loc"]), _words(item["type"], item["msg"], item.get("input"))) for item in error.errors()]
    return sorted(found, key=lambda problem: problem[1] != "unknown key")


def describe(error: ValidationError) -> list[str]:
    """Return each problem as ``key.path: what is wrong``."""
    return [told(key, words) for key, words in problems(error)]


def told(key: Key, words: str) -> str:
    """Return ``key.path: words``, or the words alone when the whole file is meant."""
    return f"{'.'.join(str(part) for part in key)}: {words}" if key else words


def joined(found: Sequence[str]) -> str:
    """Return the problems as one text; past ``SHOWN`` only their number."""
    rest = len(found) - SHOWN
    return "; ".join(found[:SHOWN]) + (f"; and {rest} more" if rest > 0 else "")


def _words(kind: str, message: str, value: object) -> str:
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "missing":
        return "missing"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    text = message[:1].lower() + message[1:]
    shown = repr(value)
    return text if len(shown) > 60 or isinstance(value, dict | list) else f"{text}, found {shown}"
