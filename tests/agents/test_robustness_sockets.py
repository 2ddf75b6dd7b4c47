"""Rows of the table of bug reports that only a real socket can play: what the websocket library makes of sizes, closes and slow peers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agent_kit import SETUP
from live_kit import Engine, Ran
from peers.base import Server, b64, served
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.agents import websocket
from apex_tui.agents.gemini.agent import GeminiAgent
from apex_tui.agents.gemini.profile import GEMINI
from apex_tui.agents.gptlive.agent import GptLiveAgent
from apex_tui.agents.gptlive.profile import GPT_LIVE
from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.websocket import WebsocketTransport

pytestmark = pytest.mark.realtime
FAMILIES: dict[str, Any] = {
    "ga": (RealtimePeer, lambda transport: RealtimeAgent(transport, OPENAI)),
    "gemini": (GeminiPeer, lambda transport: GeminiAgent(transport, GEMINI)),
    "gpt-live": (
        lambda: GptLivePeer(track=False),
        lambda transport: GptLiveAgent(transport, GPT_LIVE, utc=lambda: 1_999_992_800.0),
    ),
}


async def conduct(family: str, play: Any, seconds: float = 0.6) -> tuple[Ran, Server]:
    make, agent_of = FAMILIES[family]
    ran = Ran()
    async with served(make) as (port, servers):
        agent = agent_of(WebsocketTransport(f"ws://127.0.0.1:{port}/"))
        await agent.open(SETUP)
        play(servers[0])
        await Engine(agent, ran).run(seconds)
    return ran, servers[0]


@pytest.mark.parametrize("family", FAMILIES)
async def test_row_12_four_mebibytes_in_one_message(family: str) -> None:
    raw = (b"\x10\x27" * 240 + b"\xf0\xd8" * 240) * 3300  # a loud square wave of 50 Hz

    def play(peer: Any) -> None:
        if family == "gpt-live":
            peer.track(raw)
        elif family == "gemini":
            peer.audio(raw)
        else:
            peer.begin()
            peer.say("")
            peer.audio(raw)

    assert len(b64(raw)) > 4 * 1024 * 1024
    ran, _ = await conduct(family, play)
    assert ran.audio["r1"] == raw


@pytest.mark.parametrize("family", FAMILIES)
async def test_row_11_a_close_that_the_library_calls_clean_is_judged_by_its_code(family: str) -> None:
    why = "Your session hit the maximum duration of 60 minutes."
    ran, _ = await conduct(family, lambda peer: peer.hang_up(1001, why))
    assert ran.of("closed") == [("closed", 1001, False)]
    assert ran.messages[-1] == why


@pytest.mark.parametrize("family", FAMILIES)
async def test_a_connection_that_is_cut_is_not_clean(family: str) -> None:
    def play(peer: Any) -> None:
        peer._link._connection.transport.abort()

    ran, _ = await conduct(family, play)
    assert ran.of("closed")[0][2] is False


@pytest.mark.parametrize(
    ("timeout_s", "survives"), [(30.0, True), (0.1, False)], ids=["ours", "as short as the interval"]
)
async def test_row_13_a_peer_whose_pongs_are_slow_is_not_dead(
    timeout_s: float, survives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server reads nothing for a while, pings included. With a timeout as short as the interval the same pause ends the session."""
    assert websocket.PING_TIMEOUT_S >= 3 * websocket.PING_INTERVAL_S
    monkeypatch.setattr(websocket, "PING_INTERVAL_S", 0.1)
    monkeypatch.setattr(websocket, "PING_TIMEOUT_S", timeout_s)
    words = bytes(range(256)) * 18

    async def pause(peer: Any) -> None:
        transport = peer._link._connection.transport
        transport.pause_reading()
        await asyncio.sleep(0.8)
        transport.resume_reading()
        peer.begin()
        peer.say("Here again.", words)
        peer.end()

    tasks: list[asyncio.Task[None]] = []
    ran, peer = await conduct("ga", lambda peer: tasks.append(asyncio.ensure_future(pause(peer))), 2.5)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (ran.audio.get("r1") == words) is survives
    assert ran.of("closed") == [("closed", 1000, True) if survives else ("closed", 1011, False)]
    if survives:
        assert len(peer.heard) >= ran.sent_bytes - 6_000, "what was said meanwhile waited and arrived"


async def test_row_18_a_gemini_session_moves_over_real_sockets() -> None:
    shared = GeminiPeer()
    ran = Ran()
    async with served(lambda: shared) as (port, _):

        def dial() -> WebsocketTransport:
            return WebsocketTransport(f"ws://127.0.0.1:{port}/")

        agent = GeminiAgent(dial(), GEMINI, dial=dial)
        await agent.open(SETUP)
        engine = asyncio.ensure_future(Engine(agent, ran).run(1.2))
        await asyncio.sleep(0.2)
        shared.go_away("20s")
        await asyncio.sleep(0.4)
        shared.say("After the change.", bytes(range(256)) * 18)
        shared.end()
        await engine
    assert shared.opened_links == 2
    assert shared.resumed == shared.handles[:1]
    assert ran.audio == {"r1": bytes(range(256)) * 18}
    assert "as announced" in ran.messages[1]
    assert ran.of("closed") == [("closed", 1000, True)]
    assert json.dumps(shared.faults) == "[]"
