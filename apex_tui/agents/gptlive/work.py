"""Which calls of the delegate are open, and when it may go on.

The service takes ``response.create`` only when every open call of the whole session is answered, whichever delegation it belongs to, and the
delegate's responses that are known to run are over. Pure book-keeping; deliberately not in here: messages.
"""

from __future__ import annotations

from apex_tui.agents.realtime.replies import Remembered


class Work:
    """The calls of one session."""

    def __init__(self) -> None:
        self._seen = Remembered()
        self._open: dict[str, str] = {}  # call -> delegation
        self._running: set[str] = set()  # delegations whose response is known to run
        self._owed = False  # outputs were given that no response has taken up
        self._asked: str | None = None
        self._retried = False

    @property
    def open(self) -> tuple[str, ...]:
        """Calls that were reported and not answered."""
        return tuple(self._open)

    @property
    def waits(self) -> bool:
        """Whether the delegate has something to do: it runs, or was just asked to go on."""
        return bool(self._running) or self._asked is not None

    def response_runs(self, delegation: str) -> None:
        """A response of this delegation began."""
        self._running.add(delegation)
        self._asked, self._retried = None, False

    def response_over(self, delegation: str, failed: bool) -> list[str]:
        """A response of this delegation ended. Returns the open calls that died with it: their outputs would be refused."""
        self._running.discard(delegation)
        if not failed:
            return []
        dead = [call for call, owner in self._open.items() if owner == delegation]
        for call in dead:
            del self._open[call]
        return dead

    def called(self, call_id: str, delegation: str) -> bool:
        """Note a call; False when it was seen before."""
        self._asked = None
        if not self._seen.add(call_id):
            return False
        self._open[call_id] = delegation
        return True

    def answered(self, call_id: str) -> bool:
        """Note an output; False when no such call is open."""
        if self._open.pop(call_id, None) is None:
            return False
        self._owed = True
        return True

    def may_go_on(self) -> bool:
        """Whether the delegate should be asked to go on now."""
        return self._owed and not self._open and not self._running

    def asked(self, event_id: str) -> None:
        """Note that it was asked with this event."""
        self._asked, self._owed = event_id, False

    def refused(self, event_id: str | None, early: bool) -> bool:
        """Note an error. ``early``: it says that outputs are missing. Returns whether the request is queued again (once)."""
        ours = self._asked is not None and (event_id == self._asked or (early and not event_id))
        if not ours:
            return False
        self._asked = None
        if not early or self._retried:
            self._retried = False
            return False
        self._owed = self._retried = True
        return True
