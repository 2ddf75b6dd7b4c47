"""Sinks, with a PortAudio of our own."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apex_tui.audio.clips import AudioError
from apex_tui.audio.frames import Pcm, silence
from apex_tui.audio.sinks import BLOCK, PRIME_SAMPLES, RING_SAMPLES, DeviceSink, NullSink, mix, open_sink

Callback = Callable[[NDArray[np.float32], int, object, object], None]


class PortAudioError(Exception):
    """What the fake raises."""


class Stream:
    """A fake output stream; ``pull`` is the device asking for audio."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")

    def pull(self) -> NDArray[np.float32]:
        out = np.full((BLOCK, self.options["channels"]), 9.0, dtype=np.float32)
        callback: Callback = self.options["callback"]
        callback(out, BLOCK, None, None)
        return out


class FakeSoundDevice(ModuleType):
    """A sounddevice with one output, none, or one that refuses."""

    PortAudioError = PortAudioError

    def __init__(self, channels: int | None = 2, refuses: bool = False) -> None:
        super().__init__("sounddevice")
        self.channels = channels
        self.refuses = refuses
        self.streams: list[Stream] = []

    def query_devices(self, kind: str) -> dict[str, object]:
        assert kind == "output"
        if self.channels is None:
            raise PortAudioError("Error querying device -1")
        return {"name": "Studio Speakers", "max_output_channels": self.channels}

    def OutputStream(self, **options: Any) -> Stream:
        if self.refuses:
            raise PortAudioError("Device unavailable")
        self.streams.append(Stream(**options))
        return self.streams[-1]


def constant(value: int, samples: int = 480) -> Pcm:
    return np.full(samples, value, dtype=np.int16)


def opened(channels: int = 2) -> tuple[DeviceSink, Stream]:
    fake = FakeSoundDevice(channels)
    sink = DeviceSink(fake, "x", min(2, channels))
    return sink, fake.streams[0]


def test_the_null_sink_consumes() -> None:
    sink, sentence = open_sink("none")
    assert isinstance(sink, NullSink)
    assert sentence == "no sound: switched off"
    sink.play(silence(480), silence(480))
    sink.close()
    assert (sink.clock_basis, sink.description) == ("playout", "no sound")
    assert NullSink("simulated").clock_basis == "simulated"


def test_a_device_is_used_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSoundDevice(channels=8)
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    sink, sentence = open_sink("auto")
    assert sentence == sink.description == "sound on Studio Speakers"
    assert sink.clock_basis == "device"
    options = fake.streams[0].options
    assert (options["samplerate"], options["channels"], options["blocksize"]) == (48_000, 2, 480)
    sink.close()
    assert fake.streams[0].calls == ["start", "stop", "close"]


@pytest.mark.parametrize(
    ("fake", "sentence"),
    [
        (FakeSoundDevice(channels=None), "no sound: no output device"),
        (FakeSoundDevice(channels=0), "no sound: no output device"),
        (FakeSoundDevice(refuses=True), "no sound: Studio Speakers cannot be opened (Device unavailable)"),
    ],
)
def test_why_there_is_no_sound(monkeypatch: pytest.MonkeyPatch, fake: FakeSoundDevice, sentence: str) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    sink, said = open_sink("auto")
    assert isinstance(sink, NullSink)
    assert said == sentence
    with pytest.raises(AudioError) as caught:
        open_sink("device")
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError("PortAudio library not found"),
            "no sound: PortAudio is not installed (Debian: apt-get install libportaudio2)",
        ),
        (ImportError("no"), "no sound: the package sounddevice is not installed (pip install sounddevice)"),
    ],
)
def test_without_portaudio_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
) -> None:
    real_import = builtins.__import__

    def no_sounddevice(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        if name == "sounddevice":
            raise error
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(builtins, "__import__", no_sounddevice)
    assert open_sink("auto")[1] == sentence


def test_the_caller_is_left_and_the_agent_right() -> None:
    both = mix(constant(16_384), constant(0), 2)
    assert both.shape == (480, 2)
    assert both[0].tolist() == pytest.approx([0.35, 0.15])
    assert mix(constant(0), constant(16_384), 2)[0].tolist() == pytest.approx([0.15, 0.35])
    assert mix(constant(8_192), constant(8_192), 1)[0] == pytest.approx(0.5)
    assert mix(constant(30_000), constant(30_000), 1).max() == 1.0


@pytest.mark.parametrize("channels", [1, 2])
def test_what_is_played_comes_out_at_the_devices_rate(channels: int) -> None:
    sink, stream = opened(channels)
    for _ in range(10):
        sink.play(constant(16_384), constant(16_384))
    heard = np.concatenate([stream.pull() for _ in range(15)])
    assert heard[2400:4800].min() == pytest.approx(0.5 if channels == 2 else 1.0, abs=0.01)
    assert sink.underruns == 0


def test_play_starts_after_60_ms_and_an_under_run_is_counted_once() -> None:
    sink, stream = opened()
    assert not stream.pull().any()  # waiting for the first audio is no under-run
    assert sink.underruns == 0
    for _ in range(4):
        sink.play(constant(8000), constant(8000))
    pulls = [stream.pull() for _ in range(12)]
    assert pulls[0].shape == (BLOCK, 2)
    assert pulls[3].any()
    assert not pulls[-1].any()
    assert sink.underruns == 1
    sink.play(constant(8000), constant(8000))
    assert not stream.pull().any()  # collects again first
    assert sink.underruns == 1
    assert PRIME_SAMPLES == 2880


def test_a_stuck_device_drops_audio_and_never_blocks() -> None:
    sink, stream = opened()
    for _ in range(100):
        sink.play(constant(8000), constant(8000))
    assert sink.dropped == pytest.approx(100 * 960 - RING_SAMPLES, abs=2000)
    assert stream.pull().any()


def test_the_ring_wraps_without_losing_a_sample() -> None:
    sink, stream = opened(1)
    heard = []
    for k in range(200):
        sink.play(constant(100 * (k % 50)), silence(480))
        if k >= 5:
            heard += [stream.pull(), stream.pull()]
    lane = np.concatenate(heard)[:, 0] * 32_768
    steps = np.rint(lane[480 + 960 * np.arange(20, 180)] / 100).astype(int)
    assert set(np.diff(steps).tolist()) <= {1, -49}
    assert (sink.underruns, sink.dropped) == (0, 0)
