"""The Textual app: themes, screens, signals, exit codes. `run_app` is the only door; whether there is a terminal at all is the CLI's care.

The screens of a session are imported when one is shown: the first paint does not wait for them, the picker fetches them after it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.filter import LineFilter
from textual.screen import Screen

from apex_tui.store.settings import THEMES, Settings, config_path, load_settings
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, ApexError
from apex_tui.tui.again import failing_ms, run_again
from apex_tui.tui.background import background
from apex_tui.tui.keymap import check_keymap, in_textual
from apex_tui.tui.keys import EVERYWHERE, action_ids
from apex_tui.tui.own_terminal import OwnTerminal
from apex_tui.tui.plain import plain
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.sources import Sources
from apex_tui.tui.themes import DARK, LIGHT, OWN, Monochrome
from apex_tui.tui.widgets.prompt import Entry

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score
    from apex_tui.store.recording import Recording
    from apex_tui.timeline.events import Event
    from apex_tui.timeline.messages import Preset, Run
    from apex_tui.tui.player import Player
    from apex_tui.tui.screen_live import LiveScreen
    from apex_tui.workflow.model import Workflow

LAST_WORDS_S = 3.0
"""After a signal: time to give the terminal back before the process ends without."""
NOT_OURS = ("Screenshot", "Quit", "Keys", "Maximize", "Minimize")
"""Textual's own commands for which a screen has keys of its own: ctrl+s, q, ?, z."""
GC_THRESHOLDS = (1_000, 10, 5_000)
"""Many small collections: each takes 3 ms, one of 50,000 young objects took 50 ms, which every key felt. A full one is as good as never due."""


@dataclass(frozen=True, slots=True)
class Picker:
    """Begin with the picker."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Begin with the replay of a recorded session."""

    path: Path


@dataclass(frozen=True, slots=True)
class Reviewing:
    """Begin with the review of a recorded call."""

    path: Path


Start: TypeAlias = "Picker | Replay | Reviewing | Run"
"""What the app begins with: the picker, a recording, the review of one, or a run."""


