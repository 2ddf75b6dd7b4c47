"""What only a process of its own shows: light imports, signals, the terminal given back, no colour."""

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from apex_tui.tui.own_terminal import STAND_IN

APP = "import sys; from apex_tui.tui.app import run_app; sys.exit(run_app())"
ALTERNATE_ON, ALTERNATE_OFF = b"\x1b[?1049h", b"\x1b[?1049l"


def test_the_screen_loads_neither_the_engine_nor_numpy() -> None:
    code = "import sys, apex_tui.cli, apex_tui.cli.screen, apex_tui.tui.app; print(' '.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    for name in (
        "numpy",
        "sounddevice",
        "soundfile",
        "websockets",
        "httpx",
        "apex_tui.engine",
        "apex_tui.agents",
        "yaml",
        "apex_tui.workflow.model",
        "apex_tui.score.verdict",
        "apex_tui.tui.screen_live",
        "apex_tui.tui.screen_replay",
        "apex_tui.timeline.view",
        "apex_tui.timeline.events",
        "apex_tui.timeline.state",
        "pydantic",
        "typer",
    ):
        assert name not in loaded


async def run_in_terminal(tmp_path: Path, number: signal.Signals, *, odd: bytes = b"", **env: str) -> tuple[int, bytes]:
    """Run the picker in a terminal of its own until it is up, type ``odd`` and stop it for a moment, send it a signal; exit code and all that
    was drawn."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    before = termios.tcgetattr(theirs)
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TEXTUAL")}
    places = {"XDG_STATE_HOME": str(tmp_path / "state"), "APEX_TUI_SESSIONS": str(tmp_path / "sessions")}
    process = subprocess.Popen(
        [sys.executable, "-c", APP],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**base, **places, "TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
        start_new_session=True,
    )
    os.set_blocking(ours, False)
    drawn = bytearray()
    for _ in range(600):
        with contextlib.suppress(OSError):
            drawn += os.read(ours, 65536)
        if b"Leave request" in drawn or process.poll() is not None:
            break
        await asyncio.sleep(0.02)
    assert process.poll() is None
    if odd:
        os.write(ours, odd)
        process.send_signal(signal.SIGSTOP)  # of this one nothing can be told
        await asyncio.sleep(0.05)
        process.send_signal(signal.SIGCONT)
        for _ in range(300):
            with contextlib.suppress(OSError):
                drawn += os.read(ours, 65536)
            if drawn.count(ALTERNATE_ON) == 2 or process.poll() is not None:
                break
            await asyncio.sleep(0.02)
        assert process.poll() is None
    process.send_signal(number)
    for _ in range(300):
        with contextlib.suppress(OSError):
            drawn += os.read(ours, 65536)
        if process.poll() is not None:
            break
        await asyncio.sleep(0.02)
    assert process.poll() is not None, "it did not end"
    with contextlib.suppress(OSError):
        drawn += os.read(ours, 65536)
    assert termios.tcgetattr(theirs)[:4] == before[:4]
    os.close(ours)
    os.close(theirs)
    return process.returncode, bytes(drawn)


@pytest.mark.tmux
async def test_a_signal_gives_the_terminal_back_and_no_color_sends_none(tmp_path: Path) -> None:
    ended, hung_up, plain, stopped, ascii_only = await asyncio.gather(
        run_in_terminal(tmp_path / "a", signal.SIGTERM),
        run_in_terminal(tmp_path / "b", signal.SIGHUP),
        run_in_terminal(tmp_path / "c", signal.SIGTERM, NO_COLOR="1"),
        run_in_terminal(tmp_path / "d", signal.SIGTERM, odd=b"\x1b[M\xff\xe9\xe9"),
        run_in_terminal(tmp_path / "e", signal.SIGTERM, PYTHONIOENCODING="ascii"),
    )
    assert [code for code, _ in (ended, hung_up, plain, stopped, ascii_only)] == [143, 129, 143, 143, 143]
    assert stopped[1].count(ALTERNATE_ON) == stopped[1].count(ALTERNATE_OFF) == 2
    for _, drawn in (ended, hung_up):
        assert drawn.count(ALTERNATE_ON) == drawn.count(ALTERNATE_OFF) == 1
        assert b"38;2;" in drawn
    for colour in (b"38;2;", b"48;2;", b"38;5;", b"48;5;"):
        assert colour not in plain[1]
    assert ascii_only[1].isascii()
    assert b"\\u" not in ascii_only[1]


def test_what_the_encoding_of_a_terminal_lacks_keeps_its_cells() -> None:
    drawn = "╭─ caller ╼━╋━╾── ✓ ✗ ▲ 日本 e\u0301 é ▇ 12…"
    assert drawn.encode("ascii", STAND_IN) == b"+- caller ==X==-- v x ^ ???? e ? # 12."
    assert drawn.encode("latin-1", STAND_IN) == b"+- caller ==X==-- v x ^ ???? e \xe9 # 12."
