"""Which fields a sentence names, and which of their values it states.

A value counts when one of its known forms stands in the sentence (``numbers.canonical`` on both sides). A *weak* form (a lone number below 100,
or a form that two fields share) counts only when the sentence names the field. Deliberately not in here: whether the sentence asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apex_tui.caller.numbers import CONTINUES, canonical, signature, spoken_value
from apex_tui.workflow.model import CallerFact, Workflow


@dataclass(frozen=True, slots=True)
class Stated:
    """Values stated in a sentence, as (field, form, confidence). ``fields``: fields of which any known value was stated."""

    current: tuple[tuple[str, str, float], ...]
    superseded: tuple[tuple[str, str, float], ...]
    fields: frozenset[str]


class Lexicon:
    """Names and known values of a workflow's fields. Keys are field names as in ``observer.lexicon``."""

    def __init__(self, workflow: Workflow) -> None:
        self._names = {
            name: tuple(dict.fromkeys(canonical(phrase) for phrase in phrases))
            for name, phrases in workflow.observer.lexicon.items()
        }
        self._chains = {name: _chain(workflow, name) for name in self._names}
        self._forms = {
            name: _forms_by_value(self._chains[name], workflow.observer.values.get(name, ())) for name in self._names
        }
        self._loose = {
            name: tuple(canonical(form) for form in workflow.observer.values.get(name, ())) for name in self._names
        }

        self._prepared_for: str | None = None
        self._wanted: dict[str, tuple[str, ...]] = {}
        self._superseded: dict[str, tuple[str, ...]] = {}

    def _prepare(self, wants: Mapping[str, Any]) -> None:
        """Forms of what is wanted and of what no longer is; made again only when the caller's wishes change."""
        key = repr(wants)
        if key != self._prepared_for:
            self._prepared_for = key
            self._wanted = {name: self._wanted_forms(name, wants) for name in self._names}
            self._superseded = {name: self._superseded_forms(name, wants) for name in self._names}

    def named(self, sentence: str) -> list[str]:
        """Fields that a sentence names, in lexicon order; a name inside another field's longer name does not count."""
        words = canonical(sentence)
        hits = [
            (at, at + len(phrase), name)
            for name, phrases in self._names.items()
            for phrase in phrases
            if phrase.strip() and (at := words.find(phrase)) >= 0
        ]
        kept = {
            name
            for start, end, name in hits
            if not any(s <= start and end <= e and e - s > end - start and other != name for s, e, other in hits)
        }
        return [name for name in self._names if name in kept]

    def stated(self, sentence: str, wants: Mapping[str, Any], *, complete: bool) -> Stated:
        """Values that a (prefix of a) sentence states. In an incomplete one the last words count only when they cannot go on."""
        words = canonical(sentence) if complete else _settled(sentence)
        named = set(self.named(sentence))
        current, superseded, fields = [], [], set()
        self._prepare(wants)
        wanted = self._wanted
        for name in self._names:
            now = _first_in(words, self._usable(name, wanted[name], wanted, named))
            old = _first_in(words, self._usable(name, self._superseded[name], wanted, named))
            if now is not None:
                current.append((name, now, 1.0 if name in named else 0.8))
            elif old is not None:
                superseded.append((name, old, 1.0 if name in named else 0.8))
            if (
                now is not None
                or old is not None
                or _first_in(words, self._usable(name, self._loose[name], wanted, named))
            ):
                fields.add(name)
        return Stated(tuple(current), tuple(superseded), frozenset(fields))

    def _wanted_forms(self, name: str, wants: Mapping[str, Any]) -> tuple[str, ...]:
        found, value = _lookup(wants, name)
        if not found:
            return ()
        return (*self._forms[name].get(_key(value), ()), *spoken_value(value))

    def _superseded_forms(self, name: str, wants: Mapping[str, Any]) -> tuple[str, ...]:
        """Forms of the values that came before the wanted one in the field's chain, without forms of the wanted one."""
        found, value = _lookup(wants, name)
        if not found:
            return ()
        values = [_key(fact.value) for fact in self._chains[name]]
        upto = values.index(_key(value)) if _key(value) in values else len(values)
        now = set(self._wanted_forms(name, wants))
        forms = (
            form for fact in self._chains[name][:upto] for form in (*self._forms[name].get(_key(fact.value), ()), *spoken_value(fact.value))
        )  # fmt: skip
        return tuple(dict.fromkeys(form for form in forms if form not in now))

    def _usable(
        self, name: str, forms: tuple[str, ...], wanted: Mapping[str, tuple[str, ...]], named: set[str]
    ) -> tuple[str, ...]:
        if name in named:
            return forms
        return tuple(
            f for f in forms if not _weak(f) and not any(f in wanted[other] for other in wanted if other != name)
        )


