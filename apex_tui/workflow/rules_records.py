"""The rules of a recipe's records: tables, rows, statements and the rows of the outcome fit together.

Statements are prepared by SQLite against the declared tables. Deliberately not in here: running them (``workbench.records``).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from apex_tui.workflow.problems import Key
from apex_tui.workflow.recipe import Recipe, RecipeTool

PARAMETER = re.compile(r":([a-z][a-z0-9_]*)")
Found = Iterator[tuple[Key, str]]


def record_faults(recipe: Recipe) -> list[tuple[Key, str]]:
    """Return (key, what is wrong) for everything about the records."""
    found = [*_tables(recipe), *_statements(recipe)]
    return found or list(_outcome(recipe))


def _tables(recipe: Recipe) -> Found:
    for name, table in recipe.records.items():
        key: Key = ("records", name)
        if table.key not in table.columns:
            yield (*key, "key"), f"there is no column {table.key!r}"
            continue
        at = list(table.columns).index(table.key)
        for index, row in enumerate(table.rows):
            if len(row) != len(table.columns):
                yield (*key, "rows", index), f"has {len(row)} values for {len(table.columns)} columns"
            elif "." in str(row[at] or "."):
                yield (*key, "rows", index), "its key must be a text without dots"
        keys = [row[at] for row in table.rows if len(row) == len(table.columns)]
        for twice in sorted({str(value) for value in keys if keys.count(value) > 1}):
            yield (*key, "rows"), f"the key {twice!r} is given twice"


def _statements(recipe: Recipe) -> Found:
    database = sqlite3.connect(":memory:")
    for name, table in recipe.records.items():
        database.execute(
            f'CREATE TABLE "{name}" ({", ".join(f"{chr(34)}{column}{chr(34)}" for column in table.columns)})'
        )
    rows = [(("tools", name), tool.sql, _known(recipe, tool)) for name, tool in recipe.tools.items()]
    rows += [(("follow_through", name), follow.sql, set()) for name, follow in recipe.follow_through.items()]
    for key, statements, known in rows:
        for index, statement in enumerate(statements):
            given = set(PARAMETER.findall(re.sub(r"'[^']*'", "", statement)))
            for missing in sorted(given - known):
                yield (*key, "sql"), f"there is no value for :{missing}"
            try:
                database.execute(f"EXPLAIN {statement}", dict.fromkeys(given))
            except sqlite3.Error as error:
                yield (*key, "sql"), f"statement {index + 1}: {error}"
    database.close()
    for name, tool in recipe.tools.items():
        if tool.kind in ("query", "act") and not tool.sql:
            yield ("tools", name, "sql"), f"a tool of kind {tool.kind} needs it"
        if tool.sql and tool.kind not in ("query", "act", "update", "commit"):
            yield ("tools", name, "sql"), "belongs to a tool of kind query, act, update or commit"
        if tool.params and tool.kind not in ("query", "act"):
            yield ("tools", name, "params"), "belongs to a tool of kind query or act"


def _known(recipe: Recipe, tool: RecipeTool) -> set[str]:
    return set(tool.params) if tool.kind in ("query", "act") else set(recipe.artifact.fields)


def _outcome(recipe: Recipe) -> Found:
    for path, columns in recipe.outcome.records.items():
        name, _, key = path.partition(".")
        table = recipe.records.get(name)
        if table is None or not key:
            yield ("outcome", "records", path), "names no row: write <table>.<key>"
            continue
        for column in columns or {}:
            if column not in table.columns:
                yield ("outcome", "records", path, column), f"the table {name} has no such column"
