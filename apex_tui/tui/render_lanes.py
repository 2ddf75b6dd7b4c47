"""The floor: both lanes of the last 30 seconds, the marks row and the time axis.

Columns are cells of equal time. Starts are rounded down and ends up, so that a short sound is never invisible; overlap is computed on the
true intervals, so that two sounds that merely share a cell are not shown as overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import takewhile

from rich.cells import cell_len
from rich.text import Text

from apex_tui.timeline.state import Call, Mark, State
from apex_tui.tui.figures import RECENT, recent_replies
from apex_tui.tui.lines import row, runs
from apex_tui.tui.plain import plain
from apex_tui.tui.words import CALL_WORDS, tick

WINDOW_MS = 30_000.0
LABEL = 7
"""Cells of the row labels (``caller ``)."""
_SHIFT = 14
"""Cells that a mark may move left of its moment to be readable: about 4 s at 120 columns."""
_BACKDATED_MS = 60_000.0
"""How much earlier than the mark before it a mark may lie: an approval dates from its words."""
Interval = tuple[float, float | None]


def caller_speech(state: State) -> list[Interval]:
    """Newest audible stretches of the caller; one that goes on ends with None."""
    rows: list[Interval] = []
    for turn in state.turns[-RECENT:]:
        going_on = turn.offset_ms is None and state.caller_speaking and turn is state.turns[-1]
        rows.append(
            (turn.onset_ms, None if going_on else turn.offset_ms if turn.offset_ms is not None else turn.ends_ms)
        )
    return rows


def agent_speech(state: State) -> list[Interval]:
    """Newest audible stretches of the agent as played, oldest first."""
    return sorted((s for reply in recent_replies(state) for s in reply.speech), key=lambda s: s[0])


def overlaps(one: Iterable[Interval], other: Iterable[Interval], now_ms: float) -> list[tuple[float, float]]:
    """Where both are audible."""
    both: list[tuple[float, float]] = []
    others = list(other)
    for start, end in one:
        for start_2, end_2 in others:
            first = max(start, start_2)
            last = min(now_ms if end is None else end, now_ms if end_2 is None else end_2)
            if first < last:
                both.append((first, last))
    return both


class Axis:
    """Maps media time to columns: ``cells`` columns over ``WINDOW_MS`` that end at ``now_ms``."""

    def __init__(self, now_ms: float, cells: int, window_ms: float = WINDOW_MS) -> None:
        self.cells = max(1, cells)
        self.now_ms = now_ms
        self.from_ms = now_ms - window_ms
        self.cell_ms = window_ms / self.cells

    def column(self, ms: float) -> int:
        """Column of a moment, rounded down; may lie outside."""
        return math.floor((ms - self.from_ms) / self.cell_ms + 1e-9)

    def span(self, start: float, end: float) -> tuple[int, int] | None:
        """First and last column of a stretch, clipped to the window; None outside."""
        first = self.column(start)
        last = max(first, math.ceil((end - self.from_ms) / self.cell_ms - 1e-9) - 1)
        if last < 0 or first >= self.cells:
            return None
        return max(0, first), min(self.cells - 1, last)


def lane(speech: list[Interval], both: list[tuple[float, float]], axis: Axis, role: str) -> Text:
    """One lane of ``axis.cells`` cells."""
    cells = ["─"] * axis.cells
    for start, end in speech:
        span = axis.span(start, axis.now_ms if end is None else end)
        if span is None:
            continue
        first, last = span
        cells[first : last + 1] = "━" * (last - first + 1)
        if last > first:
            if axis.column(start) >= 0:
                cells[first] = "╼"
            cells[last] = "►" if end is None else "╾"
        elif end is None:
            cells[last] = "►"
    for start, end_ms in both:
        span = axis.span(start, end_ms)
        if span is not None:
            cells[span[0] : span[1] + 1] = "╋" * (span[1] - span[0] + 1)
    return runs((cell, "quiet" if cell == "─" else "bad" if cell == "╋" else role) for cell in cells)


def mark_text(state: State, mark: Mark, calls: Mapping[int, Call]) -> tuple[str, str]:
    """A mark's short words and role; numbers stand beside the glyph because a cell cannot show them."""
    if mark.glyph == "B":
        barge = next((b for b in state.barge_ins.values() if b.seq == mark.seq), None)
        if barge is None:
            return "▲B", "warn"
        if barge.closed is None:
            return f"▲B{barge.number}…", "warn"
        delay = barge.closed.stop_delay_ms
        good = barge.closed.stop_kind == "yielded"
        shown = f"{delay:.0f}" if delay is not None else "?"
        return f"▲B{barge.number} {shown}", "good" if good else "warn"
    if mark.glyph == "T" and mark.seq in calls:
        call = calls[mark.seq]
        return f"{call.label}{CALL_WORDS[call.state].glyph}", "agent"
    if mark.glyph == "v":
        return f"◆{plain(mark.label, 12)}", "strong"
    if mark.glyph == "A":
        return ("A✓", "good") if mark.label == "granted" else ("A✗", "bad")
    if mark.glyph == "S":
        return ("S✓", "good") if mark.label == "AUTHORIZED" else ("S✗", "bad")
    if mark.glyph == "M":
        return "●M", "mark"
    if mark.label in _backchannels(state):
        return "b", "quiet"
    return f"E {plain(mark.label, 16)}", "mark"


