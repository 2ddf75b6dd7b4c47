"""Whether the values that matter come through: what a recogniser heard of each clip against what the clip says.

A *critical value* is a number of two or more digits, a date with its month, or a code with its letters; in what the caller tells also a single
digit that belongs to the fact. Both sides go through ``workflow.spoken_numbers``, so that "five hundred fifty-five" and "$555" are one value, and
"T B four one five" and "TB415" are one code. Pure. Deliberately not in here: recognition itself (``bank.recognise``) and files (``heard_files``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from apex_tui.workflow.lines import PAUSE, Line, without_pauses
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.part import value_key
from apex_tui.workflow.spoken_numbers import MONTHS, canonical, tokens

_LETTERS = re.compile(r"\b[A-Z](?:[ .,-]{0,2}[A-Z]){0,4}(?=\d|\b)")
"""A code's letters, written together or apart."""
_AS_IN = re.compile(r"\b(\w+)[ -]as in ([a-z])\w*,?", re.IGNORECASE)
"""A letter that is spelled by a word: the word says which it is, whatever the letter is taken for."""
_ALPHABET = (
    "alpha|alfa|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett?|kilo|lima|mike|mic|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|"
    "whiskey|x-?ray|yankee|zulu"
)
_SLURRED = re.compile(
    rf"\b(\w{{0,3}}?)[ ,.-]{{0,2}}(?:as|is|az|es|ez|s) ?in ?(?=(?:{_ALPHABET})\b)([a-z])\w*,?", re.IGNORECASE
)
"""The same as recognisers write it when it is said fast: "M is in mic", "Diaz in Delta", "P-Ezin Papa". Not for November, in which things are."""
_OH = re.compile(r"\b(zero|one|two|three|four|five|six|seven|eight|nine) oh\b")
_TO = re.compile(r"(\d+)-(\d+)")
"""A recogniser may write "ten to two" as 10-2."""
_WORDS = frozenset({"a", "i"})
"""Single letters that are words."""
LEAST_RIGHT = 0.98
"""Share of critical values that must come through in clips that are not declared hard."""
MOST_HARD = 0.05
"""Share of clips that may be declared hard."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One clip: what was heard, its critical values in canonical form, and which of them did not come through."""

    clip: str
    words: str
    critical: tuple[str, ...]
    missed: tuple[str, ...]
    errors: int
    """Words inserted, left out or replaced (after numbers are brought to one form)."""
    length: int
    """Words that the clip says."""


def compare(workflow: Workflow, line: Line, words: str) -> Heard:
    """What came through of a line."""
    words_as_heard, words = words, _plain(words)
    said, singles = _plain(without_pauses(line.text)), _singles(workflow, line)
    # A value that is said in two parts, with a pause between, is heard as two, or as one after the other.
    parts = [value for part in PAUSE.split(line.text)[::2] for value in critical_values(_plain(part), singles)]
    critical = tuple(dict.fromkeys(parts))
    spoken, heard = tokens(said, commas=False), tokens(words, commas=False)
    readings = (heard, tokens(words), tokens(_TO.sub(r"\1 to \2", words)))
    in_one = len(PAUSE.split(line.text)) > 1 and holds(heard, "".join(parts))
    missed = () if in_one else tuple(value for value in critical if not any(holds(read, value) for read in readings))
    return Heard(line.id, words_as_heard, critical, missed, edits(spoken, heard), len(spoken))


def _plain(text: str) -> str:
    """Letters spelled by words as letters, and an "oh" that ends a number as its zero."""
    return _OH.sub(r"\1 zero", _SLURRED.sub(_letter, _AS_IN.sub(_letter, text)))


def _letter(found: re.Match[str]) -> str:
    """The letter, or the letters before it that were written together with it: "GV as in Victor" spells G and V."""
    before, letter = found[1], found[2].upper()
    return before if before.isupper() and before.endswith(letter) else letter


