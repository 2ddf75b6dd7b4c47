"""Replay: the body of the live screen, fed from the fold of a recording up to the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from apex_tui.score.verdict import Score
from apex_tui.timeline.events import Event
from apex_tui.tui.feed import ALL_AREAS, Player
from apex_tui.tui.keys import EVERYWHERE, REPLAY, Key, bindings
from apex_tui.tui.render_band import levels_of
from apex_tui.tui.render_chrome import seek_rows, title_replay
from apex_tui.tui.render_score import headline
from apex_tui.tui.screen_session import SessionScreen
from apex_tui.tui.widgets.painted import FixedLines

TICK_S = 0.05


class SeekBar(FixedLines):
    """Two rows: where the cursor is, and the marks of the whole session. A click goes there."""

    class Sought(Message):
        """A person clicked at ``share`` of the whole length."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def on_click(self, event: Click) -> None:
        """Turn a column into a share of the length."""
        cells = max(1, self.size.width - 2)
        self.post_message(self.Sought(min(1.0, max(0.0, (event.x - 1) / cells))))


class ReplayScreen(SessionScreen):
    """A recording with a cursor. ``problem`` is what the store found missing; ``score`` the verdict, if there is one."""

    KEYS: ClassVar[tuple[Key, ...]] = REPLAY
    NAME = "REPLAY"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*REPLAY, *EVERYWHERE))

    def __init__(
        self,
        events: Sequence[Event],
        score: Score | None = None,
        problem: str | None = None,
        primary: str | None = None,
    ) -> None:
        super().__init__()
        self.player = Player(events)
        self.score = score
        self.problem = problem
        self.panes.primary = primary
        self.panes.transcript.whole = self.player.whole
        self.seek_bar = SeekBar(id="seek")
        self.seek_bar.source = lambda width: seek_rows(self.player.whole, self.player.at_ms, self.player.end_ms, width)
        self._last = 0.0

    def body(self) -> Sequence[Widget]:
        """Seek bar, then the shared body."""
        return (self.seek_bar, self.panes)

    def on_mount(self) -> None:
        """Show the beginning; time moves only while playing."""
        self._last = self.apex.clock()
        self.set_interval(TICK_S, self.tick)
        if self.problem:
            self.say(self.problem, "warn")
        elif self.score is not None:
            word = headline(self.score)
            self.say(f"verdict {word} · enter shows the scorecard", word.role)
        else:
            self.say("not scored yet · space plays")
        self.update_view()

    def tick(self) -> None:
        """Wall time went by; the cursor moves with the speed while playing."""
        now = self.apex.clock()
        elapsed, self._last = now - self._last, now
        playing = self.player.playing
        if self.player.tick(elapsed) or playing != self.player.playing:
            self.update_view()

    def update_view(self) -> None:
        """Show the state at the cursor."""
        player = self.player
        self.panes.show(player.state, player.at_ms, levels_of(player.state), player.events, player.count, ALL_AREAS)
        self.seek_bar.reload()
        self.title_row.reload()

    def title_line(self, width: int) -> Text:
        """Workflow, agent, speed, position."""
        player = self.player
        return title_replay(
            player.state, player.whole, player.at_ms, player.end_ms, player.playing, player.speed, width
        )  # fmt: skip

    def on_seek_bar_sought(self, message: SeekBar.Sought) -> None:
        """A click on the bar."""
        self.player.seek(message.share * self.player.end_ms)
        self.update_view()

    def action_play(self) -> None:
        """Play or pause."""
        self._last = self.apex.clock()
        self.player.toggle()
        self.update_view()

    def action_move(self, ms: int) -> None:
        """Go on or back in time."""
        self.player.seek(self.player.at_ms + ms)
        self.update_view()

    def action_step(self, events: int) -> None:
        """Go on or back by one event."""
        self.player.step(events)
        self.update_view()

    def action_barge(self, direction: int) -> None:
        """Next or previous barge-in."""
        if not self.player.to_barge_in(direction):
            self.say(f"no barge-in {'after' if direction > 0 else 'before'} the cursor")
        self.update_view()

    def action_version(self, direction: int) -> None:
        """Next or previous artifact version."""
        if not self.player.to_version(direction):
            self.say(f"no artifact version {'after' if direction > 0 else 'before'} the cursor")
        self.update_view()

    def action_speed(self, steps: int) -> None:
        """Faster or slower."""
        self.player.change_speed(steps)
        self.update_view()

    def action_edge(self, side: int) -> None:
        """Beginning or end."""
        self.player.seek(0.0 if side < 0 else self.player.end_ms)
        self.update_view()

    def action_verdict(self) -> None:
        """The scorecard."""
        if self.score is None:
            self.say("this session has no verdict: `apex-tui score` makes one")
            return
        self.apex.show_score(self.score, list(self.player.events))
