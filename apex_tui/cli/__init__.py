"""Floor 9: the commands. Each imports what it needs when it runs, so that ``--help`` loads neither the screen nor the audio."""

from apex_tui.cli.main import main

__all__ = ["main"]
