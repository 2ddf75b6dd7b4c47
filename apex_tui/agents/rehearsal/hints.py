"""Reading the declared side channel: ``rehearsal.hint`` events, which come from outside like everything else."""

from __future__ import annotations

from typing import Any

from apex_tui.agents.realtime.door import ident, text
from apex_tui.agents.seam import Hint

MOST_PAUSES = 100


def read_hint(message: dict[str, Any]) -> Hint | None:
    """The hint of a ``rehearsal.hint`` event, or None when it is none."""
    whole = [message.get("turn"), message.get("onset"), message.get("end")]
    if not all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 for value in whole):
        return None
    turn, onset, end = (int(value) for value in whole if value is not None)
    plan, act = ident(message.get("plan")), ident(message.get("act"))
    if not plan or end < onset:
        return None
    pauses = message.get("pauses")
    read = tuple(
        (pause[0], pause[1])
        for pause in (pauses[:MOST_PAUSES] if isinstance(pauses, list) else [])
        if isinstance(pause, list) and len(pause) == 2 and all(isinstance(edge, int) for edge in pause)
    )
    return Hint(turn, plan, act, text(message.get("text")), onset, end, read)
