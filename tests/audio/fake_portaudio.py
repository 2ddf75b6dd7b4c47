"""A sounddevice of our own: devices that say what they take, and streams that a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray


class PortAudioError(Exception):
    """What the fake raises."""


def device(name: str, *, inputs: int = 0, outputs: int = 0, rate: int = 48_000) -> dict[str, Any]:
    return {
        "name": name,
        "hostapi": 0,
        "max_input_channels": inputs,
        "max_output_channels": outputs,
        "default_samplerate": float(rate),
        "default_low_input_latency": 0.01,
        "default_low_output_latency": 0.012,
    }


@dataclass
class Times:
    """The times of one callback, on a clock of PortAudio's own (s)."""

    currentTime: float = 1000.0
    inputBufferAdcTime: float = 999.98
    outputBufferDacTime: float = 1000.03


@dataclass
class Status:
    input_overflow: bool = False

    def __bool__(self) -> bool:
        return self.input_overflow


class Stream:
    """A fake stream, moved by the test: ``pull`` is the device asking for audio, ``push`` the device bringing some."""

    latency = 0.025

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def abort(self) -> None:
        self.calls.append("abort")

    def close(self) -> None:
        self.calls.append("close")

    def pull(self, times: Times | None = None) -> NDArray[np.int16]:
        out = np.full((self.options["blocksize"], self.options["channels"]), 9, dtype=np.int16)
        callback: Callable[..., None] = self.options["callback"]
        callback(out, len(out), times, Status())
        return out

    def push(self, pcm: NDArray[np.int16], times: Times | None = None, *, overflow: bool = False) -> None:
        block = np.stack([pcm] * self.options["channels"], axis=1)
        callback: Callable[..., None] = self.options["callback"]
        callback(block, len(block), times, Status(overflow))

    def unplug(self) -> None:
        finished: Callable[[], None] = self.options["finished_callback"]
        finished()


class _Default:
    def __init__(self, numbers: tuple[int, int]) -> None:
        self.device = numbers


class FakeSoundDevice(ModuleType):
    """Some devices; ``rates``: what they take, all the same; ``refuses``: opening a stream fails."""

    PortAudioError = PortAudioError

    def __init__(
        self,
        *devices: dict[str, Any],
        rates: tuple[int, ...] = (48_000, 44_100),
        channels: tuple[int, ...] = (1, 2),
        refuses: bool = False,
        default: tuple[int, int] | None = None,
    ) -> None:
        super().__init__("sounddevice")
        self._devices, self._rates, self._channels, self.refuses = devices, rates, channels, refuses
        self.streams: list[Stream] = []
        self.default = _Default(default or (-1, -1))

    def query_devices(self) -> tuple[dict[str, Any], ...]:
        return self._devices

    def query_hostapis(self) -> tuple[dict[str, Any], ...]:
        return ({"name": "Fake API"},)

    def _check(self, *, device: int, channels: int, dtype: str, samplerate: int) -> None:
        if samplerate not in self._rates:
            raise PortAudioError("Invalid sample rate")
        if channels not in self._channels:
            raise PortAudioError("Invalid number of channels")

    check_input_settings = check_output_settings = _check

    def _open(self, **options: Any) -> Stream:
        if self.refuses:
            raise PortAudioError("Device unavailable")
        self.streams.append(Stream(**options))
        return self.streams[-1]

    InputStream = OutputStream = _open
