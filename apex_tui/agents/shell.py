"""The I/O around a protocol core: one task reads and stamps, one writes, one watches for a server that says nothing any more.

In here: opening, the bounded queues in both directions, wire rates, the wire tap, the stall watchdog, the countdown of a session's lifetime,
and the end. Deliberately not in here: any protocol (a ``Core`` per family), and any retry: a session that breaks has ended, and says so with
``Closed``. A family whose provider can carry a session over to a new connection hooks in at ``_after_message`` and ``_after_disconnect``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

from apex_tui.agents.core import Core
from apex_tui.agents.realtime.door import MAX_ID, text, without_secrets
from apex_tui.agents.resample import Resampler, Voices
from apex_tui.agents.seam import (
    AgentAudio,
    AgentEvent,
    AgentSetup,
    Capabilities,
    Closed,
    Health,
    Hint,
    LimitWarning,
    ProviderError,
    Ready,
    ReplyEnded,
    Stamped,
    WireDirection,
    WireTap,
)
from apex_tui.agents.stall import LOOK_EVERY_S, STALL_S, StallWatch
from apex_tui.agents.transports import Disconnected, Transport
from apex_tui.audio.frames import RATE
from apex_tui.timeline.errors import UserError

READY_TIMEOUT_S = 15.0
BACKLOG_S = 5.0
"""Caller audio that may wait to be sent. More means that the agent hears the call seconds late: no measurement holds then."""

MAX_EVENTS = 10_000
"""Events that may wait for the engine; beyond that the socket is not read on."""

FLOOD_MESSAGES = 20_000
"""How many messages a server may be ahead of time, also of those that mean nothing to us; the session (``conductor``) counts those that do."""
BYTES_PER_MESSAGE = 64 * 1024
"""Of one message that count as one more: about a second of sound."""
FORGIVEN_PER_S = 400.0

END_BEFORE_S = 2.0
"""A session that nears its limit is ended this long before, so that the end is ours and orderly."""


class ProtocolAgent:
    """An agent made of a core and a transport, as the seam wants it; see ``seam.Agent`` for the methods."""

    kind = "realtime server"
    """What the address should be, for the sentence when it is something else."""

    ready_timeout_s = READY_TIMEOUT_S

    def __init__(
        self,
        core: Core,
        transport: Transport,
        *,
        name: str,
        family: str,
        capabilities: Capabilities,
        rehearsal: bool = False,
        wire: WireTap | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        self.name = name
        self.family = family
        self.url = transport.url
        self.rehearsal = rehearsal
        self.capabilities = capabilities
        self._core = core
        self._transport = transport
        self._wire = wire
        self._stall = StallWatch(stall_s)
        self._events: asyncio.Queue[Stamped | None] = asyncio.Queue(MAX_EVENTS)
        self._waiting: deque[tuple[str, int]] = deque()
        self._wake = asyncio.Event()
        self._audio_waits = 0  # samples of audio in _waiting
        self._audio_dropped = 0  # since the last report
        self._dropped_in_all = 0
        self._backlog_limit = round(BACKLOG_S * core.in_rate)
        self._to_wire = Resampler(RATE, core.in_rate)
        self._voices: dict[int, Voices] = {}  # by the rate of the wire
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False
        self._ahead = self._ahead_at = 0.0  # messages, and when they were counted (s)
        self._connected = False
        self._held = False  # nothing is sent while a session moves to a new connection
        self._timers: list[asyncio.TimerHandle] = []

    # --- the seam ---------------------------------------------------------------------------------------------------------------------

    async def open(self, setup: AgentSetup) -> Ready:
        """Connect and configure. Raises ``UserError`` when the agent cannot be reached or refuses the session."""
        await self._transport.connect()
        self.url = self._transport.url
        self._connected = True
        self._core.start(setup)
        self._flush()
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._write(), name="agent writer"))
        try:
            ready = await self._ready_in_time()
        except BaseException:
            await self.close()
            raise
        self._tasks.append(loop.create_task(self._read(), name="agent reader"))
        self._tasks.append(loop.create_task(self._watch(), name="agent watch"))
        limit = self._limit()
        if limit is not None:
            self.capabilities = replace(self.capabilities, max_session_s=limit[0])
            self._count_down(loop, *limit)
        return ready

    async def events(self) -> AsyncIterator[Stamped]:
        """Everything the agent does after ``open``; ends after ``Closed``."""
        while (stamped := await self._events.get()) is not None:
            yield stamped

    def send_audio(self, pcm: bytes) -> None:
        """The caller's next frame. Never dropped in silence: a backlog of 5 s is reported, and so is what it cost."""
        sends = self._sends_now()
        pcm = self._to_wire.feed(pcm)
        samples = len(pcm) // 2 if sends else 0
        if self._audio_waits + samples > self._backlog_limit:
            if not self._audio_dropped:
                self._report(f"the agent takes no audio: {BACKLOG_S:.0f} s wait to be sent, what follows is dropped")
            self._audio_dropped += samples
            self._dropped_in_all += samples
            return
        if self._audio_dropped:
            lost_ms = self._audio_dropped * 1000 // self._core.in_rate
            self._audio_dropped = 0
            self._report(f"{lost_ms} ms of the caller's audio were dropped")
        if samples:
            self._core.audio(pcm)
            self._flush(samples)

    def send_tool_result(self, call_id: str, output: str) -> None:
        """The result of a call, as JSON text."""
        self._core.tool_result(call_id, output)
        self._stall.sign()
        self._flush()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """Tell the agent how much of an item was heard."""
        self._core.truncate(item, audio_end_ms)
        self._flush()

    def send_hint(self, hint: Hint) -> None:
        """The declared side channel; only a rehearsal agent takes it."""

    def health(self) -> Health:
        """What waits to be sent, and what was dropped for want of room."""
        ms = 1000 / self._core.in_rate
        return Health(round(self._audio_waits * ms, 1), round(self._dropped_in_all * ms, 1))

    async def close(self) -> None:
        """End the session; never raises."""
        for timer in self._timers:
            timer.cancel()
        with suppress(Exception):
            await self._farewell()
        self._closing = True
        with suppress(Exception):
            await self._transport.close()
        me = asyncio.current_task()
        others = [task for task in self._tasks if task is not me]
        for task in others:
            if task.get_name() != "agent reader":  # the reader still reports the end
                task.cancel()
        if others:
            await asyncio.wait(others, timeout=2.0)
        for task in others:
            task.cancel()
        self._tasks.clear()

    # --- what a family may add --------------------------------------------------------------------------------------------------------

    def _limit(self) -> tuple[float, float] | None:
        """How long the session may last from now on, and how long before that to warn (s); None: not known."""
        return None

    def _sends_now(self) -> bool:
        """Whether the caller's frame is sent at all."""
        return True

    def _unconfirmed(self) -> Ready | None:
        """What stands in for a confirmation that did not come in time; None: nothing does."""
        return None

    async def _ready_in_time(self) -> Ready:
        """Wait until the session stands. Raises ``UserError``."""
        try:
            async with asyncio.timeout(self.ready_timeout_s):
                return await self._wait_until_ready()
        except TimeoutError:
            late = self._unconfirmed()
            if late is not None:
                return late
            raise UserError(
                f"{self.url} did not confirm the session within {self.ready_timeout_s:g} s; is it a {self.kind}?"
            ) from None

    async def _farewell(self) -> None:
        """What is said before the connection is closed."""

    async def _after_message(self) -> None:
        """Called after each message was handled."""

    async def _after_disconnect(self) -> bool:
        """The connection is gone; whether the session goes on (over a new one)."""
        return False

    # --- in ---------------------------------------------------------------------------------------------------------------------------

    async def _wait_until_ready(self) -> Ready:
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
            if self._core.refusal is not None:
                raise UserError(f"{self.url} refused the session: {self._core.refusal.rstrip('.')}.")

    async def _read(self) -> None:
        try:
            await self._read_on()
        finally:
            # Whoever reads our events must come to their end, also when this task is cancelled.
            if self._events.full():
                self._events.get_nowait()
            self._events.put_nowait(None)

    async def _read_on(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    raw = await self._transport.recv()
                except Disconnected:
                    if self._closing or not await self._after_disconnect():
                        break
                    continue
                at = loop.time()
                if self._floods(raw, at):
                    why = (
                        f"the agent floods: more than {FLOOD_MESSAGES} messages that nobody could speak wait to be read"
                    )
                    await self._put(Stamped(at, ProviderError("flood", why, fatal=True)))
                    break
                for event in self._take_in(raw, at):
                    await self._put(Stamped(at, event))
                await self._after_message()
        except Exception as error:  # the engine must hear of the end, whatever broke
            await self._put(Stamped(loop.time(), ProviderError("transport", type(error).__name__, fatal=True)))
        code = self._transport.close_code
        clean = self._closing or code == 1000
        here = self._transport.closed_here and not self._closing
        await self._put(Stamped(loop.time(), Closed(code, self._close_reason(code), clean, here)))

    def _floods(self, raw: str | bytes, at: float) -> bool:
        forgiven = (at - self._ahead_at) * FORGIVEN_PER_S
        self._ahead = max(0.0, self._ahead - forgiven) + 1.0 + len(raw) / BYTES_PER_MESSAGE
        self._ahead_at = at
        return self._ahead > FLOOD_MESSAGES

    def _close_reason(self, code: int | None) -> str:
        reason = _shown(self._transport.close_reason)
        if code != 1009:
            return reason
        # The same on every retry: whose limit it was is what helps.
        here = "a message of the agent was larger than MAX_SIZE in apex_tui/agents/websocket.py"
        whose = here if self._transport.closed_here else "a message of ours was larger than the agent takes"
        return f"{reason}: {whose}" if reason else whose

    def _take_in(self, raw: str | bytes, at: float) -> list[AgentEvent]:
        self._stall.sign()
        if self._wire is not None:
            self._wire(at, "in", raw if isinstance(raw, str) else raw.decode("utf-8", "replace"))
        events: list[AgentEvent] = []
        for event in self._core.receive(raw):
            events += self._at_our_rate(event)
        self._flush()
        return events

    def _at_our_rate(self, event: AgentEvent) -> list[AgentEvent]:
        """The event with its audio at 24 kHz; what a filter still holds is delivered before its reply ends."""
        if isinstance(event, AgentAudio):
            rate = self._core.out_rate
            voices = self._voices.get(rate)
            if voices is None:
                voices = self._voices[rate] = Voices(rate, RATE)
            return voices.heard([event])
        if isinstance(event, ReplyEnded):
            rests = [rest for voices in self._voices.values() for rest in voices.heard([event])[:-1]]
            return [*rests, event]
        return [event]

    async def _put(self, stamped: Stamped) -> None:
        if self._closing and self._events.full():
            self._events.get_nowait()  # nobody need read on; the end must still be seen
        await self._events.put(stamped)

    def _report(self, why: str) -> None:
        self._say(ProviderError("backpressure", why))

    def _say(self, event: AgentEvent) -> None:
        """Tell the engine something that no message of the server said."""
        with suppress(asyncio.QueueFull):
            self._events.put_nowait(Stamped(asyncio.get_running_loop().time(), event))

    # --- time -------------------------------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Report a server that owes something and says nothing."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._stall.look(self._core.expecting):
                self._say(ProviderError("stalled", self._stall.sentence, fatal=True))
                return
            await self._second_passed(loop.time())

    async def _second_passed(self, now: float) -> None:
        """Called once a second."""

    def _count_down(self, loop: asyncio.AbstractEventLoop, limit_s: float, warn_before_s: float) -> None:
        left = min(warn_before_s, limit_s)
        warning = f"the provider ends a session after {limit_s / 60:g} minutes; {left:g} s are left"
        over = f"the provider's limit of {limit_s / 60:g} minutes a session is reached"
        ending = ProviderError("session_limit", over, fatal=True)
        self._timers = [
            loop.call_later(limit_s - left, self._say, LimitWarning(warning, left)),
            loop.call_later(max(0.0, limit_s - END_BEFORE_S), self._say, ending),
        ]

    # --- out --------------------------------------------------------------------------------------------------------------------------

    def _flush(self, samples: int = 0) -> None:
        """Move what the protocol wants sent to the wire, at once where that is possible; ``samples`` of it are audio."""
        for message in self._core.take():
            if not self._connected or self._closing:
                continue
            self._tap("out", message)
            if not self._held and not self._waiting and self._transport.offer(message):
                continue
            audio = samples if samples and message.startswith(self._core.audio_prefix) else 0
            self._audio_waits += audio
            self._waiting.append((message, audio))
            self._wake.set()

    def _tap(self, direction: WireDirection, message: str) -> None:
        if self._wire is not None:
            self._wire(asyncio.get_running_loop().time(), direction, message)

    async def _write(self) -> None:
        while True:
            try:
                while self._waiting and not self._held:
                    message, audio = self._waiting[0]
                    await self._transport.send(message)
                    self._waiting.popleft()
                    self._audio_waits -= audio
            except Disconnected:
                # The reader tells the engine, or moves the session; what waits is sent only in the second case.
                self._held = True
            self._wake.clear()
            await self._wake.wait()

    def _release(self) -> None:
        """Send on, over the connection that is now in ``_transport``."""
        self._held = False
        self._wake.set()


def _shown(reason: object) -> str:
    return without_secrets(text(reason))[:MAX_ID]
