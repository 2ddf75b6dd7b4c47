"""The log: the one file that a session appends its events to, and the reader that opens whatever is left of it.

In here: ``TimelineWriter``, which numbers and stamps facts and has them on disk within 100 ms; and ``read_log``, which reads up to the last
whole valid line and says in one sentence why it stopped. Deliberately not in here: what the events mean (``view``), and where a session's
files lie (floor 3, ``store``).
"""

from __future__ import annotations

import gc
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apex_tui.timeline.base import SCHEMA_VERSION, Actor
from apex_tui.timeline.blobs import get_blob, is_ref, put_blob
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import AnyFact, Event, from_own_line, from_record, to_line

MAX_LINE = 256 * 1024
"""Longest line that is written, in bytes without the line break; the largest payloads of a longer one become blobs."""

MAX_MEDIA_MS = 24 * 3600 * 1000.0
"""A day; no session is longer."""
MAX_READ_LINE = 1024 * 1024
"""Longest line that is read, in bytes: four times what is written, so a longer one is damage or an attack."""

MAX_EVENTS = 2_000_000
"""Events that are read at most: a day at twenty a second."""

FLUSH_AFTER_S = 0.08
"""Age at which waiting lines are written. The conductor looks every 20 ms, so none waits longer than the promised 100 ms."""

_FLUSH_BYTES = 256 * 1024  # waiting lines are written at once when they reach this much


