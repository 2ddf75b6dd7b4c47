"""Play-out: what of the agent's audio is heard, at which sample of the lane, and what a flush takes away.

In here: ``PlayOut``, a queue on the sample clock. Lane positions are absolute sample indices since frame 0. As nothing
in a queue can overtake, the place of every sample is known when it arrives, and events that fall inside a frame
(``push``, ``flush``) hold at the sample; ``seal`` then hands out the lane piece by piece and counts it as played.

Deliberately not in here: sockets, speakers, the wall clock, and whether a flush was right. The caller of ``PlayOut``
says when each thing happened.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from apex_tui.audio.frames import FRAME_SAMPLES, RATE, SILENT_FRAME, Pcm, silence

FADE_SAMPLES = 120
"""5 ms: long enough to leave no click at a cut, short against every delay that is measured."""

MAX_WAITING_SAMPLES = 10 * 60 * RATE
"""Ten minutes of unplayed audio: providers send replies faster than real time, but none speaks that long."""

MAX_WAITING_CHUNKS = 120_000
"""Ten minutes in pieces of 5 ms: a peer that sends single samples may not fill the memory either."""

_FADE = np.arange(FADE_SAMPLES, 0, -1, dtype=np.float64) / FADE_SAMPLES


@dataclass(frozen=True, slots=True)
class ItemPlayed:
    """How much of an item was heard when a flush cut it: samples played (fade included) of samples received."""

    reply: str
    item: str
    played_samples: int
    received_samples: int


@dataclass(frozen=True, slots=True)
class Flush:
    """What a flush took away: one entry for each item that lost audio, in the order of play."""

    items: tuple[ItemPlayed, ...]


class Span(NamedTuple):
    """A stretch of an item in the sealed lane: ``samples`` samples from ``item_from`` on, heard at ``lane_from``."""

    reply: str
    item: str
    lane_from: int
    item_from: int
    samples: int


class Sealed(NamedTuple):
    """A piece of the agent lane as heard, and whose audio it holds, in lane order."""

    pcm: Pcm
    spans: tuple[Span, ...]


class _Chunk(NamedTuple):
    """Audio with its place: sample 0 of ``pcm`` is heard at ``start`` and is sample ``item_from`` of its item."""

    start: int
    reply: str
    item: str
    item_from: int
    pcm: Pcm

    @property
    def end(self) -> int:
        return self.start + len(self.pcm)


class PlayOut:
    """The agent lane: a queue of audio that plays without a gap as long as any waits.

    An item belongs to one reply, and its name is unique in the session.
    ``overflow`` counts samples that were dropped because more than ten minutes waited.
    """

    def __init__(self) -> None:
        self.overflow = 0
        self._sealed = 0
        self._free = 0  # the first lane position after everything that is placed
        self._queue: deque[_Chunk] = deque()
        self._tail: deque[_Chunk] = deque()  # left by a flush: still to be sealed, already counted
        self._waiting: Counter[str] = Counter()  # by reply
        self._total_waiting = 0
        self._received: Counter[str] = Counter()  # by item
        self._played: Counter[str] = Counter()  # by item
        self._late: Counter[str] = Counter()  # by reply
        self._open: set[str] = set()  # replies with audio that are neither complete nor flushed
        self._complete: set[str] = set()
        self._flushed: set[str] = set()

    def push(self, at: int, reply: str, item: str, pcm: Pcm) -> None:
        """Queue audio of an item that arrived at lane position ``at``.

        It plays behind what waits (or still fades), and exactly at ``at`` when nothing does; an ``at`` before the seal
        counts as the seal. Audio of a flushed reply is dropped and counted as late.
        """
        if reply in self._flushed:
            self._late[reply] += len(pcm)
            return
        if len(pcm) == 0:
            return
        item_from = self._received[item]
        self._received[item] += len(pcm)
        if reply not in self._complete:
            self._open.add(reply)
        room = MAX_WAITING_SAMPLES - self._total_waiting if len(self._queue) < MAX_WAITING_CHUNKS else 0
        kept = min(len(pcm), room)
        self.overflow += len(pcm) - kept
        if kept == 0:
            return
        start = max(at, self._sealed, self._free)
        # A copy: the buffer of a socket may be used again before this is heard.
        self._queue.append(_Chunk(start, reply, item, item_from, pcm[:kept].copy()))
        self._free = start + kept
        self._waiting[reply] += kept
        self._total_waiting += kept

    def complete(self, reply: str) -> None:
        """Note that no more audio will come for this reply."""
        self._complete.add(reply)
        self._open.discard(reply)

    def flush(self, at: int) -> Flush:
        """Drop what has not been played at ``at``; the next 5 ms of what sounds there fade out and count as played.

        Every reply that is open at ``at`` is flushed with it, also one whose audio has just run dry: what still arrives
        for it is late. An ``at`` before the seal counts as the seal.
        """
        at = max(at, self._sealed)
        cut: dict[str, str] = {}  # item -> reply, in the order of play
        sounding = at  # the fade goes on for as long as audio follows without a gap
        while self._queue:
            chunk = self._queue.popleft()
            self._count(chunk.reply, len(chunk.pcm))
            before = min(max(0, at - chunk.start), len(chunk.pcm))
            if before:
                self._tail.append(_part(chunk, 0, before))
            if before < len(chunk.pcm):
                self._flushed.add(chunk.reply)
            fade = max(0, min(chunk.end, at + FADE_SAMPLES) - sounding) if chunk.start + before == sounding else 0
            if fade:
                self._tail.append(_faded(_part(chunk, before, fade), sounding - at))
                sounding += fade
            self._played[chunk.item] += before + fade
            if before + fade < len(chunk.pcm):
                cut[chunk.item] = chunk.reply
        self._flushed |= self._open
        self._open.clear()
        self._free = self._tail[-1].end if self._tail else self._sealed
        return Flush(
            tuple(ItemPlayed(reply, item, self._played[item], self._received[item]) for item, reply in cut.items())
        )

    def seal(self, until: int) -> Sealed:
        """Hand out the lane from the last seal to ``until`` (exclusive); nothing can change it afterwards.

        Raises ``ValueError`` when ``until`` lies before the last seal.
        """
        start = self._sealed
        if until < start:
            raise ValueError(f"the lane is sealed up to sample {start}; it cannot be sealed to {until}")
        self._sealed = until
        if not self._queue and not self._tail:
            return Sealed(SILENT_FRAME if until - start == FRAME_SAMPLES else silence(until - start), ())
        pcm = silence(until - start)
        pieces = self._take(self._tail, until)  # placed before anything in the queue
        for piece in self._take(self._queue, until):
            self._played[piece.item] += len(piece.pcm)
            self._count(piece.reply, len(piece.pcm))
            pieces.append(piece)
        for piece in pieces:
            pcm[piece.start - start : piece.end - start] = piece.pcm
        return Sealed(pcm, _spans(pieces))

    def refuse(self, reply: str) -> None:
        """Take no more audio of a reply that was cut off; what waits stays. What still arrives is dropped and counted as late."""
        self._flushed.add(reply)
        self._open.discard(reply)

    def is_flushed(self, reply: str) -> bool:
        """Tell whether a reply was cut off: audio that arrives for it is late."""
        return reply in self._flushed

    def played(self, item: str) -> int:
        """Return the samples of an item that were heard up to the last seal or flush."""
        return self._played.get(item, 0)

    def received(self, item: str) -> int:
        """Return the samples that arrived for an item, overflow included, until its reply was flushed."""
        return self._received.get(item, 0)

    def pending(self) -> int:
        """Return the samples that wait to be sealed; a fade does not wait."""
        return self._total_waiting

    def pending_of(self, reply: str) -> int:
        """Return the samples of a reply that wait to be sealed."""
        return self._waiting.get(reply, 0)

    def is_played_out(self, reply: str) -> bool:
        """Tell whether a reply is complete and none of its audio waits."""
        return reply in self._complete and reply not in self._waiting

    def late_dropped(self, reply: str) -> int:
        """Return the samples that arrived for a reply after it was flushed."""
        return self._late.get(reply, 0)

    @property
    def playing(self) -> str | None:
        """The reply at the head of the queue, or None when nothing waits."""
        return self._queue[0].reply if self._queue else None

    def _take(self, chunks: deque[_Chunk], until: int) -> list[_Chunk]:
        """Move what lies before ``until`` out of ``chunks``."""
        taken = []
        while chunks and chunks[0].start < until:
            chunk = chunks[0]
            samples = min(chunk.end, until) - chunk.start
            taken.append(_part(chunk, 0, samples))
            if samples == len(chunk.pcm):
                chunks.popleft()
            else:
                chunks[0] = _part(chunk, samples, len(chunk.pcm) - samples)
        return taken

    def _count(self, reply: str, samples: int) -> None:
        """Note that samples of a reply wait no longer."""
        self._total_waiting -= samples
        self._waiting[reply] -= samples
        if self._waiting[reply] == 0:
            del self._waiting[reply]


def _part(chunk: _Chunk, skip: int, samples: int) -> _Chunk:
    pcm = chunk.pcm[skip : skip + samples]
    return _Chunk(chunk.start + skip, chunk.reply, chunk.item, chunk.item_from + skip, pcm)


def _faded(chunk: _Chunk, ramp_from: int) -> _Chunk:
    ramp = _FADE[ramp_from : ramp_from + len(chunk.pcm)]
    pcm = np.rint(chunk.pcm * ramp).astype(np.int16)
    return _Chunk(chunk.start, chunk.reply, chunk.item, chunk.item_from, pcm)


def _spans(pieces: list[_Chunk]) -> tuple[Span, ...]:
    """Describe the pieces, with neighbours that continue the same item joined."""
    spans: list[Span] = []
    for piece in pieces:
        last = spans[-1] if spans else None
        if (
            last is not None
            and (last.reply, last.item) == (piece.reply, piece.item)
            and last.lane_from + last.samples == piece.start
            and last.item_from + last.samples == piece.item_from
        ):
            spans[-1] = Span(last.reply, last.item, last.lane_from, last.item_from, last.samples + len(piece.pcm))
        else:
            spans.append(Span(piece.reply, piece.item, piece.start, piece.item_from, len(piece.pcm)))
    return tuple(spans)
