"""The two panes that grow all the time: the transcript, which wraps only what changed, and the event log, which makes rows when seen."""

from __future__ import annotations

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

    def _make(self, width: int) -> list[Text]:
        found = blocks(self.state)
        lines = [line for block in found for line in self._wrap(block, width)]
        if not found:
            lines = empty_lines(width)
        if self.whole is not None:
            later = later_blocks(self.whole, found, self.now_ms)
            if later:
                lines.append(row((" cursor ".center(max(8, width), "·"), "cursor")))
                self.cursor_line = len(lines) - 1
                lines += [line for block in later[:40] for line in self._wrap(block, width)]
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
        self._shown = -1
        self._rows: dict[int, Text] = {}

    def load(self, events: Sequence[Event], count: int) -> None:
        """Show the first ``count`` of ``events``."""
        if events is not self.events:
            self._rows.clear()
            self._shown = -1
        self.events, self.count = events, count
        self.reload()

    def reload(self) -> None:
        """Only the number of rows can change: an event never does."""
        if self.room <= 0 or not self.display or self._shown == self.count:
            return
        self._shown = self.count
        self._settle(max(1, self.count))

    def line_at(self, index: int) -> Text | None:
        """The row of one event."""
        if self.count == 0 and index == 0:
            return row(("No event yet: every fact of the session gets a line here.", "quiet"))
        if index >= self.count:
            return None
        text = self._rows.get(index)
        if text is None:
            if len(self._rows) > _ROWS_KEPT:
                self._rows.clear()
            text = self._rows[index] = event_line(self.events[index])
        return text

    @property
    def lines(self) -> list[Text]:
        """The rows at the end (the last hundred)."""
        found = (self.line_at(i) for i in range(max(0, self.count - 100), max(1, self.count)))
        return [line for line in found if line is not None]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Selections are rows of the whole log, not of the rows that happen to be painted."""
        rows = [event_line(e).plain for e in self.events[: self.count]]
        return selection.extract("\n".join(rows)), "\n"