class ApexApp(App[int]):
    """Screens over one engine. ``clock`` gives seconds; tests hand in their own, and their own ``sources``."""

    CSS_PATH = "apex.tcss"
    TITLE = "apex-tui"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave_now", "Quit", show=False, priority=True, id="quit-now")
    ]

    def __init__(
        self,
        start: Start | None = None,
        *,
        sources: Sources | None = None,
        clock: Callable[[], float] | None = None,
        settings: Settings | None = None,
        tune_collector: bool = False,
    ) -> None:
        self.settings = settings or Settings()
        self.mono = self.settings.flag("mono")
        super().__init__()
        self.start: Start = start or Picker()
        self.sources = sources or Sources()
        self._clock = clock
        self._tune = tune_collector
        self._code = EXIT_OK
        self._mono_filters = [Monochrome()]
        for theme in OWN:
            self.register_theme(theme)
        self.theme = THEMES[self.settings.text("theme")]
        self.set_class(self.mono, "-mono")
        self.set_keymap(in_textual(self.settings.keymap))

    def clock(self) -> float:
        """Seconds of a monotonic clock."""
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """In monochrome nothing but `Monochrome` (Textual's own answer to NO_COLOR are greys)."""
        return self._mono_filters if self.mono else super().get_line_filters()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables for Textual's built-in themes, which do not know them."""
        return dict((DARK if self.current_theme.dark else LIGHT).variables)

    def on_mount(self) -> None:
        """Signals first, then the first screen."""
        self._handle_signals()
        self._show_start()
        if self._tune:
            self.call_after_refresh(_settle_collector)

    def _show_start(self) -> None:
        if isinstance(self.start, Picker):
            told: Preset = "coaching" if self.settings.text("instructions") == "coaching" else "neutral"
            self.push_screen(PickerScreen(self.settings.text("agent"), self.settings.number("seed"), told))
        elif isinstance(self.start, Replay):
            background(self, partial(self.open_recording, self.start.path, as_replay=True), name="open")
        elif isinstance(self.start, Reviewing):
            self.show_review(self.start.path)
        else:
            self.start_run(self.start)

    def _handle_signals(self) -> None:
        """Through `signal` and not the loop: a handler must run even while a write to a terminal that is gone blocks the loop."""
        loop = asyncio.get_running_loop()

        def told(number: int, _frame: object) -> None:
            # A terminal that is gone may never take the last write. Then this ends us; the engine finishes its recording by itself.
            last = threading.Timer(LAST_WORDS_S, os._exit, (128 + number,))
            last.daemon = True
            last.start()
            loop.call_soon_threadsafe(self._ended_by, number)

        for number in (signal.SIGTERM, signal.SIGHUP):
            try:
                signal.signal(number, told)
            except ValueError:
                return  # not the main thread

    def _ended_by(self, number: int) -> None:
        self._code = 128 + number
        self.exit(self._code, return_code=self._code)

    # --- going from screen to screen ---------------------------------------------------------------------------------------------------

    def start_run(self, command: Run) -> None:
        """Show the live screen of a new run."""
        self.push_screen(self._live_screen(command))

    def _live_screen(self, command: Run) -> LiveScreen:
        """The screen of a run; a person at the microphone has keys of their own on it, and so has a director."""
        if command.caller == "microphone":
            from apex_tui.tui.screen_person import PersonScreen

            return PersonScreen(command, self.sources.link())
        if not command.virtual:
            from apex_tui.tui.screen_director import DirectorScreen

            return DirectorScreen(command, self.sources.link())
        from apex_tui.tui.screen_live import LiveScreen

        return LiveScreen(command, self.sources.link())

    def restart(self, command: Run) -> None:
        """The same run once more, in presenter mode, in place of the screen in front."""
        screen = self._live_screen(command)
        screen.add_class("-present")
        self.switch_screen(screen)

    async def rerun(self, path: Path, screen: ApexScreen) -> None:
        """Run what a recording holds again: the same workflow, seed and agent."""
        from apex_tui.timeline.view import SessionView

        try:
            recording = await asyncio.to_thread(self.sources.open, path)
        except ApexError as error:
            self._refuse(str(error), error.exit_code)
            return
        if recording.rest is not None:
            recording.rest.close()
        begun = SessionView.fold(recording.events).state  # what is asked for stands at the beginning
        screen.run_again(run_again(begun))

    def _read(self, path: Path, whole: bool) -> tuple[Recording, Player]:
        """Open and fold a recording. The collector would walk through every event again and again meanwhile."""
        from apex_tui.timeline.log import MAX_EVENTS
        from apex_tui.tui.player import Player

        if self._tune:
            gc.disable()
        try:
            recording = self.sources.open(path)
            if recording.rest is not None and whole:
                recording.rest.read(MAX_EVENTS)
            return recording, Player(recording.events)
        finally:
            if self._tune:
                gc.enable()

    async def open_recording(self, path: Path, as_replay: bool = False, at_failure: bool = False) -> None:
        """Open a recorded session: its scorecard when it has one, else (or when asked) its replay, at its failing moment when asked."""
        from apex_tui.tui.render_score import read_score
        from apex_tui.tui.screen_replay import ReplayScreen
        from apex_tui.tui.screen_score import ScoreScreen

        try:
            recording, player = await asyncio.to_thread(self._read, path, at_failure or not as_replay)
        except ApexError as error:
            self._refuse(str(error), error.exit_code)
            return
        try:
            stored = recording.score if recording.own_workflow else None  # by another workflow nothing is judged
            score = read_score(stored) if stored is not None else None
        except ApexError:
            score = None  # the log is what counts: it is replayed without a verdict
        if score is not None and not as_replay:
            self.push_screen(ScoreScreen(score, recording.events, recording.workflow, recording.folder.path))
        else:
            begin = failing_ms(score, recording.events) if at_failure else None
            told = (recording.problem, recording.workflow, begin, player, recording.rest, recording.folder.path)
            self.push_screen(ReplayScreen(recording.events, score, *told))
        if self._tune:
            gc.freeze()  # a recording never changes: no collection need look at it

    def _refuse(self, sentence: str, code: int) -> None:
        front = next((screen for screen in reversed(self.screen_stack) if isinstance(screen, ApexScreen)), None)
        if front is not None:  # a dialog may lie above it
            front.say(sentence, "bad")
        else:
            self.exit(code, return_code=code, message=Text(plain(sentence)))

    def show_verdict(self, score: Score, events: Sequence[Event], folder: str | None, live: LiveScreen) -> None:
        """A run was scored: its scorecard comes up by itself when the live screen is the one in front."""
        from apex_tui.tui.screen_score import ScoreScreen

        if self.screen is live:
            self.push_screen(
                ScoreScreen(score, list(events), live.panes.drifts.workflow, Path(folder) if folder else None)
            )

    def show_score(
        self, score: Score, events: Sequence[Event], workflow: Workflow | None = None, folder: Path | None = None
    ) -> None:
        """A scorecard."""
        from apex_tui.tui.screen_score import ScoreScreen

        below = self._below()
        if isinstance(below, ScoreScreen) and below.score is score:
            self.pop_screen()  # this replay was opened from it
        else:
            self.push_screen(ScoreScreen(score, events, workflow, folder))

    def show_replay(
        self,
        events: Sequence[Event],
        score: Score | None,
        workflow: Workflow | None = None,
        at_failure: bool = False,
        folder: Path | None = None,
    ) -> None:
        """A replay, at the failing moment when asked."""
        from apex_tui.tui.screen_replay import ReplayScreen

        begin = failing_ms(score, events) if at_failure else None
        below = self._below()
        if isinstance(below, ReplayScreen) and below.score is score:  # this scorecard was opened from it
            self.pop_screen()
            below.went_to(begin)
        else:
            self.push_screen(ReplayScreen(events, score, None, workflow, begin, folder=folder))

    def _below(self) -> Screen[object] | None:
        """The screen that the one in front covers."""
        return self.screen_stack[-2] if len(self.screen_stack) > 1 else None

    def show_review(self, folder: Path) -> None:
        """The review of a call at the microphone."""
        from apex_tui.tui.screen_review import ReviewScreen

        self.push_screen(ReviewScreen(folder))

    def look_back(self, player: Player, live: LiveScreen, ms: float, told: str) -> None:
        """What a run holds so far, at one of its moments."""
        from apex_tui.tui.screen_replay import ReplayScreen

        folder = Path(live.folder) if live.folder else None
        workflow = live.panes.drifts.workflow
        screen = ReplayScreen(player.events, live.score, None, workflow, ms, player, folder=folder)
        screen.greeting = told
        self.push_screen(screen)

    def leave(self) -> None:
        """Back to the screen before; out of the app from the first one."""
        code = self.exit_status()
        if not self.leads_back():
            self.exit(code, return_code=code)
            return
        for _ in range(self._going()):
            self.pop_screen()

    def leads_back(self) -> bool:
        """Whether `leave` shows another screen; else it ends the app."""
        return sum(isinstance(s, ApexScreen) for s in self.screen_stack) > self._going()

    def _going(self) -> int:
        """How many screens `leave` takes away: with its scorecard goes the run that came to its end; the replay shows all of it."""
        screens = [s for s in self.screen_stack if isinstance(s, ApexScreen)]
        if len(screens) < 2 or screens[-1].NAME != "SCORECARD":
            return 1
        from apex_tui.tui.screen_live import LiveScreen

        below = screens[-2]
        return 2 if isinstance(below, LiveScreen) and not below.live and not below.presenting else 1

    def exit_status(self) -> int:
        """The exit code so far: that of the run the app was started for, else 0."""
        if not isinstance(self.start, Picker | Replay | Reviewing):
            from apex_tui.tui.screen_live import LiveScreen

            live = [s for s in self.screen_stack if isinstance(s, LiveScreen)]
            if live:
                self._code = EXIT_OK if live[0].live else live[0].exit_code
        return self._code

    def on_key(self, event: Key) -> None:
        """A field's, before it is a command."""
        if isinstance(self.focused, Entry) and self.focused.takes(event):
            event.prevent_default()

    def action_leave_now(self) -> None:
        """ctrl+q: the same question as q, from wherever."""
        from apex_tui.tui.screen_live import LiveScreen

        live = next((s for s in self.screen_stack if isinstance(s, LiveScreen) and s.live), None)
        if live is not None and self.screen is live:
            live.action_leave()
            return
        code = self.exit_status()
        self.exit(code, return_code=code)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every key of the screen as a command with its key, then Textual's own (theme, quit, keys)."""
        if isinstance(screen, ApexScreen):
            for key in (*screen.keys(), *EVERYWHERE):
                if key.id != "palette":
                    yield SystemCommand(key.help, f"key {key.label}", partial(screen.run_action, key.action))
        for command in super().get_system_commands(screen):
            if command.title not in NOT_OURS:
                yield command


def _settle_collector() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


def run_app(start: Start | None = None, settings: Settings | None = None, sources: Sources | None = None) -> int:
    """Run the app on this terminal until it is left; returns the exit code (decision 22; 128+n after a signal).

    Without ``settings`` those of the file and the environment hold; without ``sources`` the picker knows the rehearsal agent alone.

    Raises:
        UserError: the settings cannot be used.
    """
    if settings is None:
        settings = load_settings(actions=action_ids())
        check_keymap(settings.keymap, config_path())
    os.environ.pop("NO_COLOR", None)  # Textual's own answer to it are greys
    gc.disable()  # a start makes objects that stay: looking for garbage among them is a tenth of it; `_settle_collector` ends this
    try:
        app = ApexApp(start, sources=sources, settings=settings, tune_collector=True)
        app.driver_class = OwnTerminal
        app.run(mouse=settings.flag("mouse"))
    finally:
        gc.enable()
    return EXIT_FAILED if app.return_code is None else app.return_code  # None: a fault of ours, that Textual has shown
