"""The list of agents: type to filter, enter to choose. What is not in the list is taken as typed. Returns a card; escape: None."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from rich.text import Text
from textual.content import Content

from apex_tui.timeline.errors import ApexError
from apex_tui.tui.agent_cards import LONGEST_NAME, REHEARSAL_CARD, AgentCard, card_for, fitting, kind_word
from apex_tui.tui.background import background
from apex_tui.tui.dialog_list import ListDialog
from apex_tui.tui.lines import fit, pad, row, wrap
from apex_tui.tui.plain import plain

_NAME_CELLS, _KIND_CELLS = 44, 9
_HINT = "Type to filter, or type a manner such as rehearsal:stop=600,answer=1200."


class AgentScreen(ListDialog[AgentCard]):
    """Choose an agent. ``load`` makes the list in a thread of its own: it may have much to import."""

    def __init__(self, load: Callable[[], Sequence[AgentCard]], chosen: str) -> None:
        super().__init__("agent", "filter, or a name", LONGEST_NAME)
        self._load_cards = load
        self._chosen = chosen
        self._loading = True
        self._entered = False
        self.cards: list[AgentCard] = [REHEARSAL_CARD]
        self._told = ("reading the list of agents ...", "quiet")

    def on_mount(self) -> None:
        """Show what is known, and ask for the rest."""
        self.frame.border_title = Content("agents")
        self.fill()
        background(self, self._load, name="agents-load")

    async def _load(self) -> None:
        try:
            self.cards = list(await asyncio.to_thread(self._load_cards)) or self.cards
            self._told = (_HINT, "quiet")
        except ApexError as error:
            self._told, self._entered = (str(error), "bad"), False
        self._loading = False
        self.fill()
        self.told.reload()
        if self._entered:
            super().choose()

    def fitting(self, typed: str) -> tuple[list[AgentCard], int]:
        """The agents that fit; a name that is none of them stands last, as typed."""
        shown = fitting(self.cards, typed)
        if typed and all(card.name != typed for card in self.cards):
            shown.append(card_for(typed))
        names = [card.name for card in shown]
        return shown, names.index(self._chosen) if not typed and self._chosen in names else 0

    def rows(self, shown: Sequence[AgentCard]) -> list[str]:
        """Name, kind, and what it does."""
        lead = min(_NAME_CELLS, max((len(card.name) for card in shown), default=0))
        return [_line(card, lead) for card in shown]

    def told_lines(self, width: int) -> list[Text]:
        """What the marked one does, and what went wrong."""
        sentence, role = self._told
        if role == "bad" or self.marked is None:
            return wrap(row((plain(sentence, 400), role)), width)
        return [fit(row(plain(self.marked.about, 300)), width), fit(row((sentence, role)), width)]

    def choose(self) -> None:
        """The marked agent. While the list is being read it waits: half a name would be taken for a whole one."""
        if self._loading:
            self._entered = True
        else:
            super().choose()


def _line(card: AgentCard, lead: int) -> str:
    """Name (in ``lead`` cells), kind, and what it does; the list cuts what has no room."""
    name = pad(plain(card.name, LONGEST_NAME), lead)
    return f"{name}  {pad(kind_word(card), _KIND_CELLS)} {plain(card.about, 300)}".rstrip()
