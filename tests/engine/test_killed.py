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
from session_kit import Session, session
from shared_sessions import shared_session

from apex_tui.audio.recording import read_lanes
from apex_tui.score.judge import score_log
from apex_tui.store.recording import open_recording
from apex_tui.timeline.errors import EXIT_INVALID
from apex_tui.timeline.log import read_log
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
    deadline = time.monotonic() + 60
    log = folder / "events.jsonl"
    while time.monotonic() < deadline:
        if log.exists() and log.read_bytes().count(b"\n") >= number:
            return
        time.sleep(0.02)
    raise AssertionError(f"fewer than {number} events after 60 s")


def test_killed_engines_leave_sessions_that_open_replay_and_are_scored(tmp_path: Path) -> None:
    """Five of them at once, for they run in real time, and each is killed at another moment."""
    killed_at = (5, 8, 11, 14, 17)
    engines = [_start(tmp_path / str(events), 60) for events in killed_at]
    try:
        folders = [_folder(engine) for engine in engines]
        for engine, folder, events in zip(engines, folders, killed_at, strict=True):
            _wait_for_events(folder, events)
            engine.send_signal(signal.SIGKILL)
    finally:
        for engine in engines:
            engine.kill()
            engine.communicate()
    assert [engine.returncode for engine in engines] == [-signal.SIGKILL] * 5
    for folder, events in zip(folders, killed_at, strict=True):
        recording = open_recording(folder)
        assert recording.problem is not None, events
        assert len(recording.events) >= events
        view = SessionView.fold(recording.events)
        assert view.state.started is not None, events
        score = score_log(recording.events, recording.workflow)
        assert (score.validity, score.success) == ("cut_off", False), events
        caller, agent = read_lanes(folder / "audio.wav")
        assert len(caller) == len(agent) > 0, events


def test_a_dead_screen_does_not_end_a_bank_session(tmp_path: Path) -> None:
    engine = _start(tmp_path, 2)
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
    assert (ended.outcome, ended.reason) == ("operator", "the limit of 2 s that was asked for is reached")
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
    ran = shared_session("leave-request", max_s=36)
    whole = (ran.result.folder / "events.jsonl").read_bytes()
    cut = _copy_without_log(ran, tmp_path / "cut")
    rng = random.Random(7)
    done: set[int] = set()
    for _ in range(500):
        size = rng.randrange(whole.index(b"\n") + 1, len(whole))
        (cut / "events.jsonl").write_bytes(whole[:size])
        read = read_log(cut / "events.jsonl")
        lines, number = whole[:size].count(b"\n"), len(read.events)
        assert lines <= number <= lines + 1  # a last line may be whole but for its line break
        assert read.events == ran.events[:number]
        if number not in done:  # the rest hangs on nothing but these events
            _assert_cut_off(cut, number)
            done.add(number)


def test_a_whole_call_cut_after_any_event_opens_folds_and_is_scored(tmp_path: Path) -> None:
    ran = session("leave-request", 1)
    lines = (ran.result.folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    cut = _copy_without_log(ran, tmp_path / "cut")
    for number in random.Random(7).sample(range(1, len(lines)), 40):
        (cut / "events.jsonl").write_bytes(b"".join(lines[:number]))
        _assert_cut_off(cut, number)


def _copy_without_log(ran: Session, to: Path) -> Path:
    to.mkdir()
    for name in ("session.json", "workflow.json"):
        shutil.copy(ran.result.folder / name, to / name)
    return to


def _assert_cut_off(folder: Path, events: int) -> None:
    recording = open_recording(folder)
    assert recording.problem is not None
    assert len(recording.events) == events
    assert SessionView.fold(recording.events).state.seq == events - 1
    assert score_log(recording.events, recording.workflow).validity == "cut_off"
