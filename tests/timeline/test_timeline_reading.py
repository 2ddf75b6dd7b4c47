"""The fast way of reading a line never says anything else than the careful one, and a log read in pieces is the same log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_facts import any_log, log

from apex_tui.timeline.agent_facts import AgentSaid
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import FACT_CLASSES, Event, from_line, from_own_line, to_line
from apex_tui.timeline.log import LogReader, read_log
from apex_tui.timeline.messages import read_output
from apex_tui.timeline.session_facts import OperatorMarked

SAID = log(AgentSaid(reply="r1", item="i1", text="Wörter ✓"), AgentSaid(reply="r1", item="i1", text='"and" so on'))
LINE = (to_line(SAID[1]) + "\n").encode()


def carefully(line: bytes) -> Event | None:
    try:
        return from_line(line)
    except (RecordingError, UnicodeDecodeError):
        return None


def test_the_fast_way_knows_what_we_write() -> None:
    for event in SAID:
        assert from_own_line((to_line(event) + "\n").encode()) == event
    assert set(FACT_CLASSES) == {cls.model_fields["type"].default for cls in FACT_CLASSES.values()}


@settings(max_examples=60, deadline=None)
@given(events=any_log(6))
def test_both_ways_lead_to_the_same_event(events: Sequence[Event]) -> None:
    for event in events:
        line = to_line(event).encode("utf-8", "backslashreplace") + b"\n"
        fast = from_own_line(line)
        assert fast is None or fast == from_line(line) == event
        assert fast is not None or b"\\ud8" in line, "only text that is no Unicode takes the long way"


@settings(max_examples=300, deadline=None)
@given(
    place=st.integers(0, len(LINE)),
    gone=st.integers(0, 6),
    put=st.one_of(st.binary(max_size=4), st.text('0123456789.,:[]{}"eE-+truefalsnl\\u ', max_size=6).map(str.encode)),
)
def test_a_changed_line_is_refused_or_read_alike(place: int, gone: int, put: bytes) -> None:
    line = LINE[:place] + put + LINE[place + gone :]
    fast = from_own_line(line)
    assert fast is None or fast == carefully(line), line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"seq":1', b'"seq":01'),
        (b'"v":1', b'"v":2'),
        (b'"media_ms":20.0', b'"media_ms":NaN'),
        (b'"media_ms":20.0', b'"media_ms":-20.0'),
        (b'"causes":[]', b'"causes":[00]'),
        (b'"actor":"agent"', b'"actor":"nobody"'),
        (b"}}\n", b'},"seq":7}\n'),
        (b"}}\n", b"}}}\n"),
        (b'"data":{', b'"data":{"type":"operator.marked",'),
        (b'"data":{', b'"data":{"unknown":1,'),
        (b'"text":', b'"text":1,"text":'),
        (b'"agent.said"', b'"no.such"'),
    ],
)
def test_odd_spellings(old: bytes, new: bytes) -> None:
    line = LINE.replace(old, new)
    assert line != LINE
    fast = from_own_line(line)
    assert fast is None or fast == from_line(line)


def test_the_pipe_takes_lines_of_both_spellings() -> None:
    assert read_output(LINE) == read_output(LINE.replace(b'"v":1,', b'"v": 1,')) == SAID[1]


def write(path: Path, count: int, *tail: bytes) -> list[Event]:
    events = log(*(OperatorMarked(note=str(n)) for n in range(count)))
    path.write_bytes(b"".join(to_line(e).encode() + b"\n" for e in events) + b"".join(tail))
    return events


@pytest.mark.parametrize("tail", [b"", b'{"v":1,"se', b"nonsense\n"])
def test_a_log_read_in_pieces_is_the_same_log(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "events.jsonl"
    events = write(path, 25, tail)
    reader, shares, counts = LogReader(path), list[float](), list[int]()
    while not reader.done:
        assert reader.problem is None, "what is wrong further on is not known yet"
        counts.append(reader.read(10))
        shares.append(reader.share)
    assert counts[:3] == [10, 10, 5]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    whole = read_log(path)
    assert reader.events == whole.events == events
    assert reader.problem == whole.problem
    assert (whole.problem is None) == (tail == b"")
    assert reader.read(10) == 0


def test_a_reader_can_be_left_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    write(path, 5)
    reader = LogReader(path)
    reader.read(2)
    reader.close()
    reader.close()
    assert reader.done
    assert len(reader.events) == 2
    with pytest.raises(RecordingError, match="cannot be read"):
        LogReader(tmp_path / "none.jsonl")


def test_a_newer_line_is_refused_and_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    newer: Any = LINE.replace(b'"v":1', b'"v":9').replace(b'"seq":1', b'"seq":3')
    write(path, 3, newer)
    reader = LogReader(path)
    with pytest.raises(RecordingError, match="update apex-tui"):
        reader.read(10)
    assert reader.done
