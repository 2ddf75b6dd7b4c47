"""Whether what a microphone hears is the loudspeaker: the sound from an onset on, found in what was played up to then.

The unprocessed microphone is compared, because a canceller bends what it leaves. Measured: a plain copy of the agent's voice at -20 and -6 dB
is alike to 1.0; six callers over it reach 0.23 at -20 dB and 0.58 at -6 dB. A room that rings more than it carries hides its echo from this.
Pure: no clock, no device.
"""

from __future__ import annotations

import numpy as np

from apex_tui.audio.chirp import match
from apex_tui.audio.frames import Pcm, to_samples

LONGEST_WAY = to_samples(600)
"""From the session through loudspeaker, room and microphone and back."""

COMPARED = to_samples(250)
LEAST = to_samples(60)
"""Shorter sounds are like too many others."""

KEPT = LONGEST_WAY + to_samples(900)

THIRD = 3
SUSPECT = 0.7
"""Likeness from which a sound is taken for an echo."""


class EchoEar:
    """Remembers the last 1.5 s of both. Positions are samples since the first frame."""

    def __init__(self) -> None:
        self._heard = np.zeros(KEPT, dtype=np.int16)
        self._played = np.zeros(KEPT, dtype=np.int16)
        self._heard_to = self._played_to = 0

    def heard(self, pcm: Pcm) -> None:
        """The next samples of the microphone, before anything was done about echo."""
        self._heard = np.concatenate((self._heard[len(pcm) :], pcm))
        self._heard_to += len(pcm)

    def played(self, pcm: Pcm) -> None:
        """The next samples of the loudspeaker."""
        self._played = np.concatenate((self._played[len(pcm) :], pcm))
        self._played_to += len(pcm)

    def suspects(self, onset: int) -> bool:
        """Whether the sound that began at sample ``onset`` of the microphone is like what was played before it."""
        start = max(onset, self._heard_to - KEPT + LONGEST_WAY)
        sound = self._heard[KEPT - (self._heard_to - start) :][:COMPARED] if start < self._heard_to else self._heard[:0]
        first = KEPT - (self._played_to - max(0, start - LONGEST_WAY))
        before = self._played[max(0, first) :]
        if len(sound) < LEAST or not before.any():
            return False
        return match(_thin(sound), _thin(before), SUSPECT) is not None


def _thin(pcm: Pcm) -> Pcm:
    """A third of the samples, each the mean of three: 8 kHz hold all of a voice that matters here, and cost a third."""
    whole = pcm[: len(pcm) - len(pcm) % THIRD].reshape(-1, THIRD)
    thin: Pcm = np.rint(whole.mean(axis=1)).astype(np.int16)
    return thin
