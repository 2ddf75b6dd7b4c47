import asyncio
import json
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest
from tui_sample import session

from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event, to_line
from apex_tui.timeline.messages import Failed, Mark, Meters, Opened, Run, Scored
from apex_tui.tui.link import EngineLink, Item, death_sentence

RUN = Run(workflow="leave-request")
OPENED = json.dumps({"type": "opened", "session": "s", "folder": "/s/live", "sound": "no sound"})


def engine(script: str) -> list[str]:
    """A script that plays the engine; ``say`` prints one line."""
    head = (
        "import json, os, signal, sys, time\ndef say(line):\n    sys.stdout.write(line + '\\n'); sys.stdout.flush()\n"
    )
    return [sys.executable, "-c", head + textwrap.dedent(script)]


async def until_ended(link: EngineLink, patience_s: float = 8.0) -> list[Item]:
    """Everything that the engine says until it has ended."""
    items: list[Item] = []
    loop = asyncio.get_running_loop()
    limit = loop.time() + patience_s
    while not link.ended and loop.time() < limit:
        items += link.drain()
        await asyncio.sleep(0.01)
    assert link.ended
    return items


async def test_commands_go_in_and_everything_comes_out_in_order(tmp_path: Path) -> None:
    lines = [OPENED, *(to_line(e) for e in session())]
    meters = json.dumps(
        {"type": "meters", "media_ms": 1, "caller_db": -20, "agent_db": -30, "late_ms": 0, "queue_ms": 0}
    )
    scored = json.dumps({"type": "scored", "folder": "/s/live", "score": {"a": 1}})
    (tmp_path / "lines").write_text("\n".join([*lines, meters, scored]))
    link = EngineLink(
        engine(f"""
            first = json.loads(sys.stdin.readline())
            assert first["type"] == "run" and first["workflow"] == "leave-request", first
            for line in open({str(tmp_path / "lines")!r}):
                say(line.rstrip())
        """),
        tmp_path / "log",
    )
    await link.start(RUN)
    items = await until_ended(link)
    assert isinstance(items[0], Opened)
    assert [i for i in items if isinstance(i, Event)] == session()
    assert isinstance(items[-2], Meters)
    assert items[-1] == Scored(folder="/s/live", score={"a": 1})
    await link.detach()


async def test_later_commands_reach_the_engine(tmp_path: Path) -> None:
    script = (
        "sys.stdin.readline(); say(json.dumps({'type': 'failed', 'message': sys.stdin.readline(), 'exit_code': 2}))"
    )
    link = EngineLink(engine(script), tmp_path / "log")
    await link.start(RUN)
    link.send(Mark(note="here"))
    items = await until_ended(link)
    assert isinstance(items[-1], Failed)
    assert json.loads(items[-1].message) == {"type": "mark", "note": "here"}
    link.send(Mark())  # to an engine that is gone: nothing happens
    await link.detach()


async def test_death_is_told_with_its_code_and_the_place_of_the_recording(tmp_path: Path) -> None:
    link = EngineLink(engine(f"say({OPENED!r}); sys.stderr.write('boom'); sys.exit(9)"), tmp_path / "log")
    await link.start(RUN)
    items = await until_ended(link)
    failure = items[-1]
    assert isinstance(failure, Failed)
    assert failure.exit_code == 9
    assert "ended with exit code 9; the recording up to then is in /s/live" in failure.message
    assert (tmp_path / "log").read_text() == "boom"
    await link.detach()


async def test_an_engine_runs_where_no_log_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    link = EngineLink(engine(f"say({OPENED!r}); sys.stderr.write('boom'); sys.exit(9)"), tmp_path / "file" / "log")
    await link.start(RUN)
    failure = (await until_ended(link))[-1]
    assert isinstance(failure, Failed)
    assert failure.message.endswith("the recording up to then is in /s/live; no log could be kept.")
    await link.detach()


async def test_death_by_a_signal_is_named(tmp_path: Path) -> None:
    link = EngineLink(engine("os.kill(os.getpid(), signal.SIGKILL)"), tmp_path / "log")
    await link.start(RUN)
    failure = (await until_ended(link))[-1]
    assert isinstance(failure, Failed)
    assert "was killed by SIGKILL; no session folder had been opened" in failure.message
    await link.detach()


async def test_unreadable_and_overlong_lines_do_not_end_the_run(tmp_path: Path) -> None:
    script = f"""
        say("not json"); say("x" * 3_000_000); say(json.dumps({{"type": "unknown"}})); say({OPENED!r})
        say(json.dumps({{"type": "failed", "message": "end", "exit_code": 2}}))
    """
    link = EngineLink(engine(script), tmp_path / "log")
    await link.start(RUN)
    items = await until_ended(link)
    assert [type(i) for i in items] == [Opened, Failed]
    assert link.problem is not None
    assert "unreadable" in link.problem
    await link.detach()


async def test_a_gap_is_filled_from_the_sessions_file(tmp_path: Path) -> None:
    lines = [to_line(e) for e in session()]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    opened = json.dumps({"type": "opened", "session": "s", "folder": str(tmp_path), "sound": "x"})
    (tmp_path / "out").write_text("\n".join([opened, *lines[:5], *lines[20:]]))
    script = f"""
        for line in open({str(tmp_path / "out")!r}):
            say(line.rstrip())
        say(json.dumps({{"type": "failed", "message": "end", "exit_code": 2}}))
    """
    link = EngineLink(engine(script), tmp_path / "log")
    await link.start(RUN)
    items = await until_ended(link)
    assert [i for i in items if isinstance(i, Event)] == session()
    await link.detach()


async def test_one_drain_decodes_a_bounded_number(tmp_path: Path) -> None:
    line = to_line(session()[0])
    link = EngineLink(engine(f"for _ in range(2000): say({line!r})\ntime.sleep(0.2)"), tmp_path / "log")
    await link.start(RUN)
    await asyncio.sleep(0.15)
    assert len(link.drain(50)) <= 50
    items = await until_ended(link)
    assert len([i for i in items if isinstance(i, Event)]) >= 1900
    await link.detach()


async def test_a_detached_engine_runs_to_its_end(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script = f"""
        sys.stdin.readline(); say({OPENED!r}); sys.stdin.read()
        time.sleep(0.2); open({str(done)!r}, "w").write("recorded")
    """
    link = EngineLink(engine(script), tmp_path / "log")
    await link.start(RUN)
    while not link.drain():
        await asyncio.sleep(0.01)
    assert link.pid is not None
    assert os.getsid(link.pid) == link.pid != os.getsid(0)
    await link.detach()
    del link
    for _ in range(300):
        if done.exists() and done.read_text():
            break
        await asyncio.sleep(0.02)
    assert done.read_text() == "recorded"


async def test_an_engine_that_cannot_be_started_is_a_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the engine could not be started"):
        await EngineLink([str(tmp_path / "nothing")], tmp_path / "log").start(RUN)


def test_death_sentences() -> None:
    assert "closed its output" in death_sentence(None, None, Path("log"))
    assert "SIGTERM" in death_sentence(-signal.SIGTERM, "/s", Path("log"))
    assert "signal 250" in death_sentence(-250, "/s", Path("log"))
