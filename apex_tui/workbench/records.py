"""The session's own database: an SQLite file whose tables the tools read and change, each call as one transaction.

The statements are the author's; what an agent sends is bound as parameters, never spliced in. An authorizer lets a statement read and write
rows of the declared tables and nothing else (no files, no schema, no pragmas), and a bound on steps ends one that runs away. After every
transaction the changed rows are told as facts of the world (``records.<table>.<key>``), so that a log alone can be judged.
Deliberately not in here: which tool runs what (``tools``).
"""

from __future__ import annotations

import copy
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workbench.schemas import ToolError
from apex_tui.workbench.world import World
from apex_tui.workflow.work_model import RecordTable

ROOT = "records"
"""Where the world keeps the rows: ``records.<table>.<key>.<column>``."""
MAX_ROWS = 20
"""Rows of one result; a caller cannot listen to more."""
MAX_STEPS = 200
"""Thousands of SQLite instructions of one statement; tables hold tens of rows."""
MAX_VALUE = 1024 * 1024
"""Bytes of one value; a statement could make a gigabyte of nothing in one step."""
_REFUSED = (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError)
"""What SQLite and its driver say no with: a number of more than 64 bits is no error of SQLite's own."""
_ALWAYS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION})
_OF_TABLES = frozenset({sqlite3.SQLITE_READ, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_NAMED = re.compile(r":([a-z][a-z0-9_]*)")


def parameters_of(statement: str) -> tuple[str, ...]:
    """Names of the parameters (``:name``) of a statement, each once."""
    return tuple(dict.fromkeys(_NAMED.findall(re.sub(r"'[^']*'", "", statement))))


class Records:
    """The tables of one session. ``path`` None: kept in memory. Rows begin as the world's ``records`` say.

    Raises ``WorkflowError``: the tables and their rows do not fit together.
    """

    def __init__(self, tables: Mapping[str, RecordTable], world: World, path: Path | None = None) -> None:
        self._tables = dict(tables)
        self._world = world
        self._steps = 0
        # Each transaction is begun and ended by hand; the loop's thread is the only one that comes here.
        self._db = sqlite3.connect(path if path is not None else ":memory:", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = MEMORY")
        self._db.execute("PRAGMA synchronous = OFF")  # survives our own crash; nothing on the loop waits for a disk
        self._db.execute("PRAGMA max_page_count = 2000")
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        try:
            for name, table in self._tables.items():
                self._create(name, table)
        except _REFUSED as error:
            raise WorkflowError(f"records: {error}; correct the tables of the workflow.") from None
        self._db.set_authorizer(self._allows)
        self._db.set_progress_handler(self._count, 1000)

    def _create(self, name: str, table: RecordTable) -> None:
        columns = ", ".join(
            f'"{column}" {kind.upper()}{" PRIMARY KEY" if column == table.key else ""}'
            for column, kind in table.columns.items()
        )
        self._db.execute(f'CREATE TABLE "{name}" ({columns})')
        rows = (self._world.get((ROOT, name)) or {}).values()
        marks = ", ".join(f":{column}" for column in table.columns)
        self._db.executemany(f'INSERT INTO "{name}" VALUES ({marks})', list(rows))

    def close(self) -> None:
        """Let go of the file; closing twice is nothing."""
        self._db.close()

    def read(self, statement: str, values: Mapping[str, Any]) -> Json:
        """Return ``{"rows": [...]}``, at most ``MAX_ROWS``, and ``more`` when there are more. ``ToolError``: it cannot be read."""
        _, found = self._execute(statement, values, MAX_ROWS + 1)
        rows: Json = {"rows": [dict(row) for row in found[:MAX_ROWS]]}
        if len(found) > MAX_ROWS:
            rows["more"] = True
        return rows

    def run(
        self, statements: Sequence[str], values: Mapping[str, Any], cause: str, refusal: str = ""
    ) -> tuple[Json, list[Fact]]:
        """Run statements as one transaction: all of them, or none.

        Returns the rows of the last SELECT and the facts of what changed. ``ToolError``: a statement that writes touched no row (``refusal``
        says what that means), or could not be run; then nothing was changed.
        """
        rows: Json = {}
        self._db.execute("BEGIN")
        try:
            for statement in statements:
                cursor, found = self._execute(statement, values, MAX_ROWS)
                if cursor.description is not None:
                    rows = {"rows": [dict(row) for row in found]}
                elif cursor.rowcount == 0:
                    raise ToolError(refusal or "no record fits, and nothing was changed", "look the records up again")
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        return rows, self._changes(cause)

    def _execute(
        self, statement: str, values: Mapping[str, Any], most: int
    ) -> tuple[sqlite3.Cursor, list[sqlite3.Row]]:
        """Run a statement to its end or to ``most`` rows: a later row can fail as the first can."""
        given = {name: _bindable(values.get(name)) for name in parameters_of(statement)}
        self._steps = 0
        cursor = self._db.cursor()
        cursor.row_factory = sqlite3.Row
        try:
            cursor.execute(statement, given)
            found = cursor.fetchmany(most)
            cursor.close()  # a RETURNING that has more rows to give would let no transaction end
            return cursor, found
        except _REFUSED as error:
            raise ToolError(f"the records could not be used: {error}", "check the values and call it again") from None

    def _changes(self, cause: str) -> list[Fact]:
        """What the tables hold now against what the world says, row by row."""
        facts: list[Fact] = []
        for name, table in self._tables.items():
            before = self._world.get((ROOT, name)) or {}
            cursor = self._db.cursor()
            cursor.row_factory = sqlite3.Row
            now = {str(row[table.key]): dict(row) for row in cursor.execute(f'SELECT * FROM "{name}"')}
            for key in dict.fromkeys((*before, *now)):
                if before.get(key) != now.get(key):
                    facts.append(self._world.set(f"{ROOT}.{name}.{key}", copy.deepcopy(now.get(key)), cause))
        return facts

    def _allows(
        self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None
    ) -> int:
        if action in _ALWAYS or (action == sqlite3.SQLITE_FUNCTION and second != "load_extension"):
            return sqlite3.SQLITE_OK
        # A count reads no column, and then names no table.
        mine = first in self._tables or (action == sqlite3.SQLITE_READ and not first)
        return sqlite3.SQLITE_OK if action in _OF_TABLES and mine else sqlite3.SQLITE_DENY

    def _count(self) -> int:
        self._steps += 1
        return 1 if self._steps > MAX_STEPS else 0


def _bindable(value: Any) -> str | int | float | None:
    """A value as SQLite takes it: true and false are numbers there, and what is no scalar is text."""
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