def _backchannels(state: State) -> set[str]:
    """Events that only let the agent hear that someone listens."""
    return {fact.event for _, _, fact in state.fired if "BACKCHANNEL" in fact.kind.upper()}


def place_marks(state: State, axis: Axis) -> Text:
    """The marks row. Newest first; one that meets another moves left of it, or keeps a ``·`` when that is too far off."""
    return runs(_placed(state, axis)[0])


def mark_at(state: State, axis: Axis, column: int) -> Mark | None:
    """The mark that is drawn in a column of the marks row."""
    return next((mark for first, last, mark in _placed(state, axis)[1] if first <= column <= last), None)


def _placed(state: State, axis: Axis) -> tuple[list[tuple[str, str]], list[tuple[int, int, Mark]]]:
    """The cells of the marks row, and which cells belong to which mark."""
    spans: list[tuple[int, int, Mark]] = []
    began_ms = axis.from_ms - _BACKDATED_MS
    calls = {c.seq: c for c in takewhile(lambda c: c.called_ms >= began_ms, reversed(state.calls.values()))}
    cells: list[tuple[str, str]] = [(" ", "")] * axis.cells
    for mark in reversed(state.marks):
        column = min(axis.column(mark.at_ms), axis.cells - 1)
        if column < 0:
            if mark.at_ms < began_ms:
                break
            continue
        words, role = mark_text(state, mark, calls)
        drawn = _by_cell(words)
        start = _free(cells, min(column, max(0, axis.cells - len(drawn))), len(drawn))
        if start is not None and start + len(drawn) <= axis.cells:
            cells[start : start + len(drawn)] = [(char, role) for char in drawn]
            spans.append((start, start + len(drawn) - 1, mark))
        elif cells[column][0] == " ":
            cells[column] = ("·", "quiet")
            spans.append((column, column, mark))
    return cells, spans


def _by_cell(words: str) -> list[str]:
    """What stands in each cell: a wide character leaves the one after it empty, one without width joins the one before it."""
    drawn: list[str] = []
    for char in words:
        width = cell_len(char)
        if width:
            drawn += [char, *[""] * (width - 1)]
        elif drawn:
            drawn[-1] += char
    return drawn


def _free(cells: list[tuple[str, str]], start: int, length: int) -> int | None:
    """The first place at or up to `_SHIFT` cells left of ``start`` with room for ``length`` cells and a space at each side."""
    for first in range(start, max(-1, start - _SHIFT - 1), -1):
        if all(cell == " " for cell, _ in cells[max(0, first - 1) : first + length + 1]):
            return first
    return None


def time_axis(axis: Axis) -> Text:
    """Labels every 5 s, each beginning at its moment."""
    cells = [" "] * axis.cells
    step = 5000.0
    moment = math.ceil(max(0.0, axis.from_ms) / step) * step
    while moment <= axis.now_ms:
        label = tick(moment)
        column = axis.column(moment)
        if column >= 0 and column + len(label) <= axis.cells:
            cells[column : column + len(label)] = label
        moment += step
    return row(("".join(cells), "quiet"))


def _recent(speech: list[Interval], axis: Axis) -> list[Interval]:
    """What can still be seen: overlap is quadratic, a long session is not to be compared whole at every frame."""
    return [s for s in speech if s[1] is None or s[1] > axis.from_ms]


def lanes(state: State, now_ms: float, width: int, with_axis: bool) -> list[Text]:
    """Two lanes, the marks row and, if asked for, the time axis; each exactly ``width`` cells."""
    axis = Axis(now_ms, width - LABEL)
    caller, agent = _recent(caller_speech(state), axis), _recent(agent_speech(state), axis)
    both = overlaps(caller, agent, now_ms)
    rows = [
        Text.assemble(("caller ", "caller"), lane(caller, both, axis, "caller"), end=""),
        Text.assemble(("agent  ", "agent"), lane(agent, both, axis, "agent"), end=""),
        Text.assemble(("marks  ", "quiet"), place_marks(state, axis), end=""),
    ]
    if with_axis:
        rows.append(Text.assemble(" " * LABEL, time_axis(axis), end=""))
    return rows
