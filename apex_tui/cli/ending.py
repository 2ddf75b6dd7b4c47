"""How a command ends: the one place that maps errors to exit codes and sentences.

0 succeeded, 1 the workflow or a check failed, 2 the user's mistake, 3 the session is invalid; 130 interrupted, 141 nobody reads the output.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import sys
from collections.abc import Callable
from typing import TextIO

from apex_tui.cli.terminal import for_terminal
from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.timeline.errors import EXIT_USER, ApexError

INTERRUPTED = 130
"""Exit code after Ctrl-C."""
UNREAD = 141
"""Exit code when the reader of the output left, as in ``apex-tui ... | head``: what a shell says of a tool that SIGPIPE ended."""


def say(sentence: object) -> None:
    """One sentence on stderr; what it quotes from outside (an address, a close reason) may hold terminal escapes."""
    try:
        print(f"apex-tui: {clean(sentence, MAX_SENTENCE)}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:  # stderr leads to a full disk: the exit code says it alone
        return


def exit_code(command: Callable[[], int]) -> int:
    """Run a command; a user's mistake becomes one sentence on stderr and its code, never a traceback. What it printed is on its way then."""
    _open_streams()
    for stream in _streams():
        if isinstance(stream, io.TextIOWrapper):  # a character that the locale lacks is spelt out: it stops no command
            stream.reconfigure(errors="backslashreplace")
    with contextlib.redirect_stdout(for_terminal(sys.stdout)), contextlib.redirect_stderr(for_terminal(sys.stderr)):
        return _ended(command)


def _ended(command: Callable[[], int]) -> int:
    try:
        return _told(lambda: _printed(command))
    except BrokenPipeError:
        return _unread()
    except SystemExit as left:
        if not isinstance(left.__context__, BrokenPipeError):  # rich gives up in this way
            raise
        return _unread()


def _printed(command: Callable[[], int]) -> int:
    code = command()
    for stream in _streams():
        stream.flush()
    return code


def _told(command: Callable[[], int]) -> int:
    try:
        return command()
    except ApexError as error:
        say(error)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if isinstance(error, BrokenPipeError) and any(map(_is_unread, _streams())):
            raise
        what = error.filename or "the system"
        if isinstance(error, FileExistsError | NotADirectoryError):
            say(f"{what}: a file lies where a folder is needed; choose another place (--out).")
        else:
            say(f"{what}: {error.strerror or error}; {_way_out(error)}.")
        return EXIT_USER


def _way_out(error: OSError) -> str:
    """What to do about it, as far as the system's own word for it tells."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return "give yourself the right to it, or name another place"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "free some room or choose another place (--out)"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "close other programs, or allow more open files (ulimit -n)"
    return "choose another place (--out)" if error.errno == errno.EROFS else "try again, or name another place"


def _open_streams() -> None:
    """A stream that was closed before the start (``>&-``) leads nowhere: no command need know."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - as long as the process


def _streams() -> list[TextIO]:
    """Where a command prints."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None]


def _is_unread(stream: TextIO) -> bool:
    """Whether the other end of a pipe is closed."""
    try:
        asked = select.poll()
        asked.register(stream.fileno(), select.POLLOUT)
        return any(events & select.POLLERR for _, events in asked.poll(0))
    except (OSError, ValueError):
        return False


def _unread() -> int:
    """Nothing more can be said: what is still in a stream goes nowhere, so that the interpreter ends without complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in filter(_is_unread, _streams()):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return UNREAD
