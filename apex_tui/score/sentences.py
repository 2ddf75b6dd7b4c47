"""Where sentences of an agent's words end. Pure text.

Deliberately not in here: what the sentences mean (the caller's observer reads that), and when they are heard (`answers`).
"""

from __future__ import annotations

import re

MIN_WORDS = 3
"""A sentence of fewer words ("Sure.") says nothing yet and is passed over."""

_END = re.compile(r"[.!?…][\"')\]’”]*(?=\s|$)")
_ABBREVIATION = re.compile(r"\b(?:mr|mrs|ms|dr|st|no|vs|etc|e\.g|i\.e|[a-z])\.$", re.IGNORECASE)


def ends(text: str) -> list[int]:
    """Positions right after each sentence of ``text``; the end of the text only when it ends a sentence."""
    return [m.end() for m in _END.finditer(text) if not _ABBREVIATION.search(text[: m.start() + 1])]


def has_sentence(text: str, *, whole: bool) -> bool:
    """Whether ``text`` holds a complete sentence. A full stop at its very end counts only when the text is ``whole``: digits may follow it."""
    stripped = text.strip()
    return any(end < len(stripped) or whole or stripped[end - 1] in "!?" for end in ends(stripped))


def first_sentence(text: str) -> str | None:
    """The text up to the end of the first sentence of `MIN_WORDS` words or more; shorter ones before it are part of it. None without one.

    Words without a closing mark are a sentence when nothing else is there.
    """
    text = text.strip()
    start = 0
    for end in ends(text) or [len(text)]:
        if len(text[start:end].split()) >= MIN_WORDS:
            return text[:end]
        start = end
    return None
