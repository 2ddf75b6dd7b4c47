"""An agent that floods the connection is infrastructure: it may not starve the frames, fill the disk, or be judged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from apex_tui.agents.seam import AgentAudio, AgentText, ProviderError, ToolRequest, UserTranscript
from apex_tui.engine.conductor import CALL_WEIGHT, CHARS_PER_MESSAGE, FLOOD_MESSAGES, weight
from apex_tui.engine.session import run_session
from apex_tui.timeline.messages import Run

pytestmark = pytest.mark.realtime


async def _flood(connection: ServerConnection) -> None:
    await connection.send(json.dumps({"type": "session.created", "session": {}}))
    update = json.loads(await connection.recv())
    await connection.send(json.dumps({"type": "session.updated", "session": update["session"]}))
    await connection.send(json.dumps({"type": "response.created", "response": {"id": "r"}}))
    word = json.dumps(
        {
            "type": "response.output_audio_transcript.delta",
            "response_id": "r",
            "item_id": "i",
            "content_index": 0,
            "delta": "la ",
        }
    )
    while True:
        for _ in range(500):
            await connection.send(word)
        await asyncio.sleep(0)


async def test_a_flood_ends_the_session_in_order_and_judges_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FLOOD_MESSAGES == 5000
    monkeypatch.setattr("apex_tui.engine.conductor.FLOOD_MESSAGES", 1500)  # the rule is the same, and seconds sooner
    async with serve(_flood, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        command = Run(
            workflow="leave-request",
            agent="realtime",
            url=f"ws://127.0.0.1:{port}/x",
            sound="none",
            out=str(tmp_path),
        )
        async with asyncio.timeout(90):
            result = await run_session(command, lambda item: None)
    assert (result.score.validity, result.score.success) == ("infrastructure", False)
    assert (result.folder / "score.json").exists()
    assert (result.folder / "events.jsonl").stat().st_size < 5 << 18


def test_long_texts_and_calls_weigh_more_than_pieces_of_speech() -> None:
    """Otherwise a few messages of 64 KiB, or a thousand calls, would pass for a second of speech."""
    long = "x" * 64 * CHARS_PER_MESSAGE
    assert weight(AgentText("r", "i", "Which dates would you like off?")) == 1
    assert weight(AgentText("r", "i", long)) == weight(UserTranscript("i", long, True)) == 65
    assert weight(ProviderError("k", long)) == 65
    assert weight(ToolRequest("c", "n", {}, None)) == CALL_WEIGHT
    assert weight(ToolRequest("c", "n", {"a": long}, None)) >= CALL_WEIGHT + 64
    assert weight(AgentAudio("r", "i", bytes(1 << 20))) == 1, "sound may come many times faster than it plays"