def critical_values(text: str, singles: Iterable[str] = ()) -> tuple[str, ...]:
    """The critical values of a text, in order, each once. ``singles``: single digits that count as well."""
    letters = {"".join(char for char in found if char.isalpha()).lower() for found in _LETTERS.findall(text)} - _WORDS
    words, small = tokens(text, commas=False), frozenset(singles)
    found: list[str] = []
    at = 0
    while at < len(words):
        word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
        dated = word in MONTHS and after.isdigit()
        coded = word in letters and after.isdigit()
        if dated or coded:
            found.append(f"{word} {after}")
        elif word.isdigit() and (len(word) > 1 or word in small):
            found.append(word)
        at += 2 if dated or coded else 1
    return tuple(dict.fromkeys(found))


def holds(heard: list[str], value: str) -> bool:
    """Whether canonical words hold a value: as whole words, however they are parted; "$140 and 80 cents" is one amount."""
    wanted = value.replace(" ", "")
    heard = [word for at, word in enumerate(heard) if not (word == "and" and at and heard[at - 1].isdigit())]
    for start in range(len(heard)):
        run = ""
        for word in heard[start:]:
            run += word
            if run == wanted:
                return True
            if not wanted.startswith(run):
                break
    return False


def apart(said: Sequence[str], heard: str) -> list[str]:
    """Cut what was heard of several texts in a row into the part of each, by the words that are alike.

    A border that falls between unlike words may be off by some; whoever needs it exact has the clip transcribed alone.
    """
    words = heard.split()
    spoken = [_bare(word) for text in said for word in text.split()]
    blocks = SequenceMatcher(None, spoken, [_bare(word) for word in words], autojunk=False).get_matching_blocks()
    parts: list[str] = []
    at, begun = 0, 0
    for text in said[:-1]:
        at += len(text.split())
        # The last block that begins before the border, and how far past its end the border lies.
        before = [block for block in blocks if block.size and block.a < at]
        after = [block for block in blocks if block.a >= at]
        last = before[-1] if before else None
        ends = last.b + min(last.size, at - last.a) if last is not None else 0
        unlike = last is not None and last.a + last.size < at
        cut = after[0].b if unlike and after and after[0].a == at else ends
        cut = max(begun, min(cut, len(words)))
        parts.append(" ".join(words[begun:cut]))
        begun = cut
    return [*parts, " ".join(words[begun:])]


def _bare(word: str) -> str:
    return "".join(char for char in word.lower() if char.isalnum())


def edits(wanted: list[str], found: list[str]) -> int:
    """The least number of words inserted, left out or replaced."""
    row = list(range(len(found) + 1))
    for at, word in enumerate(wanted, 1):
        last, row[0] = row[0], at
        for column, other in enumerate(found, 1):
            cost = min(row[column] + 1, row[column - 1] + 1, last + (word != other))
            last, row[column] = row[column], cost
    return row[-1]


def _singles(workflow: Workflow, line: Line) -> set[str]:
    """Single digits among the values that the caller tells with this line."""
    found: set[str] = set()
    for name in line.facts:
        fact = workflow.fact(name)
        if fact is None or isinstance(fact.value, bool):
            continue
        field = fact.field.partition(".")[2] if fact.field else fact.id
        forms = workflow.observer.forms.get(field, {}).get(value_key(fact.value), (str(fact.value),))
        found.update(word for form in forms for word in canonical(form).split() if word.isdigit() and len(word) == 1)
    return found


@dataclass(frozen=True, slots=True)
class Tally:
    """What the clips of a workflow, or of all, come to."""

    clips: int
    hard: int
    values: int
    """Critical values in clips that are not hard."""
    right: int
    errors: int
    length: int

    @property
    def ok(self) -> bool:
        """Whether enough comes through, and little enough is declared hard."""
        return self.right >= LEAST_RIGHT * self.values and self.hard <= MOST_HARD * self.clips


def tally(rows: Iterable[Heard], hard: Iterable[str]) -> Tally:
    """Count. ``hard``: ids of the clips that are declared hard."""
    rows, declared = tuple(rows), frozenset(hard)
    judged = [row for row in rows if row.clip not in declared]
    values = sum(len(row.critical) for row in judged)
    return Tally(
        len(rows),
        sum(row.clip in declared for row in rows),
        values,
        values - sum(len(row.missed) for row in judged),
        sum(row.errors for row in rows),
        sum(row.length for row in rows),
    )
