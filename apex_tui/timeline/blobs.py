"""Payloads too large for a line of the log: they lie in ``blobs/<sha256>`` beside it, and the line says which.

In here: what a reference looks like, writing a payload, and reading it back with its digest checked. Deliberately not in here: which
payloads of a fact are moved (``log``). A blob holds canonical JSON (sorted keys, no spaces), so equal payloads are one file.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.paths import refuse_pipe

MAX_BLOB = 16 * 1024 * 1024
"""Largest blob that is read back, in bytes: far above the 64 KB that a tool may return, far below what hurts."""

_KEYS = {"$blob", "bytes"}
_SHA = re.compile(r"[0-9a-f]{64}")


def is_ref(value: Any) -> bool:
    """Whether ``value`` has the shape ``{"$blob": sha256, "bytes": n}``."""
    return isinstance(value, dict) and value.keys() == _KEYS


def put_blob(folder: Path, value: Any) -> dict[str, Any]:
    """Write ``value`` (JSON) to ``folder`` and return its reference.

    Raises:
        RecordingError: the disk refuses.
    """
    payload = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # A lone surrogate cannot be encoded; inside a JSON string its escape means the same.
    content = payload.encode("utf-8", "backslashreplace")
    sha256 = hashlib.sha256(content).hexdigest()
    path = folder / sha256
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        draft = folder / f"{sha256}.new"
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error
    return {"$blob": sha256, "bytes": len(content)}


def get_blob(folder: Path, ref: dict[str, Any]) -> Any:
    """The payload that ``ref`` names.

    Raises:
        RecordingError: it is missing, too large, or not what its digest says.
    """
    sha256 = ref["$blob"]
    if not isinstance(sha256, str) or not _SHA.fullmatch(sha256):
        raise RecordingError("a reference to a blob holds no SHA-256")
    try:
        refuse_pipe(folder / sha256)
        with (folder / sha256).open("rb") as file:
            content = file.read(MAX_BLOB + 1)
    except OSError as error:
        raise RecordingError(f"blobs/{sha256} cannot be read: {error.strerror or error}") from error
    if len(content) > MAX_BLOB:
        raise RecordingError(f"blobs/{sha256} is larger than {MAX_BLOB} bytes")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise RecordingError(f"blobs/{sha256} is not what its digest says")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"blobs/{sha256} is not JSON") from error
