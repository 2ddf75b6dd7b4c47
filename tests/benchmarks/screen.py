"""What the screen costs and how late it is: in a real terminal (tmux), with an engine that feeds it.

    python tests/benchmarks/screen.py [--quick] [--json]

The bars: event to painted cell p99 <= 100 ms at 100 events/s with 10,000 events there; <= 40 % of a core in a normal session; a replay of 100,000
events opens in <= 1.5 s and seeks in <= 100 ms; <= 30 MB more after two simulated hours, and no more widgets; start to first paint <= 1.75x a bare
Textual app; ``apex-tui --help`` <= 0.4 s. Exit code 1 when a bar is missed. Run it on a quiet machine: other work counts against the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import gc
import json
import os
import pty
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SELF = [sys.executable, str(Path(__file__).resolve())]
BARS = {
    "latency_p99_ms": 100.0,
    "cpu_normal_percent": 40.0,
    "replay_open_s": 1.5,
    "replay_seek_max_ms": 100.0,
    "memory_growth_mb": 30.0,
    "widget_growth": 0.0,
    "first_paint_ratio": 1.75,
    "help_s": 0.4,
}
BARE = "from textual.app import App\nfrom textual.widgets import Static\nclass A(App):\n def compose(self):\n  yield Static('ready!')\nA().run()"
_SHA = "0" * 64


# --- a session that goes on for ever ---------------------------------------------------------------------------------------------------


def facts() -> Iterator[tuple[float, Any]]:
    """An endless session: turns, replies in deltas, tool calls, versions, pulses; about six events a second of media time."""
    from apex_tui.timeline import agent_facts as a
    from apex_tui.timeline import caller_facts as c
    from apex_tui.timeline import session_facts as s
    from apex_tui.timeline import work_facts as w

    yield 0.0, s.SessionStarted(
        session="s", workflow="leave-request", workflow_version="1", workflow_digest=_SHA, title="Leave request", agent="rehearsal",
        rehearsal=True, seed=1, profile="strict", caller="bank", clock_basis="playout", virtual=False)  # fmt: skip
    yield 1.0, a.AgentConnected(family="f", url="ws://h/", instructions_sha256=_SHA, tools_sha256=_SHA)
    ms, turn, version = 1000.0, 0, 0
    while True:
        turn += 1
        reply, day = f"r{turn}", turn % 28 + 1
        text = f"That is turn {turn}: from the fourteenth to the sixteenth of December, three working days. "
        yield ms, c.CallerTurnStarted(turn=turn, plan="p", act="ANSWER", text=f"Make it the {day}th, please.", onset_ms=ms,
                                      values={"end_date": f"2026-12-{day:02d}"}, ends_ms=ms + 1500, value_end_ms=ms + 1400)  # fmt: skip
        yield ms + 1500, c.CallerTurnEnded(turn=turn, offset_ms=ms + 1500)
        yield ms + 1510, c.CallerWaits(why="patience", until_ms=ms + 8000, next_plan="nudge")
        yield ms + 1700, a.ReplyStarted(reply=reply)
        if turn % 2 == 0:
            version += 1
            yield ms + 1720, w.ToolCalled(call=f"c{turn}", name="update_leave_form", arguments={"end_date": f"2026-12-{turn % 28 + 1:02d}"},
                                          reply=reply)  # fmt: skip
            yield ms + 1800, w.ArtifactVersion(
                artifact="leave_form", version=version, digest=_SHA, author="agent", call=f"c{turn}", lifecycle="DRAFT",
                fields={"employee_id": "E2047", "end_date": f"2026-12-{turn % 28 + 1:02d}", "working_days": turn % 9},
                changes=(w.FieldChange(field="end_date", old="2026-12-01", new=f"2026-12-{turn % 28 + 1:02d}", kind="changed"),))  # fmt: skip
            yield (
                ms + 1800,
                w.ToolFinished(call=f"c{turn}", name="update_leave_form", ok=True, result={}, latency_ms=80),
            )
        yield ms + 2000, a.AgentSpeechStarted(reply=reply, onset_ms=ms + 2000)
        yield ms + 2010, a.ResponseMeasured(turn=turn, reply=reply, first_byte_ms=400, first_audible_ms=500)
        said = [
            (ms + 2050 + 60 * number, a.AgentSaid(reply=reply, item=f"i{turn}", text=word + " "))
            for number, word in enumerate(text.split(" "))
        ]
        pulses = [
            (ms + 1000 * second, s.SessionPulse(
                frames=50, late_p50_ms=0.2, late_p99_ms=1.5, late_max_ms=2.0, over_20ms=0, dropped=0, caller_db=-40, agent_db=-20,
                queue_ms=100))
            for second in range(3, 6)
        ]  # fmt: skip
        yield from sorted([*said, *pulses], key=lambda row: row[0])  # a log is in order of time, or it is not read
        end = ms + 6000
        yield end, a.AgentSpeechEnded(reply=reply, offset_ms=end)
        yield end, a.ReplyGenerated(reply=reply, status="completed", generated_ms=4000)
        yield end, a.ReplyClosed(reply=reply, how="played", played_ms=4000, generated_ms=4000, text=text, heard=text)
        ms += 6400.0


def events(count: int) -> list[Any]:
    """The first events of it."""
    from itertools import islice

    from apex_tui.timeline.events import Event

    return [
        Event(seq=n, media_ms=ms, wall_ns=time.monotonic_ns(), fact=fact, actor=type(fact).actor)
        for n, (ms, fact) in enumerate(islice(facts(), count))
    ]


def play_engine(already: int, rate: float, seconds: float) -> None:
    """What the child process says: a stock at once, then events at a rate, each stamped when it is sent, and meters at 20 Hz."""
    from apex_tui.timeline.messages import Meters, Opened, output_line

    out = sys.stdout
    sys.stdin.readline()
    print(output_line(Opened(session="s", folder="/s", sound="no sound")), file=out, flush=True)
    stock = events(already + int(rate * seconds) + 10)
    for event in stock[:already]:
        print(output_line(event), file=out)
    out.flush()
    time.sleep(6.0)  # the screen catches up
    begin, sent, metered = time.monotonic(), 0, 0
    while (gone := time.monotonic() - begin) < seconds:
        while sent < gone * rate:
            event = stock[already + sent]
            stamped = type(event)(event.seq, event.media_ms, time.monotonic_ns(), event.fact, event.actor)
            print(output_line(stamped), file=out, flush=True)
            sent += 1
        if metered < gone * 20:
            metered += 1
            ms = stock[already + sent].media_ms
            print(
                output_line(Meters(media_ms=ms, caller_db=-30, agent_db=-20, late_ms=0, queue_ms=100)),
                file=out,
                flush=True,
            )
        time.sleep(0.002)
    time.sleep(600)


# --- inside the terminal ---------------------------------------------------------------------------------------------------------------


def rss_mb() -> float:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def sources(argv: list[str] | None = None) -> Any:
    """The app's sources: everything real but the engine and the places of files."""
    from apex_tui.store.settings import Layout
    from apex_tui.tui.link import EngineLink
    from apex_tui.tui.sources import Sources

    log = Path(tempfile.gettempdir()) / "apex-screen-benchmark.log"
    return Sources(link=lambda: EngineLink(argv, log), load_layout=Layout, save_layout=lambda _layout: None)


