"""How messages travel between an agent and its server: the contract, and the way inside one process.

In here: ``Transport``, and ``MemoryTransport``, which hands messages to a peer in the same loop in the order in which they were
sent, without threads or sockets, so that it works in virtual time. Deliberately not in here: sockets (``websocket``) and what
messages mean.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class Disconnected(Exception):
    """The other side is gone; the transport's ``close_code`` and ``close_reason`` say more."""


class Transport(Protocol):
    """One connection. ``close_code`` is None until the end, and stays None when the connection just broke.

    ``closed_here``: this side ended it, for what came or did not come.
    """

    url: str
    close_code: int | None
    close_reason: str
    closed_here: bool

    async def connect(self) -> None:
        """Open the connection. Raises ``UserError`` in one sentence."""

    def offer(self, message: str) -> bool:
        """Send at once where that needs no waiting; False when it must be sent with ``send``."""

    async def send(self, message: str) -> None:
        """Send. Raises ``Disconnected``."""

    async def recv(self) -> str | bytes:
        """The next message. Raises ``Disconnected`` at the end."""

    async def close(self) -> None:
        """Close; never raises."""


class Peer(Protocol):
    """The other end of a ``MemoryTransport``; called from the loop, never inside a ``send``."""

    def opened(self, link: MemoryTransport) -> None:
        """The agent connected; ``link.feed`` and ``link.hang_up`` answer it."""

    def message(self, raw: str) -> None:
        """A message of the agent."""

    def closed(self) -> None:
        """The agent closed the connection."""


class MemoryTransport:
    """A connection to a peer in the same loop. Messages arrive in order, at the same loop time at which they were sent."""

    def __init__(self, peer: Peer, url: str = "memory:") -> None:
        self.url = url
        self.close_code: int | None = None
        self.close_reason = ""
        self.closed_here = False
        self._peer = peer
        self._inbox: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = False

    async def connect(self) -> None:
        """Open the connection; the peer hears of it before any message."""
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._peer.opened, self)

    def offer(self, message: str) -> bool:
        """Hand a message over; the peer gets it in the loop's next turn."""
        if self._loop is None or self._over:
            return False
        self._loop.call_soon(self._deliver, message)
        return True

    async def send(self, message: str) -> None:
        """Hand a message over. Raises ``Disconnected``."""
        if not self.offer(message):
            raise Disconnected

    async def recv(self) -> str | bytes:
        """The peer's next message. Raises ``Disconnected`` at the end."""
        message = await self._inbox.get()
        if message is None:
            self._inbox.put_nowait(None)
            raise Disconnected
        return message

    async def close(self) -> None:
        """Close from the agent's side."""
        if self._over or self._loop is None:
            return
        self.hang_up(1000, "")
        self._loop.call_soon(self._peer.closed)

    def feed(self, message: str | bytes) -> None:
        """A message of the peer; dropped once the connection is over."""
        if not self._over:
            self._inbox.put_nowait(message)

    def hang_up(self, code: int | None, reason: str) -> None:
        """Close from the peer's side; what was fed before still arrives."""
        if not self._over:
            self._over = True
            self.close_code, self.close_reason = code, reason
            self._inbox.put_nowait(None)

    def _deliver(self, message: str) -> None:
        if not self._over:
            self._peer.message(message)
