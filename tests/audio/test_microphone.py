"""The microphone, its devices and the chirp, with a PortAudio of our own."""

from __future__ import annotations

import asyncio
import sys
from collections import deque

import numpy as np
import pytest
from fake_portaudio import FakeSoundDevice, Stream, Times, device

from apex_tui.audio import microphone
from apex_tui.audio.chirp import chirp, find_chirp
from apex_tui.audio.device_test import Report, examine
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, silence
from apex_tui.audio.microphone import DeviceMicrophone, open_microphone
from apex_tui.audio.portaudio import NoDeviceError, choose, list_devices, usable_format
from apex_tui.audio.sinks import NullSink
from apex_tui.cli.about_devices import complaints_of
from apex_tui.timeline.virtual import run_virtual

HEADSET = device("USB Headset", inputs=1, outputs=2)
BUILT_IN = device("Built-in Audio", inputs=2, outputs=2, rate=44_100)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that pauses these tests has not unplugged a device: only the test of the watchdog sets its time."""
    monkeypatch.setattr(microphone, "WATCHDOG_S", 3600.0)


def constant(value: int, samples: int) -> Pcm:
    return np.full(samples, value, dtype=np.int16)


def opened(rate: int = 48_000) -> tuple[DeviceMicrophone, Stream]:
    fake = FakeSoundDevice(HEADSET)
    return DeviceMicrophone(fake, list_devices(fake)[0], 1, rate), fake.streams[0]


def test_a_device_is_chosen_by_number_name_or_part_of_it() -> None:
    found = list_devices(FakeSoundDevice(HEADSET, BUILT_IN, device("Built-in Speaker", outputs=2), default=(1, 0)))
    assert choose(found, "input").name == "Built-in Audio"
    assert choose(found, "output").name == "USB Headset"
    assert choose(found, "input", "usb").index == 0
    assert choose(found, "input", "1").index == 1
    assert choose(found, "output", "built-in audio").index == 1
    with pytest.raises(NoDeviceError, match=r"fits several output devices \(Built-in Audio, Built-in Speaker\)"):
        choose(found, "output", "built-in")
    with pytest.raises(NoDeviceError, match="no input device is called 'x'; there are: USB Headset, Built-in Audio"):
        choose(found, "input", "x")
    with pytest.raises(NoDeviceError, match="no input device"):
        choose([found[2]], "input")


@pytest.mark.parametrize(
    ("rates", "channels", "wanted"),
    [((48_000, 44_100), (1, 2), (1, 48_000)), ((44_100,), (2,), (2, 44_100)), ((16_000,), (1,), (1, 16_000))],
)
def test_rate_and_channels_are_asked_of_the_device(
    rates: tuple[int, ...], channels: tuple[int, ...], wanted: tuple[int, int]
) -> None:
    fake = FakeSoundDevice(BUILT_IN, rates=rates, channels=channels)
    assert usable_format(fake, list_devices(fake)[0], "input") == wanted


def test_opening_takes_the_format_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSoundDevice(BUILT_IN, rates=(44_100,), channels=(2,))
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    mic = open_microphone("built-in")
    options = fake.streams[0].options
    assert (mic.rate, options["samplerate"], options["channels"], options["blocksize"]) == (44_100, 44_100, 2, 441)
    mic.close()
    assert fake.streams[0].calls == ["start", "abort", "close"]
    fake.refuses = True
    with pytest.raises(NoDeviceError, match=r"Built-in Audio cannot be opened \(Device unavailable\)"):
        open_microphone()


@pytest.mark.parametrize("rate", [48_000, 44_100, 16_000])
def test_frames_come_at_our_rate_without_a_gap(rate: int) -> None:
    mic, stream = opened(rate)
    wave = (8000 * np.sin(2 * np.pi * 300 * np.arange(rate) / rate)).astype(np.int16)
    block = rate // 100
    frames = []
    for k in range(48):
        stream.push(wave[2 * k * block : (2 * k + 1) * block])
        stream.push(wave[(2 * k + 1) * block : (2 * k + 2) * block])
        frames.append(mic.frame())
    assert {len(frame) for frame in frames} == {FRAME_SAMPLES}
    lane = np.concatenate(frames)
    heard = lane[np.flatnonzero(lane)[0] + 480 :].astype(float)
    wanted = np.sin(2 * np.pi * 300 * np.arange(len(heard)) / 24_000 + np.arcsin(np.clip(heard[0] / 8000, -1, 1)))
    spectrum = np.abs(np.fft.rfft(heard[:14_400] * np.hanning(14_400)))
    assert np.argmax(spectrum) == pytest.approx(300 * 14_400 / 24_000, abs=1)
    assert spectrum[: np.argmax(spectrum) - 5].max() < 0.001 * spectrum.max()  # a gap would be heard at every pitch
    assert len(wanted) == len(heard)
    assert (mic.underruns, mic.overruns, mic.problem) == (0, 0, None)


def test_the_delay_is_what_the_devices_clock_tells() -> None:
    mic, stream = opened()
    for _ in range(60):
        for _ in range(2):
            stream.push(constant(100, 480), Times(currentTime=5.0, inputBufferAdcTime=4.95))
        mic.frame()
    # The last block began 50 ms ago and is 10 ms long; 20 ms more wait between it and the frame that was taken... or fewer.
    waiting = len(mic._waiting) / 24
    assert mic.latency_ms == pytest.approx(50 - 10 + waiting, abs=5)


def test_a_hole_is_silence_and_counted_and_play_goes_on() -> None:
    mic, stream = opened()
    for _ in range(4):
        stream.push(constant(100, 480))
    assert mic.frame().any()
    mic.frame()
    assert not mic.frame().any()
    assert mic.underruns == 1
    for _ in range(4):
        stream.push(constant(100, 480))
    assert mic.frame().any()
    assert mic.underruns == 1


def test_what_waits_for_good_is_dropped() -> None:
    mic, stream = opened()
    for _ in range(300):  # an agent that takes 3 s to answer the phone
        stream.push(constant(100, 480), overflow=True)
    mic.frame()
    assert mic.overruns == 0
    for k in range(200):
        stream.push(constant(100, 480))
        stream.push(constant(100, 480))
        if k % 20 == 0:
            stream.push(constant(100, 480))
        mic.frame()
    assert mic.overruns >= 1
    assert len(mic._waiting) <= microphone.MOST_WAITING + 2 * FRAME_SAMPLES
    stream.push(constant(100, 480), overflow=True)
    before = mic.overruns
    stream.push(constant(100, 480), overflow=True)
    assert mic.overruns == before + 1


@pytest.mark.parametrize("rate", [48_000, 44_100])
@pytest.mark.parametrize("every_ms", [40, 64, 100, 128])
def test_a_device_that_sends_in_bursts_loses_nothing_once_it_runs(every_ms: int, rate: int) -> None:
    """As a wireless headset does: what comes after a hole in one go is not the past."""
    mic, stream = opened(rate)
    sent_ms, settled = 0, (0, 0)
    for at_ms in range(0, 10_000, 2):
        late_ms = 6 if at_ms // every_ms % 3 else 16
        if at_ms % every_ms == late_ms:
            while sent_ms + microphone.BLOCK_MS <= at_ms:
                stream.push(constant(1000, rate * microphone.BLOCK_MS // 1000))
                sent_ms += microphone.BLOCK_MS
        if at_ms % 20 == 0:
            mic.frame()
        if at_ms == 2000:
            settled = (mic.underruns, mic.overruns)
    assert (mic.underruns, mic.overruns) == settled
    assert mic.underruns <= 3
    assert len(mic._waiting) <= (every_ms + 40) * 24


def test_what_a_device_that_stood_still_sends_afterwards_waits_half_a_second_at_most() -> None:
    mic, stream = opened()
    waiting = []
    for k in range(200):
        for _ in range(0 if 100 <= k < 110 else 22 if k == 110 else 2):  # 200 ms late
            stream.push(constant(1000, 480))
        mic.frame()
        waiting.append(len(mic._waiting) // 24)
    assert mic.underruns > 0
    assert waiting[111] >= waiting[99] + 150
    assert max(waiting[135:]) <= waiting[99] + 2 * 10


def test_the_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(microphone, "monotonic", lambda: now[0])
    monkeypatch.setattr(microphone, "WATCHDOG_S", 2.0)
    mic, stream = opened()
    stream.push(constant(1, 480))
    now[0] += 1.9
    assert mic.problem is None
    stream.push(silence(480))
    now[0] += 0.2
    assert "sends only digital silence" in (mic.problem or "")
    stream.push(constant(1, 480))
    assert mic.problem is None
    now[0] += 2.1
    assert "is gone or sends nothing" in (mic.problem or "")


def test_an_unplugged_microphone_is_silence() -> None:
    mic, stream = opened()
    stream.unplug()
    assert mic.problem == (
        "the microphone USB Headset is gone or sends nothing; the session goes on with silence in its place"
    )
    assert not mic.frame().any()
    mic.close()
    assert mic.problem is not None


@pytest.mark.parametrize("place", [0, 1234, 9000])
def test_a_chirp_is_found_to_the_sample_in_noise(place: int) -> None:
    heard = silence(20_000)
    heard[place : place + len(chirp())] += chirp() // 8
    heard += np.random.default_rng(place).integers(-100, 100, len(heard)).astype(np.int16)
    found = find_chirp(heard)
    assert found is not None
    assert found.at == pytest.approx(place, abs=1)
    assert found.correlation > 0.9


def test_noise_is_no_chirp() -> None:
    assert find_chirp(np.random.default_rng(1).integers(-9000, 9000, 24_000).astype(np.int16)) is None
    assert find_chirp(silence(24_000)) is None
    assert find_chirp(silence(10)) is None


class Air(NullSink):
    """A loudspeaker whose sound reaches the microphone ``frames`` later at half the level."""

    def __init__(self, frames: int) -> None:
        super().__init__()
        self.waiting = deque([silence(FRAME_SAMPLES)] * frames)
        self.latency_ms = 20.0 * frames

    def play(self, caller: Pcm, agent: Pcm) -> None:
        self.waiting.append(agent // 2)


class Ear:
    description = "a fake"
    latency_ms = 7.0
    underruns = overruns = 0
    problem: str | None = None

    def __init__(self, air: Air | None) -> None:
        self.air = air
        self.noise = np.random.default_rng(3)

    def frame(self) -> Pcm:
        heard = self.air.waiting.popleft() if self.air is not None else silence(FRAME_SAMPLES)
        return heard + self.noise.integers(-3, 4, FRAME_SAMPLES).astype(np.int16)

    def close(self) -> None:
        """Nothing is held."""


def _examined(air: Air, ear: Ear, speak_s: float) -> Report:
    async def whole() -> Report:
        return await asyncio.wait_for(examine(ear, air, speak_s, lambda sentence: None), 60)

    return run_virtual(whole())


def test_the_way_of_a_chirp_is_timed() -> None:
    air = Air(3)
    report = _examined(air, Ear(air), 0)
    assert report.loopback is not None
    assert (report.loopback.heard, report.loopback.delay_ms, report.loopback.spread_ms) == (4, 60.0, 0.0)
    assert report.loopback.told_ms == 67.0
    assert report.voice_db is None
    assert report.noise_db < -80
    assert complaints_of(report, asked=False, headphones=False) == []
    assert "hears the loudspeaker" in complaints_of(report, asked=False, headphones=True)[0]


def test_what_is_wrong_is_said() -> None:
    ear = Ear(None)
    ear.problem = "the microphone is gone"
    report = _examined(Air(1), ear, 1)
    told = complaints_of(report, asked=True, headphones=False)
    assert told[0] == "the microphone is gone"
    assert any("too quiet" in sentence for sentence in told)
    assert any("did not hear the chirps" in sentence for sentence in told)
    assert complaints_of(report, asked=False, headphones=True) == ["the microphone is gone"]


class Wanderer(Ear):
    """Its device states another delay in frames ``wrong``, while the sound's own way stays the same."""

    def __init__(self, air: Air, *wrong: range) -> None:
        super().__init__(air)
        self.frames = 0
        self.wrong = wrong

    def frame(self) -> Pcm:
        self.frames += 1
        self.latency_ms = 7.0 + (15.0 if any(self.frames in stretch for stretch in self.wrong) else 0.0)
        return super().frame()


def test_chirps_are_played_again_when_what_the_devices_tell_moved_meanwhile() -> None:
    air = Air(3)
    report = _examined(air, Wanderer(air, range(100, 160)), 0)
    assert report.loopback is not None
    assert (report.loopback.delay_ms, report.loopback.told_ms, report.loopback.moved_ms) == (60.0, 67.0, 0.0)
    assert complaints_of(report, asked=False, headphones=False) == []
    air = Air(3)
    never = _examined(air, Wanderer(air, *(range(at, at + 20) for at in range(0, 2000, 40))), 0)
    assert never.loopback is not None
    assert (never.loopback.delay_ms, never.loopback.moved_ms) == (60.0, 15.0)
    told = complaints_of(never, asked=False, headphones=False)
    assert told == [
        "the delays that the devices tell moved by 15 ms within seconds: this machine may be too busy, "
        "and times at the microphone are wrong by as much"
    ]
