"""Scripted events: when one is due, and at which played millisecond of a reply its words begin.

In here: matching triggers over what happened since the caller last spoke, and the seeded point inside the authored window. Deliberately not
in here: speaking (policy), and what the event does to the work (workbench).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from apex_tui.caller.facts import FactBook
from apex_tui.caller.flow import Observation, matches
from apex_tui.workflow.caller_model import ScriptedEvent, Transition, Trigger
from apex_tui.workflow.determinism import stable_int
from apex_tui.workflow.model import Workflow

WINDOW_MS = (700, 1000)
"""Where an interruption begins when its author gave no window: after the agent's first words, before most replies end."""
OFFICIAL_MS = 700
"""The reference interrupts after this much of the agent's speech; we count it as played."""
REACTION_MS = 150.0
"""A caller who hears the trigger in mid-reply needs this long to speak up."""
CLAIMS = frozenset({"BARGE_IN", "URGENT_OVERRIDE"})
"""Floor actions that take the floor from the agent."""
OVERLAPS = frozenset({"BACKCHANNEL", "OVERLAP_WITHOUT_FLOOR_CLAIM"})
"""Floor actions that leave it there."""
_NEVER = float("inf")


@dataclass(slots=True)
class Armed:
    """An event that is due. ``at``: played ms of its reply; ``reply``: the reply it waits in (None: the next one); ``note``: why it is not
    delivered as authored, once ``in_turn``.
    """

    event: ScriptedEvent
    transition: Transition
    trigger: str
    point: float
    at: float
    reply: str | None
    seen: bool = False
    in_turn: bool = False
    note: str = ""
    played: float = 0.0

    @property
    def floor(self) -> str:
        """The floor action of its words."""
        return self.transition.do.floor_action if self.transition.do is not None else "AFTER_FLOOR_RELEASE"


class EventDesk:
    """Events of one session that are not due yet."""

    def __init__(self, workflow: Workflow, seed: int, *, official: bool = False) -> None:
        self._waiting = [_as_official(event) if official else event for event in workflow.events]
        self._official = official
        self._seed = (workflow.scenario_id, seed)
        self._beat = Observation()
        self._timed()

    def note(self, **new: tuple[str, ...]) -> None:
        """Add to what happened since the caller last spoke."""
        values: dict[str, Any] = {name: (*getattr(self._beat, name), *keys) for name, keys in new.items()}
        self._beat = replace(self._beat, **values)

    def caller_spoke(self) -> None:
        """A new stretch begins."""
        self._beat = Observation()

    def due(self, book: FactBook, now_ms: float, played_ms: float, repetitions: int) -> list[tuple[ScriptedEvent, str]]:
        """Events whose trigger (or one of ``also``) matches now, each once, with the trigger in words."""
        if self._official and self._beat == Observation():
            return []
        seen = replace(
            self._beat,
            media_ms=now_ms,
            agent_speech_ms=played_ms,
            repetitions=repetitions,
            events=tuple(sorted(book.events)),
        )
        found: list[tuple[ScriptedEvent, str]] = []
        for event in self._waiting:
            met = next(
                (t for t in (event.trigger, *event.also) if matches(t, seen, book, generic=not self._official)), None
            )
            if met is not None:
                found.append((event, words_of(met)))
        if found:
            gone = {event.id for event, _ in found}
            self._waiting = [event for event in self._waiting if event.id not in gone]
            self._timed()
        return found

    def drop(self, event: str) -> None:
        """An event has happened otherwise: it is not waited for."""
        self._waiting = [waiting for waiting in self._waiting if waiting.id != event]
        self._timed()

    def point(self, event: ScriptedEvent) -> float:
        """The seeded onset inside the window, in played ms."""
        low, high = event.start_window_ms or WINDOW_MS
        low, high = min(low, high), max(low, high)
        return float(low + stable_int(*self._seed, "window", event.id) % (high - low + 1))

    def _timed(self) -> None:
        triggers = [trigger for event in self._waiting for trigger in (event.trigger, *event.also)]
        media = [t.media_time_ms_gte for t in triggers if t.media_time_ms_gte is not None]
        speech = [t.agent_speech_continuous_ms_gte for t in triggers if t.agent_speech_continuous_ms_gte is not None]
        self.next_media_ms = min(media, default=_NEVER)
        self.next_speech_ms = min(speech, default=_NEVER)


def _as_official(event: ScriptedEvent) -> ScriptedEvent:
    """The event as the reference's runner sees it: four trigger fields count, all others are ignored, and so is the window."""
    read = event.trigger.model_dump(include={"agent_act", "tool_call", "artifact_mutation", "commit_attempt"})
    return event.model_copy(
        update={"trigger": Trigger(**read), "also": (), "start_window_ms": (OFFICIAL_MS, OFFICIAL_MS)}
    )


def words_of(trigger: Trigger) -> str:
    """A trigger in words: its populated fields."""
    parts = [f"{name} {value}" for name, value in trigger.model_dump(exclude_defaults=True).items()]
    return ", ".join(parts) or "the session began"
