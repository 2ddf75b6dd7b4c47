"""What a microphone and a loudspeaker do together: level, noise, clipping, delays, and the way of a chirp from one to the other.

In here: the test's course on the event loop's clock, 20 ms a step as in a session, and its report. Deliberately not in here: opening devices,
and words for a person (``cli.about_devices``).
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apex_tui.audio.chirp import chirp, find_chirp
from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, RATE, Pcm, level_db, silence, to_ms, to_samples
from apex_tui.audio.microphone import Microphone
from apex_tui.audio.sinks import Sink

SETTLE_S, SETTLE_MOST_S = 1.5, 6.0
"""The room is heard at least so long, its second half for the noise; and longer, up to the second, until the delays are steady."""
STEADY_FRAMES, STEADY_MS = 50, 2.0
"""Delays are steady once what the devices tell has stayed within 2 ms for a second: a chirp before that would be timed on a moving clock."""
MOVED_MS, TRIES = 5.0, 3
"""Chirps are played again, twice at most, when what the devices tell moved by more meanwhile, or sound was lost: a sound server that gets too little
of the processor states delays that wander by tens of ms while the sound's own way stays the same.
"""
CHIRPS = 4
CHIRP_EVERY_S = 0.7
TONE_S = 1.0
TONE_HZ = 440.0
TONE_DB = -20.0
CLIPPED = 32_700
"""A sample this near to full scale was cut off."""


@dataclass(frozen=True, slots=True)
class Loopback:
    """Chirps that were heard: how many, the median delay from `play` to `frame` and its spread (ms), and the least likeness to what was sent.

    ``told_ms`` is what the devices say themselves; the difference is the air, or a device that does not tell the truth.
    """

    heard: int
    delay_ms: float
    spread_ms: float
    told_ms: float
    correlation: float
    moved_ms: float = 0.0
    """By how much what the devices tell moved while the chirps were played: more than 5 ms, and ``told_ms`` is not to be trusted."""


@dataclass(frozen=True, slots=True)
class Report:
    """Levels in dBFS, delays in ms. ``voice_db`` is the loudest 20 ms while the person was asked to speak; None: they were not asked."""

    noise_db: float
    voice_db: float | None
    clipped: int
    input_latency_ms: float
    output_latency_ms: float
    underruns_in: int
    overruns_in: int
    underruns_out: int
    chirps: int
    loopback: Loopback | None
    problems: tuple[str, ...]


def tone(seconds: float) -> Pcm:
    """A soft-edged sine of 440 Hz at -20 dBFS."""
    t = np.arange(round(seconds * RATE)) / RATE
    edge = np.clip(np.minimum(t, seconds - t) / 0.01, 0.0, 1.0)
    wave: Pcm = np.rint(np.sin(2 * np.pi * TONE_HZ * t) * edge * 32_767 * 10 ** (TONE_DB / 20)).astype(np.int16)
    return wave


async def examine(microphone: Microphone, sink: Sink, speak_s: float, say: Callable[[str], None]) -> Report:
    """Run the whole test in real time (about 7 s and ``speak_s``; 25 s on a machine that is too busy). ``say`` tells a person what happens now."""
    places = [to_samples(1000 * number * CHIRP_EVERY_S) for number in range(CHIRPS)]
    chirps = _chirps(places)
    say("listening to the room, then four chirps and a tone: leave the microphone and the loudspeaker as they are")
    course = _Course(microphone, sink)
    room = await course.settle()
    rooms = [room]
    for _ in range(TRIES):
        began, lost = len(course.told), course.lost
        heard = await course.play(chirps)
        loopback = _loopback(heard, places, course.told[began:])
        if loopback is None or (loopback.moved_ms <= MOVED_MS and course.lost == lost):
            break
        rooms += [heard, await course.settle()]
    beep = await course.play(np.concatenate((tone(TONE_S), silence(to_samples(500)))))
    voice: Pcm | None = None
    if speak_s > 0:
        say(f"now speak for {speak_s:g} s, as loud as in a call")
        voice = await course.play(silence(to_samples(1000 * speak_s)))
    quiet = room[-to_samples(500 * SETTLE_S) :]
    everything = np.concatenate((*rooms, heard, beep, *([] if voice is None else [voice])))
    problems = tuple(sentence for sentence in (microphone.problem, sink.problem) if sentence is not None)
    return Report(
        noise_db=round(level_db(quiet), 1),
        voice_db=None if voice is None else round(_loudest(voice), 1),
        clipped=int(np.count_nonzero(np.abs(everything.astype(np.int32)) >= CLIPPED)),
        input_latency_ms=round(microphone.latency_ms, 1),
        output_latency_ms=round(sink.latency_ms, 1),
        underruns_in=microphone.underruns,
        overruns_in=microphone.overruns,
        underruns_out=sink.underruns,
        chirps=CHIRPS,
        loopback=loopback,
        problems=problems,
    )


def _chirps(places: list[int]) -> Pcm:
    whole = silence(places[-1] + to_samples(1000 * CHIRP_EVERY_S))
    for at in places:
        whole[at : at + len(chirp())] = chirp()
    return whole


class _Course:
    """Both devices, moved frame by frame against one schedule from beginning to end, as in a session."""

    def __init__(self, microphone: Microphone, sink: Sink) -> None:
        self._microphone, self._sink = microphone, sink
        self._start = asyncio.get_running_loop().time()
        self._frame = 0
        self.told: list[float] = []
        """Both devices' delays together (ms), in each frame."""

    @property
    def lost(self) -> int:
        """How often sound was lost so far, on the way in or out."""
        return self._microphone.underruns + self._microphone.overruns + self._sink.underruns

    async def play(self, program: Pcm) -> Pcm:
        """Play it; what was heard meanwhile."""
        loop, none = asyncio.get_running_loop(), silence(FRAME_SAMPLES)
        heard: list[Pcm] = []
        for at in range(0, len(program) // FRAME_SAMPLES * FRAME_SAMPLES, FRAME_SAMPLES):
            self._frame += 1
            await asyncio.sleep(max(0.0, self._start + self._frame * FRAME_MS / 1000 - loop.time()))
            heard.append(self._microphone.frame())
            self._sink.play(none, program[at : at + FRAME_SAMPLES])
            self.told.append(self._microphone.latency_ms + self._sink.latency_ms)
        return np.concatenate(heard)

    async def settle(self) -> Pcm:
        """Silence until the delays are steady, or for six seconds when they never are; what was heard."""
        room: list[Pcm] = []
        began = self._frame
        while self._frame - began < SETTLE_MOST_S * 1000 / FRAME_MS:
            room.append(await self.play(silence(5 * FRAME_SAMPLES)))
            late = self.told[-STEADY_FRAMES:]
            if self._frame - began >= SETTLE_S * 1000 / FRAME_MS and max(late) - min(late) <= STEADY_MS:
                break
        return np.concatenate(room)


def _loopback(heard: Pcm, places: list[int], told: list[float]) -> Loopback | None:
    delays: list[float] = []
    likeness: list[float] = []
    for at in places:
        found = find_chirp(heard[at : at + to_samples(1000 * CHIRP_EVERY_S)])
        if found is not None:
            delays.append(found.at * 1000 / RATE)
            likeness.append(found.correlation)
    if not delays:
        return None
    return Loopback(
        heard=len(delays),
        delay_ms=round(statistics.median(delays), 1),
        spread_ms=round(max(delays) - min(delays), 1),
        told_ms=round(statistics.median(told[round(to_ms(at) / FRAME_MS)] for at in places), 1),
        correlation=round(min(likeness), 3),
        moved_ms=round(max(told) - min(told), 1),
    )


def _loudest(pcm: Pcm) -> float:
    return max(level_db(pcm[at : at + FRAME_SAMPLES]) for at in range(0, len(pcm), FRAME_SAMPLES))
