"""What lies in a folder of sessions and is none, or is one that cannot be believed: named with its reason, never counted, never a crash."""

from __future__ import annotations

import json
import os
import random
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaign_kit import copied, copy_session
from pydantic import BaseModel

from apex_tui.score import verdict, verdict_work
from apex_tui.score.verdict import Score
from apex_tui.store.files import MAX_JSON
from apex_tui.trials import results_verdict
from apex_tui.trials.results import table_of
from apex_tui.trials.results_log import MAX_LOG
from apex_tui.trials.results_read import read_results
from apex_tui.trials.results_verdict import Counted, CountedScore


def edited(name: str, **change: Any) -> Callable[[Path], object]:
    """Change keys of a JSON file; a dotted key goes into objects."""

    def edit(place: Path) -> None:
        content = json.loads((place / name).read_text())
        for key, value in change.items():
            inner = content
            *way, last = key.split("__")
            for step in way:
                inner = inner[step]
            inner[last] = value
        (place / name).write_text(json.dumps(content))

    return edit


def raw(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda place: (place / name).write_bytes(content)


def replaced(name: str, how: Callable[[Path], object]) -> Callable[[Path], object]:
    def edit(place: Path) -> None:
        (place / name).unlink()
        how(place / name)

    return edit


def huge(place: Path) -> None:
    with (place / "score.json").open("r+b") as file:
        file.truncate(MAX_JSON + 1)  # a hole: it takes no room


def of_the_score(change: Callable[[Any], object]) -> Callable[[Path], object]:
    """Change the verdict in place."""

    def edit(place: Path) -> None:
        content = json.loads((place / "score.json").read_text())
        change(content)
        (place / "score.json").write_text(json.dumps(content))

    return edit


def lined(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], object]:
    """Change the lines of the log."""

    def edit(place: Path) -> None:
        log = place / "events.jsonl"
        log.write_bytes(b"".join(change(log.read_bytes().splitlines(keepends=True))))

    return edit


def edited_end(**change: Any) -> Callable[[Path], object]:
    def edit(lines: list[bytes]) -> list[bytes]:
        end = json.loads(lines[-1])
        end["data"] |= change
        return [*lines[:-1], json.dumps(end).encode() + b"\n"]

    return lined(edit)


def stop_of(**change: Any) -> Callable[[Path], object]:
    return of_the_score(lambda score: score["floor"]["barge_ins"][0].update(change))


