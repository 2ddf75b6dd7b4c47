"""The GPT-Live agent: the protocol core on a connection, the countdown to ``expires_at``, and an orderly end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from apex_tui.agents.gptlive.client import GptLiveClient
from apex_tui.agents.gptlive.profile import LiveProfile
from apex_tui.agents.seam import Capabilities, Stamped, WireTap
from apex_tui.agents.shell import ProtocolAgent
from apex_tui.agents.stall import STALL_S
from apex_tui.agents.transports import Transport

CAPABILITIES = Capabilities(
    server_vad=False, cancel=False, truncate=False, reports_interruption=False, tells_end=False, answers_results=False
)

FAREWELL_S = 3.0
"""How long ``session.closed`` is awaited: it carries the usage. The service may drain for ten seconds, which nobody wants to wait for."""


def _utc_now() -> float:
    return datetime.now(tz=UTC).timestamp()  # noqa: TID251 - the service states the session's end as a date


class GptLiveAgent(ProtocolAgent):
    """An agent of this family. ``utc``: Unix time in seconds, to read ``expires_at`` by."""

    kind = "GPT-Live server"

    def __init__(
        self,
        transport: Transport,
        profile: LiveProfile,
        *,
        name: str = "gpt-live",
        wire: WireTap | None = None,
        utc: Callable[[], float] = _utc_now,
        stall_s: float = STALL_S,
    ) -> None:
        self._live = GptLiveClient(profile)
        self._utc = utc
        super().__init__(
            self._live,
            transport,
            name=name,
            family=profile.family,
            capabilities=CAPABILITIES,
            wire=wire,
            stall_s=stall_s,
        )
        self._gone = asyncio.Event()

    def _limit(self) -> tuple[float, float] | None:
        expires = self._live.expires_at
        if expires is None:
            return None
        return max(0.0, round(expires - self._utc(), 1)), self._live.profile.warn_before_s

    async def _farewell(self) -> None:
        if self._closing or not self._live.ready or self._live.closed or self._gone.is_set():
            return
        self._live.bye()
        self._flush()
        async with asyncio.timeout(FAREWELL_S):
            await self._gone.wait()

    async def _after_message(self) -> None:
        if self._live.closed:
            self._gone.set()

    async def _after_disconnect(self) -> bool:
        at = asyncio.get_running_loop().time()
        for event in self._live.finish():
            await self._put(Stamped(at, event))
        self._gone.set()
        return False
