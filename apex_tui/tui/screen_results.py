"""The recorded sessions as a screen: which succeeded, which failed at which gate; enter opens one at its failing moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widget import Widget

from apex_tui.timeline.errors import ApexError
from apex_tui.tui.background import background
from apex_tui.tui.keys import EVERYWHERE, RESULTS, Key, bindings
from apex_tui.tui.plain import plain
from apex_tui.tui.render_results import chosen_lines, fits, results_lines, summary_words
from apex_tui.tui.render_rows import title_plain
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.widgets.painted import Pane

if TYPE_CHECKING:
    from apex_tui.store.listing import Listing


class ResultsScreen(ApexScreen):
    """All sessions that the picker knows. ``rows`` newest first."""

    KEYS: ClassVar[tuple[Key, ...]] = RESULTS
    NAME = "RESULTS"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*RESULTS, *EVERYWHERE))

    def __init__(self, rows: Sequence[Listing] = ()) -> None:
        super().__init__()
        self.all = list(rows)
        self.rows = list(rows)
        self.words = ""
        self.chosen = 0
        self.list_pane, self.card_pane = Pane(14, "sessions"), Pane(15, "chosen session")
        self.list_pane.can_focus = self.card_pane.can_focus = False
        self.list_pane.source = self._list
        self._drawn: tuple[list[Listing], int, list[Text]] | None = None
        """The rows, without a chosen one, and what they were drawn of: a thousand take a tenth of a second."""
        self.card_pane.source = lambda width: chosen_lines(self.current, width)
        self.list_pane.clicked = lambda _x, row: self._click(row)

    @property
    def current(self) -> Listing | None:
        """The chosen session."""
        return self.rows[self.chosen] if self.rows else None

    def body(self) -> Sequence[Widget]:
        """The list, and the chosen session below it."""
        return (self.list_pane, self.card_pane)

    def _list(self, width: int) -> list[Text]:
        if self._drawn is None or self._drawn[0] is not self.rows or self._drawn[1] != width:
            self._drawn = (self.rows, width, results_lines(self.rows, -1, width))
        lines = list(self._drawn[2])
        if self.current is not None:
            lines[self.chosen + 1] = results_lines([self.current], 0, width)[1]
        return lines

    def on_mount(self) -> None:
        """The newest state of the folder."""
        background(self, self._load, name="results-load")

    async def _load(self) -> None:
        try:
            self.all = list(await asyncio.to_thread(self.apex.sources.recordings))
        except ApexError as error:
            self.say(str(error), "bad")
        self._filter(self.words)

    def _filter(self, words: str) -> None:
        self.words = words
        self.rows = [row for row in self.all if fits(row, words)]
        self.chosen = min(self.chosen, max(0, len(self.rows) - 1))
        told = f" · filter: {plain(words, 60)}" if words else ""
        self.list_pane.set_titles(f"sessions{told}", f"{len(self.rows)} of {len(self.all)}")
        self._paint()

    def _paint(self) -> None:
        self.list_pane.reload()
        self.card_pane.reload()
        self.title_row.reload()
        self.list_pane.show_row(self.chosen + 1)

    def title_line(self, width: int) -> Text:
        """How many, and how they ended."""
        return title_plain("RESULTS", summary_words(self.rows), width)

    def _click(self, row: int) -> None:
        if not 1 <= row <= len(self.rows):
            return
        if row - 1 == self.chosen:
            self.action_open()
        self.chosen = row - 1
        self._paint()

    def action_row(self, rows: int) -> None:
        """Up or down."""
        self.chosen = min(max(0, len(self.rows) - 1), max(0, self.chosen + rows))
        self._paint()

    def action_filter(self) -> None:
        """Type words; the list follows."""
        self.prompt.ask("filter:", self._filter, self.words, self._filter)

    def action_open(self) -> None:
        """Replay, at the failing moment if there is one."""
        if self.current is not None:
            background(
                self, partial(self.apex.open_recording, self.current.path, as_replay=True, at_failure=True), name="open"
            )

    def action_card(self) -> None:
        """Its scorecard; without a verdict its replay."""
        if self.current is not None:
            background(self, partial(self.apex.open_recording, self.current.path), name="open")

    def action_rerun(self) -> None:
        """The same workflow, seed and agent again."""
        if self.current is not None:
            background(self, partial(self.apex.rerun, self.current.path, self), name="rerun")
