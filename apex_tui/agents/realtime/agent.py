"""The agent of the OpenAI-realtime family: the protocol core on a transport, as the seam wants it.

One task reads and stamps, one writes. Deliberately not in here: the protocol (``client``), and any retry: a session that breaks
has ended, and says so with ``Closed``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.door import MAX_ID, text, without_secrets
from apex_tui.agents.realtime.profile import Profile
from apex_tui.agents.seam import (
    AgentEvent,
    AgentSetup,
    Capabilities,
    Closed,
    Hint,
    ProviderError,
    Ready,
    Stamped,
    WireDirection,
    WireTap,
)
from apex_tui.agents.transports import Disconnected, Transport
from apex_tui.timeline.errors import UserError

READY_TIMEOUT_S = 15.0
BACKLOG_S = 5.0
"""Caller audio that may wait to be sent. More means that the agent hears the call seconds late: no measurement holds then."""

MAX_EVENTS = 10_000
"""Events that may wait for the engine; beyond that the socket is not read on."""


class RealtimeAgent:
    """An agent of this family. ``name`` is how the registry calls it; see ``seam.Agent`` for the methods."""

    def __init__(
        self,
        transport: Transport,
        profile: Profile,
        *,
        name: str = "openai",
        rehearsal: bool = False,
        wire: WireTap | None = None,
    ) -> None:
        self.name = name
        self.family = profile.family
        self.url = transport.url
        self.rehearsal = rehearsal
        self.capabilities = Capabilities(in_rate=profile.rate, out_rate=profile.rate, hints=rehearsal)
        self._transport = transport
        self._client = RealtimeClient(profile)
        self._wire = wire
        self._events: asyncio.Queue[Stamped | None] = asyncio.Queue(MAX_EVENTS)
        self._waiting: deque[tuple[str, int]] = deque()
        self._wake = asyncio.Event()
        self._audio_waits = 0  # samples of audio in _waiting
        self._audio_dropped = 0
        self._backlog_limit = round(BACKLOG_S * profile.rate)
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False
        self._connected = False

    async def open(self, setup: AgentSetup) -> Ready:
        """Connect and configure. Raises ``UserError`` when the agent cannot be reached or refuses the session."""
        await self._transport.connect()
        self.url = self._transport.url
        self._connected = True
        self._client.start(setup)
        self._flush()
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._write(), name="agent writer"))
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                ready = await self._wait_until_ready()
        except TimeoutError:
            await self.close()
            raise UserError(
                f"{self.url} did not confirm the session within {READY_TIMEOUT_S:.0f} s; is it a realtime server?"
            ) from None
        except BaseException:
            await self.close()
            raise
        self._tasks.append(loop.create_task(self._read(), name="agent reader"))
        return ready

    async def events(self) -> AsyncIterator[Stamped]:
        """Everything the agent does after ``open``; ends after ``Closed``."""
        while (stamped := await self._events.get()) is not None:
            yield stamped

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame. Never dropped in silence: a backlog of 5 s is reported, and so is what it cost."""
        samples = len(pcm) // 2
        if self._audio_waits + samples > self._backlog_limit:
            if not self._audio_dropped:
                self._report(f"the agent takes no audio: {BACKLOG_S:.0f} s wait to be sent, what follows is dropped")
            self._audio_dropped += samples
            return
        if self._audio_dropped:
            lost_ms = self._audio_dropped * 1000 // self.capabilities.in_rate
            self._audio_dropped = 0
            self._report(f"{lost_ms} ms of the caller's audio were dropped")
        self._client.audio(pcm)
        self._flush(samples)

    def send_tool_result(self, call_id: str, output: str) -> None:
        """The result of a call, as JSON text."""
        self._client.tool_result(call_id, output)
        self._flush()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """Tell the agent how much of an item was heard."""
        self._client.truncate(item, audio_end_ms)
        self._flush()

    def send_hint(self, hint: Hint) -> None:
        """The declared side channel; only a rehearsal agent takes it."""
        if self.rehearsal:
            self._client.hint(hint)
            self._flush()

    async def close(self) -> None:
        """End the session; never raises."""
        self._closing = True
        with suppress(Exception):
            await self._transport.close()
        me = asyncio.current_task()
        others = [task for task in self._tasks if task is not me]
        for task in others:
            if task.get_name() == "agent writer":
                task.cancel()
        if others:
            await asyncio.wait(others, timeout=2.0)
        for task in others:
            task.cancel()
        self._tasks.clear()

    async def _wait_until_ready(self) -> Ready:
        client = self._client
        while True:
            try:
                raw = await self._transport.recv()
            except Disconnected:
                code, reason = self._transport.close_code, _shown(self._transport.close_reason)
                said = f"{code}, {reason}" if reason else str(code or "without a word")
                raise UserError(f"{self.url} closed the connection before the session stood ({said}).") from None
            for event in self._take_in(raw, asyncio.get_running_loop().time()):
                if isinstance(event, Ready):
                    return event
            if client.refusal is not None:
                raise UserError(f"{self.url} refused the session: {client.refusal.rstrip('.')}.")

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                raw = await self._transport.recv()
                at = loop.time()
                for event in self._take_in(raw, at):
                    await self._put(Stamped(at, event))
        except Disconnected:
            pass
        except Exception as error:  # the engine must hear of the end, whatever broke
            await self._put(Stamped(loop.time(), ProviderError("transport", type(error).__name__, fatal=True)))
        code = self._transport.close_code
        clean = self._closing or code == 1000
        await self._put(Stamped(loop.time(), Closed(code, _shown(self._transport.close_reason), clean)))
        await self._events.put(None)

    def _take_in(self, raw: str | bytes, at: float) -> list[AgentEvent]:
        if self._wire is not None:
            self._wire(at, "in", raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))
        events = self._client.receive(raw)
        self._flush()
        return events

    async def _put(self, stamped: Stamped) -> None:
        if self._closing and self._events.full():
            self._events.get_nowait()  # nobody need read on; the end must still be seen
        await self._events.put(stamped)

    def _report(self, why: str) -> None:
        loop = asyncio.get_running_loop()
        with suppress(asyncio.QueueFull):
            self._events.put_nowait(Stamped(loop.time(), ProviderError("backpressure", why)))

    def _flush(self, samples: int = 0) -> None:
        """Move what the protocol wants sent to the wire, at once where that is possible; ``samples`` of it are audio."""
        for message in self._client.take():
            if not self._connected or self._closing:
                continue
            self._tap("out", message)
            if not self._waiting and self._transport.offer(message):
                continue
            audio = samples if samples and message.startswith('{"type":"input_audio_buffer.append"') else 0
            self._audio_waits += audio
            self._waiting.append((message, audio))
            self._wake.set()

    def _tap(self, direction: WireDirection, message: str) -> None:
        if self._wire is not None:
            self._wire(asyncio.get_running_loop().time(), direction, message)

    async def _write(self) -> None:
        try:
            while True:
                while self._waiting:
                    message, audio = self._waiting[0]
                    await self._transport.send(message)
                    self._waiting.popleft()
                    self._audio_waits -= audio
                self._wake.clear()
                await self._wake.wait()
        except Disconnected:
            # The reader tells the engine; what waits has nowhere to go.
            self._connected = False
            self._waiting.clear()
            self._audio_waits = 0


def _shown(reason: object) -> str:
    return without_secrets(text(reason))[:MAX_ID]
