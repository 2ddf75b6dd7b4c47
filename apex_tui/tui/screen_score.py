"""The scorecard of one session; enter replays it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widget import Widget

from apex_tui.timeline.events import Event
from apex_tui.tui.again import failing_ms
from apex_tui.tui.keys import EVERYWHERE, SCORE, Key, bindings
from apex_tui.tui.lines import ends, row
from apex_tui.tui.plain import plain
from apex_tui.tui.render_score import headline, score_lines
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.widgets.painted import Pane
from apex_tui.tui.words import REHEARSAL

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score
    from apex_tui.workflow.model import Workflow


class ScoreScreen(ApexScreen):
    """A verdict. ``events`` are the session's, for the replay."""

    KEYS: ClassVar[tuple[Key, ...]] = SCORE
    NAME = "SCORECARD"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*SCORE, *EVERYWHERE))

    def __init__(
        self, score: Score, events: Sequence[Event], workflow: Workflow | None = None, folder: Path | None = None
    ) -> None:
        super().__init__()
        self.folder = folder
        self.workflow = workflow
        self.score = score
        self.events = events
        self.pane = Pane(8, f"scorecard · {plain(score.session, 80)}")
        self.pane.source = lambda width: score_lines(self.score, width)

    def body(self) -> Sequence[Widget]:
        """One scrolling pane."""
        return (self.pane,)

    def keys(self) -> tuple[Key, ...]:
        """The keys that do something: without a failing moment none leads there."""
        failed = failing_ms(self.score, self.events) is not None
        return tuple(key for key in self.KEYS if failed or key.id != "failing")

    def on_mount(self) -> None:
        """Arrow keys scroll at once."""
        self.pane.focus()

    def title_line(self, width: int) -> Text:
        """Workflow, agent, verdict."""
        agent = REHEARSAL if self.score.rehearsal else f"agent {plain(self.score.agent, 40)}"
        left = row((" SCORECARD ", "head"), plain(self.score.workflow, 40), (f" · {agent}", "warn"))
        word = headline(self.score)
        return ends(left, row((f"{word.glyph} {word.word.split(' · ')[0]} ", word.role)), width)

    def action_scroll(self, lines: int) -> None:
        """Scroll the card."""
        self.pane.scroll_relative(y=lines, animate=False)

    def action_replay(self) -> None:
        """Replay the session from its beginning."""
        if not self.events:
            self.say("there are no events to replay")
            return
        self.apex.show_replay(self.events, self.score, self.workflow, folder=self.folder)

    def action_failing(self) -> None:
        """Replay the session at its failing moment."""
        if not self.events:
            self.say("there are no events to replay")
            return
        if failing_ms(self.score, self.events) is None:
            self.say("nothing failed at a moment that could be shown: enter replays it from the beginning")
            return
        self.apex.show_replay(self.events, self.score, self.workflow, at_failure=True, folder=self.folder)
