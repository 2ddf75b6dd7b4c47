"""When the caller begins and ends, heard from the audio itself; a hint says which sound is what.

The ears run the one edge detector on what arrives. A hint dates the onset and the end of an utterance exactly, names the pauses
that do not end it, and tells a back-channel, for which the ears are deaf. Without hints, plain onsets and offsets count.

Pure: time comes in with the audio. Deliberately not in here: what to do about it (``server``).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import Hint
from apex_tui.audio.edges import EdgeDetector
from apex_tui.audio.frames import RATE, Pcm, to_samples

BACKCHANNEL = "BACKCHANNEL"
NEAR = to_samples(100)
"""An edge this near to a hinted utterance is its own: the detector's error is far smaller, soft first syllables are not."""

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


@dataclass(frozen=True, slots=True)
class Heard:
    """The caller began, or has ended; ``sample`` is the edge itself."""

    kind: Literal["began", "ended"]
    turn: Turn
    sample: int


class Ears:
    """Feed audio and hints; ``poll`` gives what has become due, ``next_due`` says when to poll (loop time, s)."""

    def __init__(self, manner: Manner) -> None:
        self.samples = 0
        self._manner = manner
        self._detector = EdgeDetector()
        self._zero: float | None = None  # loop time of sample 0
        self._hints: deque[Hint] = deque()
        self._turn: Turn | None = None

    def hint(self, hint: Hint) -> None:
        """Take a hint; one that comes after its onset still names the turn that the ears found by themselves."""
        turn = self._turn
        if turn is not None and turn.hint is None and abs(turn.onset - hint.onset) <= NEAR:
            if hint.act == BACKCHANNEL and not turn.noticed:
                self._turn = None
            elif hint.act != BACKCHANNEL:
                turn.hint, turn.onset, turn.end = hint, hint.onset, None
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
        for edge in self._detector.feed(pcm):
            if edge.kind == "on":
                self._onset(edge.at)
            elif self._turn is not None and self._turn.hint is None:
                self._turn.end = edge.at
        self._forget_past()
        if self._hints and self._turn is None:
            self._open_foreknown() if self._manner.foreknown else self._open_hinted()
        self._close_hinted()

    def next_due(self) -> float | None:
        """When ``poll`` has something, or None."""
        turn = self._turn
        if turn is None or self._zero is None:
            return None
        if not turn.noticed:
            return self._began_at(turn)
        return self._ended_at(turn)

    def poll(self, now: float) -> list[Heard]:
        """What is due by ``now``."""
        heard: list[Heard] = []
        while (due := self.next_due()) is not None and due <= now:
            turn = self._turn
            assert turn is not None
            if not turn.noticed:
                turn.noticed = True
                heard.append(Heard("began", turn, turn.onset))
            else:
                self._turn = None
                heard.append(Heard("ended", turn, turn.end or turn.onset))
        return heard

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
        for hint in self._hints:
            if hint.onset - NEAR <= at <= hint.end + NEAR:
                return  # a back-channel, or opened below with its exact onset
        self._turn = Turn(at, None)

    def _open_hinted(self) -> None:
        """The next hinted utterance is audible: the turn begins at its exact onset."""
        for hint in self._hints:
            if hint.act != BACKCHANNEL and self._detector.active and self.samples > hint.onset:
                self._hints.remove(hint)
                self._turn = Turn(hint.onset, hint)
                return

    def _open_foreknown(self) -> None:
        if self._turn is not None:
            return
        for hint in self._hints:
            if hint.act != BACKCHANNEL:
                self._hints.remove(hint)
                self._turn = Turn(hint.onset, hint)
                return

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
        return self._at(turn.onset) + self._manner.detect_ms / 1000

    def _ended_at(self, turn: Turn) -> float | None:
        if turn.end is None:
            return None
        hinted = turn.hint is not None
        silence_ms = self._manner.endpoint_ms if hinted else self._manner.unhinted_endpoint_ms
        return max(self._at(turn.end) + silence_ms / 1000, self._began_at(turn))
