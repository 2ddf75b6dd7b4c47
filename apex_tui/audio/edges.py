"""The one edge detector: where audible sound begins and ends, in samples of a lane or clip.

    energy    RMS over a 10 ms window, every 5 ms (a hop), in dBFS
    on        two hops at 12 dB over the noise floor
    off       the last hop at 8 dB over the floor, once 250 ms without such a hop have passed
    at        the edge: back-dated to the crossing and corrected by the constant bias below
    known_at  the sample up to which audio was needed to say so

The same code measures live lanes (frame by frame), clips of the bank and recordings, and how the audio is cut into
pieces does not change the result.

Deliberately not in here: whether the sound is speech, and any behaviour in noise; the detector is for clean audio.
A microphone session states its noise floor and confirms speech by other means.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from apex_tui.audio.floor import FLOOR_PERCENTILE, MAX_FLOOR_DB, MIN_FLOOR_DB, NoiseFloor
from apex_tui.audio.frames import (
    FRAME_SAMPLES,
    FULL_SCALE,
    SILENT_FRAME,
    SILENT_FRAME_BYTES,
    Pcm,
    to_ms,
    to_samples,
)

HOP = 120
"""5 ms: the grid on which edges are looked for; half of it is the unavoidable error of each."""

WINDOW = 2 * HOP
"""10 ms: one period of the lowest voice (100 Hz), so that the level does not ripple with the pitch."""

ON_DB = 12.0
ON_HOPS = 2
OFF_DB = 8.0

GAP = to_samples(250)
"""Shorter silences belong to the segment: the closure of a plosive lasts up to 150 ms, a breath 200 ms."""

PAUSE = to_samples(200)
"""Silences from here to ``GAP`` do not end a segment and are noted as pauses in it: sentences may part there."""

ONSET_BIAS = to_samples(-7.0)
OFFSET_BIAS = to_samples(8.0)
"""How early an onset and how late an offset is before correction. A window of 10 ms sees a sharp edge 5-10 ms before
its first and after its last sample (-7.5 and +7.5 ms on average, whatever the level). Swelling and decaying sound moves
that by a few milliseconds, depending on the level: medians of -6 and +9 ms over the loud speech-like bursts of
``tests/audio/test_edges.py``, -3 and +3 ms for the same 20 dB quieter (truth: the 5 ms RMS crosses 35 dB below the
burst's peak). One constant serves all. After it, sharp edges are within 3 ms and those bursts within 10 ms; slow decays that
are quiet as well can come out up to 15 ms early."""

PARAMETERS: dict[str, float] = {
    "window_ms": to_ms(WINDOW),
    "hop_ms": to_ms(HOP),
    "on_db": ON_DB,
    "on_hops": float(ON_HOPS),
    "off_db": OFF_DB,
    "gap_ms": to_ms(GAP),
    "floor_percentile": FLOOR_PERCENTILE,
    "floor_min_db": MIN_FLOOR_DB,
    "floor_max_db": MAX_FLOOR_DB,
    "onset_bias_ms": to_ms(ONSET_BIAS),
    "offset_bias_ms": to_ms(OFFSET_BIAS),
}
"""What every session stores beside its numbers."""

_WINDOW_FULL_SCALE = float(WINDOW * FULL_SCALE**2)
_HOPS_PER_FRAME = FRAME_SAMPLES // HOP
_BLOCK = 400 * HOP
"""Longer audio is worked through in pieces of 2 s, so that an hour-long lane needs no hour-long copy."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The begin or end of audible sound at sample ``at``, which was certain from sample ``known_at`` on."""

    kind: Literal["on", "off"]
    at: int
    known_at: int


class EdgeDetector:
    """Finds edges in audio that is fed in pieces of any length.

    ``active``         inside a segment (which short gaps do not close)
    ``audible``        the last whole hop was at the off threshold or above
    ``last_audible``   end of the last audible hop, in samples, *not* corrected by ``OFFSET_BIAS``; 0 before any

    ``floor_db`` is where the noise floor starts: -75 for clean audio, or what was measured in the room.
    """

    def __init__(self, floor_db: float = MIN_FLOOR_DB) -> None:
        self.active = False
        self.audible = False
        self.last_audible = 0
        self._floor = NoiseFloor(floor_db)
        self._on_energy = 0.0
        self._off_energy = 0.0
        self._set_thresholds()
        self._hop = 0  # index of the next hop
        self._before = 0.0  # energy of the previous hop
        self._above = 0  # hops in a row at the on threshold, outside a segment
        self._onset = 0  # corrected, of the open segment
        self._pauses: list[tuple[int, int]] = []
        self._rest = np.zeros(0, dtype=np.int16)
        self._finished = False
        self._learn = True

    @property
    def floor_db(self) -> float:
        """The noise floor in dBFS."""
        return self._floor.db

    def feed(self, pcm: Pcm, *, learn: bool = True) -> list[Edge]:
        """Take the next samples and return the edges that have become certain. Without ``learn`` they tell nothing of the floor.

        Raises ``RuntimeError`` after ``finish``.
        """
        if self._finished:
            raise RuntimeError("this edge detector is finished")
        self._learn = learn
        silent = pcm is SILENT_FRAME or (len(pcm) == FRAME_SAMPLES and pcm.tobytes() == SILENT_FRAME_BYTES)
        if silent and not self._rest.size:
            return self._feed_silence(_HOPS_PER_FRAME)
        if self._rest.size:
            pcm = np.concatenate((self._rest, pcm))
        whole = len(pcm) - len(pcm) % HOP
        edges: list[Edge] = []
        for start in range(0, whole, _BLOCK):
            block = pcm[start : min(start + _BLOCK, whole)].astype(np.float64).reshape(-1, HOP)
            # Squares of 16-bit samples sum without rounding here, so the pieces of a lane never change a result.
            for energy in np.einsum("ij,ij->i", block, block).tolist():
                self._step(energy, edges)
        self._rest = pcm[whole:].copy()
        return edges

    def split(self) -> list[Edge]:
        """End an open segment here, where other sound begins: what follows is a segment of its own, however short the gap is."""
        self._above = 0
        return [self._close()] if self.active else []

    def settle(self, floor_db: float) -> None:
        """What has sounded of late is the room itself: the floor is ``floor_db`` from here on, and an open segment is none."""
        self._floor = NoiseFloor(floor_db)
        self._set_thresholds()
        self.active, self._above = False, 0

    def take_pauses(self) -> list[tuple[int, int]]:
        """Return the silences of 200-250 ms inside segments, as (from, to) in corrected samples, that were found since the last call."""
        found, self._pauses = self._pauses, []
        return found

    def finish(self) -> list[Edge]:
        """Close an open segment, as if silence followed; no edge lies behind the last sample that was fed."""
        if self._finished:
            return []
        total = self._hop * HOP + self._rest.size
        # Two hops of silence (and the rest of the last one) let the window run out, as it does inside a lane.
        padding = np.zeros(-self._rest.size % HOP + WINDOW, dtype=np.int16)
        edges = self.feed(padding)
        if self.active:
            edges.append(self._close())
        self._finished = True
        self.audible = False
        self.last_audible = min(self.last_audible, total)
        return [Edge(edge.kind, min(edge.at, total), total) for edge in edges]

    def _feed_silence(self, hops: int) -> list[Edge]:
        edges: list[Edge] = []
        while hops and (self.active or self._above or self._before):
            self._step(0.0, edges)
            hops -= 1
        if hops:
            self.audible = False
            self._hop += hops
            if self._learn and self._floor.add_silence(hops):
                self._set_thresholds()
        return edges

    def _step(self, energy: float, edges: list[Edge]) -> None:
        """Take one hop, given the sum of its squared samples."""
        window = self._before + energy
        self._before = energy
        hop = self._hop
        self._hop = hop + 1
        self.audible = window >= self._off_energy
        if self.audible:
            if self.active and hop * HOP - ONSET_BIAS - (self.last_audible - OFFSET_BIAS) >= PAUSE:
                self._pauses.append((self.last_audible - OFFSET_BIAS, hop * HOP - ONSET_BIAS))
            self.last_audible = (hop + 1) * HOP
        if self.active:
            # Closed as soon as sound in the next hop would begin too late to belong to the segment.
            if not self.audible and hop * HOP - ONSET_BIAS - (self.last_audible - OFFSET_BIAS) >= GAP:
                edges.append(self._close())
        elif window >= self._on_energy:
            self._above += 1
            if self._above == ON_HOPS:
                # The window of hop h starts one hop before it; the crossing was ON_HOPS - 1 hops ago.
                self._onset = max(0, (hop - ON_HOPS) * HOP - ONSET_BIAS)
                self.active = True
                self._above = 0
                edges.append(Edge("on", self._onset, (hop + 1) * HOP))
        else:
            self._above = 0
            if self._learn and self._floor.add(window / _WINDOW_FULL_SCALE):
                self._set_thresholds()

    def _close(self) -> Edge:
        self.active = False
        # A click is shorter than the two corrections together.
        at = max(self.last_audible - OFFSET_BIAS, self._onset + HOP)
        return Edge("off", at, self._hop * HOP)

    def _set_thresholds(self) -> None:
        self._on_energy = _WINDOW_FULL_SCALE * 10.0 ** ((self._floor.db + ON_DB) / 10.0)
        self._off_energy = _WINDOW_FULL_SCALE * 10.0 ** ((self._floor.db + OFF_DB) / 10.0)


def segments(pcm: Pcm) -> list[tuple[int, int]]:
    """Return the audible segments of a whole recording or clip as (onset, offset) in samples, in order."""
    detector = EdgeDetector()
    at = [edge.at for edge in (*detector.feed(pcm), *detector.finish())]
    return list(zip(at[::2], at[1::2], strict=True))


def audible_edges(pcm: Pcm) -> tuple[int, int]:
    """Return the first onset and the last offset in samples.

    Raises ``ValueError`` when nothing is audible.
    """
    found = segments(pcm)
    if not found:
        raise ValueError("there is nothing audible in this audio")
    return found[0][0], found[-1][1]


def pauses(pcm: Pcm, shortest_ms: float = to_ms(GAP)) -> list[tuple[int, int]]:
    """Return the silences between segments as (from, to) in samples: those of ``shortest_ms`` or more, in order.

    Silences under 250 ms do not separate segments and are never listed.
    """
    return [gap for gap in _gaps(segments(pcm)) if gap[1] - gap[0] >= to_samples(shortest_ms)]


def _gaps(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for (_, before), (after, _) in pairwise(found):
        yield before, after
