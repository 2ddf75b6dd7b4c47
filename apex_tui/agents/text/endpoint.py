"""The only room with an HTTP socket: requests to one base address, and what it means for the user when they fail.

In here: ``Endpoint`` (streams of JSON events, files up, audio down) and ``Refused``. A key lives only in the headers of the client
and is removed from whatever a server repeats. Deliberately not in here: what is asked, and trying again (``model``).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from apex_tui.agents.realtime.door import ident, obj, text, without_secrets
from apex_tui.agents.websocket import shown_url
from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import UserError

CONNECT_S = 10.0
MAX_ERROR = 64 * 1024
SHOWN_ERROR = 300

_FATAL = {"insufficient_quota", "invalid_api_key", "account_deactivated", "billing_hard_limit_reached"}


class Refused(Exception):
    """A request that failed. ``kind`` as the server says it; ``again``: another attempt may help; the text is one sentence."""

    def __init__(self, kind: str, message: str, *, again: bool = False, stalled: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.again = again
        self.stalled = stalled


class Endpoint:
    """One base address with its headers. ``url`` may be shown; ``key`` names where the key is from; ``transport``: instead of the network."""

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str],
        key: str,
        stall_s: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = shown_url(base)
        self._base = base.rstrip("/")
        self._headers = dict(headers)
        self._key = key
        self._stall_s = stall_s
        self._transport = transport
        self._client: httpx.AsyncClient | None = None
        self._secrets = tuple(part for value in headers.values() for part in value.split() if len(part) >= 8)

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            timeout = httpx.Timeout(self._stall_s, connect=CONNECT_S)
            # Loading the certificates takes longer than a call on this machine, where none are needed.
            self._client = httpx.AsyncClient(
                headers=self._headers,
                timeout=timeout,
                trust_env=not is_loopback(self._base),
                verify=urlsplit(self._base).scheme == "https",
                transport=self._transport,
            )
        return self._client

    async def close(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def probe(self) -> None:
        """See that something answers and takes the key. Raises ``UserError`` in one sentence.

        A server without a list of models is fine: only a refused key and a missing server are found out here.
        """
        try:
            async with self._stream("GET", "/models") as response:
                del response
        except Refused as error:
            if error.kind in ("unreachable", "invalid_api_key"):
                raise UserError(f"{str(error).rstrip('.')}.") from None

    @asynccontextmanager
    async def post(self, path: str, **what: Any) -> AsyncIterator[httpx.Response]:
        """The response to a POST, its body still to be read. Raises ``Refused``, also while the body is read."""
        async with self._stream("POST", path, **what) as response:
            yield response

    @asynccontextmanager
    async def _stream(self, method: str, path: str, **what: Any) -> AsyncIterator[httpx.Response]:
        try:
            async with self._opened().stream(method, self._base + path, **what) as response:
                if response.status_code >= 300:
                    raise await self._refused(response)
                yield response
        except httpx.ReadTimeout:
            why = f"{self.url} sent nothing for {self._stall_s:g} s"
            raise Refused("stalled", why, stalled=True) from None
        except httpx.ConnectTimeout:
            raise Refused("unreachable", f"{self.url} did not answer within {CONNECT_S:g} s", again=True) from None
        except httpx.ConnectError as error:
            raise Refused("unreachable", self._why(error), again=True) from None
        except httpx.TransportError as error:
            why = f"the connection to {self.url} broke ({type(error).__name__})"
            raise Refused("broken", why, again=True) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise Refused(
                "unreachable", f"{self.url} is no address; give one such as http://127.0.0.1:8080/v1"
            ) from None

    def _why(self, error: httpx.ConnectError) -> str:
        words = str(error).lower()
        host = urlsplit(self._base).hostname or "the server"
        if "certificate" in words or "ssl" in words:
            return f"no safe connection to {self.url}: the certificate of {host} was refused"
        if "name or service" in words or "nodename" in words or "resolution" in words:
            return f"the host {host} is not known; correct the address {self.url}, or check the network"
        return f"nothing listens at {self.url}; start the server, or correct the address"

    async def _refused(self, response: httpx.Response) -> Refused:
        raw = bytearray()
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) > MAX_ERROR:
                break
        try:
            body = obj(json.loads(bytes(raw[:MAX_ERROR])))
        except (ValueError, RecursionError):
            body = {}
        error = obj(body.get("error")) or body
        said = self.masked(text(error.get("message")) or text(body.get("error")) or text(body.get("detail")))
        kind = self.masked(ident(error.get("code")) or ident(error.get("type")))
        code = response.status_code
        tail = f": {said[:SHOWN_ERROR].rstrip('.')}" if said else ""
        if code in (401, 403):
            return Refused("invalid_api_key", f"{self.url} refused {self._key} ({code}){tail}; set a valid one")
        if code == 404:
            return Refused(kind or "not_found", f"{self.url} does not know the path or the model (404){tail}")
        again = (code in (408, 409, 429) or code >= 500) and kind not in _FATAL
        return Refused(kind or f"http_{code}", f"{self.url} answered {code}{tail}", again=again)

    def masked(self, said: str) -> str:
        """The text without our own key, however it looks."""
        for secret in self._secrets:
            said = said.replace(secret, "[key]")
        return without_secrets(said)
