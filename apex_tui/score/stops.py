"""How an agent took a barge-in: one pure function from audible stretches to a stop kind (measures.md section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from apex_tui.score.floor_state import SLACK_MS, WINDOW_MS
from apex_tui.timeline.agent_facts import StopKind

RESUMED_MS = 300.0
"""Sound of at least this length after the stop, while the caller still speaks, is a resumption; shorter is a stale burst."""
PAUSE_MS = 1000.0
"""A reply that goes on within this time only paused."""


class Burst(NamedTuple):
    """An audible stretch of the agent after the one that was interrupted (media ms; ``off`` None: still sounding)."""

    on: float
    off: float | None
    reply: str | None
    after_pause: bool = False
    """Only a pause in the same audio lay before it: nothing had stopped."""


class Stop(NamedTuple):
    """The verdict. ``delay_ms``: onset to last audible sample; None when the agent did not stop, or nothing can be said."""

    kind: StopKind
    delay_ms: float | None = None
    stale_bursts: int = 0
    last_audible: float | None = None
    """The raw end of the sound (media ms) that the delay is taken to."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was observed of one barge-in, in media ms.

    ``onset``, ``turn_end``: first and last audible sample of the caller turn. ``silent_from``: end of the stretch that covered the onset;
    None while it still sounds; the onset itself for a barge-in ``in_pause``. ``later``: later stretches, in order. ``replies``: ids under
    which the interrupted reply sounds. ``proven_at``: when the provider reported the cancellation, or unplayed audio was flushed. ``natural``:
    the reply was complete and fully played. ``until``: end of the observation, at most ``onset + WINDOW_MS``; earlier when the session or
    the next caller turn ``cut`` it short.
    """

    onset: float
    turn_end: float
    silent_from: float | None
    later: tuple[Burst, ...] = ()
    replies: tuple[str, ...] = ("r1",)
    proven_at: float | None = None
    natural: bool = False
    until: float = 0.0
    cut: bool = False
    in_pause: bool = False


def judge_stop(seen: Observed) -> Stop:
    """Judge one barge-in. A pause between two sentences of a reply that was simply played on is no stop."""
    if seen.turn_end < seen.onset or (seen.silent_from is not None and seen.silent_from < seen.onset - SLACK_MS):
        return Stop("invalid", last_audible=seen.silent_from)
    silent = seen.silent_from if seen.in_pause else _end_of_sound(seen)
    if silent is None or silent > seen.until:
        return Stop("censored" if seen.cut else "not_stopped")
    after = [burst for burst in seen.later if silent < burst.on < seen.until]
    delay = None if seen.in_pause else round(max(0.0, silent - seen.onset), 3)
    last = None if seen.in_pause else silent
    stale = sum(1 for b in after if b.off is not None and b.off - b.on < RESUMED_MS and _of_the_stop(b, seen))
    if any(_within(b, seen) >= RESUMED_MS for b in after):
        return Stop("resumed", delay, stale, last)
    if seen.proven_at is None and not seen.natural and any(_goes_on(b, seen) for b in after):
        return Stop("censored" if seen.cut else "not_stopped")
    kind: StopKind = "yielded" if seen.proven_at is not None else "natural_end" if seen.natural else "unattributed"
    return Stop(kind, delay, stale, last)


def _end_of_sound(seen: Observed) -> float | None:
    """The last audible sample before the stop: over pauses in the reply's own audio, and over everything that began before the proof."""
    end = seen.silent_from
    for burst in seen.later:
        if end is None or burst.reply not in seen.replies or burst.on - end > PAUSE_MS:
            break
        cut = seen.proven_at is not None and burst.on >= seen.proven_at
        if cut or (seen.proven_at is None and not burst.after_pause):
            break
        end = burst.off
    return end


def _within(burst: Burst, seen: Observed) -> float:
    """How long a stretch was audible inside the window and the caller turn."""
    limit = min(seen.until, seen.turn_end)
    return (limit if burst.off is None else min(limit, burst.off)) - burst.on


def _goes_on(burst: Burst, seen: Observed) -> bool:
    """Whether the same reply is audible when the window closes."""
    return burst.reply in seen.replies and (burst.off is None or burst.off >= seen.until)


def _of_the_stop(burst: Burst, seen: Observed) -> bool:
    """Whether a short stretch can be a remainder of what was stopped: not the first word of an answer after the turn."""
    return burst.on < seen.turn_end or burst.reply in seen.replies


def window_end(onset: float) -> float:
    """Where the observation of a barge-in ends that nothing cuts short."""
    return onset + WINDOW_MS
