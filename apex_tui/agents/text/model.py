"""One question to a text model and its streamed answer, tried again where that can help.

In here: requests, attempts, the stall watchdog. Deliberately not in here: the conversation (it is passed in) and the seam.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import httpx

from apex_tui.agents.seam import AgentSetup, WireTap
from apex_tui.agents.text import chat, responses
from apex_tui.agents.text.conversation import Entry
from apex_tui.agents.text.endpoint import Endpoint, Refused
from apex_tui.agents.text.pieces import Piece, Words
from apex_tui.agents.text.profile import TextProfile
from apex_tui.agents.text.sse import SseReader, TooLong

RETRY_S = (0.5, 2.0, 5.0)
"""Waits before further attempts; the last one repeats."""

MAX_WORDS = 256 * 1024
"""Characters of one answer: nobody listens to that much."""

AFTER_OVER_S = 1.0
"""Some servers keep the stream open after the answer's end; usage comes within this time or not at all."""


class Model:
    """A text model at an endpoint. Both are the caller's to close."""

    def __init__(self, profile: TextProfile, endpoint: Endpoint, wire: WireTap | None = None) -> None:
        self.profile = profile
        self.endpoint = endpoint
        self._wire = wire

    async def answer(
        self, setup: AgentSetup, entries: Sequence[Entry], name: str
    ) -> AsyncGenerator[tuple[float, Piece], None]:
        """The pieces of the answer with the loop time at which each arrived. ``name``: of the reply, for calls without one.

        Raises ``Refused``: nothing came, or the stream broke; closing the iterator closes the connection.
        """
        attempt = 0
        while True:
            begun = False
            try:
                async with aclosing(self._attempt(setup, entries, name)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except Refused as error:
                if begun or not error.again or attempt >= self.profile.retries:
                    raise
            await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
            attempt += 1

    async def _attempt(
        self, setup: AgentSetup, entries: Sequence[Entry], name: str
    ) -> AsyncGenerator[tuple[float, Piece], None]:
        dialect = chat if self.profile.family == "chat" else responses
        reader = chat.ChatReader(name) if self.profile.family == "chat" else responses.ResponsesReader(name)
        body = dialect.request(self.profile, setup, entries)
        self._tap("out", json.dumps({"path": dialect.PATH, "body": body}, separators=(",", ":")))
        events = SseReader()
        async with self.endpoint.post(dialect.PATH, json=body) as response:
            if "json" in response.headers.get("content-type", ""):
                raise Refused("no_stream", f"{self.endpoint.url} does not stream its answers, which is needed here")
            chunks = response.aiter_bytes()
            total = 0
            while (chunk := await _next(chunks, AFTER_OVER_S if reader.over else None)) is not None:
                at = asyncio.get_running_loop().time()
                try:
                    arrived = events.feed(chunk)
                except TooLong as error:
                    raise Refused("unreadable", str(error)) from None
                for data in arrived:
                    self._tap("in", data)
                    for piece in reader.read(data):
                        total += len(piece.text) if isinstance(piece, Words) else 0
                        if total > MAX_WORDS:
                            raise Refused("too_long", f"{self.endpoint.url} sent an answer without end")
                        yield at, piece
        at = asyncio.get_running_loop().time()
        for piece in reader.ended():
            yield at, piece

    def _tap(self, direction: str, message: str) -> None:
        if self._wire is not None:
            self._wire(asyncio.get_running_loop().time(), "out" if direction == "out" else "in", message)


async def _next(chunks: AsyncIterator[bytes], limit: float | None) -> bytes | None:
    """The next chunk; None at the end, or when the answer is over and nothing more comes."""
    try:
        async with asyncio.timeout(limit):
            return await anext(chunks, None)
    except TimeoutError:
        return None
    except httpx.TransportError:
        if limit is None:
            raise
        return None
