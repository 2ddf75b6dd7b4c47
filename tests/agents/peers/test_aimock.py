"""aimock (npm), a server that nobody here wrote: a turn and a tool loop over four protocols and a cascade, and the strict order of GPT-Live.

Needs node and npm. The package is fetched once (12 MB, no dependencies) into ``APEX_TUI_AIMOCK`` or a temporary folder; where it cannot be
had the tests are skipped, and say so. aimock neither hears nor speaks (as the voice of a cascade it plays a clip): everything about sound is
tested with the servers beside this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_kit import LINES, TOOLS, tone, workflow
from live_kit import SECOND, SILENT_FRAME, Engine, Ran

from apex_tui.agents.gptlive.agent import GptLiveAgent
from apex_tui.agents.gptlive.profile import GPT_LIVE, start_session
from apex_tui.agents.registry import make_agent
from apex_tui.agents.seam import AgentSetup, Closed, ProviderError, ToolRequest
from apex_tui.agents.websocket import WebsocketTransport
from apex_tui.audio.frames import pcm_bytes
from peers.base import b64

pytestmark = [pytest.mark.realtime, pytest.mark.filterwarnings("ignore::ResourceWarning")]
PACKAGE = "@copilotkit/aimock@1.43.0"
SIX_SAMPLES = bytes.fromhex("000001 00ffff 0200fe ff0000".replace(" ", ""))
SENSORS = tuple(
    {"name": name, "description": "Reads a sensor.", "parameters": {"type": "object", "properties": {}}}
    for name in ("read_red", "read_blue")
)
LIVE_SETUP = AgentSetup("Check the sensors.", SENSORS)
FIXTURES = {
    "fixtures": [
        {
            "match": {"userMessage": "date", "hasToolResult": False},
            "response": {"toolCalls": [{"name": "update_form", "arguments": {"date": "2026-12-14"}}]},
        },
        {"match": {"hasToolResult": True}, "response": {"content": "It is noted."}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Good day to you."}},
        {"match": {"endpoint": "speech"}, "response": {"audio": b64(SECOND), "format": "pcm"}},
        {"match": {"endpoint": "transcription"}, "response": {"transcription": {"text": "hello"}}},
    ]
}


def installed(folder: Path) -> Path:
    """The package's folder. Skips where it cannot be had."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("SKIPPED: aimock needs node and npm, which are not installed")
    root = Path(os.environ.get("APEX_TUI_AIMOCK", folder))
    package = root / "node_modules" / "@copilotkit" / "aimock"
    if not package.is_dir():
        command = ["npm", "install", "--prefix", str(root), "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            pytest.skip(f"SKIPPED: {PACKAGE} cannot be fetched from npm: {done.stderr.strip()[-200:]}")
    return package


def live_fixture(package: Path) -> dict[str, Any]:
    """The strict conversation that aimock ships, with the session that our client asks for."""
    fixture: dict[str, Any] = json.loads((package / "fixtures" / "openai-live-managed.json").read_text())
    (only,) = fixture["fixtures"]
    live, ours = only["response"]["live"], start_session(GPT_LIVE, LIVE_SETUP)
    live["configuration"] = ours
    for entry in live["entries"]:
        event = entry["event"]
        if event["type"] == "session.start":
            event["session"] = ours
        elif "session" in event:
            own = {name: event["session"][name] for name in ("id", "expires_at", "status") if name in event["session"]}
            event["session"] = {**ours, **own}
    return fixture


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("aimock")
    package = installed(folder)
    fixtures = folder / "fixtures"
    fixtures.mkdir()
    (fixtures / "turns.json").write_text(json.dumps(FIXTURES))
    (fixtures / "live.json").write_text(json.dumps(live_fixture(package)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = int(free.getsockname()[1])
    command = ["node", str(package / "dist" / "cli.js"), "-p", str(number), "-f", str(fixtures)]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            for _ in range(100):
                if server.poll() is not None:
                    pytest.fail(f"aimock ended at once: {(folder / 'log').read_text()[-500:]}")
                with socket.socket() as knock:
                    if knock.connect_ex(("127.0.0.1", number)) == 0:
                        break
                time.sleep(0.1)
            yield number
        finally:
            server.terminate()


async def talk(name: str, url: str, seconds: float = 2.0, *, deaf: bool = False) -> Ran:
    """Greet the agent, then name a date; its tool runs at once. ``deaf``: the server ends the session when it is sent sound."""
    agent: Any = make_agent(
        name, url=url, model=None, workflow=workflow(), lines=LINES, virtual=False, wire=None, log_path=None
    )
    if deaf:
        agent.send_audio = lambda pcm: None
    ran = Ran()
    await agent.open(AgentSetup("Help the caller.", TOOLS))
    engine = Engine(agent, ran, tool_s=0.01)
    running = asyncio.ensure_future(engine.run(seconds))
    agent.send_text("hello")
    await asyncio.sleep(seconds / 3)
    agent.send_text("my date is the fourteenth")
    await running
    return ran


def judge(ran: Ran) -> None:
    assert ran.said["r1"] == "Good day to you."
    assert [event[2:] for event in ran.of("call")] == [("update_form", {"date": "2026-12-14"})]
    assert list(ran.runs.values()) == [1]
    assert list(ran.said.values())[-1] == "It is noted."
    assert not ran.of("error")
    assert {event[2] for event in ran.of("ended")} == {"completed"}


async def test_realtime(port: int) -> None:
    judge(await talk("realtime", f"ws://127.0.0.1:{port}/v1/realtime?model=gpt-realtime-2.1"))


@pytest.mark.parametrize("name", ["chat", "responses"])
async def test_text_agents(port: int, name: str) -> None:
    judge(await talk(name, f"http://127.0.0.1:{port}/v1"))


async def test_a_cascade_hears_asks_and_speaks(port: int) -> None:
    """The first turn by voice: aimock transcribes, answers and speaks; the sentence's sound arrives whole."""
    ran = Ran()
    agent: Any = make_agent(
        "cascade", url=f"http://127.0.0.1:{port}/v1", model=None, workflow=workflow(), lines=LINES, virtual=False, wire=None, log_path=None
    )  # fmt: skip
    lane = pcm_bytes(tone(0.5, 330.0)) + bytes(48_000 * 10)
    frames = iter(range(0, len(lane), len(SILENT_FRAME)))

    def frame() -> bytes:
        at = next(frames)
        return lane[at : at + len(SILENT_FRAME)]

    await agent.open(AgentSetup("Help the caller.", TOOLS))
    running = asyncio.ensure_future(Engine(agent, ran, tool_s=0.01, frame=frame).run(3.0))
    while not ran.of("ended") and not running.done():
        await asyncio.sleep(0.02)
    agent.send_text("my date is the fourteenth")
    await running
    assert ran.of("heard") == [("heard", "hello", True)]
    judge(ran)
    assert ran.audio["r1"] == SECOND


async def test_gemini(port: int) -> None:
    path = "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
    judge(await talk("gemini", f"ws://127.0.0.1:{port}/{path}?key=k", deaf=True))


async def live(port: int, *, wrong: bool = False) -> list[Any]:
    """The managed conversation. ``wrong``: the results come in another order than the fixture demands."""
    agent = GptLiveAgent(WebsocketTransport(f"ws://127.0.0.1:{port}/v1/live/sessions"), GPT_LIVE)
    ready = await agent.open(LIVE_SETUP)
    assert ready.accepted["tools"] == ["read_red", "read_blue"]
    agent.send_audio(SIX_SAMPLES)
    seen: list[Any] = []
    calls: list[ToolRequest] = []

    async def read() -> None:
        async for stamped in agent.events():
            seen.append(stamped.event)
            if isinstance(stamped.event, ToolRequest):
                calls.append(stamped.event)
                for call in (calls[::-1] if wrong else calls) if len(calls) == 2 else ():
                    value = 7 if call.name == "read_red" else 9
                    agent.send_tool_result(call.call_id, f'{{"sensor":"{call.name}","value":{value}}}')

    reading = asyncio.ensure_future(read())
    await asyncio.sleep(1.0)
    await agent.close()
    await asyncio.wait_for(reading, 5.0)
    return seen


async def test_the_order_of_gpt_live(port: int) -> None:
    seen = await live(port)
    assert [event.name for event in seen if isinstance(event, ToolRequest)] == ["read_red", "read_blue"]
    assert not [event for event in seen if isinstance(event, ProviderError)]
    assert seen[-1] == Closed(1000, seen[-1].reason, True)


async def test_the_order_of_gpt_live_is_really_judged(port: int) -> None:
    seen = await live(port, wrong=True)
    assert isinstance(seen[-1], Closed)
    assert seen[-1].code == 1008
