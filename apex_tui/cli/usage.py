"""What is told of a command line that was not understood, or that names a group of commands and none of them."""

from __future__ import annotations

import sys

import typer

from apex_tui.cli.ending import say

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a wrong option or a missing argument. Newer versions carry the class themselves, older ones take it from click."""


def tell(error: Exception) -> None:
    """One sentence on stderr; the help of a group whose command is missing, as it is."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(str(getattr(error, "message", error)).rstrip(), file=sys.stderr)
        return
    told = error.format_message() if isinstance(error, typer.BadParameter) else getattr(error, "message", str(error))
    say(f"{str(told).rstrip('.')}; see '{_asked(error)} --help'.")


def _asked(error: Exception) -> str:
    """The command that was asked for, as far as it was understood."""
    context = getattr(error, "ctx", None)
    if context is None:
        return "apex-tui"
    return f"apex-tui{context.command_path.removeprefix(context.find_root().command_path)}"
