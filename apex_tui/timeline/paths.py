"""Where a path leads, links followed."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def real_path(path: Path) -> Path:
    """The absolute path, links followed as far as they lead.

    Not ``Path.resolve``: up to Python 3.12 that raises ``RuntimeError`` at links that lead in a circle. Whoever opens such a path is told by the
    system, as with any other path that cannot be opened.
    """
    return Path(os.path.realpath(path))


def user_path(text: str | Path) -> Path:
    """The path with ``~`` as the home folder; a ``~name`` that nobody has stays as it is, and leads nowhere like any other wrong path.

    Not ``Path.expanduser``, which raises ``RuntimeError`` there.
    """
    return Path(os.path.expanduser(text))


def refuse_pipe(path: Path) -> None:
    """Raise ``OSError`` for a pipe, a socket or a device in place of a file: it would keep its reader waiting for ever, or never end."""
    if (
        path.exists() and not path.is_file() and not path.is_dir()
    ):  # a folder is refused by the system, in its own words
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
