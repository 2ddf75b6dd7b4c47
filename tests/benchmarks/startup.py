"""How soon the engine speaks: from the spawning of its process to the caller's first frame on the wire.

    python tests/benchmarks/startup.py [--runs 20] [--workflow leave-request] [--rehearsal]

The agent is a local server of the realtime protocol that is up already, as a provider's is, and does nothing but confirm the session.
``--rehearsal`` measures the scripted agent instead, whose process the engine has to start first; the end is then the first line of the session's
wire log that carries audio. Prints n, median and 95th percentile (s), and the median CPU time (user and system) of the engine until then. Exit
code 1 when the median is above 1.0 s. Python may write bytecode, as it does wherever the app is installed; one start before the measured ones fills
that cache. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve

from apex_tui.timeline.messages import Run, command_line

MOST_S = 1.0
APPEND = '"input_audio_buffer.append"'


class Listener:
    """Confirms a session and notes when its first audio comes."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.at = 0.0

    async def session(self, socket: ServerConnection) -> None:
        """One connection."""
        await socket.send(json.dumps({"type": "session.created", "session": {"type": "realtime"}}))
        async for message in socket:
            if APPEND in str(message):
                self.at = time.monotonic()
                self.heard.set()
                return
            update = json.loads(message)
            if update["type"] == "session.update":
                await socket.send(json.dumps({"type": "session.updated", "session": update["session"]}))


async def start(workflow: str, out: Path, listener: Listener | None, port: int) -> tuple[float, float]:
    """Start one engine and end it at its first frame: seconds until then, and CPU seconds of its process."""
    to = {"agent": "realtime", "url": f"ws://127.0.0.1:{port}/"} if listener is not None else {}
    command = Run.model_validate({"workflow": workflow, "sound": "none", "out": str(out), **to})
    began = time.monotonic()
    engine = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "apex_tui.engine", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )  # fmt: skip
    assert engine.stdin is not None
    engine.stdin.write(command_line(command).encode() + b"\n")
    await engine.stdin.drain()
    async with asyncio.timeout(60):
        at = await _on_the_wire(listener, out)
    cpu = _cpu_s(engine.pid)
    engine.kill()
    await engine.wait()
    return at - began, cpu


async def _on_the_wire(listener: Listener | None, out: Path) -> float:
    if listener is not None:
        await listener.heard.wait()
        return listener.at
    while True:
        for wire in out.glob("*/wire.jsonl"):
            if APPEND in wire.read_text():
                return time.monotonic()
        await asyncio.sleep(0.005)


def _cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(runs: int, workflow: str, rehearsal: bool) -> list[tuple[float, float]]:
    """Start the engine ``runs`` times, and once before."""
    found = []
    for _ in range(runs + 1):
        listener = None if rehearsal else Listener()
        with tempfile.TemporaryDirectory(prefix="apex-tui-startup-", ignore_cleanup_errors=True) as folder:
            if listener is None:
                found.append(await start(workflow, Path(folder), None, 0))
                continue
            async with serve(listener.session, "127.0.0.1", 0) as server:
                port = next(iter(server.sockets)).getsockname()[1]
                found.append(await start(workflow, Path(folder), listener, port))
    return found[1:]


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workflow", default="leave-request")
    parser.add_argument("--rehearsal", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(measure(options.runs, options.workflow, options.rehearsal))
    took, cpu = sorted(s for s, _ in found), statistics.median(c for _, c in found)
    p95 = took[min(len(took) - 1, round(0.95 * (len(took) - 1)))]
    agent = "the rehearsal agent" if options.rehearsal else "a server that is up"
    print(
        f"{options.workflow} with {agent}: n {len(took)}, first frame after median {statistics.median(took):.2f} s, "
        f"p95 {p95:.2f} s (min {took[0]:.2f}, max {took[-1]:.2f}); CPU of the engine until then {cpu:.2f} s"
    )
    return 0 if statistics.median(took) <= MOST_S else 1


if __name__ == "__main__":
    sys.exit(main())
