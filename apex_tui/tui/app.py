"""The Textual app: themes, screens, signals, exit codes. `run_app` is the only door; whether there is a terminal at all is the CLI's care."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.filter import LineFilter, NoColor
from textual.screen import Screen

from apex_tui.score.verdict import Score
from apex_tui.store.recording import Recording
from apex_tui.timeline.errors import EXIT_OK, ApexError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Run
from apex_tui.tui.keys import EVERYWHERE
from apex_tui.tui.plain import plain
from apex_tui.tui.render_score import read_score
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.screen_score import ScoreScreen
from apex_tui.tui.sources import Sources
from apex_tui.tui.themes import DARK, LIGHT

GC_THRESHOLDS = (50_000, 20, 50)
"""Measured: with the start-up's objects frozen and these, a full collection no longer shows as a stall."""


@dataclass(frozen=True, slots=True)
class Picker:
    """Begin with the picker."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Begin with the replay of a recorded session."""

    path: Path


Start = Picker | Replay | Run
"""What the app begins with: the picker, a recording, or a run."""


class Monochrome(LineFilter):
    """No colour at all: dim, bold, reverse and strike-through remain."""

    _colours = NoColor()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Take the colours out of the segments."""
        return [
            Segment(text, Style() if style is None else style, control)
            for text, style, control in self._colours.apply(segments, background)
        ]


class ApexApp(App[int]):
    """Screens over one engine. ``clock`` gives seconds; tests hand in their own, and their own ``sources``."""

    CSS_PATH = "apex.tcss"
    TITLE = "apex-tui"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave_now", "Quit", show=False, priority=True, id="quit-now"),
    ]

    def __init__(
        self,
        start: Start | None = None,
        *,
        sources: Sources | None = None,
        clock: Callable[[], float] | None = None,
        mono: bool = False,
        tune_collector: bool = False,
    ) -> None:
        self.mono = mono
        super().__init__()
        self.start: Start = start or Picker()
        self.sources = sources or Sources()
        self._clock = clock
        self._tune = tune_collector
        self._code = EXIT_OK
        self._mono_filters = [Monochrome()]
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name
        self.set_class(mono, "-mono")

    def clock(self) -> float:
        """Seconds of a monotonic clock."""
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """In monochrome nothing but `Monochrome` (Textual's own answer to NO_COLOR are greys)."""
        return self._mono_filters if self.mono else super().get_line_filters()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables for Textual's built-in themes, which do not know them."""
        dark = self.current_theme.dark
        return dict((DARK if dark else LIGHT).variables)

    def on_mount(self) -> None:
        """Signals first, then the first screen."""
        self._handle_signals()
        self._show_start()
        if self._tune:
            self.call_after_refresh(_settle_collector)

    def _show_start(self) -> None:
        if isinstance(self.start, Run):
            self.start_run(self.start)
        elif isinstance(self.start, Replay):
            self.run_worker(self.open_recording(self.start.path, as_replay=True), name="open")
        else:
            self.push_screen(PickerScreen())

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            try:
                loop.add_signal_handler(number, self._ended_by, int(number))
            except (NotImplementedError, RuntimeError, ValueError):
                return  # not the main thread, or a platform without signal handlers

    def _ended_by(self, number: int) -> None:
        self._code = 128 + number
        self.exit(self._code, return_code=self._code)

    # --- going from screen to screen ---------------------------------------------------------------------------------------------------

    def start_run(self, command: Run) -> None:
        """Show the live screen of a new run."""
        self.push_screen(LiveScreen(command, self.sources.link()))

    async def open_recording(self, path: Path, as_replay: bool = False) -> None:
        """Open a recorded session: its scorecard when it has one, else (or when asked) its replay."""
        try:
            recording = await asyncio.to_thread(self.sources.open, path)
            score = read_score(recording.score) if recording.score is not None else None
        except ApexError as error:
            self._refuse(str(error), error.exit_code)
            return
        if score is not None and not as_replay:
            self.push_screen(ScoreScreen(score, recording.events))
        else:
            self._replay(recording, score)
        gc.collect()

    def _replay(self, recording: Recording, score: Score | None) -> None:
        primary = recording.workflow.primary_artifact
        self.push_screen(ReplayScreen(recording.events, score, recording.problem, primary))

    def _refuse(self, sentence: str, code: int) -> None:
        if isinstance(self.screen, ApexScreen):
            self.screen.say(sentence, "bad")
        else:
            self.exit(code, return_code=code, message=Text(plain(sentence)))

    def show_verdict(self, score: Score, events: Sequence[Event], folder: str | None, live: LiveScreen) -> None:
        """A run was scored: its scorecard comes up by itself when the live screen is the one in front."""
        if self.screen is live:
            self.push_screen(ScoreScreen(score, list(events)))

    def show_score(self, score: Score, events: Sequence[Event]) -> None:
        """A scorecard."""
        self.push_screen(ScoreScreen(score, events))

    def show_replay(self, events: Sequence[Event], score: Score | None) -> None:
        """A replay."""
        self.push_screen(ReplayScreen(events, score))

    def leave(self) -> None:
        """Back to the screen before; out of the app from the first one."""
        code = self.exit_status()
        screens = [s for s in self.screen_stack if isinstance(s, ApexScreen)]
        if len(screens) > 1:
            self.pop_screen()
            return
        self.exit(code, return_code=code)

    def exit_status(self) -> int:
        """The exit code so far: that of the run the app was started for, else 0."""
        if isinstance(self.start, Run):
            live = [s for s in self.screen_stack if isinstance(s, LiveScreen)]
            if live:
                self._code = EXIT_OK if live[0].live else live[0].exit_code
        return self._code

    def action_leave_now(self) -> None:
        """ctrl+q: the same question as q, from wherever."""
        live = next((s for s in self.screen_stack if isinstance(s, LiveScreen) and s.live), None)
        if live is not None and self.screen is live:
            live.action_leave()
            return
        code = self.exit_status()
        self.exit(code, return_code=code)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every key of the screen as a command with its key, then Textual's own (theme, quit, keys)."""
        if isinstance(screen, ApexScreen):
            for key in (*screen.KEYS, *EVERYWHERE):
                if key.id != "palette":
                    yield SystemCommand(key.help, f"key {key.label}", _runner(screen, key.action))
        for command in super().get_system_commands(screen):
            if command.title not in ("Screenshot", "Quit"):
                yield command


def _runner(screen: ApexScreen, action: str) -> Callable[[], object]:
    return lambda: screen.run_action(action)


def _settle_collector() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def run_app(start: Start | None = None, *, mouse: bool = True, mono: bool | None = None) -> int:
    """Run the app on this terminal until it is left; returns the exit code (decision 22; 128+n after a signal).

    ``mono`` None: as ``NO_COLOR`` says (set and not empty).
    """
    no_colour = bool(os.environ.pop("NO_COLOR", "")) if mono is None else mono
    app = ApexApp(start, mono=no_colour, tune_collector=True)
    app.run(mouse=mouse)
    return app.return_code if app.return_code is not None else EXIT_OK
