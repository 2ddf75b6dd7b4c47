"""The rows around the panes: title, tabs, key line, seek bar. Pure functions to lines of exact width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from apex_tui.timeline.state import Mark, State
from apex_tui.tui.figures import authority, observed_stops, refusals
from apex_tui.tui.lines import Part, ends, fit, row
from apex_tui.tui.plain import plain
from apex_tui.tui.render_lanes import Axis, mark_at, place_marks
from apex_tui.tui.words import DIRECTED, NONE, REHEARSAL, clock, counted, outcome_text, tick

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score

NEWS_MS = 30_000.0
"""How long a warning keeps its place in the status line; it stays in the events."""
PANES = (1, 2, 3, 4, 5, 6)
PANE_TITLES = {1: "transcript", 2: "artifact", 3: "authority", 4: "tools", 5: "barge-in", 6: "events"}


@dataclass(frozen=True, slots=True)
class Instrument:
    """Health of the instrument as the live title shows it. ``engine``: starting, ok, ended, gone; ``lag_ms`` of the screen, None unknown."""

    engine: str = "starting"
    lag_ms: float | None = None
    held: bool = False
    waiting: int = 0
    budget_s: float | None = None
    """The workflow's time budget (or the run's own), None while it is not known."""


def title_live(state: State, now_ms: float, instrument: Instrument, width: int) -> Text:
    """`` APEX  workflow · agent …   ● REC 02:14.380   engine ok   screen 12 ms``."""
    if instrument.held:
        record = (f"HELD · {instrument.waiting} events wait", "warn")
    elif state.ended is not None:
        record = (
            f"■ {outcome_text(state.ended.outcome)} {clock(now_ms)}",
            "good" if state.ended.outcome in ("completed", "handed_over") else "bad",
        )
    elif state.started is None:
        record = ("… starting", "warn")
    elif instrument.engine in ("gone", "ended"):
        record = (f"■ recording stopped {clock(now_ms)}", "bad")
    else:
        record = (f"● REC {clock(now_ms)}", "strong")
    engine_role = {"ok": "good", "ended": "quiet", "starting": "warn"}.get(instrument.engine, "bad")
    lag = lag_text(state, instrument)
    if width < 100 and state.started is not None and state.ended is None:
        left = time_left(state, now_ms, instrument.budget_s)
        if left is not None and left[0] < 60.0:  # in the short title only when it matters
            record = (f"● REC {clock(now_ms)} · {left[0]:.0f} s left", "warn")
    if width >= 100 or (engine_role == "bad" and state.ended is None):
        right = row(record, "  ", (f"engine {instrument.engine}", engine_role), lag)
    else:
        right = row(record, lag if lag[1] == "bad" else " ")
    return ends(row((" APEX ", "head"), *_who(state, width)), right, width)


def time_left(state: State, now_ms: float, budget_s: float | None) -> tuple[float, float, str] | None:
    """Seconds left, the whole, and whose limit it is: the nearer of the run's time budget and the provider's limit, when either is known."""
    limits: list[tuple[float, str]] = []
    if budget_s is not None:
        limits.append((budget_s, "time budget"))
    provider = state.connected.capabilities.get("max_session_s") if state.connected is not None else None
    if isinstance(provider, int | float) and not isinstance(provider, bool) and provider > 0:
        limits.append((float(provider), "provider's limit"))
    if not limits:
        return None
    whole, owner = min(limits)
    return max(0.0, whole - now_ms / 1000.0), whole, owner


def status_line(state: State, now_ms: float, instrument: Instrument, score: Score | None, width: int) -> Text:
    """`` agent connected   left 11:46 of 12:00   gates TS — PV — AC — AV —   frames p99 2.5 ms``."""
    return fit(row(" ", *_connection(state), "   ", *_countdown(state, now_ms, instrument), "   ", *_gates(state, score), "   ",
                   *_timing(state, now_ms)), width)  # fmt: skip


def _connection(state: State) -> list[Part]:
    if state.closed is not None:
        code, reason, clean = state.closed
        word = "closed" if clean else f"LOST {code if code is not None else ''} {plain(reason, 40)}".rstrip()
        return [("agent ", "quiet"), (word, "quiet" if clean or state.ended is not None else "bad")]
    if state.connected is None:
        return [("agent ", "quiet"), ("not connected yet", "warn")]
    return [("agent ", "quiet"), ("connected", "good")]


def _countdown(state: State, now_ms: float, instrument: Instrument) -> list[Part]:
    left = time_left(state, now_ms, instrument.budget_s)
    if left is None:
        return [("left ", "quiet"), NONE]
    if state.ended is not None:
        return [("left ", "quiet"), NONE]
    role = "bad" if left[0] < 30 else "warn" if left[0] < 60 else "strong"
    return [("left ", "quiet"), (tick(left[0] * 1000.0), role), (f" of {tick(left[1] * 1000.0)} ({left[2]})", "quiet")]


def _gates(state: State, score: Score | None) -> list[Part]:
    """The verdict; before it what is certain of each gate already. A gate of which nothing can be known yet is a dash (help says why)."""
    if score is not None and score.validity != "scored":
        return [("gates ", "quiet"), ("not scored", "warn"), *_floor(state)]
    if score is not None:
        parts: list[Part] = [("gates ", "quiet")]
        for gate in score.gates:
            parts.append((f"{gate.gate} {'✓' if gate.passed else '✗'} ", "good" if gate.passed else "bad"))
        return [*parts, *_floor(state)]
    refused = refusals(state)
    done = sum(1 for _, _, d in state.decisions if d.decision == "AUTHORIZED" and d.at == "completion")
    stale = sum(len(artifact.stale) for artifact in state.artifacts.values())
    return [
        ("gates so far TS — PV ", "quiet"),
        (f"▲ {counted(refused, 'commit')} refused", "bad") if refused else ("—", "quiet"),
        (" AC ", "quiet"),
        (f"{done} committed", "good") if done else ("—", "quiet"),
        (" AV ", "quiet"),
        (f"▲ {stale} stale", "warn") if stale else ("—", "quiet"),
        *_floor(state),
    ]


def _floor(state: State) -> list[Part]:
    """`` · floor 1/2 yielded, 1 cut in``: what the floor shows so far; nothing before the first barge-in or cut-in."""
    watched = [stop.stop_kind for stop in observed_stops(state)]
    faults = sum(1 for c in state.cut_ins if c.kind == "cut_in")
    if not watched and not faults:
        return []
    parts: list[Part] = [(" · floor ", "quiet")]
    if watched:
        yielded = watched.count("yielded")
        parts.append((f"{yielded}/{len(watched)} yielded", "good" if yielded == len(watched) else "warn"))
    if faults:
        parts.append((f"{', ' if watched else ''}{faults} cut in", "warn"))
    return parts


def _timing(state: State, now_ms: float) -> list[Part]:
    """A warning while it is news; then how late frames are, and how many warnings there were."""
    if state.warnings and now_ms - state.warnings[-1][1] <= NEWS_MS:
        return [(f"▲ {plain(state.warnings[-1][2].message, 120)}", "warn")]
    told: list[Part] = [(f"  ▲ {counted(len(state.warnings), 'warning')}", "warn")] if state.warnings else []
    if state.pulse is None:
        return [("frames ", "quiet"), NONE, *told]
    if state.over_20ms:
        late = f"▲ frames late p99 {state.pulse.late_p99_ms:.1f} ms, {state.over_20ms} over 20 ms"
        return [(late, "warn"), *told]
    return [(f"frames late p99 {state.pulse.late_p99_ms:.1f} ms", "quiet"), *told]


def lag_text(state: State, instrument: Instrument) -> tuple[str, str]:
    """The screen's own lag and late frames of the engine, in words when they matter."""
    if state.pulse is not None and (state.pulse.dropped or state.pulse.late_p99_ms > 10.0):
        return f"  frames LATE {state.pulse.late_p99_ms:.0f} ms ", "bad"
    if instrument.lag_ms is None:
        return " ", ""
    late = instrument.lag_ms > 100.0
    return f"  screen {'LATE ' if late else ''}{instrument.lag_ms:.0f} ms ", "bad" if late else "quiet"


