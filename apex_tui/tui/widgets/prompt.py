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


class Prompt(Horizontal):
    """``ask`` shows it; enter answers, escape gives up. The answer is one clean line."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "Give up", show=False, id="prompt-close")]

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self._label, self._longest = "", LONGEST
        self._answer: Callable[[str], None] = lambda _text: None
        self._change: Callable[[str], None] | None = None
        self._return: Widget | None = None
        self._came: Key | None = None
        self.words = FixedLines(classes="prompt-label")
        self.words.source = lambda _width: (row((f" {self._label} ", "head")),)
        self.entry = Input(max_length=LONGEST, compact=True, select_on_focus=True, id="prompt-entry")

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

    def on_key(self, event: Key) -> None:
        """Remember what came through the entry."""
        self._came = event

    def takes(self, event: Key) -> bool:
        """Whether a key belongs here although the entry has not had it: it was typed in one go with the key that asked, before the entry had the
        keys. On the screen below it would be a command, and could start a run.
        """
        if not self.has_class("-on") or event is self._came:
            return False
        self.entry._forward_event(Key(event.key, event.character))
        return True

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
