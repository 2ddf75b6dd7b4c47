"""The fold: one event after another becomes the state of the session, the same for the live screen, replay and the scorer.

In here: ``SessionView``. The handlers of the facts lie in ``fold_session``, ``fold_caller``, ``fold_agent``, ``fold_floor``, ``fold_work``
and ``fold_authority``; each fact class has exactly one. Deliberately not in here: any decision. Events carry outcomes (decisions, versions,
digests, staleness), and the fold only files them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from apex_tui.timeline import fold_agent, fold_authority, fold_caller, fold_floor, fold_session, fold_work
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handler, Memory
from apex_tui.timeline.state import State

HANDLERS: dict[type[Fact], Handler] = {
    **fold_session.HANDLERS,
    **fold_caller.HANDLERS,
    **fold_agent.HANDLERS,
    **fold_floor.HANDLERS,
    **fold_work.HANDLERS,
    **fold_authority.HANDLERS,
}
"""Fact class -> what it does to the state."""


class SessionView:
    """A session as it looks after the events so far. ``state`` is to be read, never changed from outside."""

    __slots__ = ("_memory", "state")

    def __init__(self) -> None:
        self.state = State()
        self._memory = Memory()

    @property
    def ignored(self) -> int:
        """Number of facts (or parts of one) that had no place: they came twice, too late, or named something unknown."""
        return self._memory.ignored

    def apply(self, event: Event) -> Areas:
        """Take in the next event and return which areas it touched.

        An event whose ``seq`` is not beyond the last one was seen before (a screen that reads on from the file meets it twice): it changes
        nothing and counts as ignored.
        """
        state = self.state
        if event.seq <= state.seq:
            return self._memory.ignore()
        state.seq = event.seq
        state.events += 1
        if event.media_ms > state.media_ms:
            state.media_ms = event.media_ms
        fact = event.fact
        return HANDLERS[type(fact)](state, self._memory, event, fact)

    @classmethod
    def fold(cls, events: Iterable[Event]) -> Self:
        """The view after all of ``events``."""
        view = cls()
        for event in events:
            view.apply(event)
        return view

    @classmethod
    def at(cls, events: Iterable[Event], media_ms: float) -> Self:
        """The view at an instant: after every event that was noted up to and including ``media_ms``, in the order of the log."""
        view = cls()
        for event in events:
            if event.media_ms > media_ms:
                break
            view.apply(event)
        return view
