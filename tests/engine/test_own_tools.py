"""Agents that own their tools, in real sessions: the official MCP client mounts ours and completes work, and probes see a backend of its own.

Two sessions at once, each of some twenty seconds; every test reads what they left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from own_tools_kit import Told, in_tones, session_of

from apex_tui.engine.mcp_tools import TOKEN
from apex_tui.score.judge import score_folder
from apex_tui.store.recording import open_recording
from apex_tui.timeline.agent_facts import AgentConnected, ResponseMeasured
from apex_tui.timeline.messages import output_line
from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import (
    ApprovalGranted,
    ApprovalRequested,
    ApprovalStale,
    ArtifactVersion,
    CommitDecided,
    ToolCalled,
    ToolCancelled,
    ToolFinished,
    ToolsMounted,
)
from apex_tui.trials.regress import scenario_of
from apex_tui.trials.regress_run import Instead, command_of

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.realtime
CANARY = "tools-token-0123456789"
PROBES = """
[[probe]]
sqlite = "office.db"
query = "SELECT * FROM leave WHERE id = 1"
every_ms = 10_000
fields = {{day = "day", half = "half"}}

[[probe]]
url = "{url}"
every_ms = 200
fields = {{cover = "$.people[0].name"}}
"""


class Backend:
    """An agent's own backend: a table and a little HTTP server."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "office.db"
        self.cover: str | None = None
        self.down = False
        self.asked = 0
        self._sql("CREATE TABLE leave (id INTEGER, day TEXT, half INTEGER)")
        self._sql("INSERT INTO leave VALUES (1, NULL, 0)")

    def _sql(self, statement: str, *values: Any) -> None:
        with contextlib.closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement, values)

    def write(self, day: str) -> None:
        self._sql("UPDATE leave SET day = ? WHERE id = 1", day)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/leave/1"
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked += 1
                body = json.dumps({"people": [] if self.cover is None else [{"name": self.cover}]}).encode()
                status = "503 Down" if self.down else "200 OK"
                head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        writer.close()


async def call(client: Client, told: Told, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    told.results.append(result)
    return result


# --- what the agents do ------------------------------------------------------------------------------------------------------------------


async def _mounted(out: Path) -> Told:
    """Tools over MCP: a wrong argument, a call that is cancelled, slow tools, and the work itself."""

    async def first(client: Client, told: Told) -> str:
        told.results.append([tool.name for tool in (await client.list_tools()).tools])
        await call(client, told, "update_form", fields={"day": "soon", "colour": "red"})
        await call(client, told, "no_such_tool")
        await call(client, told, CANARY, **{CANARY: [CANARY]})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await call(client, told, "get_colleague", entity_id="dana")
        return "Which day?"

    async def second(client: Client, told: Told) -> str:
        await call(client, told, "update_form", fields={"day": "2026-12-14"})
        await call(client, told, "request_approval", target_id="form")
        return "So that is December fourteenth. Shall I submit it?"

    async def third(client: Client, told: Told) -> str:
        await call(client, told, "submit_form", target_id="form")
        return "Done, it is submitted."

    latency = {"get_colleague": 60_000.0, "request_approval": 700.0}
    return await session_of(out, [first, second, third], tool_latency=latency, max_s=40)


async def _watched(out: Path, backend: Backend, file: Path) -> Told:
    """The form lives in the agent's backend; only authority is ours. The backend is down for a while, and changes after the first approval."""

    async def first(client: Client, told: Told) -> str:
        told.results.append([tool.name for tool in (await client.list_tools()).tools])
        await call(client, told, "update_form", fields={"day": "2026-12-15"})
        backend.down = True
        return "Which day?"

    async def second(client: Client, told: Told) -> str:
        backend.down = False
        backend.cover = "Dana"
        backend.write("2026-12-14")
        await call(client, told, "request_approval", target_id="form")
        return "So that is December fourteenth. Shall I submit it?"

    async def third(client: Client, told: Told) -> str:
        backend.write("2026-12-18")
        await call(client, told, "submit_form", target_id="form")
        backend.write("2026-12-14")
        await call(client, told, "request_approval", target_id="form")
        return "Once more: December fourteenth. Shall I submit it?"

    async def fourth(client: Client, told: Told) -> str:
        await call(client, told, "submit_form", target_id="form")
        return "Done, it is submitted."

    steps = [first, second, third, fourth]
    return await session_of(out, steps, probe_file=str(file), wire_tools=True, max_s=40)


async def _all(folder: Path) -> tuple[Told, Told]:
    backend = Backend(folder)
    async with backend.serving() as url:
        (folder / "probe.toml").write_text(PROBES.format(url=url))
        return await asyncio.gather(_mounted(folder), _watched(folder, backend, folder / "probe.toml"))


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told]:
    with in_tones(), mock.patch.dict(os.environ, {TOKEN: CANARY}):
        return asyncio.run(_all(tmp_path_factory.mktemp("own-tools")))


