"""The watchdog for a server that owes a reply and says nothing any more.

Pure counting; the agents look once a second. Deliberately not in here: what "owes" means in a protocol, and what follows.
"""

from __future__ import annotations

STALL_S = 30.0
"""Silence of a server that owes something. The slowest reasoning voice models begin within half of that."""

LOOK_EVERY_S = 1.0


class StallWatch:
    """Counts looks, not time: after a suspended process the messages still wait in the socket, and nobody has stalled."""

    def __init__(self, limit_s: float = STALL_S) -> None:
        self.limit_s = limit_s
        self._signs = 0
        self._seen = 0
        self._quiet_s = 0.0

    def sign(self) -> None:
        """Note a message of the server, or something of ours that it has to answer."""
        self._signs += 1

    def look(self, expecting: bool) -> bool:
        """Called every ``LOOK_EVERY_S``: whether the server has now owed something in silence for too long."""
        self._quiet_s = self._quiet_s + LOOK_EVERY_S if expecting and self._signs == self._seen else 0.0
        self._seen = self._signs
        return self._quiet_s >= self.limit_s

    @property
    def sentence(self) -> str:
        """What to say about it."""
        return f"the agent owes a reply and sent nothing for {self.limit_s:g} s"
