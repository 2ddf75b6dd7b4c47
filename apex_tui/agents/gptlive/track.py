"""Replies cut out of a continuous track by energy: the service names none, and sends silence as well as speech.

A reply opens where the edge detector finds an onset and ends once 0.8 s without audible sound have followed. It holds the track without a
gap from the message in which it began (or from just before its onset, where that lies in the message before), so that played as it arrives
every sound keeps its time. Only an onset within the last 15 ms of a message, which the next one makes certain, is played late, by up to
30 ms. Positions are samples of the track, whose silence is time as well.

Deliberately not in here: messages and words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from apex_tui.audio.edges import EdgeDetector
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, pcm_bytes, pcm_from_bytes, to_samples

GAP_SAMPLES = to_samples(800)
"""Silence that ends a reply: pauses inside one are shorter, and nothing else divides the track."""

LEAD = to_samples(10)
"""Kept before a back-dated onset, which is certain to a few milliseconds only: no sound may be cut."""

SILENT = 16
"""Samples up to this (-66 dBFS) before a back-dated onset are no part of the sound."""


@dataclass(slots=True)
class Piece:
    """What a message meant: a reply ``began`` or ``ended`` at a track position, or ``audio`` of it."""

    what: Literal["began", "audio", "ended"]
    reply: int
    at: int
    pcm: list[Pcm] = field(default_factory=list)

    @property
    def raw(self) -> bytes:
        """The audio as bytes."""
        return pcm_bytes(np.concatenate(self.pcm))


class Track:
    """The output track of one session. ``position``: samples so far. ``reply``: the number of the open reply, else None."""

    def __init__(self) -> None:
        self.position = 0
        self.reply: int | None = None
        self.count = 0
        self._edges = EdgeDetector()
        self._before: Pcm = np.zeros(0, dtype=np.int16)  # the end of the message before, outside a reply
        self._aside: list[Pcm] = []  # of this message, outside a reply

    def feed(self, raw: bytes) -> list[Piece]:
        """Take the next samples of the track."""
        pcm = pcm_from_bytes(raw)
        pieces: list[Piece] = []
        self._aside = []
        begin = self.position
        for start in range(0, len(pcm), FRAME_SAMPLES):
            self._slice(pcm[start : start + FRAME_SAMPLES], begin, pieces)
        if self._aside:
            self._before = np.concatenate((self._before, *self._aside))[-FRAME_SAMPLES:]
        return pieces

    def finish(self) -> list[Piece]:
        """The track is over."""
        return [self._end()] if self.reply is not None else []

    def _slice(self, pcm: Pcm, begin: int, pieces: list[Piece]) -> None:
        self.position += len(pcm)
        edges = self._edges.feed(pcm)
        if self.reply is None:
            self._aside.append(pcm)
            onset = next((edge.at for edge in edges if edge.kind == "on"), None)
            if onset is not None:
                self._open(onset, begin, pieces)
            return
        self._add(pcm, pieces)
        if self.position - self._edges.last_audible >= GAP_SAMPLES and not self._edges.active:
            pieces.append(self._end())

    def _open(self, onset: int, begin: int, pieces: list[Piece]) -> None:
        self.count += 1
        self.reply = self.count
        kept = self._kept(begin - (onset - LEAD))
        back = sum(map(len, kept))
        at = self.position - sum(map(len, self._aside)) - back
        pieces.append(Piece("began", self.reply, at))
        pieces.append(Piece("audio", self.reply, at, [*kept, *self._aside]))
        self._aside = []
        self._before = self._before[:0]

    def _kept(self, most: int) -> list[Pcm]:
        """The last ``most`` samples of the message before, from the first that is no silence; nothing when all are."""
        end = self._before[-most:] if most > 0 else self._before[:0]
        loud = np.flatnonzero(np.abs(end.astype(np.int32)) > SILENT)
        return [end[int(loud[0]) :]] if loud.size else []

    def _add(self, pcm: Pcm, pieces: list[Piece]) -> None:
        assert self.reply is not None
        last = pieces[-1] if pieces else None
        if last is not None and last.what == "audio":
            last.pcm.append(pcm)
        else:
            pieces.append(Piece("audio", self.reply, self.position - len(pcm), [pcm]))

    def _end(self) -> Piece:
        assert self.reply is not None
        reply, self.reply = self.reply, None
        return Piece("ended", reply, self.position)