@pytest.fixture
def mounted(sessions: tuple[Told, Told]) -> Told:
    return sessions[0]


@pytest.fixture
def watched(sessions: tuple[Told, Told]) -> Told:
    return sessions[1]


# --- mounted tools -----------------------------------------------------------------------------------------------------------------------


def test_the_official_client_mounts_the_tools_and_the_work_is_done(mounted: Told) -> None:
    assert mounted.result is not None
    assert mounted.result.score.success, [(g.gate, g.reason) for g in mounted.result.score.gates]
    assert mounted.results[0][:4] == ["get_colleague", "update_form", "request_approval", "submit_form"]
    assert set(mounted.wire_tools) == {0}, "the agent's own connection offers none"
    (client,) = mounted.facts(ToolsMounted)
    assert client.client.startswith("mcp")
    assert client.tools == 5
    assert not any(w.code == "tools-not-mounted" for w in mounted.facts(SessionWarning))


def test_a_call_over_mcp_is_the_same_fact_with_its_source(mounted: Told) -> None:
    called = mounted.all_of(ToolCalled)
    assert {event.fact.source for event in called if isinstance(event.fact, ToolCalled)} == {"mcp"}
    versions = mounted.all_of(ArtifactVersion)
    wrote = versions[0]
    assert isinstance(wrote.fact, ArtifactVersion)
    assert (wrote.fact.fields, wrote.fact.author, wrote.fact.source) == ({"day": "2026-12-14"}, "agent", None)
    assert any(event.seq in wrote.causes for event in called), "the version names the call that wrote it"
    decisions = mounted.facts(CommitDecided)
    assert [(d.decision, d.at) for d in decisions] == [("AUTHORIZED", "call"), ("AUTHORIZED", "completion")]
    (granted,) = mounted.facts(ApprovalGranted)
    assert granted.digest == wrote.fact.digest


def test_errors_are_results_that_an_agent_can_act_on(mounted: Told) -> None:
    wrong, unknown = mounted.results[1:3]
    assert (wrong.is_error, unknown.is_error) == (True, True)
    assert "colour" in wrong.structured_content["error"]
    assert wrong.structured_content["hint"]
    assert "no tool 'no_such_tool'" in unknown.structured_content["error"]
    assert [fact.error is None for fact in mounted.facts(ToolCalled)][:2] == [True, False]


def test_a_cancelled_call_is_taken_back_and_a_slow_one_comes_through(mounted: Told) -> None:
    (cancelled,) = mounted.facts(ToolCancelled)
    assert (cancelled.name, cancelled.reason) == ("get_colleague", "the agent cancelled the call")
    slow = next(f for f in mounted.facts(ToolFinished) if f.name == "request_approval")
    assert slow.ok
    assert slow.latency_ms >= 700


def test_what_the_way_over_mcp_limits_is_declared_and_the_log_says_the_same(mounted: Told) -> None:
    assert mounted.result is not None
    (connected,) = mounted.facts(AgentConnected)
    assert (connected.capabilities["tools"], connected.capabilities["tools_at"]) == ("mcp", mounted.url)
    score = mounted.result.score
    assert set(score.limits) == {"tools.after_interruption", "latency.first_audible_after_tool_ms"}
    measured = mounted.facts(ResponseMeasured)
    assert [m.after_tool for m in measured if m.reply is not None][:3] == [True, True, True]
    assert score_folder(mounted.result.folder) == score
    meta = open_recording(mounted.result.folder).meta
    assert "tools over MCP" in meta.labels
    assert meta.parameters["serve_tools"] == "0"


