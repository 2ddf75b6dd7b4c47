"""Agents as the picker knows them: a card each, handed in from outside. Pure.

In here: the card, the two agents that are known without any list, what a typed name means, and the filter. Deliberately not in here: which
agents exist. That is told by ``Sources.agents``, which the command line fills: the screen does not import agents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apex_tui.tui.plain import plain

LONGEST_NAME = 200
"""Characters of a typed name."""
_REHEARSAL = "rehearsal"


@dataclass(frozen=True, slots=True)
class AgentCard:
    """One agent to choose. ``needs_url``: it has no address of its own; ``rehearsal``: it knows the solution.

    ``note``: what is known of its keys, never a key; ``ready``: False when the note says why it cannot run here.
    """

    name: str
    about: str
    needs_url: bool = False
    rehearsal: bool = False
    note: str = ""
    ready: bool = True


REHEARSAL_CARD = AgentCard(
    _REHEARSAL, "knows the solution: it tests the instrument and is never ranked", rehearsal=True
)
"""What the picker begins with."""
URL_CARD = AgentCard("realtime", "any server that speaks the OpenAI realtime protocol", needs_url=True)
"""What a typed address alone means."""


def card_for(name: str, cards: Sequence[AgentCard] = ()) -> AgentCard:
    """The card of that name, or one for the name as it was typed (``rehearsal:stop=600``): the engine says whether there is such an agent."""
    name = plain(name, LONGEST_NAME).strip()
    known = next((card for card in (*cards, REHEARSAL_CARD, URL_CARD) if card.name == name), None)
    if known is not None:
        return known
    rehearsal = name.startswith(f"{_REHEARSAL}:")
    what = "its manner" if rehearsal else "an agent"
    return AgentCard(name, f"{what} as typed; what is wrong with it is said when the run begins", rehearsal=rehearsal)


def kind_word(card: AgentCard) -> str:
    """What sort of agent it is, for the list: rehearsal agents are told apart from all others."""
    return "scripted" if card.rehearsal else "by URL" if card.needs_url else ""


def fitting(cards: Sequence[AgentCard], words: str) -> list[AgentCard]:
    """The cards that hold every word; names that are or begin with what was typed come first, then names that hold it."""
    typed = words.casefold().strip()
    found = [card for card in cards if all(word in _hay(card) for word in typed.split())]

    def rank(card: AgentCard) -> int:
        name = card.name.casefold()
        return 0 if name == typed else 1 if name.startswith(typed) else 2 if typed in name else 3

    return sorted(found, key=rank)


def _hay(card: AgentCard) -> str:
    return f"{card.name} {card.about} {kind_word(card)}".casefold()
