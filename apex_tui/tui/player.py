"""A recording with a position: what replay shows at any instant. It knows neither widgets nor files nor clocks: it is told how much time went by.

A long recording is handed over in pieces; going back starts from the nearest *stop*, a copy of the view that was kept on the way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from apex_tui.timeline.events import Event
from apex_tui.timeline.fork import fork
from apex_tui.timeline.state import State
from apex_tui.timeline.view import SessionView

STOP = 1000
"""Events between two stops: at most 5 ms of folding. A stop of a session of 100,000 events takes 0.1 MB."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Player:
    """A recording with a position. The state at the position is the fold of the events up to it; going back folds again from the start."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: list[Event] = []
        self._times: list[float] = []
        self._stops: list[SessionView] = []
        """The views after every `STOP` events; nothing is applied to them."""
        self._whole = SessionView()
        self.view = SessionView()
        self.count = 0
        """Number of events up to the position."""
        self.at_ms = 0.0
        self.playing = False
        self.speed = 1.0
        self.kept: list[int] | None = None
        """Indexes of the events that stepping goes through; None: all."""
        self.extend(events)
        self.seek(0.0)

    def extend(self, events: Iterable[Event]) -> None:
        """Further events of the recording; the position stays where it is."""
        latest = self._times[-1] if self._times else 0.0
        for event in events:
            if self.events and len(self.events) % STOP == 0:
                self._stops.append(fork(self._whole))
            self.events.append(event)
            latest = max(latest, event.media_ms)
            self._times.append(latest)
            self._whole.apply(event)

    @property
    def whole(self) -> State:
        """The state after every event that was read."""
        return self._whole.state

    @property
    def state(self) -> State:
        """The state at the position."""
        return self.view.state

    @property
    def end_ms(self) -> float:
        """Length of the recording."""
        return self._times[-1] if self._times else 0.0

    def _moments(self, seqs: Iterable[int]) -> list[float]:
        """When these events were noted, in order and each moment once."""
        places = (bisect_left(self.events, seq, key=lambda e: e.seq) for seq in seqs)
        return sorted({self._times[place] for place in places if place < len(self._times)})

    def seek(self, ms: float) -> None:
        """Go to an instant; it is kept inside the recording."""
        self.at_ms = min(self.end_ms, max(0.0, ms))
        self._fold_to(bisect_right(self._times, self.at_ms))

    def _fold_to(self, count: int) -> None:
        number = min(count // STOP, len(self._stops))  # the last stop that is not beyond
        if not number * STOP <= self.count <= count:
            self.view = fork(self._stops[number - 1]) if number else SessionView()
            self.count = number * STOP
        for event in self.events[self.count : count]:
            self.view.apply(event)
        self.count = count

    def to_event(self, seq: int) -> None:
        """Go to the moment from which the recording shows this event."""
        for ms in self._moments((seq,)):
            self.seek(ms)

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
        return self._jump(self._moments(b.seq for b in self.whole.barge_ins.values()), direction)

    def to_version(self, direction: int) -> bool:
        """Go to the next or previous artifact version; False when there is none that way."""
        return self._jump(self._moments(v.seq for a in self.whole.artifacts.values() for v in a.versions), direction)

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
