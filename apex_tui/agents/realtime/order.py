"""Messages that come twice or out of order, told apart by what they say of themselves; no clock.

A repeated event has the id *and* the content of an earlier one. A server whose ids are not unique (the same id on different content) is not
judged by them. Deliberately not in here: deltas of a reply that is over (``replies`` knows which are).
"""

from __future__ import annotations

from typing import Any

from apex_tui.agents.realtime.door import ident, number
from apex_tui.timeline.base import Json

MOST_EVENTS = 512
"""Events remembered; a repetition follows within a few."""


class Repeats:
    """``duplicates``: events dropped because they came twice; ``stale``: starts of the caller's speech that came after their own end."""

    def __init__(self) -> None:
        self.duplicates = 0
        self.stale = 0
        self._unique = True
        self._seen: dict[str, int] = {}
        self._started: str | None = None
        self._ended_ms: float | None = None

    def again(self, message: dict[str, Any]) -> bool:
        """Whether this very event came before."""
        name = ident(message.get("event_id"))
        if not name or not self._unique:
            return False
        content = hash(_content(message))
        before = self._seen.get(name)
        if before is None:
            if len(self._seen) >= MOST_EVENTS:
                del self._seen[next(iter(self._seen))]
            self._seen[name] = content
            return False
        if before != content:
            self._unique = False
            self._seen.clear()
            return False
        self.duplicates += 1
        return True

    def stale_start(self, message: dict[str, Any]) -> bool:
        """Whether the caller's speech that this announces was announced before, or lies before an end that was reported already."""
        item, at = ident(message.get("item_id")), number(message.get("audio_start_ms"))
        again = bool(item) and item == self._started
        old = at is not None and self._ended_ms is not None and at + _PREFIX_MS < self._ended_ms
        if again or old:
            self.stale += 1
            return True
        self._started = item or None
        return False

    def stopped(self, message: dict[str, Any]) -> None:
        """The caller's speech ended, in the agent's own audio time."""
        at = number(message.get("audio_end_ms"))
        if at is not None:
            self._ended_ms = max(at, self._ended_ms or 0.0)


_PREFIX_MS = 1000.0
"""A start includes padding before the sound, so it may lie a little before the end of the turn before."""


def _content(message: Json) -> tuple[Any, ...]:
    return tuple(value if isinstance(value, str | int | float | None) else repr(value) for value in message.values())
