"""How true the numbers are: truth, measured, error, against agents whose behaviour is known to the millisecond.

    python tests/benchmarks/truth.py [--real-time] [--screen] [--repetitions 20] [--markdown]

Without options: virtual time, every manner. With ``--real-time``: over the loopback websocket, ``--repetitions`` sessions that go round stop delays,
answer delays, leading silences and bursts, with ``--screen`` in tmux. The same times are also recovered from ``audio.wav`` by ``second_ear``, which
shares no code with the instrument. The workflow is ``stopwatch``, whose speech is labelled tones with sharp edges. Loopback leaves the network out.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import second_ear

from apex_tui.engine.headless import run_headless
from apex_tui.score.verdict import Score
from apex_tui.store.recording import open_recording
from apex_tui.timeline.agent_facts import BargeInClosed, ResponseMeasured
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Run
from apex_tui.timeline.work_facts import ToolFinished

STOPWATCH = Path(__file__).parent / "stopwatch"
STOPS: tuple[float | None, ...] = (0, 20, 60, 130, 250, 600, 1500, None)
ANSWERS = (-150, -50, 0, 100, 300, 600, 1000, 1800, 3000)
LEADINGS = (0, 100, 250, 500, 750)
BURSTS = (1, 2, 4, 10, 20)
VIRTUAL_MS, REAL_MS = 10.0, 30.0
"""How true every number must be, in simulated and in real time."""
END_POINTING_MS = 300.0
REACTION_MS = 250.0
"""Of a rehearsal agent to which nothing else is said: end of the caller's turn to its own decision, and from there to its first call."""


@dataclass
class Row:
    """One number under one manner: errors of the instrument and of the second ear, in ms."""

    number: str
    truth: str
    errors: list[float] = field(default_factory=list)
    ear: list[float] = field(default_factory=list)
    missed: int = 0
    """Values that should have been there and were not, or the other way round."""


@dataclass(frozen=True)
class Manner:
    """What a rehearsal agent was told to do."""

    stop: float | None = 130
    answer: float = 300
    leading: float = 0
    burst: float = 4

    @property
    def name(self) -> str:
        """As given to ``--agent``."""
        stop = "never" if self.stop is None else f"{self.stop:g}"
        return f"rehearsal:stop={stop},answer={self.answer:g},leading={self.leading:g},burst={self.burst:g}"


def every_manner() -> list[Manner]:
    """One number varied at a time."""
    out = [Manner(stop=stop) for stop in STOPS]
    out += [Manner(answer=answer) for answer in ANSWERS]
    out += [Manner(leading=leading) for leading in LEADINGS]
    out += [Manner(burst=burst) for burst in BURSTS]
    return list(dict.fromkeys(out))


def compare(manner: Manner, events: list[Event], wav: Path) -> list[Row]:
    """Truth against what the instrument and the second ear found in one session."""
    rows = []
    stop = Row("stop delay", "never" if manner.stop is None else f"{manner.stop:g}")
    closed = [e.fact for e in events if isinstance(e.fact, BargeInClosed)]
    caller, agent = second_ear.lanes(wav)
    heard = second_ear.stop_delays(caller, agent)
    if manner.stop is None:
        stop.missed += (
            sum(1 for b in closed if b.stop_kind != "not_stopped")
            + (not closed)
            + sum(1 for d in heard if d is not None)
        )
    else:
        stop.errors += [b.stop_delay_ms - manner.stop for b in closed if b.stop_delay_ms is not None]
        stop.ear += [d - manner.stop for d in heard if d is not None]
        stop.missed += (len(stop.errors) != 1) + (len(stop.ear) != 1)
    rows.append(stop)
    answer = Row("first audible", f"{manner.answer + manner.leading:g}")
    responses = [e.fact for e in events if isinstance(e.fact, ResponseMeasured) and e.fact.first_audible_ms is not None]
    answered = second_ear.answers(caller, agent)
    if (
        manner.stop is None
    ):  # an agent that talks to the end of its line answers the interruption when it can, not when it would
        interruptions = {b.turn for b in closed}
        responses = [r for r in responses if r.turn not in interruptions]
        answered = answered[:-1]
    answer.errors += [(r.first_audible_ms or 0) - manner.answer - manner.leading for r in responses if not r.after_tool]
    answer.ear += [a - manner.answer - manner.leading for a in answered]
    answer.missed += len(answer.errors) == 0
    rows.append(answer)
    leading = Row("leading silence", f"{manner.leading:g}")
    leading.errors += [r.leading_silence_ms - manner.leading for r in responses if r.leading_silence_ms is not None]
    rows.append(leading)
    return rows


def merge(into: dict[tuple[str, str], Row], rows: Iterable[Row]) -> None:
    """Add the errors of one session to those of the others with the same truth."""
    for row in rows:
        kept = into.setdefault((row.number, row.truth), Row(row.number, row.truth))
        kept.errors += row.errors
        kept.ear += row.ear
        kept.missed += row.missed


def run_virtual_session(manner: Manner, out: Path, seed: int) -> list[Row]:
    """One session in virtual time."""
    command = Run(workflow=str(STOPWATCH), agent=manner.name, seed=seed, virtual=True, sound="none", out=str(out))
    result = run_headless(command, lambda item: None)
    recording = open_recording(result.folder)
    return compare(manner, recording.events, result.folder / "audio.wav")


