"""What the caller knows: which facts may be spoken now, which no longer hold, and what the caller wants in each field.

In here: reveal rules and supersession over an immutable workflow. Deliberately not in here: wording (it is frozen per plan) and the flow.
A fact is *superseded* once a fact that replaces it was revealed, or an event that reveals (or updates) the replacement was delivered.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from apex_tui.workflow.caller_model import HEDGE, CallerFact
from apex_tui.workflow.model import Workflow


class FactBook:
    """Facts of one session. ``acts``, ``events``, ``entered`` and ``revealed`` only grow."""

    def __init__(self, workflow: Workflow) -> None:
        self._facts: dict[str, CallerFact] = {fact.id: fact for fact in workflow.facts}
        self._updates: dict[str, dict[str, Any]] = {event.id: event.fact_updates for event in workflow.events}
        self._added: set[str] = set()
        self.acts: set[str] = set()
        self.events: set[str] = set()
        self.entered: set[str] = set()
        self.revealed: set[str] = set()

    def deliver(self, events: Iterable[str]) -> None:
        """Events took effect: their updates become facts that replace the old ones (with a closed reveal rule), unless the author wrote
        such a fact already.
        """
        for event in events:
            if event in self.events:
                continue
            self.events.add(event)
            for name, value in self._updates.get(event, {}).items():
                if any(fact.supersedes == name and event in fact.reveal.events for fact in self._facts.values()):
                    continue
                new = f"{name}__v_evt_{event}"
                field = self._facts[name].field if name in self._facts else None
                self._facts[new] = CallerFact(id=new, value=value, supersedes=name, field=field)
                self._added.add(new)

    def overrule(self, field: str, value: Any) -> None:
        """A person said another value for a field (None: which one is not known): what states the old one no longer holds."""
        heads = [name for name in self._facts if self.field_of(name) == field and self.successor(name) is None]
        for head in heads:
            new = f"{head}__by_key_{len(self._added)}"
            source = HEDGE if value is None else "person"
            self._facts[new] = CallerFact(id=new, value=value, source=source, supersedes=head, field=field)
            self._added.add(new)

    def eligible(self, name: str, *, also_event: str | None = None) -> bool:
        """Whether a fact may be spoken now; ``also_event`` counts as delivered (the event that is about to be spoken)."""
        fact = self._facts.get(name)
        if fact is None:
            return False
        rule = fact.reveal
        return (
            rule.may_volunteer
            or not self.acts.isdisjoint(rule.agent_acts)
            or not self.events.isdisjoint(rule.events)
            or (also_event is not None and also_event in rule.events)
            or not self.entered.isdisjoint(rule.on_state)
        )

    def successor(self, name: str, *, also_event: str | None = None) -> str | None:
        """The newest fact in force that replaces ``name`` (through any number of steps), or None while ``name`` still holds."""
        found: str | None = None
        frontier, seen = [name], {name}
        while frontier:
            old = frontier.pop()
            for fact in self._facts.values():
                if fact.supersedes == old and fact.id not in seen:
                    seen.add(fact.id)
                    frontier.append(fact.id)
                    if self._in_force(fact, also_event):
                        found = fact.id
        return found

    def _in_force(self, fact: CallerFact, also_event: str | None) -> bool:
        if fact.id in self.revealed or not self.events.isdisjoint(fact.reveal.events):
            return True
        if also_event is not None and also_event in fact.reveal.events:
            return True
        return fact.id in self._added

    def blocked(self, facts: Iterable[str], *, also_event: str | None = None) -> str | None:
        """Why these facts may not be spoken now, as one sentence; None when they may."""
        for name in facts:
            newer = self.successor(name, also_event=also_event)
            if newer is not None:
                return f"{name} no longer holds: {newer} replaced it"
            if not self.eligible(name, also_event=also_event):
                return f"{name} may not be revealed yet"
        return None

    def field_of(self, name: str) -> str:
        """``artifact.field`` of a fact as its author wrote it; without one, the id of the first fact of its chain."""
        fact = self._facts.get(name)
        seen = {name}
        while fact is not None and fact.field is None and fact.supersedes is not None and fact.supersedes not in seen:
            seen.add(fact.supersedes)
            name, fact = fact.supersedes, self._facts.get(fact.supersedes)
        return fact.field if fact is not None and fact.field is not None else name

    def values(self, facts: Iterable[str]) -> dict[str, Any]:
        """Field -> value that an utterance with these facts states."""
        told = [name for name in facts if name in self._facts and self._facts[name].source != HEDGE]
        return {self.field_of(name): self._facts[name].value for name in told}

    def wanted(self) -> dict[str, Any]:
        """Field -> value that the caller wants now, revealed or not."""
        current: dict[str, Any] = {}
        for name in list(self._facts):
            if self._facts[name].supersedes is None and self._facts[name].source != HEDGE:
                head = self.successor(name) or name
                if self._facts[head].source == HEDGE:
                    continue  # it no longer holds, and the new value is not known
                current[self.field_of(head)] = self._facts[head].value
        return current

    def untold(self) -> frozenset[str]:
        """Names of the fields of which no fact was revealed yet."""
        told = {self.field_of(name) for name in self.revealed}
        fields = {self.field_of(name) for name, fact in self._facts.items() if fact.source != HEDGE}
        return frozenset(field.partition(".")[2] or field for field in fields - told)

    def superseded_values(self) -> dict[str, tuple[Any, ...]]:
        """Field -> values that the caller wanted once and no longer does, oldest first."""
        old: dict[str, tuple[Any, ...]] = {}
        for name, fact in self._facts.items():
            if self.successor(name) is not None:
                key = self.field_of(name)
                old[key] = (*old.get(key, ()), fact.value)
        return old


def holds(needed: Iterable[str], present: Set[str]) -> bool:
    """Whether every one of ``needed`` is among ``present``."""
    return all(item in present for item in needed)
