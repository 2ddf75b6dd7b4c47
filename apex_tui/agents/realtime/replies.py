"""Which reply may speak, which calls are open, and when a further reply may be asked for.

One reply at a time. A reply is asked for after tool results, and only when none is active, none is asked for, every call of the reply that
called last is answered, and the caller is not talking: a server that answers turns by itself makes its own reply then. A slow call of an
earlier reply holds nothing up where the server takes results whenever they come (``behind``).

Pure bookkeeping; deliberately not in here: messages (``client`` builds them) and time (the caller's sent audio is the clock).
"""

from __future__ import annotations

from collections.abc import Iterable

MOST_REMEMBERED = 4096
"""Identifiers kept for "seen before"; a session of an hour has a few hundred."""

ANSWER_GRACE_MS = 2000.0
"""Sent audio after the caller's turn in which the server's own answer is awaited before asking for one. It begins within
tens of milliseconds when it comes at all; without this bound an unanswered turn would swallow tool results."""


class Remembered:
    """A set of identifiers that forgets the oldest beyond ``MOST_REMEMBERED``."""

    __slots__ = ("_ids",)

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._ids: dict[str, None] = dict.fromkeys(ids)

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    def add(self, name: str) -> bool:
        """Whether it was new."""
        if name in self._ids:
            return False
        if len(self._ids) >= MOST_REMEMBERED:
            del self._ids[next(iter(self._ids))]
        self._ids[name] = None
        return True


class Replies:
    """The response queue of one session.

    ``active``         the reply in progress, by its id
    ``caller_talks``   the server hears the caller now
    """

    def __init__(self, *, behind: bool = True) -> None:
        """``behind``: the server goes on while a call is open, and takes its result later."""
        self._behind = behind
        self.active: str | None = None
        self.caller_talks = False
        self._ended = Remembered()
        self._muted = Remembered()
        self._again = Remembered()
        self._calls = Remembered()
        self._open: dict[str, str] = {}  # call -> the reply that called
        self._called_last = ""
        self._owed = False  # tool results, or a turn of our own, that no reply has taken up
        self._turn_owed = False  # ... among them a turn that the server does not answer by itself
        self._covered = False  # ... and the server's answer to the caller's turn will take them up
        self._asked: str | None = None  # event id of a request that no reply has followed yet
        self._for_results = False  # ... and it is about results alone
        self._last_asked: str | None = None
        self._retried = False
        self._cancel_wanted = False
        self._grace_ms = 0.0

    @property
    def expecting(self) -> bool:
        """Whether a reply runs or was asked for, and no call of it waits for a result."""
        return (self.active is not None or self._asked is not None) and not self._holding(self.active)

    def speaks(self, reply: str) -> bool:
        """Whether deltas of this reply still count: neither over nor cancelled by us."""
        return reply not in self._ended and reply not in self._muted

    def is_over(self, reply: str) -> bool:
        """Whether this reply has ended."""
        return reply in self._ended

    def begun_again(self, reply: str) -> None:
        """Note that a further reply has the id of one that is over."""
        self._again.add(reply)

    def is_another(self, reply: str) -> bool:
        """Whether words under this id may be those of a further reply, whose sound is left out."""
        return reply in self._again

    def called(self, call_id: str, reply: str | None = None) -> bool:
        """Note a call of a reply; False when it was seen before."""
        if not self._calls.add(call_id):
            return False
        self._open[call_id] = self._called_last = reply or ""
        return True

    def _holding(self, reply: str | None) -> bool:
        """Whether calls of a reply (of any, where the server waits for all) have no result yet."""
        return bool(self._open) if not self._behind else reply in self._open.values()

    def answered(self, call_id: str) -> bool:
        """Note a call's result, which a reply should take up; False when no such call is open."""
        if call_id not in self._open:
            return False
        del self._open[call_id]
        self._owed = True
        self._covered = False  # a result after the caller's turn may be too late for the server's answer to it
        return True

    def owe(self) -> None:
        """Note a caller turn that the server answers only when it is asked to."""
        self._owed = self._turn_owed = True
        self._covered = False

    @property
    def owes_results_only(self) -> bool:
        """Whether what a reply should take up are tool results alone."""
        return not self._turn_owed

    def begun(self, reply: str) -> bool:
        """Note that a reply began, and return whether it was asked for after tool results, and answers no caller turn."""
        asked, self._asked = self._asked is not None, None
        if not asked and self._covered:
            self._owed = False
        self._covered = False
        self._grace_ms = 0.0
        self.caller_talks = False
        self.active = reply
        return asked and self._for_results

    def cancel(self) -> str | None:
        """Mute the reply that runs, and return its id; one that is only asked for is cancelled as soon as it has an id."""
        if self.active is not None:
            self._muted.add(self.active)
            return self.active
        self._cancel_wanted = self._asked is not None
        return None

    def cancel_now(self) -> str | None:
        """The reply that just began, when it was to be cancelled before it had an id; it is muted from now on."""
        if not self._cancel_wanted or self.active is None:
            return None
        self._cancel_wanted = False
        return self.cancel()

    def ended(self, reply: str) -> bool:
        """Note that a reply is over; False when that was known."""
        if self.active == reply:
            self.active = None
        if self._last_asked is not None and self._asked is None:
            self._last_asked, self._retried = None, False
        return self._ended.add(reply)

    def refused(self, event_id: str | None, busy: bool) -> bool:
        """Note an error. ``busy``: it says that another reply is active. Returns whether our request is queued again.

        An error may leave out the event that caused it; "busy" can then only mean the last request.
        """
        ours = self._last_asked is not None and (event_id == self._last_asked or (busy and not event_id))
        if not ours:
            return False
        self._asked = None
        self._last_asked = None
        if not busy or self._retried:
            self._retried = False
            return False
        self._owed = self._turn_owed = self._retried = True
        return True

    def caller_began(self) -> None:
        """The server hears the caller: its own answer will follow, so nothing is asked for."""
        self.caller_talks = True
        self._covered = False

    def caller_stopped(self) -> None:
        """The caller's turn is over; the server's answer to it takes up every result that was given until now."""
        self.caller_talks = False
        self._covered = self._owed
        self._grace_ms = ANSWER_GRACE_MS

    def caller_sent(self, ms: float) -> bool:
        """Let ``ms`` of sent audio pass, and return whether the wait for the server's own answer has just run out."""
        if self._grace_ms <= 0.0:
            return False
        self._grace_ms -= ms
        return self._grace_ms <= 0.0

    def may_ask(self) -> bool:
        """Whether a reply is owed and may be asked for now."""
        return (
            self._owed
            and self.active is None
            and self._asked is None
            and not self._holding(self._called_last)
            and not self.caller_talks
            and self._grace_ms <= 0.0
        )

    def asked(self, event_id: str) -> None:
        """Note that a reply was asked for with this event."""
        self._asked = self._last_asked = event_id
        if not self._retried:  # one that is asked for again is about the same
            self._for_results = self.owes_results_only
        self._owed = self._covered = self._turn_owed = False
