"""The agent's replies: their words, how much of them was heard, and when each is over. Pure book-keeping over the play-out buffer.

Generated, received and played are three different things; only played counts as heard. Words are not timed by the agent, so the heard prefix
is an estimate: the share of the audible audio received that was played, never faster than anyone speaks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from apex_tui.audio.frames import Pcm, to_ms
from apex_tui.audio.playout import PlayOut
from apex_tui.timeline.agent_facts import ReplyStatus

FASTEST_CHARS_PER_S = 26.0
"""Nobody speaks faster; text that runs ahead of its audio must not count as heard."""
HEAD_START_CHARS = 4
INAUDIBLE = 32
"""Samples no larger than this (-60 dBFS) are silence: what an agent sends after its last word holds no words."""


@dataclass(slots=True)
class Item:
    """One spoken item of a reply. ``sounding``: samples received up to the last that can be heard."""

    text: str = ""
    final: bool = False
    sounding: int = 0


@dataclass(slots=True)
class Book:
    """One reply."""

    id: str
    seq: int
    after_tool: bool
    items: dict[str, Item] = field(default_factory=dict)
    status: ReplyStatus | None = None
    first_played: int | None = None
    heard_onset: bool = False
    flushed: bool = False
    closed: bool = False

    @property
    def text(self) -> str:
        """All words that the agent produced."""
        return " ".join(item.text.strip() for item in self.items.values() if item.text.strip())


def heard_prefix(text: str, played_ms: float, spoken_ms: float, complete: bool) -> str:
    """The words of ``text`` that fit into ``played_ms`` of audio, of which the first ``spoken_ms`` hold all words; whole words only."""
    if complete and played_ms >= spoken_ms > 0:
        return text
    if played_ms <= 0 or spoken_ms <= 0 or not text:
        return ""
    share = min(1.0, played_ms / spoken_ms)
    limit = min(len(text) * share, played_ms / 1000 * FASTEST_CHARS_PER_S + HEAD_START_CHARS)
    cut = int(limit)
    if cut >= len(text):
        return text
    if not text[cut].isspace():
        cut = text.rfind(" ", 0, cut + 1)
    return text[: max(0, cut)].rstrip()


class Replies:
    """All replies of a session, newest last; bounded only by the session's length.

    ``audible`` False: the agent writes and has no voice. What it wrote counts as heard once its reply is over, cut off or not.
    ``tells_end`` False: the end of a reply is found by silence, so that a completed one may have been broken off.
    """

    def __init__(self, playout: PlayOut, *, audible: bool = True, tells_end: bool = True) -> None:
        self._playout = playout
        self._audible, self._tells_end = audible, tells_end
        self._books: dict[str, Book] = {}
        self._live: list[Book] = []

    def begin(self, reply: str, seq: int, after_tool: bool) -> Book:
        """A reply begins (a second call for the same id changes nothing)."""
        book = self._books.get(reply)
        if book is None:
            book = self._books[reply] = Book(reply, seq, after_tool)
            self._live.append(book)
        return book

    def get(self, reply: str) -> Book | None:
        """The reply of that id."""
        return self._books.get(reply)

    def words(self, reply: str, item: str, text: str, final: bool) -> bool:
        """Add a delta, or replace the item's words when ``final``. Returns whether anything was new.

        Once the whole is known, later deltas are late and change nothing; another whole restates it. An empty whole takes nothing back: its
        words are what the deltas said.
        """
        entry = self._books[reply].items.setdefault(item, Item())
        if final and text:
            new = not entry.final or entry.text != text
            entry.text, entry.final = text, True
            return new
        if entry.final or not text:
            return False
        entry.text += text
        return True

    def sound(self, reply: str, item: str, pcm: Pcm) -> None:
        """Note audio of an item that is about to be queued."""
        entry = self._books[reply].items.setdefault(item, Item())
        audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) > INAUDIBLE)
        if audible.size:
            entry.sounding = self._playout.received(item) + int(audible[-1]) + 1

    def played_ms(self, book: Book) -> float:
        """Audio of the reply that was played."""
        return to_ms(sum(self._playout.played(item) for item in book.items))

    def received_ms(self, book: Book) -> float:
        """Audio of the reply that was received."""
        return to_ms(sum(self._playout.received(item) for item in book.items))

    def heard(self, book: Book) -> str:
        """The words that were heard so far."""
        if not self._audible:
            return book.text if book.status is not None else ""
        parts = []
        for name, item in book.items.items():
            played, spoken = self._playout.played(name), item.sounding or self._playout.received(name)
            # Only of a reply that was finished is it known that all its words have audio.
            complete = self._tells_end and book.status == "completed" and not book.flushed
            parts.append(heard_prefix(item.text.strip(), to_ms(played), to_ms(spoken), complete))
            if parts[-1] != item.text.strip():
                break
        return " ".join(p for p in parts if p)

    def due_to_close(self) -> list[Book]:
        """Replies of which nothing more will be heard and which are not closed yet."""
        return [b for b in self._live if self._over(b)]

    def close(self, book: Book) -> None:
        """Nothing more of it will be heard."""
        book.closed = True
        self._live.remove(book)

    def _over(self, book: Book) -> bool:
        if book.flushed:
            return self._playout.pending_of(book.id) == 0
        return book.status is not None and self._playout.is_played_out(book.id)

    @property
    def open(self) -> Book | None:
        """The reply that is being heard, or is generated, now: the oldest that is not closed."""
        return self._live[0] if self._live else None

    @property
    def live(self) -> list[Book]:
        """All replies that are not closed, oldest first."""
        return list(self._live)

    @property
    def generating(self) -> bool:
        """Whether the agent is still producing a reply."""
        return any(b.status is None and not b.flushed for b in self._live)
