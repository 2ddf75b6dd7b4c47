"""Audio that an agent went on sending for a reply that was over or cut off: dropped, and told once a second, not per packet."""

from __future__ import annotations

from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.agent_facts import LateDropped


class LateTally:
    """Sums by reply."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._news: set[str] = set()

    def more(self, reply: str, ms: float) -> None:
        """``ms`` more of a reply were dropped."""
        self._sums[reply] = self._sums.get(reply, 0.0) + ms
        self._news.add(reply)

    def report(self, wiring: Wiring) -> None:
        """Put what is new on the timeline."""
        for reply in sorted(self._news):
            fact = LateDropped(reply=reply, dropped_ms=round(self._sums[reply], 3))
            wiring.emit(fact, (wiring.reply_seq.get(reply),))
        self._news.clear()
