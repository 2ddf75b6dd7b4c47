"""Devices through PortAudio itself, on virtual loudspeakers and microphones. What is timed is timed by the signal, with room for a busy machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sound_stack
import soundfile
from sound_stack import Stack

from apex_tui.audio.chirp import chirp, find_chirp
from apex_tui.audio.device_test import tone
from apex_tui.audio.frames import silence
from apex_tui.engine.speech import load_speech
from apex_tui.store.recording import open_recording
from apex_tui.timeline.caller_facts import CallerTurnEnded, CallerTurnStarted, MicrophonePulse
from apex_tui.timeline.errors import EXIT_INVALID
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Run, command_line, read_output
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.workflow.library import find_workflow

pytestmark = pytest.mark.sound

TRIES = 4
"""A busy machine loses sound now and then; an instrument that is wrong is wrong each time."""

REVIEWED = """
import asyncio, dataclasses, sys
from pathlib import Path
from tui_fakes import make_app
from apex_tui.tui.app import Reviewing
from apex_tui.tui.link import EngineLink
from apex_tui.tui.own_command import Ran
from apex_tui.workflow.review import Clip, Review, write_review

async def draft(arguments):
    clip = Clip(turn=1, from_ms=3000, to_ms=3300, role="opening", words="Hello.")
    write_review(Path(arguments[3]), Review(session="s", id="s", title="s", base="skeleton", clips=(clip,), outcome={"a": 1}))
    return Ran(0, arguments[3], "")

async def main(folder, state):
    app = make_app(Reviewing(folder), state=state)
    app.sources = dataclasses.replace(app.sources, own_command=draft, link=lambda: EngineLink())
    app._clock = None
    async with app.run_test(size=(80, 24)) as pilot:
        while getattr(app.screen, "review", None) is None:
            await pilot.pause(0.05)
        await pilot.press("space")
        while app.screen.playing is not None:
            await pilot.pause(0.05)
        print(app.screen.sound.told)

asyncio.run(asyncio.wait_for(main(Path(sys.argv[1]), Path(sys.argv[2])), 40))
"""

UNPLUGGED = """
import json, sys, time
from apex_tui.audio.frames import silence
from apex_tui.audio.microphone import open_microphone
from apex_tui.audio.sinks import open_device_sink

def frames(until, most_s=20):
    end = time.monotonic() + most_s
    while time.monotonic() < end and not until():
        next_frame = time.monotonic() + 0.02
        heard.append(len(microphone.frame()))
        sink.play(silence(480), silence(480))
        time.sleep(max(0, next_frame - time.monotonic()))

heard = []
microphone, sink = open_microphone("apex_mic"), open_device_sink("apex_spk", alone=True)
frames(lambda: microphone.latency_ms > 0 and sink.latency_ms > 0)
print("running", flush=True)
sys.stdin.readline()
gone = lambda: "gone" in (microphone.problem or "") and sink.problem
frames(gone)
print(json.dumps([microphone.problem, sink.problem, set(heard) == {480}]))
microphone.close(); sink.close()
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    why_not = sound_stack.missing()
    if why_not is not None:
        pytest.skip(f"SKIPPED: {why_not}")
    running = sound_stack.start(tmp_path_factory.mktemp("sound"))
    yield running
    running.close()


def test_devices_are_listed_and_nothing_is_said_beside(stack: Stack) -> None:
    done = stack.run(["-m", "apex_tui", "devices", "list", "--json"])
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert {"apex_spk", "apex_mic", "apex_tap", "apex_mouth"} <= {device["name"] for device in told["devices"]}
    assert told["problem"] is None


def test_a_chirp_goes_from_the_loudspeaker_to_the_microphone_as_the_devices_tell(stack: Stack) -> None:
    ask = [
        "-m",
        "apex_tui",
        "devices",
        "test",
        "-m",
        "apex_tap",
        "-s",
        "apex_spk",
        "--speak",
        "0",
        "--remember",
        "--json",
    ]
    for _ in range(TRIES):
        done = stack.run(ask)
        assert done.returncode in (0, 1), done.stderr  # a busy machine may lose sound, and then says so
        told = json.loads(done.stdout)
        loop = told["loopback"]
        if loop is not None and loop["heard"] >= 2 and abs(loop["delay_ms"] - loop["told_ms"]) < 5:
            break
    assert loop["heard"] >= 2
    assert loop["correlation"] > 0.5
    assert 10 < loop["delay_ms"] < 400
    # What the devices tell is the sound's own way within 5 ms, or the test says that it is not to be trusted here.
    assert abs(loop["delay_ms"] - loop["told_ms"]) < 5 or told["complaints"], told
    assert told["microphone_rate_hz"] == told["speaker_rate_hz"] == 48_000
    assert "ALSA" not in done.stderr
    remembered = json.loads((Path(stack.environment["XDG_STATE_HOME"]) / "apex-tui" / "devices.json").read_text())
    assert remembered | {"microphone": "apex_tap", "speaker": "apex_spk", "headphones": False} == remembered


