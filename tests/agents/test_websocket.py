"""Real sockets on the loopback: what a user is told when an agent cannot be reached, and how a connection ends."""

from __future__ import annotations

import asyncio
import json
import socket
from http import HTTPStatus
from typing import Any

import pytest
from agent_kit import SETUP, TOOLS
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.profile import OPENAI, flat_tool
from apex_tui.agents.seam import AgentAudio, Closed
from apex_tui.agents.websocket import WebsocketTransport, shown_url
from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import UserError

pytestmark = pytest.mark.realtime
UPDATED = json.dumps({"type": "session.updated", "session": {"tools": [flat_tool(tool) for tool in TOOLS]}})


def port_of(server: Any) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])


async def test_a_1001_ends_the_session_and_is_not_clean() -> None:
    async def session(server: ServerConnection) -> None:
        await server.recv()
        await server.send(UPDATED)
        delta = "AAAA" * (512 * 1024)
        await server.send(
            json.dumps({"type": "response.output_audio.delta", "response_id": "r", "item_id": "i", "delta": delta})
        )
        await server.close(1001, "Your session hit the maximum duration of 60 minutes.")

    async with serve(session, "127.0.0.1", 0) as server:
        agent = RealtimeAgent(WebsocketTransport(f"ws://127.0.0.1:{port_of(server)}/v1/realtime?model=x"), OPENAI)
        await agent.open(SETUP)
        events = [stamped.event async for stamped in agent.events()]
        await agent.close()
    assert sum(len(event.pcm) for event in events if isinstance(event, AgentAudio)) == 3 * 512 * 1024
    assert events[-1] == Closed(1001, "Your session hit the maximum duration of 60 minutes.", False)


async def test_a_message_above_our_limit_ends_the_session_on_this_side_and_names_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("apex_tui.agents.websocket.MAX_SIZE", 4096)

    async def session(server: ServerConnection) -> None:
        await server.recv()
        await server.send(UPDATED)
        await server.send(json.dumps({"type": "x", "pad": "a" * 5000}))
        await server.wait_closed()

    async with serve(session, "127.0.0.1", 0) as server:
        agent = RealtimeAgent(WebsocketTransport(f"ws://127.0.0.1:{port_of(server)}"), OPENAI)
        await agent.open(SETUP)
        (end,) = [stamped.event async for stamped in agent.events()]
        await agent.close()
    assert isinstance(end, Closed)
    assert (end.code, end.clean, end.here) == (1009, False, True)
    assert end.sentence.startswith("the connection was ended on this side (close code 1009, ")
    assert "larger than MAX_SIZE in apex_tui/agents/websocket.py" in end.sentence


async def test_a_connection_that_breaks_has_no_code() -> None:
    async def session(server: ServerConnection) -> None:
        await server.recv()
        await server.send(UPDATED)
        server.transport.abort()

    async with serve(session, "127.0.0.1", 0) as server:
        agent = RealtimeAgent(WebsocketTransport(f"ws://127.0.0.1:{port_of(server)}"), OPENAI)
        await agent.open(SETUP)
        events = [stamped.event async for stamped in agent.events()]
        await agent.close()
    end = events[-1]
    assert end == Closed(None, "", False)
    assert isinstance(end, Closed)
    assert end.sentence == "the connection to the agent broke"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, r"refused MY_KEY \(401\)"),
        (404, "correct the path or the model"),
        (429, "more sessions"),
        (503, "HTTP 503"),
    ],
)
async def test_a_refused_connection_says_why(status: int, sentence: str) -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        assert request.headers["Authorization"] == "Bearer sk-secret-1234"
        return connection.respond(HTTPStatus(status), "no")

    async def nobody(server: ServerConnection) -> None:
        return

    async with serve(nobody, "127.0.0.1", 0, process_request=refuse) as server:
        url = f"ws://127.0.0.1:{port_of(server)}/v1/realtime?token=secret"
        transport = WebsocketTransport(url, {"Authorization": "Bearer sk-secret-1234"}, "MY_KEY")
        with pytest.raises(UserError, match=sentence) as caught:
            await transport.connect()
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(transport)


async def test_nothing_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(UserError, match=f"Nothing listens at ws://127.0.0.1:{port}/x; start the server"):
            await WebsocketTransport(f"ws://127.0.0.1:{port}/x").connect()


async def test_a_server_that_is_no_websocket_server() -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"SSH-2.0-x\r\n")
        writer.close()

    server = await asyncio.start_server(rude, "127.0.0.1", 0)
    async with server:
        with pytest.raises(UserError, match="does not answer as a websocket server"):
            await WebsocketTransport(f"ws://127.0.0.1:{port_of(server)}").connect()


async def test_tls_and_unknown_hosts_and_addresses() -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(rude, "127.0.0.1", 0)
    async with server:
        with pytest.raises(UserError, match="No safe connection to wss://"):
            await WebsocketTransport(f"wss://127.0.0.1:{port_of(server)}").connect()
    with pytest.raises(UserError, match="is no websocket address"):
        await WebsocketTransport("http://127.0.0.1/").connect()


def test_addresses_are_shown_without_secrets() -> None:
    assert shown_url("wss://me:pw@host:1/v1?model=m&api-key=k") == "wss://host:1/v1?model=m"
    assert shown_url("ws://[::1]:5/x?token=t") == "ws://[::1]:5/x"
    assert shown_url("ws://host:port/") == "the given address"


@pytest.mark.parametrize(
    ("url", "here"),
    [("ws://127.0.0.1:1", True), ("ws://[::1]:1", True), ("ws://localhost", True), ("wss://api.openai.com", False)],
)
def test_loopback_addresses_need_no_proxy(url: str, here: bool) -> None:
    assert is_loopback(url) is here
