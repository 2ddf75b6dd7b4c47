"""Lines that are wider than the terminal: parted between words, and gone on with below their last column."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable

import pytest

from apex_tui.cli.terminal import folded, for_terminal

END = "that is all"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("short", "short"),
        ("x" * 60, "x" * 60),
        ("the callers are synthetic voices; no person listened", "the callers are synthetic voices; no\nperson listened"),
        ("  name        what it is and for whom it is", "  name        what it is and for whom it\n              is"),
        ("a  b  c  it is told in the last of them all", "a  b  c  it is told in the last of them\n         all"),
        ("wrote /a/path/that/is/quite/long/and/stays/whole/x.html", "wrote\n/a/path/that/is/quite/long/and/stays/whole/x.html"),
        ("    /a/path/that/is/quite/long/and/stays/whole", "    /a/path/that/is/quite/long/and/stays/whole"),
        ('    "help": "a line of JSON may be indented, too",', '    "help": "a line of JSON may be indented, too",'),
        ('{"text": "data is copied, and so it stays whole"}', '{"text": "data is copied, and so it stays whole"}'),
        ("| a row of Markdown | is data as well, it is |", "| a row of Markdown | is data as well, it is |"),
    ],
)  # fmt: skip
def test_a_line_is_parted_between_words_under_its_last_column(line: str, shown: str) -> None:
    assert folded(line, 40) == shown


def on_a_terminal(columns: int, say: Callable[..., None]) -> str:
    """What a terminal of so many columns is sent."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        say(for_terminal(stream))
        stream.write(END)
        stream.flush()
        sent = b""
        while not sent.endswith(END.encode()):  # it comes in pieces
            sent += os.read(ours, 10_000)
    os.close(ours)
    return sent.decode().removesuffix(END).replace("\r\n", "\n")


def test_a_terminal_is_sent_lines_that_fit_it() -> None:
    def say(stream: object) -> None:
        print("note: the callers are synthetic voices, all of them", file=stream)  # type: ignore[call-overload]
        print("apex-tui> ", end="", file=stream)  # type: ignore[call-overload]
        print("what follows a prompt on its line is left as it is", file=stream)  # type: ignore[call-overload]

    assert on_a_terminal(40, say).split("\n") == [
        "note: the callers are synthetic voices,",
        "all of them",
        "apex-tui> what follows a prompt on its line is left as it is",
        "",
    ]
