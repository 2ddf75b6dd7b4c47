"""Two sources of a state over time: the live feed, which takes events as they come, and the player, which seeks in a recording.

Both hold the fold; neither knows widgets, files or clocks (the player is told how much time went by).
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import accumulate

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Area, State
from apex_tui.timeline.view import SessionView
from apex_tui.tui.archive import Archive

PER_FLUSH = 500
"""Events folded in one flush of 50 ms: 10,000 a second, and a flood still leaves the keys alive."""
STOP = 20_000
"""Events between two stops of a replay: 25 ms of folding."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
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


class Player:
    """A recording with a position. The state at the position is the fold of the events up to it; going back folds again from the start."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: Sequence[Event] = tuple(events)
        self._times = list(accumulate((e.media_ms for e in self.events), max))
        self._stops: list[tuple[int, bytes]] = []
        """Views at every `STOP` events, pickled: what a seek in a long recording starts from. They never leave this process."""
        self.whole = self._fold_whole().state
        self.view = SessionView()
        self.count = 0
        """Number of events up to the position."""
        self.at_ms = 0.0
        self.playing = False
        self.speed = 1.0
        self.kept: list[int] | None = None
        """Indexes of the events that stepping goes through; None: all."""
        self._barges = self._moments({b.seq for b in self.whole.barge_ins.values()})
        self._versions = self._moments({v.seq for a in self.whole.artifacts.values() for v in a.versions})
        self.seek(0.0)

    @property
    def state(self) -> State:
        """The state at the position."""
        return self.view.state

    @property
    def end_ms(self) -> float:
        """Length of the recording."""
        return self._times[-1] if self._times else 0.0

    def _moments(self, seqs: set[int]) -> list[float]:
        return sorted({time for event, time in zip(self.events, self._times, strict=True) if event.seq in seqs})

    def seek(self, ms: float) -> None:
        """Go to an instant; it is kept inside the recording."""
        self.at_ms = min(self.end_ms, max(0.0, ms))
        self._fold_to(bisect_right(self._times, self.at_ms))

    def _fold_whole(self) -> SessionView:
        view = SessionView()
        for number, event in enumerate(self.events):
            if number and number % STOP == 0:
                self._stops.append((number, pickle.dumps(view, pickle.HIGHEST_PROTOCOL)))
            view.apply(event)
        return view

    def _fold_to(self, count: int) -> None:
        stop = next((s for s in reversed(self._stops) if s[0] <= count), None)
        if stop is not None and not stop[0] <= self.count <= count:
            self.view, self.count = pickle.loads(stop[1]), stop[0]
        elif count < self.count:
            self.view, self.count = SessionView(), 0
        for event in self.events[self.count : count]:
            self.view.apply(event)
        self.count = count

    def step(self, events: int) -> None:
        """Go on or back by whole events; several events of one instant are told apart."""
        if self.kept is None:
            self.to_index(min(len(self.events), max(0, self.count + events)) - 1)
            return
        place = bisect_right(self.kept, self.count - 1)  # kept events up to the cursor
        on_one = place > 0 and self.kept[place - 1] == self.count - 1
        target = place - 1 + events if events > 0 or on_one else place + events
        if 0 <= target < len(self.kept):
            self.to_index(self.kept[target])

    def to_index(self, index: int) -> None:
        """Go to just after one event; -1: before the first."""
        self._fold_to(index + 1)
        self.at_ms = self._times[index] if index >= 0 else 0.0

    def to_barge_in(self, direction: int) -> bool:
        """Go to the next or previous barge-in; False when there is none that way."""
        return self._jump(self._barges, direction)

    def to_version(self, direction: int) -> bool:
        """Go to the next or previous artifact version; False when there is none that way."""
        return self._jump(self._versions, direction)

    def _jump(self, moments: list[float], direction: int) -> bool:
        if direction > 0:
            index = bisect_right(moments, self.at_ms)
            if index == len(moments):
                return False
            self.seek(moments[index])
            return True
        index = bisect_left(moments, self.at_ms)
        if index == 0:
            return False
        self.seek(moments[index - 1])
        return True

    def change_speed(self, steps: int) -> None:
        """Next faster or slower speed of `SPEEDS`."""
        index = min(len(SPEEDS) - 1, max(0, SPEEDS.index(self.speed) + steps))
        self.speed = SPEEDS[index]

    def toggle(self) -> None:
        """Play or pause; at the end playing starts over."""
        if not self.playing and self.at_ms >= self.end_ms:
            self.seek(0.0)
        self.playing = not self.playing

    def tick(self, elapsed_s: float) -> bool:
        """``elapsed_s`` of wall time went by; whether the position moved."""
        if not self.playing:
            return False
        self.seek(self.at_ms + elapsed_s * 1000.0 * self.speed)
        if self.at_ms >= self.end_ms:
            self.playing = False
        return True
