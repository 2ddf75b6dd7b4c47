"""Reading an agent's own backend: what may be asked, what is refused, and what a failure says."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agent_side_kit import Side

from apex_tui.caller.policy import CallerPolicy
from apex_tui.engine.json_path import MISSING, find, parse_json_path
from apex_tui.engine.own_tools import asked_for
from apex_tui.engine.probe_file import ProbeSpec, offered, read_probe_file, unwatched
from apex_tui.engine.probe_readers import MAX_BODY, ProbeError, make_reader
from apex_tui.engine.probes import MOST_WARNINGS, Probes
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.timeline.virtual import run_virtual
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.workbench.schemas import tool_schemas
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.outcome_model import Predicate

LEAVE = find_workflow("leave-request")
DAY_OFF = find_workflow(str(Path(__file__).parents[1] / "data" / "day-off.yaml"))


# --- paths -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", {"a": [{"b c": None}, 2], "x-y": "z"}),
        ("$.a[1]", 2),
        ('$.a[0]["b c"]', None),
        ("$.x-y", "z"),
        ("$.a[2]", MISSING),
        ("$.a.b", MISSING),
        ("$.x-y[0]", MISSING),
        ('$["\\u0061"][1]', 2),
    ],
)
def test_a_path_finds_one_value_or_none(path: str, value: Any) -> None:
    assert find({"a": [{"b c": None}, 2], "x-y": "z"}, parse_json_path(path)) == value


@pytest.mark.parametrize(
    "path", ["", "a", "$..a", "$.*", "$.a[*]", "$[-1]", "$[01]", "$.a[", "$.", '$["a]', "$" + ".a" * 33]
)
def test_what_gives_more_than_one_value_is_no_path(path: str) -> None:
    with pytest.raises(ValueError, match=r"is not a path: write \$\.name"):
        parse_json_path(path)


# --- the file ----------------------------------------------------------------------------------------------------------------------------


def read(folder: Path, text: str, workflow: Any = DAY_OFF) -> tuple[ProbeSpec, ...]:
    path = folder / "probe.toml"
    path.write_text(text)
    return read_probe_file(path, workflow)


def test_a_file_names_its_sources(tmp_path: Path) -> None:
    (spec,) = read(tmp_path, '[[probe]]\nsqlite = "office.db"\nquery = "SELECT day FROM x"')
    assert (spec.artifact, spec.every_ms, spec.sqlite) == ("form", 200.0, tmp_path / "office.db")
    (spec,) = read(tmp_path, '[[probe]]\nurl = "http://user:pw@host/x?key=1"\nfields = {day = "$.d"}')
    assert spec.source == "http http://host/x?key=***"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"write one to 16 tables \[\[probe\]\]"),
        ("x = ", "is not TOML"),
        ('[[probes]]\nurl = "http://x"', "'probes' is not known"),
        ("[[probe]]", "probe 1: name one source"),
        ('[[probe]]\nsqlite = "a.db"', "sqlite and query belong together"),
        ('[[probe]]\nurl = "file:///etc/passwd"\nfields = {day = "$"}', "must begin with http"),
        ('[[probe]]\nurl = "http://x"', "url needs fields"),
        ('[[probe]]\nurl = "http://x"\nfield = {day = "$"}', r"field: unknown key \(did you mean fields"),
        ('[[probe]]\nurl = "http://x"\nevery_ms = 1\nfields = {day = "$"}', "every_ms: .*greater than or equal to 50"),
        (
            '[[probe]]\nartifact = "frm"\nurl = "http://x"\nfields = {day = "$"}',
            "'frm' is none of day-off; it has: form",
        ),
        ('[[probe]]\nurl = "http://x"\nfields = {dy = "$"}', "form has no field 'dy'; it has: day, cover"),
        ('[[probe]]\nurl = "http://x"\nfields = {status = "$"}', "status is set by submit_form when it commits"),
        ('[[probe]]\nurl = "http://x"\nfields = {day = "$.*"}', r"fields.day: '\$\.\*' is not a path"),
        (2 * '[[probe]]\nurl = "http://x"\nfields = {day = "$"}\n', "probes 1 and 2 both read form.day"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as error:
        read(tmp_path, text)
    assert "probe.toml" in str(error.value)


def test_the_agent_is_not_offered_what_its_own_backend_replaces(tmp_path: Path) -> None:
    specs = read(tmp_path, '[[probe]]\nurl = "http://x"\nfields = {end_date = "$"}', LEAVE)
    gone = {t["name"] for t in tool_schemas(LEAVE)} - {t["name"] for t in tool_schemas(offered(LEAVE, specs))}
    assert gone == {"update_leave_form"}
    asks = Predicate(id="p", kind="tool_called", args={"tool": "update_leave_form"})
    gold = LEAVE.gold.model_copy(update={"required_actions": (asks,)})
    with pytest.raises(UserError, match="asks for a call of update_leave_form"):
        offered(LEAVE.model_copy(update={"gold": gold}), specs)


def test_fields_that_nobody_reads_are_named(tmp_path: Path) -> None:
    assert unwatched(DAY_OFF, read(tmp_path, '[[probe]]\nurl = "http://x"\nfields = {day = "$"}')) == {
        "form": ["cover", "half"]
    }
    assert unwatched(DAY_OFF, read(tmp_path, '[[probe]]\nsqlite = "a"\nquery = "SELECT 1"')) == {}
    with pytest.raises(UserError, match="the rehearsal agent has no backend"):
        asked_for(Run(workflow="x", probe_file=str(tmp_path / "probe.toml")), DAY_OFF)


# --- SQLite ------------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "it's a #1 db?.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE leave (id INTEGER, day TEXT, half INTEGER, scan BLOB, extra TEXT)")
        connection.execute("INSERT INTO leave VALUES (1, '2026-12-14', 1, x'00', '[1]'), (2, NULL, 0, NULL, 'no')")
    return path


def spec(**given: Any) -> ProbeSpec:
    return ProbeSpec(artifact="form", timeout_ms=300, **given)


async def look(given: ProbeSpec, workflow: Any = DAY_OFF) -> dict[str, Any]:
    reader = make_reader(given, workflow)
    try:
        return await reader.read()
    finally:
        await reader.close()


async def test_columns_become_fields(database: Path) -> None:
    found = await look(spec(sqlite=database, query="SELECT * FROM leave WHERE id = 1"))
    assert found == {"day": "2026-12-14", "half": True}, "a boolean field; columns that are no fields are left out"
    named = spec(
        sqlite=database,
        query="WITH x AS (SELECT day AS d FROM leave WHERE id=1) SELECT d FROM x",
        fields={"cover": "d"},
    )
    assert await look(named) == {"cover": "2026-12-14"}
    nobody = spec(sqlite=database, query="SELECT day, half FROM leave WHERE id = 9")
    assert await look(nobody) == {"day": None, "half": None}, "a row that is not there has no fields"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT day FROM leave", "more than one row"),
        ("SELECT scan AS day FROM leave WHERE id = 1", "holds a blob"),
        ("SELECT id FROM leave WHERE id = 1", "no column is named like a field"),
        ("SELECT day FROM missing", "no such table"),
        (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT max(x) AS day FROM n",
            "took longer than 300 ms",
        ),
        ("SELECT hex(randomblob(200000)) AS day FROM leave", "too big"),
    ],
)
async def test_a_look_that_fails_says_why(database: Path, query: str, told: str) -> None:
    with pytest.raises((ProbeError, UserError), match=told):
        await look(spec(sqlite=database, query=query))


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM leave",
        "SELECT 1; SELECT 2",
        "PRAGMA user_version",
        "ATTACH '/tmp/x.db' AS y",
        "SELECT load_extension('x')",
        "SELEC 1",
        "VACUUM",
        "",
    ],
)
def test_only_one_select_is_a_query(database: Path, query: str) -> None:
    with pytest.raises(UserError, match="must be one SELECT"):
        make_reader(spec(sqlite=database, query=query), DAY_OFF)


async def test_nothing_is_ever_written_and_a_missing_file_is_not_made(database: Path, tmp_path: Path) -> None:
    with pytest.raises((ProbeError, UserError), match="must be one SELECT"):
        await look(spec(sqlite=database, query="DELETE FROM leave RETURNING day"))
    with pytest.raises(ProbeError, match="not authorized"):
        await look(spec(sqlite=database, query="WITH x AS (SELECT 1) DELETE FROM leave RETURNING day"))
    gone = tmp_path / "gone.db"
    with pytest.raises(ProbeError, match="unable to open"):
        await look(spec(sqlite=gone, query="SELECT day FROM leave"))
    assert not gone.exists()


async def test_a_file_that_was_replaced_is_read_anew(database: Path) -> None:
    reader = make_reader(spec(sqlite=database, query="SELECT day FROM leave WHERE id = 1"), DAY_OFF)
    assert await reader.read() == {"day": "2026-12-14"}
    database.unlink()
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE leave AS SELECT 1 AS id, '2026-12-18' AS day")
    assert await reader.read() == {"day": "2026-12-18"}
    await reader.close()


# --- HTTP --------------------------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def answering(answer: bytes | None) -> AsyncIterator[tuple[str, list[bytes]]]:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        if answer is None:
            await reader.read()  # never answers; the client leaves
        else:
            writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/leave", asked


def http(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{more}\r\n".encode() + body


async def test_a_get_sends_its_token_and_finds_its_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFICE_TOKEN", "t0ken")
    async with answering(http(b'{"dates": ["2026-12-14"], "half": null}')) as (url, asked):
        fields = {"day": "$.dates[0]", "half": "$.half", "cover": "$.cover"}
        assert await look(spec(url=url, fields=fields, bearer="OFFICE_TOKEN")) == {
            "day": "2026-12-14",
            "half": None,
            "cover": None,
        }
    assert b"GET /leave " in asked[0]
    assert b"authorization: bearer t0ken" in asked[0].lower()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (http(b"", "404 Not Found"), "status 404"),
        (http(b"", "302 Found", "location: http://127.0.0.1:1/\r\n"), "status 302"),
        (http(b"<html>"), "not JSON"),
        (http(b"[" * 100_000), "not JSON"),
        (http(b'"' + b"x" * MAX_BODY + b'"'), "larger than"),
        (b"", "disconnected"),
        (None, "no answer within 300 ms"),
    ],
)
async def test_a_bad_answer_says_what_is_wrong(answer: bytes | None, told: str) -> None:
    async with answering(answer) as (url, _):
        with pytest.raises(ProbeError, match=told):
            await look(spec(url=url, fields={"day": "$"}))


def test_a_missing_token_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OFFICE_TOKEN", raising=False)
    with pytest.raises(UserError, match="set OFFICE_TOKEN"):
        make_reader(spec(url="http://x", fields={"day": "$"}, bearer="OFFICE_TOKEN"), DAY_OFF)


# --- versions ----------------------------------------------------------------------------------------------------------------------------


def test_staleness_follows_the_callers_corrections_and_the_time_of_the_change() -> None:
    """A change seen within one look of the correction cannot answer it; one that began later does."""
    bench = Workbench(LEAVE, 1, "strict")
    moved = LEAVE.event("change_dates")
    assert moved is not None
    old = {"start_date": "2026-12-14", "end_date": "2026-12-18", "working_days": 5}
    (first,) = bench.observe("leave_form", old, "probe", None)
    assert (first.author, first.lifecycle, first.stale) == ("environment", "DRAFT", {})  # type: ignore[attr-defined]
    assert bench.observe("leave_form", old, "probe", 0.0) == [], "nothing changed, no version"
    bench.fire(10_000.0, moved)
    (second,) = bench.observe("leave_form", {**old, "working_days": 3}, "probe", 9_900.0)
    assert set(second.stale) >= {"start_date", "end_date", "working_days"}  # type: ignore[attr-defined]
    new = {"start_date": "2026-12-17", "end_date": "2026-12-23", "working_days": 4}
    (third,) = bench.observe("leave_form", new, "probe", 14_000.0)
    assert third.stale == {}  # type: ignore[attr-defined]
    assert [c.kind for c in third.changes] == ["changed"] * 3  # type: ignore[attr-defined]
    (gone,) = bench.observe("leave_form", dict.fromkeys(new), "probe", 15_000.0)
    assert (gone.fields, [c.kind for c in gone.changes]) == ({}, ["removed"] * 3)  # type: ignore[attr-defined]


# --- watching ----------------------------------------------------------------------------------------------------------------------------


class Scripted:
    """A reader that gives what it is told, or fails with it."""

    def __init__(self, *looks: Any) -> None:
        self.looks = list(looks)

    async def read(self) -> dict[str, Any]:
        look = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(look, str):
            raise ProbeError(look)
        return dict(look)

    async def close(self) -> None: ...


def watch(folder: Path, reader: Scripted, seconds: float) -> tuple[Side, list[tuple[str, str]]]:
    """Look every 200 ms for so long, in simulated time."""
    side, stops = Side(folder), list[tuple[str, str]]()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        probes = Probes([(ProbeSpec(artifact="leave_form", url="http://x", fields={"leave_type": "$"}), reader)])
        start = loop.time()
        side.wiring._clock = lambda: loop.time() - start
        probes.begin(side.bench, side.wiring, CallerPolicy(LEAVE, 1), lambda outcome, why: stops.append((outcome, why)))
        await asyncio.sleep(seconds)
        await probes.close()

    run_virtual(run())
    return side, stops


def test_a_backend_that_stays_silent_ends_the_session_as_infrastructure(tmp_path: Path) -> None:
    side, stops = watch(tmp_path, Scripted({"leave_type": "annual"}, "no answer within 1000 ms"), 11)
    (warning,) = side.facts(SessionWarning)
    told = "the probe of leave_form (http http://x) failed: no answer within 1000 ms; it is known as of 0.0 s"
    assert warning.message == told
    assert stops[0][0] == "infrastructure"
    assert "could not be read for 10 s" in stops[0][1]


def test_a_probe_that_comes_and_goes_is_reported_so_often_and_no_more(tmp_path: Path) -> None:
    looks = [look for _ in range(40) for look in ("down", {"leave_type": "annual"})]
    side, stops = watch(tmp_path, Scripted(*looks), 14)
    warnings = side.facts(SessionWarning)
    assert [w.code for w in warnings[:3]] == ["probe-failed", "probe-recovered", "probe-failed"]
    assert len(warnings) == MOST_WARNINGS
    assert warnings[-1].message.endswith("it comes and goes, and is reported no more")
    assert stops == []
    (seen,) = side.facts(ArtifactVersion)
    assert (seen.since_ms, seen.author) == (None, "environment")


def test_a_change_lies_between_two_looks(tmp_path: Path) -> None:
    side, _ = watch(tmp_path, Scripted({"leave_type": None}, {"leave_type": None}, {"leave_type": "sick"}), 1)
    (event,) = [event for event in side.events if isinstance(event.fact, ArtifactVersion)]
    assert isinstance(event.fact, ArtifactVersion)
    assert (event.fact.since_ms, event.media_ms, event.fact.author) == (200.0, 400.0, "agent")
