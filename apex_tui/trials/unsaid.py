"""What the caller must not say: right values that the caller does not know, and corrections that cannot be said.

The static checks search every wording for the facts that it may not tell, in words as in figures. Here it is searched for what no fact holds: values
that a good agent computes, looks up or is given by a commit. Whoever hears one of those from the caller need not do the work. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from apex_tui.workflow.forms import Kind, forms, states, without
from apex_tui.workflow.lines import without_pauses
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import GoldField
from apex_tui.workflow.part import value_key

_KINDS: dict[str, Kind] = {
    "normalized_date": "date", "normalized_phone": "phone", "exact": "identifier", "numeric_tolerance": "number",
}  # fmt: skip
_LEAST = 20
"""Smaller numbers are said of too many things to give anything away."""


def said_too_much(workflow: Workflow) -> list[str]:
    """Wordings that state a right value which the caller does not know, one sentence each."""
    known = {value_key(fact.value) for fact in workflow.facts}
    told = tuple(form for rows in workflow.observer.forms.values() for row in rows.values() for form in row)
    texts = [(v.variant_id, without_pauses(v.text)) for wording in workflow.wordings for v in wording.variants]
    found = []
    for gold in (gold for row in workflow.gold.artifact_expectations for gold in row.fields):
        if gold.expected is None or value_key(gold.expected) in known:
            continue
        wanted = tuple(form for form in _forms(gold) if form not in told)
        for name, text in texts:
            if any(states(text, form) and states(without(text, _longer(told, form)), form) for form in wanted):
                found.append(f"The wording {name} states the right {gold.field}, which the caller does not know.")
    return found


def without_wording(workflow: Workflow) -> list[str]:
    """Changes of what the caller wants that no wording tells, or that no later answer repeats, one sentence each."""
    told: dict[str, set[str]] = {}
    for wording in workflow.wordings:
        for variant in wording.variants:
            for name in variant.expressed_fact_ids:
                told.setdefault(name, set()).add(str(wording.speech_act))
    found = []
    for fact in workflow.facts:
        if fact.supersedes is None:
            continue
        missing = [act for act in ("CORRECT", "ANSWER") if act not in told.get(fact.id, set())]
        found += [
            f"No wording of the kind {act} tells {fact.id}, which supersedes {fact.supersedes}." for act in missing
        ]
    return found


def _longer(told: tuple[str, ...], form: str) -> tuple[str, ...]:
    """Forms of what the caller may tell that a shorter one could be found in by mistake."""
    return tuple(other for other in told if len(other) > len(form))


def _forms(gold: GoldField) -> Iterator[str]:
    """How a right value would be said, where it is told apart from everyday words."""
    value = gold.expected
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return
    kind = _KINDS.get(gold.grader)
    if kind == "number" and isinstance(value, int | float):
        kind = "money" if abs(value) >= _LEAST else None
    if kind == "identifier" and not any(char.isdigit() for char in str(value)):
        kind = None
    try:
        said = forms(kind, value) if kind is not None else ()
    except ValueError:
        return  # a value that is no date: the static checks say so
    yield from (form for form in said if not (kind == "date" and form.startswith("the ")))
