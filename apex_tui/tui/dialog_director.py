"""What a director has the caller say: every utterance of the bank, to search by its words, its act or its name. Returns its plan; escape: None."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.text import Text
from textual.content import Content
from textual.events import Resize

from apex_tui.tui.dialog_list import ListDialog
from apex_tui.tui.lines import fit, pad, row
from apex_tui.tui.plain import plain
from apex_tui.tui.widgets.body import TALL, WIDE
from apex_tui.tui.words import counted
from apex_tui.workflow.utterances import Utterance

_LONGEST = 200
_ACT_CELLS = 16
_WIDE_ABOVE, _COMPACT_ABOVE = 15, 8
"""Rows of the live screen down to the floor: title, status, the director's, band, lanes."""
_FRAME, _LEAST = 5, 10
"""Rows of the dialog that are not list, and the fewest that it has."""


class UtteranceScreen(ListDialog[Utterance]):
    """Choose an utterance. ``said``: plans that were spoken; ``following``: the one that the script says next."""

    def __init__(self, spoken: Sequence[Utterance], said: Collection[str], following: str | None) -> None:
        super().__init__("utterance", "words, act or name", _LONGEST)
        self._spoken, self._said, self._following = spoken, said, following

    def on_mount(self) -> None:
        """All of them; the one that is due is marked."""
        voice = plain(self._spoken[0].voice, 40) if self._spoken else "none"
        self.frame.border_title = Content(f"say now · voice {voice} · {counted(len(self._spoken), 'utterance')}")
        self.fill()

    def on_resize(self, event: Resize) -> None:
        """No higher than what it lists, and below the band and the floor: a director chooses the moment too."""
        above = _WIDE_ABOVE if event.size.width >= WIDE and event.size.height >= TALL else _COMPACT_ABOVE
        self.frame.styles.height = min(len(self._spoken) + _FRAME, max(_LEAST, event.size.height - above - 1))

    def fitting(self, typed: str) -> tuple[list[Utterance], int]:
        """Those that hold every word that was typed."""
        words = typed.casefold().split()
        shown = [u for u in self._spoken if all(word in _hay(u) for word in words)]
        plans = [u.plan for u in shown]
        return shown, plans.index(self._following) if not typed and self._following in plans else 0

    def rows(self, shown: Sequence[Utterance]) -> list[str]:
        """Said already or next, the act, the words."""
        return [f"{self._mark(u)} {pad(act_word(u), _ACT_CELLS)} {plain(u.text, 300)}" for u in shown]

    def told_lines(self, width: int) -> list[Text]:
        """Name, facts and floor of the marked one."""
        utterance = self.marked
        if utterance is None:
            return [fit(row(("nothing fits: escape closes, backspace takes a letter back", "warn")), width), Text("")]
        facts = ", ".join(utterance.action.facts) if utterance.action is not None else ""
        parts = [plain(utterance.plan, 60), f"tells {plain(facts, 120)}" if facts else "tells no facts"]
        if utterance.plan in self._said:
            parts.append("said already")
        if utterance.plan == self._following:
            parts.append("the script's next words")
        how = "spoken beside the agent's speech" if utterance.aside else "interrupts the agent when it speaks"
        return [fit(row(" · ".join(parts)), width), fit(row((f"enter says it now; it {how}", "quiet")), width)]

    def _mark(self, utterance: Utterance) -> str:
        return "→" if utterance.plan == self._following else "✓" if utterance.plan in self._said else " "


def act_word(utterance: Utterance) -> str:
    """The act in small letters: ``opening request``."""
    return utterance.act.replace("_", " ").lower()


def _hay(utterance: Utterance) -> str:
    return f"{utterance.plan} {act_word(utterance)} {utterance.text}".casefold()
