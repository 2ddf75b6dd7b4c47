"""Server-sent events from bytes in any pieces. Pure; bounded. Deliberately not in here: what the data means."""

from __future__ import annotations

import codecs

MAX_EVENT = 16 * 1024 * 1024
"""Characters of one event."""


class TooLong(ValueError):
    """An event beyond ``MAX_EVENT``."""


class SseReader:
    """Feed bytes, get the ``data`` of each complete event (lines of one event joined by line breaks)."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._size = 0
        self._kept_size = 0  # of the whole data lines
        self._data: list[str] = []
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[str]:
        """The events that this chunk completes. Raises ``TooLong``."""
        text = self._decoder.decode(chunk)
        if self._after_cr and text:
            self._after_cr = False
            text = text.removeprefix("\n")
        if text.endswith("\r"):
            self._after_cr = True
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        events: list[str] = []
        for number, line in enumerate(lines):
            if number == len(lines) - 1:
                self._keep(line)
                break
            whole = "".join([*self._rest, line])
            self._rest.clear()
            self._line(whole, events)
        return events

    def _keep(self, piece: str) -> None:
        if piece:
            self._rest.append(piece)
            self._grow(len(piece))

    def _grow(self, more: int) -> None:
        self._size += more
        if self._size > MAX_EVENT:
            raise TooLong(f"an event of more than {MAX_EVENT} characters")

    def _line(self, line: str, events: list[str]) -> None:
        if not line:
            if self._data:
                events.append("\n".join(self._data))
            self._data.clear()
            self._size = self._kept_size = 0
            return
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
            # Not what its pieces counted while they came, but the line itself and its line break.
            self._kept_size += len(value) + 1
        self._size = self._kept_size
        self._grow(0)
