"""Modal screens: help, a question with named answers, and the list of recorded sessions. Each returns a typed value; escape closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from apex_tui.tui import keys
from apex_tui.tui.lines import hanging, middle, row
from apex_tui.tui.plain import plain
from apex_tui.tui.render_help import definition_lines, glyph_lines
from apex_tui.tui.render_results import listing_line
from apex_tui.tui.widgets.painted import CLASSES, FixedLines, Pane

if TYPE_CHECKING:
    from apex_tui.store.listing import Listing


class HelpScreen(ModalScreen[None]):
    """Keys of one screen, the glyphs, and what each number means."""

    COMPONENT_CLASSES = CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "dismiss", "Close", show=False, id="help-close")
    ]

    def __init__(
        self,
        name: str,
        table: Sequence[keys.Key],
        keymap: Mapping[str, str] | None = None,
        files: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._keys = tuple(table)
        self._keymap = dict(keymap or {})
        self._files = tuple(files)
        self._about = name
        self.pane = Pane(9, f"help · {name.lower()}")
        self.pane.source = self._lines

    def compose(self) -> ComposeResult:
        """One scrolling pane."""
        with Vertical(id="dialog", classes="-large"):
            yield self.pane

    def on_mount(self) -> None:
        """Arrow keys scroll at once."""
        self.pane.set_titles(f"help · {self._about.lower()}", "↑↓ scroll · escape close")
        self.pane.focus()

    def _lines(self, width: int) -> list[Text]:
        lines = [row(("Keys", "head"))]
        for key in self._keys:
            label = self._keymap.get(key.id, key.label)
            lines += hanging(row("  ", (f"{label:<9} ", "strong")), row(key.help), width)
        lines += [Text(""), *glyph_lines(width), Text(""), *definition_lines(width)]
        if self._files:
            lines += [Text(""), row(("Files", "head"))]
        for name, path in self._files:
            lines += hanging(row("  ", (f"{name:<9} ", "strong")), row(plain(path, 400)), width)
        return lines


class AskScreen(ModalScreen[str | None]):
    """A question with named answers, each on its own key. ``answers``: (key, word, value). Escape: None.

    ``enter``: enter gives the first answer too. Not where somebody agrees to something: the enter of the screen before might still be held down.
    """

    COMPONENT_CLASSES = CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Do nothing", show=False, id="ask-close")]

    def __init__(self, question: str, answers: Sequence[tuple[str, str, str]], *, enter: bool = False) -> None:
        super().__init__()
        self._question = question
        self._answers = {key: (word, value) for key, word, value in answers}
        self._enter = answers[0][0] if enter else None
        self.lines = FixedLines(id="question")
        self.lines.source = self._draw

    def compose(self) -> ComposeResult:
        """The question and its answers."""
        with Vertical(id="dialog"):
            yield self.lines

    def on_resize(self, _event: Resize) -> None:
        """As high as the question needs."""
        self.lines.styles.height = len(self._draw(max(20, self.lines.size.width)))

    def _draw(self, width: int) -> list[Text]:
        lines = [*hanging(Text(""), row((plain(self._question, 500), "strong")), width), Text("")]
        for key, (word, _) in self._answers.items():
            keys = f"{key} enter" if key == self._enter else key
            lines += hanging(row("  ", (f"{keys:<8}", "strong")), row(word), width)
        return [*lines, row("  ", (f"{'escape':<8}", "strong"), "do nothing")]

    def on_key(self, event: Key) -> None:
        """One of the answers' keys closes the question with its value; it must not reach the screen below."""
        key = self._enter if event.key == "enter" and self._enter is not None else event.key
        if key in self._answers:
            event.stop()
            self.dismiss(self._answers[key][1])


class RecordingsScreen(ModalScreen[Path | None]):
    """The recorded sessions, newest first. Enter returns the folder."""

    COMPONENT_CLASSES = CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Close", show=False, id="list-close")]

    def __init__(self, rows: Sequence[Listing], where: str) -> None:
        super().__init__()
        self._rows = list(rows)
        self._where = where
        self.options = OptionList(id="recordings", markup=False)

    def compose(self) -> ComposeResult:
        """One list."""
        with Vertical(id="dialog", classes="-large"):
            yield self.options

    def on_mount(self) -> None:
        """Fill the list."""
        width = max(40, self.app.size.width * 96 // 100 - 6)  # the dialog's share, less border, padding and scrollbar
        where = plain(self._where, 1000)
        self.options.border_title = Content(f"recorded sessions in {middle(where, max(12, width - 24))}")
        if cell_len(where) > max(12, width - 24):
            self.options.add_option(Option(Content(where), disabled=True))  # whole: the list wraps it
        self.options.border_subtitle = Content("enter open · escape close")
        if not self._rows:
            self.options.add_option(Option(Content("No session was recorded here yet: enter on the picker runs one.")))
        lines = [listing_line(listing, width).plain for listing in self._rows]
        self.options.add_options(Option(Content(line), id=str(number)) for number, line in enumerate(lines))
        self.options.action_first()
        self.options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the folder of the chosen session."""
        self.dismiss(self._rows[int(event.option.id)].path if event.option.id is not None else None)
