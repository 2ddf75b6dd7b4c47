"""Whole sessions through the engine: an agent without a voice, and a planted key that must be found nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_peer import ERROR_401, Answer, HttpPeer, Request, chat_calls, chat_chunk
from websockets.asyncio.server import ServerConnection, serve

from apex_tui.agents.realtime.profile import flat_tool
from apex_tui.engine.session import Result, run_session
from apex_tui.timeline.agent_facts import (
    AgentActed,
    AgentConnected,
    AgentError,
    BargeInOpened,
    ReplyClosed,
    ResponseMeasured,
    SilenceMeasured,
)
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run, output_line
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.work_facts import ToolCalled
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workflow.library import find_workflow

pytestmark = pytest.mark.realtime
CANARY = "sk-canary-0123456789"


class Session:
    """A session with everything that the engine said to a screen."""

    def __init__(self) -> None:
        self.said: list[Event | AnyNotice] = []
        self.result: Result | None = None

    async def run(self, out: Path, **command: Any) -> Session:
        self.result = await run_session(
            Run(workflow="leave-request", sound="none", out=str(out), **command), self.said.append
        )
        return self

    def facts(self, kind: type[Fact]) -> list[Any]:
        return [item.fact for item in self.said if isinstance(item, Event) and isinstance(item.fact, kind)]

    def assert_clean(self) -> None:
        """The key is in no file of the session, and in no line that a screen is given."""
        assert self.result is not None
        for path in self.result.folder.rglob("*"):
            if path.is_file():
                assert CANARY.encode() not in path.read_bytes(), path.name
        assert CANARY not in "\n".join(output_line(item) for item in self.said)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={CANARY}\n")


async def test_what_a_text_agent_writes_counts_as_heard_and_nothing_of_sound_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    answers = [
        Answer(chat_calls(("c1", "search_knowledge", '{"query": "leave"}'))),
        Answer(
            [
                chat_chunk({"content": "From which start date?"}),
                *chat_calls(("c2", "search_knowledge", '{"query": "x"}')),
            ]
        ),
        Answer([ERROR_401], 401, "application/json"),
    ]

    def script(request: Request) -> Answer:
        assert request.headers["authorization"] == f"Bearer {CANARY}"
        return answers.pop(0) if len(answers) > 1 else answers[0]

    peer = HttpPeer(script)
    async with peer.running():
        session = await Session().run(tmp_path, agent="chat", url=peer.url, model="m", max_s=12)
    (connected,) = session.facts(AgentConnected)
    assert connected.capabilities["audio_out"] is False
    assert connected.model == "m"
    assert len(session.facts(ToolCalled)) == 2
    closed = session.facts(ReplyClosed)
    assert closed[1].how == "silent"
    assert closed[1].heard == closed[1].text == "From which start date?"
    assert "ASK:start_date" in [act.key for act in session.facts(AgentActed)], "the caller read it"
    for kind in (BargeInOpened, ResponseMeasured, SilenceMeasured):
        assert session.facts(kind) == []
    said = [message["content"] for message in peer.requests[-1].json()["messages"] if message["role"] == "user"]
    assert len(said) == 1
    assert "leave" in said[0]
    (ended,) = session.facts(SessionEnded)
    assert ended.outcome == "infrastructure", "a refused key judges nobody"
    assert "OPENAI_API_KEY" in ended.reason
    assert CANARY in ERROR_401.decode(), "the server repeats the key"
    session.assert_clean()
    captured = capsys.readouterr()
    assert CANARY not in captured.out + captured.err + caplog.text


async def test_a_planted_key_is_in_nothing_that_a_voice_session_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = [flat_tool(tool) for tool in tool_schemas(find_workflow("leave-request"))]
    seen: list[str] = []

    async def server(socket: ServerConnection) -> None:
        assert socket.request is not None
        seen.append(socket.request.headers["Authorization"])
        await socket.recv()
        await socket.send(json.dumps({"type": "session.updated", "session": {"tools": tools, "model": CANARY}}))
        message = f"Incorrect API key provided: {CANARY}. Bearer {CANARY}"
        for error in ({"code": CANARY, "message": message}, {"type": "x", "message": message, "event_id": CANARY}):
            await socket.send(json.dumps({"type": "error", "error": error}))
        words = {
            "type": "response.output_audio_transcript.delta",
            "response_id": "r",
            "item_id": "i",
            "delta": f"My key is {CANARY}.",
        }
        await socket.send(json.dumps(words))
        await socket.close(1008, f"bad key {CANARY}")

    async with serve(server, "127.0.0.1", 0) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{port}/v1/realtime?token={CANARY}"
        session = await Session().run(tmp_path, agent="openai", url=url, max_s=3)
    assert seen == [f"Bearer {CANARY}"]
    assert session.facts(AgentError) != []
    (ended,) = session.facts(SessionEnded)
    assert ended.outcome == "infrastructure"
    assert "1008" in ended.reason
    session.assert_clean()
    captured = capsys.readouterr()
    assert CANARY not in captured.out + captured.err
