"""The two panes that grow all the time: the transcript, which wraps only what changed, and the event log, which makes rows when seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from rich.text import Text
from textual.geometry import Offset
from textual.selection import Selection

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import State
from apex_tui.tui.lines import row
from apex_tui.tui.render_chrome import PANE_TITLES
from apex_tui.tui.render_floor import event_line
from apex_tui.tui.render_transcript import Block, block_lines, blocks, blocks_after, empty_lines, later_blocks
from apex_tui.tui.widgets.painted import Pane, extract

_KEPT = 1000
"""Wrapped blocks kept (2 MB); dropped whole when there are more."""
_ROWS_KEPT = 512
WINDOW = 24
"""Entries of the transcript that are in the pane at once, or as many as it has rows. A seek wraps each of them anew, which takes 0.2 ms each.
Scrolling over an edge moves on."""
_LATER = 12
"""Entries below the cursor line of a replay; at least a pane's rows below that line."""
_MOST_COPIED = 20_000
"""Events that are copied at once."""
_COPIED = 400
"""Entries that are copied: the newest ones up to the end of the window."""


class TranscriptPane(Pane):
    """Pane 1. A window of the entries: the newest while it follows, older ones when someone scrolls up.

    A block is wrapped once for each width; only blocks that changed are wrapped again.
    """

    def __init__(self) -> None:
        super().__init__(1, "1 transcript", follows=True)
        self._wrapped: dict[tuple[Block, int], list[Text]] = {}
        self.source = self._make
        self.state = State()
        self.whole: State | None = None
        """The session behind a replay as far as it was read, whose later turns are dimmed below the cursor."""
        self.tags: dict[int, str] = {}
        """Turn -> what a person's utterance is taken for."""
        self.now_ms = 0.0
        self.until_ms: float | None = None
        """Where the window ends; None: at the newest entry."""
        self._shown: list[tuple[float, int, int]] = []
        """Start, event and first line of every entry in the window."""

    @property
    def window(self) -> int:
        """Entries in the pane: more than it can show."""
        return max(WINDOW, self.size.height + 2)

    def all_text(self) -> str:
        """The entries up to the end of the window, for copying: more of them than the window holds."""
        found = blocks(self.state, _COPIED, self.until_ms, self.tags)
        return "\n".join(line.plain.rstrip() for block in found for line in block_lines(block, self.room))

    def _make(self, width: int) -> list[Text]:
        if self.following:
            self.until_ms = None
        found = blocks(self.state, self.window, self.until_ms, self.tags)
        lines: list[Text] = [] if found else empty_lines(width)
        if len(found) == self.window:
            key = "ctrl+home" if self.leaves_edges else "home"
            lines.append(row((f"… older entries: scroll up, or {key} for the beginning", "quiet")))
        self._shown = []
        for block in found:
            self._shown.append((block.at_ms, block.seq, len(lines)))
            lines += self._wrap(block, width)
        if self.until_ms is not None:
            lines.append(row(("… newer entries: scroll down, or f for the newest", "quiet")))
        elif self.whole is not None:
            later = later_blocks(blocks_after(self.whole, self.now_ms, _LATER), found)
            if later:
                lines.append(row((" cursor ".center(max(8, width), "·"), "cursor")))
                self.cursor_line = len(lines) - 1
                return lines + [line for block in later for line in self._wrap(block, width)]
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

    def follow_to(self) -> int:
        """The end of the newest entry; in replay the cursor line."""
        if self.whole is None:
            return super().follow_to()
        return min(self.max_scroll_y, max(0, self.cursor_line - self.size.height + 4))

    cursor_line = 0

    # --- over the edge of the window -----------------------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Coming to an edge of the window moves it on by half, and leaves in sight what is in sight."""
        super().watch_scroll_y(old_value, new_value)
        if not self._loading and old_value != new_value and (new_value <= 0 or new_value >= self.max_scroll_y):
            self.call_later(self._over_the_edge)  # not inside the animation that scrolls

    def _over_the_edge(self) -> None:
        top = self.scroll_offset.y
        if top <= 0 and len(self._shown) == self.window and not self.following:
            self._move_window(self._shown[self.window // 2][0])
        elif self.until_ms is not None and top >= self.max_scroll_y:
            coming = blocks_after(self.state, self.until_ms, self.window // 2)
            self._move_window(coming[-1].at_ms if len(coming) == self.window // 2 else None)

    def _move_window(self, until_ms: float | None) -> None:
        top, held = self.scroll_offset.y, self._held()
        self.until_ms, self.following = until_ms, False
        super().reload()
        self._put_back(held, top)

    def reload(self) -> None:
        """Whoever reads older entries keeps their place: new ones push the first out of the window above it, or wait when it would be pushed
        out itself.
        """
        if self.following or self.until_ms is not None or len(self._shown) < self.window:
            super().reload()
            return
        top, held, last = self.scroll_offset.y, self._held(), self._shown[-1]
        super().reload()
        if self.whole is None and all(seq != held[1] for _, seq, _ in self._shown):
            self.until_ms = last[0]
            super().reload()
        self._put_back(held, top)

    def _held(self) -> tuple[float, int, int]:
        """The entry at the top of what is in sight."""
        top = max(self.scroll_offset.y, self._shown[0][2])
        return max((entry for entry in self._shown if entry[2] <= top), key=lambda e: e[2])

    def _put_back(self, held: tuple[float, int, int], top: int) -> None:
        place = next((line for _, seq, line in self._shown if seq == held[1]), None)
        if place is not None and (place != held[2] or top != self.scroll_offset.y):
            self._loading = True
            self.scroll_to(y=place + max(0, top - held[2]), animate=False, immediate=True, force=True)
            self._loading = False

    def action_scroll_home(self) -> None:
        """The beginning of the session, not of the window."""
        self.following = False
        first = blocks_after(self.state, -1.0, self.window)
        self.until_ms = first[-1].at_ms if len(first) == self.window else None
        self._loading = True
        self.reload()
        self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self._loading = False

    def action_scroll_end(self) -> None:
        """The newest entry."""
        self.follow(True)
        self.reload()

    def follow(self, on: bool) -> None:
        """Stay at the newest entry, or stop doing so."""
        super().follow(on)
        self.reload()


MOST_CALLS = 20
"""Tool calls that are in the pane at once; scrolling down adds as many."""


class ToolsPane(Pane):
    """Pane 4, newest call first: older ones are added when someone scrolls down to them."""

    def __init__(self) -> None:
        super().__init__(4, f"4 {PANE_TITLES[4]}")
        self.most = MOST_CALLS
        self.calls: Callable[[], int] = lambda: 0
        """How many there are."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """At the end older calls come in; back at the top they go again, since each costs time while a tool runs."""
        super().watch_scroll_y(old_value, new_value)
        if not self._loading and old_value != new_value:
            self.call_later(self._over_the_edge)  # not inside the animation that scrolls

    def _over_the_edge(self) -> None:
        top = self.scroll_offset.y
        if top and top >= self.max_scroll_y and self.most < self.calls():
            self.most += MOST_CALLS
            self.reload()
        elif top <= 0 and self.most > MOST_CALLS:
            self.most = MOST_CALLS
            self.reload()


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
        first = max(0, self.rows - _MOST_COPIED)
        return "\n".join(line.plain for line in map(self.line_at, range(first, self.rows)) if line is not None)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Selections are rows of the whole log; only those that are selected are made, the last 20,000 of them."""
        last = min(self.rows - 1, selection.end.y if selection.end is not None else self.rows)
        first = max(selection.start.y if selection.start is not None else 0, last + 1 - _MOST_COPIED)
        rows = [line.plain for line in map(self.line_at, range(first, last + 1)) if line is not None]
        start, end = (None if place is None else Offset(place.x, max(0, place.y - first)) for place in selection)
        return extract(Selection(start, end), rows)
