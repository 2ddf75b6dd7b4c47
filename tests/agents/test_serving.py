"""An agent in twenty lines: the example of docs/agents.md is run as it stands there, and what a handler may do is tried."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_kit import SETUP, tone
from text_kit import Talk, made
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from apex_tui.agents import Call, Say, Turn, serving
from apex_tui.agents.check import check_agent
from apex_tui.agents.seam import (
    AgentAudio,
    AgentText,
    Closed,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    ToolRequest,
    UserTranscript,
)
from apex_tui.audio.frames import RATE, pcm_bytes, silence, to_samples
from apex_tui.timeline.errors import UserError

pytestmark = pytest.mark.realtime
DOCS = Path(__file__).parents[2] / "docs" / "agents.md"


def example() -> str:
    """The first Python block of the docs."""
    found = re.search(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


async def test_the_example_of_the_docs_runs_and_passes_the_check(tmp_path: Path) -> None:
    code = example()
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    path = tmp_path / "my_agent.py"
    path.write_text(code.replace("port=8765", "port=0"))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(path),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(DOCS.parents[1])},
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        url = line.strip().removeprefix("serving at ")
        report = await check_agent(made("realtime", url))
        assert report.problems == []
        assert report.tool_arguments == {"number": 7}
        assert report.answer
        assert report.audio_ms > 0
        assert report.first_audio_ms is not None
        assert report.first_audio_ms < 10_000
    finally:
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0


@contextlib.asynccontextmanager
async def talk_to(handler: Any, **more: Any) -> AsyncIterator[Talk]:
    async with serving(handler, **more) as url:
        agent = made("realtime", url)
        await agent.open(SETUP)
        talk = Talk(agent)
        yield talk
        await talk.end()


def turn(talk: Talk) -> None:
    talk.hear(silence(to_samples(200)))
    talk.hear(tone(0.4))
    talk.hear(silence(to_samples(600)))


async def test_a_turn_brings_its_sound_and_words_and_results_come_back_into_the_handler() -> None:
    turns: list[Turn] = []
    results: list[Any] = []

    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        turns.append(turn)
        turn.memory["turns"] = turn.memory.get("turns", 0) + 1
        yield Say("One moment.", pcm_bytes(tone(0.2)))
        results.append((yield Call("update_form", {"date": "2026-12-14"})))
        results.append((yield [Call("submit"), Call("submit", {"n": 2})]))
        yield f"Turn {turn.memory['turns']}"

    async def transcribe(audio: bytes) -> str:
        return f"{len(audio) // 2}"

    async with talk_to(agent, transcribe=transcribe) as talk:
        talk.answers = {"update_form": '{"version": 4}', "submit": "not json"}
        turn(talk)
        await talk.count(ReplyEnded, 3)
        assert [request.name for request in talk.of(ToolRequest)] == ["update_form", "submit", "submit"]
        assert results == [{"version": 4}, ["not json", "not json"]]
        assert talk.of(AgentText)[-1].text == "Turn 1"
        (heard,) = talk.of(UserTranscript)
        assert int(heard.text) == pytest.approx(0.8 * RATE, abs=0.05 * RATE)
        assert len(talk.of(SpeechStarted)) == len(talk.of(SpeechStopped)) == 1
        first = b"".join(audio.pcm for audio in talk.of(AgentAudio) if audio.reply == talk.of(ReplyEnded)[0].reply)
        assert first == pcm_bytes(tone(0.2))
        turn(talk)
        await talk.until(lambda: talk.of(AgentText)[-1].text == "Turn 2")
    assert turns[0].tools[0]["name"] == "update_form"
    assert turns[0].instructions == SETUP.instructions
    assert talk.seen[-1].event == Closed(1000, "", clean=True)


async def test_a_caller_who_speaks_ends_the_reply_and_closes_the_generator() -> None:
    closed = asyncio.Event()

    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        try:
            yield "a very long answer that goes on and on for many seconds of sound and more"
            yield Call("submit")
        finally:
            closed.set()

    async with talk_to(agent) as talk:
        turn(talk)
        await talk.count(AgentAudio, 2)
        talk.hear(tone(0.3))
        (ended,) = await talk.count(ReplyEnded, 1)
        assert (ended.status, ended.reason) == ("cancelled", "turn_detected")
        await asyncio.wait_for(closed.wait(), 1)
        assert not talk.of(ToolRequest)


async def test_a_check_of_a_handler_that_fails_says_so_at_once() -> None:
    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        if not turn.memory:
            raise ValueError("no")
        yield "Never."

    async with serving(agent) as url:
        report = await check_agent(made("realtime", url))
    assert report.problems == ["its reply ended as failed (handler_error: ValueError)"]


async def test_a_handler_that_fails_is_a_failed_reply_and_the_session_goes_on() -> None:
    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        turn.memory["n"] = turn.memory.get("n", 0) + 1
        if turn.memory["n"] == 1:
            raise ValueError("no")
        yield "Again."

    async with talk_to(agent) as talk:
        turn(talk)
        (ended,) = await talk.count(ReplyEnded, 1)
        assert (ended.status, ended.reason) == ("failed", "handler_error: ValueError")
        turn(talk)
        await talk.count(ReplyEnded, 2)
        assert talk.of(ReplyEnded)[1].status == "completed"


async def test_odd_clients_get_errors_and_nothing_breaks() -> None:
    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        yield "Hello."

    async with serving(agent) as url, connect(url) as socket:
        assert "session.created" in str(await socket.recv())
        for message in (
            b"\x00\xff",
            "[]",
            '{"type":"nonsense"}',
            '{"type":"input_audio_buffer.append","audio":"!"}',
            '{"type":"response.cancel"}',
            '{"type":"response.create"}',
            '{"type":"conversation.item.create","item":{"type":"odd"}}',
        ):
            await socket.send(message)
            assert '"type":"error"' in str(await socket.recv())


async def test_push_to_talk_is_refused_since_the_turns_are_found_here(tmp_path: Path) -> None:
    async def handler(turn: Turn) -> AsyncGenerator[Any, Any]:
        yield "Hello."

    profiles = tmp_path / "agents.toml"
    profiles.write_text('[button]\nextends = "realtime"\nturn_detection = "push_to_talk"\n')
    async with serving(handler) as url:
        agent = made("button", url, profile_file=profiles)
        with pytest.raises(UserError, match="this agent finds the turns itself, and takes no push-to-talk"):
            await agent.open(SETUP)
        await agent.close()


async def test_a_page_from_elsewhere_cannot_use_the_agent_of_this_machine() -> None:
    """A browser lets any page open a websocket to the loopback; it says for whom, and that is all that tells it from a program."""

    async def agent(turn: Turn) -> AsyncGenerator[str, Any]:
        yield "Hello."

    async with serving(agent) as url:
        for origin in (None, "http://localhost:3000", "http://127.0.0.1"):
            async with connect(url, origin=Origin(origin) if origin else None) as socket:
                assert "session.created" in str(await socket.recv())
        for origin in (
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
            "http://127.0.0.1:1@evil.example",
        ):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, origin=Origin(origin))
            assert refused.value.response.status_code == 403


async def test_a_taken_port_is_one_sentence() -> None:
    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        yield "x"

    async with serving(agent) as url:
        port = int(url.split(":")[2].split("/")[0])
        with pytest.raises(UserError, match=f"127.0.0.1:{port} cannot be used .*; choose another port"):
            async with serving(agent, port=port):
                pass
