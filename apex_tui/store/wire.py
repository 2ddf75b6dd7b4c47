"""wire.jsonl: every raw message between us and the agent, without keys and without audio.

In here: ``WireLog``, one JSON line ``{at_ms, dir, raw}`` a message. Deliberately not in here: what is removed from a message (``masking``) and
any meaning of it. The file is evidence, not state: nothing is ever recomputed from it, so a disk that refuses ends it and not the session.
"""

from __future__ import annotations

import json
from io import FileIO
from pathlib import Path
from typing import Any

from apex_tui.store.masking import Masker, masked_append

MAX_MESSAGE = 64 * 1024
"""Bytes of a message, after masking, above which it is shortened."""

MAX_FILE = 64 * 1024 * 1024
"""Bytes at which the file ends, with a line that says so."""

FLUSH_AFTER_S = 0.08
"""Age at which waiting lines are written, as for the log."""

_KEPT = 24 * 1024  # bytes kept of a shortened message: as an escaped string they still fit MAX_MESSAGE
_FLUSH_BYTES = 256 * 1024


class WireLog:
    """A tap for raw messages. ``problem`` is one sentence when the file could not be written, else None."""

    def __init__(self, path: Path, secrets: tuple[str, ...] = (), start_s: float = 0.0) -> None:
        """Start a new file at ``path``; times are counted from ``start_s`` (loop seconds)."""
        self.path = path
        self.problem: str | None = None
        self._masker = Masker(secrets)
        self._start_s = start_s
        self._size = 0
        self._done = False  # full or closed
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._waiting_since = 0.0
        self._file: FileIO | None = None
        try:
            self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - closed in close()
        except OSError as error:
            self._give_up(error)

    def __call__(self, at: float, direction: str, message: str | bytes) -> None:
        """Note one message: ``at`` in loop seconds, ``direction`` in or out. Never raises for what a message holds."""
        if self._done or self.problem is not None:
            return
        line = self._line(at, direction, message)
        if self._size + len(line) > MAX_FILE:
            self._done = True
            line = _dump(
                {"at_ms": self._ms(at), "dir": "note", "raw": f"the file ends here: it reached {MAX_FILE} bytes"}
            )
        self._size += len(line)
        if not self._waiting:
            self._waiting_since = at
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._done or self._waiting_bytes >= _FLUSH_BYTES or at - self._waiting_since >= FLUSH_AFTER_S:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._file is None or not self._waiting or self.problem is not None:
            return
        waiting = memoryview(b"".join(self._waiting))
        self._waiting.clear()
        self._waiting_bytes = 0
        try:
            while waiting:  # an unbuffered file may take less than it is given
                waiting = waiting[self._file.write(waiting) :]
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Write the rest and close the file; closing twice is allowed."""
        self.flush()
        self._done = True
        if self._file is not None:
            self._file.close()

    def _line(self, at: float, direction: str, message: str | bytes) -> bytes:
        plain = masked_append(message)
        if plain is not None:
            return f'{{"at_ms":{self._ms(at)},"dir":"{direction}","raw":{plain}}}\n'.encode()
        record: dict[str, Any] = {"at_ms": self._ms(at), "dir": direction, "raw": self._masker.message(message)}
        raw = _encode(record["raw"])
        if len(raw) > MAX_MESSAGE:
            record["raw"] = raw[:_KEPT].decode("utf-8", "ignore")
            record["shortened_from_bytes"] = max(len(raw), len(message))
        return _dump(record)

    def _ms(self, at: float) -> float:
        return round((at - self._start_s) * 1000.0, 3)

    def _give_up(self, error: OSError) -> None:
        self.problem = f"{self.path} cannot be written: {error.strerror or error}"
        self._waiting.clear()


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _encode(value: Any) -> bytes:
    # A lone surrogate cannot be encoded; inside a JSON string its escape means the same.
    return _JSON.encode(value).encode("utf-8", "backslashreplace")


def _dump(record: dict[str, Any]) -> bytes:
    return _encode(record) + b"\n"