def inside_live(result: Path, already: int, rate: float, seconds: float) -> None:
    """A live screen over the child; how long each event took to the terminal, and the processor's share."""
    from apex_tui.timeline.messages import Run
    from apex_tui.tui.app import ApexApp
    from apex_tui.tui.feed import Feed

    argv = [*SELF, "--engine", str(already), str(rate), str(seconds)]
    app = ApexApp(Run(workflow="leave-request"), sources=sources(argv), tune_collector=True)
    waiting: list[int] = []
    took: list[float] = []
    advance = Feed.advance

    def noted(self: Feed, *args: Any) -> Any:
        before = len(self.events)
        touched = advance(self, *args)
        waiting.extend(self.events[n].wall_ns for n in range(max(before, already), len(self.events)))
        return touched

    setattr(Feed, "advance", noted)  # noqa: B010

    async def watch() -> None:
        while app._driver is None:
            await asyncio.sleep(0.05)
        write = app._driver.write

        def painted(data: str) -> None:
            write(data)
            now = time.monotonic_ns()
            took.extend((now - stamp) / 1e6 for stamp in waiting)
            waiting.clear()

        setattr(app._driver, "write", painted)  # noqa: B010
        while not took:
            await asyncio.sleep(0.05)
        cpu, wall = time.process_time(), time.monotonic()
        await asyncio.sleep(max(1.0, seconds - 1.0))
        share = (time.process_time() - cpu) / (time.monotonic() - wall)
        took.sort()
        record = {"n": len(took), "p50": statistics.median(took), "p99": took[int(len(took) * 0.99) - 1], "max": took[-1],
                  "cpu": share * 100.0, "rss": rss_mb()}  # fmt: skip
        result.write_text(json.dumps(record))
        app.exit(0)

    app.call_later(lambda: app.run_worker(watch()))
    app.run()


