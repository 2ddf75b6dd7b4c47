"""What all local servers share: what they were sent, what they sent, and two ways to be connected.

A server is a ``transports.Peer`` (in memory, in virtual time) and can also be served over a real websocket for other people's clients.
``faults`` collects what a real provider would punish: a test that leaves any has found a bug in our client.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Message = dict[str, Any]


class Link(Protocol):
    """The server's end of a connection."""

    def feed(self, message: str | bytes) -> None: ...

    def hang_up(self, code: int | None, reason: str) -> None: ...


class Server:
    """A server with one client. ``got``: what it was sent; ``sent``: what it sent; ``opened_links``: how often it was connected."""

    def __init__(self) -> None:
        self.got: list[Message] = []
        self.sent: list[Message] = []
        self.faults: list[str] = []
        self.opened_links = 0
        self.gone = False
        self.heard = bytearray()
        self._link: Link | None = None
        self._number = 0

    # --- transports.Peer --------------------------------------------------------------------------------------------------------------

    def opened(self, link: Link) -> None:
        self._link = link
        self.gone = False
        self.opened_links += 1
        self.greet()

    def message(self, raw: str | bytes) -> None:
        message = json.loads(raw)
        self.got.append(message)
        self.take(message)

    def closed(self) -> None:
        self.gone = True

    # --- a family's own ---------------------------------------------------------------------------------------------------------------

    def greet(self) -> None:
        """What is sent first."""

    def take(self, message: Message) -> None:
        """A message of the client."""

    # --- verbs ------------------------------------------------------------------------------------------------------------------------

    def send(self, message: Message) -> None:
        self.sent.append(message)
        self.raw(json.dumps(message))

    def raw(self, message: str | bytes) -> None:
        if self._link is not None and not self.gone:
            self._link.feed(message)

    def hang_up(self, code: int | None, reason: str = "") -> None:
        assert self._link is not None
        self._link.hang_up(code, reason)
        self.gone = True

    def name(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}_{self._number}"


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def pieces(raw: bytes, size: int = 4800) -> list[bytes]:
    """The audio as deltas of 100 ms at 24 kHz."""
    return [raw[at : at + size] for at in range(0, len(raw), size)]


class _Socket:
    """A link over a websocket: what is fed is sent in order by one task."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self.queue: asyncio.Queue[str | bytes | tuple[int, str]] = asyncio.Queue()

    def feed(self, message: str | bytes) -> None:
        self.queue.put_nowait(message)

    def hang_up(self, code: int | None, reason: str) -> None:
        self.queue.put_nowait((code or 1011, reason))

    async def write(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                entry = await self.queue.get()
                if isinstance(entry, tuple):
                    await self._connection.close(*entry)
                    return
                await self._connection.send(entry)


@asynccontextmanager
async def served(make: Callable[[], Server], **settings: Any) -> AsyncIterator[tuple[int, list[Server]]]:
    """Serve a fresh server for each connection on a free port of the loopback."""
    servers: list[Server] = []

    async def handle(connection: ServerConnection) -> None:
        server = make()
        servers.append(server)
        link = _Socket(connection)
        writer = asyncio.create_task(link.write())
        server.opened(link)
        with suppress(ConnectionClosed):
            async for raw in connection:
                server.message(raw)
        server.closed()
        writer.cancel()

    async with serve(handle, "127.0.0.1", 0, max_size=None, compression=None, **settings) as listener:
        yield next(iter(listener.sockets)).getsockname()[1], servers
