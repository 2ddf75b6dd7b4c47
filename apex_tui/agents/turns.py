"""Local turn detection: where the caller begins and ends, by energy alone, with the audio of each turn.

The one edge detector finds sound; a turn is over when no sound followed for ``silence_ms``. For agents that have no ears of their
own (cascade, local agents). Pure: samples are the clock. Deliberately not in here: whether the sound is speech.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apex_tui.audio.edges import EdgeDetector
from apex_tui.audio.frames import RATE, Pcm, to_samples

LONGEST = 120 * RATE
"""A turn that goes on longer is handed over as it is, so that nothing grows without bound."""


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """Sound began at sample ``onset``."""

    onset: int


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn from ``onset`` to its last sound at ``end``, with its audio (from a little before to a little after)."""

    onset: int
    end: int
    pcm: Pcm


class TurnDetector:
    """Feed the caller's audio in pieces of any length."""

    def __init__(self, silence_ms: float = 500.0, prefix_ms: float = 300.0) -> None:
        self.samples = 0
        self._silence = to_samples(silence_ms)
        self._prefix = to_samples(prefix_ms)
        self._edges = EdgeDetector()
        self._onset: int | None = None
        self._end: int | None = None
        self._kept: list[Pcm] = []
        self._kept_from = 0

    @property
    def talking(self) -> bool:
        """Whether a turn is open."""
        return self._onset is not None

    def feed(self, pcm: Pcm) -> list[TurnBegan | TurnEnded]:
        """Take the next samples and return what has become certain."""
        out: list[TurnBegan | TurnEnded] = []
        self._kept.append(pcm)
        self.samples += len(pcm)
        for edge in self._edges.feed(pcm):
            if edge.kind == "off":
                self._end = edge.at
            elif self._onset is None:
                self._onset, self._end = edge.at, None
                out.append(TurnBegan(edge.at))
            else:
                self._end = None  # the turn goes on after a pause
        if self._onset is None:
            self._forget()
        elif self._end is not None and self.samples >= self._end + self._silence:
            out.append(self._over(self._onset, self._end))
        elif self.samples - self._onset > LONGEST:
            out.append(self._over(self._onset, self.samples))
        return out

    def _over(self, onset: int, end: int) -> TurnEnded:
        begin = max(self._kept_from, onset - self._prefix)
        audio = np.concatenate(self._kept)[begin - self._kept_from :][: end + to_samples(200) - begin]
        self._onset = self._end = None
        self._forget()
        return TurnEnded(onset, end, audio)

    def _forget(self) -> None:
        """Keep only what may become the beginning of the next turn: the prefix, and what the detector looks back."""
        keep = self._prefix + to_samples(100)
        while self._kept and self.samples - self._kept_from - len(self._kept[0]) >= keep:
            self._kept_from += len(self._kept.pop(0))
