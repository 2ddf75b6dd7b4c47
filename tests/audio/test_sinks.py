"""Sinks, with a PortAudio of our own."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from fake_portaudio import FakeSoundDevice, Stream, Times, device
from numpy.typing import NDArray

from apex_tui.audio import sinks
from apex_tui.audio.clips import AudioError
from apex_tui.audio.frames import Pcm, silence
from apex_tui.audio.portaudio import list_devices
from apex_tui.audio.sinks import DeviceSink, NullSink, mix, open_sink

RATE = 48_000
BLOCK = RATE * sinks.BLOCK_MS // 1000


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that pauses these tests has not unplugged a device: only the test of the watchdog sets its time."""
    monkeypatch.setattr(sinks, "GONE_AFTER_S", 3600.0)
    monkeypatch.setattr(sinks, "PAUSED_AFTER_S", 3600.0)
    monkeypatch.setattr(sinks, "HICCUP_S", 600.0)


def constant(value: int, samples: int = 480) -> Pcm:
    return np.full(samples, value, dtype=np.int16)


def opened(channels: int = 2, rate: int = RATE, *, alone: bool = False) -> tuple[DeviceSink, Stream]:
    fake = FakeSoundDevice(device("x", outputs=channels))
    sink = DeviceSink(fake, list_devices(fake)[0], channels, rate, alone=alone)
    return sink, fake.streams[0]


def through(sink: DeviceSink, stream: Stream, frames: int, caller: Pcm, agent: Pcm) -> NDArray[np.int16]:
    """What the device plays of ``frames`` equal frames, asking for audio twice a frame, as it does."""
    heard = []
    for _ in range(frames):
        sink.play(caller, agent)
        heard += [stream.pull(), stream.pull()]
    return np.concatenate(heard)


def test_the_null_sink_consumes() -> None:
    sink, sentence = open_sink("none")
    assert isinstance(sink, NullSink)
    assert sentence == "no sound: switched off"
    sink.play(silence(480), silence(480))
    sink.close()
    assert (sink.clock_basis, sink.description) == ("playout", "no sound")
    assert NullSink("simulated").clock_basis == "simulated"


def test_a_device_is_used_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSoundDevice(device("Studio Speakers", outputs=8))
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
        (FakeSoundDevice(), "no sound: no output device"),
        (FakeSoundDevice(device("Mic", inputs=1)), "no sound: no output device"),
        (
            FakeSoundDevice(device("Studio Speakers", outputs=2), refuses=True),
            "no sound: Studio Speakers cannot be opened (Device unavailable)",
        ),
        (
            FakeSoundDevice(device("Studio Speakers", outputs=2), rates=()),
            "no sound: Studio Speakers cannot be opened (Invalid sample rate)",
        ),
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
    heard = through(sink, stream, 10, constant(16_384), constant(16_384)) / 32_768
    assert heard[-4800:].min() == pytest.approx(0.5 if channels == 2 else 1.0, abs=0.01)
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


