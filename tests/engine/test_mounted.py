"""The desk between MCP and a session: who is let in, how many at once, what belongs to an interrupted reply, and how it all ends."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_side_kit import Side, sound, words

from apex_tui.agents.seam import AgentAudio, ReplyBegun, ToolRequest
from apex_tui.engine import mcp_tools, mounted
from apex_tui.engine.mcp_tools import Place, parse_place, serving_http, token_for
from apex_tui.engine.mounted import Desk, Runner
from apex_tui.engine.own_tools import asked_for
from apex_tui.engine.tool_tasks import NOT_DONE, Answer
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.timeline.work_facts import ToolCalled, ToolsMounted
from apex_tui.workflow.library import find_workflow

TOOL = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Room:
    """Takes calls and answers when it is told to."""

    def __init__(self) -> None:
        self.desk = Desk((TOOL,), "Be kind.")
        self.calls: list[tuple[ToolRequest, Answer]] = []
        self.back: list[tuple[str, str]] = []
        self.facts: list[Any] = []

    def open(self) -> Desk:
        self.desk.open(
            Runner(lambda r, a: self.calls.append((r, a)), lambda c, why: self.back.append((c, why)), self.facts.append)
        )
        return self.desk


async def test_before_the_session_and_after_it_a_call_is_refused_in_words() -> None:
    room = Room()
    room.desk.listed("client 1", "2025-11-25")
    early = await room.desk.call("look", {})
    assert (early.ok, json.loads(early.output)["error"]) == (False, "the session has not begun")
    room.open()
    assert room.facts == [ToolsMounted(client="client 1", protocol="2025-11-25", tools=1)], "noted once it can be"
    pending = asyncio.create_task(room.desk.call("look", {"x": 1}))
    await asyncio.sleep(0)
    room.desk.close("the session is over")
    late = await room.desk.call("look", {})
    for result in (await pending, late):
        assert (result.ok, json.loads(result.output)["error"]) == (False, "the session is over")
    assert [request.call_id for request, _ in room.calls] == ["mcp-1"]


async def test_calls_at_once_are_bounded_and_a_cancelled_one_is_taken_back() -> None:
    room = Room()
    desk = room.open()
    calls = [asyncio.create_task(desk.call("look", {"n": n})) for n in range(mounted.MOST_AT_ONCE)]
    await asyncio.sleep(0)
    assert desk.mounted, "whoever calls without asking for the list has the tools all the same"
    one_more = await desk.call("look", {})
    assert not one_more.ok
    assert "16 calls are running" in one_more.output
    calls[0].cancel()
    await asyncio.gather(calls[0], return_exceptions=True)
    assert room.back == [("mcp-1", "the agent cancelled the call")]
    room.calls[1][1]('{"ok": true}')
    assert (await calls[1]).ok
    again = asyncio.create_task(desk.call("look", {}))
    await asyncio.sleep(0)
    assert room.calls[-1][0].call_id == f"mcp-{mounted.MOST_AT_ONCE + 1}"
    desk.close("over")
    await asyncio.gather(again, *calls[2:])


async def test_clients_are_noted_once_each_and_not_without_end() -> None:
    room = Room()
    desk = room.open()
    for n in (1, 1, *range(2, 100)):
        desk.listed(f"client {n}" + "x" * 500, "2026-07-28")
    assert len(room.facts) == mounted.MOST_CLIENTS
    assert max(len(fact.client) for fact in room.facts) == 200


# --- what belongs to an interrupted reply ------------------------------------------------------------------------------------------------


def speaking(folder: Path) -> Side:
    side = Side(folder)
    side.take(ReplyBegun("r1"), words("Let me read that back.", final=True), AgentAudio("r1", "ir1", sound(3000)))
    side.run_to(1000)
    return side


def marks(side: Side, reply: str | None) -> bool:
    answers: list[str] = []
    side.tools.begin(ToolRequest(f"mcp-{reply}", "nothing", {}, reply), side.side.too_late(reply), answers.append)
    assert json.loads(answers[0])["ok"] is False
    assert side.fake.results == [], "nothing of it goes over the agent's own connection"
    fact = side.facts(ToolCalled)[-1]
    assert fact.source == "mcp"
    return fact.after_interruption


def test_a_call_without_a_reply_is_too_late_only_while_the_caller_speaks_into_one(tmp_path: Path) -> None:
    side = speaking(tmp_path)
    assert not marks(side, None)
    side.caller(1, 500)
    side.run_to(1100)
    assert marks(side, None)
    assert marks(side, "r1")
    side.run_to(1500)
    side.caller_ends(1)
    side.tools = side.tools
    assert not side.side.too_late(None), "now it may be the answer to what was said"


async def test_what_runs_when_the_session_ends_is_told_so_and_nothing_is_begun_after(tmp_path: Path) -> None:
    side = Side(tmp_path)
    answers: list[str] = []
    request = ToolRequest("mcp-1", "get_employee", {"entity_id": "E2047"}, None)
    side.tools.begin(request, False, answers.append)
    assert side.tools.running == ("get_employee",)
    await side.tools.cancel_all("the session ended")
    side.tools.begin(ToolRequest("mcp-2", "get_employee", {"entity_id": "E2047"}, None), False, answers.append)
    assert answers == [NOT_DONE, NOT_DONE]
    assert [event.type for event in side.events] == ["tool.called", "tool.cancelled"]


# --- who may connect ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("8808", Place("127.0.0.1", 8808)),
        ("0.0.0.0:0", Place("0.0.0.0", 0)),
        ("[::1]:99", Place("::1", 99)),
        ("localhost:1", Place("localhost", 1)),
    ],
)
def test_places(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["", "x", "70000", "host:", "a b:1", "::1:99", "1.2.3.4"])
def test_what_is_no_place_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match=r"write a port such as 8808"):
        parse_place(text)


def test_other_machines_need_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(mcp_tools.TOKEN, raising=False)
    assert token_for(Place("::1", 1)) is None
    with pytest.raises(UserError, match=mcp_tools.TOKEN):
        token_for(Place("0.0.0.0", 1))
    monkeypatch.setenv(mcp_tools.TOKEN, "s3cret")
    assert token_for(Place("0.0.0.0", 1)) == "s3cret"
    asked = asked_for(Run(workflow="x", serve_tools="0.0.0.0:0"), find_workflow("leave-request"))
    assert asked.secrets == ("s3cret",), "so that no file, frame or log shows it"


@pytest.mark.parametrize("more", [{"serve_tools": "0"}, {"probe_file": "p.toml"}])
def test_simulated_time_has_no_world_outside(more: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="leave --virtual out"):
        asked_for(Run(workflow="x", agent="realtime", virtual=True, **more), find_workflow("leave-request"))
    with pytest.raises(UserError, match="goes with --serve-tools"):
        asked_for(Run(workflow="x", wire_tools=True), find_workflow("leave-request"))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    with pytest.raises(UserError, match=r"pip install 'apex-tui\[mcp\]'"):
        asked_for(Run(workflow="x", serve_tools="0"), find_workflow("leave-request"))


@asynccontextmanager
async def _http(token: str | None) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    async with (
        serving_http(Room().open(), "Test", Place("127.0.0.1", 0), token) as url,
        httpx.AsyncClient(trust_env=False, headers=HEADERS, verify=False) as client,
    ):
        yield client, url


@pytest.mark.realtime
async def test_strangers_large_requests_and_other_paths_are_refused() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with _http("s3cret") as (client, url):
        good = {"authorization": "Bearer s3cret"}
        assert (await client.post(url, json=ping)).status_code == 401
        assert (await client.post(url, json=ping, headers={"authorization": "Bearer s3cre"})).status_code == 401
        assert (await client.get(url.replace("/mcp", "/"), headers=good)).status_code == 404
        evil = {**good, "host": "evil.example:80"}
        assert (await client.post(url, json=ping, headers=evil)).status_code == 421
        large = {**ping, "params": {"x": "y" * mcp_tools.MAX_REQUEST}}
        assert (await client.post(url, json=large, headers=good)).status_code == 413
        with pytest.raises(UserError, match="choose another port"):
            async with serving_http(Room().desk, "Test", parse_place(url.split("/")[2]), None):
                pass
