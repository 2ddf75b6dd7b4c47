"""The two panes that grow all the time: the transcript, which wraps only what changed, and the event log, which makes rows when seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from rich.text import Text
from textual.selection import Selection

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import State
from apex_tui.tui.lines import row
from apex_tui.tui.render_chrome import PANE_TITLES
from apex_tui.tui.render_floor import event_line
from apex_tui.tui.render_transcript import Block, block_lines, blocks, empty_lines, later_blocks
from apex_tui.tui.widgets.painted import Pane

_KEPT = 4000
"""Wrapped blocks kept; dropped whole when there are more (a session has a few hundred)."""
_ROWS_KEPT = 512
MOST_BLOCKS = 400
"""Entries of the transcript that are kept in the pane: ten minutes of talk, and 5 ms to look through."""
_LATER = 40
"""Blocks below the cursor line of a replay."""


class TranscriptPane(Pane):
    """Pane 1. A block is wrapped once for each width; only blocks that changed are wrapped again."""

    def __init__(self) -> None:
        super().__init__(1, "1 transcript", follows=True)
        self._wrapped: dict[tuple[Block, int], list[Text]] = {}
        self.source = self._make
        self.state = State()
        self.whole: State | None = None
        """The finished session behind a replay, whose later turns are dimmed below the cursor."""
        self.now_ms = 0.0
        self._later: list[Block] | None = None

    def _make(self, width: int) -> list[Text]:
        found = blocks(self.state, MOST_BLOCKS)
        lines = [line for block in found for line in self._wrap(block, width)]
        if len(found) == MOST_BLOCKS:
            lines.insert(0, row(("… what came before stands in the event log (pane 6) and in replay", "quiet")))
        if not found:
            lines = empty_lines(width)
        if self.whole is not None:
            if self._later is None:
                self._later = blocks(self.whole)
            later = later_blocks(self._later, found, self.now_ms, _LATER)
            if later:
                lines.append(row((" cursor ".center(max(8, width), "·"), "cursor")))
                self.cursor_line = len(lines) - 1
                lines += [line for block in later for line in self._wrap(block, width)]
                return lines
        self.cursor_line = len(lines)
        return lines

    def _wrap(self, block: Block, width: int) -> list[Text]:
        key = (block, width)
        lines = self._wrapped.get(key)
        if lines is None:
            if len(self._wrapped) > _KEPT:
                self._wrapped.clear()
            lines = self._wrapped[key] = block_lines(block, width)
        return lines

    def _settle(self, count: int) -> None:
        super()._settle(count)
        if self.following and self.whole is not None:
            self._loading = True
            target = max(0, self.cursor_line - self.size.height + 4)
            self.scroll_to(y=target, animate=False, immediate=True, force=True)
            self._loading = False

    cursor_line = 0


class EventsPane(Pane):
    """Pane 6. Rows are made when they come into sight: a recording may hold 100,000 events."""

    def __init__(self) -> None:
        super().__init__(6, f"6 {PANE_TITLES[6]}", follows=True)
        self.events: Sequence[Event] = ()
        self.count = 0
        self.kind = ""
        self._kept: Sequence[int] | None = None
        self._shown = -1
        self._rows: dict[int, Text] = {}

    def narrow(self, kind: str, kept: Sequence[int] | None) -> None:
        """Show only the events at the indexes ``kept`` (ascending), those of a kind; None: all."""
        self.kind, self._kept = kind, kept
        self._rows.clear()
        self._shown = -1
        self.reload()

    def heading(self) -> tuple[str, str]:
        """Words for the upper and lower edge."""
        if self._kept is None:
            return f"6 {PANE_TITLES[6]}", f"{self.count:,} events"
        return f"6 {PANE_TITLES[6]} · only {self.kind}", f"{self.rows:,} of {self.count:,} events"

    @property
    def rows(self) -> int:
        """Rows to show."""
        return self.count if self._kept is None else bisect_right(self._kept, self.count - 1)

    def load(self, events: Sequence[Event], count: int) -> None:
        """Show the first ``count`` of ``events``."""
        if events is not self.events:
            self._rows.clear()
            self._shown = -1
        self.events, self.count = events, count

    def reload(self) -> None:
        """Only the number of rows can change: an event never does."""
        if self.room <= 0 or not self.display or self._shown == self.count:
            return
        self._shown = self.count
        self._settle(max(1, self.rows))

    def line_at(self, index: int) -> Text | None:
        """The row of one event."""
        if self.rows == 0 and index == 0:
            words = "No event yet: every fact of the session gets a line here."
            return row((words if self._kept is None else "No event of that kind up to here.", "quiet"))
        if index >= self.rows:
            return None
        text = self._rows.get(index)
        if text is None:
            if len(self._rows) > _ROWS_KEPT:
                self._rows.clear()
            text = self._rows[index] = event_line(self.events[index if self._kept is None else self._kept[index]])
        return text

    @property
    def lines(self) -> list[Text]:
        """The rows at the end (the last hundred)."""
        found = (self.line_at(i) for i in range(max(0, self.rows - 100), max(1, self.rows)))
        return [line for line in found if line is not None]

    def all_text(self) -> str:
        """Every row of the log, not only those that happen to be painted (the last 20,000)."""
        first = max(0, self.rows - 20_000)
        return "\n".join(line.plain for line in map(self.line_at, range(first, self.rows)) if line is not None)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Selections are rows of the whole log."""
        rows = [line.plain for line in map(self.line_at, range(self.rows)) if line is not None]
        return selection.extract("\n".join(rows)), "\n"
