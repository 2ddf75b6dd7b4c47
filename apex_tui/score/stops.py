"""How an agent took a barge-in: one pure function from audible stretches to a stop kind (measures.md section 3)."""

from __future__ import annotations

from typing import NamedTuple

from apex_tui.timeline.agent_facts import StopKind

RESUMED_MS = 300.0
"""Sound of at least this length after the stop, while the caller still speaks, is a resumption; shorter is a stale burst."""
WINDOW_MS = 2000.0


class Burst(NamedTuple):
    """An audible stretch of the agent after the one that was interrupted (media ms; ``off`` None: still sounding)."""

    on: float
    off: float | None
    reply: str | None


class Stop(NamedTuple):
    """The verdict. ``delay_ms``: onset to last audible sample; None when the agent did not stop, or nothing can be said."""

    kind: StopKind
    delay_ms: float | None = None
    stale_bursts: int = 0


def judge_stop(
    onset: float,
    turn_end: float,
    silent_from: float | None,
    later: tuple[Burst, ...],
    proven: bool,
    natural: bool,
    observed_to: float,
    cut_short: bool,
) -> Stop:
    """Judge one overlap barge-in.

    Args:
        onset: first audible sample of the caller (media ms).
        turn_end: last audible sample of the caller turn.
        silent_from: end of the audible stretch that covered the onset; None while it still sounds.
        later: later audible stretches, in order.
        proven: the provider reported the cancellation, or unplayed audio was flushed.
        natural: the reply was complete and fully played.
        observed_to: end of the observation, at most ``onset + WINDOW_MS``.
        cut_short: the session, the transport or the next caller turn ended the observation before the window closed.
    """
    if silent_from is None or silent_from > onset + WINDOW_MS:
        return Stop("censored" if cut_short and observed_to < onset + WINDOW_MS else "not_stopped")
    delay = round(silent_from - onset, 3)
    inside = [b for b in later if b.on < onset + WINDOW_MS]
    bursts = [b for b in inside if b.off is not None and b.off - b.on < RESUMED_MS]
    if any(b not in bursts and b.on < turn_end for b in inside):
        return Stop("resumed", delay, len(bursts))
    kind: StopKind = "yielded" if proven else "natural_end" if natural else "unattributed"
    return Stop(kind, delay, len(bursts))
