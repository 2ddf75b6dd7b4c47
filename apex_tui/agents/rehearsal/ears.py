"""When the caller begins and ends, heard from the audio itself; a hint says which sound is what.

The ears run the one edge detector on what arrives. A hint dates the onset and the end of an utterance exactly, names the pauses
that do not end it, and tells a back-channel, for which the ears are deaf. Whoever hints does so for every utterance: from the first hint
on, other sounds are the room (babble on the caller's channel). Without hints, plain onsets and offsets count; so they do from a hint on that
a person has the call. A person's room is measured before the first onset of theirs is looked for, and a fan that is switched on becomes part of it.

Pure: time comes in with the audio. Deliberately not in here: what to do about it (``server``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import Hint
from apex_tui.audio.edges import Edge, EdgeDetector
from apex_tui.audio.floor import MAX_FLOOR_DB
from apex_tui.audio.frames import FRAME_SAMPLES, RATE, Pcm, level_db, to_samples
from apex_tui.audio.room import LISTEN_FIRST, STEADY_FRAMES, Steadiness, room_db

Kind = Literal["began", "ended", "over", "pause", "on"]
BACKCHANNEL = "BACKCHANNEL"
SHORTEST_OVER = to_samples(800)
"""A turn is talked over only when at least so much of it is left."""
NEAR = to_samples(100)
"""An edge this near to a hinted utterance is its own: the detector's error is far smaller, soft first syllables are not."""

LEAST_ROOM = to_samples(100)
"""A shorter stretch of quiet before a sound is its own soft beginning."""

MOST_HINTS = 64

CREEP = 1e-3
"""Seconds a second by which the dating of sample 0 may grow later: above the drift of any device's clock, and far below the
jitter of a socket, which must not move an onset."""


@dataclass(slots=True)
class Turn:
    """A caller turn as heard. Samples since frame 0; ``end`` is None while it is open."""

    onset: int
    hint: Hint | None
    end: int | None = None
    noticed: bool = False
    announce_ms: float | None = None
    marks: deque[tuple[int, float, Kind]] = field(default_factory=deque)
    """What else is due inside it: (sample, ms after it, kind), in order."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What has become due; ``sample`` is the edge itself.

    ``began``, ``ended``: the caller's turn; an early starter ends it before the caller does. ``over``: the moment to talk over it. ``pause``: an
    authored pause is taken for the end. ``on``: after such a pause the caller goes on.
    """

    kind: Kind
    turn: Turn
    sample: int


PERSON = "SPEECH"
"""Act of the hint that a person speaks from here on: nobody knows what they will say, so plain onsets and offsets count again."""


