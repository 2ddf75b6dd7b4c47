"""The push-to-talk button: which stretches of the caller's audio are sent, and when a turn is handed over.

The person at the button knows when they speak, so the caller's own plan moves it; a back-channel presses nothing. Pure counting
of samples. Deliberately not in here: what pressing means to a server (``agent``).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from apex_tui.agents.seam import Hint
from apex_tui.audio.frames import FRAME_SAMPLES, to_samples

LEAD = to_samples(200)
"""Pressed this long before the first sound."""

TAIL = to_samples(200)
"""Held this long after the last one; with the lead, no turn is below the 100 ms that servers ask for."""

MOST_TURNS = 64


@dataclass(frozen=True, slots=True)
class ButtonStep:
    """One frame: ``held`` while it is sent; ``spoken`` and ``released`` in the frame in which that happened.

    ``spoken`` is the first sound under the held button: what interrupts the agent is dated there, not at the silent press.
    """

    held: bool
    spoken: bool = False
    released: bool = False


class Button:
    """Follows the caller's plan through the frames."""

    def __init__(self) -> None:
        self._samples = 0
        self._turns: deque[tuple[int, int]] = deque(maxlen=MOST_TURNS)  # onset and end

    def turn(self, hint: Hint) -> None:
        """A turn is planned. One that begins before the button could be let go is said under the same press."""
        if hint.act == "BACKCHANNEL":
            return
        onset = hint.onset
        if self._turns and onset <= self._turns[-1][1] + TAIL + 2 * FRAME_SAMPLES:
            onset = self._turns.pop()[0]
        self._turns.append((onset, hint.end))

    def frame(self, samples: int) -> ButtonStep:
        """The next samples of the caller's lane."""
        begin, self._samples = self._samples, self._samples + samples
        if not self._turns:
            return ButtonStep(held=False)
        onset, end = self._turns[0]
        if begin >= end + TAIL:
            self._turns.popleft()
            return ButtonStep(held=False, released=True)
        return ButtonStep(held=self._samples > onset - LEAD, spoken=begin <= onset < self._samples)
