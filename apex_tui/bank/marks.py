"""Pause marks in a clip's text: ``five hundred <pause 2.0s> fifty-five``.

A mark is an authored pause of that many seconds between the last audible sample before and the first after it. Nothing
else in angle brackets is allowed, so that a mistyped mark is an error and is never spoken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MIN_PAUSE_S = 0.3
"""The edge detector joins gaps under 250 ms, so a shorter pause could not be found again in the decoded clip."""
MAX_PAUSE_S = 30.0

_MARK = re.compile(r"<pause (\d{1,2}(?:\.\d{1,3})?)s>")


@dataclass(frozen=True)
class Speech:
    """A text taken apart: ``parts`` of plain words, ``pauses_s[i]`` seconds between part i and part i + 1."""

    parts: tuple[str, ...]
    pauses_s: tuple[float, ...]


def parse_speech(text: str) -> Speech:
    """Split at the pause marks. ValueError: a malformed mark, a pause out of range, or a part without words."""
    pieces = _MARK.split(text)
    parts = tuple(" ".join(piece.split()) for piece in pieces[::2])
    pauses = tuple(float(piece) for piece in pieces[1::2])
    for part in parts:
        if "<" in part or ">" in part:
            raise ValueError(f"unknown mark in {part!r}; write pauses as <pause 1.5s>")
        if not any(char.isalnum() for char in part):
            raise ValueError("no words before, after or between pause marks; words must surround each pause")
    for pause in pauses:
        if not MIN_PAUSE_S <= pause <= MAX_PAUSE_S:
            raise ValueError(f"a pause of {pause} s is outside {MIN_PAUSE_S} to {MAX_PAUSE_S} s")
    return Speech(parts, pauses)


def plain_words(text: str) -> str:
    """The words as spoken, without marks; for transcripts."""
    return " ".join(parse_speech(text).parts)