def test_a_stuck_device_drops_audio_and_never_blocks() -> None:
    sink, stream = opened()
    for _ in range(100):
        sink.play(constant(8000), constant(8000))
    assert sink.dropped == pytest.approx(100 * 960 - RATE * sinks.RING_MS // 1000, abs=2000)
    assert stream.pull().any()


def test_the_ring_wraps_without_losing_a_sample() -> None:
    sink, stream = opened(1)
    heard = []
    for k in range(200):
        sink.play(constant(100 * (k % 50)), silence(480))
        if k >= 5:
            heard += [stream.pull(), stream.pull()]
    lane = np.concatenate(heard)[:, 0]
    first = int(np.flatnonzero(lane)[0])
    steps = np.rint(lane[first + 480 + 960 * np.arange(20, 180)] / 100).astype(int)
    assert set(np.diff(steps).tolist()) <= {1, -49}
    assert (sink.underruns, sink.dropped) == (0, 0)


def test_a_device_of_another_rate_gets_its_own() -> None:
    sink, stream = opened(1, 44_100)
    heard = through(sink, stream, 10, silence(480), constant(8000))
    assert stream.options["blocksize"] == 441
    assert np.abs(heard[-4410:, 0] - 8000).max() < 20
    assert sink.underruns == 0


def test_a_person_hears_the_agent_only_and_on_both_ears() -> None:
    sink, stream = opened(2, alone=True)
    heard = through(sink, stream, 6, constant(20_000), constant(8000))
    assert heard.shape[1] == 2
    assert np.abs(heard[-960:] - 8000).max() <= 2


def test_a_device_that_starts_late_does_not_stay_late() -> None:
    sink, stream = opened(1, alone=True)
    for _ in range(20):
        sink.play(silence(480), constant(8000))
    stream.pull(Times())
    sink.play(silence(480), constant(8000))
    assert sink.late == pytest.approx(RATE * (400 - sinks.PROMPT_PRIME_MS) // 1000, abs=50)
    # what waits before the device (20 ms and the new frame), the device's own 30 ms, the resampler's look ahead
    assert sink.latency_ms == pytest.approx(70 + 1000 * sinks.HELD_S, abs=15)


def test_a_device_that_runs_slow_is_caught_up_with_in_silence_only() -> None:
    sink, stream = opened(1, alone=True)
    for k in range(800):
        sink.play(silence(480), constant(8000 if k < 240 else 0))
        stream.pull()
        if k % 60:
            stream.pull()
        if k == 239:
            assert sink.skipped == 0
    assert sink.skipped > 0
    assert len(sink._ring) <= RATE * (sinks.PROMPT_PRIME_MS + 20) // 1000
    assert sink.underruns == 0


def waits_after_a_burst(extra: int, *, hiccup: bool = False) -> tuple[int, int, DeviceSink]:
    """How much more (ms) waits right after so many frames too many came in the middle of a word, and 300 ms later."""
    sink, stream = opened(1, alone=True)
    waiting: list[int] = []
    for k in range(76):
        waiting.append(len(sink._ring) * 1000 // RATE)
        for _ in range(1 + extra if k == 50 else 1):
            sink.play(silence(480), constant(8000))
        if hiccup and k == 50:
            sink._asked_at -= 2 * sinks.HICCUP_S
        stream.pull()
        stream.pull()
    return waiting[51] - waiting[50], waiting[65] - waiting[50], sink


def test_after_a_stall_the_delay_is_gone_within_300_ms_even_in_a_word() -> None:
    at_once, later, sink = waits_after_a_burst(8)
    assert at_once == pytest.approx(160, abs=1)
    assert later <= 20
    assert sink.underruns == 0


def test_one_frame_too_many_waits_for_silence_unless_the_sound_was_broken() -> None:
    assert waits_after_a_burst(1)[:2] == (20, 20)
    assert waits_after_a_burst(1, hiccup=True)[:2] == (20, 10)


def test_a_burst_after_an_under_run_is_not_kept() -> None:
    """A session that stood still catches up over several calls of the device, after play has begun again."""
    sink, stream = opened(1, alone=True)
    waiting: list[int] = []
    for k in range(60):
        waiting.append(len(sink._ring) * 1000 // RATE)
        for _ in range(0 if 10 <= k < 16 else 3 if k in (17, 18, 19) else 1):
            sink.play(silence(480), constant(8000))
        stream.pull()
        stream.pull()
    assert sink.underruns == 1
    assert waiting[20] >= waiting[9] + 60
    assert waiting[40] <= waiting[9] + sinks.BLOCK_MS


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(("rate", "every_ms"), [(48_000, 40), (48_000, 64), (44_100, 100), (48_000, 128)])
def test_a_device_that_asks_in_bursts_is_not_cut_again_and_again(
    monkeypatch: pytest.MonkeyPatch, rate: int, every_ms: int, alone: bool
) -> None:
    """As a wireless headset does: what waits right before a burst is no delay, and is not cut."""
    now = [100.0]
    monkeypatch.setattr(sinks, "monotonic", lambda: now[0])
    monkeypatch.setattr(sinks, "HICCUP_S", 0.1)
    monkeypatch.setattr(sinks, "PAUSED_AFTER_S", 0.3)
    sink, stream = opened(2, rate, alone=alone)
    settled, asked_ms = (0, 0, 0), 0
    for at_ms in range(0, 10_000, 2):
        now[0] = 100.0 + at_ms / 1000
        if at_ms % 20 == 0:
            sink.play(constant(8000), constant(8000))
        if at_ms % every_ms == 6 or (at_ms % every_ms == 16 and at_ms // every_ms % 3 == 0):  # a little late at times
            while asked_ms + sinks.BLOCK_MS <= at_ms + every_ms:
                stream.pull()
                asked_ms += sinks.BLOCK_MS
        if at_ms == 1000:
            settled = (sink.underruns, sink.late, sink.dropped)
    assert (sink.underruns, sink.late, sink.dropped) == settled
    assert sink.underruns <= 3
    assert len(sink._ring) <= rate * (every_ms + sinks.PRIME_MS + 20) // 1000


def test_no_more_waits_after_a_stall_than_after_a_start() -> None:
    """A single frame too many is 20 ms between the wire and the ear for the rest of the call."""
    sink, stream = opened(1, alone=True)
    waiting: list[int] = []
    for k in range(200):
        waiting.append(len(sink._ring) * 1000 // RATE)
        sink.play(silence(480), constant(8000 if k < 60 else 0))
        if k == 50:
            sink.play(silence(480), constant(8000))  # the device had stood still for a frame
        stream.pull()
        stream.pull()
    started, stalled, after = waiting[49], waiting[60], waiting[-1]
    assert stalled == pytest.approx(started + 20, abs=1)
    assert after == started
    assert sink.underruns == 0


def test_an_unplugged_device_is_said_once_and_costs_nothing() -> None:
    sink, stream = opened()
    stream.unplug()
    assert sink.problem == "the sound device x is gone; the session goes on without sound"
    sink.play(silence(480), constant(1))
    assert len(sink._ring) == 0
    sink.close()
    assert stream.calls == ["start", "abort", "close"]


def test_a_device_that_stands_still_tells_no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(sinks, "monotonic", lambda: now[0])
    monkeypatch.setattr("apex_tui.audio.portaudio.time.monotonic", lambda: now[0])
    monkeypatch.setattr(sinks, "PAUSED_AFTER_S", 0.3)
    sink, stream = opened(1, alone=True)
    for _ in range(10):
        sink.play(silence(480), constant(8000))
        stream.pull(Times())
        stream.pull(Times())
        now[0] += 0.02
    steady = sink.latency_ms
    assert 30 < steady < 100
    for _ in range(90):  # 1.8 s: it is not known to be gone yet
        now[0] += 0.02
        sink.play(silence(480), constant(8000))
    assert sink.latency_ms == pytest.approx(steady, abs=25)
    assert sink.latency_ms > 0


def test_a_device_that_asks_for_nothing_is_gone_until_it_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(sinks, "monotonic", lambda: now[0])
    monkeypatch.setattr(sinks, "GONE_AFTER_S", 2.0)
    monkeypatch.setattr(sinks, "PAUSED_AFTER_S", 0.3)
    sink, stream = opened(1, alone=True)
    for _ in range(25):
        sink.play(silence(480), constant(8000))
    stream.pull()
    before = sink.problem
    now[0] += sinks.GONE_AFTER_S + 0.1
    sink.play(silence(480), silence(480))
    told = "the sound device x is gone or suspended; the session goes on without sound until it plays again"
    assert (before, sink.problem) == (None, told)
    waited = len(sink._ring)
    sink.play(silence(480), constant(8000))
    assert len(sink._ring) == waited  # what is said meanwhile is not kept for later
    stream.pull()
    assert sink.problem is None
    assert len(sink._ring) <= RATE * sinks.PROMPT_PRIME_MS // 1000  # nor what waited when it stopped
    sink.close()
    assert stream.calls[-2:] == ["stop", "close"]
