"""What all screens share: title row, banner, key line, help, screenshot, and one sentence when there is no room."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from apex_tui.timeline.errors import ApexError
from apex_tui.tui.again import asked_first
from apex_tui.tui.keys import EVERYWHERE, Key, bindings
from apex_tui.tui.lines import fit, row, wrap
from apex_tui.tui.pictures import self_contained
from apex_tui.tui.plain import plain
from apex_tui.tui.render_rows import keys_line, line_of_keys
from apex_tui.tui.widgets.painted import CLASSES, FixedLines, Pane
from apex_tui.tui.widgets.prompt import Prompt
from apex_tui.tui.words import counted

if TYPE_CHECKING:
    from apex_tui.timeline.messages import Run
    from apex_tui.tui.app import ApexApp

LEAST_COLUMNS, LEAST_ROWS = 60, 20

MOST_BANNER_LINES = 4
SAID_S = 10.0
"""How long a sentence above the key line stays."""


class ApexScreen(Screen[None]):
    """Base of the four screens. Subclasses set ``KEYS`` and ``BINDINGS``, and yield their body in `body`."""

    KEYS: ClassVar[tuple[Key, ...]] = ()
    NAME: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = bindings(EVERYWHERE)
    AUTO_FOCUS = ""
    COMPONENT_CLASSES = CLASSES

    def __init__(self) -> None:
        super().__init__()
        self.title_row = FixedLines(id="title")
        self.banner = FixedLines(id="banner")
        self.key_row = FixedLines(id="keys")
        self.room_row = FixedLines(id="room")
        self.prompt = Prompt()
        self._banner = ("", "quiet")
        self._hush: Timer | None = None
        self.title_row.source = lambda width: (self.title_line(width),)
        self.key_row.source = lambda width: (keys_line(self.key_words(), width),)
        self.banner.source = self._banner_lines
        self.room_row.source = self._room

    @property
    def apex(self) -> ApexApp:
        """The app, by its own type."""
        return cast("ApexApp", self.app)

    def compose(self) -> ComposeResult:
        """Title, body, banner, keys; and the sentence that replaces them all when there is no room."""
        yield self.title_row
        yield from self.body()
        yield self.banner
        yield self.prompt
        yield self.key_row
        yield self.room_row

    def body(self) -> Sequence[Widget]:
        """The widgets between title and banner."""
        return ()

    def title_line(self, width: int) -> Text:
        """The title row."""
        return fit(row((f" {self.NAME}", "head")), width)

    def key_words(self) -> list[tuple[str, str]]:
        """The key line: the screen's own keys as far as there is room, and how to find the others and to get out."""
        keymap = self.apex.settings.keymap
        own = self.own_words() or [(keymap.get(k.id, k.shown), k.word) for k in self.keys() if k.word]
        everywhere = {k.id: (keymap.get(k.id, k.shown), k.word) for k in EVERYWHERE if k.word}
        out = (everywhere["quit"][0], "back" if self.apex.leads_back() else "quit")
        return line_of_keys(own, everywhere["help"], everywhere["palette"], out, self.size.width or 80)

    def keys(self) -> tuple[Key, ...]:
        """The screen's keys that do something now."""
        return self.KEYS

    def own_words(self) -> list[tuple[str, str]]:
        """Keys to show instead of the table's; empty: the table's."""
        return []

    def _banner_lines(self, width: int) -> tuple[Text, ...]:
        """The sentence, whole: where a recording lies or a way out must not be cut off."""
        return tuple(
            wrap(row((f" {self._banner[0]}", self._banner[1])), width)[
                : 1 if self.has_class("-tiny") else MOST_BANNER_LINES
            ]
        )

    def _fit_banner(self) -> None:
        self.banner.styles.height = max(1, len(self._banner_lines(self.app.size.width)))

    def say(self, sentence: str, role: str = "quiet", stays: bool = False) -> None:
        """Show one sentence above the key line; an empty one takes it away, and so do `SAID_S` unless it is bad news or ``stays``."""
        if self._hush is not None:
            self._hush.stop()
        self._hush = None if not sentence or stays or role == "bad" else self.set_timer(SAID_S, partial(self.say, ""))
        found = (plain(sentence, 400), role)
        if found != self._banner:
            self._banner = found
            self._fit_banner()
            self.banner.set_class(bool(sentence), "-on")
            self.banner.reload()

    def action_copy_text(self) -> None:
        """ctrl+c copies what is selected; without that it is pressed to leave, and is answered with the keys that do."""
        if self.get_selected_text() is not None:
            super().action_copy_text()
            return
        keymap = self.apex.settings.keymap
        back = "goes back" if self.apex.leads_back() else "quits"
        self.say(
            f"ctrl+c ends nothing here: {keymap.get('quit', 'q')} {back}, {keymap.get('quit-now', 'ctrl+q')} leaves the app"
        )

    def on_resize(self, event: Resize) -> None:
        """Below 60x20 nothing of use fits: ask for room, and go on."""
        self.set_class(event.size.width < LEAST_COLUMNS or event.size.height < LEAST_ROWS, "-tiny")
        self._fit_banner()
        self.key_row.reload()

    def _room(self, width: int) -> list[Text]:
        size = self.app.size
        text = Text(
            f"This window has {size.width}x{size.height} cells: please make it at least 60x20. Everything goes on."
        )
        return list(text.wrap(self.app.console, max(8, width)))

    def action_help(self) -> None:
        """Help for this screen."""
        from apex_tui.tui.dialogs import HelpScreen

        files = (("log", str(self.apex.sources.log_file())), ("settings", str(self.apex.sources.config_file())))
        self.app.push_screen(HelpScreen(self.NAME, (*self.keys(), *EVERYWHERE), self.apex.settings.keymap, files))

    def run_again(self, command: Run | str) -> None:
        """Run what a recording holds; an address in it is asked about first. A text says why it cannot be run."""
        if isinstance(command, str):
            self.say(command, "warn")
            return
        question = asked_first(command)
        if question is None:
            self.apex.start_run(command)
            return
        from apex_tui.tui.dialogs import AskScreen

        def answered(answer: str | None) -> None:
            if answer is not None:
                self.apex.start_run(command)

        self.app.push_screen(AskScreen(question, (("y", "run it there", "run"),)), answered)

    def action_leave(self) -> None:
        """Back to the screen before, or out."""
        self.apex.leave()

    def action_shot(self) -> None:
        """Save an SVG of the screen and say where."""
        try:
            path = self._free_name(self.apex.sources.state_folder() / "screenshots")
            path.write_text(self_contained(self.app.export_screenshot()), encoding="utf-8")
        except (OSError, ApexError) as error:
            self.say(f"the screenshot could not be written: {getattr(error, 'strerror', None) or error}", "bad")
            return
        self.say(f"screenshot saved to {path}", "good")

    def text_in_front(self) -> str:
        """What `y` copies when nothing is selected: the pane that has the keys, else the first one."""
        focused = self.focused
        pane = focused if isinstance(focused, Pane) else next(iter(self.query(Pane)), None)
        return "" if pane is None else pane.all_text()

    def action_copy(self) -> None:
        """Copy to the terminal's clipboard (OSC 52; some terminals ignore it) and to a file, and say so."""
        text = self.get_selected_text() or self.text_in_front()
        if not text.strip():
            self.say("there is nothing to copy here")
            return
        self.app.copy_to_clipboard(text)
        try:
            path = self.apex.sources.state_folder() / "copied.txt"
            path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        except (OSError, ApexError) as error:
            why = getattr(error, "strerror", None) or error
            self.say(f"sent to the terminal's clipboard; the file could not be written: {why}", "warn")
            return
        self.say(
            f"{counted(len(text.splitlines()), 'line')} sent to the terminal's clipboard and saved to {path}", "good"
        )

    def _free_name(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1
        while (path := folder / f"{self.NAME.lower()}-{number}.svg").exists():
            number += 1
        return path
