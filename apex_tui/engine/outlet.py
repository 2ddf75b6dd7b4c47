"""The engine's stdout: events and notices as JSON lines, written without ever waiting for the reader.

When the pipe is full, meters are dropped and events wait in a bounded buffer; when that is full too, events are dropped *from the pipe* (never
from the log) and the screen, which sees the gap in `seq`, reads on from the file. When the reader is gone, nothing is written any more and the
session goes on.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections import deque

from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Meters, output_line

MAX_WAITING_BYTES = 4 << 20
PATIENCE_S = 10.0


class Outlet:
    """Writes to a file descriptor. With a loop that cannot watch descriptors (virtual time) it blocks, which costs no media time."""

    def __init__(self, fd: int, *, watch: bool) -> None:
        self._fd = fd
        self._watch = watch
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._gone = False
        self._watching = False
        if watch:
            os.set_blocking(fd, False)

    def send(self, item: Event | AnyNotice) -> None:
        """Send one line, now or as soon as the reader takes it."""
        if self._gone:
            return
        if isinstance(item, Meters) and self._waiting:
            return
        line = output_line(item).encode() + b"\n"
        if self._bytes + len(line) > MAX_WAITING_BYTES and isinstance(item, Event):
            return
        self._waiting.append(line)
        self._bytes += len(line)
        if not self._watching:
            self._drain()

    @property
    def waiting_bytes(self) -> int:
        """What waits for the reader."""
        return self._bytes

    def _drain(self) -> None:
        try:
            while self._waiting:
                line = self._waiting[0]
                sent = os.write(self._fd, line)
                self._bytes -= sent
                if sent < len(line):
                    self._waiting[0] = line[sent:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            self._watch_reader(True)
            return
        except OSError:
            self._gone = True
            self._waiting.clear()
            self._bytes = 0
        self._watch_reader(False)

    def _watch_reader(self, wanted: bool) -> None:
        if not self._watch or wanted == self._watching:
            return
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_writer(self._fd, self._drain)
        else:
            loop.remove_writer(self._fd)
        self._watching = wanted

    def finish(self) -> None:
        """Write out what waits; the process ends after this, and its loop may have ended already. A reader that has stopped reading gets
        ``PATIENCE_S`` and loses the rest: it is on the disk.
        """
        self._watch = self._watching = False
        os.set_blocking(self._fd, False)
        while self._waiting and select.select([], [self._fd], [], PATIENCE_S)[1]:
            self._drain()
