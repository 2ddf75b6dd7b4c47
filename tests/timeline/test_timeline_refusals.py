"""What a disk or a damaged line refuses is said in one sentence, and what is told twice counts once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from timeline_facts import log

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import log as log_module
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import from_line, from_record, to_line
from apex_tui.timeline.log import LogReader, TimelineWriter, read_log
from apex_tui.timeline.session_facts import OperatorMarked
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.virtual import run_virtual

GOOD = json.loads(to_line(log(OperatorMarked())[0]))


def full_disk(path: Path) -> TimelineWriter:
    """A log whose disk is full from now on."""
    writer = TimelineWriter(path, lambda: 0.0, lambda: 0.0)
    writer._file.close()
    writer._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - the log closes it
    return writer


def test_a_full_disk_is_named_when_lines_are_written_and_when_the_log_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = full_disk(path)
    writer.emit(OperatorMarked())
    with pytest.raises(RecordingError, match=r"events\.jsonl .*No space left"):
        writer.flush()
    with pytest.raises(RecordingError, match=r"events\.jsonl"):
        writer.close()  # what waited is gone, and a full disk cannot be synced: said, not swallowed
    writer.close()


def test_a_file_that_stops_answering_ends_the_reading_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(to_line(log(OperatorMarked())[0]) + "\n")
    reader = LogReader(path)

    def gone(*_: Any) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(reader, "_next", gone)
    with pytest.raises(RecordingError, match=r"events\.jsonl.*Input/output error"):
        reader.read(10)
    assert reader.done


LINES: dict[str, tuple[dict[str, Any], str]] = {
    "time beyond a day": ({"media_ms": 1e9}, "is dated 1e+09 ms, before the line above it or beyond a day"),
    "time going back": ({"media_ms": -1.0}, "is dated -1 ms, before the line above it or beyond a day"),
    "no finite time": ({"media_ms": float("inf")}, "has no media time"),
    "a cause to come": ({"causes": [1]}, "names a cause that is no earlier event"),
    "a cause before all": ({"causes": [-1]}, "names a cause that is no earlier event"),
    "no version": ({"v": True}, "names no version"),
    "a version of no kind": ({"v": "1"}, "names no version"),
    "a number beyond all": ({"wall_ns": float("inf")}, "cannot be used: event 1"),
}


@pytest.mark.parametrize("name", LINES)
def test_each_damage_has_its_own_sentence(tmp_path: Path, name: str) -> None:
    change, told = LINES[name]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join([json.dumps(GOOD), json.dumps({**GOOD, "seq": 1, **change})]) + "\n")
    read = read_log(path)
    assert [event.seq for event in read.events] == [0]
    assert read.problem is not None
    assert read.problem.startswith(f"events.jsonl is readable up to line 1: line 2 {told}")


def test_more_events_than_are_read_end_the_log_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "MAX_EVENTS", 2)
    path = tmp_path / "events.jsonl"
    path.write_text("".join(to_line(event) + "\n" for event in log(*[OperatorMarked()] * 3)))
    read = read_log(path)
    assert [event.seq for event in read.events] == [0, 1]
    assert read.problem == "events.jsonl is readable up to line 2: line 3 is beyond the 2 events that are read"


def test_an_empty_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"")
    read = read_log(tmp_path / "events.jsonl")
    assert (list(read.events), read.problem) == ([], "events.jsonl is empty: it has no line 1")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([], "not an event: a line must hold a JSON object"),
        ({**GOOD, "v": 99}, "event version 99 is newer than 1: update apex-tui to open it"),
        ({**GOOD, "type": "no.such"}, "event 0 (no.such) is not valid: ValueError there is no event type 'no.such'"),
    ],
)
def test_a_record_that_is_no_event_is_refused_by_name(record: Any, told: str) -> None:
    with pytest.raises(RecordingError) as raised:
        from_record(record)
    assert str(raised.value) == told


def test_a_line_that_is_no_json_is_refused() -> None:
    with pytest.raises(RecordingError, match=r"^not JSON: "):
        from_line("{nonsense}")


def test_an_actor_of_no_kind_is_the_harness() -> None:
    assert from_record({**GOOD, "actor": "somebody"}).actor == "harness"


# --- told twice --------------------------------------------------------------------------------------------------------------------------


def test_sound_of_no_reply_is_heard_and_a_second_start_of_one_reply_is_not_counted() -> None:
    view = SessionView.fold(log(a.AgentSpeechStarted(reply=None, onset_ms=0)))
    assert (view.state.agent_speaking, list(view.state.replies)) == (True, [])
    again = log(a.AgentSpeechStarted(reply="r1", onset_ms=0), a.AgentSpeechStarted(reply="r1", onset_ms=10))
    view = SessionView.fold(again)
    assert view.state.replies["r1"].speech == [(0.0, None)]
    assert view.ignored == 1


REQUEST = w.ApprovalRequested(request="q1", action="pay", target="claim", artifact="claim", version=1, digest="d")
GRANT = w.ApprovalGranted(
    approval="a1", request="q1", action="pay", target="claim", artifact="claim", version=1, digest="d", granted_ms=0
)


def test_a_request_and_an_approval_keep_what_was_said_first() -> None:
    view = SessionView.fold(
        log(REQUEST, REQUEST.model_copy(update={"version": 2}), GRANT, GRANT.model_copy(update={"version": 2}))
    )
    assert view.state.requests["q1"].version == 1
    assert view.state.approvals["a1"].version == 1
    assert view.ignored == 2


def test_a_second_write_after_a_stale_approval_changes_only_what_differs() -> None:
    stale = w.ApprovalStale(approval="a1", covers=1, now=2, differs=("amount",))
    more = stale.model_copy(update={"now": 3, "differs": ("amount", "date")})
    state = SessionView.fold(log(REQUEST, GRANT, stale, more)).state
    assert (state.approvals["a1"].differs, state.approvals["a1"].ended_ms) == (("amount", "date"), 40.0)
    assert [mark.label for mark in state.marks].count("stale") == 1


# --- virtual time ------------------------------------------------------------------------------------------------------------------------


def test_what_is_cancelled_while_it_waits_its_turn_does_not_run() -> None:
    ran: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        waiting: list[asyncio.Handle] = []
        loop.call_soon(lambda: waiting[0].cancel())
        waiting.append(loop.call_soon(ran.append, "ready"))
        at = loop.time() + 1
        loop.call_at(at, lambda: waiting[1].cancel())
        waiting.append(loop.call_at(at, ran.append, "due"))
        never = loop.call_at(at, ran.append, "timer")
        loop.call_at(at - 0.5, never.cancel)
        await asyncio.sleep(2)

    run_virtual(main())
    assert ran == []
