"""The events of an agent that makes them itself: a bounded queue, in order, ending with ``Closed``.

Deliberately not in here: what the events mean, and any network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from apex_tui.agents.seam import AgentEvent, Closed, ProviderError, Stamped

MAX_EVENTS = 10_000
"""Events that may wait for the engine, which takes them within a frame; more means that nobody reads."""


class Outbox:
    """Stamped events from one agent to the engine. ``dropped``: what nobody took in time."""

    def __init__(self) -> None:
        self.dropped = 0
        self._queue: asyncio.Queue[Stamped | None] = asyncio.Queue()
        self._closed = False

    def say(self, event: AgentEvent, at: float | None = None) -> None:
        """Put an event out, stamped with ``at`` (loop time, s) or now. Nothing goes out after the end."""
        if self._closed:
            return
        stamp = asyncio.get_running_loop().time() if at is None else at
        if self._queue.qsize() >= MAX_EVENTS:
            if not self.dropped:
                self._queue.put_nowait(Stamped(stamp, ProviderError("backpressure", "the agent's events are not read")))
            self.dropped += 1
            return
        self._queue.put_nowait(Stamped(stamp, event))

    def end(self, closed: Closed) -> None:
        """The last event; ending twice is allowed."""
        if not self._closed:
            self._queue.put_nowait(Stamped(asyncio.get_running_loop().time(), closed))
            self._queue.put_nowait(None)
            self._closed = True

    async def events(self) -> AsyncIterator[Stamped]:
        """Everything that was said, until the end."""
        while (stamped := await self._queue.get()) is not None:
            yield stamped