class TimelineWriter:
    """Appends events to a new log.

    ``clock`` gives the loop's time in seconds, ``media`` the position on the media clock in ms; ``listener`` gets every event as soon as it
    is noted. ``next_seq`` is the number that the next event will have; the first is 0.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        media: Callable[[], float],
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        """Start a new log at ``path``. Raises ``RecordingError`` when there is one already, or the disk refuses."""
        self.path = path
        self.next_seq = 0
        self._clock = clock
        self._media = media
        self._listener = listener
        self._last_ms = 0.0
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._waiting_since = 0.0
        try:
            # Append-only, and never over an older session.
            self._file = open(path, "xb", buffering=0)  # noqa: SIM115 - closed in close()
            self._linked = os.fstat(self._file.fileno()).st_nlink > 0  # some file systems count no names
        except FileExistsError as error:
            raise RecordingError(f"{path} exists already: a session is never written over") from error
        except OSError as error:
            raise _refused(path, error) from error

    def emit(
        self, fact: AnyFact, causes: Iterable[int] = (), actor: Actor | None = None, media_ms: float | None = None
    ) -> int:
        """Note one fact and return its sequence number.

        ``causes`` are numbers of earlier events; ``actor`` defaults to whoever usually does it. ``media_ms`` defaults to now and never goes
        back behind the event before it: the position is when a fact was *noted*; when it happened stands in the fact.

        Raises:
            ValueError: a cause is not an earlier event, the position is not a number, or the log is closed.
            RecordingError: the disk refuses.
        """
        if self._file.closed:
            raise ValueError("the log is closed")
        seq = self.next_seq
        because = tuple(dict.fromkeys(causes))
        if any(not 0 <= cause < seq for cause in because):
            raise ValueError(f"causes of event {seq} ({fact.type}) must be earlier events, not {list(because)}")
        at_ms = round(self._media() if media_ms is None else media_ms, 3)
        if not math.isfinite(at_ms):
            raise ValueError(f"event {seq} ({fact.type}) needs a media time, not {at_ms}")
        now = self._clock()
        event = Event(
            seq=seq,
            media_ms=max(at_ms, self._last_ms),
            wall_ns=int(now * 1e9),
            fact=fact,
            actor=type(fact).actor if actor is None else actor,
            causes=because,
        )
        line = self._line(event)
        self.next_seq, self._last_ms = seq + 1, event.media_ms
        if not self._waiting:
            self._waiting_since = now
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= _FLUSH_BYTES or now - self._waiting_since >= FLUSH_AFTER_S:
            self.flush()
        if self._listener is not None:
            self._listener(event)
        return seq

    def flush_if_due(self) -> None:
        """Write what has waited for 80 ms or more; called at every tick. Raises ``RecordingError`` when the disk refuses."""
        if self._waiting and self._clock() - self._waiting_since >= FLUSH_AFTER_S:
            self.flush()

    @property
    def waiting(self) -> int:
        """Lines that are not on the disk yet."""
        return len(self._waiting)

    def flush(self) -> None:
        """Write everything that waits. Raises ``RecordingError`` when the disk refuses, or when the log was deleted: an open file takes all the
        same, and a whole call would be recorded into nothing.
        """
        if not self._waiting:
            return
        waiting = memoryview(b"".join(self._waiting))
        self._waiting.clear()
        self._waiting_bytes = 0
        try:
            while waiting:  # an unbuffered file may take less than it is given
                waiting = waiting[self._file.write(waiting) :]
        except OSError as error:
            raise _refused(self.path, error) from error
        if self._linked and os.fstat(self._file.fileno()).st_nlink == 0:
            raise RecordingError(
                f"{self.path} was deleted while it was written: nothing of the session is kept any more"
            )

    def close(self) -> None:
        """Write the rest and force it to disk; closing twice is allowed. Raises ``RecordingError`` when the disk refuses."""
        if self._file.closed:
            return
        try:
            self.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _refused(self.path, error) from error
        finally:
            self._file.close()

    def _line(self, event: Event) -> bytes:
        line = _encode(to_line(event))
        # What an agent sent may look like a reference; it becomes a blob itself, so that a reader never takes it for one.
        if len(line) > MAX_LINE or b'"$blob"' in line:
            line = _with_blobs(line, self.path.parent / "blobs")
        return line + b"\n"


def _encode(text: str) -> bytes:
    # A lone surrogate cannot be encoded; inside a JSON string its escape means the same.
    return text.encode("utf-8", "backslashreplace")


def _dump(value: Any) -> bytes:
    return _encode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _with_blobs(line: bytes, folder: Path) -> bytes:
    """Move payloads of ``data`` to blobs: those that could be mistaken for a reference, then the largest until the line fits."""
    record = json.loads(line)
    data = record["data"]
    for key, value in data.items():
        if is_ref(value):
            data[key] = put_blob(folder, value)
    sizes = {key: len(_dump(value)) for key, value in data.items() if isinstance(value, dict | list | str)}
    line = _dump(record)
    for key in sorted(sizes, key=lambda name: -sizes[name]):
        if len(line) <= MAX_LINE:
            break
        if not is_ref(data[key]):
            data[key] = put_blob(folder, data[key])
            line = _dump(record)
    return line


def _refused(path: Path, error: OSError) -> RecordingError:
    return RecordingError(f"{path} cannot be written: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class LogRead:
    """What a log holds. ``problem``: one sentence on why reading stopped before the end of the file, or None."""

    events: list[Event]
    problem: str | None = None


class LogReader:
    """Reads a log piece by piece, so that the beginning of a long one can be shown while the rest is read.

    ``events`` holds what was read so far and only grows; ``done`` says whether there is more; ``problem`` is final once ``done``: one sentence
    on why reading stopped before the end of the file, or None.
    """

    def __init__(self, path: Path) -> None:
        """Open the log. Raises ``RecordingError`` when there is none that can be read at ``path``."""
        self.path = path
        self.events: list[Event] = []
        self.problem: str | None = None
        self.done = False
        self._lines = self._bytes = 0
        self._blobs = path.parent / "blobs"
        try:
            self._file = open(path, "rb")  # noqa: SIM115 - closed at the end of the log, or in close()
            self._size = max(1, os.fstat(self._file.fileno()).st_size)
        except OSError as error:
            raise _unreadable(path, error) from error

    @property
    def share(self) -> float:
        """How much of the file was read: 0 to 1."""
        return 1.0 if self.done else min(1.0, self._bytes / self._size)

    def read(self, most: int) -> int:
        """Read at most ``most`` further events into ``events``; how many there were.

        Raises:
            RecordingError: the file cannot be read any more, or a newer version wrote it.
        """
        before = len(self.events)
        try:
            while not self.done and len(self.events) - before < most:
                self._next()
        except OSError as error:
            self.close()
            raise _unreadable(self.path, error) from error
        except RecordingError:
            self.close()
            raise
        if self.done:
            self._file.close()
        return len(self.events) - before

    def _next(self) -> None:
        line = self._file.readline(MAX_READ_LINE + 1)
        self._bytes += len(line)
        if not line:
            self._end(None if self.events else f"{self.path.name} is empty: it has no line 1")
            return
        try:
            self.events.append(_read_line(line, self.events, self._blobs))
        except _Stop as stop:
            told = f"{self.path.name} is readable up to line {self._lines}: line {self._lines + 1} {stop}"
            self._end(told)
            return
        self._lines += 1

    def _end(self, problem: str | None) -> None:
        self.problem = problem
        self.done = True

    def stop(self) -> None:
        """Read no further; to be called from another thread than the one that reads."""
        self.done = True

    def close(self) -> None:
        """Read no further; closing twice is allowed."""
        self.done = True
        self._file.close()


def read_log(path: Path) -> LogRead:
    """Read a log up to its last whole valid line.

    A log that was cut at any byte, or is damaged from some line on, gives the events before that, and a ``problem`` that names the line.

    Raises:
        RecordingError: there is no log that can be read at ``path``, or a newer version wrote it.
    """
    reader = LogReader(path)
    with _without_collector():
        reader.read(MAX_EVENTS + 1)
    return LogRead(reader.events, reader.problem)


def _unreadable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(f"{path} cannot be read: {error.strerror or error}")


@contextmanager
def _without_collector() -> Iterator[None]:
    """Decoding makes no cycles, and looking for them in a growing list of events costs a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Stop(Exception):
    """Reading ends here; the message completes the sentence 'line 12 ...'."""


