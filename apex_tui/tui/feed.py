"""The live feed: events wait until the next flush folds them. It holds the fold, and knows neither widgets nor files nor clocks."""

from __future__ import annotations

from collections import deque

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Area, State
from apex_tui.timeline.view import SessionView
from apex_tui.tui.archive import Archive

PER_FLUSH = 500
"""Events folded in one flush of 50 ms: 10,000 a second, and a flood still leaves the keys alive."""
ALL_AREAS: frozenset[Area] = frozenset(
    ("session", "transcript", "artifact", "authority", "tools", "barge_in", "latency", "caller", "lanes", "events")
)


class Feed:
    """The live session: events wait in a queue until the next flush folds them. Holding stops the view, never the engine."""

    def __init__(self) -> None:
        self.view = SessionView()
        self.events: Archive = Archive()
        """Events that the view has taken in."""
        self.held = False
        self._waiting: deque[Event] = deque()

    @property
    def state(self) -> State:
        """What the view shows."""
        return self.view.state

    @property
    def waiting(self) -> int:
        """Number of events that came and are not shown yet."""
        return len(self._waiting)

    def push(self, event: Event) -> None:
        """An event came."""
        self._waiting.append(event)

    def advance(self, limit: int = PER_FLUSH) -> frozenset[Area]:
        """Fold at most ``limit`` waiting events; the areas that changed. Nothing while held."""
        touched: set[Area] = set()
        if self.held:
            return frozenset()
        for _ in range(min(limit, len(self._waiting))):
            event = self._waiting.popleft()
            if event.seq <= self.view.state.seq:
                continue
            touched |= self.view.apply(event)
            touched.add("events")
            self.events.append(event)
        return frozenset(touched)
