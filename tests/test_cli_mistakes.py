"""A user's mistake is one sentence on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import errno
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from rich.console import Console

from apex_tui.agents import Turn, serve
from apex_tui.cli.ending import INTERRUPTED, UNREAD, exit_code
from apex_tui.cli.main import main
from apex_tui.store.recording import find_recording
from apex_tui.timeline.errors import EXIT_USER, UserError

EXAMPLE = str(find_recording(None))
MISTAKES = {
    "unknown option": (["--nope"], "--nope"),
    "unknown command": (["nope"], "'nope'; see 'apex-tui --help'"),
    "missing argument": (["workflows", "show"], "'workflow'; see 'apex-tui workflows show --help'"),
    "no number": (["run", "leave-request", "--seed", "abc"], "seed"),
    "unknown workflow": (["run", "leave-reqest", "--virtual"], "did you mean leave-request"),
    "unlike any workflow": (["workflows", "show", "zzzz"], "There is no workflow 'zzzz'; there are heating-advice"),
    "no such recipe": (["workflows", "show", "zzzz.yaml"], "zzzz.yaml: there is no such file"),
    "no such field": (
        ["why", EXAMPLE, "leave_form.end_dat"],
        "no gold field of this session; did you mean leave_form.end_date",
    ),
    "unlike any field": (["why", EXAMPLE, "zzzz"], "no gold field of this session; it has leave_form.employee_id"),
    "no name": (["workflows", "check", ""], "No workflow is named"),
    "very long name": (["workflows", "show", "a" * 5000], "too long"),
    "unknown agent": (["run", "leave-request", "--agent", "opnai", "--headless"], "opnai"),
    "unknown manner": (["run", "leave-request", "--agent", "rehearsal:polite", "--virtual"], "polite"),
    "unknown tool": (["run", "leave-request", "--virtual", "--tool-latency", "nosuch=3s"], "nosuch"),
    "no duration": (["run", "leave-request", "--virtual", "--tool-latency", "get_employee=soon"], "NAME=DURATION"),
    "unknown channel": (["run", "leave-request", "--virtual", "--channel", "moon"], "moon"),
    "network in virtual time": (
        ["run", "leave-request", "--agent", "realtime", "--url", "ws://127.0.0.1:1/x", "--virtual"],
        "virtual",
    ),
    "nobody listens": (
        ["run", "leave-request", "--agent", "realtime", "--url", "ws://127.0.0.1:1/x", "--headless"],
        "127.0.0.1",
    ),
    "a direction after the longest call": (["run", "leave-request", "--virtual", "--direct", "99999 hold"], "86400"),
    "a pipe for a plan": (["campaign", "pipe.yaml"], "pipe.yaml: is no regular file"),
    "a call kept over another file": (["workflows", "play-text", "payment", "--keep", "kept.txt"], "is there already"),
    "a call kept nowhere": (["workflows", "play-text", "payment", "--keep", "no/kept.txt"], "cannot be written"),
    "a recipe nowhere": (["workflows", "new", "mine", "--in", "nowhere"], "name another folder with --in"),
    "links in a circle for a place": (["run", "leave-request", "--virtual", "--out", "circle"], "circle"),
    "links in a circle for a file": (["run", "leave-request", "--virtual", "--profile-file", "circle"], "circle"),
    "no session yet": (["results"], "no session is recorded yet"),
    "links in a circle among sessions": (["results", "circle"], "circle is not a folder"),
    "the home of nobody": (["workflows", "show", "~nobody-of-that-name/x.yaml"], "~nobody-of-that-name"),
    "a pipe for agents": (
        ["run", "leave-request", "--virtual", "--profile-file", "pipe.yaml"],
        "it is no regular file",
    ),
    "a file that is no session": (["score", "kept.txt"], "kept.txt is no session"),
    "no id": (["scenario", "no-such-session", "--accept", "--id", "../evil"], "--id '../evil'"),
    "no session": (["score", "no-such-session"], "no-such-session"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_one_sentence_and_exit_2(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APEX_TUI_SESSIONS", str(tmp_path / "sessions"))
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "kept.txt").write_text("precious")
    (tmp_path / "circle").symlink_to("circle")
    arguments, names = MISTAKES[case]
    assert main(arguments) == EXIT_USER
    said = capsys.readouterr()
    lines = said.err.strip().splitlines()
    assert len(lines) == 1, said.err
    assert lines[0].startswith("apex-tui: ")
    assert names in lines[0]
    assert not said.out
    assert not list((tmp_path / "sessions").glob("*")), "nothing is left of a session that never began"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_sequence_of_a_title(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert exit_code(lambda: print("a \x1b[2Jtitle\r\x9b1m\u202e, é →\n\tb") or 0) == 0
    assert terminal.getvalue() == "a  [2Jtitle  1m , é →\n\tb\n"
    assert sys.stdout is terminal


def test_a_group_without_a_command_shows_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workflows"]) == EXIT_USER
    said = capsys.readouterr()
    assert not said.out
    lines = said.err.splitlines()
    assert lines[0].startswith("Usage: ")
    assert [line.split()[0] for line in lines if line.startswith("  ")][-1] == "text"


def test_ctrl_c_at_the_keyboard_of_a_played_call_waits_for_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[str] = []

    def typing(prompt: str) -> str:
        signal.raise_signal(signal.SIGINT)
        typed.append(prompt)
        return ""

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("builtins.input", typing)
    before = signal.getsignal(signal.SIGINT)
    assert main(["workflows", "play-text", "leave-request"]) == INTERRUPTED
    assert not typed
    assert signal.getsignal(signal.SIGINT) is before


def test_help_on_a_terminal_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["--help"]) == 0
    assert "workflows" in terminal.getvalue()


def test_help_has_a_short_name_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["run"], ["workflows", "check"]):
        told = [(main([*command, name]), capsys.readouterr().out) for name in ("--help", "-h")]
        assert told[0] == told[1]
        assert told[0][0] == 0


def test_a_locale_without_our_characters_stops_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", printed)
    assert main(["score"]) == 0
    assert b"\\u2713 TS target state" in printed.buffer.getvalue()


@pytest.mark.parametrize(
    ("number", "way_out"), [(errno.EACCES, "give yourself the right to it"), (errno.ENOSPC, "free some room")]
)
def test_what_the_system_refuses_names_the_way_out(
    number: int, way_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> int:
        raise OSError(number, os.strerror(number), "a/session.json")

    assert exit_code(refused) == EXIT_USER
    said = capsys.readouterr().err
    assert said.startswith(f"apex-tui: a/session.json: {os.strerror(number)}; {way_out}")


@pytest.mark.parametrize("port", [None, 99999])
def test_an_agent_of_ones_own_on_a_port_that_cannot_be_had_ends_in_one_sentence(
    port: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    async def agent(_turn: Turn) -> AsyncGenerator[str, None]:
        yield "Hello."

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        serve(agent, port=port or taken.getsockname()[1])
    assert ended.value.code == EXIT_USER
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("choose another port.")


def test_terminal_escapes_in_an_error_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise UserError("the agent closed: bye \x1b[2J\x07 now")

    monkeypatch.setattr(sys.modules["apex_tui.cli.commands"], "app", fail)
    assert main([]) == EXIT_USER
    assert "\x1b" not in capsys.readouterr().err


def test_a_folder_of_the_same_name_does_not_hide_a_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leave-request").mkdir()
    monkeypatch.chdir(tmp_path)
    from apex_tui.cli.running import command_for

    command = command_for("leave-request", "rehearsal", None, None, 1, "strict", True, None, "none", None, [])
    assert command.workflow == "leave-request"


def test_help_loads_neither_the_screen_nor_numpy() -> None:
    probe = (
        "import sys; from apex_tui.cli.main import main; main(['--help']); "
        "print([m for m in ('textual', 'numpy', 'websockets', 'soundfile') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, env={**os.environ, "TERM": "dumb"}
    )
    assert done.stderr.strip() == "[]"
    assert "workflows" in done.stdout


def test_a_full_disk_or_pipe_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("SKIPPED: no /dev/full on this system")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "apex_tui", "workflows", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == EXIT_USER
    assert "Traceback" not in done.stderr


def test_streams_that_were_closed_before_the_start_lead_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main(["results", str(Path(__file__).parents[1] / "sessions" / "examples"), "--csv"]) == 0


@pytest.mark.parametrize(
    "printed", [lambda: print("x" * 100_000), lambda: Console().print("few"), lambda: print("few")]
)
def test_a_reader_that_leaves_ends_a_command_quietly(
    printed: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)

        def command() -> int:
            printed()
            return 0

        assert exit_code(command) == UNREAD == 128 + signal.SIGPIPE
    assert capfd.readouterr().err == ""


def test_another_broken_pipe_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    def broken() -> int:
        raise BrokenPipeError(32, "Broken pipe")

    assert exit_code(broken) == EXIT_USER
    assert "Broken pipe" in capfd.readouterr().err


def test_the_interpreter_ends_quietly_as_well() -> None:
    command = f"{sys.executable} -m apex_tui workflows list | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["141"], "")
