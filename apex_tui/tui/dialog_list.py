"""A list to search: type to filter, arrows move, enter chooses. What the list holds, and what is said below it, is up to the subclass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from apex_tui.tui.plain import plain
from apex_tui.tui.widgets.painted import CLASSES, FixedLines
from apex_tui.tui.widgets.prompt import Entry

T = TypeVar("T")


class ListDialog(ModalScreen[T | None], Generic[T]):
    """One entry, one list, two lines below it. ``name`` makes the ids (``name-words``, ``names``, ``names-told``). Escape: None."""

    COMPONENT_CLASSES = CLASSES
    AUTO_FOCUS = ".list-words"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", show=False, id="agents-close"),
        Binding("up", "walk('cursor_up')", "Up", show=False, id="agents-up"),
        Binding("down", "walk('cursor_down')", "Down", show=False, id="agents-down"),
        Binding("pageup", "walk('page_up')", "A page up", show=False, id="agents-page-up"),
        Binding("pagedown", "walk('page_down')", "A page down", show=False, id="agents-page-down"),
    ]

    def __init__(self, name: str, placeholder: str, longest: int) -> None:
        super().__init__()
        self._longest = longest
        self.shown: list[T] = []
        self.frame = Vertical(id="dialog", classes="-list")
        self.entry = Entry(
            "", id=f"{name}-words", classes="list-words", placeholder=placeholder, max_length=longest, compact=True
        )
        self.entry.cursor_blink = False  # while nothing is typed nothing is repainted
        self.options = OptionList(id=f"{name}s", classes="list-rows", markup=False)
        self.options.can_focus = False  # the keys belong to the entry; arrows and enter are passed on
        self.told = FixedLines(id=f"{name}s-told", classes="list-told")
        self.told.source = self.told_lines

    # --- the subclass's part -------------------------------------------------------------------------------------------------------

    def fitting(self, typed: str) -> tuple[list[T], int]:
        """What fits the words that were typed, and the number of the row that is marked."""
        raise NotImplementedError

    def rows(self, shown: Sequence[T]) -> list[str]:
        """Each of them on one line; the list cuts what has no room."""
        raise NotImplementedError

    def told_lines(self, width: int) -> list[Text]:
        """Two lines about the marked one."""
        raise NotImplementedError

    # --- the list ------------------------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Entry, list, two lines."""
        with self.frame:
            yield self.entry
            yield self.options
            yield self.told

    @property
    def typed(self) -> str:
        """What was typed, as one clean line."""
        return plain(self.entry.value, self._longest).strip()

    @property
    def marked(self) -> T | None:
        """The marked one."""
        number = self.options.highlighted
        return self.shown[number] if number is not None and number < len(self.shown) else None

    def fill(self) -> None:
        """Show what fits."""
        self.shown, marked = self.fitting(self.typed)
        self.options.clear_options()
        self.options.add_options([Option(Content(line)) for line in self.rows(self.shown)])
        self.frame.border_subtitle = Content(f"{len(self.shown)} · ↑↓ · enter choose · escape close")
        self.options.highlighted = marked if self.shown else None
        self.told.reload()

    def choose(self) -> None:
        """Close with the marked one."""
        if self.marked is not None:
            self.dismiss(self.marked)

    def action_walk(self, step: str) -> None:
        """Move in the list while the entry has the keys."""
        getattr(self.options, f"action_{step}")()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what the marked one is: the list may have cut it."""
        event.stop()
        self.told.reload()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The list follows the typing."""
        event.stop()
        self.fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.choose()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self.options.highlighted = event.option_index
        self.choose()
