"""Text from outside, made fit for one line of a terminal. No imports: every command needs it, `--help` too."""

from __future__ import annotations

MAX_TEXT = 300
MAX_SENTENCE = 2000
"""An error may name long paths; it is shown whole as far as anyone could read it."""


def clean(text: object, limit: int = MAX_TEXT) -> str:
    """Text from outside on one line: control characters (terminal escapes among them) removed, at most ``limit`` characters."""
    line = "".join(ch if ch.isprintable() else " " for ch in str(text))
    return line if len(line) <= limit else line[: limit - 1] + "…"
