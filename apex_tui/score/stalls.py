"""What was measured across a stall of the instrument (``timeline.stalls``)."""

from __future__ import annotations

from collections.abc import Sequence

from apex_tui.score.floor_state import WINDOW_MS
from apex_tui.timeline.agent_facts import BargeInClosed, ResponseMeasured
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionPulse
from apex_tui.timeline.stalls import Stretch, stall_of


def stalls(events: Sequence[Event]) -> list[Stretch]:
    """The stretches of media time that a stall of ours reaches into."""
    found = (stall_of(event.fact, event.media_ms) for event in events if isinstance(event.fact, SessionPulse))
    return [stretch for stretch in found if stretch is not None]


def across_stall(fact: ResponseMeasured | BargeInClosed, found: Sequence[Stretch], turns: dict[int, float]) -> bool:
    """Whether a measurement spans a stall. ``turns``: caller turn -> its last audible sample (media ms)."""
    if isinstance(fact, BargeInClosed):
        # Whoever did not stop was watched to the end of the window.
        begin, length = fact.onset_ms, WINDOW_MS if fact.stop_kind == "not_stopped" else fact.stop_delay_ms
    else:
        begin, length = turns.get(fact.turn, 0.0), fact.first_audible_ms
    if not found or length is None:
        return False
    low, high = min(begin, begin + length), max(begin, begin + length)
    return any(low <= until and high >= since for since, until in found)


def turn_ends(events: Sequence[Event]) -> dict[int, float]:
    """Caller turn -> its last audible sample, as the bank knows it."""
    return {event.fact.turn: event.fact.ends_ms for event in events if isinstance(event.fact, CallerTurnStarted)}
