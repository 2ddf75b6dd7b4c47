"""The rows around the panes: title, tabs, key line, seek bar. Pure functions to lines of exact width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from apex_tui.timeline.state import State
from apex_tui.tui.figures import authority
from apex_tui.tui.lines import ends, fit, row
from apex_tui.tui.plain import plain
from apex_tui.tui.render_lanes import Axis, place_marks
from apex_tui.tui.words import REHEARSAL, clock, outcome_text

PANES = (1, 2, 3, 4, 5, 6)
PANE_TITLES = {1: "transcript", 2: "artifact", 3: "authority", 4: "tools", 5: "barge-in", 6: "events"}


@dataclass(frozen=True, slots=True)
class Instrument:
    """Health of the instrument as the live title shows it. ``engine``: starting, ok, ended, gone; ``lag_ms`` of the screen, None unknown."""

    engine: str = "starting"
    lag_ms: float | None = None
    held: bool = False
    waiting: int = 0


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
    else:
        record = (f"● REC {clock(now_ms)}", "strong")
    engine_role = {"ok": "good", "ended": "quiet", "starting": "warn"}.get(instrument.engine, "bad")
    lag = lag_text(state, instrument)
    if width >= 100 or (engine_role == "bad" and state.ended is None):
        right = row(record, "  ", (f"engine {instrument.engine}", engine_role), lag)
    else:
        right = row(record, lag if lag[1] == "bad" else " ")
    return ends(row((" APEX ", "head"), *_who(state, width)), right, width)


def lag_text(state: State, instrument: Instrument) -> tuple[str, str]:
    """The screen's own lag and late frames of the engine, in words when they matter."""
    if state.pulse is not None and (state.pulse.dropped or state.pulse.late_p99_ms > 10.0):
        return f"  frames LATE {state.pulse.late_p99_ms:.0f} ms ", "bad"
    if instrument.lag_ms is None:
        return " ", ""
    late = instrument.lag_ms > 100.0
    return f"  screen {'LATE ' if late else ''}{instrument.lag_ms:.0f} ms ", "bad" if late else "quiet"


def title_replay(
    state: State, whole: State, at_ms: float, end_ms: float, playing: bool, speed: float, width: int
) -> Text:
    """`` REPLAY  workflow … ► 1.0x  01:48.912 / 03:02.400``."""
    role = "strong" if playing else "warn"
    if width < 72:
        right = row((f" {'►' if playing else '■'} {speed:g}x ", role), f"{clock(at_ms)} ")
    else:
        right = row((f"{'►' if playing else '■ paused'} {speed:g}x  ", role), f"{clock(at_ms)} / {clock(end_ms)} ")
    return ends(row((" REPLAY ", "head"), *_who(whole if state.started is None else state, width)), right, width)


def title_plain(name: str, state_text: str, width: int) -> Text:
    """Title of a screen without a clock."""
    return ends(row((f" {name} ", "head")), row((f"{state_text} ", "quiet")), width)


def _who(state: State, width: int) -> list[str | tuple[str, str]]:
    started = state.started
    if started is None:
        return []
    agent = (REHEARSAL, "warn") if started.rehearsal else (f"agent {plain(started.agent, 40)}", "strong")
    name = plain(started.workflow, 48)
    if width < 100:  # the label may not be cut, so it stands before the name
        return [agent, f" · {name}"]
    parts: list[str | tuple[str, str]] = [name, " · ", agent]
    if width >= 120:
        virtual = " · virtual time" if started.virtual else ""
        parts.append((f" · caller {started.caller} · seed {started.seed}{virtual}", "quiet"))
    return parts


def tabs(state: State, active: int, events: int, width: int) -> Text:
    """Numbered tabs whose labels carry the live values; short words when the row is narrow."""
    for short in (False, True):
        labels = _labels(state, events, short)
        parts = [f"[{n} {text}]" if n == active else f" {n} {text} " for n, text in labels]
        if sum(cell_len(p) for p in parts) <= width or short:
            break
    line = row(*((part, "cursor" if part.startswith("[") else "") for part in parts))
    return fit(line, width)


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


def keys_line(keys: Sequence[tuple[str, str]], width: int) -> Text:
    """`` space hold  f follow``: whole entries only, the first ones win."""
    line = Text(no_wrap=True, end="")
    for key, word in keys:
        entry = row(" ", (key, "strong"), f" {word} ")
        if line.cell_len + entry.cell_len > width:
            break
        line.append_text(entry)
    return fit(line, width)


def seek_rows(whole: State, at_ms: float, end_ms: float, width: int) -> list[Text]:
    """The seek bar and the marks of the whole recording under it."""
    cells = max(1, width - 2)
    column = seek_column(at_ms, end_ms, cells)
    bar = row(("━" * column, "good"), ("╋", "cursor"), ("─" * (cells - column - 1), "quiet"))
    axis = Axis(end_ms, cells, max(1.0, end_ms))
    return [Text.assemble(" ", bar, " ", end=""), Text.assemble(" ", place_marks(whole, axis), " ", end="")]


def seek_column(at_ms: float, end_ms: float, cells: int) -> int:
    """Column of the cursor on a bar of ``cells``."""
    return min(cells - 1, int(at_ms / end_ms * cells)) if end_ms > 0 else 0
