"""Whole calls through PortAudio on the virtual stack: an acoustic echo, both at once, devices that stand still, and everything pulled out.

They need the machine to themselves, so plain ``pytest`` leaves them out: ``pytest -n 0 -m alone``, as ``.ci/run`` does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sound_stack
import soundfile
from sound_stack import Stack

from apex_tui.audio.chirp import match
from apex_tui.audio.recording import read_lanes
from apex_tui.engine.speech import load_speech
from apex_tui.store.recording import open_recording
from apex_tui.timeline.agent_facts import AgentSpeechStarted, BargeInOpened, ReplyClosed
from apex_tui.timeline.caller_facts import CallerSoundBegan, CallerTurnEnded, CallerTurnStarted, MicrophonePulse
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyCommand, HangUp, Run, command_line, read_output
from apex_tui.timeline.session_facts import SessionEnded, SessionPulse, SessionWarning
from apex_tui.workflow.library import find_workflow

pytestmark = [pytest.mark.sound, pytest.mark.alone]

MOST_S = 100.0
"""A call takes half a minute; one that stands still is ended, which is a failure."""
TRIES, CALLS = 4, 3
"""A busy machine loses sound now and then; an instrument that is wrong is wrong each time."""

ONLY_44100 = """
import sys
import sounddevice

def only_44100(stream):
    def check(*given, **options):
        rate = options.get("samplerate")
        if rate is not None and rate != 44_100:
            raise sounddevice.PortAudioError("Invalid sample rate", -9997)
        return stream(*given, **options)
    return check

for name in ("check_input_settings", "check_output_settings", "InputStream", "OutputStream"):
    setattr(sounddevice, name, only_44100(getattr(sounddevice, name)))
"""
"""Real streams at 44.1 kHz; the virtual devices take any rate, so the refusals are the test's."""
OLD_DEVICE = """
from apex_tui.cli.main import main
sys.argv = ["apex-tui", "devices", "test", "-m", "apex_tap", "-s", "apex_spk", "--speak", "0", "--json"]
sys.exit(main())
"""
OLD_ENGINE = """
import runpy
runpy.run_module("apex_tui.engine", run_name="__main__")
"""


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    """One of its own: it is suspended and pulled out."""
    why_not = sound_stack.missing()
    if why_not is not None:
        pytest.skip(f"SKIPPED: {why_not}")
    running = sound_stack.start(tmp_path)
    yield running
    running.close()


def test_a_device_that_takes_only_44100_hz_is_run_at_it(stack: Stack) -> None:
    for _ in range(TRIES):
        done = stack.run(["-c", ONLY_44100 + OLD_DEVICE])
        assert done.returncode in (0, 1), done.stderr
        told = json.loads(done.stdout)
        loop = told["loopback"]
        if loop is not None and loop["heard"] >= 2 and abs(loop["delay_ms"] - loop["told_ms"]) < 60:
            break
    assert told["microphone_rate_hz"] == told["speaker_rate_hz"] == 44_100
    assert loop["heard"] >= 2
    assert abs(loop["delay_ms"] - loop["told_ms"]) < 60