def title_replay(
    state: State,
    whole: State,
    at_ms: float,
    end_ms: float,
    playing: bool,
    speed: float,
    width: int,
    reading: float | None = None,
) -> Text:
    """`` REPLAY  workflow … ► 1.0x  01:48.912 / 03:02.400``. ``reading``: how much of a long recording was read, None: all of it."""
    role = "strong" if playing else "warn"
    read = f" read {reading:.0%} " if reading is not None else ""
    if width < 72:
        right = row((read, "warn"), (f" {'►' if playing else '■'} {speed:g}x ", role), f"{clock(at_ms)} ")
    else:
        paused = f"{'►' if playing else '■ paused'} {speed:g}x  "
        right = row((read, "warn"), (paused, role), f"{clock(at_ms)} / {clock(end_ms)} ")
    return ends(
        row((" REPLAY ", "head"), *_who(whole if state.started is None else state, width, whole.directed is not None)),
        right,
        width,
    )


def _who(state: State, width: int, directed: bool = False) -> list[str | tuple[str, str]]:
    started = state.started
    if started is None:
        return []
    agent = (REHEARSAL, "warn") if started.rehearsal else (f"agent {plain(started.agent, 40)}", "strong")
    name = plain(started.workflow, 48)
    steered = directed or state.directed is not None
    label: list[str | tuple[str, str]] = [(f" · {DIRECTED.upper()}", "warn")] if steered else []
    if width < 100:  # the label may not be cut, so it stands before the name
        return [agent, *label, f" · {name}"]
    parts: list[str | tuple[str, str]] = [name, " · ", agent, *label]
    if width >= 120:
        virtual = " · virtual time" if started.virtual else ""
        parts.append((f" · caller {started.caller} · seed {started.seed}{virtual}", "quiet"))
    return parts


