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
_OPEN_QUESTION = re.compile(
    rf"{_LEAD}{_OPENERS}\b[^.?!,;]*$|\bto (?:whom|which|what)\b[^.?!,;]*$|\b(?:how|when|where|who|what|which)\s*$",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    rf"\?[\"')\]]*$|{_LEAD}{_OPENERS}\b"
    r"|\b(?:could|can|would|will) you\b|\bplease (?:give|tell|confirm|provide|share|state|say|spell|repeat|leave|read|name|describe|estimate)\b"
    r"|\b(?:may|can|could) i (?:please )?(?:have|get|ask|take|grab)\b"
    r"|^(?:.*[,;] )?(?:so |then |now )?your [\w ]+ (?:first|next)[.!]?$"
    r"|\b(?:tell|give) me\b|\blet me (?:have|know)\b|\bdo you (?:have|know|want|need)\b|^confirm your\b"
    r"|\b(?:go ahead with|start with|begin with) (?:your|the)\b|\bplease[.!]?$",
    re.IGNORECASE,
)
_JUST = r"(?: also| just| still| only| first| now| first of all)*"
_NO_TIME = r"(?! (?:just )?(?:a|an|one|another|some)(?: \w+)? ?(?:moment|second|sec|minute|bit|time|while)\b)"
"""``I'll need a moment`` asks for patience alone."""
_SUBORDINATE = re.compile(
    r"^(?:and |so |but )?(?:before|once|after|until|while|since|as soon as|in order to|to)\b(?! (?:which|what|whom|when|how)\b)",
    re.IGNORECASE,
)
"""``To which date`` and ``after how long`` ask; ``to move it`` says why."""
_INDIRECT = re.compile(
    rf"\b(?:i|we)(?:'ll| will|'d| would){_JUST} (?:need|like|want)\b{_NO_TIME}|\bi(?: do)?{_JUST} (?:need|want)\b{_NO_TIME}"
    rf"|\bi(?:'m| am){_JUST} (?:missing|lacking|waiting for|without|unsure of|unsure about)\b"
    r"|\b(?:i|we) (?:did not|didn't|could not|couldn't|do not|don't|haven't)(?: quite| fully| all)*"
    r" (?:catch|get|got|hear|understand|have)\b|\b(?:i|we) (?:missed|lost)\b|\beverything (?:but|except)\b",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:would you like|do you want|want)(?: me)? to (?:hear|know)\b"
    r"|\b(?:would you like|do you want|want|shall i|should i|may i|can i|could i|let me|i(?:'ll| will| can))\b(?: \w+){0,3}?"
    r" (?:look(?:ing)? (?:\w+ )?(?:up|into)|find out|tell you|read (?:you|it|that|back|out)|show you|remind you|work out|calculate|explain)\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"^(?:(?:and|so|but|then|now|okay|ok|thanks|great|alright|all right|right|sure|got it),? )*"
    r"(?:is|are|was|were|do|does|did|should|shall|would|will|can|could|may (?:i|we)|has|have you)\b",
    re.IGNORECASE,
)
_VERBS = (
    "submit", "send", "schedule", "book", "file", "place", "proceed", "finali[sz]e", "process", "commit", "complete", "go ahead", "approve",
    "order", "issue", "release", "publish", "pay", "cancel", "dispatch", "execute",
    r"(?:put|push) (?:\w+ )?through", r"(?:set|lock) (?:\w+ )?(?:up|in)",
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
    """Whether a sentence asks or requests something, or says that something is missing."""
    return is_direct(sentence) or bool(_INDIRECT.search(sentence))


def asked_part(sentence: str) -> str:
    """The part of a request that can hold what is asked for: without a clause that only says when or why (``Before I ..., I need ...``)."""
    if _SUBORDINATE.match(sentence):
        marks = [
            match for pattern in (_DIRECT, _INDIRECT) for match in pattern.finditer(sentence) if match[0][:1] != "?"
        ]
        if marks:
            return sentence[min(match.start() for match in marks) :]
    return sentence


def is_direct(sentence: str) -> bool:
    """Whether a sentence is a question or a request by its form."""
    return bool(_DIRECT.search(sentence))


def is_offer(sentence: str) -> bool:
    """Whether a sentence offers to say or to look up something, so that what it names is not asked for."""
    offer = _OFFER.search(sentence)
    return offer is not None and not asks_what(
        sentence[: offer.start()]
    )  # "which number should I look up" offers nothing


def asks_what(before: str) -> bool:
    """Whether the words before a verb ask for something: ``how much should I send`` is no request to send."""
    return bool(_OPEN_QUESTION.search(before))


def begins_as_question(sentence: str) -> bool:
    """Whether a sentence puts its verb first, as questions do."""
    return bool(_INVERTED.match(sentence))


def proposes(sentence: str) -> bool:
    """Whether a clause of a sentence puts its verb first: ``which truck was it, and was the mast raised?``"""
    return any(begins_as_question(clause.strip()) for clause in re.split(r"[,;]|\band\b", sentence))


def go_ahead_pattern(actions: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for requests to go ahead; the verbs of the workflow's own action names count as well."""
    own = (re.escape(action.split("_")[0].lower()) for action in actions if action)
    verb = f"(?:{'|'.join((*_VERBS, *own))})"
    willing = r"(?:ok(?:ay)?|al(?:l |l)?right|fine|good|happy|ready|clear|comfortable)"
    return re.compile(
        rf"\b(?:shall|should|may|can|could) (?:i|we)(?: (?:now|please|just|then))? (?:go ahead|{verb})\b"
        rf"|\b(?:would you like|want|are you happy for|is it {willing} for) (?:me|us) to (?:now )?{verb}\b"
        rf"|\b{willing} (?:for me )?to (?:be )?{verb}(?:t?ted|ed)?\b"
        rf"|\b{willing} (?:for me to|if i|with me) (?:now )?{verb}(?:t?ting|ing)?\b[^?]*\?"
        rf"|\bi(?:'ll| will| can| would)(?: now| then| just)? {verb}\b[^?]*, (?:ok(?:ay)?|al(?:l |l)?right|right|yes|agreed|fine)\?"
        rf"|\bdo (?:you|i have your) approv(?:e|al)\b|\bdo i have your (?:approval|permission|go-ahead|okay)\b"
        rf"|\b(?:may|can|could) (?:i|we) (?:have|get) your (?:approval|permission|go-ahead)\b|\bdo you approve\b"
        rf"|\b{willing} to go\b[^?]*\?",
        re.IGNORECASE,
    )
