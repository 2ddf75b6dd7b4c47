"""A microphone as frames of 20 ms at 24 kHz, and when each of them was spoken.

In here: the ``Microphone`` protocol that a session is given, ``DeviceMicrophone`` (PortAudio), and ``open_microphone``. Deliberately not in
here: whether the sound is speech (``turns``), and echo (``echo``). The stream's callback only stores blocks; everything else happens where
`frame` is called, so a slow callback thread delays nothing.
"""

from __future__ import annotations

import statistics
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from apex_tui.audio.frames import FRAME_SAMPLES, RATE, Pcm, pcm_bytes, pcm_from_bytes, silence
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
from apex_tui.audio.resample import Resampler

BLOCK_MS = 10
SPARE = RATE * 10 // 1000
"""10 ms of cushion above the frame that is taken: a block may come that late without a hole."""

MOST_WAITING = RATE * 40 // 1000
"""When never less than this waits for a second, the device's clock runs ahead of ours: the surplus is dropped, or the delay would grow."""

BLOCKS_KEPT = 100
"""Blocks (1 s) that the callback may be ahead of `frame`."""

WATCHDOG_S = 2.0
"""Nothing, or digital silence, for so long is a fault: every live microphone hisses."""

RECENT = 50
"""Frames (1 s)."""

SETTLING = 45
"""Frames after a hole; what a device that stood still sends afterwards in a burst has come by then."""

WATCHED = 15
"""Frames (300 ms) that tell in a settling stream what waits for good."""


class Microphone(SoundDevice, Protocol):
    """Where a person's voice comes from, one frame at a time. ``latency_ms``: how long before `frame` is called the last sample of the frame was
    spoken.
    """

    @property
    def underruns(self) -> int:
        """Frames that were silence because the device had sent too little."""

    @property
    def overruns(self) -> int:
        """How often sound was lost because it came faster than it was taken, or the device said that it lost some."""

    def frame(self) -> Pcm:
        """The next 480 samples; silence when there are none. Never blocks."""


class _Block(NamedTuple):
    """What one call of the device brought: when its first sample was spoken (our clock, s), and mono samples at the device's rate."""

    spoken_at: float
    pcm: Pcm