def test_the_token_of_the_tools_is_in_no_file_and_no_line_of_the_screen(mounted: Told, watched: Told) -> None:
    assert mounted.results[3].is_error, "a tool of that name was asked for, with the token in its arguments"
    for told in (mounted, watched):
        assert told.result is not None
        files = [path for path in told.result.folder.rglob("*") if path.is_file()]
        assert {"events.jsonl", "wire.jsonl", "session.json", "score.json"} <= {path.name for path in files}
        assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
        assert CANARY not in "\n".join(output_line(item) for item in told.items)


# --- probes ------------------------------------------------------------------------------------------------------------------------------


def test_work_in_a_backend_of_the_agents_own_counts(watched: Told) -> None:
    assert watched.result is not None
    score = watched.result.score
    assert (score.outcome, score.afa) == ("completed", 1.0)
    assert {g.gate: g.passed for g in score.gates} == {"TS": True, "PV": False, "AC": True, "AV": True}
    assert "under an approval of an older version" in score.gate("PV").reason
    assert watched.results[0] == ["get_colleague", "request_approval", "submit_form", "hand_over_to_human"]
    assert set(watched.wire_tools) == {4}, "with the switch they are on both ways"
    refused = watched.results[1].structured_content["error"]
    assert refused == "there is no tool 'update_form': a probe reads your own backend in its place, so write there"
    day = next(f for f in score.fields if f.field == "day")
    assert day.passed


def test_its_failure_can_be_made_a_scenario_that_runs_the_same_way(watched: Told) -> None:
    assert watched.result is not None
    scenario = scenario_of(open_recording(watched.result.folder))
    assert scenario.options["serve_tools"] == "0"
    assert scenario.options["wire_tools"] is True
    assert Path(scenario.options["probe_file"]).name == "probe.toml"
    assert command_of(scenario, Path("out"), Instead()).probe_file == scenario.options["probe_file"]


def test_a_request_for_approval_covers_what_was_written_just_before_it(watched: Told) -> None:
    """The file is looked at every ten seconds only: that version was seen because the agent asked for approval."""
    seen = [f for f in watched.facts(ArtifactVersion) if f.source is not None]
    assert [f.source for f in seen[:1]] == ["sqlite office.db"]
    assert seen[0].author == "environment", "what was there before anyone acted"
    wrote = next(f for f in seen if any(c.field == "day" for c in f.changes))
    assert (wrote.author, wrote.call, wrote.fields["day"], wrote.fields["half"]) == ("agent", None, "2026-12-14", False)
    asked = watched.facts(ApprovalRequested)[0]
    covered = next(f for f in watched.facts(ArtifactVersion) if f.version == asked.version)
    assert covered.fields == {"day": "2026-12-14", "half": False, "cover": "Dana"}


def test_a_seen_version_says_since_when_it_may_have_stood_there(watched: Told) -> None:
    for event in watched.all_of(ArtifactVersion):
        fact = event.fact
        assert isinstance(fact, ArtifactVersion)
        if fact.source is not None and fact.author == "agent":
            assert fact.since_ms is not None
            assert 0 <= fact.since_ms <= event.media_ms
    state = SessionView.fold(watched.events).state
    assert any(version.source for version in state.artifacts["form"].versions)


def test_measures_that_need_the_writing_call_do_not_apply(watched: Told, mounted: Told) -> None:
    assert watched.result is not None
    assert mounted.result is not None
    score = watched.result.score
    assert (score.tools.ratio, score.latency.writes_during_call) == (None, None)
    assert (mounted.result.score.tools.ratio, mounted.result.score.latency.writes_during_call) == (1.0, 0)
    assert score.limits["tools.ratio"].startswith("not applicable: ")
    assert "at most in this session" in score.limits["fields.uptake_ms"]
    assert "state seen by a probe" in open_recording(watched.result.folder).meta.labels


def test_a_later_change_in_the_backend_ends_the_approval(watched: Told) -> None:
    stale = watched.facts(ApprovalStale)
    assert [s.differs for s in stale] == [("day",)]
    completed = [d.decision for d in watched.facts(CommitDecided) if d.at == "completion"]
    assert completed == ["STALE_APPROVAL", "AUTHORIZED"]
    assert watched.results[3].structured_content["decision"] == "STALE_APPROVAL"


def test_a_probe_that_fails_says_so_once_and_once_more_when_it_works_again(watched: Told) -> None:
    told = [w for w in watched.facts(SessionWarning) if w.code.startswith("probe-")]
    assert [w.code for w in told] == ["probe-failed", "probe-recovered"]
    assert "status 503" in told[0].message
    assert "form (http " in told[0].message