def inside_replay(result: Path, folder: Path) -> None:
    """Opening a long recording, reading the rest of it, and going to places all over it: the time until the terminal has the new picture."""
    from apex_tui.tui.app import ApexApp, Replay
    from apex_tui.tui.screen_replay import ReplayScreen

    app = ApexApp(Replay(folder), sources=sources(), tune_collector=True)

    async def watch() -> None:
        begin = time.monotonic()
        while not isinstance(app.screen, ReplayScreen) or not app.screen.panes.transcript.lines:
            await asyncio.sleep(0.01)
        opened = time.monotonic() - begin
        screen = app.screen
        player = screen.player
        while screen._rest is not None:
            await asyncio.sleep(0.05)
        read = time.monotonic() - begin
        await asyncio.sleep(1.0)
        driver = app._driver
        assert driver is not None
        write, painted = driver.write, asyncio.Event()

        def noted(data: str) -> None:
            write(data)
            painted.set()

        setattr(driver, "write", noted)  # noqa: B010
        seeks, spent = [], []
        for number in range(
            1, 60
        ):  # twenty places three times, each time from another side; the cursor is at the first
            painted.clear()
            start, cpu = time.monotonic(), time.thread_time()
            player.seek(player.end_ms * ((number * (7, 9, 11)[number // 20]) % 20) / 20)
            screen.update_view()
            await painted.wait()
            seeks.append((time.monotonic() - start) * 1000)
            spent.append((time.thread_time() - cpu) * 1000)
            await asyncio.sleep(0.1)
        result.write_text(
            json.dumps(
                {
                    "events": len(player.events),
                    "open": opened,
                    "read": read,
                    "seek": statistics.median(seeks),
                    "max": max(seeks),
                    "max_cpu": max(spent),
                }
            )
        )
        app.exit(0)

    app.call_later(lambda: app.run_worker(watch()))
    app.run()


class Flood:
    """A link that hands out a long session as fast as the screen takes it."""

    ended = False
    problem: str | None = None

    def __init__(self, count: int) -> None:
        from itertools import islice

        self.left = count
        self._facts = islice(facts(), count)
        self._seq = 0

    async def start(self, command: Any) -> None:
        """Nothing to start."""

    def send(self, command: Any) -> None:
        """Nobody listens."""

    def drain(self, limit: int = 300) -> list[Any]:
        """The next events, made when they are asked for."""
        from apex_tui.timeline.events import Event

        items = []
        for ms, fact in self._facts:
            items.append(Event(seq=self._seq, media_ms=ms, wall_ns=0, fact=fact, actor=type(fact).actor))
            self._seq += 1
            if len(items) >= 500:
                break
        self.left -= len(items)
        return items

    async def detach(self) -> None:
        """Nothing to let go of."""


def inside_memory(result: Path, count: int) -> None:
    """Two hours of events; resident memory and number of widgets before and after."""
    import dataclasses

    from apex_tui.timeline.messages import Run
    from apex_tui.tui.app import ApexApp
    from apex_tui.tui.screen_live import LiveScreen

    flood = Flood(count)
    given = dataclasses.replace(sources(), link=lambda: flood)
    app = ApexApp(Run(workflow="leave-request"), sources=given, tune_collector=True)

    async def watch() -> None:
        while flood.left > count - 3000:
            await asyncio.sleep(0.05)
        gc.collect()
        before, widgets = rss_mb(), len(list(app.screen.walk_children()))
        live = app.screen
        assert isinstance(live, LiveScreen)
        while flood.left > 0 or live.feed.waiting:  # all of it is folded and shown
            await asyncio.sleep(0.2)
        await asyncio.sleep(1.0)
        gc.collect()
        after = {
            "growth": rss_mb() - before,
            "rss": rss_mb(),
            "widgets": len(list(app.screen.walk_children())) - widgets,
            "events": count,
        }
        result.write_text(json.dumps(after))
        app.exit(0)

    app.call_later(lambda: app.run_worker(watch()))
    app.run()


# --- from outside ----------------------------------------------------------------------------------------------------------------------


def in_tmux(arguments: list[str], result: Path, limit_s: float = 240.0) -> dict[str, Any]:
    """Run this file with ``arguments`` in a detached terminal of 120x36 and read the result it writes."""
    name = f"apex-screen-{os.getpid()}"
    command = " ".join(["COLORTERM=truecolor", *SELF, *arguments, "2>&1 || sleep 5"])
    subprocess.run(["tmux", "new-session", "-d", "-s", name, "-x", "120", "-y", "36", command], check=True, cwd=ROOT)
    try:
        begin = time.monotonic()
        while not result.exists() or not result.read_text():
            if time.monotonic() - begin > limit_s:
                shown = subprocess.run(
                    ["tmux", "capture-pane", "-p", "-t", name], capture_output=True, text=True, check=False
                )
                raise SystemExit(f"no result of {arguments}:\n{shown.stdout}")
            time.sleep(0.1)
        record: dict[str, Any] = json.loads(result.read_text())
        return record
    finally:
        subprocess.run(["tmux", "kill-session", "-t", name], check=False, capture_output=True)


def long_recording(folder: Path, count: int) -> Path:
    """A recording of so many events on disk."""
    from apex_tui.store.layout import SessionFolder
    from apex_tui.store.meta import meta_from_events
    from apex_tui.timeline.events import to_line
    from apex_tui.workflow.library import find_workflow
    from apex_tui.workflow.snapshot import to_json

    made = events(count)
    session = SessionFolder(folder)
    folder.mkdir()
    meta = meta_from_events(made)
    assert meta is not None
    session.write_meta(meta)
    session.write_workflow(to_json(find_workflow("leave-request")))
    session.events.write_text("\n".join(map(to_line, made)) + "\n", encoding="utf-8")
    return folder


def first_paint(command: list[str], wanted: bytes, env: dict[str, str]) -> tuple[float, float]:
    """Seconds from exec until the wanted words are drawn: by the clock, and of processor time."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    begin = time.monotonic()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True, cwd=ROOT
    )
    os.set_blocking(ours, False)
    drawn = bytearray()
    try:
        while wanted not in drawn and time.monotonic() - begin < 20:
            with contextlib.suppress(OSError):
                drawn += os.read(ours, 65536)
            time.sleep(0.001)
        took = time.monotonic() - begin
        spent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return took, (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")
    finally:
        process.kill()  # nobody reads its terminal any more, so it could not leave in good order
        process.wait()
        os.close(ours)
        os.close(theirs)


def starts(runs: int, folder: Path) -> dict[str, float]:
    """Medians: our first paint, a bare app's, ``--help``; taken in turns, so that both meet the same load."""
    env = {**os.environ, "TERM": "xterm-256color", "XDG_STATE_HOME": str(folder), "APEX_TUI_SESSIONS": str(folder)}
    env.pop("NO_COLOR", None)
    ours, bare, told = list[tuple[float, float]](), list[tuple[float, float]](), list[float]()
    for _ in range(runs):
        ours.append(first_paint([sys.executable, "-m", "apex_tui"], b"what will happen", env))
        bare.append(first_paint([sys.executable, "-c", BARE], b"ready!", env))
        begin = time.monotonic()
        subprocess.run([sys.executable, "-m", "apex_tui", "--help"], check=True, capture_output=True, cwd=ROOT)
        told.append(time.monotonic() - begin)
    wall, cpu = ([statistics.median(run[n] for run in runs) for runs in (ours, bare)] for n in (0, 1))
    return {"first_paint_s": wall[0], "bare_paint_s": wall[1], "first_paint_ratio": wall[0] / wall[1], "first_paint_cpu_s": cpu[0],
            "bare_paint_cpu_s": cpu[1], "first_paint_cpu_ratio": cpu[0] / cpu[1], "help_s": statistics.median(told)}  # fmt: skip


def measure(quick: bool) -> dict[str, float]:
    """Every figure."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        seconds = 6 if quick else 20
        busy = in_tmux(["--live", str(folder / "busy"), "10000", "100", str(seconds)], folder / "busy")
        figures |= {"latency_p50_ms": busy["p50"], "latency_p99_ms": busy["p99"], "latency_max_ms": busy["max"],
                    "latency_n": busy["n"], "cpu_busy_percent": busy["cpu"]}  # fmt: skip
        normal = in_tmux(["--live", str(folder / "normal"), "300", "7", str(seconds)], folder / "normal")
        figures["cpu_normal_percent"] = normal["cpu"]
        recording = long_recording(folder / "long", 100_000)
        replay = in_tmux(["--replay", str(folder / "replay"), str(recording)], folder / "replay")
        figures |= {
            "replay_open_s": replay["open"],
            "replay_read_s": replay["read"],
            "replay_events": replay["events"],
            "replay_seek_ms": replay["seek"],
            "replay_seek_max_cpu_ms": replay["max_cpu"],
            "replay_seek_max_ms": replay["max"],
        }
        memory = in_tmux(["--memory", str(folder / "memory"), "46000"], folder / "memory")
        figures |= {
            "memory_growth_mb": memory["growth"],
            "memory_mb": memory["rss"],
            "widget_growth": memory["widgets"],
        }
        figures |= starts(3 if quick else 9, folder)
    return figures


def main() -> int:
    """Measure, print, compare with the bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--engine", nargs=3)
    parser.add_argument("--live", nargs=4)
    parser.add_argument("--replay", nargs=2)
    parser.add_argument("--memory", nargs=2)
    asked = parser.parse_args()
    if asked.engine:
        play_engine(int(asked.engine[0]), float(asked.engine[1]), float(asked.engine[2]))
    elif asked.live:
        inside_live(Path(asked.live[0]), int(asked.live[1]), float(asked.live[2]), float(asked.live[3]))
    elif asked.replay:
        inside_replay(Path(asked.replay[0]), Path(asked.replay[1]))
    elif asked.memory:
        inside_memory(Path(asked.memory[0]), int(asked.memory[1]))
    else:
        return report(measure(asked.quick), asked.json)
    return 0


def report(figures: dict[str, float], as_json: bool) -> int:
    """Print every figure with its bar; 1 when one is missed."""
    missed = [name for name, bar in BARS.items() if figures[name] > bar]
    if as_json:
        print(json.dumps({"figures": figures, "bars": BARS, "missed": missed}, indent=2))
    else:
        for name, value in figures.items():
            bar = f"  bar {BARS[name]:g} {'MISSED' if name in missed else 'ok'}" if name in BARS else ""
            print(f"{name:<22} {value:10.3f}{bar}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
