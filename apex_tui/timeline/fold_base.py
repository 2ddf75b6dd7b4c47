"""What all parts of the fold share: the shape of a handler, and what the fold remembers beyond the state that is shown.

A handler takes the state, the memory, the event and its fact; it changes the first two and returns which areas of a screen that touched.
A fact that refers to something unknown, or comes twice, changes nothing and is counted in ``Memory.ignored``.

Views that were forked share their rows until one of them changes a row. So a handler never changes a row that it found in a container:
it asks `own_row`, `reply_of` or `turn_of` for its own one first; and it never changes a dictionary inside another container, it puts a new
one there. Rows that stand in two places are named by id or index in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, overload

from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Approval, Area, Artifact, BargeIn, Call, Mark, Reply, Request, State, Turn

Areas = frozenset[Area]
NOTHING: Areas = frozenset()


@dataclass(slots=True)
class Memory:
    """What later facts need to find their place, and no screen shows."""

    ignored: int = 0
    own: set[int] | None = field(default=None, compare=False)
    """Python's ids of the rows that no other view holds; None: no view holds any, as this one was never forked."""
    turns: dict[int, int] = field(default_factory=dict)
    """Turn -> its place in ``State.turns``."""
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
    audible: list[str] = field(default_factory=list)
    """Replies whose last audible stretch is open."""
    barge_in_marks: dict[int, int] = field(default_factory=dict)
    """Barge-in -> the place of its mark in ``State.marks``."""
    tool_marks: dict[str, int] = field(default_factory=dict)
    """Call -> the place of its mark in ``State.marks``."""
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


Row = TypeVar("Row", Turn, Reply, Call, Artifact, Request, Approval, BargeIn, Mark)
"""A row that later events change."""
Key = TypeVar("Key")


def _copier(cls: type[Any]) -> Callable[[Any], Any]:
    """How a row of that class is copied: all fields as they are, and a copy of each container that the fold fills. JSON stays as it came."""
    values = attrgetter(*(each.name for each in fields(cls)))
    kinds = {each.name: str(each.type) for each in fields(cls)}
    growing = [name for name, kind in kinds.items() if kind.startswith(("list[", "dict[")) and "Any]" not in kind]

    def copied(row: Any) -> Any:
        copy = cls(*values(row))
        for name in growing:
            setattr(copy, name, getattr(copy, name).copy())
        return copy

    return copied


_COPIERS: Mapping[type[Any], Callable[[Any], Any]] = {
    cls: _copier(cls) for cls in (Turn, Reply, Call, Artifact, Request, Approval, BargeIn, Mark)
}


@overload
def own_row(memory: Memory, rows: list[Row], key: int) -> Row: ...
@overload
def own_row(memory: Memory, rows: dict[Key, Row], key: Key) -> Row: ...
def own_row(memory: Memory, rows: Any, key: Any) -> Any:
    """The row at that place, to be changed: a copy takes its place first when another view may hold it, too."""
    row = rows[key]
    if memory.own is None or id(row) in memory.own:
        return row
    copy = rows[key] = _COPIERS[type(row)](row)
    memory.own.add(id(copy))
    return copy


def new_row(memory: Memory, row: Row) -> Row:
    """A row that was just made: nobody else holds it."""
    if memory.own is not None:
        memory.own.add(id(row))
    return row


def reply_of(state: State, memory: Memory, event: Event, reply: str) -> Reply:
    """The reply of that id, to be changed; one that was never announced begins with this event."""
    if reply in state.replies:
        return own_row(memory, state.replies, reply)
    found = new_row(memory, Reply(id=reply, seq=event.seq, started_ms=event.media_ms))
    state.replies[reply] = found
    state.reply_order.append(reply)
    return found


def turn_of(state: State, memory: Memory, turn: int) -> Turn | None:
    """The turn of that number, to be changed; None: it has not begun."""
    place = memory.turns.get(turn)
    return None if place is None else own_row(memory, state.turns, place)


def add_mark(state: State, memory: Memory, mark: Mark) -> int:
    """Put a mark on the lanes, and say where it stands."""
    state.marks.append(new_row(memory, mark))
    return len(state.marks) - 1
