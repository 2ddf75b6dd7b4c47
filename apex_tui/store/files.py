"""JSON files of a session: written whole or not at all, read with a limit.

In here: the functions that touch the disk. Deliberately not in here: what the files hold (``meta``, ``layout``).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from apex_tui.timeline.base import SCHEMA_VERSION
from apex_tui.timeline.errors import RecordingError

MAX_JSON = 32 * 1024 * 1024
"""Largest JSON file that is read, in bytes: a workflow snapshot with all its documents stays far below."""


def new_file(path: Path) -> BinaryIO:
    """A file that is made here and now, in place of whatever has that name: a link that lies in somebody's recording is not written through.

    Raises:
        OSError: the disk refuses.
    """
    path.unlink(missing_ok=True)
    return path.open("xb")


def write_json(path: Path, content: dict[str, Any], durable: bool = True) -> None:
    """Put ``content`` at ``path``, with ``schema_version``; a reader sees the old file or the new one, never a part.

    ``durable`` forces it to the disk before it returns, which can take longer than a frame: never while a session runs.

    Raises:
        RecordingError: the disk refuses.
    """
    text = json.dumps({"schema_version": SCHEMA_VERSION, **content}, ensure_ascii=False, indent=2)
    draft = path.with_name(path.name + ".new")
    try:
        with new_file(draft) as file:
            # A lone surrogate cannot be encoded; inside a JSON string its escape means the same.
            file.write(text.encode("utf-8", "backslashreplace") + b"\n")
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error


class Unreadable(Exception):
    """A file that is missing or damaged; the message completes the sentence 'session.json ...'."""


@contextmanager
def open_regular(path: Path) -> Iterator[tuple[FileIO, int]]:
    """A regular file, unbuffered, and its size in bytes. A pipe in its place is refused; it would keep its reader waiting for ever.

    Raises:
        Unreadable: it is missing, no regular file, or the disk refuses, also while it is read.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb", buffering=0) as file:
            state = os.fstat(number)
            if not stat.S_ISREG(state.st_mode):
                raise Unreadable("is no regular file")
            yield file, state.st_size
    except FileNotFoundError as error:
        raise Unreadable("is missing") from error
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror or error})") from error


def read_bounded(path: Path) -> bytes:
    """A regular file of at most ``MAX_JSON`` bytes.

    Raises:
        Unreadable: as `open_regular` says, or it is too large.
    """
    with open_regular(path) as (file, size):
        raw = b"" if size > MAX_JSON else file.readall()
    if max(len(raw), size) > MAX_JSON:
        raise Unreadable(f"is larger than {MAX_JSON} bytes")
    return raw


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object at ``path``.

    Raises:
        Unreadable: it is missing, too large or no JSON object.
        RecordingError: a newer version wrote it.
    """
    raw = read_bounded(path)
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Unreadable("is cut or damaged") from error
    if not isinstance(content, dict):
        raise Unreadable("holds no JSON object")
    version = content.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RecordingError(
            f"{path} was written in format {version} and this apex-tui reads up to {SCHEMA_VERSION}: update apex-tui to open it"
        )
    return content
