import gc
import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from timeline_facts import any_log

from apex_tui.timeline.agent_facts import AgentSaid, BargeInClosed
from apex_tui.timeline.caller_facts import CallerTurnEnded
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event, to_line
from apex_tui.timeline.log import MAX_LINE, TimelineWriter, read_log
from apex_tui.timeline.session_facts import OperatorMarked
from apex_tui.timeline.work_facts import ToolCalled, ToolFinished, WorldChanged


class Clock:
    """Both clocks, set by hand."""

    def __init__(self) -> None:
        self.s = 0.0
        self.ms = 0.0

    def writer(self, path: Path, **options: Any) -> TimelineWriter:
        return TimelineWriter(path, lambda: self.s, lambda: self.ms, **options)


def mark(note: str = "") -> OperatorMarked:
    return OperatorMarked(note=note)


def small_log(path: Path, size: int = 30) -> list[Event]:
    events: list[Event] = []
    clock = Clock()
    writer = clock.writer(path, listener=events.append)
    for number in range(size):
        clock.ms = number * 20.0
        writer.emit(AgentSaid(reply="r1", item="i1", text=f"Wörter {number} ✓"), causes=range(number)[-2:])
    writer.close()
    return events


# --- writing ---------------------------------------------------------------------------------------------------------------------------


def test_an_event_carries_both_clocks_its_actor_and_its_causes(tmp_path: Path) -> None:
    clock, heard = Clock(), list[Event]()
    writer = clock.writer(tmp_path / "events.jsonl", listener=heard.append)
    clock.s, clock.ms = 1.5, 1234.56789
    assert writer.emit(mark("here")) == 0
    assert writer.emit(CallerTurnEnded(turn=1, offset_ms=1200), causes=[0, 0], actor="harness", media_ms=1300.0004) == 1
    writer.close()
    first, second = heard
    assert (first.seq, first.media_ms, first.wall_ns, first.actor, first.causes) == (
        0,
        1234.568,
        1_500_000_000,
        "operator",
        (),
    )
    assert (second.seq, second.media_ms, second.actor, second.causes) == (1, 1300.0, "harness", (0,))
    assert read_log(tmp_path / "events.jsonl").events == heard


@pytest.mark.parametrize("cause", [1, 7, -1])
def test_a_cause_must_be_an_earlier_event(tmp_path: Path, cause: int) -> None:
    writer = Clock().writer(tmp_path / "events.jsonl")
    writer.emit(mark())
    with pytest.raises(ValueError, match="earlier"):
        writer.emit(mark(), causes=[cause])
    assert writer.emit(mark(), causes=[0]) == 1, "a refused event takes no number"
    writer.close()


def test_media_time_never_goes_back_and_is_a_number(tmp_path: Path) -> None:
    events: list[Event] = []
    writer = Clock().writer(tmp_path / "events.jsonl", listener=events.append)
    writer.emit(mark(), media_ms=500)
    writer.emit(mark(), media_ms=480)
    assert [event.media_ms for event in events] == [500, 500]
    with pytest.raises(ValueError, match="media time"):
        writer.emit(mark(), media_ms=float("nan"))
    writer.close()