def _lookup(wants: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """The wanted value of a field, whether the mapping's key is the field or ``artifact.field``."""
    if name in wants:
        return True, wants[name]
    for key, value in wants.items():
        if key.partition(".")[2] == name or name.partition(".")[2] == key:
            return True, value
    return False, None


def _key(value: object) -> str:
    return repr(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _chain(workflow: Workflow, name: str) -> tuple[CallerFact, ...]:
    """All facts that fill a field, each after the one that it replaces."""

    def root(fact: CallerFact) -> CallerFact:
        seen = {fact.id}
        while fact.supersedes and fact.supersedes not in seen and (older := workflow.fact(fact.supersedes)) is not None:
            seen.add(older.id)
            fact = older
        return fact

    def depth(fact: CallerFact) -> int:
        steps, seen = 0, {fact.id}
        while fact.supersedes and fact.supersedes not in seen and (older := workflow.fact(fact.supersedes)) is not None:
            seen.add(older.id)
            fact, steps = older, steps + 1
        return steps

    bare = name.partition(".")[2] or name
    mine = [f for f in workflow.facts if bare in _field_names(f) or bare in _field_names(root(f)) or root(f).id == name]
    return tuple(sorted(mine, key=depth))


def _field_names(fact: CallerFact) -> tuple[str, ...]:
    return () if fact.field is None else (fact.field, fact.field.partition(".")[2] or fact.field)


def _forms_by_value(chain: tuple[CallerFact, ...], forms: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Share out the author's forms among the values of a field: each form belongs to the one value that it can mean, else to none."""
    shared: dict[str, list[str]] = {_key(fact.value): [] for fact in chain}
    values = {_key(fact.value): canonical(str(fact.value)) for fact in chain}
    values |= {_key(fact.value): spoken_value(fact.value)[0] for fact in chain if spoken_value(fact.value)}
    for text in forms:
        form = canonical(text)
        owners = [key for key, value in values.items() if _can_mean(form, value)]
        if not owners and len(values) == 1:
            owners = list(values)
        if len(owners) == 1 and form.strip():
            shared[owners[0]].append(form)
    return {key: tuple(dict.fromkeys(found)) for key, found in shared.items()}


def _can_mean(form: str, value: str) -> bool:
    """Whether a spoken form can stand for a value: by its numbers and months if it has any, else by its words."""
    marks = signature(form)
    if marks:
        return marks <= signature(value)
    mine, its = set(form.split()) - {"the", "a", "of", "on"}, set(value.split())
    return bool(mine) and (mine <= its or its <= mine)


def _weak(form: str) -> bool:
    words = form.split()
    return len(words) == 1 and len(words[0]) <= (2 if words[0].isdigit() else 3)


def _first_in(words: str, forms: tuple[str, ...]) -> str | None:
    return next((form.strip() for form in forms if form.strip() and form in words), None)


def _settled(prefix: str) -> str:
    """Canonical words of a prefix that cannot change any more: without a cut last word, and without a number that may go on."""
    at_border = not prefix or not (prefix[-1].isalnum() or prefix[-1] in "'.$-")
    head, _, tail = prefix.rstrip().rpartition(" ")
    body, cut = (prefix, "") if at_border else (head, tail.lower())
    words = canonical(body).split()
    if not body.rstrip().endswith((",", ";", ":")) and words:
        first = cut.strip("$'.").partition("-")[0]
        goes_on = not first or first[0].isdigit() or any(word.startswith(first) for word in CONTINUES)
        while goes_on and words and words[-1] in ("and", "point", "oh"):
            words.pop()
        if goes_on and words and words[-1].isdigit():
            words.pop()
    return f" {' '.join(words)} "
