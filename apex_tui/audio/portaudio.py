"""PortAudio at the rim: whether it is there, which devices it has, and what a device can do.

In here: loading it with its own chatter kept off the screen, ``Device``, ``list_devices``, ``choose``, ``usable_format``, and the conversion of
its clock to ours. Deliberately not in here: streams (``sinks``, ``microphone``). Every reason why something is not there is one sentence
without a subject: the caller of these functions says what is missing ("no sound: ...", "no microphone: ...").
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from apex_tui.audio.clips import AudioError

Side = Literal["input", "output"]

DEVICE_RATES = (48_000, 44_100, 24_000, 16_000, 8_000)
"""Asked for in this order, the device's own rate after the first: 48 kHz is what sound cards run at, and has the shortest delays."""

INSTALL = "PortAudio is not installed (Debian: apt-get install libportaudio2)"
NO_PACKAGE = "the package sounddevice is not installed (pip install sounddevice)"


class NoDeviceError(AudioError):
    """There is no such device, or it cannot be used; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device as PortAudio knows it: channels each way, its own rate (Hz), and the latency that it states for short buffers (ms)."""

    index: int
    name: str
    api: str
    inputs: int
    outputs: int
    rate: int
    input_latency_ms: float = 0.0
    output_latency_ms: float = 0.0
    default_input: bool = False
    default_output: bool = False

    def channels(self, side: Side) -> int:
        """How many channels it has on a side."""
        return self.inputs if side == "input" else self.outputs


class SoundDevice(Protocol):
    """What a microphone and a loudspeaker have in common."""

    @property
    def description(self) -> str:
        """What this is, in a few words."""

    @property
    def latency_ms(self) -> float:
        """The device's own delay, as its clock tells: from the mouth to the session, or from the session to the ear."""

    @property
    def problem(self) -> str | None:
        """One sentence while the device is gone, silent or mute; None: all is well."""

    def close(self) -> None:
        """Stop and release the device."""


@contextmanager
def quiet() -> Iterator[None]:
    """Send what native libraries print to nowhere meanwhile: ALSA and PortAudio write to the terminal without asking.

    The two descriptors belong to the process, so keep the stretch short and print nothing of your own in it.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        kept = [(number, os.dup(number)) for number in (1, 2)]
    except (OSError, ValueError, AttributeError):
        yield  # no terminal to protect
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number, _ in kept:
            os.dup2(nowhere, number)
        yield
    finally:
        os.close(nowhere)
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def load_portaudio() -> Any:
    """The module sounddevice.

    Raises:
        NoDeviceError: it, or PortAudio itself, is not installed; says what to install.
    """
    try:
        with quiet():
            import sounddevice  # raises OSError without PortAudio, so it is needed only where a device is wanted
    except OSError:
        raise NoDeviceError(INSTALL) from None
    except ImportError:
        raise NoDeviceError(NO_PACKAGE) from None
    _hush_alsa()
    return sounddevice


_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)
_SAY_NOTHING = _HANDLER(lambda file, line, function, error, form: None)
"""ALSA's error handler while a stream runs: what matters reaches us through PortAudio. Kept here, because ALSA keeps only its address."""


def _hush_alsa() -> None:
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(_SAY_NOTHING)
    except (OSError, AttributeError):
        return  # PortAudio without ALSA: nothing to hush


def list_devices(sounddevice: Any) -> list[Device]:
    """All devices, in PortAudio's order; none when it cannot tell."""
    try:
        with quiet():
            raw = list(sounddevice.query_devices())
            apis = [str(api["name"]) for api in sounddevice.query_hostapis()]
            first_in, first_out = (int(number) for number in sounddevice.default.device)
    except (sounddevice.PortAudioError, ValueError, TypeError):
        return []
    return [
        Device(
            index=number,
            name=str(found["name"]),
            api=apis[int(found["hostapi"])] if int(found["hostapi"]) < len(apis) else "",
            inputs=int(found["max_input_channels"]),
            outputs=int(found["max_output_channels"]),
            rate=round(float(found["default_samplerate"])),
            input_latency_ms=round(1000 * float(found["default_low_input_latency"]), 1),
            output_latency_ms=round(1000 * float(found["default_low_output_latency"]), 1),
            default_input=number == first_in,
            default_output=number == first_out,
        )
        for number, found in enumerate(raw)
    ]


def choose(devices: list[Device], side: Side, wanted: str | None = None) -> Device:
    """The device that a person means: by number, whole name, or a part of the name that fits only one; None: the default.

    Raises:
        NoDeviceError: there is none on that side, or the name fits none or several.
    """
    usable = [device for device in devices if device.channels(side) > 0]
    if not usable:
        way_out = ": plug one in, and see 'apex-tui devices list'" if side == "input" else ""
        raise NoDeviceError(f"no {side} device{way_out}")
    if not wanted:
        default = [d for d in usable if (d.default_input if side == "input" else d.default_output)]
        return (default or usable)[0]
    low = wanted.strip().lower()
    for fits in (
        [d for d in usable if low == str(d.index)],
        [d for d in usable if d.name.lower() == low],
        [d for d in usable if low in d.name.lower()],
    ):
        if len(fits) == 1 or (fits and len({d.name for d in fits}) == 1):
            return fits[0]  # the same device through several host APIs: the first is PortAudio's preference
        if fits:
            names = ", ".join(d.name for d in fits[:5])
            raise NoDeviceError(f"{wanted!r} fits several {side} devices ({names}): type more of the name")
    names = ", ".join(d.name for d in usable[:5])
    raise NoDeviceError(f"no {side} device is called {wanted!r}; there are: {names}")


def usable_format(sounddevice: Any, device: Device, side: Side) -> tuple[int, int]:
    """Channels and rate (Hz) that the device takes: one channel to hear with, two to play on where there are two, as near to 48 kHz as it goes.

    Raises:
        NoDeviceError: it takes nothing, with PortAudio's reason.
    """
    check = sounddevice.check_input_settings if side == "input" else sounddevice.check_output_settings
    most = device.channels(side)
    layouts = dict.fromkeys((1, min(2, most), most) if side == "input" else (min(2, most), 1, most))
    rates = dict.fromkeys((DEVICE_RATES[0], max(device.rate, DEVICE_RATES[-1]), *DEVICE_RATES[1:]))
    reason = ""
    with quiet():
        for channels in layouts:
            for rate in rates:
                try:
                    check(device=device.index, channels=channels, dtype="int16", samplerate=rate)
                except (sounddevice.PortAudioError, ValueError) as error:
                    reason = reason or str(error)
                    continue
                return channels, rate
    raise NoDeviceError(f"{device.name} cannot be opened ({reason})")


def our_time(theirs: float, their_now: float) -> float:
    """A time of PortAudio's clock as ours (monotonic, s), told in a callback whose own time is ``their_now``.

    PortAudio's clock differs between platforms and may be the wall clock, which can step, so the difference is taken anew each time.
    """
    return time.monotonic() + (theirs - their_now)
