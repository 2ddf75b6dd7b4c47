"""Whole sessions through the engine with an agent that has no voice."""

from __future__ import annotations

from pathlib import Path

import pytest
from canary_kit import CANARY, Session
from http_peer import ERROR_401, Answer, HttpPeer, Request, chat_calls, chat_chunk

from apex_tui.timeline.agent_facts import (
    AgentActed,
    AgentConnected,
    BargeInOpened,
    ReplyClosed,
    ResponseMeasured,
    SilenceMeasured,
)
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.work_facts import ToolCalled

pytestmark = pytest.mark.realtime


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
