"""Nothing is lost: killed engines, cut logs, and screens that die."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from session_kit import session

from apex_tui.audio.recording import read_lanes
from apex_tui.score.judge import score_log
from apex_tui.store.recording import open_recording
from apex_tui.timeline.errors import EXIT_INVALID
from apex_tui.timeline.messages import Opened, Run, Stop, command_line, read_output
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.view import SessionView

pytestmark = pytest.mark.realtime


def _start(out: Path, max_s: float) -> subprocess.Popen[bytes]:
    engine = subprocess.Popen(
        [sys.executable, "-m", "apex_tui.engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert engine.stdin is not None
    command = Run(workflow="leave-request", sound="none", out=str(out), max_s=max_s)
    engine.stdin.write(command_line(command).encode() + b"\n")
    engine.stdin.flush()
    return engine


def _folder(engine: subprocess.Popen[bytes]) -> Path:
    assert engine.stdout is not None
    while line := engine.stdout.readline():
        message = read_output(line)
        if isinstance(message, Opened):
            return Path(message.folder)
    raise AssertionError("the engine said nothing")


def _wait_for_events(folder: Path, number: int) -> None:
    deadline = time.monotonic() + 20
    log = folder / "events.jsonl"
    while time.monotonic() < deadline:
        if log.exists() and log.read_bytes().count(b"\n") >= number:
            return
        time.sleep(0.02)
    raise AssertionError(f"fewer than {number} events after 20 s")


@pytest.mark.parametrize("events", [5, 8, 11, 14, 17])
def test_a_killed_engine_leaves_a_session_that_opens_replays_and_is_scored(tmp_path: Path, events: int) -> None:
    engine = _start(tmp_path, 60)
    folder = _folder(engine)
    _wait_for_events(folder, events)
    engine.send_signal(signal.SIGKILL)
    engine.communicate()
    recording = open_recording(folder)
    assert recording.problem is not None
    assert len(recording.events) >= events
    view = SessionView.fold(recording.events)
    assert view.state.started is not None
    score = score_log(recording.events, recording.workflow)
    assert (score.validity, score.success) == ("cut_off", False)
    caller, agent = read_lanes(folder / "audio.wav")
    assert len(caller) == len(agent) > 0


def test_a_dead_screen_does_not_end_a_bank_session(tmp_path: Path) -> None:
    engine = _start(tmp_path, 4)
    folder = _folder(engine)
    assert engine.stdin is not None
    assert engine.stdout is not None
    engine.stdin.close()
    engine.stdout.close()
    assert engine.wait(timeout=30) == EXIT_INVALID  # it ran on to the limit that was asked for
    recording = open_recording(folder)
    assert recording.problem is None
    ended = recording.events[-1].fact
    assert isinstance(ended, SessionEnded)
    assert (ended.outcome, ended.reason) == ("operator", "the limit of 4 s that was asked for is reached")
    assert (folder / "score.json").exists()


def test_the_operator_can_end_a_run_which_is_kept_and_judges_nobody(tmp_path: Path) -> None:
    engine = _start(tmp_path, 60)
    folder = _folder(engine)
    _wait_for_events(folder, 5)
    assert engine.stdin is not None
    engine.stdin.write(command_line(Stop()).encode() + b"\n")
    engine.stdin.flush()
    engine.communicate(timeout=30)
    assert engine.returncode == EXIT_INVALID
    recording = open_recording(folder)
    ended = recording.events[-1].fact
    assert isinstance(ended, SessionEnded)
    assert ended.outcome == "operator"
    assert "ended by the operator" in recording.meta.labels


def test_a_log_cut_at_any_byte_opens_folds_and_is_scored(tmp_path: Path) -> None:
    ran = session("leave-request", 1)
    whole = (ran.result.folder / "events.jsonl").read_bytes()
    first = whole.index(b"\n") + 1
    cut = tmp_path / "cut"
    cut.mkdir()
    for name in ("session.json", "workflow.json"):
        shutil.copy(ran.result.folder / name, cut / name)
    rng = random.Random(7)
    for _ in range(500):
        size = rng.randrange(first, len(whole))
        (cut / "events.jsonl").write_bytes(whole[:size])
        recording = open_recording(cut)
        lines = whole[:size].count(b"\n")
        assert lines <= len(recording.events) <= lines + 1  # a last line may be whole but for its line break
        assert recording.problem is not None
        state = SessionView.fold(recording.events).state
        assert state.seq == len(recording.events) - 1
        assert score_log(recording.events, recording.workflow).validity == "cut_off"