class Ears:
    """Feed audio and hints; ``poll`` gives what has become due, ``next_due`` says when to poll (loop time, s)."""

    def __init__(self, manner: Manner, speaking_at: Callable[[float], bool] | None = None) -> None:
        """``speaking_at``: whether the agent itself can be heard at a loop time (s)."""
        self.samples = 0
        self._manner = manner
        self._speaking_at = speaking_at
        self._detector = EdgeDetector()
        self._room: list[Pcm] | None = []  # what was heard of the room, before its level is known
        self._steady = Steadiness()
        self._zero: float | None = None  # loop time of sample 0
        self._hints: deque[Hint] = deque()
        self._turn: Turn | None = None
        self._known_until = 0
        self._hinted = False

    def hint(self, hint: Hint) -> None:
        """Take a hint; one that comes after its onset still names the turn that the ears found by themselves."""
        turn = self._turn
        self._hinted = hint.act != PERSON
        if not self._hinted:
            self._room = []
            return
        if turn is not None and turn.hint is None and turn.onset < hint.onset - NEAR and not self._deaf_to(hint):
            if turn.noticed:
                turn.hint, turn.end = hint, None  # what was taken for the caller goes over into the caller
                turn.marks = self._marks(hint)
                return
            self._turn = None  # it was the room
        elif turn is not None and turn.hint is None and abs(turn.onset - hint.onset) <= NEAR:
            if self._deaf_to(hint) and not turn.noticed:
                self._turn = None
            elif not self._deaf_to(hint):
                turn.hint, turn.onset, turn.end = hint, hint.onset, None
                turn.marks = self._marks(hint)
                self._close_hinted()
                return
        if len(self._hints) == MOST_HINTS:
            self._hints.popleft()
        self._hints.append(hint)
        if self._manner.foreknown:
            self._open_foreknown()

    def feed(self, pcm: Pcm, now: float) -> None:
        """Take audio that arrived at ``now`` (s) and ended just then."""
        self.samples += len(pcm)
        self._date(now, len(pcm))
        for edge in self._edges(pcm):
            if edge.kind == "on":
                self._onset(edge.at)
            elif self._turn is not None and self._turn.hint is None:
                self._turn.end = max(edge.at, self._turn.onset + 1)
        self._forget_past()
        if self._hints and self._turn is None:
            self._open_foreknown() if self._manner.foreknown else self._open_hinted()
        self._close_hinted()

    def _edges(self, pcm: Pcm) -> list[Edge]:
        """The edges that are certain now. Without hints the room is no caller: it is measured first, and again when it becomes louder for good."""
        if self._room is not None and not self._hinted:
            loud = level_db(pcm) > MAX_FLOOR_DB
            if pcm.any() and not loud and sum(map(len, self._room)) < LISTEN_FIRST:
                self._room.append(pcm)
                return []
            if not pcm.any() and not self._room:
                return self._detector.feed(pcm)
        edges: list[Edge] = []
        if self._room is not None:
            held, self._room = self._room, None
            if sum(map(len, held)) >= LEAST_ROOM and not self._hinted:
                self._detector.settle(room_db(np.concatenate(held)))
            edges = [edge for piece in held for edge in self._detector.feed(piece)]
        edges += self._detector.feed(pcm)
        room = self._steady.feed(level_db(pcm), self._detector.active and self._detector.audible)
        if room is not None and not self._hinted:
            self._detector.settle(room)
            edges.append(Edge("off", max(0, self.samples - STEADY_FRAMES * FRAME_SAMPLES), self.samples))
        return edges

    def next_due(self) -> float | None:
        """When ``poll`` has something, or None."""
        due = self._next()
        return None if due is None else due[0]

    def poll(self, now: float) -> list[Heard]:
        """What is due by ``now``."""
        heard: list[Heard] = []
        while (due := self._next()) is not None and due[0] <= now:
            turn, kind = self._turn, due[1]
            assert turn is not None
            sample = turn.onset
            if kind == "began":
                turn.noticed = True
            elif kind == "ended":
                self._turn, sample = None, min(turn.hint.end if turn.hint else turn.end or turn.onset, self.samples)
                self._known_until = turn.hint.end if turn.hint else 0
            else:
                sample = turn.marks.popleft()[0]
            heard.append(Heard(kind, turn, sample))
        return heard

    def at(self, sample: int) -> float:
        """The loop time (s) at which a sample of the caller's lane sounds."""
        return self._at(sample)

    def _next(self) -> tuple[float, Kind] | None:
        """What is due next, and when."""
        turn = self._turn
        if turn is None or self._zero is None:
            return None
        if not turn.noticed:
            return self._began_at(turn), "began"
        found: list[tuple[float, Kind]] = []
        if turn.marks:
            sample, ms, kind = turn.marks[0]
            found.append((self._at(sample) + ms / 1000, kind))
        if (ended := self._ended_at(turn)) is not None:
            found.append((ended, "ended"))
        return min(found, key=lambda due: due[0], default=None)

    def _deaf_to(self, hint: Hint) -> bool:
        return hint.act == BACKCHANNEL and not self._manner.yields_to_backchannels

    def _marks(self, hint: Hint) -> deque[tuple[int, float, Kind]]:
        """What the manner does inside a hinted turn."""
        found: list[tuple[int, float, Kind]] = []
        over, cut_in = self._manner.talk_over_ms, self._manner.cut_in_ms
        if over is not None and hint.onset + to_samples(over) + SHORTEST_OVER <= hint.end:
            found.append((hint.onset, over, "over"))
        for begin, end in hint.pauses if cut_in is not None else ():
            if begin + to_samples(cut_in or 0.0) < end:
                found += [(begin, cut_in or 0.0, "pause"), (end, self._manner.detect_ms, "on")]
        return deque(sorted(found, key=lambda mark: mark[0] + to_samples(mark[1])))

    def _date(self, now: float, samples: int) -> None:
        """Date sample 0. A message can only be late, so the earliest dating is the truest; it gives way slowly."""
        dated = now - self.samples / RATE
        self._zero = dated if self._zero is None else min(dated, self._zero + CREEP * samples / RATE)

    def _onset(self, at: int) -> None:
        turn = self._turn
        if turn is not None:
            if turn.hint is None:
                turn.end = None  # the caller went on
            return
        if self._hinted:
            return
        if at <= self._known_until:
            return  # the caller still says what was answered early
        for hint in self._hints:
            if hint.onset - NEAR <= at <= hint.end + NEAR:
                return  # a back-channel, or opened below with its exact onset
        self._turn = Turn(at, None)

    def _open_hinted(self) -> None:
        """The next hinted utterance is audible: the turn begins at its exact onset."""
        for hint in self._hints:
            if not self._deaf_to(hint) and self._detector.active and self.samples > hint.onset:
                self._open(hint)
                return

    def _open_foreknown(self) -> None:
        if self._turn is not None:
            return
        for hint in self._hints:
            if not self._deaf_to(hint):
                self._open(hint)
                return

    def _open(self, hint: Hint) -> None:
        self._hints.remove(hint)
        self._turn = Turn(hint.onset, hint, marks=self._marks(hint))

    def _close_hinted(self) -> None:
        turn = self._turn
        if turn is not None and turn.hint is not None and turn.end is None and self.samples >= turn.hint.end:
            turn.end = turn.hint.end

    def _forget_past(self) -> None:
        """Hints whose sound is over name nothing any more."""
        while self._hints and self._hints[0].end + 2 * NEAR < self.samples and not self._detector.active:
            self._hints.popleft()
        while self._hints and self._hints[0].act == BACKCHANNEL and self._hints[0].end + 2 * NEAR < self.samples:
            self._hints.popleft()

    def _at(self, sample: int) -> float:
        assert self._zero is not None
        return self._zero + sample / RATE

    def _began_at(self, turn: Turn) -> float:
        onset = self._at(turn.onset)
        if turn.announce_ms is None:
            turn.announce_ms = self._manner.announce_ms(self._speaking_at is not None and self._speaking_at(onset))
        return onset + turn.announce_ms / 1000

    def _ended_at(self, turn: Turn) -> float | None:
        """When the turn is taken as over: at the latest when it is answered."""
        answer_ms, hint = self._manner.answer_ms, turn.hint
        if hint is None:
            return None if turn.end is None else self._later(turn, turn.end, self._manner.unhinted_endpoint_ms)
        if turn.end is None and not (self._manner.foreknown and answer_ms is not None):
            return None
        silence_ms = self._manner.endpoint_ms
        return self._later(turn, hint.end, silence_ms if answer_ms is None else min(answer_ms, silence_ms))

    def _later(self, turn: Turn, sample: int, ms: float) -> float:
        return max(self._at(sample) + ms / 1000, self._began_at(turn))
