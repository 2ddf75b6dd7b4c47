"""A microphone of our own: a person's lane, written in advance, so that sessions with one run in virtual time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, silence, to_samples
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice


class ScriptedMicrophone:
    """Gives a lane frame by frame; ``said``: (ms, samples). ``late_ms`` is how late the lane is, as its device would tell."""

    description = "a scripted microphone"
    underruns = overruns = 0
    problem: str | None = None

    def __init__(self, *said: tuple[float, Pcm], late_ms: float = 0.0, noise: int = 4) -> None:
        end = max((to_samples(ms) + len(pcm) for ms, pcm in said), default=0)
        self._lane = silence(end)
        for ms, pcm in said:
            at = to_samples(ms)
            self._lane[at : at + len(pcm)] = pcm
        self.latency_ms = late_ms
        self.closed = False
        self._noise = np.random.default_rng(7)
        self._loud = noise
        self._at = 0

    def frame(self) -> Pcm:
        out = self._noise.integers(-self._loud, self._loud + 1, FRAME_SAMPLES).astype(np.int16)
        heard = self._lane[self._at : self._at + FRAME_SAMPLES]
        out[: len(heard)] += heard
        self._at += FRAME_SAMPLES
        return out

    def close(self) -> None:
        self.closed = True


class Watcher:
    """Keeps every event, and lets a test act on one as a person at the screen would."""

    def __init__(self, act: Callable[[Event], None] | None = None) -> None:
        self.events: list[Event] = []
        self._act = act

    def __call__(self, item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            self.events.append(item)
            if self._act is not None:
                self._act(item)
