"""The body that live and replay share: band, floor lanes, tabs and six panes, all readings of one state at one moment.

The body decides only what is visible: two columns of panes from 100 columns, three from 160, one pane with numbered tabs below that or
when zoomed. What a pane says is made by the render modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widget import Widget

from apex_tui.store.settings import Layout
from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Area, Artifact, Mark, State
from apex_tui.tui.compare import MODES, Comparison, Wish, compared
from apex_tui.tui.drift import DriftWatch
from apex_tui.tui.feed import ALL_AREAS
from apex_tui.tui.lines import box
from apex_tui.tui.render_band import BAND_ROWS, COMPACT_ROWS, Levels, band, band_compact
from apex_tui.tui.render_chrome import PANE_TITLES, PANES, tab_at, tabs
from apex_tui.tui.render_floor import barge_lines
from apex_tui.tui.render_lanes import LABEL, Axis, lanes, mark_at
from apex_tui.tui.render_work import RAIL, Owned, artifact_rows, authority_lines, tool_lines
from apex_tui.tui.widgets.painted import FixedLines, Pane
from apex_tui.tui.widgets.panes import EventsPane, ToolsPane, TranscriptPane
from apex_tui.tui.words import counted

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score
    from apex_tui.score.verdict_work import Drift

WIDE, XWIDE, TALL = 100, 160, 30
"""Columns from which there are two and three columns of panes, and rows below which there is room for one pane only."""
LANE_ROWS = 6
ROOM_FOR_THREE = 16
"""Rows from which three panes fit above one another."""
_COLUMNS = {1: "left", 4: "left", 2: "right", 3: "right", 5: "right", 6: "third"}
_TOUCHES: dict[int, frozenset[Area]] = {
    1: frozenset(("transcript", "tools", "artifact", "authority", "barge_in", "session", "caller")),
    2: frozenset(("artifact", "tools", "authority")),
    3: frozenset(("authority", "artifact")),
    4: frozenset(("tools", "artifact", "authority")),
    5: frozenset(("barge_in", "latency", "lanes")),
    6: frozenset(("events",)),
}
"""Pane -> the areas whose change it shows."""


class SessionBody(Widget):
    """Everything between the title row and the key line."""

    def __init__(self) -> None:
        super().__init__(id="body")
        self.state = State()
        self.now_ms = 0.0
        self.levels: Levels | None = None
        self.active = 1
        self.zoomed = False
        self.diff = False
        self.primary: str | None = None
        self.hidden: set[int] = set()
        self.wish = Wish()
        self.whole: State | None = None
        """The finished session behind a replay."""
        self.score: Score | None = None
        self.drifts = DriftWatch()
        self._drift: dict[str, Drift] = {}
        self._owned: list[Owned] = []
        self.asked_field: Callable[[str], None] = lambda _path: None
        self.asked_version: Callable[[str, int], None] = lambda _artifact, _number: None
        self.asked_mark: Callable[[Mark], None] = lambda _mark: None
        self.settled: Callable[[Layout], None] = lambda _layout: None
        """Told the layout whenever a person changes it."""
        self.band = FixedLines(id="band")
        self.lanes = FixedLines(id="lanes")
        self.tabs = FixedLines(id="tabs")
        self.transcript = TranscriptPane()
        self.events_pane = EventsPane()
        self.tools = ToolsPane()
        self.tools.calls = lambda: len(self.state.calls)
        others = {n: Pane(n, f"{n} {PANE_TITLES[n]}") for n in (2, 3, 5)}
        panes = {1: self.transcript, **others, 4: self.tools, 6: self.events_pane}
        self.panes: dict[int, Pane] = dict(sorted(panes.items()))
        self._connect()

    def _connect(self) -> None:
        self.band.source = self._band
        self.lanes.source = self._lanes
        self.tabs.source = lambda width: (tabs(self.state, self.active, self.events_pane.count, width),)
        self.panes[2].source = self._artifact
        self.transcript.followed = self._titles
        self.tabs.clicked = self._tab_clicked
        self.lanes.clicked = self._lane_clicked
        self.panes[2].clicked = self._artifact_clicked
        self.panes[3].source = lambda width: authority_lines(self.state, width)
        self.panes[4].source = lambda width: tool_lines(self.state, self.now_ms, width, self.tools.most)
        self.panes[5].source = lambda width: barge_lines(self.state, width)

    def compose(self) -> ComposeResult:
        """Fixed rows above, three columns of panes below."""
        yield self.band
        yield self.lanes
        yield self.tabs
        with Horizontal(id="work"):
            for column in ("left", "right", "third"):
                with Vertical(id=column):
                    yield from (self.panes[n] for n in PANES if _COLUMNS[n] == column)

    # --- what is visible ---------------------------------------------------------------------------------------------------------------

    @property
    def compact(self) -> bool:
        """One pane at a time and the short band: the screen is narrow or low."""
        return self.app.size.width < WIDE or self.app.size.height < TALL

    def shown_panes(self) -> frozenset[int]:
        """Numbers of the panes on the screen."""
        if self.compact or self.zoomed:
            return frozenset((self.active,))
        if self.app.size.width >= XWIDE:
            return frozenset(PANES) - self.hidden
        if self.active == 6:
            return frozenset((1, 4, 6)) - self.hidden
        return frozenset((1, 2, 3, 4, 5)) - self.hidden - self._crowded()

    def _crowded(self) -> frozenset[int]:
        """Where rows above take the room (a recorder's card), two panes are as many as a column can show: the artifact and one other."""
        rows = self.size.height - BAND_ROWS - LANE_ROWS
        if self.compact or self.zoomed or not self.size.height or rows >= ROOM_FOR_THREE or self.hidden & {2, 3, 5}:
            return frozenset()
        return frozenset((3,) if self.active == 5 else (5,))

    def on_mount(self) -> None:
        """Settle the layout once the size is known."""
        self.lay_out()

    def on_resize(self, _event: Resize) -> None:
        """The terminal changed its size."""
        self.lay_out()

    def lay_out(self) -> None:
        """Show the panes that belong on the screen and hide the others."""
        compact = self.compact
        shown = self.shown_panes()
        self.set_class(compact, "-compact")
        self.band.styles.height = COMPACT_ROWS if compact else BAND_ROWS
        self.lanes.styles.height = 3 if compact else LANE_ROWS
        self.tabs.display = compact or self.zoomed
        for column in ("left", "right", "third"):
            self.query_one(f"#{column}").display = any(_COLUMNS[n] == column for n in shown)
        for number, pane in self.panes.items():
            pane.display = number in shown
        self.reload(ALL_AREAS)

    def select(self, number: int) -> None:
        """Bring a pane to the front and give it the keys; a hidden one is shown again."""
        self.active = number
        self.hidden.discard(number)
        self.lay_out()
        self.settled(self.layout_now)
        self.call_after_refresh(self._focus_active)

    def _focus_active(self) -> None:
        self.panes[self.active].focus()

    def cycle(self, direction: int) -> None:
        """The next or previous pane that can be seen (any pane, when only one is on the screen)."""
        order = sorted(PANES if self.compact or self.zoomed else self.shown_panes() | self._crowded())
        index = order.index(self.active) if self.active in order else 0
        self.select(order[(index + direction) % len(order)])

    @property
    def layout_now(self) -> Layout:
        """What is remembered of the layout."""
        return Layout(tuple(sorted(self.hidden)), self.active, self.zoomed)

    def restore(self, layout: Layout) -> None:
        """Take over a remembered layout; done before the first paint."""
        self.hidden, self.active, self.zoomed = set(layout.hidden), layout.active, layout.zoomed
        self.hidden.discard(self.active)

    def hide(self) -> bool:
        """Hide the pane in front; the transcript stays. Whether something was hidden."""
        if self.active == 1 or self.compact or self.zoomed:
            return False
        self.hidden.add(self.active)
        self.active = 1
        self.lay_out()
        self.call_after_refresh(self._focus_active)
        self.settled(self.layout_now)
        return True

    def zoom(self) -> None:
        """One pane as large as the body, or all again."""
        self.zoomed = not self.zoomed
        self.select(self.active)

    def toggle_diff(self) -> None:
        """Pane 2 shows only what the newest version changed, or everything."""
        self.diff = not self.diff
        self.panes[2].reload()
        self._titles()

    def next_compare(self) -> Wish:
        """The next kind of comparison for pane 2."""
        place = MODES.index(self.wish.mode) if self.wish.mode in MODES else -1
        return self.compare(Wish(MODES[(place + 1) % len(MODES)]))

    def compare(self, wish: Wish) -> Wish:
        """Compare so from now on."""
        self.wish = wish
        self.panes[2].reload()
        self._titles()
        return wish

    def drift(self) -> dict[str, Drift]:
        """Drift by ``artifact.field`` at this moment; at the end it is the verdict's own."""
        if self.score is not None and self.score.work.drift and self.state.ended is not None:
            return {row.field: row for row in self.score.work.drift}
        return self.drifts.of(self.state)

    def toggle_follow(self) -> bool:
        """The growing panes stay at their end, or where they are."""
        on = not self.transcript.following
        for pane in (self.transcript, self.events_pane):
            pane.follow(on)
        self._titles()
        return on

    # --- what it says ------------------------------------------------------------------------------------------------------------------

    def show(
        self,
        state: State,
        now_ms: float,
        levels: Levels | None,
        events: Sequence[Event],
        count: int,
        areas: Iterable[Area] = ALL_AREAS,
    ) -> None:
        """Show ``state`` at ``now_ms``; of the panes only those that show one of ``areas`` are asked again."""
        self.take(state, now_ms, levels, events, count)
        self.events_pane.reload()
        self.reload(frozenset(areas))

    def take(self, state: State, now_ms: float, levels: Levels | None, events: Sequence[Event], count: int) -> None:
        """Hold this moment without painting it."""
        self.state, self.now_ms, self.levels = state, now_ms, levels
        self.transcript.state, self.transcript.now_ms = state, now_ms
        self.events_pane.load(events, count)

    def reload(self, areas: frozenset[Area]) -> None:
        """Ask the sources again for what ``areas`` can have changed; band and lanes always, they move with time."""
        self.band.reload()
        self.lanes.reload()
        if self.tabs.display:
            self.tabs.reload()
        self.set_class(bool(self.state.requests or self.state.approvals or self.state.decisions), "-asked")
        running = any(c.state == "running" for c in self.state.calls.values())
        for number, pane in self.panes.items():
            if (
                areas & _TOUCHES[number]
                or (number == 4 and running)
                or (number == 2 and "transcript" in areas and self._drifted())
            ):
                pane.reload()
        self._titles()

    def _drifted(self) -> bool:
        """Whether the drift marks of pane 2 may be others than those it shows."""
        before, self._drift = self._drift, self.drift()
        return self._drift != before

    def _titles(self) -> None:
        follow = "follow ON" if self.transcript.following else "follow off, f"
        turns = len(self.state.turns) + len(self.state.replies)
        self.transcript.set_titles("1 transcript", f"{follow} · {counted(turns, 'turn')}")
        self.panes[2].set_titles(
            f"2 artifact{' · changes only' if self.diff else ''}{_compare_title(self.wish)}",
            "~ changed  + added  - removed  ≠ drift",
        )
        self.events_pane.set_titles(*self.events_pane.heading())
        for number, other in ((3, 5), (5, 3)):
            out = other in self._crowded() and number in self.shown_panes()
            self.panes[number].set_titles(
                f"{number} {PANE_TITLES[number]}", f"{other} {PANE_TITLES[other]}" if out else ""
            )

    def _band(self, width: int) -> list[Text]:
        draw = band_compact if self.compact else band
        return draw(self.state, self.now_ms, width, self.levels)

    def _artifact(self, width: int) -> list[Text]:
        self._owned = artifact_rows(self.state, width, self.diff, self.primary, self.drift(), self._compared)
        return [line for line, _, _ in self._owned]

    def _compared(self, artifact: Artifact) -> Comparison | None:
        return compared(self.wish, artifact, self.whole, self.score)

    # --- the mouse ---------------------------------------------------------------------------------------------------------------------

    def _tab_clicked(self, x: int, _y: int) -> None:
        number = tab_at(self.state, self.active, self.events_pane.count, self.tabs.size.width, x)
        if number is not None:
            self.select(number)

    def _lane_clicked(self, x: int, y: int) -> None:
        margin, first = (1, 0) if self.compact else (2, 1)
        if y - first != 2:
            return
        cells = self.lanes.size.width - 2 * margin - LABEL
        mark = mark_at(self.state, Axis(self.now_ms, cells), x - margin - LABEL)
        if mark is not None:
            self.asked_mark(mark)

    def _artifact_clicked(self, x: int, row: int) -> None:
        """A version on a rail, or a field, in any of its lines."""
        if not 0 <= row < len(self._owned):
            return
        line, artifact, field = self._owned[row]
        if field == RAIL:
            versions = re.finditer(r"v(\d+)", line.plain.partition("]")[0])
            found = next((m for m in versions if m.start() <= x < m.end()), None)
            if found is not None:
                self.asked_version(artifact, int(found[1]))
        elif field is not None:
            self.asked_field(f"{artifact}.{field}")

    def _lanes(self, width: int) -> list[Text]:
        if self.compact:
            return [Text.assemble(" ", line, end="") for line in lanes(self.state, self.now_ms, width - 2, False)]
        return box("floor · last 30 s", lanes(self.state, self.now_ms, width - 4, True), width, 6)


def _compare_title(wish: Wish) -> str:
    if wish.mode == "off":
        return ""
    if wish.mode == "versions":
        return f" · v{wish.pair[0]} -> v{wish.pair[1]}"
    return f" · compare [{wish.mode}]"
