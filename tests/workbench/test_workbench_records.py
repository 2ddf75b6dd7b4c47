"""The session's own database: transactions, what a statement may not do, and that the log says what the tables hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from apex_tui.timeline.base import Fact
from apex_tui.timeline.errors import WorkflowError
from apex_tui.timeline.work_facts import WorldChanged
from apex_tui.workbench.calls import CallDone
from apex_tui.workbench.records import Records, parameters_of
from apex_tui.workbench.schemas import ToolError
from apex_tui.workbench.workbench import Workbench
from apex_tui.workbench.world import World
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.work_model import RecordTable

SEATS = {"seats": RecordTable(key="id", columns={"id": "text", "row": "integer", "taken_by": "text"})}
ROWS = {
    "records": {
        "seats": {"A1": {"id": "A1", "row": 1, "taken_by": None}, "A2": {"id": "A2", "row": 1, "taken_by": "Bo"}}
    }
}
TAKE = "UPDATE seats SET taken_by = :who WHERE id = :seat AND taken_by IS NULL"


def opened(path: Path | None = None) -> tuple[Records, World]:
    world = World(ROWS)
    return Records(SEATS, world, path), world


def changed(facts: list[Fact]) -> list[tuple[str, object]]:
    return [(fact.path, fact.new) for fact in facts if isinstance(fact, WorldChanged)]


def test_a_transaction_changes_the_table_and_tells_the_rows_that_it_changed() -> None:
    records, world = opened()
    rows, facts = records.run(
        [TAKE, "SELECT id FROM seats WHERE taken_by = :who"], {"who": "Ada", "seat": "A1"}, "tool:take"
    )
    assert rows == {"rows": [{"id": "A1"}]}
    assert changed(facts) == [("records.seats.A1", {"id": "A1", "row": 1, "taken_by": "Ada"})]
    assert world.get("records.seats.A1.taken_by") == "Ada"
    assert records.read("SELECT id FROM seats WHERE taken_by IS NULL", {}) == {"rows": []}


def test_a_write_that_returns_more_rows_than_are_told_is_a_whole_write() -> None:
    records, world = opened()
    seats = [f"INSERT INTO seats VALUES ('B{n}', 2, NULL)" for n in range(25)]
    records.run(seats, {}, "tool:build")
    rows, facts = records.run(["UPDATE seats SET taken_by = 'Ada' WHERE row = 2 RETURNING id"], {}, "tool:take")
    assert (len(rows["rows"]), len(changed(facts))) == (20, 25)
    assert world.get("records.seats.B24.taken_by") == "Ada"


def test_a_statement_that_changes_nothing_undoes_those_before_it() -> None:
    records, world = opened()
    with pytest.raises(ToolError, match=r"^the seat is gone$"):
        records.run(
            ["INSERT INTO seats VALUES ('A3', 2, :who)", TAKE],
            {"who": "Ada", "seat": "A2"},
            "tool:take",
            "the seat is gone",
        )
    assert records.read("SELECT COUNT(*) AS n FROM seats", {}) == {"rows": [{"n": 2}]}
    assert world.get("records.seats.A3") is None


def test_a_row_that_is_deleted_and_one_that_is_new_are_told() -> None:
    records, _ = opened()
    _, facts = records.run(
        ["DELETE FROM seats WHERE id = 'A2'", "INSERT INTO seats VALUES ('A3', 2, NULL)"], {}, "event:x"
    )
    assert changed(facts) == [
        ("records.seats.A2", None),
        ("records.seats.A3", {"id": "A3", "row": 2, "taken_by": None}),
    ]


def test_what_an_agent_sends_is_a_value_and_never_a_statement() -> None:
    records, world = opened()
    records.run([TAKE], {"who": "x'; DROP TABLE seats; --", "seat": "A1"}, "tool:take")
    assert world.get("records.seats.A1.taken_by") == "x'; DROP TABLE seats; --"
    with pytest.raises(ToolError):
        records.run([TAKE], {"who": "Ada", "seat": ["A1"]}, "tool:take")


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE 'other.sqlite' AS other",
        "PRAGMA journal_mode = WAL",
        "DROP TABLE seats",
        "CREATE TABLE more (id TEXT)",
        "SELECT * FROM sqlite_master",
        "SELECT load_extension('x')",
        "UPDATE seats SET taken_by = 1; DELETE FROM seats",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
    ],
)
def test_a_statement_can_do_nothing_but_use_the_rows_of_the_tables(statement: str, tmp_path: Path) -> None:
    records, world = opened(tmp_path / "records.sqlite")
    with pytest.raises(ToolError):
        records.run([statement], {}, "tool:x")
    assert world.get("records") == ROWS["records"]
    assert records.read("SELECT COUNT(*) AS n FROM seats", {}) == {"rows": [{"n": 2}]}


def test_the_file_holds_what_the_log_says(tmp_path: Path) -> None:
    path = tmp_path / "records.sqlite"
    records, world = opened(path)
    records.run([TAKE], {"who": "Ada", "seat": "A1"}, "tool:take")
    records.close()
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT id, taken_by FROM seats ORDER BY id").fetchall()
    assert (
        rows
        == [("A1", "Ada"), ("A2", "Bo")]
        == [(key, row["taken_by"]) for key, row in world.get("records.seats").items()]
    )


def test_long_results_are_cut_and_say_so() -> None:
    world = World({"records": {"seats": {f"A{n}": {"id": f"A{n}", "row": n, "taken_by": None} for n in range(30)}}})
    found = Records(SEATS, world).read("SELECT id FROM seats", {})
    assert len(found["rows"]) == 20
    assert found["more"] is True


def test_rows_that_do_not_fit_their_table_are_one_sentence() -> None:
    with pytest.raises(WorkflowError, match=r"^records: "):
        Records(SEATS, World({"records": {"seats": {"A1": {"id": "A1"}}}}))


def test_parameters_are_found_outside_of_quotes() -> None:
    assert parameters_of("SELECT ':no' FROM seats WHERE id = :seat AND row > :row OR id = :seat") == ("seat", "row")


@pytest.mark.parametrize(
    ("statement", "values", "why"),
    [
        ("SELECT * FROM seats WHERE row = :row", {"row": 2**63}, "too large"),
        ("SELECT abs(row - 9223372036854775807 - 2 + (id = 'A1')) AS n FROM seats", {}, "integer overflow"),
        ("SELECT zeroblob(2000000) AS n", {}, "too big"),
    ],
)
def test_what_sqlite_refuses_is_told_at_whatever_row_and_for_whatever_reason(
    statement: str, values: dict[str, object], why: str
) -> None:
    records, _ = opened()
    for run in (records.read, lambda text, given: records.run([text], given, "tool:look")):
        with pytest.raises(ToolError, match=why) as told:
            run(statement, values)
        assert told.value.hint == "check the values and call it again"
    assert records.read("SELECT COUNT(*) AS n FROM seats", {}) == {"rows": [{"n": 2}]}, "no transaction is left open"


def test_a_commit_that_the_records_refuse_uses_no_approval_up() -> None:
    bench = Workbench(find_workflow("vet-appointment"), 1, "strict")

    def done(at: float, name: str, arguments: Mapping[str, object]) -> tuple[CallDone, list[str]]:
        call = f"{name} {at}"
        bench.call(at, call, name, arguments)
        finished = bench.complete(at + 10, call)
        return finished, [fact.type for fact in finished.facts]

    slot = {"kind": "lameness", "from_day": "2026-01-01"}
    found = (done(0, "find_slots", slot)[0].result or {})["rows"][0]
    fields = {
        "patient_number": "P3058",
        "visit_kind": "lameness",
        "visit_day": found["day"],
        "visit_time": found["time"],
    }
    done(100, "update_case", {"fields": fields})
    done(200, "request_approval", {"target_id": "case"})
    bench.approve(300, "book_visit")
    refused, types = done(400, "book_visit", {"target_id": "case"})
    assert (refused.ok, refused.commit, types) == (False, None, ["tool.finished"])
    done(500, "hold_slot", {"slot": found["id"], "patient_number": "P3058"})
    booked, types = done(600, "book_visit", {"target_id": "case"})
    assert (booked.ok, "commit.decided" in types) == (True, True)
    again = bench.call(700, "third", "book_visit", {"target_id": "case"})
    assert again.commit == ("book_visit", "case", "ALREADY_USED")
