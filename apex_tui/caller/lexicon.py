"""Which fields a sentence names, and which of their values it states.

A value counts when one of its known forms stands in the sentence (``numbers.canonical`` on both sides) and is said of the field (``mentions``).
A *weak* form (a lone number below 100, or a form that two fields share) counts only when the sentence names the field. Deliberately not in
here: whether the sentence asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apex_tui.caller.field_values import FieldValues
from apex_tui.caller.mentions import called_old, denied, is_offered, offers, only_for, stands
from apex_tui.caller.sentences import asks_what
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.spoken_numbers import CONTINUES, canonical, has_number, is_day_alone

_Hit = tuple[int, int, str]
"""Where a phrase was found, with the spaces around it, and the field that it names."""
_GAP = r"(?:(?!and |or |but )\S+ ){0,5}"
"""What may stand at ``..`` in a phrase that asks: up to five words of one clause."""
NAMED, UNNAMED = 1.0, 0.8
"""Confidence of a value whose field the sentence names, and of one that is recognised by itself."""


@dataclass(frozen=True, slots=True)
class Stated:
    """Values stated in a sentence, as (field, form, confidence). ``fields``: fields of which any known value was stated; ``offered``: fields
    of which a question offers several values.
    """

    current: tuple[tuple[str, str, float], ...]
    superseded: tuple[tuple[str, str, float], ...]
    fields: frozenset[str]
    offered: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Words:
    """Canonical words of a sentence. ``spelt``: numbers that only commas part are one. ``tail``: the cut last word; None: complete.
    ``open_question``: it asks what, which, how much.
    """

    plain: str
    spelt: str
    tail: str | None
    open_question: bool


class Lexicon:
    """Names and known values of a workflow's fields. Keys are field names as in ``observer.lexicon``."""

    def __init__(self, workflow: Workflow) -> None:
        self._names = {
            name: tuple(dict.fromkeys(stemmed(canonical(phrase)) for phrase in phrases if canonical(phrase).strip()))
            for name, phrases in workflow.observer.lexicon.items()
        }
        self._asked = {name: _patterns(phrases) for name, phrases in workflow.observer.asked.items()}
        self._fields = tuple(dict.fromkeys((*self._names, *self._asked)))
        self._values = FieldValues(workflow, tuple(self._names))
        self._prepared_for: str | None = None
        self._current: dict[str, tuple[str, ...]] = {}
        self._wrong: dict[str, tuple[str, ...]] = {}
        self._codes: frozenset[str] = frozenset()

    def named(self, sentence: str) -> list[str]:
        """Fields that a sentence names, in lexicon order; a name inside another field's longer name does not count."""
        return self._named(canonical(sentence))

    def asked_for(self, question: str, untold: Collection[str] = ()) -> list[str]:
        """Fields that a question names, or asks for in another way (``observer.asked``), in lexicon order.

        A way with a gap is a guess: it does not count across words that name another field, nor for a field that was told already where the
        question can be for one of ``untold``.
        """
        words = stemmed(canonical(question))
        hits, loose = self._hits(words), list[_Hit]()
        for name, patterns in self._asked.items():
            for found, pattern in zip((hits, loose), patterns, strict=True):
                found += (
                    [(match.start() - 1, match.end() + 1, name) for match in pattern.finditer(words)] if pattern else []
                )
        sure = _kept(hits)
        guessed = {
            name
            for start, end, name in loose
            if not any(s < end - 1 and start < e - 1 and other != name for s, e, other in hits)
        }
        if any(name in untold for name in sure | guessed):
            guessed = {name for name in guessed if name in untold}
        return [name for name in self._fields if name in sure | guessed]

    def is_choice(self, before: str, after: str) -> bool:
        """Whether ``after`` is the second of two ways for a field that ``before`` names: will you collect it, or *shall we send it by courier*."""
        ways = canonical(after)
        return before.rstrip().lower().endswith(" or") and any(
            choice in ways for name in self.named(before) for choice in self._values.choices[name]
        )

    def chosen(self, words: str, untold: Collection[str]) -> set[str]:
        """Fields not told yet for which the words after a request to go ahead name a way: shall we send it *by courier*."""
        ways = canonical(words)
        return {
            name for name in self._names if name in untold and any(way in ways for way in self._values.choices[name])
        }

    def offers_a_choice(self, sentence: str) -> bool:
        """Whether a sentence names two or more ways for one field: by text, by letter or by email."""
        words = canonical(sentence)
        return any(offers(words, self._values.choices[name]) for name in self._names)

    def _named(self, words: str) -> list[str]:
        kept = _kept(self._hits(stemmed(words)))
        return [name for name in self._names if name in kept]

    def _hits(self, words: str) -> list[_Hit]:
        return [
            (at, at + len(phrase), name)
            for name, phrases in self._names.items()
            for phrase in phrases
            if phrase in words
            for at in _places(words, phrase)
        ]

    def stated(self, sentence: str, wants: Mapping[str, Any], *, complete: bool, asks: bool) -> Stated:
        """Values that a (prefix of a) sentence states. Of an incomplete one only current values are told, and the last words count only when
        they cannot go on.
        """
        self._prepare(wants)
        words = _words(sentence, complete=complete, open_question=asks and asks_what(sentence.rstrip("?!. ")))
        if not complete:
            return Stated(tuple(self._read_back(words)), (), frozenset(), frozenset())
        named = set(self._named(words.plain))
        old = called_old(sentence, asks=asks)
        current, wrong, fields, offered = [], [], set(), set()
        for name in self._names:
            sure = NAMED if name in named else UNNAMED
            now = self._found(name, self._current[name], words, named)
            before = None if old else self._found(name, self._wrong[name], words, named, denied_too=False)
            if asks and (self._offered(name, now or before, words) or offers(words.plain, self._values.choices[name])):
                offered.add(name)
            elif now is not None:
                current.append((name, now.strip(), sure))
            elif before is not None:
                wrong.append((name, before.strip(), sure))
            if now or before or self._found(name, self._values.any_form(name), words, named):
                fields.add(name)
        return Stated(tuple(current), tuple(wrong), frozenset(fields), frozenset(offered))

    def _read_back(self, words: _Words) -> Iterator[tuple[str, str, float]]:
        named: set[str] | None = None
        for name, forms in self._current.items():
            text = words.spelt if name in self._codes else words.plain
            if any(form in text for form in forms):
                named = set(self._named(words.plain)) if named is None else named
                form = self._found(name, forms, words, named)
                if form is not None:
                    yield name, form.strip(), NAMED if name in named else UNNAMED

    def _prepare(self, wants: Mapping[str, Any]) -> None:
        """Forms of what is wanted and of what no longer is; made again only when the caller's wishes change."""
        key = repr(wants)
        if key != self._prepared_for:
            self._prepared_for = key
            self._current = {name: self._values.current(name, wants) for name in self._names}
            self._wrong = {name: self._values.wrong(name, wants) for name in self._names}
            self._codes = frozenset(name for name in self._names if self._values.is_code(name, wants))

    def _found(
        self, name: str, forms: tuple[str, ...], words: _Words, named: set[str], *, denied_too: bool = True
    ) -> str | None:
        """The first form that states its value; without ``denied_too`` a value that is denied does not count."""
        text = words.spelt if name in self._codes else words.plain
        for form in forms:
            if form not in text or (name not in named and self._is_weak(name, form)):
                continue
            for at in _places(text, form):
                before, after = text[: at + 1], text[at + len(form) - 1 :]
                if words.open_question and not has_number(form) and only_for(before):
                    continue
                if stands(form, before, after, words.tail) and (denied_too or not denied(before)):
                    return form
        return None

    def _is_weak(self, name: str, form: str) -> bool:
        if _short(form) or (is_day_alone(form) and self._values.is_remote(name)):
            return True
        return any(form in self._current[other] for other in self._names if other != name)

    def _offered(self, name: str, form: str | None, words: _Words) -> bool:
        if form is None:
            return False
        text = words.spelt if name in self._codes else words.plain
        return any(
            is_offered(form, text, text[: at + 1], text[at + len(form) - 1 :], self._values.choices[name])
            for at in _places(text, form)
        )


