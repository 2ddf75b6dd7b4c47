"""The Gemini Live agent: the protocol core on a connection that is replaced when the provider ends it.

A connection lives about ten minutes. After ``goAway`` the session moves to a new one at the next quiet moment, with the newest resumable
handle; a connection that breaks is resumed as well when there is a handle. Caller audio waits meanwhile and nothing of it is lost; calls
that were open are taken back, never run again. Each move is on the timeline as a warning that says how long it took.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from apex_tui.agents.gemini.client import ACTIVITY_END, ACTIVITY_START, GeminiClient
from apex_tui.agents.gemini.profile import GeminiProfile
from apex_tui.agents.realtime.push_to_talk import Button
from apex_tui.agents.seam import (
    AgentEvent,
    Capabilities,
    Hint,
    LimitWarning,
    ProviderError,
    SpeechStarted,
    Stamped,
    WireTap,
)
from apex_tui.agents.shell import READY_TIMEOUT_S, ProtocolAgent
from apex_tui.agents.stall import STALL_S
from apex_tui.agents.transports import Disconnected, Transport
from apex_tui.audio.frames import FRAME_SAMPLES
from apex_tui.timeline.errors import UserError

RESUMED_CODES = frozenset({None, 1001, 1006, 1011, 1012, 1013})
"""Ends that a handle can bridge: the connection broke, or the service restarts. The others say that the session was refused."""

PAUSES_S = (0.0, 0.5, 2.0)
"""Before each attempt to connect again."""

MOST_BREAKS = 3
"""Connections that may break unannounced in one session; more is no session to measure."""

LAST_MOMENT_S = 5.0
"""Before the announced end the session moves even in mid-turn."""

_CALLERS = '{"realtimeInput"'
"""How a message begins that carries the caller's audio, or that a turn of theirs begins or is over."""

CAPABILITIES = Capabilities(in_rate=16_000, out_rate=24_000, server_vad=False, cancel=False, truncate=False)


class GeminiAgent(ProtocolAgent):
    """An agent of this family. ``dial`` makes a transport for each further connection; None: a session is one connection."""

    kind = "Gemini Live server"

    def __init__(
        self,
        transport: Transport,
        profile: GeminiProfile,
        *,
        dial: Callable[[], Transport] | None = None,
        name: str = "gemini",
        wire: WireTap | None = None,
        stall_s: float = STALL_S,
    ) -> None:
        self._gemini = GeminiClient(profile)
        self._dial = dial
        self._breaks = 0
        self._leave_at: float | None = None
        self._button = Button() if profile.turn_detection == "push_to_talk" else None
        self._down = False  # the service was told that the caller's turn began, and not yet that it is over
        super().__init__(
            self._gemini,
            transport,
            name=name,
            family=profile.family,
            capabilities=replace(
                CAPABILITIES,
                reports_interruption=self._button is None,
                answers_results=profile.tools == "BLOCKING",
            ),
            wire=wire,
            stall_s=stall_s,
        )

    def send_text(self, words: str) -> None:
        """A caller turn in writing, for a check without sound."""
        self._gemini.text(words)
        self._flush()

    def send_hint(self, hint: Hint) -> None:
        """A turn is planned: in push-to-talk it moves our own button."""
        if self._button is not None:
            self._button.turn(hint)

    def _sends_now(self) -> bool:
        if self._button is None:
            return True
        step = self._button.frame(FRAME_SAMPLES)
        if step.spoken:
            # At the first sound and not at the silent press: it interrupts the model.
            self._down = True
            self._gemini.activity(True)
            self._say(SpeechStarted("client_cancel"))
        elif step.released and self._down:
            self._down = False
            self._gemini.activity(False)
        self._flush()
        return self._down

    async def _after_message(self) -> None:
        if self._gemini.go_away and self._leave_at is None:
            left = self._gemini.left_s if self._gemini.left_s is not None else 2 * LAST_MOMENT_S
            self._leave_at = asyncio.get_running_loop().time() + max(0.0, left - LAST_MOMENT_S)
        await self._leave_if_due()

    async def _second_passed(self, now: float) -> None:
        await self._leave_if_due()

    async def _leave_if_due(self) -> None:
        """Close the connection that will end anyway; the reader then moves on."""
        if self._leave_at is None or self._held or self._dial is None or self._gemini.handle is None:
            return
        if (self._gemini.quiet and not self._down) or asyncio.get_running_loop().time() >= self._leave_at:
            self._held = True
            await self._transport.close()

    async def _after_disconnect(self) -> bool:
        core, code = self._gemini, self._transport.close_code
        if self._dial is None or core.handle is None or not (core.go_away or code in RESUMED_CODES):
            return False
        if not core.go_away:
            self._breaks += 1
            if self._breaks > MOST_BREAKS:
                return False
        loop = asyncio.get_running_loop()
        self._held, broke_at, planned = True, loop.time(), core.go_away
        down = self._down  # what is pressed or let go from here on waits with the caller's audio
        first = True
        for pause in PAUSES_S:
            await asyncio.sleep(pause)
            setup, lost = core.restart()
            if first:
                await self._tell(lost)
            first = False
            fresh = self._dial()
            try:
                stands = await self._shake_hands(fresh, setup)
            except BaseException:
                await fresh.close()
                raise
            if stands:
                self._move_to(fresh, down)
                gap_ms = round(1000 * (loop.time() - broke_at))
                why = "as announced" if planned else f"it broke{f' ({code})' if code else ''}"
                await self._tell([LimitWarning(f"the session moved to a new connection, {why}, within {gap_ms} ms")])
                return True
            with suppress(Exception):
                await fresh.close()
        why = f"the connection ended{f' ({code})' if code else ''} and the session could not be continued on a new one"
        await self._tell([ProviderError("not_resumed", why, fatal=True)])
        return False

    async def _shake_hands(self, fresh: Transport, setup: str) -> bool:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                await fresh.connect()
                self._tap("out", setup)
                await fresh.send(setup)
                while not self._gemini.ready:
                    raw = await fresh.recv()
                    await self._tell(self._take_in(raw, loop.time()))
        except (UserError, Disconnected, TimeoutError):
            return False
        return True

    def _move_to(self, fresh: Transport, down: bool) -> None:
        # Answers that were written for the old connection name calls that the new one does not know.
        self._waiting = deque(entry for entry in self._waiting if entry[0].startswith(_CALLERS))
        told = next((entry[0] for entry in self._waiting if entry[0] in (ACTIVITY_START, ACTIVITY_END)), None)
        if down and told != ACTIVITY_START:  # one that never left is still to come
            self._waiting.appendleft((ACTIVITY_START, 0))
        self._transport, self._leave_at = fresh, None
        self._release()

    async def _tell(self, events: list[AgentEvent]) -> None:
        at = asyncio.get_running_loop().time()
        for event in events:
            await self._put(Stamped(at, event))
