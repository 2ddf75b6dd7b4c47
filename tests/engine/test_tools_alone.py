"""`tools serve`: a workbench without a call, as the official client starts and mounts it; and the examples of docs/tools.md as they stand there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest

from apex_tui.agents import Turn
from apex_tui.engine.lone_bench import NO_CALLER, LoneBench
from apex_tui.engine.mcp_tools import Place, serving_http
from apex_tui.engine.mounted import Desk, Runner
from apex_tui.engine.probe_file import read_probe_file
from apex_tui.engine.probe_readers import check_query
from apex_tui.store.layout import create
from apex_tui.store.listing import list_recordings
from apex_tui.timeline.events import Event
from apex_tui.timeline.log import read_log
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workflow.library import find_workflow

pytestmark = pytest.mark.realtime
ROOT = Path(__file__).parents[2]
DAY_OFF = ROOT / "tests" / "data" / "day-off.yaml"
LEAVE = find_workflow("leave-request")


def block(kind: str) -> str:
    """The first block of its kind in the docs."""
    found = re.search(rf"```{kind}\n(.*?)```", (ROOT / "docs" / "tools.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def told(result: Any) -> dict[str, Any]:
    content = result.structured_content
    assert isinstance(content, dict)
    return content


async def test_the_example_agent_of_the_docs_mounts_the_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = LoneBench(LEAVE, create(tmp_path, "bench"), lambda event: None)
    desk = Desk(tool_schemas(LEAVE), "")
    desk.open(Runner(bench.take, bench.take_back, bench.emit))
    async with serving_http(desk, "Leave", Place("127.0.0.1", 0), None) as url:
        served: list[Any] = []
        with mock.patch("apex_tui.agents.serve", lambda agent, port: served.append((agent, port))):
            exec(block("python").replace("http://127.0.0.1:8808/mcp", url), {})
        (agent, port) = served[0]
        turn = Turn(audio=b"", text=None, instructions="", tools=(), memory={})
        assert [step async for step in agent(turn)] == ["Which dates would you like off?"]
        desk.close("over")
    assert port == 8765
    assert capsys.readouterr().out == "1 leave_type is one of annual, parental, sick, unpaid\n"
    summary = await bench.close()
    assert summary["calls"] == {"update_leave_form": {"done": 1, "failed": 1}}
    assert summary["artifacts"]["leave_form"]["fields"] == {"leave_type": "annual"}


def test_the_probe_file_of_the_docs_is_one(tmp_path: Path) -> None:
    path = tmp_path / "probe.toml"
    path.write_text(block("toml"), encoding="utf-8")
    table, page = read_probe_file(path, LEAVE)
    assert (table.sqlite, table.every_ms, page.every_ms) == (tmp_path / "office.db", 200.0, 500.0)
    assert table.query is not None
    check_query(table.query)


async def test_a_client_of_the_older_protocol_can_cancel_and_gets_slow_answers(tmp_path: Path) -> None:
    """What most frameworks speak: one session, a stream for each answer, and a message that cancels a call."""
    workflow = find_workflow(str(DAY_OFF))
    bench = LoneBench(workflow, create(tmp_path, "bench"), lambda event: None, approve_all=True)
    desk = Desk(tool_schemas(workflow), "Be kind.")
    desk.open(Runner(bench.take, bench.take_back, bench.emit))
    async with serving_http(desk, "Day off", Place("127.0.0.1", 0), None) as url:
        from mcp import Client

        async with Client(url, mode="legacy") as client:
            assert client.instructions == "Be kind."
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.call_tool("get_colleague", {"entity_id": "dana"})
            slow, _ = await asyncio.gather(
                client.call_tool("get_colleague", {"entity_id": "dana"}),
                client.call_tool("update_form", {"fields": {"day": "2026-12-14"}}),
            )
            assert told(slow)["entity"] == {"phone": "555-0142"}
            assert told(await client.call_tool("request_approval", {"target_id": "form"}))["ok"]
            assert told(await client.call_tool("submit_form", {"target_id": "form"}))["committed"] is True
        desk.close("over")
    summary = await bench.close()
    assert summary["calls"]["get_colleague"] == {"cancelled": 1, "done": 1}
    assert summary["approvals"] == "granted by the operator (--approve)"
    assert summary["artifacts"]["form"]["lifecycle"] == "COMMITTED"
    events = read_log(tmp_path / "bench" / "events.jsonl").events
    assert [event.actor for event in events if event.type == "approval.granted"] == ["operator"]


async def test_who_still_waits_when_it_ends_gets_an_answer(tmp_path: Path) -> None:
    workflow, running, called = find_workflow(str(DAY_OFF)), asyncio.Event(), list[str]()

    def note(event: Event) -> None:
        called.extend([event.type] if event.type == "tool.called" else [])
        if len(called) == 2:
            running.set()

    bench = LoneBench(workflow, create(tmp_path, "bench"), note)
    desk = Desk(tool_schemas(workflow), "")
    desk.open(Runner(bench.take, bench.take_back, bench.emit))

    async def hold(url: str, mode: Any) -> dict[str, Any]:
        from mcp import Client

        async with Client(url, mode=mode) as client:
            return told(await client.call_tool("get_colleague", {"entity_id": "dana"}))

    async with serving_http(desk, "Day off", Place("127.0.0.1", 0), None) as url:
        held = [asyncio.create_task(hold(url, mode)) for mode in ("auto", "legacy")]
        await asyncio.wait_for(running.wait(), 30)
        desk.close("the session is over")
    results = await asyncio.wait_for(asyncio.gather(*held), 30)
    assert [result["error"] for result in results] == ["the session is over"] * 2
    await bench.close()


async def test_a_client_starts_it_over_stdio_and_nobody_approves(tmp_path: Path) -> None:
    command = "from apex_tui.cli import main; raise SystemExit(main())"
    log = tmp_path / "stderr"
    with log.open("w") as stderr:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        server = StdioServerParameters(
            command=sys.executable,
            args=["-c", command, "tools", "serve", str(DAY_OFF), "--out", str(tmp_path / "out")],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        async with Client(stdio_client(server, errlog=stderr)) as client:
            assert len((await client.list_tools()).tools) == 5
            assert told(await client.call_tool("update_form", {"fields": {"day": "2026-12-14"}}))["version"] == 1
            asked = await client.call_tool("request_approval", {"target_id": "form"})
            assert (asked.is_error, told(asked)["error"]) == (True, NO_CALLER)
            refused = await client.call_tool("submit_form", {"target_id": "form"})
            assert told(refused)["decision"] == "PREMATURE"
    (folder,) = (tmp_path / "out").iterdir()
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["judged"], summary["approvals"]) == (False, f"none: {NO_CALLER}")
    assert [row["decision"] for row in summary["commits"]] == ["PREMATURE"]
    assert summary["artifacts"]["form"] == {
        "version": 1, "lifecycle": "DRAFT", "fields": {"day": "2026-12-14"}, "stale": {},
    }  # fmt: skip
    said = log.read_text()
    assert "not judged: this is a workbench without a call" in said
    assert "commit     submit_form: PREMATURE" in said
    assert list_recordings(tmp_path / "out") == [], "it is no session"


async def test_clients_that_vanish_or_knock_in_vain_neither_lock_others_out_nor_fill_the_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk = Desk(tool_schemas(LEAVE), "")
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    takes = {"Accept": "application/json, text/event-stream"}
    async with serving_http(desk, "Leave", Place("127.0.0.1", 0), None) as url, httpx.AsyncClient() as client:
        opened = [await client.post(url, json=hello, headers=takes) for _ in range(20)]
        foreign = [
            await client.post(url, json=hello, headers=httpx.Headers({**takes, "Host": "evil\x9b2J"}, "latin-1"))
            for _ in range(30)
        ]
    assert {answer.status_code for answer in opened} == {200}, "an agent that was started anew for the twentieth time"
    assert {answer.status_code for answer in foreign} == {421}
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        *19 * ["tools over MCP: Invalid Host header: evil 2J"],
        "tools over MCP: Invalid Host header: evil 2J (no more of this is shown)",
    ]