def tabs(state: State, active: int, events: int, width: int) -> Text:
    """Numbered tabs whose labels carry the live values; short words when the row is narrow."""
    parts = _tab_parts(state, active, events, width)
    line = row(*((part, "cursor" if part.startswith("[") else "") for part in parts))
    return fit(line, width)


def _tab_parts(state: State, active: int, events: int, width: int) -> list[str]:
    for short in (False, True):
        labels = _labels(state, events, short)
        parts = [f"[{n} {text}]" if n == active else f" {n} {text} " for n, text in labels]
        if sum(cell_len(p) for p in parts) <= width or short:
            break
    return parts


def tab_at(state: State, active: int, events: int, width: int, column: int) -> int | None:
    """Number of the tab that is drawn in a column."""
    end = 0
    for number, part in zip(PANES, _tab_parts(state, active, events, width), strict=True):
        end += cell_len(part)
        if column < end:
            return number
    return None


def _labels(state: State, events: int, short: bool) -> list[tuple[int, str]]:
    current = next((a.current for a in state.artifacts.values() if a.current is not None), None)
    changed = sum(1 for c in current.changes if c.kind != "same") if current else 0
    artifact = f"v{current.number}" + (f" ~{changed}" if changed else "") if current else "-"
    stale = sum(len(a.stale) for a in state.artifacts.values())
    if stale:
        artifact += f" ▲{stale}"
    now = authority(state)
    running = sum(1 for c in state.calls.values() if c.state == "running")
    tools = f"{len(state.calls)}" + ("…" if running else "")
    return [
        (1, "talk"),
        (2, f"{'art' if short else 'artifact'} {artifact}"),
        (3, f"{'auth' if short else 'authority'} {now.word.glyph if short else now.word}"),
        (4, f"tools {tools}"),
        (5, f"{'barge' if short else 'barge-in'} {len(state.barge_ins)}"),
        (6, f"events {events}"),
    ]


def seek_row(at_ms: float, end_ms: float, width: int) -> Text:
    """The seek bar."""
    cells = max(1, width - 2)
    column = seek_column(at_ms, end_ms, cells)
    bar = row(("━" * column, "good"), ("╋", "cursor"), ("─" * (cells - column - 1), "quiet"))
    return Text.assemble(" ", bar, " ", end="")


def seek_marks(whole: State, end_ms: float, width: int) -> Text:
    """The marks of the whole recording, below the bar."""
    axis = Axis(end_ms, max(1, width - 2), max(1.0, end_ms))
    return Text.assemble(" ", place_marks(whole, axis), " ", end="")


def seek_mark(whole: State, end_ms: float, width: int, column: int) -> Mark | None:
    """The mark under a click on the marks row of the seek bar."""
    return mark_at(whole, Axis(end_ms, max(1, width - 2), max(1.0, end_ms)), column - 1)


def seek_column(at_ms: float, end_ms: float, cells: int) -> int:
    """Column of the cursor on a bar of ``cells``."""
    return min(cells - 1, int(at_ms / end_ms * cells)) if end_ms > 0 else 0
