"""Messages over a websocket, and what it means for the user when the connection cannot be opened.

In here: ``WebsocketTransport`` and the sentences for a failed connection. Deliberately not in here: reconnecting (a session is
one connection; a second one would be another session), and what messages mean.
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI
from websockets.protocol import State

from apex_tui.agents.transports import Disconnected
from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import UserError

MAX_SIZE = 32 * 1024 * 1024
"""Bytes of one message before the connection is closed (1009); the library's own 1 MiB is below what servers send."""

OPEN_TIMEOUT_S = 10.0
PING_INTERVAL_S = 20.0
PING_TIMEOUT_S = 60.0
"""Generous: a busy loop must not look like a dead peer."""

CLOSE_TIMEOUT_S = 2.0
MAX_QUEUE = 1024
"""Messages read ahead; bursts of short audio deltas exceed the library's 16."""


_QUIET = logging.getLogger("apex_tui.websocket")
_QUIET.setLevel(logging.WARNING)
"""The library would write whole request heads at DEBUG, key and address included."""


class WebsocketTransport:
    """A websocket to ``url`` (ws or wss). ``headers`` go with the request and are shown nowhere; ``key`` names where the key is from."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, key: str = "the key") -> None:
        self.url = shown_url(url)
        self.close_code: int | None = None
        self.close_reason = ""
        self.closed_here = False
        self._target = url
        self._headers = dict(headers or {})
        self._key = key
        self._socket: ClientConnection | None = None

    async def connect(self) -> None:
        """Open the connection. Raises ``UserError``: the address, the network, the certificate, the key or the server."""
        try:
            self._socket = await connect(
                self._target,
                additional_headers=self._headers,
                compression=None,
                max_size=MAX_SIZE,
                max_queue=MAX_QUEUE,
                open_timeout=OPEN_TIMEOUT_S,
                ping_interval=PING_INTERVAL_S,
                ping_timeout=PING_TIMEOUT_S,
                close_timeout=CLOSE_TIMEOUT_S,
                logger=_QUIET,
                proxy=None if is_loopback(self._target) else True,
            )
        except (OSError, InvalidHandshake, InvalidMessage, InvalidURI, ValueError, EOFError) as error:
            raise UserError(self._why(error)) from None

    def offer(self, message: str) -> bool:
        """Send at once when nothing waits in the socket: the caller's frame is on the wire within its tick, and no task has to wake for it."""
        link = self._socket
        if link is None or link.state is not State.OPEN or link.transport.get_write_buffer_size():
            return False
        # What `send` does, which would only wait if the socket were full.
        link.protocol.send_text(message.encode())
        link.send_data()
        return True

    async def send(self, message: str) -> None:
        """Send one text message. Raises ``Disconnected``."""
        assert self._socket is not None
        try:
            await self._socket.send(message)
        except ConnectionClosed:
            raise Disconnected from None

    async def recv(self) -> str | bytes:
        """The next message. Raises ``Disconnected``, after which ``close_code`` and ``close_reason`` are set."""
        assert self._socket is not None
        try:
            return await self._socket.recv()
        except ConnectionClosed as end:
            # A close such as 1001 counts as clean for the library, so the code is kept for whoever judges it.
            self.closed_here = end.sent is not None and not end.rcvd_then_sent
            told = end.sent if self.closed_here else end.rcvd
            if told is not None:
                self.close_code, self.close_reason = told.code, told.reason
            raise Disconnected from None

    async def close(self) -> None:
        """Close with 1000."""
        if self._socket is not None:
            await self._socket.close()

    def _why(self, error: Exception) -> str:
        host = urlsplit(self._target).hostname or "the server"
        if isinstance(error, InvalidStatus):
            return self._status(error.response.status_code)
        if isinstance(error, InvalidURI | ValueError) and not isinstance(error, OSError):
            return f"{self.url} is no websocket address; give one such as ws://127.0.0.1:8765/v1/realtime."
        if isinstance(error, TimeoutError):
            return f"{self.url} did not answer within {OPEN_TIMEOUT_S:.0f} s; check the address and the network."
        if isinstance(error, ConnectionRefusedError):
            return f"Nothing listens at {self.url}; start the server, or correct the address."
        if isinstance(error, socket.gaierror):
            return f"The host {host} is not known; correct the address {self.url}, or check the network."
        if isinstance(error, ssl.SSLError):
            return f"No safe connection to {self.url}: the certificate of {host} was refused; use ws:// for a local server."
        if isinstance(error, OSError):
            # A failed attempt per address is gathered into one error without a class of its own.
            return f"{self.url} cannot be reached ({error.strerror or 'connection failed'}); is the server running?"
        return f"{self.url} does not answer as a websocket server; correct the address."

    def _status(self, code: int) -> str:
        if code in (401, 403):
            return f"{self.url} refused {self._key} ({code}); set a valid one."
        if code == 404:
            return f"{self.url} does not exist on that server (404); correct the path or the model."
        if code == 429:
            return f"{self.url} refuses more sessions for now (429); wait, or check the account's limits."
        return f"{self.url} refused the connection (HTTP {code}); check the address, or try later."


def shown_url(url: str) -> str:
    """The address as it may be shown: without user, password and query, except the model's name."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the given address"
    host = f"[{host}]" if ":" in host else host
    model = parse_qs(parts.query).get("model")
    scheme = f"{parts.scheme}://" if parts.scheme else ""
    return f"{scheme}{host}{port}{parts.path}" + (f"?model={model[0]}" if model else "")
