"""Where the screens keep what is theirs: the folder of logs and pictures, and the engine's log."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_state_path

from apex_tui.timeline.errors import UserError


def state_folder() -> Path:
    """Where logs and screenshots go; made when it is missing."""
    folder = user_state_path("apex-tui", appauthor=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be made ({error.strerror or error}): name another place in XDG_STATE_HOME"
        ) from error
    return folder


def engine_log_path() -> Path:
    """The engine's stderr."""
    folder = state_folder() / "log"
    folder.mkdir(exist_ok=True)
    return folder / "engine.log"
