"""The caller's lane: which samples of which clip lie in which frame. Pure; silence between utterances is part of the lane.

Positions are samples since frame 0. An utterance may start inside a frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apex_tui.audio.frames import FRAME_SAMPLES, SILENT_FRAME, Pcm
from apex_tui.timeline.caller_facts import FloorAction, SpeechAct
from apex_tui.workflow.part import Value


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance placed on the lane. ``start``: its first sample; ``onset``, ``end``, ``value_end``, ``pauses``: lane samples of what is
    audible in it, from the bank's manifest.
    """

    turn: int
    plan: str
    act: SpeechAct
    text: str
    facts: tuple[str, ...]
    values: dict[str, Value]
    floor: FloorAction
    clip: str
    pcm: Pcm
    start: int
    onset: int
    end: int
    value_end: int
    pauses: tuple[tuple[int, int], ...] = ()
    event: str | None = None
    delivered: str | None = None
    note: str = ""
    approves: str | None = None
    revokes: str | None = None

    @property
    def stop(self) -> int:
        """First sample after the clip."""
        return self.start + len(self.pcm)


class CallerLane:
    """Cuts the utterances into frames. At most one utterance sounds at a time."""

    def __init__(self) -> None:
        self._now: Utterance | None = None

    @property
    def speaking(self) -> bool:
        """Whether an utterance is placed and not yet over."""
        return self._now is not None

    def place(self, utterance: Utterance) -> None:
        """Put an utterance on the lane.

        Raises:
            ValueError: another one is not over yet.
        """
        if self._now is not None:
            raise ValueError(f"{self._now.plan} is still being spoken")
        self._now = utterance

    def frame(self, index: int) -> Pcm:
        """The samples of frame ``index`` (480). Frames must be asked for in order."""
        now = self._now
        begin, end = index * FRAME_SAMPLES, (index + 1) * FRAME_SAMPLES
        if now is None or now.start >= end:
            return SILENT_FRAME
        out = np.zeros(FRAME_SAMPLES, dtype=np.int16)
        source = now.pcm[max(0, begin - now.start) : end - now.start]
        at = max(0, now.start - begin)
        out[at : at + len(source)] = source
        if now.stop <= end:
            self._now = None
        return out
