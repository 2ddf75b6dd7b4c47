"""Moments at which the instrument itself stood still: what was measured across one says nothing about the agent.

The log has no event per frame, but every second it says how late the latest frame was. A second whose latest frame came more than 200 ms late
counts as a stall, with that lateness before it.
"""

from __future__ import annotations

from apex_tui.timeline.session_facts import SessionPulse

STALL_MS = 200.0
"""Ten frames: a machine that is merely busy stays far below; then `timing_degraded` says so, and the values stand."""
PULSE_MS = 1000.0

Stretch = tuple[float, float]
"""Of media time: from, to."""


def stall_of(pulse: SessionPulse, at_ms: float) -> Stretch | None:
    """The stretch that the stall which a pulse at ``at_ms`` tells of reaches into; None: it tells of none."""
    return (max(0.0, at_ms - PULSE_MS - pulse.late_max_ms), at_ms) if pulse.late_max_ms > STALL_MS else None
