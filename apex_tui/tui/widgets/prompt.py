"""One line at the bottom that asks for a few words: a search, a time, a filter. Hidden until it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from apex_tui.tui.lines import row
from apex_tui.tui.plain import plain
from apex_tui.tui.widgets.painted import FixedLines

LONGEST = 200


class Entry(Input):
    """A field that a key of its screen opens. What is typed in one go with that key comes to the app past the field, which had no keys yet: on
    the screen it would be a command, and could start a run.
    """

    _came: Key | None = None

    def on_key(self, event: Key) -> None:
        """Remember it: what the field has no use for goes on to the app."""
        self._came = event

    def takes(self, event: Key) -> bool:
        """Whether a key that came to the app is this field's, which had not had it."""
        if event is self._came:
            return False
        self._forward_event(Key(event.key, event.character))
        return True


class Prompt(Horizontal):
    """``ask`` shows it; enter answers, escape gives up. The answer is one clean line."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Give up", show=False, id="prompt-close")]

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self._label, self._longest = "", LONGEST
        self._answer: Callable[[str], None] = lambda _text: None
        self._change: Callable[[str], None] | None = None
        self._return: Widget | None = None
        self.words = FixedLines(classes="prompt-label")
        self.words.source = lambda _width: (row((f" {self._label} ", "head")),)
        self.entry = Entry(max_length=LONGEST, compact=True, select_on_focus=True, id="prompt-entry")

    def on_mount(self) -> None:
        """Label and entry come after the first paint: nobody sees them before a key is pressed."""
        self.call_after_refresh(self.mount, self.words, self.entry)

    def ask(
        self,
        label: str,
        answer: Callable[[str], None],
        value: str = "",
        change: Callable[[str], None] | None = None,
        *,
        longest: int = LONGEST,
    ) -> None:
        """Show it. ``answer`` is told what was entered, ``change`` every letter; neither gets more than ``longest`` characters."""
        self._longest = self.entry.max_length = longest
        self._label, self._answer, self._change = label, answer, change
        self._return = self.screen.focused
        self.entry.value = value
        self.add_class("-on")
        self.words.styles.width = len(label) + 2
        self.words.reload()
        if self.entry.is_attached:
            self.screen.set_focus(self.entry)  # at once: what is typed ahead comes behind it
        else:
            self.entry.focus()

    def _close(self) -> None:
        self.remove_class("-on")
        self._change = None
        back = self._return
        self.screen.set_focus(back if back is not None and back.is_attached else None)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Every letter, for filters that follow the typing."""
        event.stop()
        if self._change is not None:
            self._change(plain(event.value, self._longest))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self._close()
        self._answer(plain(event.value, self._longest).strip())

    def action_give_up(self) -> None:
        """Escape; a filter that followed the typing is emptied."""
        change = self._change
        self._close()
        if change is not None:
            change("")