GATES = [{"gate": g, "passed": True, "reason": ""} for g in ("TS", "PV", "AC", "AV")]
FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda p: os.truncate(p / "score.json", 700), "score.json is cut or damaged"),
    "empty": (raw("score.json", b""), "score.json is cut or damaged"),
    "huge": (huge, "is larger than"),
    "binary": (raw("score.json", bytes(range(256)) * 40), "score.json is cut or damaged"),
    "binary meta": (raw("session.json", b"\xff\xfe\x00PK\x03\x04"), "session.json is cut or damaged"),
    "deep": (raw("score.json", b"[" * 100_000), "score.json is cut or damaged"),
    "deep workflow": (raw("workflow.json", b'{"a":' * 50_000), "workflow.json is cut or damaged"),
    "a list": (raw("session.json", b"[]"), "session.json is not a session's"),
    "a folder named like a file": (replaced("score.json", Path.mkdir), "score.json cannot be read (Is a directory)"),
    "a pipe": (replaced("session.json", os.mkfifo), "session.json is no regular file"),
    "a circle of links": (replaced("score.json", lambda p: p.symlink_to(p.name)), "score.json cannot be read"),
    "newer score": (edited("score.json", schema_version=99), "is in version 99"),
    "newer meta": (edited("session.json", schema_version=99), "session.json is not a session's"),
    "newer workflow": (edited("workflow.json", schema_version=99), "update apex-tui"),
    "no workflow": (lambda p: (p / "workflow.json").unlink(), "workflow.json is missing"),
    "another's score": (edited("score.json", session="other"), "another session"),
    "no gates": (edited("score.json", gates=[]), "its gates are not the four"),
    "a gate twice": (edited("score.json", gates=[*GATES[:3], GATES[0]]), "its gates are not the four"),
    "success without a gate": (edited("score.json", success=False), "success contradicts"),
    "no number": (edited("score.json", afa=float("nan")), "afa"),
    "infinite": (edited("score.json", duration_ms=float("inf")), "duration_ms"),
    "negative": (edited("score.json", tools__calls=-4), "tools.calls"),
    "more than all": (edited("score.json", afa=1.5), "afa"),
    "unknown ending": (edited("score.json", validity="fine"), "validity"),
    "scored and cut off": (edited("score.json", outcome="cut_off"), "validity contradicts its outcome"),
    "a stop before its onset": (stop_of(stop_delay_ms=-50), "floor.barge_ins.0.stop_delay_ms"),
    "a stop beyond its window": (stop_of(stop_delay_ms=2000.1), "floor.barge_ins.0.stop_delay_ms"),
    "a stop of none": (
        stop_of(stop_kind="not_stopped"),
        "floor.barge_ins.0: an agent that did not stop has a stop delay",
    ),
    "a stop of no kind": (stop_of(stop_kind="fine"), "floor.barge_ins.0.stop_kind"),
    "one stop many times": (
        of_the_score(lambda s: s["floor"].update(barge_ins=s["floor"]["barge_ins"] * 2)),
        "floor: a barge-in is there twice",
    ),
    "more calls than calls": (edited("score.json", tools__ok=99), "tools: some calls are more than all calls"),
    "more repeats than calls": (edited("score.json", tools__repeated=99), "tools"),
    "more confirmed than all": (edited("score.json", work__confirmations={"confirmed": 2, "n": 1}), "confirmations"),
    "fields twice": (of_the_score(lambda s: s.update(fields=s["fields"] * 2)), "a field is there twice"),
    "a wrong field": (of_the_score(lambda s: s["fields"][0].update(passed=False)), "its AFA contradicts its fields"),
    "a wrong field in AFA": (
        of_the_score(lambda s: (s["fields"][0].update(passed=False), s.update(afa=round(1 - 1 / s["afa_n"], 4)))),
        "its gate AV contradicts its fields",
    ),
    "a stale field": (
        of_the_score(lambda s: s["fields"][0].update(stale=True)),
        "fields.0: a field is stale and right",
    ),
    "a field less": (of_the_score(lambda s: s["fields"].pop()), "its AFA counts more fields than there are"),
    "no AFA": (edited("score.json", afa=None), "its AFA contradicts its n"),
    "values of none": (edited("score.json", latency__first_audible_ms={"n": 0, "values": [9.0]}), "first_audible_ms"),
    "limits of another kind": (edited("score.json", limits="x"), "limits"),
    "usage below nothing": (edited("score.json", usage={"agent": {"total_tokens": -1.0}}), "usage.agent.total_tokens"),
    "an empty log": (raw("events.jsonl", b""), "events.jsonl is empty"),
    "no log": (lambda p: (p / "events.jsonl").unlink(), "events.jsonl is missing"),
    "a pipe for a log": (replaced("events.jsonl", os.mkfifo), "events.jsonl is no regular file"),
    "a huge log": (lambda p: os.truncate(p / "events.jsonl", MAX_LOG + 1), "events.jsonl is larger than"),
    "a log without its end": (lined(lambda lines: lines[:-1]), "events.jsonl is damaged: it has no end"),
    "a log cut in its last line": (lined(lambda lines: [*lines[:-1], lines[-1][:-9]]), "damaged: it has no end"),
    "a log without its start": (lined(lambda lines: lines[1:]), "its first line is not the start of a session"),
    "a line twice": (
        lined(lambda lines: [lines[0], *lines]),
        "damaged: it has 3 lines where its last event is number 1",
    ),
    "another's log": (lined(lambda lines: [lines[0].replace(b'"bad"', b'"other"'), lines[1]]), "of another session"),
    "another's end": (edited_end(agent_sha256="f" * 64), "its end tells another agent_sha256"),
    "another outcome": (edited_end(outcome="over_time"), "its end tells another outcome"),
    "fewer frames": (edited_end(frames=1), "its end tells another frames"),
    "another workflow": (edited("workflow.json", title="x"), "workflow.json is not the workflow that the session ran"),
    "a verdict of a cut log": (
        edited("score.json", validity="cut_off", outcome="cut_off", success=False),
        "it comes to an end, and the verdict is on a log that was cut",
    ),
    "no length": (edited("score.json", duration_ms=-5), "duration_ms"),
    "longer than a day": (edited("score.json", duration_ms=86_400_001.0), "duration_ms"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_one_that_cannot_be_believed_is_named(tmp_path: Path, name: str) -> None:
    edit, why = FOREIGN[name]
    copy_session(tmp_path, "good", agent="mine")
    place = copy_session(tmp_path, "bad", agent="mine")
    edit(place)
    found = read_results([tmp_path])
    assert [row.path.name for row in found.rows] == ["good"]
    assert list(found.skipped) == [str(place)]
    assert why in found.skipped[str(place)]
    assert table_of(found).agents[0].scored == 1


def test_whatever_else_lies_there_is_named(tmp_path: Path) -> None:
    good = copy_session(tmp_path, "good", agent="mine")
    copied(good, tmp_path / "good (copy)")
    (tmp_path / "link").symlink_to(good)
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "one\nline \x1b[2J").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".hidden").mkdir()
    found = read_results([tmp_path])
    assert [row.path.name for row in found.rows] == ["good"]
    assert {Path(path).name: why.partition(":")[0] for path, why in found.skipped.items()} == {
        "good (copy)": "an identical repeat (or a copy) of a session that is counted",
        "link": "a link",
        "circle": "not the folder of a session",
        "up": "a link",
        "nothing": "an empty folder",
        "notes.txt": "not the folder of a session",
        "one\nline \x1b[2J": "an empty folder",
        "pipe": "not the folder of a session",
    }


