"""Which values a field has had, has now, and is easily misheard as, with the forms in which each may be said (``numbers.canonical``).

In here: the facts' chain of a field and the sharing out of forms. Deliberately not in here: where in a sentence a form stands (``lexicon``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apex_tui.workflow.caller_model import CallerFact
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.part import value_key
from apex_tui.workflow.spoken_numbers import canonical, signature, spoken_value

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CODE_DIGITS = 4
"""A text with at least so many digits is an identifier or a number to call: it is said in groups, with pauses."""


class FieldValues:
    """Forms by field. ``wants``: field (or ``artifact.field``) -> the value that the caller wants now."""

    def __init__(self, workflow: Workflow, names: tuple[str, ...]) -> None:
        self._chains = {name: _chain(workflow, name) for name in names}
        self._forms = {name: _forms_by_value(workflow, name, self._chains[name]) for name in names}
        self._misheard = {name: _misheard(workflow, name, self._chains[name]) for name in names}
        self._any = {name: _canonical(workflow.observer.values.get(name, ())) for name in names}
        dates = {fact.value[:4] for fact in workflow.facts if _is_date(fact.value)}
        latest = max(dates, default="")
        self._remote = frozenset(
            name for name in names if any(_is_date(f.value) and f.value[:4] != latest for f in self._chains[name])
        )
        self.choices = {name: _choices(workflow, name) for name in names}
        """Field -> all values of a field that can only have a few."""

    def is_remote(self, name: str) -> bool:
        """Whether the field holds a date of an earlier year than the call is about: nobody says a birthday by its day alone."""
        return name in self._remote

    def any_form(self, name: str) -> tuple[str, ...]:
        """Every form that the author knows, whatever its value."""
        return self._any[name]

    def current(self, name: str, wants: Mapping[str, Any]) -> tuple[str, ...]:
        """Forms of what is wanted now."""
        found, value = _lookup(wants, name)
        if not found:
            return ()
        forms = (*self._forms[name].get(value_key(value), ()), *spoken_value(value))
        return tuple(dict.fromkeys(form for form in forms if form.strip()))

    def wrong(self, name: str, wants: Mapping[str, Any]) -> tuple[str, ...]:
        """Forms of the values that came before the wanted one, and of likely mishearings, without forms of the wanted one."""
        found, value = _lookup(wants, name)
        if not found:
            return ()
        values = [value_key(fact.value) for fact in self._chains[name]]
        upto = values.index(value_key(value)) if value_key(value) in values else len(values)
        old = [
            form
            for fact in self._chains[name][:upto]
            for form in (*self._forms[name].get(value_key(fact.value), ()), *spoken_value(fact.value))
        ]
        now = set(self.current(name, wants))
        return tuple(dict.fromkeys(form for form in (*old, *self._misheard[name]) if form.strip() and form not in now))

    def is_code(self, name: str, wants: Mapping[str, Any]) -> bool:
        """Whether the field holds an identifier or a telephone number."""
        value = _lookup(wants, name)[1]
        return isinstance(value, str) and not _is_date(value) and sum(char.isdigit() for char in value) >= _CODE_DIGITS


def _canonical(forms: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form for form in map(canonical, forms) if form.strip()))


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and _ISO_DATE.fullmatch(value) is not None


def _lookup(wants: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """The wanted value of a field, whether the mapping's key is the field or ``artifact.field``."""
    if name in wants:
        return True, wants[name]
    for key, value in wants.items():
        if key.partition(".")[2] == name or name.partition(".")[2] == key:
            return True, value
    return False, None


def _chain(workflow: Workflow, name: str) -> tuple[CallerFact, ...]:
    """All facts that fill a field, each after the one that it replaces."""

    def line(fact: CallerFact) -> list[CallerFact]:
        """The fact and what it replaces, back to the first."""
        found = [fact]
        while (name := found[-1].supersedes) and (older := workflow.fact(name)) is not None and older not in found:
            found.append(older)
        return found

    bare = name.partition(".")[2] or name
    mine = []
    for fact in workflow.facts:
        history = line(fact)
        if bare in _field_names(fact) or bare in _field_names(history[-1]) or history[-1].id == name:
            mine.append((len(history), fact))
    return tuple(fact for _, fact in sorted(mine, key=lambda entry: entry[0]))


def _field_names(fact: CallerFact) -> tuple[str, ...]:
    return () if fact.field is None else (fact.field, fact.field.partition(".")[2] or fact.field)


def _misheard(workflow: Workflow, name: str, chain: tuple[CallerFact, ...]) -> tuple[str, ...]:
    """Forms of the values that the author lists for a field and that the caller never tells: what its words are easily taken for."""
    told = {value_key(fact.value) for fact in chain}
    rows = workflow.observer.forms.get(name, {})
    return tuple(dict.fromkeys(canonical(form) for value, row in rows.items() if value not in told for form in row))


def _forms_by_value(workflow: Workflow, name: str, chain: tuple[CallerFact, ...]) -> dict[str, tuple[str, ...]]:
    """The author's forms by value; forms that come without their value go to the one value that they can mean, else to none."""
    known = workflow.observer.forms.get(name)
    if known:
        return {value: _canonical(row) for value, row in known.items()}
    shared: dict[str, list[str]] = {value_key(fact.value): [] for fact in chain}
    values = {value_key(fact.value): canonical(str(fact.value)) for fact in chain}
    values |= {value_key(fact.value): spoken_value(fact.value)[0] for fact in chain if spoken_value(fact.value)}
    for text in workflow.observer.values.get(name, ()):
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


def _choices(workflow: Workflow, name: str) -> tuple[str, ...]:
    bare = name.partition(".")[2] or name
    for artifact in workflow.artifacts.values():
        spec = artifact.shape.field(bare) if artifact.shape is not None else None
        if spec is not None and spec.enum:
            return tuple(canonical(value.replace("_", " ")) for value in spec.enum)
    return ()