def _kept(hits: Iterable[_Hit]) -> set[str]:
    """Fields of the hits that do not stand inside a longer one of another field."""
    found = list(hits)
    return {
        name
        for start, end, name in found
        if not any(s <= start and end <= e and e - s > end - start and other != name for s, e, other in found)
    }


def _patterns(phrases: Iterable[str]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """One pattern for the phrases without a gap, and one for those with; the longest first, since the first that fits is taken."""
    ordered = sorted(dict.fromkeys(phrases), key=lambda phrase: (-len(phrase.split()), phrase))
    portions = ([one for one in ordered if ".." not in one], [one for one in ordered if ".." in one])
    tight, loose = (
        re.compile(f"(?<= )(?:{'|'.join(map(_with_gaps, some))})(?= )") if some else None for some in portions
    )
    return tight, loose


def _with_gaps(phrase: str) -> str:
    """A pattern for a phrase of ``observer.asked`` over stemmed words: ``who .. sign|decide`` is found in ``who is going to decide``."""
    parts = [
        _GAP
        if part == ".."
        else "(?:" + "|".join(re.escape(stemmed(canonical(one)).strip()) for one in part.split("|")) + ") "
        for part in phrase.split()
    ]
    return "".join(parts).removesuffix(" ")


def stemmed(words: str) -> str:
    """Canonical words without the endings that a verb or a plural adds, so that ``who covers`` is found in ``who is covering``."""
    return f" {' '.join(map(_stem, _SHORTENED.sub(_in_full, words).split()))} "


_SHORTENED = re.compile(r"\b(who|what|when|where|how|long)'(s|ll|d|re)\b")
_FULL = {"s": "is", "ll": "will", "d": "would", "re": "are"}


def _in_full(match: re.Match[str]) -> str:
    return f"{match[1]} {_FULL[match[2]]}"


def _stem(word: str) -> str:
    if word.endswith("ing") and len(word) > 5:
        return _single(word[:-3])
    if word.endswith("ed") and len(word) > 4:
        return _single(word[:-2])
    if word.endswith("s") and not word.endswith(("ss", "'s", "us", "is")) and len(word) > 3:
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else _single(word)


def _single(word: str) -> str:
    """Without a doubled last consonant, so that ``planning`` and ``plan`` are one; the same for ``call``, on both sides."""
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious" else word


def _places(text: str, phrase: str) -> list[int]:
    """Where a phrase (spaces at both ends) stands in a text."""
    found, at = [], text.find(phrase)
    while at >= 0:
        found.append(at)
        at = text.find(phrase, at + 1)
    return found


def _short(form: str) -> bool:
    words = form.split()
    return len(words) == 1 and len(words[0]) <= (2 if words[0].isdigit() else 3)


def _words(sentence: str, *, complete: bool, open_question: bool) -> _Words:
    if complete:
        return _Words(canonical(sentence), canonical(sentence, commas=False), None, open_question)
    at_border = not sentence or not (sentence[-1].isalnum() or sentence[-1] in "'.$-")
    head, _, last = sentence.rstrip().rpartition(" ")
    body, tail = (sentence, "") if at_border else (head, last.lower())
    return _Words(_settled(body, tail), _settled(body, tail, commas=False), tail, open_question)


def _settled(body: str, tail: str, *, commas: bool = True) -> str:
    """Canonical words of a prefix that cannot change any more: without a number that may go on in the cut word ``tail``."""
    words = canonical(body, commas=commas).split()
    if not body.rstrip().endswith((",", ";", ":")) and words:
        first = tail.strip("$'.").partition("-")[0]
        goes_on = not first or first[0].isdigit() or any(word.startswith(first) for word in CONTINUES)
        while goes_on and words and words[-1] in ("and", "point", "oh"):
            words.pop()
        if goes_on and words and words[-1].isdigit():
            words.pop()
    return f" {' '.join(words)} "
