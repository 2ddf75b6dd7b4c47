"""What the rows of bug reports share: a core fed by hand, and short ways to play a call and an interruption."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from agent_kit import SETUP, TOOLS
from live_kit import LONG, Ran, conduct
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.profile import OPENAI, flat_tool
from apex_tui.agents.seam import AgentEvent

ARGS = '{"date": "2026-12-14"}'
ARGUMENTS = {"date": "2026-12-14"}


def sent_types(peer: Any) -> list[str]:
    return [message.get("type", "") for message in peer.got if message.get("type") != "input_audio_buffer.append"]


def called(peer: RealtimePeer, call_id: str = "c1") -> None:
    peer.begin()
    peer.call(call_id, "update_form", ARGS)
    peer.end()


def void(value: object) -> None:
    """Forget it."""


class Client:
    """The core of the OpenAI-realtime family in a session that stands, fed by hand."""

    def __init__(self) -> None:
        self.core = RealtimeClient(OPENAI)
        self.core.start(SETUP)
        self.core.receive(
            json.dumps({"type": "session.updated", "session": {"tools": [flat_tool(tool) for tool in TOOLS]}})
        )
        self.core.take()

    def get(self, kind: str, **fields: Any) -> list[AgentEvent]:
        return self.core.receive(json.dumps({"type": kind, **fields}))

    def sent(self) -> list[dict[str, Any]]:
        return [json.loads(message) for message in self.core.take()]

    def begin(self, reply: str) -> list[AgentEvent]:
        return self.get("response.created", response={"id": reply})


def barge_in(peer: RealtimePeer, ran: Callable[..., Ran] = conduct, after: float = 0.5, done: bool = True) -> Ran:
    async def play(server: RealtimePeer) -> None:
        server.begin()
        server.say("A long sentence that nobody hears to its end.", LONG)
        if done:
            server.end()
        await asyncio.sleep(after)
        server.caller_starts()
        await asyncio.sleep(0.5)

    return ran(peer, play)
