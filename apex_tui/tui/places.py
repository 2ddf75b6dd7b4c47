"""Where the screens keep what is theirs: the folder of logs and pictures, and the engine's log."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_state_path

from apex_tui.timeline.errors import UserError


def state_folder() -> Path:
    """Where copies, screenshots and reviews go; made when it is missing. Raises ``UserError``: it cannot be made."""
    folder = _state()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder} cannot be made ({error.strerror or error}): name another place in XDG_STATE_HOME"
        ) from error
    return folder


def engine_log_path() -> Path:
    """The engine's stderr. Its folder may not be there yet."""
    return _state() / "log" / "engine.log"


def _state() -> Path:
    return user_state_path("apex-tui", appauthor=False)
