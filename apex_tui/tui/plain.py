"""Text from outside, made safe to draw: what packages, agents and recordings say goes through `plain` before it reaches a cell.

The screens never parse markup; this removes what a terminal itself would obey (escape sequences, control characters, direction overrides)
and what breaks the counting of cells (tabs, joiners, variation selectors, lone surrogates). Nothing here knows about styles.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any

LIMIT = 4000
"""Characters kept of one text: a minute of speech is under 1,000, and a 60 kB line would be wrapped for nothing."""

_ESCAPES = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI
    "|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS, SOS, PM, APC with what they carry
    "|\x1b[ -/]*[0-~]"
    "|\x9b[0-?]*[ -/]*[@-~]"
)
_COMBINING_RUN = 2
"""Marks kept on one letter: real scripts stack two, stacks of fifty paint over the neighbouring rows."""


def plain(text: str, limit: int = LIMIT) -> str:
    """``text`` on one line without anything that a terminal obeys; at most ``limit`` characters, the last one ``…`` when cut."""
    return _plain(text[: 4 * limit + 1], limit)


@lru_cache(maxsize=8192)
def _plain(text: str, limit: int) -> str:
    """What `plain` gives. What is remembered is bounded in size as well: a reply that grows is another text with every word."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    cleaned = _clean(_ESCAPES.sub("", text[: 4 * limit]))
    if len(cleaned) > limit or len(text) > 4 * limit:
        return cleaned[: limit - 1] + "…"
    return cleaned


def _clean(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        if category == "Mn":
            marks += 1
            if marks <= _COMBINING_RUN and not "\ufe00" <= char <= "\ufe0f":
                kept.append(char)
            continue
        marks = 0
        if char == "\t":
            kept.append("    ")
        elif char in "\n\r" or category in ("Zl", "Zp"):
            kept.append(" ")
        elif category in ("Cs", "Co", "Cn"):
            kept.append("?")
        elif category not in ("Cc", "Cf"):
            kept.append(char)
    return "".join(kept)


def compact(value: Any, limit: int = 200) -> str:
    """A JSON value as a person writes it: text bare, nothing as ``(none)``, lists and objects as short JSON."""
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return plain(value, limit) if value else '""'
    if isinstance(value, int | float):
        return plain(str(value), limit)
    try:
        return plain(json.dumps(value, ensure_ascii=False, default=str), limit)
    except (TypeError, ValueError, RecursionError):
        return "(unreadable value)"


def arguments(values: dict[str, Any], limit: int = 160) -> str:
    """Tool arguments as ``name=value`` pairs; the single object ``fields`` of a write is unwrapped."""
    inner = values.get("fields")
    if isinstance(inner, dict) and inner and len(values) == 1:
        values = inner
    return plain(", ".join(f"{plain(str(k), 60)}={compact(v, 80)}" for k, v in values.items()), limit)
