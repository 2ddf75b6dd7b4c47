"""Moments at which the instrument itself stood still: what was measured across one says nothing about the agent.

The log has no event per frame, but every second it says how late the latest frame was. A second whose latest frame came more than 200 ms late
counts as a stall, with that lateness before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from apex_tui.score.floor_state import WINDOW_MS
from apex_tui.timeline.agent_facts import BargeInClosed, ResponseMeasured
from apex_tui.timeline.caller_facts import CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionPulse

STALL_MS = 200.0
"""Ten frames: a machine that is merely busy stays far below; then `timing_degraded` says so, and the values stand."""
PULSE_MS = 1000.0

Stretch = tuple[float, float]


def stalls(events: Sequence[Event]) -> list[Stretch]:
    """The stretches of media time that a stall of ours reaches into."""
    return [
        (max(0.0, event.media_ms - PULSE_MS - event.fact.late_max_ms), event.media_ms)
        for event in events
        if isinstance(event.fact, SessionPulse) and event.fact.late_max_ms > STALL_MS
    ]


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
