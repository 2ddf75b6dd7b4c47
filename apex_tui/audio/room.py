"""What a room sounds like where nobody speaks: its level at the beginning, and a steady sound that joins it later (a fan).

Pure: levels and samples in, dBFS out. Deliberately not in here: edges (``edges``), and whose voice it is.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from apex_tui.audio.floor import FLOOR_PERCENTILE, MAX_FLOOR_DB, MIN_FLOOR_DB
from apex_tui.audio.frames import SILENCE_DB, Pcm, level_db, to_samples

LISTEN_FIRST = to_samples(500)
"""Heard before the first edge is looked for: the room's own level. Speech in it counts all the same, a little later."""

STEADY_FRAMES, STEADY_DB = 75, 6.0
"""1.5 s of frames whose levels lie so close together (10th to 90th percentile) hold no voice: syllables move by far more."""

_PIECE = to_samples(10)


def room_db(pcm: Pcm) -> float:
    """The room's level in dBFS: a low percentile, so that a word in it does not count. What a device sent before it began is no room."""
    whole = len(pcm) - len(pcm) % _PIECE
    levels = [level_db(pcm[at : at + _PIECE]) for at in range(0, whole, _PIECE)]
    alive = [level for level in levels if level > SILENCE_DB]
    room = alive if len(alive) > len(levels) / 2 else levels
    return float(min(max(np.percentile(room, FLOOR_PERCENTILE), MIN_FLOOR_DB), MAX_FLOOR_DB)) if room else MIN_FLOOR_DB


class Steadiness:
    """Tells a sound whose level does not move, frame by frame."""

    def __init__(self) -> None:
        self._levels: deque[float] = deque(maxlen=STEADY_FRAMES)

    def feed(self, level: float, sounding: bool) -> float | None:
        """Take a frame's level; ``sounding``: it is audible. Returns the level of what has not moved for 1.5 s, once."""
        if not sounding:
            self._levels.clear()
            return None
        self._levels.append(level)
        if len(self._levels) < STEADY_FRAMES:
            return None
        low, high = np.percentile(self._levels, (FLOOR_PERCENTILE, 100 - FLOOR_PERCENTILE))
        if high - low >= STEADY_DB:
            return None
        self._levels.clear()
        return float(low)
