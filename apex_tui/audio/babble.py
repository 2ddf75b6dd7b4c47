"""Babble: several people talking at once behind the caller, made from clips of the speech bank.

``TALKERS`` streams of clips in seeded order, each read a little faster or slower so that few voices sound like many, are laid into a loop of
20 s. The whole loop has the wanted level. Whole-number arithmetic: the same clips and seed give the same bytes on every machine. Deliberately
not in here: which clips (the engine takes those that the session does not speak), and any room.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from apex_tui.audio.frames import FRAME_SAMPLES, FULL_SCALE, RATE, Pcm, to_samples

TALKERS = 6
"""With six, single words are no longer understood; with one or two it would be a second caller."""
LOOP = 20 * RATE
PACES = (0.88, 0.94, 0.98, 1.03, 1.08, 1.14)
"""How fast each talker's clips are read; the pitch goes along."""
_STEP = 65_536
_GAP = (to_samples(60), to_samples(350))


def babble(voices: Sequence[Pcm], level_db: float, rng: random.Random) -> NDArray[np.int32]:
    """The loop, as frames: shape (1000, 480), of RMS ``level_db`` (dBFS).

    Raises ``ValueError`` when there is nothing to make it from.
    """
    audible = [voice for voice in voices if voice.any()]
    if not audible:
        raise ValueError("babble needs clips to be made from")
    mixed = np.zeros(LOOP, dtype=np.int64)
    for pace in PACES:
        mixed += _talker(audible, pace, rng)
    power = float(np.dot(mixed, mixed)) / LOOP
    gain = round(_STEP * FULL_SCALE * 10.0 ** (level_db / 20.0) / power**0.5)
    loop = (mixed * gain + _STEP // 2) // _STEP
    return np.asarray(loop, dtype=np.int32).reshape(-1, FRAME_SAMPLES)


def _talker(voices: Sequence[Pcm], pace: float, rng: random.Random) -> NDArray[np.int64]:
    """One talker round the loop: it begins anywhere, and where it comes round to its beginning nothing is cut."""
    stream = np.zeros(LOOP, dtype=np.int64)
    begin, filled, order = rng.randrange(LOOP), 0, list(range(len(voices)))
    while filled < LOOP:
        rng.shuffle(order)
        for index in order:
            said = paced(voices[index], pace)[:LOOP]
            where = (begin + filled + np.arange(len(said))) % LOOP
            stream[where] += said
            filled += len(said) + rng.randint(*_GAP)
            if filled >= LOOP:
                break
    return stream


def paced(pcm: Pcm, pace: float) -> NDArray[np.int64]:
    """Read ``pace`` times as fast, with values between samples on a straight line."""
    step = round(_STEP * pace)
    at = np.arange(max(1, (len(pcm) - 1) * _STEP // step), dtype=np.int64) * step
    index, part = at >> 16, at & _STEP - 1
    wide = pcm.astype(np.int64)
    following = wide[np.minimum(index + 1, len(wide) - 1)]
    return np.asarray((wide[index] * (_STEP - part) + following * part) >> 16, dtype=np.int64)
