"""Drives a text or cascade agent over a real socket and keeps what it does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from agent_kit import LINES, SETUP, workflow
from http_peer import HttpPeer

from apex_tui.agents.registry import make_agent
from apex_tui.agents.seam import Agent, Hint, Stamped, ToolRequest
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, pcm_bytes, silence


class Talk:
    """An open agent: ``seen`` is what it did; ``answers`` gives results to its calls."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.seen: list[Stamped] = []
        self.answers: dict[str, str] = {}
        self.samples = 0
        self._news = asyncio.Event()
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for stamped in self.agent.events():
            self.seen.append(stamped)
            event = stamped.event
            if isinstance(event, ToolRequest) and event.name in self.answers:
                self.agent.send_tool_result(event.call_id, self.answers[event.name])
            self._news.set()

    def of(self, kind: type[Any]) -> list[Any]:
        return [stamped.event for stamped in self.seen if isinstance(stamped.event, kind)]

    async def until(self, true: Callable[[], bool], limit_s: float = 30.0) -> None:
        async with asyncio.timeout(limit_s):
            while not true():
                self._news.clear()
                with suppress(TimeoutError):  # what the server notes is no news of the agent's
                    await asyncio.wait_for(self._news.wait(), 0.05)

    async def count(self, kind: type[Any], number: int) -> list[Any]:
        await self.until(lambda: len(self.of(kind)) >= number)
        return self.of(kind)

    def say(self, words: str, act: str = "ANSWER") -> None:
        """A planned turn that is over with the next frame."""
        self.agent.send_hint(Hint(1, "plan", act, words, self.samples, self.samples + 10))
        self.hear(silence(FRAME_SAMPLES))

    def hear(self, pcm: Pcm) -> None:
        """The caller's sound, at once."""
        for start in range(0, len(pcm), FRAME_SAMPLES):
            self.agent.send_audio(pcm_bytes(pcm[start : start + FRAME_SAMPLES]))
        self.samples += len(pcm)

    async def end(self) -> None:
        await self.agent.close()
        await self._reader


def made(name: str, url: str | None, **more: Any) -> Agent:
    given: dict[str, Any] = {"model": "m", "virtual": False, "wire": None, "log_path": None, **more}
    return make_agent(name, url=url, workflow=workflow(), lines=LINES, **given)


@asynccontextmanager
async def talking(name: str, peer: HttpPeer, **more: Any) -> AsyncIterator[Talk]:
    async with peer.running():
        agent = made(name, peer.url, **more)
        await agent.open(SETUP)
        talk = Talk(agent)
        try:
            yield talk
        finally:
            await talk.end()
