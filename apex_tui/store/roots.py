"""Where sessions lie as a whole: the root of all sessions, and the examples. Light to import: the picker names the root in its first frame."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from apex_tui.timeline.paths import user_path

ROOT_VARIABLE = "APEX_TUI_SESSIONS"
"""Environment variable that names the root of all sessions."""

_PACKAGE = Path(__file__).resolve().parents[1]


def checkout() -> Path | None:
    """The checkout that this package runs from, or None when it is installed."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "speech_bank").is_dir() else None


def sessions_root() -> Path:
    """Where sessions go: ``APEX_TUI_SESSIONS``, else ``sessions/`` of the checkout, else the user's data folder. It need not exist yet."""
    named = os.environ.get(ROOT_VARIABLE)
    if named:
        return user_path(named)
    home = checkout()
    return home / "sessions" if home else Path(platformdirs.user_data_dir("apex-tui", appauthor=False)) / "sessions"


def reviews_folder() -> Path:
    """Where reviews of recorded calls are kept while they go on: in the state folder."""
    return Path(platformdirs.user_state_dir("apex-tui", appauthor=False)) / "reviews"


def examples_root() -> Path:
    """Where the example sessions lie: in the checkout, else in the installed package."""
    home = checkout()
    return home / "sessions" / "examples" if home else _PACKAGE / "_data" / "examples"