class DeviceMicrophone:
    """A PortAudio input at the device's own rate; of several channels the first is taken."""

    def __init__(self, sounddevice: Any, device: Device, channels: int, rate: int) -> None:
        """Open and start it. Raises PortAudio's error when it refuses."""
        self.description = f"microphone {device.name}"
        self.name, self.rate = device.name, rate
        self.underruns = self.overruns = 0
        self._blocks: deque[_Block] = deque(maxlen=BLOCKS_KEPT)
        self._resampler = Resampler(rate, RATE)
        self._waiting = np.zeros(0, dtype=np.int16)
        self._fed = 0  # samples at the device's rate that went into the resampler
        self._spoken: tuple[int, float] | None = None  # sample number at the device's rate, and when it was spoken
        self._made = 0
        self._primed = self._begun = self._started = False
        self._settling = 0
        self._delays: deque[float] = deque(maxlen=RECENT)
        self._least: deque[int] = deque(maxlen=RECENT)
        self._heard_at = self._sound_at = monotonic()
        self._gone = self._closing = False
        self._refusal: type[Exception] = sounddevice.PortAudioError
        self._stream = sounddevice.InputStream(
            device=device.index,
            samplerate=rate,
            blocksize=rate * BLOCK_MS // 1000,
            channels=channels,
            dtype="int16",
            latency="low",
            callback=self._take,
            finished_callback=self._finished,
        )
        try:
            self._stream.start()
        except Exception:
            self._stream.close()
            raise

    def _take(self, raw: NDArray[np.int16], frames: int, time: Any, status: Any) -> None:
        """Keep a copy of the block; runs in PortAudio's thread."""
        now = monotonic()
        if time is not None and time.inputBufferAdcTime > 0 and time.currentTime > 0:
            spoken = our_time(time.inputBufferAdcTime, time.currentTime)
        else:
            spoken = now - float(self._stream.latency) - frames / self.rate
        # Before the first frame is asked for, nothing that falls out is missed.
        if self._begun and ((status and status.input_overflow) or len(self._blocks) == BLOCKS_KEPT):
            self.overruns += 1
        self._blocks.append(_Block(spoken, raw[:, 0].copy()))
        self._heard_at = now
        if raw.any():
            self._sound_at = now

    def _finished(self) -> None:
        self._gone = not self._closing

    @property
    def latency_ms(self) -> float:
        """Median of the last second, as the device's own clock tells; 0 before it has told."""
        return round(1000 * statistics.median(self._delays), 3) if self._delays else 0.0

    @property
    def problem(self) -> str | None:
        """One sentence while something is wrong."""
        now = monotonic()
        if self._gone or now - self._heard_at > WATCHDOG_S:
            return f"the microphone {self.name} is gone or sends nothing; the session goes on with silence in its place"
        if now - self._sound_at > WATCHDOG_S:
            return f"the microphone {self.name} sends only digital silence: it may be muted, or not allowed for this program"
        return None

    def frame(self) -> Pcm:
        """The next 480 samples; a frame of silence while too little is there."""
        now = monotonic()
        self._begun = True
        self._drain()
        if not self._primed and len(self._waiting) >= FRAME_SAMPLES + SPARE:
            # What waited for the start is the past; after a hole it may be what a device sends in one go.
            if not self._started:
                self._waiting = self._waiting[-(FRAME_SAMPLES + SPARE) :]
            self._primed = self._started = True
        if not self._primed:
            return silence(FRAME_SAMPLES)
        if len(self._waiting) < FRAME_SAMPLES:
            self.underruns += 1
            self._primed = False
            self._settling = SETTLING
            self._least.clear()
            return silence(FRAME_SAMPLES)
        self._trim()
        out, self._waiting = self._waiting[:FRAME_SAMPLES], self._waiting[FRAME_SAMPLES:]
        if self._spoken is not None:
            number, at = self._spoken
            last = (self._made - len(self._waiting)) * self.rate / RATE
            self._delays.append(now - (at + (last - number) / self.rate))
        return out

    def _drain(self) -> None:
        while self._blocks:
            block = self._blocks.popleft()
            self._spoken = (self._fed, block.spoken_at)
            self._fed += len(block.pcm)
            made = pcm_from_bytes(self._resampler.feed(pcm_bytes(block.pcm)))
            self._made += len(made)
            self._waiting = np.concatenate((self._waiting, made))

    def _trim(self) -> None:
        """Drop what waits for good, soon after a hole and else only much; twice the cushion stays."""
        self._settling = max(0, self._settling - 1)
        self._least.append(len(self._waiting) - FRAME_SAMPLES)
        frames, most = (WATCHED, 3 * SPARE) if self._settling else (RECENT, MOST_WAITING)
        if len(self._least) >= frames and min(self._least) > most:
            self._waiting = self._waiting[min(self._least) - 2 * SPARE :]
            self._least.clear()
            self.overruns += 1

    def close(self) -> None:
        """Stop the device; one that is gone is let go."""
        self._closing = True
        with quiet(), suppress(self._refusal):
            self._stream.abort()
        with quiet(), suppress(self._refusal):
            self._stream.close()


def open_microphone(wanted: str | None = None) -> DeviceMicrophone:
    """A running microphone; ``wanted`` names it (None: the system's default).

    Raises:
        NoDeviceError: why there is none.
    """
    sounddevice = load_portaudio()
    device = choose(list_devices(sounddevice), "input", wanted)
    channels, rate = usable_format(sounddevice, device, "input")
    try:
        with quiet():
            return DeviceMicrophone(sounddevice, device, channels, rate)
    except (sounddevice.PortAudioError, ValueError) as error:
        raise NoDeviceError(f"{device.name} cannot be opened ({error})") from error
