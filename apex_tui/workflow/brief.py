"""The brief of a person who plays the caller: what they know, what they have to change and when, and what may not be said yet.

In here: a pure function of the workflow and the session so far. Deliberately not in here: how it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apex_tui.timeline.state import State
from apex_tui.workflow.caller_model import HEDGE, CallerFact, ScriptedEvent
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.takes import Take, fields_of, takes


@dataclass(frozen=True, slots=True)
class Tell:
    """Something that only the caller knows. ``told``: an utterance was taken for it."""

    name: str
    value: Any
    told: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A correction: (field, old value, new value) of each field, and when it is due. ``due``: what brings it about has happened."""

    changes: tuple[tuple[str, Any, Any], ...]
    when: str
    done: bool
    due: bool


@dataclass(frozen=True, slots=True)
class Brief:
    """Everything on the card. ``not_yet``: new values that must not be said before their correction is due."""

    goal: str
    tell: tuple[Tell, ...]
    changes: tuple[Change, ...]

    @property
    def not_yet(self) -> tuple[tuple[str, Any], ...]:
        """(field, value) of every correction that is neither due nor done."""
        return tuple(
            (name, new) for change in self.changes if not (change.done or change.due) for name, _, new in change.changes
        )


def brief(workflow: Workflow, state: State, said: tuple[Take, ...] | None = None) -> Brief:
    """The card at this moment of the session. ``said``: its takes, when they are known already."""
    said = takes(state, workflow) if said is None else said
    told = _told(workflow, said)
    volunteered = any(take.role == "opening" for take in said)
    changes = tuple(
        _change(workflow, state, event, said) for event in workflow.events if event.type == "MID_SPEECH_CORRECTION"
    )
    told |= {
        name for change in changes if change.done for name, _, _ in change.changes
    }  # the old value is not to be told any more
    tell = []
    for fact in workflow.facts:
        if fact.supersedes is None and fact.source != HEDGE:
            name = _name(fact)
            tell.append(Tell(name, fact.value, name in told or (volunteered and fact.reveal.may_volunteer)))
    return Brief(workflow.caller.goal, tuple(tell), changes)


def _told(workflow: Workflow, said: tuple[Take, ...]) -> set[str]:
    found: set[str] = set()
    for take in said:
        if take.role in ("answer", "opening"):
            found.update(name for name, _ in take.says)
            found |= fields_of(workflow, take.of)
    return found


def _name(fact: CallerFact) -> str:
    return fact.field.partition(".")[2] if fact.field else fact.id


def _change(workflow: Workflow, state: State, event: ScriptedEvent, said: tuple[Take, ...]) -> Change:
    rows = []
    for fact in workflow.facts:
        if event.id in fact.reveal.events and fact.supersedes is not None:
            older = workflow.fact(fact.supersedes)
            rows.append((_name(fact), None if older is None else older.value, fact.value))
    names = {name for name, _, _ in rows}
    corrected = [decision for turn in state.turns for decision in turn.decided if decision.what == "corrected"]
    done = any((decision.field or "").partition(".")[2] in names for decision in corrected)
    wanted = [trigger.agent_act for trigger in (event.trigger, *event.also) if trigger.agent_act]
    seen = {act.key for act in state.acts}
    asked = any(trigger.approval_request for trigger in (event.trigger, *event.also)) and any(
        request.state == "pending" for request in state.requests.values()
    )
    return Change(tuple(rows), _when(wanted), done, asked or bool(seen.intersection(wanted)))


def _when(acts: list[str]) -> str:
    """``when the agent reads back start_date or end_date``."""
    names = [act.partition(":")[2] for act in acts if act.startswith("CONFIRM:")]
    return f"when the agent reads back {' or '.join(names)}" if names else "before you approve"
