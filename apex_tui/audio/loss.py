"""Packet loss with bursts (Gilbert-Elliott), one packet a frame of 20 ms.

Two states: in the good one every packet arrives, in the bad one none. ``rate`` is the share of packets that are lost in the long run, ``burst``
the mean length of a run of lost ones, so p(bad to good) = 1/burst and p(good to bad) = rate / (burst * (1 - rate)). What is lost depends on
the seed and the frame's number only, never on what is said. Deliberately not in here: delay, jitter and repair by the network.
"""

from __future__ import annotations

import random
from typing import Literal

import numpy as np

from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, silence

Conceal = Literal["silence", "repeat"]
"""What stands for a lost packet: zeros, or the last packet that arrived, halved with each further loss of the run."""


class PacketLoss:
    """A lossy network. ``send`` takes frames in order; ``lost`` counts the packets that did not arrive."""

    def __init__(self, rate: float, burst: float, conceal: Conceal, rng: random.Random) -> None:
        self.lost = 0
        self._leave, self._enter = 1.0 / burst, rate / (burst * (1.0 - rate))
        self._conceal, self._rng = conceal, rng
        self._bad = rng.random() < rate
        self._silence = silence(FRAME_SAMPLES)
        self._last = self._silence

    def send(self, frame: Pcm) -> Pcm:
        """The frame, or what stands for it."""
        bad = self._bad
        draw = self._rng.random()
        self._bad = draw >= self._leave if bad else draw < self._enter
        if not bad:
            self._last = frame
            return frame
        self.lost += 1
        if self._conceal == "silence":
            return self._silence
        # Halved towards zero: a shift alone would leave -1 for ever.
        self._last = np.asarray(self._last // 2 + (self._last < 0) * (self._last % 2), dtype=np.int16)
        return self._last
