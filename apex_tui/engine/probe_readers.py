"""One look at an agent's own backend: a read-only SELECT on an SQLite file, or an HTTP GET. Bounded in time and size, and never a write.

A reading is field -> value for every watched field; None: it is not there. Deliberately not in here: when to look, and what a change means
(``probes``).
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from pydantic_core import from_json

from apex_tui.agents.keys import auth_headers, find_key
from apex_tui.engine.json_path import MISSING, find, parse_json_path
from apex_tui.engine.probe_file import ProbeSpec
from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import UserError
from apex_tui.workbench.schemas import declared_fields, json_type
from apex_tui.workflow.model import Workflow

MAX_BODY = 256 * 1024
"""Bytes of an answer, or of one value in a row."""
_STEPS_PER_LOOK = 2000  # virtual machine steps of SQLite between two looks at the clock
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_READS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE | re.DOTALL)
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer"}


class ProbeError(Exception):
    """A look that failed; the message is a clause with the reason."""


class Reader(Protocol):
    """Something that can be looked at again and again."""

    async def read(self) -> dict[str, Any]:
        """Every watched field with its value, None where there is none. Raises `ProbeError`."""

    async def close(self) -> None:
        """Let go of what it holds."""


def make_reader(spec: ProbeSpec, workflow: Workflow) -> Reader:
    """The reader of a probe. Raises ``UserError``: a query that cannot be one, or a token that is missing."""
    kinds = {name: json_type(field.type) for name, field in declared_fields(workflow, spec.artifact).items()}
    return SqliteReader(spec, kinds) if spec.sqlite is not None else HttpReader(spec)


# --- SQLite ------------------------------------------------------------------------------------------------------------------------------


class SqliteReader:
    """Opens the file anew for each look, so that a file that was replaced is never read from its remains."""

    def __init__(self, spec: ProbeSpec, kinds: Mapping[str, str]) -> None:
        assert spec.sqlite is not None
        assert spec.query is not None
        self._path, self._query, self._fields, self._kinds = spec.sqlite, spec.query, spec.fields, kinds
        self._timeout_s = spec.timeout_ms / 1000
        check_query(self._query)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="probe")

    async def read(self) -> dict[str, Any]:
        """See `Reader`. An artifact's row that is not there has no fields."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._look)

    def _look(self) -> dict[str, Any]:
        try:
            connection = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True, timeout=self._timeout_s)
        except sqlite3.Error as error:
            raise ProbeError(_why(error, self._path, self._timeout_s)) from None
        try:
            columns, rows = _select(connection, self._query, self._timeout_s)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ProbeError(_why(error, self._path, self._timeout_s)) from None
        finally:
            connection.close()
        if len(rows) > 1:
            raise ProbeError("the query gave more than one row; narrow it with WHERE")
        row = dict(zip(columns, rows[0], strict=True)) if rows else dict.fromkeys(columns)
        places = self._fields or {name: name for name in columns if name in self._kinds}
        missing = [column for column in places.values() if column not in row]
        if missing or not places:
            raise ProbeError(
                f"the query gives no column {missing[0]!r}" if missing else "no column is named like a field"
            )
        return {field: _from_sql(row[column], self._kinds.get(field), column) for field, column in places.items()}

    async def close(self) -> None:
        """See `Reader`."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def check_query(query: str) -> None:
    """Refuse what cannot be one SELECT, as far as that shows without the file.

    Raises:
        UserError: it is not, with what SQLite says.
    """
    told = "the probe's query must be one SELECT"
    if _READS.match(query) is None:
        raise UserError(f"{told}; it begins with {query.strip()[:20]!r}")
    connection = sqlite3.connect(":memory:")
    try:
        _select(connection, f"EXPLAIN {query}", 1.0)
    except (sqlite3.Error, sqlite3.Warning) as error:
        if "no such" not in str(error):  # tables and columns are in the file
            raise UserError(f"{told}: {error}") from None
    finally:
        connection.close()


def _select(connection: sqlite3.Connection, query: str, timeout_s: float) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and at most two rows. Nothing but reading is allowed, and only until the time is up."""
    until = monotonic() + timeout_s
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BODY)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: int(monotonic() > until), _STEPS_PER_LOOK)
    cursor = connection.execute(query)
    if cursor.description is None:
        raise sqlite3.ProgrammingError("it reads nothing")
    return [column[0] for column in cursor.description], cursor.fetchmany(2)


def _authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in _FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _why(error: Exception, path: Path, timeout_s: float) -> str:
    text = str(error)
    if text == "interrupted":
        return f"the query took longer than {1000 * timeout_s:.0f} ms"
    return f"{path.name}: {text}"


def _from_sql(value: Any, kind: str | None, column: str) -> Any:
    """SQLite has no booleans and no JSON: 0 and 1 of a boolean field, and JSON text of an object or list, are what they stand for."""
    if isinstance(value, bytes):
        raise ProbeError(f"column {column!r} holds a blob, which is no JSON value")
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    if kind in ("object", "array") and isinstance(value, str):
        try:
            return from_json(value)
        except ValueError:
            raise ProbeError(f"column {column!r} should hold JSON and does not") from None
    return value


# --- HTTP --------------------------------------------------------------------------------------------------------------------------------


class HttpReader:
    """A GET that gives JSON; redirects are not followed."""

    def __init__(self, spec: ProbeSpec) -> None:
        import httpx

        assert spec.url is not None
        if spec.bearer is not None and find_key(spec.bearer) is None:
            raise UserError(
                f"the probe of {spec.url} needs a token: set {spec.bearer}, or write it into a .env file here"
            )
        self._url, self._timeout_s = spec.url, spec.timeout_ms / 1000
        self._paths = {field: parse_json_path(place) for field, place in spec.fields.items()}
        headers = auth_headers(spec.bearer, "Authorization", "Bearer {key}", {"Accept": "application/json"}, spec.url)
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=self._timeout_s,
            follow_redirects=False,
            trust_env=not is_loopback(spec.url),
            verify=spec.url.startswith("https"),  # reading the certificates takes a tenth of a second
        )

    async def read(self) -> dict[str, Any]:
        """See `Reader`."""
        import httpx

        try:
            async with asyncio.timeout(self._timeout_s):
                document = await self._get()
        except (TimeoutError, httpx.TimeoutException):
            raise ProbeError(f"no answer within {1000 * self._timeout_s:.0f} ms") from None
        except httpx.HTTPError as error:
            raise ProbeError(f"{error}" or type(error).__name__) from None
        found = {field: find(document, path) for field, path in self._paths.items()}
        return {field: None if value is MISSING else value for field, value in found.items()}

    async def _get(self) -> Any:
        body = bytearray()
        async with self._client.stream("GET", self._url) as response:
            if not response.is_success:
                raise ProbeError(f"it answered with status {response.status_code}")
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_BODY:
                    raise ProbeError(f"the answer is larger than {MAX_BODY} bytes")
        try:
            return from_json(bytes(body))  # deep nesting is an error here, not the end of the stack
        except ValueError:
            raise ProbeError("the answer is not JSON") from None

    async def close(self) -> None:
        """See `Reader`."""
        await self._client.aclose()
