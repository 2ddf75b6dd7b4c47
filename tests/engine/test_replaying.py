"""The engine in replay mode: it plays where it is told, tells levels, and goes on without a device."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from apex_tui.audio.frames import FRAME_SAMPLES, Pcm
from apex_tui.audio.recording import LaneWriter
from apex_tui.engine.replaying import Transport, open_transport, play_out
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.messages import AnyNotice, Listen, Meters, Opened, Pause, Play, command_line, read_command
from apex_tui.timeline.virtual import run_virtual

OPENED = Opened(session="s", folder="/s", sound="sound on Box")


class Box:
    """A sink that keeps what it was given, and may be pulled out."""

    description, clock_basis, latency_ms = "sound on Box", "device", 0.0

    def __init__(self, good_for: int = 10_000) -> None:
        self.heard: list[int] = []
        self.good_for = good_for

    @property
    def problem(self) -> str | None:
        return (
            None
            if len(self.heard) < self.good_for
            else "the sound device Box is gone; the session goes on without sound"
        )

    def play(self, caller: Pcm, agent: Pcm) -> None:
        assert len(caller) == len(agent) == FRAME_SAMPLES
        self.heard.append(int(caller[0]))

    def close(self) -> None:
        """Nothing is held."""


def lanes(frames: int) -> tuple[Pcm, Pcm]:
    """Frame k holds k in the caller's lane; the agent's is loud in the second half."""
    caller = np.repeat(np.arange(frames, dtype=np.int16), FRAME_SAMPLES)
    agent = np.zeros(len(caller), dtype=np.int16)
    agent[len(agent) // 2 :] = 16_000
    return caller, agent


def played(frames: int, box: Box, *script: tuple[float, Play | Pause]) -> list[AnyNotice]:
    """Play a recording of so many frames; at each moment (s) a command comes, and at the end everything is closed."""
    told: list[AnyNotice] = []

    async def session() -> None:
        transport = Transport(*lanes(frames))
        task = asyncio.ensure_future(play_out(transport, box, told.append, OPENED))  # type: ignore[arg-type]
        before = 0.0
        for moment, command in script:
            await asyncio.sleep(moment - before)
            before = moment
            transport.obey(command)
        await asyncio.sleep(2.0)
        transport.close()
        await task

    run_virtual(session())
    return told


def test_it_plays_from_the_place_that_was_named_and_pauses() -> None:
    box = Box()
    told = played(500, box, (0.0, Play(at_ms=2000)), (0.19, Play(at_ms=1000)), (0.41, Pause()))
    assert box.heard[:10] == list(range(100, 110))
    assert box.heard[10:21] == list(range(50, 61))
    assert len(box.heard) == 21, "silent after the pause"
    meters = [item for item in told if isinstance(item, Meters)]
    assert len(meters) == 7
    assert [round(m.media_ms) for m in meters[:2]] == [2000, 2060]
    assert max(m.late_ms for m in meters) < 0.01


def test_other_speeds_tell_levels_and_make_no_sound() -> None:
    box = Box()
    told = played(200, box, (0.0, Play(at_ms=0, speed=4.0)))
    assert box.heard == []
    meters = [item for item in told if isinstance(item, Meters)]
    assert meters[-1].media_ms > 3500, "all of it in a second"
    assert meters[0].agent_db < -60 < meters[-1].agent_db
    slow = [m for m in played(200, Box(), (0.0, Play(at_ms=0, speed=0.25))) if isinstance(m, Meters)]
    assert slow[-1].media_ms == pytest.approx(495, abs=15)


def test_at_the_end_it_waits_and_can_be_played_again() -> None:
    box = Box()
    played(10, box, (0.0, Play(at_ms=0)), (1.0, Play(at_ms=100)))
    assert box.heard == [*range(10), *range(5, 10)]


def test_a_device_that_goes_away_is_told_once() -> None:
    told = played(500, Box(good_for=5), (0.0, Play(at_ms=0)))
    news = [item.sound for item in told if isinstance(item, Opened)]
    assert news == ["the sound device Box is gone; the replay goes on without sound"]


def test_a_recording_without_audio_or_with_none_that_can_be_read(tmp_path: Path) -> None:
    transport, why = open_transport(tmp_path)
    assert why == "no sound: this recording holds no audio"
    transport.obey(Play(at_ms=0))
    assert transport.frame() is None
    (tmp_path / "audio.wav").write_bytes(b"nonsense, and more of it than a header has" * 3)
    with pytest.raises(RecordingError, match="neither a WAV"):
        open_transport(tmp_path)


def test_commands_survive_the_pipe() -> None:
    for command in (Listen(folder="/s"), Play(at_ms=12.5, speed=0.25), Pause()):
        assert read_command(command_line(command)) == command


def test_the_process_says_what_it_found_plays_and_ends_with_the_screen(tmp_path: Path) -> None:
    writer = LaneWriter(tmp_path / "audio.wav")
    writer.append(*lanes(100))
    writer.close()
    process = subprocess.Popen(
        [sys.executable, "-m", "apex_tui.engine"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for command in (Listen(folder=str(tmp_path), sound="none"), Play(at_ms=500)):
        process.stdin.write(command_line(command).encode() + b"\n")
    process.stdin.flush()
    opened, meters = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
    assert opened["sound"] == "no sound: switched off"
    assert meters["media_ms"] == 500
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()
