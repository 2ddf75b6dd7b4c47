"""A planted key, in every family: it travels in the request's head and is found in no frame, file, log, screen line or error.

Each server does its worst: it repeats the key in what it accepted, in words (whole, and cut into pieces), in transcripts, calls, errors and
the close reason. (Chat completions: ``test_agent_sessions``.)
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from canary_kit import CANARY, Session
from http_peer import ERROR_401, Answer, HttpPeer, Request, chat_calls, chat_words, response_events
from live_kit import SECOND
from peers.base import Server, served
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.cli.main import main
from apex_tui.timeline.agent_facts import AgentSaid
from apex_tui.timeline.session_facts import SessionEnded

pytestmark = pytest.mark.realtime
PIECES = ("My key is ", CANARY[:8], CANARY[8:15], CANARY[15:], f", yes, {CANARY}.")
ARGUMENTS = {"query": CANARY}
HEADERS = {"openai": "authorization", "gpt-live": "authorization", "gemini": "x-goog-api-key"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ("OPENAI_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("".join(f"{name}={CANARY}\n" for name in names))


def soon(act: Callable[[], Any]) -> None:
    asyncio.get_running_loop().call_later(0.3, act)


class Realtime(RealtimePeer):
    def _update(self, message: dict[str, Any]) -> None:
        self.emit("session.updated", session={**message["session"], "model": CANARY, "voice": CANARY})
        soon(self.worst)

    def worst(self) -> None:
        self.error(CANARY, f"Incorrect API key provided: {CANARY}. Bearer {CANARY}", CANARY)
        self.begin()
        for piece in PIECES:
            self.say(piece)
        self.audio(SECOND)
        self.call("c1", "search_knowledge", json.dumps(ARGUMENTS))
        self.call("c2", CANARY, "{}")
        self.transcript_piece("item", CANARY[:12])
        self.transcribe("item", f"The caller read out {CANARY}")
        self.end("failed", CANARY, {"code": CANARY, "message": CANARY})
        self.hang_up(1008, f"bad key {CANARY}")


class Gemini(GeminiPeer):
    def _set_up(self, setup: Any) -> None:
        super()._set_up(setup)
        soon(self.worst)

    def worst(self) -> None:
        for piece in PIECES:
            self.content(outputTranscription={"text": piece})
        self.audio(SECOND)
        self.caller_said(CANARY)
        self.calls(("c1", "search_knowledge", ARGUMENTS), (CANARY, CANARY, {}))
        self.content(turnComplete=True, turnCompleteReason=CANARY)
        self.hang_up(1008, f"bad key {CANARY}")


class Live(GptLivePeer):
    def _start(self, message: dict[str, Any]) -> None:
        super()._start(message)
        soon(self.worst)

    def worst(self) -> None:
        self.track(SECOND)
        for piece in PIECES:
            self.words(piece, 100, 200)
        self.caller_said(CANARY, 100, 200)
        self.error(CANARY, f"Incorrect API key provided: {CANARY}")
        self.delegate(("c1", "search_knowledge", json.dumps(ARGUMENTS)), ("c2", CANARY, "{}"))
        self.emit("session.closed", reason=CANARY, usage={CANARY: 1})
        self.hang_up(1008, f"bad key {CANARY}")


def worst_script(request: Request) -> Answer:
    """Of an HTTP service: words and calls with the key, then a refusal that repeats it."""
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    if request.path == "/audio/transcriptions":
        return Answer([json.dumps({"text": f"it is {CANARY}"}).encode()], 200, "application/json")
    if request.path == "/audio/speech":
        return Answer([SECOND], 200, "audio/pcm")
    told = request.json()
    if any("tool" in (entry.get("role") or entry.get("type") or "") or entry.get("type") == "function_call_output"
           for entry in told.get("messages") or told.get("input")):  # fmt: skip
        return Answer([ERROR_401], 401, "application/json")
    calls = (("c1", "search_knowledge", json.dumps(ARGUMENTS)), ("c2", CANARY, "{}"))
    if request.path == "/responses":
        return Answer(response_events(*PIECES, calls=calls))
    return Answer([*chat_words(*PIECES)[:-3], *chat_calls(*calls)])


def ours(request: Request) -> str:
    """What a request says that is not the model's own: its words and calls of before must go back to it as they were."""
    if not request.body.startswith(b"{"):
        return request.body.decode("utf-8", "replace")
    body = request.json()
    name = "messages" if "messages" in body else "input"
    if isinstance(body.get(name), list):
        own = [e for e in body[name] if e.get("role") != "assistant" and e.get("type") != "function_call"]
        body[name] = [entry for entry in own if CANARY not in (entry.get("call_id"), entry.get("tool_call_id"))]
    return json.dumps(body)


@asynccontextmanager
async def service(agent: str) -> AsyncIterator[tuple[str, Callable[[], list[str]]]]:
    """The address of a server of this family, and a look at everything that it was sent after the request's head."""
    if agent in ("chat", "responses", "cascade"):
        peer = HttpPeer(worst_script)
        async with peer.running():
            yield peer.url, lambda: [ours(request) for request in peer.requests]
        return
    make: type[Server] = {"gemini": Gemini, "gpt-live": Live}.get(agent, Realtime)
    async with served(make) as (port, servers):

        def frames() -> list[str]:
            link: Any = servers[0]._link
            assert CANARY in link._connection.request.headers[HEADERS[agent]]
            return [json.dumps(message) for message in servers[0].got]

        yield f"ws://127.0.0.1:{port}/v1/realtime?token={CANARY}", frames


@pytest.mark.parametrize("agent", ["openai", "gemini", "gpt-live", "responses", "cascade"])
async def test_a_planted_key_is_in_nothing_that_a_session_leaves(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with service(agent) as (url, frames):
        session = await Session().run(tmp_path, agent=agent, url=url, model="m", max_s=12)
        sent = frames()
    assert sent
    assert CANARY not in "".join(sent)
    (ended,) = session.facts(SessionEnded)
    assert ended.outcome == "infrastructure", ended.reason
    said = "".join(fact.text for fact in session.facts(AgentSaid) if not fact.final) or session.facts(AgentSaid)[0].text
    assert said.startswith("My key is [key], yes, [key].")
    session.assert_clean()
    captured = capsys.readouterr()
    written = [record.getMessage() for record in caplog.records if record.name != "websockets.server"]
    assert not [line for line in written if CANARY in line], "at the level of DEBUG"
    assert CANARY not in captured.out + captured.err
    assert session.result is not None
    assert CANARY[:12] not in (session.result.folder / "events.jsonl").read_text(), "nor the half of it"


@pytest.mark.parametrize("agent", ["openai", "gemini", "gpt-live", "chat", "cascade"])
def test_a_planted_key_is_not_in_an_error_of_the_command(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    scheme = "http" if agent in ("chat", "cascade") else "ws"
    assert main(["agents", "check", agent, "--url", f"{scheme}://user:{CANARY}@127.0.0.1:9/x?key={CANARY}"]) == 2
    captured = capsys.readouterr()
    assert captured.err
    assert CANARY not in captured.out + captured.err
