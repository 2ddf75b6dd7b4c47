"""Whether a log agrees with itself: the measured facts in it against the same facts recomputed from its raw ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from apex_tui.score.floor import FloorMeter, measure
from apex_tui.timeline.agent_facts import (
    BargeInClosed,
    BargeInOpened,
    CutIn,
    FalseYield,
    ResponseDetailed,
    ResponseMeasured,
    SilenceMeasured,
    StateDisagreed,
)
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.session_facts import SessionEnded

MEASURED = (
    BargeInOpened,
    BargeInClosed,
    FalseYield,
    CutIn,
    ResponseMeasured,
    ResponseDetailed,
    SilenceMeasured,
    StateDisagreed,
)
"""Facts that are measured from others."""


def disagreements(events: Sequence[Event]) -> list[str]:
    """One sentence for each measured fact that is logged and not recomputed, or the other way round; order does not matter.

    In a log that was cut, what would have been logged after the cut is not missed.
    """
    ended = any(isinstance(event.fact, SessionEnded) for event in events)
    logged = Counter(_print(event.fact) for event in events if isinstance(event.fact, MEASURED))
    if ended:
        again = measure(list(events))
    else:
        meter = FloorMeter()
        again = [found for event in events for found in meter.take(event)]
    recomputed = Counter(_print(found.fact) for found in again)
    out = [f"logged, but not recomputed: {text}" for text in (logged - recomputed).elements()]
    if ended:
        out += [f"recomputed, but not logged: {text}" for text in (recomputed - logged).elements()]
    return sorted(out)


def _print(fact: AnyFact) -> str:
    return f"{fact.type} {fact.model_dump_json(exclude={'type'})}"
