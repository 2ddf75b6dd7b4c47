"""Replay: the body of the live screen, fed from the fold of a recording up to the cursor."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widget import Widget

from apex_tui.store.recording import what_is_wrong
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.events import Event
from apex_tui.timeline.log import LogReader
from apex_tui.timeline.state import Mark
from apex_tui.tui.again import run_again
from apex_tui.tui.background import background
from apex_tui.tui.feed import ALL_AREAS
from apex_tui.tui.keys import EVERYWHERE, REPLAY, Key, bindings
from apex_tui.tui.player import Player
from apex_tui.tui.render_band import levels_of
from apex_tui.tui.render_chrome import seek_mark, seek_marks, seek_row, title_replay
from apex_tui.tui.render_floor import event_summary
from apex_tui.tui.render_score import headline
from apex_tui.tui.replay_sound import ReplaySound
from apex_tui.tui.screen_session import SessionScreen
from apex_tui.tui.search import found_in, moment, of_kind
from apex_tui.tui.widgets.seek_bar import SeekBar
from apex_tui.tui.words import counted

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score
    from apex_tui.workflow.model import Workflow

TICK_S = 0.05
SLICE = 2_000
"""Events read and folded at a time: the keys wait 10 ms for it."""


class ReplayScreen(SessionScreen):
    """A recording with a cursor. ``problem`` is what the store found missing; ``score`` the verdict, if there is one."""

    KEYS: ClassVar[tuple[Key, ...]] = REPLAY
    NAME = "REPLAY"
    greeting = "opened at the failing moment · w asks why, enter shows the scorecard"
    """What is said when it begins at a moment."""
    BINDINGS: ClassVar[list[BindingType]] = bindings((*REPLAY, *EVERYWHERE))

    def __init__(
        self,
        events: Sequence[Event],
        score: Score | None = None,
        problem: str | None = None,
        workflow: Workflow | None = None,
        begin_ms: float | None = None,
        player: Player | None = None,
        rest: LogReader | None = None,
        folder: Path | None = None,
    ) -> None:
        super().__init__()
        self.player = player or Player(events)
        self.score = self.panes.score = score
        self.problem = problem
        self.panes.primary = workflow.primary_artifact if workflow is not None else None
        self.panes.drifts.workflow = workflow
        self.panes.transcript.whole = self.panes.whole = self.player.whole
        for pane in self.panes.panes.values():
            pane.leaves_edges = True
        self._begin_ms = begin_ms
        self._rest = rest
        """What reads on in a long recording, until it has come to the end."""
        self.folder = folder
        self.sound = ReplaySound(lambda: self.apex.sources.link(), folder)
        self._matches: list[int] = []
        self._sought = ""
        self.seek_bar = SeekBar(id="seek")
        self.seek_bar.source = self._seek_rows
        self._marks: tuple[tuple[int, int], Text] = ((0, 0), Text(""))
        self._last = 0.0

    def keys(self) -> tuple[Key, ...]:
        """The keys that do something in this recording: it may have no verdict, and nobody at the microphone."""
        there = {"verdict": self.score is not None, "scenario": self._by_a_person}
        return tuple(key for key in self.KEYS if there.get(key.id, True))

    @property
    def _by_a_person(self) -> bool:
        started = self.player.whole.started
        return started is not None and started.caller == "microphone" and self.folder is not None

    def above(self) -> Sequence[Widget]:
        """The seek bar."""
        return (self.seek_bar,)

    def on_mount(self) -> None:
        """Show the beginning; time moves only while playing."""
        self._last = self.apex.clock()
        self.set_interval(TICK_S, self.tick)
        if self._begin_ms is not None:
            self.player.seek(self._begin_ms)
            self.say(self.greeting, "warn")
        elif self.problem:
            self.say(self.problem, "warn", stays=True)
        elif self.score is not None:
            word = headline(self.score)
            self.say(f"verdict {word} · enter shows the scorecard", word.role)
        else:
            self.say("not scored yet · space plays")
        self.update_view()
        background(self, partial(asyncio.to_thread, self.panes.drifts.prepare), name="drift")
        if self._rest is not None:
            background(self, partial(self._read_on, self._rest), name="read-on")

    async def _read_on(self, rest: LogReader) -> None:
        """Read the rest of a long recording while its beginning can be seen; the cursor stays where it is."""
        while not rest.done:
            try:
                await asyncio.to_thread(rest.read, SLICE)
            except ApexError as error:
                self.say(str(error), "bad")
                break
            self.player.extend(rest.events[len(self.player.events) :])
            self.seek_bar.reload()
            self.title_row.reload()
        self._rest = None
        wrong = what_is_wrong(rest)
        if wrong is not None:
            self.problem = f"{self.problem} {wrong}" if self.problem else wrong
            self.say(self.problem, "warn", stays=True)
        self.update_view()

    async def on_unmount(self) -> None:
        """Nobody looks at the rest any more, and nobody listens."""
        if self._rest is not None:
            self._rest.stop()
        await self.sound.close()

    def _seek_rows(self, width: int) -> list[Text]:
        key = (width, len(self.player.events))
        if self._marks[0] != key:  # the marks of a whole recording do not change
            self._marks = (key, seek_marks(self.player.whole, self.player.end_ms, width))
        return [seek_row(self.player.at_ms, self.player.end_ms, width), self._marks[1]]

    def tick(self) -> None:
        """Wall time went by; the cursor moves with the speed while playing."""
        now = self.apex.clock()
        elapsed, self._last = now - self._last, now
        playing = self.player.playing
        moved = self.player.tick(elapsed) or playing != self.player.playing
        news = self.sound.follow(self.player.at_ms, self.player.speed)
        if news is not None:
            self.say(news)
        if playing and not self.player.playing:
            self.sound.pause()
        if moved:
            self.update_view()

    def _sound_from_here(self) -> None:
        """The cursor was put somewhere, or begins or ceases to move: the sound goes with it."""
        if not self.player.playing:
            self.sound.pause()
            return
        self.sound.play(self.player.at_ms, self.player.speed)
        if self.sound.to_start:
            background(self, self._start_sound, name="sound")

    async def _start_sound(self) -> None:
        problem = await self.sound.start()
        if problem is not None:
            self.say(problem, "warn")

    def action_sound(self) -> None:
        """Sound on or off."""
        on = self.sound.toggle()
        if self.folder is None:
            self.say("there is no sound here: this replay does not know where the recording lies")
        else:
            told = f" · {self.sound.told}" if self.sound.told else ""
            self.say(f"sound on, played at 1x{told}" if on else "sound off")
        self._sound_from_here()

    def update_view(self) -> None:
        """Show the state at the cursor."""
        player = self.player
        levels = self.sound.levels or levels_of(player.state)
        now = (player.state, player.at_ms, levels, player.events, player.count)
        if self.presenting:
            self.panes.take(*now)
            self.stage.reload()
        else:
            self.panes.show(*now, ALL_AREAS)
        self.seek_bar.reload()
        self.title_row.reload()

    def title_line(self, width: int) -> Text:
        """Workflow, agent, speed, position."""
        player = self.player
        reading = self._rest.share if self._rest is not None else None
        return title_replay(
            player.state, player.whole, player.at_ms, player.end_ms, player.playing, player.speed, width, reading
        )  # fmt: skip

    def on_seek_bar_sought(self, message: SeekBar.Sought) -> None:
        """A click on the bar, or on a mark below it."""
        mark = None
        if message.row == 1:
            mark = seek_mark(self.player.whole, self.player.end_ms, self.seek_bar.size.width, message.column)
        if mark is not None:
            self._mark_clicked(mark)
        else:
            self._go_to(message.share * self.player.end_ms)

    def _go_to(self, ms: float) -> None:
        self.player.seek(ms)
        self._sound_from_here()
        self.update_view()

    def _go_to_event(self, seq: int) -> None:
        self.player.to_event(seq)
        self._sound_from_here()
        self.update_view()

    def went_to(self, ms: float | None) -> None:
        """Why led to a moment."""
        if ms is not None:
            self._go_to(ms)

    def _mark_clicked(self, mark: Mark) -> None:
        self._go_to_event(mark.seq)

    def _version_clicked(self, artifact: str, number: int) -> None:
        held = self.player.whole.artifacts.get(artifact)
        found = next((v for v in held.versions if v.number == number), None) if held is not None else None
        if found is not None:
            self._go_to_event(found.seq)

    def score_shown(self) -> Score | None:
        """Only at the end: before it the verdict is not out."""
        return self.score if self.player.at_ms >= self.player.end_ms else None

    # --- search ------------------------------------------------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Ask for words."""
        self.prompt.ask("search:", self._search, self._sought)

    def _search(self, words: str) -> None:
        self._sought = words
        background(self, partial(self._find, words), name="search", group="search", exclusive=True)

    async def _find(self, words: str) -> None:
        self._matches = await asyncio.to_thread(found_in, self.player.events, words)
        if not words:
            self.say("")
            return
        if not self._matches:
            self.say(f'nothing in this recording holds "{words}"', "warn")
            return
        place = bisect_left(self._matches, self.player.count)
        self._show_match(place % len(self._matches))

    def action_match(self, direction: int) -> None:
        """Next or previous match, around the end; in presenter mode n goes back to the beginning."""
        if self.presenting and direction > 0:
            self.player.playing = False
            self._go_to(0.0)
            return
        if not self._matches:
            self.say("search first: / and some words")
            return
        here = self.player.count - 1
        place = bisect_right(self._matches, here) if direction > 0 else bisect_left(self._matches, here) - 1
        self._show_match(place % len(self._matches))

    def _show_match(self, place: int) -> None:
        index = self._matches[place]
        self.player.playing = False
        self.player.to_index(index)
        self._sound_from_here()
        self.update_view()
        event = self.player.events[index]
        told = f'match {place + 1} of {len(self._matches)} for "{self._sought}": {event.type} {event_summary(event)}'
        self.say(f"{told} · n N go on")

    def action_kind(self) -> None:
        """Ask for a kind of event."""
        self.prompt.ask("only events of kind (empty: all):", self._narrow, self.panes.events_pane.kind)

    def _narrow(self, kind: str) -> None:
        kept = of_kind(self.player.events, kind)
        if kind and not kept:
            self.say(
                f'no event of kind "{kind}": tool, approval, artifact, barge_in, caller, agent, response, commit ...',
                "warn",
            )
            return
        self.player.kept = kept if kind else None
        self.panes.events_pane.narrow(kind, self.player.kept)
        self.update_view()
        self.say(
            f"{counted(len(kept), 'event')} of kind {kind}: , and . go from one to the next"
            if kind
            else "all events again"
        )

    def action_go(self) -> None:
        """Ask where to."""
        self.prompt.ask("go to (1:23.4, v3, b2, t1, #121):", self._gone)

    def _gone(self, text: str) -> None:
        found = moment(text, self.player.whole, self.player.events)
        if isinstance(found, str):
            self.say(found, "warn")
            return
        self._go_to(found)

    def action_rerun(self) -> None:
        """Run the same again."""
        self.run_again(run_again(self.player.whole))

    def action_scenario(self) -> None:
        """Review what was said, to make a scenario of it."""
        if not self._by_a_person or self.folder is None:
            self.say("only a call at the microphone can be made a scenario; nobody spoke in this one", "warn")
            return
        self.player.playing = False
        self.sound.pause()
        self.apex.show_review(self.folder)

    def presenter_words(self) -> Sequence[tuple[str, str]]:
        """What a presenter needs of a recording."""
        return ("present", "back to detail"), ("play", "play"), ("match-on", "from the beginning")

    def action_present(self) -> None:
        """Few boxes, or all, up to date."""
        super().action_present()
        self.call_after_refresh(self.update_view)

    def action_play(self) -> None:
        """Play or pause."""
        self._last = self.apex.clock()
        self.player.toggle()
        self._sound_from_here()
        self.update_view()

    def action_move(self, ms: int) -> None:
        """Go on or back in time."""
        self.player.seek(self.player.at_ms + ms)
        self._sound_from_here()
        self.update_view()

    def action_step(self, events: int) -> None:
        """Go on or back by one event."""
        self.player.step(events)
        self._sound_from_here()
        self.update_view()

    def action_barge(self, direction: int) -> None:
        """Next or previous barge-in."""
        if not self.player.to_barge_in(direction):
            self.say(f"no barge-in {'after' if direction > 0 else 'before'} the cursor")
        self._sound_from_here()
        self.update_view()

    def action_version(self, direction: int) -> None:
        """Next or previous artifact version."""
        if not self.player.to_version(direction):
            self.say(f"no artifact version {'after' if direction > 0 else 'before'} the cursor")
        self._sound_from_here()
        self.update_view()

    def action_speed(self, steps: int) -> None:
        """Faster or slower."""
        self.player.change_speed(steps)
        self._sound_from_here()
        self.update_view()

    def action_edge(self, side: int) -> None:
        """Beginning or end."""
        self.player.seek(0.0 if side < 0 else self.player.end_ms)
        self._sound_from_here()
        self.update_view()

    def action_verdict(self) -> None:
        """The scorecard."""
        if self.score is None:
            self.say("this session has no verdict: `apex-tui score` makes one")
            return
        self.apex.show_score(self.score, self.player.events, self.panes.drifts.workflow, self.folder)