def uptake(out: Path, seed: int) -> list[Row]:
    """Uptake in the leave request: the agent writes the new dates when its end-pointing and its reaction are over, plus the tool's own time."""
    result = run_headless(
        Run(workflow="leave-request", seed=seed, virtual=True, sound="none", out=str(out)), lambda item: None
    )
    events = open_recording(result.folder).events
    turn = next(e.fact for e in events if isinstance(e.fact, CallerTurnStarted) and e.fact.act == "CORRECT")
    write = next(e.fact for e in events if isinstance(e.fact, ToolFinished) and e.media_ms > turn.value_end_ms)
    row = Row("uptake", f"{END_POINTING_MS + REACTION_MS:g} + tool")
    for field_verdict in result.score.fields:
        if field_verdict.field in ("start_date", "end_date") and field_verdict.uptake_ms is not None:
            row.errors.append(field_verdict.uptake_ms - END_POINTING_MS - REACTION_MS - write.latency_ms)
    row.missed = len(row.errors) != 2
    return [row]


async def run_real_session(manner: Manner, out: Path, seed: int, screen: bool) -> list[Row]:
    """One session in real time in a process of its own, with or without the screen."""
    out.mkdir(parents=True)
    command = [sys.executable, "-m", "apex_tui", "run", str(STOPWATCH), "--agent", manner.name, "--seed", str(seed)]
    command += ["--sound", "none", "--out", str(out)]
    name = f"apex-truth-{os.getpid()}-{seed}"
    if screen:
        subprocess.run(["tmux", "new-session", "-d", "-s", name, "-x", "120", "-y", "36", *command], check=True)
        deadline = time.monotonic() + 90
        while not list(out.glob("*/score.json")) and time.monotonic() < deadline:
            await asyncio.sleep(0.3)
        subprocess.run(["tmux", "kill-session", "-t", name], check=False)
    else:
        child = await asyncio.create_subprocess_exec(
            *command, "--headless", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        await child.wait()
    (folder,) = out.iterdir()
    recording = open_recording(folder)
    score = Score.model_validate(recording.score)
    if score.timing_degraded:
        print(f"note: {manner.name}: this machine was late (p99 {score.late_p99_ms} ms)", file=sys.stderr)
    return compare(manner, recording.events, folder / "audio.wav")


async def real_time(repetitions: int, screen: bool, out: Path) -> dict[tuple[str, str], Row]:
    """``repetitions`` sessions, one after the other, going round every number."""
    rows: dict[tuple[str, str], Row] = {}
    for number in range(repetitions):
        manner = Manner(
            stop=STOPS[number % len(STOPS)],
            answer=ANSWERS[number % len(ANSWERS)],
            leading=LEADINGS[number % len(LEADINGS)],
            burst=BURSTS[number // 2 % len(BURSTS)],
        )
        merge(rows, await run_real_session(manner, out / f"{screen}-{number}", number + 1, screen))
    return rows


def print_table(title: str, rows: dict[tuple[str, str], Row], most_ms: float) -> bool:
    """One line per number and truth; whether no error is larger than ``most_ms`` and nothing was missed."""
    print(f"\n{title}\n")
    print("| number | truth, ms | n | error, ms: median | largest | second ear: largest | missed |")
    print("|---|---|---|---|---|---|---|")
    worst, ear_worst = 0.0, 0.0
    for row in rows.values():
        ranked = sorted(row.errors)
        median = f"{ranked[len(ranked) // 2]:+.1f}" if ranked else "—"
        largest = max((abs(x) for x in row.errors), default=0.0)
        ear = f"{max(abs(x) for x in row.ear):.1f}" if row.ear else "—"
        worst, ear_worst = max(worst, largest), max(ear_worst, *map(abs, row.ear), 0.0)
        print(f"| {row.number} | {row.truth} | {len(ranked)} | {median} | {largest:.1f} | {ear} | {row.missed} |")
    missed, n = sum(row.missed for row in rows.values()), sum(len(row.errors) for row in rows.values())
    holds = n > 0 and worst <= most_ms and ear_worst <= most_ms and not missed
    print(f"\nLargest error: {worst:.1f} ms (n {n}), of the second ear: {ear_worst:.1f} ms; missed: {missed}")
    print(
        f"At most {most_ms:g} ms and nothing missed: {'holds' if holds else 'DOES NOT HOLD'}; load {os.getloadavg()[0]:.1f}"
    )
    return holds


def main() -> int:
    """Print truth, measured and error; exit code 1 when an error is too large or a number is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--screen", action="store_true")
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.real_time:
            rows = asyncio.run(real_time(options.repetitions, options.screen, Path(folder)))
            title = f"Real time over loopback, {'with' if options.screen else 'without'} the screen"
            return 0 if print_table(title, rows, REAL_MS) else 1
        rows = {}
        for manner in every_manner():
            for seed in (1, 2):
                merge(rows, run_virtual_session(manner, Path(folder), seed))
        for seed in (1, 2, 3):
            merge(rows, uptake(Path(folder), seed))
        return 0 if print_table("Virtual time", rows, VIRTUAL_MS) else 1


if __name__ == "__main__":
    raise SystemExit(main())
