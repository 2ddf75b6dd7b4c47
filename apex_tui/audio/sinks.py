"""Where the sound of a session goes: to nobody, or to a loudspeaker through PortAudio.

In here: the ``Sink`` protocol, ``NullSink``, ``DeviceSink`` and ``open_sink``, which says in one sentence what was
found. Deliberately not in here: measuring. A sink monitors both lanes; what counts as played is decided on the sample
clock, and a slow or missing device never holds a session up.
"""

from __future__ import annotations

import statistics
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from apex_tui.audio.clips import AudioError
from apex_tui.audio.frames import FULL_SCALE, RATE, Pcm, pcm_bytes, pcm_from_bytes, silence
from apex_tui.audio.portaudio import (
    Device,
    NoDeviceError,
    SoundDevice,
    choose,
    list_devices,
    load_portaudio,
    our_time,
    quiet,
    usable_format,
)
from apex_tui.audio.resample import REACH, Resampler

BLOCK_MS = 10
"""One call of the device: shorter costs more processor than it gains, and is refused by some."""

OWN_SHARE = 0.7
"""A lane's share of its own side (caller left, agent right): told apart with two ears, understood with one."""

PRIME_MS = 60
"""Collected before play begins, and again after an under-run: three frames hide the pacing of the engine."""

PROMPT_PRIME_MS = 30
"""The same for a person who talks with the agent: every millisecond here is one between the wire and the ear."""

RING_MS = 500
"""Half a second; more would let the sound fall behind the screen."""

GONE_AFTER_S = 2.0
"""A device that asks for nothing for so long is gone, or suspended: it may come back."""

PAUSED_AFTER_S = 0.3
"""A device that asked for nothing for so long collects anew: what waited is the past."""

WATCHED = 200 // BLOCK_MS
"""Calls of the device: what never runs lower than it should for so many waits for nothing."""

SETTLING = 3 * WATCHED
"""Calls after a break in the sound; a session that stood still catches up in less."""

HICCUP_S = 0.1
"""A device that asked for nothing for so long stood still with the session, though nobody saw an under-run, unless it is one that asks in bursts."""

HABIT = 100
"""Calls of the device (1 s of sound) whose pauses are what it does anyway."""

EXCESS_MS = 30
"""So much is cut in the middle of a word; less waits for silence, unless the sound was broken just now anyway."""

RECENT = 50
"""Frames (1 s) over which the delay of the device is taken."""

HELD_S = REACH / RATE
"""What the resampler looks ahead: the last samples of a frame come out with the next one."""

ClockBasis = Literal["playout", "device", "simulated"]


class Sink(SoundDevice, Protocol):
    """Takes both lanes as they are sealed. ``latency_ms``: how long after `play` the last sample of a frame is heard; 0 where nobody listens."""

    @property
    def clock_basis(self) -> ClockBasis:
        """The basis of timings: ``playout``, ``device`` or ``simulated``."""

    @property
    def underruns(self) -> int:
        """How often the device found too little to play."""

    def play(self, caller: Pcm, agent: Pcm) -> None:
        """Take the next samples of both lanes, equally many; never blocks."""


class NullSink:
    """Consumes both lanes at the rate at which they come."""

    description = "no sound"
    latency_ms = 0.0
    problem: str | None = None
    underruns = 0

    def __init__(self, clock_basis: ClockBasis = "playout") -> None:
        self.clock_basis: ClockBasis = clock_basis

    def play(self, caller: Pcm, agent: Pcm) -> None:
        """Consume the samples."""

    def close(self) -> None:
        """Nothing is held."""


class _Ring:
    """A bounded ring for one writer and one reader in two threads; neither waits, each moves only its own counter."""

    def __init__(self, samples: int, channels: int) -> None:
        self._buffer = np.zeros((samples, channels), dtype=np.int16)
        self._size = samples
        self.written = 0
        self.read = 0

    def __len__(self) -> int:
        return self.written - self.read

    def write(self, block: NDArray[np.int16]) -> int:
        """Append what fits and return how many samples did not."""
        count = min(len(block), self._size - len(self))
        at = self.written % self._size
        first = min(count, self._size - at)
        self._buffer[at : at + first] = block[:first]
        self._buffer[: count - first] = block[first:count]
        self.written += count
        return len(block) - count

    def read_into(self, out: NDArray[np.int16]) -> None:
        """Fill ``out``; the caller has made sure that enough is there."""
        count = len(out)
        at = self.read % self._size
        first = min(count, self._size - at)
        out[:first] = self._buffer[at : at + first]
        out[first:] = self._buffer[: count - first]
        self.read += count