class Call:
    """An engine with a person at the virtual microphone, and what it says."""

    def __init__(self, stack: Stack, out: Path, program: tuple[str, ...] = ("-m", "apex_tui.engine")) -> None:
        self._stack, self._out = stack, out
        self.events: list[Event] = []
        self.engine = subprocess.Popen(
            [sys.executable, *program],
            env=stack.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._watchdog = threading.Timer(MOST_S, self.engine.kill)
        self._watchdog.start()
        self.clips = load_speech(find_workflow("leave-request"), 1).caller

    def close(self) -> None:
        """Leave no process behind."""
        self._watchdog.cancel()
        self.engine.kill()
        self.engine.wait(10)

    def tell(self, command: AnyCommand) -> None:
        assert self.engine.stdin is not None
        self.engine.stdin.write(command_line(command).encode() + b"\n")
        self.engine.stdin.flush()

    def say(self, plan: str) -> subprocess.Popen[bytes]:
        """Speak an utterance of the bank into the microphone; it goes on while the test does."""
        clip = next(clip for name, clip in self.clips.items() if name.startswith(plan))
        voice = self._out / f"{plan}.wav"
        soundfile.write(voice, clip.pcm, 24_000, subtype="PCM_16")
        return subprocess.Popen(["paplay", "--device=apex_vmic_bus", str(voice)], env=self._stack.environment)

    def until(self, kind: type, fits: Callable[[Event], bool] = lambda event: True) -> Event:
        """Read on to the next such event."""
        assert self.engine.stdout is not None
        while line := self.engine.stdout.readline():
            item = read_output(line)
            if isinstance(item, Event):
                self.events.append(item)
                if isinstance(item.fact, kind) and fits(item):
                    return item
        raise AssertionError(f"the engine ended without {kind.__name__}")


def lost_sound(events: list[Event]) -> bool:
    """Whether this machine was too busy to carry the sound of these events whole: no canceller removes an echo with holes. Not to be asked of a
    call whose devices were suspended or pulled out: that loses sound on any machine.
    """
    heard = [e.fact.underruns + e.fact.overruns for e in events if isinstance(e.fact, MicrophonePulse)]
    played = [e.fact.underruns for e in events if isinstance(e.fact, SessionPulse)]
    late = any(e.fact.over_20ms for e in events if isinstance(e.fact, SessionPulse))
    return late or any(counts and counts[-1] > counts[0] for counts in (heard, played))


def test_an_echo_is_no_turn_and_a_person_over_it_is(stack: Stack, tmp_path: Path) -> None:
    pytest.importorskip("livekit", reason="SKIPPED: the echo canceller is not installed (pip install 'apex-tui[mic]')")
    stack.pactl(
        "load-module", "module-loopback", "source=apex_vspk.monitor", "sink=apex_vmic_bus", "latency_msec=20",
        "adjust_time=0", "channels=1", "rate=48000",
    )  # fmt: skip
    path = stack.pactl("list", "short", "sink-inputs").splitlines()[-1].split()[0]
    stack.pactl("set-sink-input-volume", path, "-20dB")
    for number in range(CALLS):
        call = Call(stack, tmp_path)
        try:
            _echo_and_double_talk(call, tmp_path / f"sessions-{number}")
            return
        except AssertionError as error:
            if not lost_sound(call.events):
                raise
            fault = error  # the session says that it lost sound; a call shows something only when it carried all of it
        finally:
            call.close()
    raise AssertionError(
        f"this machine lost sound in each of {CALLS} calls, so nothing is shown; the last one: {fault}"
    )


def _echo_and_double_talk(call: Call, out: Path) -> None:
    out.mkdir()
    call.tell(
        Run(
            workflow="leave-request", caller="microphone", microphone="apex_mic", speaker="apex_spk", sound="device",
            headphones=False, echo="cancel", out=str(out), max_s=60,
        )
    )  # fmt: skip
    call.until(MicrophonePulse, lambda event: event.fact.input_latency_ms > 0)  # type: ignore[union-attr]
    call.say("ans_employee_id").wait(30)
    call.until(CallerTurnEnded)
    before = len(call.events)
    call.until(AgentSpeechStarted)
    call.until(ReplyClosed, lambda event: isinstance(event.fact, ReplyClosed) and event.fact.played_ms > 3000)
    alone = [event.fact for event in call.events[before:] if isinstance(event.fact, CallerTurnStarted)]
    assert alone == []  # five seconds of the agent, and nobody speaks
    taken_away = [event.fact.erle_db for event in call.events if isinstance(event.fact, MicrophonePulse)][-1]
    assert taken_away is not None
    assert taken_away > 15
    call.say("ans_employee_id").wait(30)
    call.until(CallerTurnEnded)
    call.until(AgentSpeechStarted)
    time.sleep(0.6)  # into the reply: two voices that begin at once are no barge-in
    voice = call.say("ans_dates")
    sound = call.until(CallerSoundBegan)
    turn = call.until(CallerTurnStarted)
    assert isinstance(turn.fact, CallerTurnStarted)
    assert turn.fact.onset_ms == sound.fact.onset_ms  # type: ignore[union-attr]
    assert sound.media_ms - turn.fact.onset_ms <= 150
    assert turn.media_ms - turn.fact.onset_ms <= 250
    assert not turn.fact.echo_suspect
    opened = call.until(BargeInOpened).fact  # both at once: the person is heard over the agent's echo
    assert isinstance(opened, BargeInOpened)
    assert opened.turn == turn.fact.turn
    voice.wait(30)
    call.tell(HangUp())
    call.until(SessionEnded)
    call.engine.communicate(timeout=60)
    recording = open_recording(next(path for path in out.iterdir()))
    assert recording.meta.parameters["person"]["echo"] == "cancel"


def test_devices_that_stand_still_and_are_pulled_out_end_no_call(stack: Stack, tmp_path: Path) -> None:
    noise = np.random.default_rng(2).integers(-6, 7, int(24_000 * MOST_S)).astype(np.int16)
    soundfile.write(tmp_path / "hiss.wav", noise, 24_000, subtype="PCM_16")
    stack.hiss(tmp_path / "hiss.wav")
    call = Call(stack, tmp_path)
    try:
        _failures(call, stack, tmp_path / "sessions")
    finally:
        call.close()


def _failures(call: Call, stack: Stack, out: Path) -> None:
    out.mkdir()
    call.tell(
        Run(
            workflow="leave-request", caller="microphone", microphone="apex_mic", speaker="apex_spk", sound="device",
            headphones=True, out=str(out), max_s=90,
        )
    )  # fmt: skip
    call.until(MicrophonePulse, lambda event: event.fact.input_latency_ms > 0)  # type: ignore[union-attr]
    _suspended_and_back(call, stack)
    stack.daemon.terminate()
    call.until(SessionWarning, lambda event: "the session goes on" in event.fact.message)  # type: ignore[union-attr]
    call.until(MicrophonePulse)
    call.tell(HangUp())
    ended = call.until(SessionEnded).fact
    assert isinstance(ended, SessionEnded)
    assert (ended.outcome, ended.reason) == ("completed", "the person hung up")
    call.engine.communicate(timeout=120)
    recording = open_recording(next(path for path in out.iterdir()))
    assert recording.score is not None
    delays = [e.fact.output_latency_ms for e in recording.events if isinstance(e.fact, MicrophonePulse)]
    assert min(delays) >= 0  # a device that stands still tells no delay
    told = [e.fact.message for e in recording.events if isinstance(e.fact, SessionWarning)]
    for sentence in (
        "the microphone apex_mic is gone or sends nothing; the session goes on with silence in its place",
        "the microphone apex_mic is back",
        "the sound device apex_spk is gone or suspended; the session goes on without sound until it plays again",
        "sound on apex_spk is back",
    ):
        assert sentence in told
    shown = stack.run(["-m", "apex_tui", "replay", str(recording.folder.path), "--plain"])
    assert "the microphone apex_mic is back" in shown.stdout


def _suspended_and_back(call: Call, stack: Stack) -> None:
    """Both devices stand still for more than two seconds and come back; the person is heard as before."""

    def told(words: str) -> None:
        call.until(SessionWarning, lambda event: isinstance(event.fact, SessionWarning) and words in event.fact.message)

    for sink, gone, back in (
        ("apex_vmic_bus", "sends nothing", "apex_mic is back"),
        ("apex_vspk", "gone or suspended", "apex_spk is back"),
    ):
        stack.pactl("suspend-sink", sink, "1")
        told(gone)
        stack.pactl("suspend-sink", sink, "0")
        told(back)
    voice = call.say("ans_employee_id")
    call.until(CallerTurnStarted)
    voice.wait(30)
    call.until(CallerTurnEnded)


def test_a_whole_call_on_devices_that_take_only_44100_hz(stack: Stack, tmp_path: Path) -> None:
    out = tmp_path / "sessions"
    out.mkdir()
    call = Call(stack, tmp_path, ("-c", ONLY_44100 + OLD_ENGINE))
    try:
        call.tell(
            Run(
                workflow="leave-request", caller="microphone", microphone="apex_mic", speaker="apex_spk", sound="device",
                headphones=True, out=str(out), max_s=60,
            )
        )  # fmt: skip
        call.until(MicrophonePulse, lambda event: event.fact.input_latency_ms > 0)  # type: ignore[union-attr]
        clip = next(clip for name, clip in call.clips.items() if name.startswith("ans_dates"))
        for _ in range(TRIES):
            call.say("ans_dates").wait(30)
            began = call.until(CallerTurnStarted).fact
            ended = call.until(CallerTurnEnded).fact
            assert isinstance(began, CallerTurnStarted)
            assert isinstance(ended, CallerTurnEnded)
            lasted = ended.offset_ms - began.onset_ms
            if lasted == pytest.approx((clip.offset - clip.onset) / 24, abs=100):
                break
        assert lasted == pytest.approx((clip.offset - clip.onset) / 24, abs=100)
        call.until(AgentSpeechStarted)
        call.tell(HangUp())
        call.until(SessionEnded)
        call.engine.communicate(timeout=60)
    finally:
        call.close()
    recording = open_recording(next(path for path in out.iterdir()))
    assert recording.meta.parameters["person"]["rate_hz"] == 44_100
    # The words are in the recording as they were spoken: neither faster nor higher, and nothing of them is lost.
    caller, _ = read_lanes(recording.folder.path / "audio.wav")
    found = match(clip.pcm[clip.onset : clip.onset + 12_000], caller, 0.5)
    assert found is not None
    assert found.correlation > 0.9
