"""The door: with arguments the commands, without any the picker at once, for which the commands are never loaded."""

from __future__ import annotations

import gc
import sys

from apex_tui.cli.ending import INTERRUPTED, exit_code


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code; a user's mistake is one sentence on stderr, never a traceback."""
    if sys.argv[1:] if arguments is None else arguments:
        try:
            from apex_tui.cli.commands import main as commands
        except KeyboardInterrupt:
            return INTERRUPTED

        return commands(arguments)
    gc.disable()  # until the first paint: see `run_app`
    from apex_tui.cli.screen import open_picker

    try:
        return exit_code(lambda: open_picker({}))
    finally:
        gc.enable()
