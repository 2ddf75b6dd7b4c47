"""The list of agents: type to filter, enter to choose. What is not in the list is taken as typed. Returns a card; escape: None."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from apex_tui.timeline.errors import ApexError
from apex_tui.tui.agent_cards import LONGEST_NAME, REHEARSAL_CARD, AgentCard, card_for, fitting, kind_word
from apex_tui.tui.lines import fit, pad, row, wrap
from apex_tui.tui.plain import plain
from apex_tui.tui.widgets.painted import CLASSES, FixedLines

_NAME_CELLS, _KIND_CELLS = 44, 9
_HINT = "Type to filter, or type a manner such as rehearsal:stop=600,answer=1200."


class AgentScreen(ModalScreen[AgentCard | None]):
    """Choose an agent. ``load`` makes the list in a thread of its own: it may have much to import."""

    COMPONENT_CLASSES = CLASSES
    AUTO_FOCUS = "#agent-words"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", show=False, id="agents-close"),
        Binding("up", "walk('cursor_up')", "Up", show=False, id="agents-up"),
        Binding("down", "walk('cursor_down')", "Down", show=False, id="agents-down"),
        Binding("pageup", "walk('page_up')", "A page up", show=False, id="agents-page-up"),
        Binding("pagedown", "walk('page_down')", "A page down", show=False, id="agents-page-down"),
    ]

    def __init__(self, load: Callable[[], Sequence[AgentCard]], chosen: str) -> None:
        super().__init__()
        self._load_cards = load
        self._chosen = chosen
        self._loading = True
        self._entered = False
        self.cards: list[AgentCard] = [REHEARSAL_CARD]
        self._shown: list[AgentCard] = []
        self._told = ("reading the list of agents ...", "quiet")
        self.entry = Input("", id="agent-words", placeholder="filter, or a name", max_length=LONGEST_NAME, compact=True)
        self.entry.cursor_blink = False  # while nothing is typed nothing is repainted
        self.options = OptionList(id="agents", markup=False)
        self.options.can_focus = False  # the keys belong to the entry; arrows and enter are passed on
        self.told = FixedLines(id="agents-told")
        self.told.source = self._told_lines

    def compose(self) -> ComposeResult:
        """Entry, list, one sentence."""
        with Vertical(id="dialog", classes="-large"):
            yield self.entry
            yield self.options
            yield self.told

    def on_mount(self) -> None:
        """Show what is known, and ask for the rest."""
        self.options.border_title = Content("agents")
        self._fill()
        self.run_worker(self._load(), name="agents-load")

    async def _load(self) -> None:
        try:
            self.cards = list(await asyncio.to_thread(self._load_cards)) or self.cards
            self._told = (_HINT, "quiet")
        except ApexError as error:
            self._told, self._entered = (str(error), "bad"), False
        self._loading = False
        self._fill()
        self.told.reload()
        if self._entered:
            self._choose(self.options.highlighted)

    @property
    def typed(self) -> str:
        """What was typed, as one clean line."""
        return plain(self.entry.value, LONGEST_NAME).strip()

    def _fill(self) -> None:
        """The agents that fit; a name that is none of them stands last, as typed."""
        typed = self.typed
        self._shown = fitting(self.cards, typed)
        if typed and all(card.name != typed for card in self.cards):
            self._shown.append(card_for(typed))
        self.options.clear_options()
        lead = min(_NAME_CELLS, max((len(card.name) for card in self._shown), default=0))
        self.options.add_options([Option(Content(_line(card, lead))) for card in self._shown])
        self.options.border_subtitle = Content(f"{len(self._shown)} · ↑↓ · enter choose · escape close")
        names = [card.name for card in self._shown]
        self.options.highlighted = names.index(self._chosen) if not typed and self._chosen in names else 0

    def _told_lines(self, width: int) -> list[Text]:
        sentence, role = self._told
        marked = self.options.highlighted
        if role == "bad" or marked is None or marked >= len(self._shown):
            return wrap(row((plain(sentence, 400), role)), width)
        return [fit(row(plain(self._shown[marked].about, 300)), width), fit(row((sentence, role)), width)]

    def action_walk(self, step: str) -> None:
        """Move in the list while the entry has the keys."""
        getattr(self.options, f"action_{step}")()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what the marked one does: the list may have cut it."""
        event.stop()
        self.told.reload()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The list follows the typing."""
        event.stop()
        self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: the marked agent. While the list is being read it waits: half a name would be taken for a whole one."""
        event.stop()
        if self._loading:
            self._entered = True
        else:
            self._choose(self.options.highlighted)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click on an agent."""
        event.stop()
        self._choose(event.option_index)

    def _choose(self, number: int | None) -> None:
        if number is not None and number < len(self._shown):
            self.dismiss(self._shown[number])


def _line(card: AgentCard, lead: int) -> str:
    """Name (in ``lead`` cells), kind, and what it does; the list cuts what has no room."""
    name = pad(plain(card.name, LONGEST_NAME), lead)
    return f"{name}  {pad(kind_word(card), _KIND_CELLS)} {plain(card.about, 300)}".rstrip()
