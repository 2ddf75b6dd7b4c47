"""The live screen: one run, from the start of the engine to the verdict.

Every 25 ms it takes what the engine said, folds it and repaints what changed; what only moves with time, every 50 ms. It decides nothing: it
may mark, hold the view and end the run. Closing it leaves the engine to finish the recording.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual.binding import BindingType
from textual.screen import ModalScreen

from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK, ApexError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Failed, Mark, Meters, Opened, Run, Scored, Stop
from apex_tui.timeline.state import State
from apex_tui.tui.background import background
from apex_tui.tui.dialogs import AskScreen
from apex_tui.tui.feed import ALL_AREAS, Feed
from apex_tui.tui.keys import EVERYWHERE, HOLD, LIVE, OVER, Key, bindings
from apex_tui.tui.link import Item, Link
from apex_tui.tui.player import Player
from apex_tui.tui.render_band import Levels, levels_of
from apex_tui.tui.render_chrome import Instrument, status_line, title_live
from apex_tui.tui.render_score import headline, read_score
from apex_tui.tui.screen_score import ScoreScreen
from apex_tui.tui.screen_session import SessionScreen

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score

T = TypeVar("T")

FULL_FPS = 20
"""Frames a second, from which on an event does not wait for the next one."""
_LAG_TICKS = 40
"""Ticks over which the worst lag is shown: one second."""


_HELD = "space lets it go"
AT_ONCE = 2
"""Warnings of one moment that are said together: microphone and loudspeaker are gone at once when a sound server is."""
SILENT_S = 1.5
"""An engine in real time sends meters sixteen times a second; after this long without any it stands still."""


class LiveScreen(SessionScreen):
    """One run. ``command`` is what the engine is told; ``link`` is the way to it."""

    KEYS: ClassVar[tuple[Key, ...]] = LIVE
    HAS_STATUS = True
    NAME = "LIVE"
    BINDINGS: ClassVar[list[BindingType]] = bindings((*LIVE, *EVERYWHERE))

    def __init__(self, command: Run, link: Link) -> None:
        super().__init__()
        self.command = command
        self.link = link
        self.feed = Feed()
        self.levels: Levels | None = None
        self.now_ms = 0.0
        self.folder: str | None = None
        self.budget_s: float | None = command.max_s
        self.failure: Failed | None = None
        self._sound = ""
        self._engine = "starting"
        self._heard_at = float("inf")
        self._lag_ms: float | None = None
        self._lags: list[float] = []
        self._due = 0.0
        self._shown_verdict = self._shown_over = False
        self._tick_s = 0.5 / FULL_FPS
        self._eager = True
        self._came: list[Item] = []
        self._ticks = self._told = 0
        self._asking: list[ModalScreen[Any]] = []
        self.status_row.source = self._status

    @property
    def live(self) -> bool:
        """Whether the run still goes on."""
        return self.failure is None and self.score is None and not self.link.ended

    @property
    def exit_code(self) -> int:
        """What the process returns for this run: 0 success, 1 failed, 3 judges nobody, or what the engine said."""
        if self.failure is not None:
            return self.failure.exit_code
        if self.score is None or self.score.validity != "scored":
            return EXIT_INVALID
        return EXIT_OK if self.score.success else EXIT_FAILED

    def keys(self) -> tuple[Key, ...]:
        """The keys that do something now; of a run that ended while the view was held, the one that shows its end first of all."""
        if self.live:
            return self.keys_while_live()
        return (HOLD, *OVER) if self.feed.held else OVER

    def presenter_words(self) -> Sequence[tuple[str, str]]:
        """Of a run that goes on, and of one that is over."""
        back = ("present", "back to detail")
        over = (("hold", "go on"), back, ("again", "next run"), ("verdict", "scorecard"))
        return (back, ("hold", "hold")) if self.live else over

    def keys_while_live(self) -> tuple[Key, ...]:
        """The keys of the run as it goes on."""
        return self.KEYS

    def on_mount(self) -> None:
        """Begin, once whoever has to agree has agreed."""
        self.begin()

    def begin(self) -> None:
        """Start the engine and the flush timer."""
        self.say("starting the engine …", stays=True)
        background(self, self._start, name="engine-start")
        fps = self.apex.settings.number("fps")
        self._tick_s = 1.0 / fps if fps < FULL_FPS else 0.5 / fps  # who wants fewer frames has a slow line
        self._eager = fps >= FULL_FPS
        self._due = self.apex.clock() + self._tick_s
        self.set_interval(self._tick_s, self.tick)

    async def _start(self) -> None:
        try:
            await self.link.start(self.command)
        except ApexError as error:
            self._failed(Failed(message=str(error), exit_code=error.exit_code))
            return
        await self._learn()

    async def _learn(self) -> None:
        """The workflow gives the time budget and the drift marks; a run goes on without them."""
        try:
            workflow = await asyncio.to_thread(self.apex.sources.workflow, self.command.workflow)
        except ApexError:
            return
        self.panes.drifts.workflow = workflow
        self.panes.primary = workflow.primary_artifact
        if self.budget_s is None:
            self.budget_s = float(workflow.time_budget_s)
        await asyncio.to_thread(self.panes.drifts.prepare)

    def ask(self, dialog: ModalScreen[T], then: Callable[[T | None], None]) -> None:
        """Show a dialog about the run as it goes on. When the run ends there is nothing left to answer: it goes away, and ``then`` is not called."""

        def answered(answer: T | None) -> None:
            if answer is not None or self.live:
                then(answer)

        self._asking.append(dialog)
        self.app.push_screen(dialog, answered)

    def _stop_asking(self) -> None:
        """Put away the dialog that the run outlived; one below another screen goes once it is in front."""
        self._asking = [dialog for dialog in self._asking if dialog in self.app.screen_stack]
        if self._asking and self.app.screen is self._asking[-1]:
            self._asking.pop().dismiss(None)

    # --- twenty times a second, and when something happened -------------------------------------------------------------------------------

    def tick(self) -> None:
        """Paint what happened at once, and what only moves with time at every second tick."""
        self._measure_lag()
        self._came += self.link.drain()
        self._ticks += 1
        if not self._eager or self._ticks % 2 or any(isinstance(item, Event) for item in self._came):
            self.flush()

    def flush(self) -> None:
        """Take what came, fold a bounded part of it, repaint what changed."""
        came, self._came = self._came, []
        for item in came:
            self._take(item)
        if self.link.problem is not None:
            self.say(self.link.problem, "bad")
            self.link.problem = None
        areas = self.feed.advance()
        state = self.feed.state
        self._say_warnings(state)
        if not self.feed.held:
            self.now_ms = max(self.now_ms, state.media_ms)
            levels = self.levels or levels_of(state)
            if self.presenting:
                self.panes.take(state, self.now_ms, levels, self.feed.events, len(self.feed.events))
                self.stage.reload()
            else:
                self.panes.show(state, self.now_ms, levels, self.feed.events, len(self.feed.events), areas)
        silent = self.apex.clock() - self._heard_at
        if self._engine.startswith(("ok", "silent")) and not self.link.ended:
            self._engine = f"silent {silent:.0f} s" if silent > SILENT_S else "ok"
        self.title_row.reload()
        if self.status_row.display:
            self.status_row.reload()
        if self.link.ended and self._engine != "gone":
            self._engine = "ended"
        if not self.live:
            self._stop_asking()
            if not self._shown_over:
                self._shown_over = True
                self.key_row.reload()
                if self.feed.held and self.failure is None:
                    self.say(f"the run is over; the view is still held · {_HELD}", "warn", stays=True)
        if self.score is not None and not self.feed.waiting and not self.feed.held and not self._shown_verdict:
            self._shown_verdict = True
            self._announce(self.score)

    def _say_warnings(self, state: State) -> None:
        """Each is said in full, once, and those that come at once together; the status line has room for its beginning only."""
        news = dict.fromkeys(warning.message for _, _, warning in state.warnings[self._told :])
        if news:
            self.say(" · ".join(list(news)[-AT_ONCE:]), "warn")
        self._told = len(state.warnings)

    def _measure_lag(self) -> None:
        now = self.apex.clock()
        self._lags = [*self._lags[1 - _LAG_TICKS :], max(0.0, now - self._due) * 1000.0]
        self._due = now + self._tick_s
        self._lag_ms = max(self._lags)

    def _take(self, item: Item) -> None:
        self._heard_at = self.apex.clock()
        if isinstance(item, Event):
            self._engine = "ok"
            self.feed.push(item)
        elif isinstance(item, Meters):
            if not self.feed.held:
                self.levels = Levels(item.caller_db, item.agent_db)
                self.now_ms = max(self.now_ms, item.media_ms)
        elif isinstance(item, Opened):
            self._engine = "ok"
            self.folder, self._sound = item.folder, item.sound
            self.say(item.sound)
        elif isinstance(item, Scored):
            self._scored(item.score)
        else:
            self._failed(item)

    def _scored(self, record: dict[str, Any]) -> None:
        try:
            self.score = read_score(record)
        except ApexError as error:
            self._failed(Failed(message=str(error), exit_code=error.exit_code))

    def _announce(self, score: Score) -> None:
        word = headline(score)
        self.panes.score = score
        if self.presenting:
            self.say(f"{word} · n resets for the next run, enter shows the scorecard", word.role, stays=True)
            self.stage.reload()
            return
        self.say(f"{word} · enter shows the scorecard, q goes back", word.role, stays=True)
        self.apex.show_verdict(score, self.feed.events, self.folder, self)

    def _failed(self, failure: Failed) -> None:
        self.failure = failure
        self._engine = "gone"
        self.say(f"✗ {failure.message} · q goes back", "bad")

    def title_line(self, width: int) -> Text:
        """Workflow, agent, recorder, engine, lag."""
        return title_live(self.feed.state, self.now_ms, self._instrument(), width)

    def _instrument(self) -> Instrument:
        return Instrument(self._engine, self._lag_ms, self.feed.held, self.feed.waiting, self.budget_s)

    def _status(self, width: int) -> tuple[Text, ...]:
        return (status_line(self.feed.state, self.now_ms, self._instrument(), self.score, width),)

    # --- keys --------------------------------------------------------------------------------------------------------------------------

    def action_hold(self) -> None:
        """Hold the view, or let it go on."""
        if not self.live and not self.feed.held:
            self.say("the run is over: nothing moves any more")
            return
        self.feed.held = not self.feed.held
        if self.feed.held:
            self.say(f"the view is held; the run and the recording go on · {_HELD}", "warn", stays=True)
        else:
            self.say("")
            self.panes.reload(ALL_AREAS)
        self.title_row.reload()
        self.key_row.reload()

    def went_to(self, ms: float | None) -> None:
        """A moment was chosen in Why: replay goes there with what happened so far; the run goes on behind it."""
        if ms is not None:
            background(self, partial(self._look_back, ms), name="look-back", exclusive=True)

    async def _look_back(self, ms: float) -> None:
        player = await asyncio.to_thread(Player, self.feed.events.copy())
        told = "the run goes on behind this · q goes back to it" if self.live else "q goes back to the run"
        self.apex.look_back(player, self, ms, told)

    def on_screen_resume(self) -> None:
        """Back from another screen: show what happened meanwhile."""
        self.panes.reload(ALL_AREAS)

    def action_present(self) -> None:
        """Few boxes, or all, up to date."""
        super().action_present()
        if not self.presenting:
            self.panes.reload(ALL_AREAS)

    def action_again(self) -> None:
        """Presenter mode: the same run once more, on a fresh screen."""
        if not self.presenting:
            self.say("n resets for the next run in presenter mode (p)")
        elif self.live:
            self.say("the run is still going on: x ends it")
        else:
            self.apex.restart(self.command)

    def action_mark(self) -> None:
        """Mark this moment."""
        if not self.live:
            self.say("the run is over: nothing to mark")
            return
        self.link.send(Mark())
        self.say("marked: the mark appears on the lanes as ● M", "good")

    def action_end(self) -> None:
        """Ask, then end the run."""
        if not self.live:
            self.say("the run is over already")
            return
        question = "End this run now? It is kept and labelled as ended by the operator; it judges nobody."
        self.ask(AskScreen(question, (("x", "end the run", "end"),), enter=True), self._end)

    def _end(self, answer: str | None) -> None:
        if answer == "end":
            self.link.send(Stop())
            self.say("ending the run …", "warn", stays=True)

    def action_verdict(self) -> None:
        """The scorecard."""
        if self.score is None:
            self.say("there is no verdict yet: it comes when the run has ended")
            return
        folder = Path(self.folder) if self.folder else None
        self.app.push_screen(ScoreScreen(self.score, list(self.feed.events), self.panes.drifts.workflow, folder))

    def action_results(self) -> None:
        """All recorded sessions; a run that goes on keeps its screen."""
        if self.live:
            self.say("the run is still going on: its result stands among the others when it has ended")
        else:
            background(self, self._show_results, name="results", exclusive=True, group="results")

    async def _show_results(self) -> None:
        from apex_tui.tui.screen_results import ResultsScreen

        try:
            rows = list(await asyncio.to_thread(self.apex.sources.recordings))
        except ApexError as error:
            self.say(str(error), "bad")
            return
        if self.is_current:
            self.app.push_screen(ResultsScreen(rows))

    def action_leave(self) -> None:
        """Go back; ask first while the run is live."""
        if not self.live:
            self.apex.leave()
            return
        question = "The run is still going on."
        answers = (
            ("q", "leave: the engine runs to the end, the recording goes on", "leave"),
            ("x", "end the run, then see its verdict", "end"),
        )
        self.ask(AskScreen(question, answers), self._leave)

    def _leave(self, answer: str | None) -> None:
        if answer == "leave":
            self.apex.leave()
        else:
            self._end(answer)

    async def on_unmount(self) -> None:
        """The screen goes; the engine stays."""
        await self.link.detach()
