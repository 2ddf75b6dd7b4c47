"""What the agent declared against what could be heard: both are kept, and a disagreement is a fact of its own (never a correction).

In here: a reply declared cancelled that sounds on; words declared spoken that made no sound; a caller heard where there was none; a caller
declared silent who speaks on. Deliberately not in here: how fast a true signal came (`barge_ins`, `answers`).
"""

from __future__ import annotations

from apex_tui.score.floor_state import KNOWN_AFTER_MS, Known, Measured, Reply, Turn
from apex_tui.timeline.agent_facts import AgentNoticed, StateDisagreed

SOUNDS_ON_MS = 300.0
"""A declared end may run ahead of the sound by this much."""
HEARD_BEFORE_MS = 1000.0
"""A detector may report a caller who fell silent this long ago."""
HEARD_AFTER_MS = 100.0
"""An agent that is told of the caller in advance may be this early."""


class Declared:
    """Holds every declaration until it can be compared."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._signals: list[tuple[float, str, int]] = []
        self._cancelled: list[Reply] = []

    def noticed(self, fact: AgentNoticed, at: float, seq: int) -> None:
        """The agent said that it heard the caller begin or end."""
        self._signals.append((at, fact.what, seq))

    def cancelled(self, reply: Reply) -> None:
        """The agent said that a reply is over."""
        self._cancelled.append(reply)

    def closed(self, reply: Reply, at: float, seq: int) -> list[Measured]:
        """Nothing more of a reply will be heard."""
        words = len(reply.text.split())
        silent = reply.first_audible is None and reply.closed is not None and reply.closed.how != "flushed"
        if not words or not silent or reply.status != "completed":
            return []
        fact = StateDisagreed(declared=f"spoke {words} words", audible="nothing was heard", at_ms=at, reply=reply.id)
        return [Measured(fact, tuple(sorted({reply.seq, seq})))]

    def advance(self, now: float) -> list[Measured]:
        """What can be compared at ``now``."""
        out: list[Measured] = []
        while self._signals and now >= self._signals[0][0] + SOUNDS_ON_MS:
            out += self._compare(*self._signals.pop(0))
        while self._cancelled and now >= (self._cancelled[0].status_at or 0.0) + SOUNDS_ON_MS + KNOWN_AFTER_MS:
            out += self._sounds_on(self._cancelled.pop(0))
        return out

    def _compare(self, at: float, what: str, seq: int) -> list[Measured]:
        if what == "speech_started":
            if any(t.onset <= at + HEARD_AFTER_MS and t.end >= at - HEARD_BEFORE_MS for t in self._known.turns):
                return []
            fact = StateDisagreed(declared="heard the caller", audible="the caller was silent", at_ms=at)
            return [Measured(fact, (seq,))]
        turn = next((t for t in self._known.turns if _speaks_on(t, at)), None)
        if turn is None:
            return []
        fact = StateDisagreed(declared="the caller stopped", audible="the caller spoke on", at_ms=at)
        return [Measured(fact, tuple(sorted({turn.seq, seq})))]

    def _sounds_on(self, reply: Reply) -> list[Measured]:
        after = (reply.status_at or 0.0) + SOUNDS_ON_MS
        stretch = next((s for s in reply.stretches if s.on < after and (s.off is None or s.off > after)), None)
        if stretch is None:
            return []
        fact = StateDisagreed(
            declared="cancelled its reply", audible="the reply sounded on", at_ms=reply.status_at or 0.0, reply=reply.id
        )
        return [Measured(fact, tuple(sorted({reply.seq, stretch.seq})))]


def _speaks_on(turn: Turn, at: float) -> bool:
    """Whether the caller was audible from ``SOUNDS_ON_MS`` before ``at`` until as long after it: no authored pause touches that time."""
    since, until = at - SOUNDS_ON_MS, at + SOUNDS_ON_MS
    inside = turn.onset <= since and turn.end >= until
    return inside and not any(a < until and b > since for a, b in turn.pauses)
