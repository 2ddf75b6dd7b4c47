"""What all parts of the fold share: the shape of a handler, and what the fold remembers beyond the state that is shown.

A handler takes the state, the memory, the event and its fact; it changes the first two and returns which areas of a screen that touched.
A fact that refers to something unknown, or comes twice, changes nothing and is counted in ``Memory.ignored``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Area, Mark, Reply, State, Turn

Areas = frozenset[Area]
NOTHING: Areas = frozenset()


@dataclass(slots=True)
class Memory:
    """What later facts need to find their place, and no screen shows."""

    ignored: int = 0
    turns: dict[int, Turn] = field(default_factory=dict)
    recovered: set[int] = field(default_factory=set)
    """Turns that were planned as a nudge or a re-ask."""
    speaking: set[int] = field(default_factory=set)
    """Turns that began and have not ended."""
    ended_early: dict[int, float] = field(default_factory=dict)
    """Ends that came before their beginning: turn -> last audible ms."""
    item_turn: dict[str, int] = field(default_factory=dict)
    """The agent's item id -> the turn that it transcribes."""
    transcripts: dict[int, dict[str, str]] = field(default_factory=dict)
    """Turn -> item -> final transcript, in order of arrival."""
    audible: list[Reply] = field(default_factory=list)
    """Replies whose last audible stretch is open."""
    barge_in_marks: dict[int, Mark] = field(default_factory=dict)
    tool_marks: dict[str, Mark] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    """Calls that were taken and have not ended."""

    def ignore(self) -> Areas:
        """Count a fact that has no place."""
        self.ignored += 1
        return NOTHING


Handler = Callable[[State, Memory, Event, Any], Areas]
Handlers = Mapping[type[Fact], Handler]


def areas(*names: Area) -> Areas:
    """A set of areas, made once when a module is loaded."""
    return frozenset(names)


def reply_of(state: State, event: Event, reply: str) -> Reply:
    """The reply of that id; one that was never announced begins with this event."""
    found = state.replies.get(reply)
    if found is None:
        found = state.replies[reply] = Reply(id=reply, seq=event.seq, started_ms=event.media_ms)
        state.reply_order.append(reply)
    return found
