"""A user's keymap: keys in Textual's names, only keys that there are, and none that two actions of one screen would share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, KEY_TO_UNICODE_NAME, Keys

from apex_tui.timeline.errors import UserError
from apex_tui.tui.keys import (
    BANK,
    DIRECTOR,
    EVERYWHERE,
    OVER,
    PERSON,
    PICKER,
    REPLAY,
    RESULTS,
    REVIEW,
    SCORE,
    Key,
)

SCREENS: tuple[tuple[Key, ...], ...] = (
    (*DIRECTOR, *PERSON, *BANK), OVER, REPLAY, PICKER, RESULTS, REVIEW, SCORE,
)  # fmt: skip
"""The tables whose keys are awake together; `EVERYWHERE` is with each."""
_WITH = frozenset(("ctrl", "shift", "alt", "super", "hyper", "meta"))
_NAMED = (
    frozenset(key.value for key in Keys) | frozenset(KEY_NAME_REPLACEMENTS.values()) | frozenset(KEY_TO_UNICODE_NAME)
)


def in_textual(keymap: Mapping[str, str]) -> dict[str, str]:
    """The keymap with keys as Textual names them: ``f2, ?`` becomes ``f2,question_mark``."""
    return {action: ",".join(_keys(keys)) for action, keys in keymap.items()}


def check_keymap(keymap: Mapping[str, str], file: Path) -> None:
    """Raise ``UserError`` for a key that there is not, or that two actions of one screen would share."""
    for action, keys in keymap.items():
        for key in map(str.strip, keys.split(",")):
            if not _is_key(key):
                raise UserError(
                    f"{file}: keymap.{action} names no key: '{key}'; write one character, or a name such as f2, space, ctrl+t or shift+up"
                )
    changed = in_textual(keymap)
    for table in SCREENS:
        owners: dict[str, str] = {}
        for entry in (*table, *EVERYWHERE):
            for key in _keys(changed.get(entry.id, entry.keys)):
                owner = owners.setdefault(key, entry.id)
                if owner != entry.id and (owner in keymap or entry.id in keymap):
                    mine, other = (entry.id, owner) if entry.id in keymap else (owner, entry.id)
                    raise UserError(
                        f"{file}: keymap.{mine} takes the key '{key}' of '{other}' on the same screen; choose another, or give keymap.{other} one"
                    )


def _keys(keys: str) -> Iterator[str]:
    for binding in Binding.make_bindings([Binding(keys, "none")]):
        yield binding.key


def _is_key(key: str) -> bool:
    *held, last = key.split("+")
    return _WITH.issuperset(held) and (len(last) == 1 or last in _NAMED or _is_character(last))


def _is_character(name: str) -> bool:
    """Whether it is Unicode's name of a character that a keyboard may have (``section_sign``; ``banana`` is the name of a picture)."""
    try:
        return unicodedata.lookup(name.replace("_", " ")) < "\u2000"
    except KeyError:
        return False
