"""The app in a real terminal, as a person uses it: from the picker to a run, its scorecard, its replay and out; and an engine that is killed."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE_S = 90.0
pytestmark = [
    pytest.mark.tmux,
    pytest.mark.realtime,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


class Terminal:
    """A shell in a tmux server of its own, 120x36."""

    def __init__(self, place: Path) -> None:
        self._socket = str(place / "tmux")
        self.sessions = place / "sessions"
        env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR", "COLUMNS", "LINES")}
        env |= {
            "APEX_TUI_SESSIONS": str(self.sessions),
            "XDG_STATE_HOME": str(place / "state"),
            "XDG_CONFIG_HOME": str(place / "config"),
            "PS1": "> ",
        }
        size = ["-x", "120", "-y", "36"]
        self._call("-f", "/dev/null", "new-session", "-d", *size, "sh", env=env)

    def _call(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env, timeout=30).stdout

    def type(self, *keys: str) -> None:
        """Press keys, as tmux names them."""
        self._call("send-keys", *keys)

    def run(self, *arguments: str) -> None:
        """Start the app; when it ends, the shell says its exit code."""
        command = shlex.join([sys.executable, "-m", "apex_tui", *arguments])
        self.type("-l", f"clear; {command}; echo exit=$?")
        self.type("Enter")

    @property
    def screen(self) -> str:
        """What stands in the terminal."""
        return self._call("capture-pane", "-p")

    def wait(self, *words: str) -> str:
        """The screen once it holds all of ``words``."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            shown = self.screen
            if all(word in shown for word in words):
                return shown
            time.sleep(0.1)
        raise AssertionError(f"never {words}:\n{self.screen}")

    def ended(self, code: int) -> None:
        """The app has ended with this exit code, and the terminal is the shell's again."""
        self.wait(f"exit={code}")
        assert self._call("display-message", "-p", "#{alternate_on}#{mouse_any_flag}").strip() == "00"
        self.type("-l", "clear; stty -a")
        self.type("Enter")
        settings = self.wait("icanon").split()
        assert "echo" in settings
        assert "icanon" in settings

    def engine(self) -> int:
        """Process id of the engine: a child of the app, which is a child of the shell."""
        shell = int(self._call("display-message", "-p", "#{pane_pid}"))
        (app,) = children(shell)
        (engine,) = children(app)
        return engine

    def close(self) -> None:
        """End everything in it."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True, timeout=30)


def children(pid: int) -> list[int]:
    """Child processes."""
    return [int(n) for path in Path(f"/proc/{pid}/task").glob("*/children") for n in path.read_text().split()]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


def test_from_the_picker_to_the_replay_and_out_and_an_engine_that_is_killed(terminal: Terminal) -> None:
    terminal.run()
    terminal.wait("pick a workflow", "Leave request", "what will happen", "Nothing is sent until")
    terminal.type("/")
    terminal.wait("filter:")
    terminal.type("leave", "Enter")
    terminal.wait("1 of ", "One run of Leave request")
    terminal.type("Enter")
    terminal.wait("● REC", "engine ok", "rehearsal (scripted)", "gates so far")
    terminal.wait("caller", "act OPENING_REQUEST")
    terminal.type("x")
    terminal.wait("End this run now?")
    terminal.type("x")
    terminal.wait("SCORECARD", "ended by the operator")
    terminal.type("Enter")
    terminal.wait("REPLAY", "paused", "00:00.000 /")
    terminal.type("End")
    terminal.wait("act OPENING_REQUEST")
    terminal.type("q")
    terminal.wait("SCORECARD", "q back")
    terminal.type("q")
    terminal.wait("pick a workflow", "? not scored", "2 sessions")
    terminal.type("q")
    terminal.ended(0)
    (folder,) = [p for p in terminal.sessions.iterdir() if p.is_dir()]
    assert (folder / "score.json").is_file()

    terminal.run("run", "leave-request")
    terminal.wait("● REC", "engine ok", "act OPENING_REQUEST")
    os.kill(terminal.engine(), signal.SIGKILL)
    terminal.wait("was killed by SIGKILL", "recording stopped", "engine gone")
    terminal.type("q")
    terminal.ended(3)
    killed = next(p for p in terminal.sessions.iterdir() if p != folder)
    terminal.run("replay", str(killed))
    terminal.wait("REPLAY", "The log has no end")
    terminal.type("C-q")
    terminal.ended(0)
