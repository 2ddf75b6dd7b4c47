"""How many sessions in real time one machine carries: N headless sessions at once over loopback, each a process of its own as in a campaign.

    python tests/benchmarks/concurrency.py [--sessions 1 5 10 20 40] [--seconds 30] [--agent child|server]

``--agent child`` (the default): each session starts a rehearsal agent, one more process for each, whose CPU time counts as the session's.
``--agent server``: all sessions call one server process on loopback, as they would call a provider; its CPU time is given apart.

Prints for each N: lateness of all frames (p50, p99, max; ms), frames over 20 ms late, frames of audio dropped, events lost (told to a listener
against lines of the log, and gaps in their numbers), sessions that call themselves degraded, and CPU time per session as a share of one core. The
frames are those of the time in which all N sessions ran: how long N interpreters take to start is another question. Exit code 1 when 20 sessions
(or the largest N below) have a p99 above 20 ms or lose an event. Run it on a quiet machine with two processors.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

BAR_MS, BAR_SESSIONS = 20.0, 20
WORKFLOWS = ("leave-request", "payment")


# --- one session, in a process of its own -----------------------------------------------------------------------------------------------


def session(workflow: str, seed: int, seconds: float, out: str, url: str) -> None:
    """Load, say so, wait for the word, run, and print what came of it as one line of JSON."""
    from apex_tui.agents.rehearsal.agent import RehearsalAgent  # loaded before the word, as all that a session needs
    from apex_tui.engine.control import Control
    from apex_tui.engine.session import run_session
    from apex_tui.score.judge import score_log
    from apex_tui.timeline.events import Event
    from apex_tui.timeline.messages import AnyNotice, Run

    del RehearsalAgent, score_log
    print("ready", flush=True)
    sys.stdin.readline()
    seqs: list[int] = []
    cpu: list[float] = []

    def note(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            seqs.append(item.seq)
            if item.type == "session.ended":
                cpu.append(_used_s(resource.RUSAGE_SELF))

    control, before = Control(), _used_s(resource.RUSAGE_SELF)
    to = {"agent": "realtime", "url": url} if url else {}
    command = Run.model_validate(
        {"workflow": workflow, "seed": seed, "sound": "none", "out": out, "max_s": seconds, **to}
    )
    result = asyncio.run(run_session(command, note, control))
    lines = (result.folder / "events.jsonl").read_bytes().count(b"\n")
    assert control.conductor is not None
    assert control.wiring is not None
    began, late = control.wiring.begun_at, control.conductor.late_ms
    pacing = json.loads((result.folder / "session.json").read_text())["pacing"]
    print(
        json.dumps(
            {
                "began": began,
                "late": [round(ms, 3) for ms in late],
                "dropped": pacing["dropped"],
                "degraded": bool(pacing["degraded_because"]),
                "lost": abs(lines - len(seqs)) + sum(1 for at, seq in enumerate(seqs) if at != seq),
                "events": len(seqs),
                "cpu_s": cpu[0] - before,
                "agent_cpu_s": _used_s(resource.RUSAGE_CHILDREN),
            }
        ),
        flush=True,
    )


def _used_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


# --- one server for all -----------------------------------------------------------------------------------------------------------------


async def server() -> None:
    """Serve the rehearsal agent to whoever calls, on a port that is printed; prints the CPU time used when stdin closes."""
    from websockets.asyncio.server import ServerConnection, serve

    from apex_tui.agents.rehearsal.child import serve_one
    from apex_tui.agents.rehearsal.server import RehearsalServer
    from apex_tui.engine.speech import load_speech
    from apex_tui.workflow.library import find_workflow

    known = {name: (find_workflow(name), load_speech(find_workflow(name), 1).agent) for name in WORKFLOWS}

    async def call(socket: ServerConnection) -> None:
        assert socket.request is not None
        name = socket.request.path.strip("/").partition("?")[0]
        await serve_one(socket, RehearsalServer(*known[name]))

    async with serve(call, "127.0.0.1", 0, compression=None, max_size=None) as listener:
        print(next(iter(listener.sockets)).getsockname()[1], flush=True)
        before = _used_s(resource.RUSAGE_SELF)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        print(_used_s(resource.RUSAGE_SELF) - before, flush=True)


# --- many -------------------------------------------------------------------------------------------------------------------------------


async def _python(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, __file__, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, limit=1 << 26,
    )  # fmt: skip


@contextlib.asynccontextmanager
async def _agents(kind: str, used: list[float]) -> AsyncIterator[str]:
    """The address that sessions call ("": each has an agent of its own); the server's CPU seconds are added to ``used``."""
    if kind == "child":
        yield ""
        return
    process = await _python("--server")
    assert process.stdin is not None
    assert process.stdout is not None
    yield f"ws://127.0.0.1:{int(await process.stdout.readline())}/"
    process.stdin.close()
    used.append(float(await process.stdout.readline()))
    await process.wait()


