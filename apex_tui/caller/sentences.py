"""Sentences of what has been heard so far, and what kind they are: a question or request, or a request to go ahead.

In here: splitting a growing prefix, and phrase tests. Deliberately not in here: which field is meant (observer).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_END = re.compile(r"[.?!…]+[\"')\]]*(?=\s|$)")
_SHORTENED = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|no|vs|approx)|\b[ap]\.m)$", re.IGNORECASE)
_OPENERS = r"(?:what|what's|which|when|who|who's|whose|where|how (?:many|much|long|should|would))"
_LEAD = r"(?:^|[,;:—–]\s*|\b(?:and|so|but|then|now|next|okay|ok|thanks|great|alright|right|sure|got it)[,.]?\s+)"
_REQUEST = re.compile(
    rf"\?[\"')\]]*$|{_LEAD}{_OPENERS}\b"
    r"|\b(?:could|can|would|will) you\b|\bplease (?:give|tell|confirm|provide|share|state|say|spell)\b"
    r"|\b(?:may|can|could) i (?:please )?(?:have|get|ask|take)\b|\bi(?:'ll| will| do|'d| would)?(?: also| just| still)? (?:need|like|want)\b"
    r"|\b(?:tell|give) me\b|\blet me (?:have|know)\b|\bdo you (?:have|know|want|need)\b|^confirm your\b",
    re.IGNORECASE,
)
_VERBS = (
    "submit", "send", "schedule", "book", "file", "place", "proceed", "finali[sz]e", "process", "commit", "complete", "go ahead", "approve",
    "order", "issue", "release", "publish", "pay", "cancel", "dispatch", "execute",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: where it ends in the text, and whether it is complete."""

    text: str
    end: int
    complete: bool


def split(text: str, *, final: bool) -> list[Sentence]:
    """Sentences of a heard prefix, in order; the last one is incomplete unless it has ended or the prefix is ``final``.

    A full stop after a digit at the very end does not end a sentence yet (``$555.`` may go on with ``23``).
    """
    found: list[Sentence] = []
    start = 0
    for mark in _END.finditer(text):
        before = text[start : mark.start()]
        if mark[0].startswith(".") and _SHORTENED.search(before[-12:]):
            continue
        if mark.end() == len(text) and not final and mark[0].startswith(".") and before[-1:].isdigit():
            continue
        piece = text[start : mark.end()].strip()
        if piece:
            found.append(Sentence(piece, mark.end(), complete=True))
        start = mark.end()
    rest = text[start:]
    if rest.strip():
        found.append(Sentence(rest.lstrip(), len(text), complete=final))
    return found


def is_request(sentence: str) -> bool:
    """Whether a sentence asks or requests something."""
    return bool(_REQUEST.search(sentence))


def go_ahead_pattern(actions: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for requests to go ahead; the verbs of the workflow's own action names count as well."""
    own = (re.escape(action.split("_")[0].lower()) for action in actions if action)
    verb = f"(?:{'|'.join((*_VERBS, *own))})"
    return re.compile(
        rf"\b(?:shall|should|may|can|could) (?:i|we)(?: (?:now|please|just|then))? (?:go ahead|{verb})\b"
        rf"|\b(?:would you like|do you want|are you happy for|is it (?:ok(?:ay)?|all right|fine) for) (?:me|us) to (?:now )?{verb}\b"
        rf"|\b(?:ready|ok(?:ay)?|all right|fine|good) (?:for me )?to (?:be )?{verb}(?:t?ted|ed)?\b"
        rf"|\bdo (?:you|i have your) approv(?:e|al)\b|\bdo i have your (?:approval|permission|go-ahead|okay)\b"
        rf"|\b(?:may|can|could) i have your (?:approval|permission|go-ahead)\b|\bdo you approve\b"
        rf"|\b(?:is it|is that|are we) (?:ok(?:ay)?|good|clear) to go\b",
        re.IGNORECASE,
    )