def test_a_line_is_on_disk_100_ms_after_the_emit_at_ticks_of_20_ms(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "events.jsonl"
    writer = clock.writer(path)
    clock.s = 0.001
    writer.emit(mark())
    assert path.read_bytes() == b"", "lines are written in bundles"
    for tick in range(1, 6):
        clock.s = tick * 0.02
        writer.flush_if_due()
    assert clock.s - 0.001 <= 0.1
    assert len(read_log(path).events) == 1
    writer.close()


def test_an_emit_takes_older_lines_to_disk(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "events.jsonl"
    writer = clock.writer(path)
    writer.emit(mark("old"))
    clock.s = 0.1
    writer.emit(mark("new"))
    assert len(read_log(path).events) == 2
    writer.close()


def test_a_closed_log_takes_nothing_more(tmp_path: Path) -> None:
    writer = Clock().writer(tmp_path / "events.jsonl")
    writer.emit(mark())
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.emit(mark())
    assert len(read_log(tmp_path / "events.jsonl").events) == 1


def test_an_older_log_is_never_written_over(tmp_path: Path) -> None:
    small_log(tmp_path / "events.jsonl", 3)
    with pytest.raises(RecordingError, match="exists already"):
        Clock().writer(tmp_path / "events.jsonl")
    assert len(read_log(tmp_path / "events.jsonl").events) == 3


def test_a_log_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be written"):
        Clock().writer(tmp_path / "gone" / "events.jsonl")


# --- blobs -----------------------------------------------------------------------------------------------------------------------------


def written(path: Path, *facts: Any) -> list[Event]:
    events: list[Event] = []
    writer = Clock().writer(path, listener=events.append)
    for fact in facts:
        writer.emit(fact)
    writer.close()
    return events


def test_large_payloads_lie_in_blobs_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    text = AgentSaid(reply="r", item="i", text="ä" * 300_000, final=True)
    call = ToolCalled(call="c1", name="search", arguments={"query": "x" * 300_000, "n": 1})
    done = ToolFinished(call="c1", name="search", ok=True, result={"hits": [1, 2]}, latency_ms=5)
    events = written(path, text, call, done)
    lines = path.read_bytes().splitlines()
    assert max(map(len, lines)) <= MAX_LINE
    stored = json.loads(lines[1])["data"]
    assert stored["arguments"].keys() == {"$blob", "bytes"}
    assert (tmp_path / "blobs" / stored["arguments"]["$blob"]).stat().st_size == stored["arguments"]["bytes"]
    assert stored["name"] == "search", "what fits stays readable"
    assert len(list((tmp_path / "blobs").iterdir())) == 2
    assert read_log(path).events == events
    assert read_log(path).problem is None


def test_a_payload_that_looks_like_a_reference_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    trick = {"$blob": "0" * 64, "bytes": 5}
    events = written(
        path, ToolCalled(call="c", name="n", arguments=trick), WorldChanged(path="p", new={"deep": trick}, cause="c")
    )
    log = read_log(path)
    assert log.events == events
    assert log.problem is None


@pytest.mark.parametrize("damage", ["missing", "changed", "a pipe"])
def test_a_lost_or_altered_blob_ends_the_log_there(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "events.jsonl"
    written(path, mark(), AgentSaid(reply="r", item="i", text="x" * 300_000), mark())
    (blob,) = (tmp_path / "blobs").iterdir()
    if damage == "missing":
        blob.unlink()
    elif damage == "a pipe":
        blob.unlink()
        os.mkfifo(blob)
    else:
        blob.write_bytes(b'"y"')
    log = read_log(path)
    assert len(log.events) == 1
    assert log.problem is not None
    assert "line 2" in log.problem
    assert blob.name in log.problem


def test_a_reference_cannot_leave_the_blobs(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    (tmp_path / "secret").write_text('"s"')
    written(path, AgentSaid(reply="r", item="i", text="PLACE"))
    path.write_text(path.read_text().replace('"PLACE"', '{"$blob":"../secret","bytes":3}'))
    log = read_log(path)
    assert log.events == []
    assert log.problem is not None
    assert "SHA-256" in log.problem


# --- reading -----------------------------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=any_log(12))
def test_what_is_written_is_read(tmp_path: Path, events: Sequence[Event]) -> None:
    path = tmp_path / "events.jsonl"
    path.unlink(missing_ok=True)
    again = written(path, *[event.fact for event in events])
    log = read_log(path)
    assert log.events == again
    assert [event.fact for event in log.events] == [event.fact for event in events]


def test_a_log_cut_at_any_byte_opens_up_to_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = small_log(path)
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == 10]
    chance = random.Random(4)
    for cut in [0, 1, ends[3], ends[3] + 1, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(500))]:
        path.write_bytes(whole[:cut])
        log = read_log(path)
        count = sum(1 for end in ends if end <= cut)  # a line without its line break is whole, too
        assert log.events == events[:count], cut
        if cut == 0:
            assert log.problem == "events.jsonl is empty: it has no line 1"
        elif cut in ends or cut - 1 in ends:
            assert log.problem is None, cut
        else:
            expected = f"events.jsonl is readable up to line {count}: line {count + 1} is cut"
            assert log.problem == expected, cut


def test_random_damage_never_raises_and_keeps_what_lies_before(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = small_log(path)
    whole = path.read_bytes()
    chance = random.Random(5)
    for _ in range(200):
        at = chance.randrange(len(whole))
        junk = bytes(chance.choice(b'\x00\xff{}[]",:\n') for _ in range(chance.randrange(1, 6)))
        path.write_bytes(whole[:at] + junk + whole[at + len(junk) :])
        before = whole[:at].count(b"\n")
        assert read_log(path).events[:before] == events[:before]


BAD_LINES = {
    "not json": b"{nonsense}",
    "not an event": b"[1]",
    "no version": b'{"seq":1}',
    "deep": b"[" * 100_000,
    "infinite": b'{"v":1,"seq":Infinity,"type":"operator.marked","actor":"operator","media_ms":0,"wall_ns":0,"causes":[],"data":{}}',
    "nan time": b'{"v":1,"seq":1,"type":"operator.marked","actor":"operator","media_ms":NaN,"wall_ns":0,"causes":[],"data":{}}',
    "unknown type": b'{"v":1,"seq":1,"type":"no.such","actor":"operator","media_ms":0,"wall_ns":0,"causes":[],"data":{}}',
    "gap": b'{"v":1,"seq":5,"type":"operator.marked","actor":"operator","media_ms":0,"wall_ns":0,"causes":[],"data":{}}',
    "too long": b'{"v":1,"seq":1,"pad":"' + b"x" * 1_100_000 + b'"}',
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_in_the_middle_ends_the_log_and_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "events.jsonl"
    good = [to_line(event).encode() for event in small_log(path, 3)]
    path.write_bytes(b"\n".join([good[0], BAD_LINES[name], good[2]]) + b"\n")
    log = read_log(path)
    assert [event.seq for event in log.events] == [0]
    assert log.problem is not None
    assert log.problem.startswith("events.jsonl is readable up to line 1: line 2 ")
    assert "\n" not in log.problem


def test_a_newer_log_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    small_log(path, 3)
    path.write_bytes(path.read_bytes().replace(b'{"v":1,', b'{"v":2,'))
    with pytest.raises(RecordingError, match=r"^the log was written in format 2 .* update apex-tui to open it$"):
        read_log(path)


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot be read"):
        read_log(tmp_path / "events.jsonl")


def test_reading_leaves_the_collector_as_it_was(tmp_path: Path) -> None:
    small_log(tmp_path / "events.jsonl", 3)
    assert gc.isenabled()
    read_log(tmp_path / "events.jsonl")
    assert gc.isenabled()


def test_a_hundred_thousand_events_are_read_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    template = to_line(
        Event(0, 0.0, 0, BargeInClosed(barge_in=1, turn=2, reply="r", kind="overlap", onset_ms=5, stop_kind="yielded"), "harness")
    )  # fmt: skip
    path.write_text("".join(template.replace('"seq":0', f'"seq":{seq}') + "\n" for seq in range(100_000)))
    began = time.process_time()
    log = read_log(path)
    assert len(log.events) == 100_000
    assert time.process_time() - began < 8.0, "CPU seconds; about 3 on one core"


def test_a_log_that_is_deleted_while_it_is_written_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = Clock().writer(path)
    writer.emit(mark())
    writer.flush()
    path.unlink()
    writer.emit(mark())
    with pytest.raises(RecordingError, match="was deleted while it was written"):
        writer.flush()
    writer.close()