async def together(number: int, seconds: float, kind: str) -> bool:
    """Run so many sessions at once and print their row; whether the bar holds."""
    used: list[float] = []
    with tempfile.TemporaryDirectory(prefix="apex-tui-concurrency-") as folder:
        async with _agents(kind, used) as url:
            processes = []
            for index in range(number):
                name = WORKFLOWS[index % len(WORKFLOWS)]
                out = str(Path(folder) / str(index))
                processes.append(
                    await _python("--session", name, str(1 + index // 2), str(seconds), out, url and url + name)
                )
            for process in processes:
                assert process.stdout is not None
                await process.stdout.readline()
            for process in processes:
                assert process.stdin is not None
                process.stdin.write(b"go\n")
            said = await asyncio.gather(*(process.communicate() for process in processes))
    found = [json.loads(out.decode().splitlines()[-1]) for out, _ in said if out.strip()]
    return _row(number, found, seconds, used)


def _row(number: int, found: list[dict[str, Any]], seconds: float, used: list[float]) -> bool:
    if len(found) < number:
        print(f"{number:>3} sessions: {number - len(found)} could not be run")
        return False
    # Each began at its own time on the clock that all processes share; what counts is when all of them ran.
    begin = max(one["began"] for one in found)
    end = min(one["began"] + len(one["late"]) * 0.02 for one in found)
    late = sorted(
        ms for one in found for index, ms in enumerate(one["late"]) if begin <= one["began"] + index * 0.02 < end
    )
    if not late:
        print(f"{number:>3} sessions: they never ran all at once; give them more --seconds")
        return False
    own = sum(one["cpu_s"] for one in found) / number / seconds
    agent = (sum(one["agent_cpu_s"] for one in found) + sum(used)) / number / seconds
    p50, p99 = (late[round(share * (len(late) - 1))] for share in (0.50, 0.99))
    lost = sum(one["lost"] for one in found)
    over = sum(1 for ms in late if ms > BAR_MS)
    print(
        f"{number:>3} sessions, all at once for {end - begin:.0f} s: n {len(late)} frames, late p50 {p50:.2f} p99 {p99:.2f} max {late[-1]:.2f} ms, "
        f"over 20 ms {over} ({100 * over / len(late):.3f} %); dropped {sum(one['dropped'] for one in found)} frames, "
        f"lost {lost} of {sum(one['events'] for one in found)} events; degraded {sum(one['degraded'] for one in found)}; "
        f"CPU per session {100 * own:.1f} % + agent {100 * agent:.1f} %",
        flush=True,
    )
    return bool(p99 <= BAR_MS and lost == 0)


def main() -> int:
    """Print the curve; the exit code."""
    if sys.argv[1:2] == ["--session"]:
        name, seed, seconds, out, url = sys.argv[2:]
        session(name, int(seed), float(seconds), out, url)
        return 0
    if sys.argv[1:2] == ["--server"]:
        asyncio.run(server())
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 5, 10, 20, 40])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--agent", choices=("child", "server"), default="child")
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors; {options.seconds:g} s each; agent: {options.agent}")
    held = {number: asyncio.run(together(number, options.seconds, options.agent)) for number in options.sessions}
    judged = [number for number in held if number <= BAR_SESSIONS]
    return 0 if not judged or held[max(judged)] else 1


if __name__ == "__main__":
    sys.exit(main())
