"""How numbers, times and states are worded: one place, so that a word means the same on every screen.

Times are media ms. A number that does not exist is ``—``, never 0. Nothing here reads state or draws.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from apex_tui.tui.plain import plain

if TYPE_CHECKING:
    from apex_tui.timeline.work_facts import Decision

REHEARSAL = "rehearsal (scripted)"
"""Label of every screen whose agent knows the solution."""
GATE_NAMES = {"TS": "target state", "PV": "process validity", "AC": "action completion", "AV": "artifact validity"}
"""The four gates in words, as `score.verdict` has them."""
NATURAL_MS = 600.0
HOLDS_MS = 1500.0
NONE = "—"


class Word(NamedTuple):
    """A state as it is shown: a glyph, a word, and the role that colours both (colour only repeats them)."""

    glyph: str
    word: str
    role: str

    def __str__(self) -> str:
        return f"{self.glyph} {self.word}"


STOP_WORDS: dict[str, Word] = {
    "yielded": Word("✓", "yielded", "good"),
    "natural_end": Word("●", "natural end", "quiet"),
    "unattributed": Word("?", "unattributed", "warn"),
    "resumed": Word("✗", "resumed", "bad"),
    "not_stopped": Word("✗", "not stopped", "bad"),
    "censored": Word("?", "censored", "quiet"),
    "invalid": Word("?", "contradictory times", "warn"),
}
DECISION_WORDS: dict[Decision, Word] = {
    "AUTHORIZED": Word("✓", "authorised", "good"),
    "PREMATURE": Word("✗", "NOT GIVEN", "bad"),
    "POST_REVOCATION": Word("✗", "REVOKED", "bad"),
    "WRONG_SCOPE": Word("✗", "WRONG SCOPE", "bad"),
    "STALE_APPROVAL": Word("✗", "STALE", "bad"),
    "ALREADY_USED": Word("✗", "ALREADY USED", "bad"),
}
BEFORE_KEY = Word("○", "before the key", "quiet")
"""A refused commit that followed the person's yes, whose key came later: nobody's fault."""
SOURCES: dict[str, str] = {
    "server_vad": "vad",
    "server_interrupt": "server",
    "client_energy": "energy",
    "client_cancel": "client",
}
"""Who noticed the caller: the provider's voice detector, its interruption message, our energy edge, our cancel."""
CALL_WORDS: dict[str, Word] = {
    "running": Word("…", "running", "warn"),
    "done": Word("✓", "done", "good"),
    "failed": Word("✗", "failed", "bad"),
    "refused": Word("✗", "refused", "bad"),
    "cancelled": Word("╳", "cancelled", "warn"),
}
JUDGES_NOBODY = frozenset({"infrastructure", "simulator", "operator"})
"""Outcomes after which a session is no verdict on the agent, as `timeline.session_facts` has them (which the picker does not load)."""
DIRECTED = "directed"
"""Label of a session whose caller a person directed, as `store.meta` has it."""
OUTCOMES: dict[str, str] = {
    "completed": "completed",
    "handed_over": "handed to a person",
    "agent_stalled": "the agent stalled",
    "agent_closed": "the agent closed the connection",
    "over_time": "over time",
    "infrastructure": "infrastructure failed",
    "simulator": "the simulated caller failed",
    "operator": "ended by the operator",
}


def counted(number: int, noun: str) -> str:
    """``1 session``, ``2 sessions``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def stop_word(kind: str) -> Word:
    """How a stop is worded; a kind that this version does not know is shown as it is."""
    return STOP_WORDS.get(kind) or Word("?", kind.replace("_", " "), "warn")


def outcome_text(outcome: str) -> str:
    """How an end is worded; likewise."""
    return OUTCOMES.get(outcome) or plain(outcome.replace("_", " "), 60)


def clock(ms: float) -> str:
    """``02:14.380``."""
    whole = max(0, round(ms))
    return f"{whole // 60_000:02d}:{whole // 1000 % 60:02d}.{whole % 1000:03d}"


def at(ms: float) -> str:
    """``02:14.38``: the time column of every list."""
    return clock(max(0.0, ms) // 10 * 10)[:-1]


def tick(ms: float) -> str:
    """``02:14``."""
    return clock(max(0.0, ms) // 1000 * 1000)[:-4]


def millis(ms: float | None) -> str:
    """``1,204 ms``, or ``—``."""
    return NONE if ms is None else f"{ms:,.0f} ms"


def seconds(ms: float | None) -> str:
    """``1.8 s``, or ``—``."""
    return NONE if ms is None else f"{ms / 1000:.1f} s"


def latency_word(ms: float) -> Word:
    """Band of a response latency: up to 600 ms natural, up to 1500 ms holds together, above strained."""
    if ms <= NATURAL_MS:
        return Word("✓", "natural", "good")
    if ms <= HOLDS_MS:
        return Word("~", "holds together", "warn")
    return Word("✗", "strained", "bad")


def median_of(values: list[float]) -> float | None:
    """The median, or None of nothing."""
    return median(values) if values else None


def stages(detect_ms: float | None, source: str | None, flush_ms: float | None) -> str:
    """How a stop came about: ``vad 96 + flush 45``; the sum is the stop delay. A missing stage is ``—``.

    An agent that fell silent before its own signal arrived is worded so, not as a negative flush.
    """
    if detect_ms is None and flush_ms is None:
        return "stages —"
    name = SOURCES.get(source or "", "seen")
    if detect_ms is not None and flush_ms is not None and flush_ms < 0:
        return f"silent {-flush_ms:.0f} before {name} {detect_ms:.0f}"
    detected = NONE if detect_ms is None else f"{detect_ms:.0f}"
    flushed = NONE if flush_ms is None else f"{flush_ms:.0f}"
    return f"{name} {detected} + flush {flushed}"


def values_text(values: list[float], unit: str = "ms") -> str:
    """``141 and 182 ms``: below 20 values they are shown themselves, newest eight."""
    if not values:
        return NONE
    shown = [f"{v:,.0f}" for v in values[-8:]]
    lead = "… " if len(values) > 8 else ""
    joined = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{lead}{joined} {unit}"
