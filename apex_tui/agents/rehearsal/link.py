"""The rehearsal server on a running loop: messages in, timers for what becomes due, messages out.

In here: ``ServerLink``, used in memory and in the child process alike. It wakes only for a message or a deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from apex_tui.agents.rehearsal.server import RehearsalServer
from apex_tui.agents.transports import MemoryTransport

_SAME_S = 1e-6
"""Deadlines nearer than this are the same; the ears date theirs anew with every frame."""


class ServerLink:
    """Drives a server. ``send`` takes each message that goes out."""

    def __init__(self, server: RehearsalServer, send: Callable[[str], None]) -> None:
        self._server = server
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def opened(self) -> None:
        """The client connected."""
        self._pass_on(self._server.open(self._loop.time()))

    def message(self, raw: str | bytes) -> None:
        """A message of the client."""
        self._pass_on(self._server.receive(raw, self._loop.time()))

    def closed(self) -> None:
        """The client is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pass_on(self, messages: list[str]) -> None:
        for message in messages:
            self._send(message)
        self._set_timer()

    def _set_timer(self) -> None:
        due = self._server.next_deadline()
        if self._timer is not None:
            if due is not None and abs(due - self._due) < _SAME_S:
                return
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._due = due
            self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        # A real loop may wake a hair early; what is due at the deadline is due now.
        self._pass_on(self._server.poll(max(self._loop.time(), self._due)))


class MemoryPeer:
    """A rehearsal server as the peer of a ``MemoryTransport``."""

    def __init__(self, server: RehearsalServer) -> None:
        self.server = server
        self._link: ServerLink | None = None

    def opened(self, link: MemoryTransport) -> None:
        """The agent connected."""
        self._link = ServerLink(self.server, link.feed)
        self._link.opened()

    def message(self, raw: str) -> None:
        """A message of the agent."""
        assert self._link is not None
        self._link.message(raw)

    def closed(self) -> None:
        """The agent closed the connection."""
        if self._link is not None:
            self._link.closed()
