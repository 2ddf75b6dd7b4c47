"""Sentences of an answer as it is written, each as soon as it can be spoken. Pure."""

from __future__ import annotations

import re

SHORTEST = 12
"""Characters below which a sentence waits for the next one: "Yes." alone sounds better with what follows."""

LONGEST = 240
"""Characters after which a sentence is cut at a comma or space: nobody waits that long for a full stop."""

_END = re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]|\n+")
_SHORTENED = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|no|nr|vs|approx|e\.g|i\.e)|\b[ap]\.m|\b[A-Z])$", re.IGNORECASE)


class SentenceCutter:
    """Feed words, get whole sentences; ``rest`` gives what is left at the end."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, words: str) -> list[str]:
        """The sentences that these words complete."""
        self._text += words
        out: list[str] = []
        while (end := self._end()) is not None:
            sentence, self._text = self._text[:end].strip(), self._text[end:]
            if sentence:
                out.append(sentence)
        return out

    def rest(self) -> str:
        """What was not a whole sentence."""
        rest, self._text = self._text.strip(), ""
        return rest

    def _end(self) -> int | None:
        for mark in _END.finditer(self._text):
            before = self._text[: mark.start()]
            if mark.end() < SHORTEST or (mark[0].startswith(".") and _SHORTENED.search(before[-12:])):
                continue
            return mark.end()
        if len(self._text) <= LONGEST:
            return None
        cut = max(self._text.rfind(", ", 0, LONGEST) + 1, 0) or self._text.rfind(" ", 0, LONGEST)
        return cut if cut > 0 else LONGEST
