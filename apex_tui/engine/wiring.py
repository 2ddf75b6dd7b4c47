"""Puts facts on the timeline with their causes, and lets the floor meter and the listeners learn each one.

The causes of a fact are the newest events it can have followed from: the caller's turn, the reply, the call. Whoever emits names what it
knows; this room remembers the sequence numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from apex_tui.score.floor import FloorMeter, Measured
from apex_tui.timeline.agent_facts import AgentSpeechEnded, AgentSpeechStarted
from apex_tui.timeline.base import Fact
from apex_tui.timeline.caller_facts import CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.log import TimelineWriter

Listener = Callable[[Event], None]


class Wiring:
    """The timeline as the engine writes it."""

    def __init__(
        self, open_writer: Callable[[Callable[[], float], Listener], TimelineWriter], clock: Callable[[], float]
    ) -> None:
        self._start: float | None = None
        self._clock = clock
        self._meter = FloorMeter()
        self._listeners: list[Listener] = []
        self._writer = open_writer(self.media_ms, self._learn)
        self.edges_ms: list[float] = []
        """Media positions of all audible edges, for the check of our own pacing."""
        self.turn_seq: int | None = None
        self.reply_seq: dict[str, int] = {}
        self.call_seq: dict[str, int] = {}

    def listen(self, listener: Listener) -> None:
        """Have every event from now on."""
        self._listeners.append(listener)

    def begin(self, start: float) -> None:
        """Frame 0 begins at loop time ``start`` (s)."""
        self._start = start

    @property
    def begun_at(self) -> float | None:
        """The loop time (s) of the beginning of frame 0; None before."""
        return self._start

    def media_ms(self) -> float:
        """The position on the media clock now; 0 before the first frame."""
        return 0.0 if self._start is None else round(max(0.0, 1000 * (self._clock() - self._start)), 3)

    def media_of(self, at: float) -> float:
        """The media position of a loop time."""
        return 0.0 if self._start is None else round(max(0.0, 1000 * (at - self._start)), 3)

    def call_at(self, media_ms: float) -> float:
        """The loop time (s) of a media position."""
        return (self._start or 0.0) + media_ms / 1000

    def emit(self, fact: Fact, causes: Iterable[int | None] = ()) -> int:
        """Put a fact on the timeline. Returns its sequence number."""
        return self._writer.emit(cast(AnyFact, fact), causes=sorted({c for c in causes if c is not None}))

    def emit_all(self, facts: Iterable[Fact], causes: Iterable[int | None] = ()) -> list[int]:
        """Put facts on the timeline in order; each also follows from the one before it."""
        known = [c for c in causes if c is not None]
        seqs: list[int] = []
        for fact in facts:
            seqs.append(self.emit(fact, [*known, *seqs[-1:]]))
        return seqs

    def advance(self, now_ms: float) -> None:
        """Let time pass for what is observed."""
        self._put(self._meter.advance(now_ms))

    def finish(self) -> None:
        """The session is over: judge what is still observed, so that `session.ended` can be the last event."""
        self._put(self._meter.finish(self.media_ms()))

    def flush_if_due(self) -> None:
        """Bring the log to the disk when its oldest line waits for 100 ms."""
        self._writer.flush_if_due()

    @property
    def waiting_lines(self) -> int:
        """Lines of the log that wait for the disk."""
        return self._writer.waiting

    def close(self) -> None:
        """Bring everything to the disk."""
        self._writer.close()

    def _learn(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)
        match event.fact:
            case AgentSpeechStarted(onset_ms=at) | CallerTurnStarted(onset_ms=at):
                self.edges_ms.append(at)
            case AgentSpeechEnded(offset_ms=at) | CallerTurnEnded(offset_ms=at):
                self.edges_ms.append(at)
        self._put(self._meter.take(event))

    def _put(self, measured: Iterable[Measured]) -> None:
        for fact, causes in measured:
            self._writer.emit(fact, causes=causes)