def test_without_a_daemon_there_is_no_device_and_one_sentence(stack: Stack, tmp_path: Path) -> None:
    nowhere = Stack(
        {**stack.environment, "XDG_RUNTIME_DIR": str(tmp_path), "PULSE_RUNTIME_PATH": str(tmp_path)}, stack.daemon
    )
    done = nowhere.run(["-m", "apex_tui", "devices", "test"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("apex-tui: no microphone: ")
    assert len(done.stderr.splitlines()) == 1


def _events(engine: subprocess.Popen[bytes]) -> Iterator[Event]:
    assert engine.stdout is not None
    while line := engine.stdout.readline():
        item = read_output(line)
        if isinstance(item, Event):
            yield item


@pytest.mark.alone  # beside other tests the person's words lose pieces, and are said again and again
def test_a_person_is_heard_through_devices_and_a_dead_screen_closes_the_microphone(
    stack: Stack, tmp_path: Path
) -> None:
    clip = load_speech(find_workflow("leave-request"), 1).caller["ans_dates#v2"]
    voice = tmp_path / "voice.wav"
    soundfile.write(voice, clip.pcm, 24_000, subtype="PCM_16")
    command = Run(
        workflow="leave-request",
        caller="microphone",
        microphone="apex_mic",
        speaker="apex_spk",
        sound="device",
        headphones=True,
        out=str(tmp_path),
        max_s=120,
    )
    engine = subprocess.Popen(
        [sys.executable, "-m", "apex_tui.engine"],
        env=stack.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert engine.stdin is not None
    engine.stdin.write(command_line(command).encode() + b"\n")
    engine.stdin.flush()
    events = _events(engine)
    next(event for event in events if isinstance(event.fact, MicrophonePulse) and event.fact.input_latency_ms > 0)
    spoken = pytest.approx((clip.offset - clip.onset) / 24, abs=200)
    for _ in range(TRIES):
        subprocess.run(["paplay", "--device=apex_vmic_bus", str(voice)], env=stack.environment, check=True, timeout=60)
        began = next(event.fact for event in events if isinstance(event.fact, CallerTurnStarted))
        ended = next(event.fact for event in events if isinstance(event.fact, CallerTurnEnded))
        if ended.offset_ms - began.onset_ms == spoken:
            break
    assert ended.offset_ms - began.onset_ms == spoken
    engine.stdin.close()
    assert engine.wait(timeout=60) == EXIT_INVALID
    assert engine.stdout is not None
    engine.stdout.close()
    recording = open_recording(next(path for path in tmp_path.iterdir() if path.is_dir()))
    last = recording.events[-1].fact
    assert isinstance(last, SessionEnded)
    assert (last.outcome, last.reason) == ("operator", "the screen is gone")
    assert recording.meta.clock_basis == "device"
    assert recording.meta.parameters["person"]["microphone"] == "microphone apex_mic"


@pytest.fixture
def own_stack(stack: Stack, tmp_path: Path) -> Iterator[Stack]:
    """One that may be pulled out."""
    running = sound_stack.start(tmp_path)
    yield running
    running.close()


def test_an_unplugged_device_is_noticed_and_frames_go_on(own_stack: Stack) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", UNPLUGGED],
        env=own_stack.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "running\n"
    own_stack.daemon.terminate()
    said, _ = child.communicate("\n", timeout=60)
    microphone, sink, steady = json.loads(said)
    assert "the microphone apex_mic is gone or sends nothing" in microphone
    assert sink == "the sound device apex_spk is gone; the session goes on without sound"
    assert steady
    assert child.returncode == 0


def test_an_utterance_under_review_is_heard_on_the_device_and_nothing_beside_it(stack: Stack, tmp_path: Path) -> None:
    """Costs two seconds: the screen, and an engine in replay mode, each in a process of its own."""
    lane = np.concatenate((tone(2.5), silence(12_000), chirp(), silence(28_000), tone(3.0)))
    audio = np.stack((lane, silence(len(lane))), axis=1)
    folder, state, heard = tmp_path / "call", tmp_path / "state", tmp_path / "heard.raw"
    folder.mkdir()
    state.mkdir()
    soundfile.write(folder / "audio.wav", audio, 24_000, subtype="PCM_16")
    listen = "parec --latency-msec=10 -d apex_vspk.monitor --rate=24000 --channels=1 --format=s16le --raw"
    here = str(Path(__file__).parents[1])
    paths = os.pathsep.join((here, f"{here}/tui", os.environ.get("PYTHONPATH", "")))
    eyes = Stack({**stack.environment, "PYTHONPATH": paths}, stack.daemon)
    with heard.open("wb") as file, subprocess.Popen(listen.split(), env=stack.environment, stdout=file) as ear:
        try:
            done = eyes.run(["-c", REVIEWED, str(folder), str(state)])
            time.sleep(0.5)
        finally:
            ear.terminate()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sound on ")
    sound = np.frombuffer(heard.read_bytes()[: heard.stat().st_size // 2 * 2], dtype=np.int16)
    found = find_chirp(sound)
    assert found is not None
    assert found.correlation > 0.9
    rest = sound.astype(np.int32)
    rest[int(found.at) - 240 : int(found.at) + len(chirp()) + 240] = 0
    assert abs(rest).max() < 100  # neither what lies before the utterance nor what comes after it