class DeviceSink:
    """Plays on an output device at the device's own rate: both lanes, or ``alone`` only the agent's (a person must not hear their own voice).

    ``underruns`` counts how often the device found too little to play, ``dropped`` the samples (at its rate) that it was too slow to take,
    ``late`` the samples left out because the sound had fallen behind, ``skipped`` the silent frames left out because its clock runs behind ours.
    """

    clock_basis: ClockBasis = "device"

    def __init__(self, sounddevice: Any, device: Device, channels: int, rate: int, *, alone: bool = False) -> None:
        """Open and start the output with 1 or 2 channels. Raises PortAudio's error when it refuses."""
        self.description = f"sound on {device.name}"
        self.name, self.rate = device.name, rate
        self.underruns = self.dropped = self.late = self.skipped = 0
        self._alone, self._channels = alone, channels
        self._prime = rate * (PROMPT_PRIME_MS if alone else PRIME_MS) // 1000
        self._ring = _Ring(rate * RING_MS // 1000, channels)
        self._primed, self._afresh = False, True
        self._resamplers = [Resampler(RATE, rate) for _ in range(1 if alone else channels)]
        self._surplus = self._cut = 0
        self._settling = SETTLING
        self._waited: deque[int] = deque(maxlen=WATCHED)
        self._pauses: deque[float] = deque(maxlen=HABIT)
        self._delays: deque[float] = deque(maxlen=RECENT)
        self._levels: deque[int] = deque(maxlen=RECENT)
        self._told: tuple[int, float] | None = None  # samples read by the device, and when the next one sounds
        self._asked_at = monotonic()
        self._gone = self._closing = False
        self._refusal: type[Exception] = sounddevice.PortAudioError
        self._stream = sounddevice.OutputStream(
            device=device.index,
            samplerate=rate,
            blocksize=rate * BLOCK_MS // 1000,
            channels=channels,
            dtype="int16",
            latency="low" if alone else "high",
            callback=self._fill,
            finished_callback=self._finished,
        )
        try:
            self._stream.start()
        except Exception:
            self._stream.close()
            raise

    @property
    def latency_ms(self) -> float:
        """Median of the last second: from `play` to the ear, as the device's own clock tells; 0 before it has told."""
        return round(1000 * statistics.median(self._delays), 3) if self._delays else 0.0

    @property
    def problem(self) -> str | None:
        """One sentence while the device is gone, or asks for nothing."""
        if self._gone:
            return f"the sound device {self.name} is gone; the session goes on without sound"
        if self._stalled:
            return f"the sound device {self.name} is gone or suspended; the session goes on without sound until it plays again"
        return None

    @property
    def _stalled(self) -> bool:
        return monotonic() - self._asked_at > GONE_AFTER_S

    def play(self, caller: Pcm, agent: Pcm) -> None:
        """Mix, resample and queue; what does not fit is dropped and counted."""
        now = monotonic()
        if self._gone or self._stalled:
            return
        if self._cut != self.late:  # the device's thread has left out what was too much
            self._cut, self._surplus = self.late, 0
            self._levels.clear()
        self._levels.append(len(self._ring))
        if len(self._levels) == RECENT:
            frame = len(agent) * self.rate // RATE
            # What never runs lower than a frame above what a start leaves waits for nothing: as many silent frames can go.
            self._surplus = max(0, min(self._levels) - max(0, self._prime - frame)) // frame
            self._levels.clear()
        if self._surplus and not agent.any() and (self._alone or not caller.any()):
            self._surplus -= 1
            self.skipped += 1
            return
        self.dropped += self._ring.write(self._at_their_rate(caller, agent))
        if self._told is not None and now - self._asked_at <= PAUSED_AFTER_S:  # one that stands still tells no delay
            read, sounds_at = self._told
            self._delays.append(sounds_at + (self._ring.written - read) / self.rate + HELD_S - now)

    def _at_their_rate(self, caller: Pcm, agent: Pcm) -> NDArray[np.int16]:
        mixed = mix(silence(len(agent)), agent, 1) if self._alone else mix(caller, agent, self._channels)
        lanes = mixed.reshape(len(agent), -1).T
        made = [
            pcm_from_bytes(resampler.feed(pcm_bytes(np.rint(lane * (FULL_SCALE - 1)).astype(np.int16))))
            for resampler, lane in zip(self._resamplers, lanes, strict=True)
        ]
        return np.stack(made * (self._channels if self._alone else 1), axis=1)

    def close(self) -> None:
        """Stop the device; one that is gone is let go."""
        self._closing = True
        with quiet(), suppress(self._refusal):
            self._stream.abort() if self._gone or self._stalled else self._stream.stop()
        with quiet(), suppress(self._refusal):
            self._stream.close()

    def _finished(self) -> None:
        self._gone = not self._closing

    def _fill(self, out: NDArray[np.int16], frames: int, time: Any, status: object) -> None:
        """Copy from the ring; runs in PortAudio's thread."""
        now = monotonic()
        still, self._asked_at = now - self._asked_at, now
        if still > PAUSED_AFTER_S:
            self._primed, self._afresh = False, True
        if still > max(HICCUP_S, 2 * max(self._pauses, default=0.0)):
            self._settle()
        self._pauses.append(still)
        waiting = len(self._ring)
        if self._primed and waiting < frames:
            self.underruns += 1
            self._primed = False
        elif not self._primed and waiting >= self._prime:
            self._primed = True
            if self._afresh:  # a device that starts late must not stay late
                self._leave_out(waiting - self._prime)
            self._afresh = False
            self._settle()
        elif self._primed:
            self._watch(waiting)
        if not self._primed:
            out.fill(0)
            return
        if time is not None:
            self._told = (self._ring.read, self._sounds_at(time))
        self._ring.read_into(out)

    def _settle(self) -> None:
        """The sound was broken: what comes in a burst now is not kept."""
        self._settling = SETTLING
        self._waited.clear()

    def _watch(self, waiting: int) -> None:
        """Leave out what has waited for nothing for a while: after a break all of it, else only much of it."""
        self._settling = max(0, self._settling - 1)
        self._waited.append(waiting)
        if len(self._waited) < WATCHED:
            return
        excess = min(self._waited) - self._prime
        if 1000 * excess >= self.rate * (BLOCK_MS if self._settling else EXCESS_MS):
            self._leave_out(excess)
            self._waited.clear()

    def _leave_out(self, samples: int) -> None:
        self.late += samples
        self._ring.read += samples

    def _sounds_at(self, time: Any) -> float:
        """When the first sample of this call is heard, on our clock."""
        if time.outputBufferDacTime > 0 and time.currentTime > 0:
            return our_time(time.outputBufferDacTime, time.currentTime)
        return monotonic() + float(self._stream.latency)  # a host that does not tell


def mix(caller: Pcm, agent: Pcm, channels: int) -> NDArray[np.float32]:
    """Mix both lanes for listening, shape (n, 2) with the caller to the left, or (n,) summed; within -1..1."""
    left = caller.astype(np.float32) / FULL_SCALE
    right = agent.astype(np.float32) / FULL_SCALE
    if channels == 1:
        return np.clip(left + right, -1.0, 1.0)
    return np.stack(
        (OWN_SHARE * left + (1 - OWN_SHARE) * right, (1 - OWN_SHARE) * left + OWN_SHARE * right), axis=1
    ).astype(np.float32, copy=False)


def open_sink(
    kind: Literal["auto", "none", "device"], wanted: str | None = None, *, alone: bool = False
) -> tuple[Sink, str]:
    """Return a sink and a sentence for the screen.

    ``auto`` takes a device when there is one and else plays to nobody; ``device`` insists and raises ``AudioError`` with
    the sentence; ``none`` does not look. ``wanted`` names the device (None: the system's default); ``alone``: only the agent is to be heard.
    """
    if kind == "none":
        return NullSink(), "no sound: switched off"
    try:
        sink = open_device_sink(wanted, alone=alone)
    except NoDeviceError as error:
        if kind == "device":
            raise AudioError(f"no sound: {error}") from error
        return NullSink(), f"no sound: {error}"
    return sink, sink.description


def open_device_sink(wanted: str | None = None, *, alone: bool = False) -> DeviceSink:
    """A running sink.

    Raises:
        NoDeviceError: why there is none.
    """
    sounddevice = load_portaudio()
    device = choose(list_devices(sounddevice), "output", wanted)
    channels, rate = usable_format(sounddevice, device, "output")
    try:
        with quiet():
            return DeviceSink(sounddevice, device, channels, rate, alone=alone)
    except (sounddevice.PortAudioError, ValueError) as error:
        raise NoDeviceError(f"{device.name} cannot be opened ({error})") from error
