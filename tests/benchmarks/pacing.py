"""How well the instrument keeps its own time: a three-minute session over the websocket with the screen running, and virtual time.

    python tests/benchmarks/pacing.py [--runs 1] [--no-screen]

The bars: real time with the screen in tmux: p99 frame lateness <= 10 ms, <= 0.1 % of frames over 20 ms late, none dropped. Virtual: three minutes
of session in <= 3 s on one core. Run it on a quiet machine; the figures are also in each session's session.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLOW_TOOLS = ("--tool-latency", "search_knowledge=55s", "--tool-latency", "get_employee=50s")
"""Stretches the leave request to three minutes; the agent's speech and every interruption stay as they are."""
VIRTUAL_S = 180.0


def real_time(screen: bool, out: Path) -> dict[str, object]:
    """One session in real time; returns its pacing."""
    command = [
        sys.executable,
        "-m",
        "apex_tui",
        "run",
        "leave-request",
        "--sound",
        "none",
        "--out",
        str(out),
        *SLOW_TOOLS,
    ]
    if screen:
        name = f"apex-pacing-{os.getpid()}"
        subprocess.run(["tmux", "new-session", "-d", "-s", name, "-x", "120", "-y", "36", *command], check=True)
    else:
        subprocess.run([*command, "--headless"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        for meta in out.glob("*/session.json"):
            content = json.loads(meta.read_text())
            if content.get("pacing"):
                if screen:
                    subprocess.run(["tmux", "kill-session", "-t", name], check=False)
                return dict(content["pacing"])
        time.sleep(0.5)
    raise SystemExit("the session did not end")


def virtual(out: Path) -> tuple[float, float, float]:
    """Virtual time in this process, imports apart: media s and CPU s of one three-minute session (clips decoded anew), and the CPU s that three
    minutes of nothing but dense talk cost.
    """
    from apex_tui.engine.headless import run_headless
    from apex_tui.timeline.messages import Run

    def session(workflow: str, seed: int, slow: dict[str, float]) -> tuple[float, float]:
        begin = time.process_time()
        command = Run(workflow=workflow, seed=seed, virtual=True, sound="none", out=str(out), tool_latency=slow)
        ran = run_headless(command, lambda item: None)
        return ran.score.duration_ms / 1000, time.process_time() - begin

    session("payment", 1, {})
    media, cpu = session("leave-request", 2, {"search_knowledge": 55_000, "get_employee": 50_000})
    dense = [session(name, seed, {}) for seed in (3, 4) for name in ("leave-request", "payment")]
    per_three = VIRTUAL_S * sum(c for _, c in dense) / sum(m for m, _ in dense)
    return media, cpu, per_three


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--no-screen", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        media, cpu, per_three = virtual(Path(folder))
        print(
            f"virtual: {media:.0f} s of session in {cpu:.2f} s of CPU; {per_three:.2f} s for three minutes (one core)"
        )
    for number in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            pace = real_time(not options.no_screen, Path(folder))
            frames = int(str(pace["frames"]))
            late = int(str(pace["over_20ms"]))
            print(
                f"real time {number + 1}: n {frames} frames, late p50 {pace['late_p50_ms']} p99 {pace['late_p99_ms']} max {pace['late_max_ms']} ms, "
                f"over 20 ms {late} ({100 * late / frames:.3f} %), dropped {pace['dropped']}"
            )


if __name__ == "__main__":
    main()