def _read_line(line: bytes, before: list[Event], blobs: Path) -> Event:
    """One event, or ``_Stop``; ``RecordingError`` only for a newer version."""
    whole = line.endswith(b"\n")
    if len(line) > MAX_READ_LINE:
        raise _Stop(f"is longer than {MAX_READ_LINE} bytes")
    if len(before) >= MAX_EVENTS:
        raise _Stop(f"is beyond the {MAX_EVENTS} events that are read")
    event = None if b'"$blob"' in line else from_own_line(line)
    if event is None:
        event = _decode(line, whole, blobs)
    if not math.isfinite(event.media_ms):
        raise _Stop("has no media time")
    if not 0 <= event.media_ms <= MAX_MEDIA_MS or (before and event.media_ms < before[-1].media_ms):
        raise _Stop(f"is dated {event.media_ms:g} ms, before the line above it or beyond a day")
    if any(not 0 <= cause < event.seq for cause in event.causes):
        raise _Stop("names a cause that is no earlier event")
    expected = before[-1].seq + 1 if before else event.seq
    if event.seq != expected or event.seq < 0:
        raise _Stop(f"has number {event.seq} where {max(expected, 0)} is due")
    return event


def _decode(line: bytes, whole: bool, blobs: Path) -> Event:
    """A line in any spelling: what is wrong with it is named."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Stop("is not JSON" if whole else "is cut") from error
    if not isinstance(record, dict):
        raise _Stop("is not an event")
    _check_version(record)
    try:
        if b'"$blob"' in line:
            _resolve(record, blobs)
        return from_record(record)
    except RecordingError as error:
        raise _Stop(f"cannot be used: {_one_line(error)}") from error
    except (OverflowError, RecursionError) as error:
        raise _Stop("holds a number or a nesting that cannot be read") from error


def _check_version(record: dict[str, Any]) -> None:
    version = record.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _Stop("names no version")
    if version > SCHEMA_VERSION:
        raise RecordingError(
            f"the log was written in format {version} and this apex-tui reads up to {SCHEMA_VERSION}: update apex-tui to open it"
        )


def _resolve(record: dict[str, Any], blobs: Path) -> None:
    data = record.get("data")
    if isinstance(data, dict):
        record["data"] = {key: get_blob(blobs, value) if is_ref(value) else value for key, value in data.items()}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
