"""How a value stands in a sentence: said of its field, offered as one of several, called old, or only mentioned.

Rules over canonical words (``numbers``) around the place where a form was found. Deliberately not in here: which form belongs to which field
(``field_values``), and whether the sentence asks (``sentences``).
"""

from __future__ import annotations

import re

from apex_tui.workflow.spoken_numbers import has_number, is_day_alone

_RANKED = frozenset(
    (
        "attempt", "business", "call", "customer", "day", "days", "digit", "digits", "floor", "half", "item", "line", "month", "number",
        "bay", "card", "choice", "course", "evening", "exit", "instalment", "instalments", "installment", "leg", "night", "offer", "plug",
        "rehearsal", "sample", "sign", "signs", "slot", "symptom", "symptoms", "tablet", "zone",
        "one", "option", "page", "part", "party", "payment", "person", "place", "point", "quarter", "question", "round", "step", "thing",
        "time", "try", "week", "working", "year",
    )
)  # fmt: skip
"""What an ordinal can count: ``the third business day`` is no date."""

_LEFT_OVER = re.compile(r"^(?: \w+)? (?:left|remaining|balance|policy|policies|allowance|calendar|entitlement|days)\b")
_AMOUNT_OF = re.compile(r"\b(?:days|hours|weeks|amount|kind|type|sort|form) of $")
"""``eleven days of annual leave left``, ``the annual leave policy``: the words stand for something else than the field's value."""

_OF_SEVERAL = re.compile(r"\b(?:which|which one|one|either|both|each|neither|any) of (?:the )?$")
"""``which of the two``: canonical words make no difference between ``the two`` and ``the second``."""

_OCCASION = re.compile(r"\b(?:for|during|of|about) (?:your|the|this|that) $")

_DOING = frozenset(
    (
        "i'm", "we're", "they're", "he's", "she's", "am", "are", "be", "been", "was", "were", "just", "still", "now", "by", "while",
        "after", "keep", "kept", "start", "started", "double",
    )
)  # fmt: skip
_DONE_TO = frozenset(
    (
        "the", "your", "our", "my", "that", "this", "these", "those", "on", "if", "whether", "with", "for", "it", "them", "how", "what",
        "which", "when", "now", "up", "back", "again",
    )
)  # fmt: skip
_THING = frozenset(("a", "from", "my", "of", "the", "your"))
"""``I'm checking the calendar``, but ``from checking on the third``: a word in -ing that is also a value is then a verb."""

_OLD = re.compile(
    r"\b(?:no longer|instead of|rather than|used to|previous(?:ly)?|original(?:ly)?|before (?:it|that|this) was|before[.,!;]|before$"
    r"|earlier|former(?:ly)?|old|any ?more"
    r"|remov(?:e|ed|ing)|delet(?:e|ed|ing)|dropp?(?:ed|ing)?|cancell?(?:ed|ing)?|cross(?:ed)? out|t(?:ake|aken|ook|aking) (?:\w+ )?out"
    r"|replac(?:e|ed|ing)|discard(?:ed)?|scrap(?:ped)?|undo|undone|off the table)(?!\w)"
)
_NOT_NEAR = 3
"""Words before a value within which a *not* denies it; one further off belongs to something else ("not a problem, so 500")."""
_WAS = re.compile(r"\b(?:was|were|had)\b")


def called_old(sentence: str, *, asks: bool) -> bool:
    """Whether a sentence speaks of a value as of one that no longer counts. ``It was 500.`` does, ``It was 500, right?`` asks."""
    lowered = sentence.lower()
    return bool(_OLD.search(lowered)) or (not asks and bool(_WAS.search(lowered)))


def only_for(before: str) -> bool:
    """Whether the words before a value make it the occasion of something else: ``what dates for your vacation``."""
    return bool(_OCCASION.search(before))


def denied(before: str) -> bool:
    """Whether the words before a value deny it: ``not the 14``."""
    return any(word in ("not", "isn't") for word in before.split()[-_NOT_NEAR:])


def stands(form: str, before: str, after: str, tail: str | None) -> bool:
    """Whether a form found between ``before`` and ``after`` states its value.

    Canonical words; ``before`` ends and ``after`` begins with a space. ``tail``: the cut word after an incomplete sentence's words (None: the
    sentence is complete); as long as what follows could still change the reading, the answer is no.
    """
    words, following = form.split(), after.split()
    open_end = tail is not None
    if has_number(form):
        return not (is_day_alone(form) and (_ranks(following, tail) or _OF_SEVERAL.search(before)))
    if open_end and len(following) < 2:
        return False
    if _LEFT_OVER.match(after.rstrip()) or _AMOUNT_OF.search(before):
        return False
    if len(words) == 1 and words[0].endswith("ing"):
        last = set(before.split()[-1:])
        return bool(last & _THING) or not (last & _DOING or set(following[:1]) & _DONE_TO)
    return True


def _ranks(following: list[str], tail: str | None) -> bool:
    """Whether the ordinal counts something, or might once the cut word is complete."""
    if following:
        return following[0] in _RANKED
    return bool(tail) and any(word.startswith(tail or "") for word in _RANKED)


_NO_ALTERNATIVE = frozenset(
    ("am", "are", "did", "do", "does", "have", "i", "is", "no", "not", "shall", "should", "so", "was", "would", "you")
)
"""Words after *or* with which a second clause begins, and no other value: ``that's Harland, or did I mishear?``"""
_ALTERNATIVE = re.compile(r"\bor (?:(?:the|a|an|at|from|in|on|by|for|to|it's|use|using|with) ){0,2}$")


def is_offered(form: str, words: str, before: str, after: str, choices: tuple[str, ...]) -> bool:
    """Whether a question offers the value as one of several: ``checking or savings``, ``500 or 550``."""
    if " or " not in words:
        return False
    if any(choice in words and choice not in form and form not in choice for choice in choices):
        return True
    if after.startswith(" or "):
        other = after.split()[1:]
        return bool(other) and (
            (has_number(form) and has_number(" ".join(other[:2]))) or other[0] not in _NO_ALTERNATIVE
        )
    return bool(_ALTERNATIVE.search(before))


def offers(words: str, choices: tuple[str, ...]) -> bool:
    """Whether at least two of a field's values are offered."""
    return " or " in words and sum(choice in words for choice in choices) > 1