def test_a_campaign_that_names_what_it_cannot_hold(tmp_path: Path) -> None:
    cells = tmp_path / "cells"
    cells.mkdir()
    good, gone, cut, away, circle = ("a" * 64, "b" * 64, "c" * 64, "d" * 64, "e" * 64)
    session = copy_session(tmp_path / "sessions", "one", workflow="x", agent="mine")
    cell = {"workflow": "x", "workflow_digest": "d", "label": "mine", "agent": "mine", "seed": 1, "repeat": 0}
    for digest, where in ((good, "sessions/one"), (away, "../../etc"), (circle, "nul\0l")):
        last = {"number": 1, "validity": "scored", "outcome": "completed", "session": where}
        (cells / f"{digest}.json").write_text(json.dumps({"cell": cell, "last": last}))
    (cells / f"{cut}.json").mkdir()
    (cells / "stray.json").write_text("{}")
    wanted = [good, gone, cut, away, circle, "../../../etc/passwd", "x" * 5000, 7]
    (tmp_path / "campaign.json").write_text(json.dumps({"cells": wanted}))
    found = read_results([tmp_path])
    assert [row.path for row in found.rows] == [session]
    assert found.missing == 1
    assert sorted(why for why in found.skipped.values()) == [
        "a cell's session outside its campaign",
        "a cell's session outside its campaign",
        "names 3 cells that cannot be any",
        "not a cell of the campaign's plan as it is now",
        "the record of a cell that is cut or damaged",
    ]
    (tmp_path / "campaign.json").write_text('{"cells": 3}')
    assert read_results([tmp_path]).rows == []


def test_no_damage_to_a_file_breaks_the_table(tmp_path: Path) -> None:
    place = copy_session(tmp_path, "s", agent="mine")
    rng = random.Random(7)
    for name in ("score.json", "session.json", "workflow.json"):
        whole = (place / name).read_bytes()
        for _ in range(12):
            start = rng.randrange(len(whole))
            junk = rng.choice((b"", b"null", b'"x"', b"-1e400", b"[]", b"{}", b"\x00", b"1"))
            (place / name).write_bytes(whole[:start] + junk + whole[start + rng.randrange(40) :])
            found = read_results([tmp_path])
            assert len(found.rows) + len(found.skipped) == 1
            table_of(found)
        (place / name).write_bytes(whole)


def test_parameters_of_another_kind_than_ours_are_text(tmp_path: Path) -> None:
    copy_session(
        tmp_path, "s", agent="mine", meta={"parameters": {"model": ["a"], "instructions": {"b": 1}, "channel": 7}}
    )
    assert table_of(read_results([tmp_path])).agents[0].model == "['a']"


def counterparts() -> list[tuple[type[BaseModel], type[BaseModel]]]:
    names = {
        "CountedGate": "GateVerdict",
        "CountedField": "FieldVerdict",
        "CountedStop": "StopRow",
        "CountedTools": "ToolUse",
    }
    names |= {"CountedWork": "WorkMeasures"}
    found: list[tuple[type[BaseModel], type[BaseModel]]] = []
    for name, kind in vars(results_verdict).items():
        if isinstance(kind, type) and issubclass(kind, Counted) and kind is not Counted:
            own = names.get(name, name.removeprefix("Counted"))
            found.append((kind, getattr(verdict, own, None) or getattr(verdict_work, own)))
    return found


@pytest.mark.parametrize(("part", "whole"), counterparts(), ids=lambda kind: kind.__name__)
def test_what_a_table_counts_is_in_the_verdict_under_the_same_name(
    part: type[BaseModel], whole: type[BaseModel]
) -> None:
    assert set(part.model_fields) <= set(whole.model_fields)
    plain = {bool, int, float, str}
    for name, field in part.model_fields.items():
        theirs = whole.model_fields[name].annotation
        kinds = {kind for kind in (field.annotation, *typing.get_args(field.annotation)) if kind in plain}
        assert kinds <= {theirs, *typing.get_args(theirs)}, f"{name} is {theirs} in the verdict"
    assert CountedScore.model_fields.keys() <= Score.model_fields.keys()
