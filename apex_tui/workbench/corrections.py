"""When a field stops being true: what a scripted change of mind says about fields, and whether a value still holds after it.

Pure rules; the marks themselves are kept by ``artifacts``. Deliberately not in here: grading. A third, wrong value written after a
correction is not stale - it is wrong, and the score says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apex_tui.workbench.values import same_value
from apex_tui.workflow.caller_model import CallerFact, ScriptedEvent
from apex_tui.workflow.model import Workflow

_UNKNOWN: Any = object()


@dataclass(frozen=True, slots=True)
class Correction:
    """From ``since_ms`` (audible onset) on, a field should hold ``new`` (when known) and no longer any of ``old``."""

    event: str
    since_ms: float
    old: tuple[Any, ...] = ()
    new: Any = _UNKNOWN

    @property
    def cause(self) -> str:
        """Why the field is stale, for the screen and the log."""
        return f"the caller changed it at {self.since_ms / 1000:.1f} s: {self.event}"

    @property
    def knows_new(self) -> bool:
        """Whether the script states what the field should hold now."""
        return self.new is not _UNKNOWN

    def holds(self, value: Any, began_ms: float) -> bool:
        """Whether ``value``, written by a call that began at ``began_ms``, is true after this correction.

        The corrected value always is; a superseded one never is, whoever writes it. Any other (or when the script states no value):
        only when its call began after the words became audible, since an earlier call cannot have answered them.
        """
        if self.knows_new and same_value(value, self.new):
            return True
        if self.knows_new and any(same_value(value, old) for old in self.old):
            return False
        return began_ms > self.since_ms


def corrections_of(workflow: Workflow, event: ScriptedEvent) -> Mapping[str, tuple[tuple[Any, ...], Any]]:
    """Return ``artifact.field`` -> (superseded values, new value or the unknown mark) for every repair path of an event.

    Values come from ``fact_updates`` and from the facts that this event reveals. A fact belongs to the field
    that it names, or (official packages) whose name equals the id of the first fact in its chain.
    """
    stated: dict[str, tuple[tuple[Any, ...], Any]] = {}
    for fact, value in _new_facts(workflow, event):
        chain = _chain(workflow, fact)
        superseded = tuple(link.value for link in chain if link is not fact or value is not fact.value)
        path = next((link.field for link in chain if link.field), None)
        for repair in event.expected_repairs:
            if repair == path or (path is None and repair.partition(".")[2] == chain[-1].id):
                stated[repair] = (superseded, value)
    return {repair: stated.get(repair, ((), _UNKNOWN)) for repair in event.expected_repairs}


def _new_facts(workflow: Workflow, event: ScriptedEvent) -> list[tuple[CallerFact, Any]]:
    """The facts whose value this event changes, with the value from then on."""
    found = [(fact, fact.value) for fact in workflow.facts if event.id in fact.reveal.events]
    for name, value in event.fact_updates.items():
        fact = workflow.fact(name)
        if fact is not None:
            found.append((fact, value))
    return found


def _chain(workflow: Workflow, fact: CallerFact) -> list[CallerFact]:
    """The fact, what it supersedes, and so on (a ring in a package ends the walk)."""
    chain = [fact]
    while (earlier := workflow.fact(chain[-1].supersedes or "")) is not None and earlier not in chain:
        chain.append(earlier)
    return chain
