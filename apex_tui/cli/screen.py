"""Opening the app: only in a terminal, and only here is the screen imported."""

from __future__ import annotations

import os
import sys

from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run


def _terminal() -> None:
    """The screen draws on stderr and reads stdin: without a terminal it would draw into a file.

    Raises:
        UserError: there is no terminal.
    """
    if os.environ.get("TERM", "dumb") == "dumb" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError("the app needs a terminal; without one use 'apex-tui run WORKFLOW --headless'")


def open_picker(*, mouse: bool = True) -> int:
    """Open the app at the picker; returns the exit code."""
    _terminal()
    from apex_tui.tui.app import run_app

    return run_app(mouse=mouse)


def open_run(command: Run) -> int:
    """Open the app and start this run at once; returns the exit code."""
    from apex_tui.workflow.library import find_workflow

    find_workflow(command.workflow)  # a wrong name is said before the screen opens
    _terminal()
    from apex_tui.tui.app import run_app

    return run_app(command)


def open_replay(session: str | None) -> int:
    """Open a recording; returns the exit code."""
    from apex_tui.store.recording import find_recording, open_recording

    path = find_recording(session)
    open_recording(path)  # a folder that cannot be opened is said before the screen opens
    _terminal()
    from apex_tui.tui.app import Replay, run_app

    return run_app(Replay(path))
