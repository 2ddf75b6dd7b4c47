"""Which values of which fields a text states: the known values of a workflow (and of a session) through their spoken and written forms.

Known are the values that the caller can tell, superseded ones and likely mishearings included, what gold wants, and what was written in the
session. A value that nobody knows is not found (but see `unknown_values`). The longest form wins, so that "five hundred" is not found in "five
hundred fifty-five". A *weak* form (a lone number below 100, or a very short word) counts only in a sentence that names the field. Deliberately
not in here: what a statement means for anyone. Pure; a table may be kept for a whole session.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from datetime import date
from operator import itemgetter
from typing import Any

from apex_tui.score.graders import grade
from apex_tui.score.typed import date_of, number_of
from apex_tui.score.unknown_values import known_of, values_of
from apex_tui.timeline.state import State
from apex_tui.workflow.caller_model import CallerFact
from apex_tui.workflow.forms import Kind, cardinal, comparable, forms
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.part import value_key
from apex_tui.workflow.work_model import FieldSpec

Stated = dict[str, tuple[Any, ...]]
"""``artifact.field`` -> the values of it that a text states, in the order in which they are (last) said."""

_Found = tuple[set[str], list[tuple[int, list[tuple[str, Any]]]]]
_MOST_SENTENCES = 2000

_KINDS: dict[str, Kind] = {
    "normalized_date": "date", "normalized_phone": "phone", "enum": "enum", "numeric_tolerance": "money", "exact": "identifier",
}  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_DIGITS = {"oh": "0", "o": "0"} | {cardinal(digit): str(digit) for digit in range(10)}
_SMALL = frozenset(cardinal(number).replace("-", " ") for number in range(100))
_LONGEST = 200
_PLAIN = (str, int, float)
"""Types of the values that can be known."""
_SHORTEST_CODE = 4


class KnownValues:
    """The known values of every artifact field. Paths are ``artifact.field``."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.specs: dict[str, FieldSpec] = {
            f"{artifact}.{spec.name}": spec
            for artifact, held in workflow.artifacts.items()
            if held.shape is not None
            for spec in held.shape.fields
        }
        self._names = {
            path: tuple(comparable(name) for name in workflow.observer.lexicon.get(spec.name, ()))
            for path, spec in self.specs.items()
        }
        self._owners: dict[str, list[tuple[str, Any]]] = {}
        self._codes: list[tuple[str, str, Any]] = []
        self._known: set[tuple[str, str]] = set()
        self._sorted: list[str] | None = None
        self._read = Counter[str]()
        self._paths: dict[str, str | None] = {}
        self._added: set[tuple[str, type[Any], Any]] = set()
        self._sentences: dict[str, _Found] = {}
        self._mentioned: frozenset[str] | None = None
        for path, spec in self.specs.items():
            for value in self._authored(path, spec):
                self.add(path, value)

    def unlearned(self) -> KnownValues:
        """A table that knows what this one does now, and learns for itself. Taken of a new one, it saves building that anew."""
        twin = copy(self)
        twin._owners = {form: owners.copy() for form, owners in self._owners.items()}
        twin._codes, twin._known, twin._added = self._codes.copy(), self._known.copy(), self._added.copy()
        twin._read, twin._sentences = self._read.copy(), {}
        return twin

    def same(self, path: str, found: Any, wanted: Any) -> bool:
        """Whether two values of a field are one, by the field's grader (strict); no value is never the same as another."""
        if found is None or wanted is None:
            return False
        spec = self.specs.get(path)
        if spec is None:
            return bool(found == wanted)
        passed = grade(spec.grader, found, wanted, spec.tolerance, "strict", self.workflow.locale).passed
        return bool(found == wanted) or passed is True

    def add(self, path: str, value: Any) -> None:
        """Make one value of a field known."""
        spec = self.specs.get(path)
        if spec is None or not isinstance(value, _PLAIN) or isinstance(value, bool):
            return
        if (path, type(value), value) in self._added:
            return
        self._added.add((path, type(value), value))
        key = value_key(value)
        if (path, key) in self._known or not key.strip() or len(key) > _LONGEST:
            return
        self._known.add((path, key))
        self._sorted = None
        self._sentences.clear()
        authored = self.workflow.observer.forms.get(spec.name, {}).get(key, ())
        for form in (*authored, *(() if authored else _derived(spec, value))):
            words = comparable(form)
            owners = self._owners.setdefault(words, [])
            if words and not any(other == path and self.same(path, value, held) for other, held in owners):
                owners.append((path, value))
        code = "".join(char for char in key if char.isalnum()).casefold()
        if (
            _kind(spec) in ("identifier", "phone")
            and len(code) >= _SHORTEST_CODE
            and any(char.isdigit() for char in code)
        ):
            self._codes.append((code, path, value))

    def learn(self, state: State) -> None:
        """Make known what the caller said and what was written in a session so far; to be called as often as one likes."""
        self._add_new((turn.values for turn in state.turns[self._read["turns"] :]), self.path_of)
        self._read["turns"] = len(state.turns)
        for artifact, held in state.artifacts.items():
            written = held.versions[self._read[f"of {artifact}"] :]
            self._add_new((version.fields for version in written), f"{artifact}.{{}}".format)
            self._read[f"of {artifact}"] = len(held.versions)

    def _add_new(self, rows: Iterable[Mapping[str, Any]], path_of: Callable[[str], str | None]) -> None:
        """Each value once: a long session says and writes the same ones thousands of times, and a seek over all of it waits for this."""
        met: set[tuple[str, type[Any], Any]] = set()
        for row in rows:
            for name, value in row.items():
                if type(value) in _PLAIN and (name, type(value), value) not in met:
                    met.add((name, type(value), value))
                    path = path_of(name)
                    if path is not None:
                        self.add(path, value)

    def mentioned(self) -> set[str]:
        """The dates and long numbers that the workflow and the session know, as `unknown_values.values_of` finds them."""
        if self._mentioned is None:
            self._mentioned = known_of(self.workflow)
        return {*self._mentioned, *(form for _, _, value in self._added for form in values_of(str(value)))}

    def path_of(self, name: str) -> str | None:
        """The path of a field that is named as ``artifact.field`` or as ``field``; None: no artifact has it."""
        if name in self.specs:
            return name
        if name not in self._paths:
            self._paths[name] = next((path for path in self.specs if path.partition(".")[2] == name), None)
        return self._paths[name]

    def stated(self, text: str, current: Mapping[str, Any]) -> Stated:
        """The values that a text states. A form that could be of several fields belongs to the one that ``current`` (path -> value) gives
        this value, else to those that its sentence names, else to none.
        """
        found: dict[str, list[Any]] = {}
        for sentence in _SENTENCE.split(text):
            for path, value in self._in_sentence(comparable(sentence), current):
                values = found.setdefault(path, [])
                if not any(self.same(path, value, held) for held in values):
                    values.append(value)
        return {path: tuple(values) for path, values in found.items()}

    def _in_sentence(self, words: str, current: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        if words not in self._sentences:  # the same words are asked about for each field, and again after each version
            if len(self._sentences) > _MOST_SENTENCES:
                self._sentences.clear()
            self._sentences[words] = self._found(words)
        named, owned = self._sentences[words]
        found = [(at, path, value) for at, owners in owned for path, value in self._belongs(owners, current, named)]
        found.sort(key=itemgetter(0))
        return [(path, value) for _, path, value in found]

    def _found(self, words: str) -> _Found:
        """The fields that a sentence names, and where in it which values of which fields may be meant."""
        rest = f" {words} "
        named = {path for path, names in self._names.items() if any(f" {name} " in rest for name in names)}
        if self._sorted is None:
            self._sorted = sorted((form for form in self._owners if form), key=lambda form: (-len(form), form))
        found: list[tuple[int, list[tuple[str, Any]]]] = []
        for form in self._sorted:
            at = rest.rfind(f" {form} ")
            if at < 0:
                continue
            owners = [owner for owner in self._owners[form] if owner[0] in named or not _weak(form)]
            if owners:
                rest = rest.replace(f" {form} ", f" {'|' * len(form)} ")
                found.append((at, owners))
        runs = _codes_in(rest)
        spelled = [(path, value) for code, path, value in self._codes if any(code in run for run in runs)]
        return named, [*found, (len(rest), spelled)]

    def _belongs(
        self, owners: list[tuple[str, Any]], current: Mapping[str, Any], named: set[str]
    ) -> Iterable[tuple[str, Any]]:
        if len({path for path, _ in owners}) < 2:
            return owners
        explained = [(path, value) for path, value in owners if self.same(path, current.get(path), value)]
        return explained or [(path, value) for path, value in owners if path in named]

    def _authored(self, path: str, spec: FieldSpec) -> Iterable[Any]:
        """What the workflow knows of a field: its facts first, since they hold values in their own type."""
        for fact in self.workflow.facts:
            root = _root(self.workflow, fact)
            if path in (fact.field, root.field) or (root.field is None and root.id == spec.name):
                yield fact.value
        for expected in self.workflow.gold.artifact_expectations:
            yield from (gold.expected for gold in expected.fields if f"{expected.artifact_id}.{gold.field}" == path)
        yield from self.workflow.observer.forms.get(spec.name, {})


def _root(workflow: Workflow, fact: CallerFact) -> CallerFact:
    """The first fact of a chain of supersession."""
    seen = {fact.id}
    while fact.supersedes and (earlier := workflow.fact(fact.supersedes)) is not None and earlier.id not in seen:
        seen.add(earlier.id)
        fact = earlier
    return fact


def _kind(spec: FieldSpec) -> Kind:
    if spec.grader == "numeric_tolerance" and spec.type == "integer":
        return "integer"
    return _KINDS.get(spec.grader, "text")


def _derived(spec: FieldSpec, value: str | int | float) -> tuple[str, ...]:
    """Forms of a value that the workflow lists none for; as text when it does not fit the field's kind."""
    kind = _kind(spec)
    if kind == "date":
        day = date_of(value)
        return forms("date", day.day.isoformat()) if day is not None and day.day > date.min else (str(value),)
    if kind in ("money", "integer"):
        number = number_of(value)
        if number is None or number.value < 0:
            return (str(value),)
        plain = float(number.value)
        return forms(kind, int(plain) if plain.is_integer() else plain)
    if kind == "identifier" and not any(char.isdigit() for char in str(value)):
        kind = "text"
    return forms(kind, value)


def _weak(form: str) -> bool:
    if form in _SMALL:
        return True
    return not any(char in form for char in " /$") and len(form) <= (2 if form.isdigit() else 3)


def _codes_in(words: str) -> list[str]:
    """Runs of digits and single letters, spelled one by one or written in groups, each as one code."""
    runs, run = list[str](), ""
    for word in [*words.split(), "|"]:
        piece = _DIGITS.get(word, word if any(char.isdigit() for char in word) or len(word) == 1 else "")
        if piece and piece.isalnum():
            run += piece
        else:
            runs.append(run)
            run = ""
    return [found for found in runs if len(found) >= _SHORTEST_CODE]
