"""Validation errors in words: one short clause per problem, each beginning with the key at fault.

In here: how a pydantic error is told to an author. Deliberately not in here: which file it was, that is the reader's to add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

SHOWN = 20
"""Problems listed in one error; a hopeless file is told apart from a mistyped key without filling the screen."""

Key = tuple[str | int, ...]


def problems(error: ValidationError) -> list[tuple[Key, str]]:
    """Return (key path, what is wrong) for each problem, unknown keys first: they usually explain the rest."""
    found: dict[Key, str] = {}
    for item in error.errors():
        key = tuple(item["loc"])
        if (
            key and key[-1] in _SCALARS and item["type"].startswith(_SCALAR_TYPES)
        ):  # one row for each kind that the value might have been
            found[key[:-1]] = f"should be a text, a number, true or false{_shown(item.get('input'))}"
        else:
            found[key] = _words(item["type"], item["msg"], item.get("input"), item.get("ctx", {}))
    return sorted(found.items(), key=lambda problem: problem[1] != "unknown key")


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


_SCALARS = frozenset({"str", "int", "float", "bool"})
_SCALAR_TYPES = ("string", "int", "float", "bool", "finite")
_SHOULD_BE = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list, such as [one, two]",
    "list_type": "a list, such as [one, two]",
    "dict_type": "a table, key: value in each line",
    "model_type": "a table, key: value in each line",
    "model_attributes_type": "a table, key: value in each line",
}
"""What pydantic says in the words of Python, in those of an author."""


def _words(kind: str, message: str, value: object, context: Mapping[str, object]) -> str:
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "missing":
        return "missing"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind in _SHOULD_BE:
        quotes = "; put it in quotes" if kind == "string_type" and isinstance(value, bool | int | float) else ""
        return f"should be {_SHOULD_BE[kind]}{_shown(value)}{quotes}"
    if kind in ("too_short", "too_long"):
        least = kind == "too_short"
        bound, has = context.get("min_length" if least else "max_length"), context.get("actual_length")
        return f"should have {bound} or {'more' if least else 'fewer'} entries, and has {has}"
    return message[:1].lower() + message[1:] + _shown(value)


def _shown(value: object) -> str:
    shown = repr(value)
    return (
        "" if len(shown) > 60 or isinstance(value, dict | list) else f", found {'nothing' if value is None else shown}"
    )
