"""Where the sound of a session goes: to nobody, or to a loudspeaker through PortAudio.

In here: the ``Sink`` protocol, ``NullSink``, ``DeviceSink`` and ``open_sink``, which says in one sentence what was
found. Deliberately not in here: measuring. A sink monitors both lanes; what counts as played is decided on the sample
clock, and a slow or missing device never holds a session up.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import soxr
from numpy.typing import NDArray

from apex_tui.audio.clips import AudioError
from apex_tui.audio.frames import FULL_SCALE, RATE, Pcm

DEVICE_RATE = 48_000
"""What sound cards run at; some refuse 24 kHz."""

BLOCK = 480
"""10 ms at the device's rate."""

OWN_SHARE = 0.7
"""A lane's share of its own side (caller left, agent right): told apart with two ears, understood with one."""

PRIME_SAMPLES = DEVICE_RATE * 60 // 1000
"""60 ms are collected before play begins, and again after an under-run: three frames hide the pacing of the engine."""

RING_SAMPLES = DEVICE_RATE // 2
"""Half a second; more would let the sound fall behind the screen."""

ClockBasis = Literal["playout", "device", "simulated"]


class Sink(Protocol):
    """Takes both lanes as they are sealed.

    ``description`` names it in a few words; ``clock_basis`` is what timings of a session with it are based on.
    """

    @property
    def description(self) -> str:
        """What this is, in a few words."""

    @property
    def clock_basis(self) -> ClockBasis:
        """The basis of timings: ``playout``, ``device`` or ``simulated``."""

    def play(self, caller: Pcm, agent: Pcm) -> None:
        """Take the next samples of both lanes, equally many; never blocks."""

    def close(self) -> None:
        """Stop and release the device."""


class NullSink:
    """Consumes both lanes at the rate at which they come."""

    description = "no sound"

    def __init__(self, clock_basis: ClockBasis = "playout") -> None:
        self.clock_basis: ClockBasis = clock_basis

    def play(self, caller: Pcm, agent: Pcm) -> None:
        """Consume the samples."""

    def close(self) -> None:
        """Nothing is held."""


class _Ring:
    """A bounded ring for one writer and one reader in two threads; neither waits, each moves only its own counter."""

    def __init__(self, samples: int, channels: int) -> None:
        self._buffer = np.zeros((samples, channels), dtype=np.float32)
        self._size = samples
        self._in = 0
        self._out = 0

    def __len__(self) -> int:
        return self._in - self._out

    def write(self, block: NDArray[np.float32]) -> int:
        """Append what fits and return how many samples did not."""
        count = min(len(block), self._size - len(self))
        at = self._in % self._size
        first = min(count, self._size - at)
        self._buffer[at : at + first] = block[:first]
        self._buffer[: count - first] = block[first:count]
        self._in += count
        return len(block) - count

    def read_into(self, out: NDArray[np.float32]) -> None:
        """Fill ``out``; the caller has made sure that enough is there."""
        count = len(out)
        at = self._out % self._size
        first = min(count, self._size - at)
        out[:first] = self._buffer[at : at + first]
        out[first:] = self._buffer[: count - first]
        self._out += count


class DeviceSink:
    """Plays both lanes on an output device.

    ``underruns`` counts how often the device found too little to play, ``dropped`` the samples (at 48 kHz) that it was
    too slow to take.
    """

    clock_basis: ClockBasis = "device"

    def __init__(self, sounddevice: Any, name: str, channels: int) -> None:
        """Open and start the default output with 1 or 2 channels. Raises PortAudio's error when it refuses."""
        self.description = f"sound on {name}"
        self.underruns = 0
        self.dropped = 0
        self._channels = channels
        self._ring = _Ring(RING_SAMPLES, channels)
        self._primed = False
        self._resampler = soxr.ResampleStream(RATE, DEVICE_RATE, channels, dtype="float32", quality="LQ")
        self._stream = sounddevice.OutputStream(
            samplerate=DEVICE_RATE,
            blocksize=BLOCK,
            channels=channels,
            dtype="float32",
            callback=self._fill,
        )
        try:
            self._stream.start()
        except Exception:
            self._stream.close()
            raise

    def play(self, caller: Pcm, agent: Pcm) -> None:
        """Mix, resample and queue; what does not fit is dropped and counted."""
        mixed = self._resampler.resample_chunk(mix(caller, agent, self._channels))
        self.dropped += self._ring.write(mixed.reshape(-1, self._channels))

    def close(self) -> None:
        """Stop the device."""
        self._stream.stop()
        self._stream.close()

    def _fill(self, out: NDArray[np.float32], frames: int, time: object, status: object) -> None:
        """Copy from the ring; runs in PortAudio's thread."""
        waiting = len(self._ring)
        if self._primed and waiting < frames:
            self.underruns += 1
            self._primed = False
        elif not self._primed and waiting >= PRIME_SAMPLES:
            self._primed = True
        if self._primed:
            self._ring.read_into(out)
        else:
            out.fill(0.0)


def mix(caller: Pcm, agent: Pcm, channels: int) -> NDArray[np.float32]:
    """Mix both lanes for listening, shape (n, 2) with the caller to the left, or (n,) summed; within -1..1."""
    left = caller.astype(np.float32) / FULL_SCALE
    right = agent.astype(np.float32) / FULL_SCALE
    if channels == 1:
        return np.clip(left + right, -1.0, 1.0)
    return np.stack(
        (OWN_SHARE * left + (1 - OWN_SHARE) * right, (1 - OWN_SHARE) * left + OWN_SHARE * right), axis=1
    ).astype(np.float32, copy=False)


def open_sink(kind: Literal["auto", "none", "device"]) -> tuple[Sink, str]:
    """Return a sink and a sentence for the screen.

    ``auto`` takes a device when there is one and else plays to nobody; ``device`` insists and raises ``AudioError`` with
    the sentence; ``none`` does not look.
    """
    if kind == "none":
        return NullSink(), "no sound: switched off"
    found = _open_device()
    if isinstance(found, DeviceSink):
        return found, found.description
    if kind == "device":
        raise AudioError(found)
    return NullSink(), found


def _open_device() -> DeviceSink | str:
    """Return a running sink, or why there is none."""
    try:
        import sounddevice  # raises OSError without PortAudio, so it is needed only where sound is wanted
    except OSError:
        return "no sound: PortAudio is not installed (Debian: apt-get install libportaudio2)"
    except ImportError:
        return "no sound: the package sounddevice is not installed (pip install sounddevice)"
    try:
        device = sounddevice.query_devices(kind="output")
    except (sounddevice.PortAudioError, ValueError):
        return "no sound: no output device"
    name, channels = str(device["name"]), min(2, int(device["max_output_channels"]))
    if channels < 1:
        return "no sound: no output device"
    try:
        return DeviceSink(sounddevice, name, channels)
    except (sounddevice.PortAudioError, ValueError) as error:
        return f"no sound: {name} cannot be opened ({error})"
