"""The events of a live session as a sequence: the newest as they came, older ones packed.

A decoded event takes about a kilobyte, two hours of them 50 MB; packed they take a twentieth. Reading an old row unpacks its block, so
the event pane can still show every one. Nothing is ever dropped. Not in here: the log on disk, which the engine writes.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import overload

from apex_tui.timeline.events import Event, from_line, to_line

BLOCK = 512
"""Events in a packed block: one takes 8 ms to unpack, and a screen shows at most two."""
LOOSE = 4 * BLOCK
"""Newest events kept as they are."""
_UNPACKED = 3


class Archive(Sequence[Event]):
    """A growing list of events. Slices are lists."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._loose: list[Event] = []
        self._recent: OrderedDict[int, list[Event]] = OrderedDict()

    def append(self, event: Event) -> None:
        """Add the newest event; pack the oldest block of the loose ones when there are too many."""
        self._loose.append(event)
        if len(self._loose) >= LOOSE + BLOCK:
            lines = "\n".join(map(to_line, self._loose[:BLOCK]))
            # A lone surrogate in an agent's text is kept as it is.
            self._packed.append(zlib.compress(lines.encode("utf-8", "surrogatepass"), 6))
            del self._loose[:BLOCK]

    def copy(self) -> Archive:
        """The events so far; made at once, and read without minding what is appended to this one."""
        twin = Archive()
        twin._packed, twin._loose = list(self._packed), list(self._loose)
        return twin

    def __len__(self) -> int:
        return len(self._packed) * BLOCK + len(self._loose)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...

    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        block, offset = divmod(place, BLOCK)
        if block >= len(self._packed):
            return self._loose[place - len(self._packed) * BLOCK]
        return self._block(block)[offset]

    def __iter__(self) -> Iterator[Event]:
        for packed in self._packed:
            yield from _unpack(packed)
        yield from self._loose

    def _block(self, number: int) -> list[Event]:
        found = self._recent.get(number)
        if found is None:
            found = self._recent[number] = _unpack(self._packed[number])
            if len(self._recent) > _UNPACKED:
                self._recent.popitem(last=False)
        return found


def _unpack(packed: bytes) -> list[Event]:
    lines = zlib.decompress(packed).decode("utf-8", "surrogatepass").split("\n")
    return [from_line(line) for line in lines]
