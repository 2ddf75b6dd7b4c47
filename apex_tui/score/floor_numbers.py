"""The numbers of measures.md sections 3 and 4 for one session, from the facts that the floor meter recomputes.

Deliberately not in here: how a barge-in or an answer is judged (`floor`, `stops`).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal

from apex_tui.score.floor import WINDOW_MS, Measured
from apex_tui.score.verdict import Floor, Latency, StopRow, Summary
from apex_tui.timeline.agent_facts import (
    AgentSpeechEnded,
    AgentSpeechStarted,
    BargeInClosed,
    CutIn,
    FalseYield,
    ResponseMeasured,
    SilenceMeasured,
)
from apex_tui.timeline.caller_facts import CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import Event

ENOUGH = 20
"""Values from which percentiles are given; below that, the values themselves."""
NATURAL_MS = 600.0
HOLDS_TOGETHER_MS = 1500.0

Stretch = tuple[float, float]


def summarise(values: Iterable[float], censored: int = 0) -> Summary:
    """``n`` with median and 95th percentile from 20 values on (linear interpolation), else with the values in order of time."""
    listed = tuple(values)
    if len(listed) < ENOUGH:
        return Summary(n=len(listed), values=listed, censored=censored)
    median, p95 = round(statistics.median(listed), 3), round(percentile(listed, 0.95), 3)
    return Summary(n=len(listed), median=median, p95=p95, censored=censored)


def percentile(values: Sequence[float], share: float) -> float:
    """The value at position (n - 1) * share of the sorted values, interpolated linearly; ``values`` must not be empty."""
    ranked = sorted(values)
    place = (len(ranked) - 1) * share
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (ranked[above] - ranked[below]) * (place - below)


def band_of(values: Sequence[float]) -> Literal["natural", "holds together", "strained"] | None:
    """The band of the median answer; None without an answer."""
    if not values:
        return None
    median = statistics.median(values)
    return "natural" if median <= NATURAL_MS else "holds together" if median <= HOLDS_TOGETHER_MS else "strained"


def floor_of(events: Sequence[Event], measured: Sequence[Measured], end_ms: float) -> Floor:
    """Section 3. The share counts barge-ins that overlapped and were observed to the end of their window.

    The stop delays are those of agents that yielded (also those that resumed); one that did not stop counts as the window, where its
    observation ended. A reply that ended by itself, or with nothing provable, gives no delay.
    """
    rows = tuple(_row(m.fact, m.causes) for m in measured if isinstance(m.fact, BargeInClosed))
    observed = [row for row in rows if row.kind == "overlap" and row.stop_kind != "censored"]
    yielded = sum(1 for row in observed if row.stop_kind == "yielded")
    kinds = [m.fact.kind for m in measured if isinstance(m.fact, CutIn)]
    turns = [e.fact for e in events if isinstance(e.fact, CallerTurnStarted)]
    return Floor(
        barge_ins=rows,
        yielded_share=round(yielded / len(observed), 4) if observed else None,
        yielded_n=yielded,
        observed_n=len(observed),
        stop_delay_ms=summarise(
            (delay for row in observed if (delay := _delay(row)) is not None),
            sum(1 for row in observed if row.stop_kind == "not_stopped"),
        ),
        cut_ins=kinds.count("cut_in"),
        terminal_overlaps=kinds.count("terminal_overlap"),
        agent_backchannels=kinds.count("agent_backchannel"),
        false_yields=sum(1 for m in measured if isinstance(m.fact, FalseYield)),
        backchannels=sum(1 for turn in turns if turn.act == "BACKCHANNEL"),
        overlap_ratio=overlap_ratio(events, end_ms),
    )


def _row(fact: BargeInClosed, causes: tuple[int, ...]) -> StopRow:
    return StopRow(
        barge_in=fact.barge_in,
        kind=fact.kind,
        onset_ms=fact.onset_ms,
        stop_kind=fact.stop_kind,
        stop_delay_ms=fact.stop_delay_ms,
        detect_ms=fact.detect_ms,
        detect_source=fact.detect_source,
        flush_ms=fact.flush_ms,
        evidence=causes,
    )


def _delay(row: StopRow) -> float | None:
    if row.stop_kind == "not_stopped":
        return WINDOW_MS
    return row.stop_delay_ms if row.stop_kind in ("yielded", "resumed") else None


def overlap_ratio(events: Sequence[Event], end_ms: float) -> float | None:
    """Time in which both were audible / session length, authored pauses of the caller left out; None for a session of no length."""
    if end_ms <= 0:
        return None
    caller, agent = _caller(events, end_ms), _agent(events, end_ms)
    both = sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in caller for b in agent)
    return round(both / end_ms, 4)


def _caller(events: Sequence[Event], end_ms: float) -> list[Stretch]:
    """What was audible of the caller, in stretches that do not overlap."""
    ends = {e.fact.turn: e.fact.offset_ms for e in events if isinstance(e.fact, CallerTurnEnded)}
    stretches: list[Stretch] = []
    for event in events:
        if isinstance(event.fact, CallerTurnStarted):
            turn = event.fact
            last = min(ends.get(turn.turn, turn.ends_ms), end_ms)
            at = turn.onset_ms
            for start, end in sorted(turn.pauses_ms):
                stretches.append((at, min(start, last)))
                at = max(at, end)
            stretches.append((at, last))
    return [(start, end) for start, end in stretches if end > start]


def _agent(events: Sequence[Event], end_ms: float) -> list[Stretch]:
    """What was audible of the agent; a stretch that is open when the log ends lasts until then."""
    stretches: list[Stretch] = []
    start: float | None = None
    for event in events:
        if isinstance(event.fact, AgentSpeechStarted):
            if start is not None:
                stretches.append((start, event.fact.onset_ms))
            start = event.fact.onset_ms
        elif isinstance(event.fact, AgentSpeechEnded) and start is not None:
            stretches.append((start, event.fact.offset_ms))
            start = None
    return [*stretches, (start, end_ms)] if start is not None else stretches


def latency_of(measured: Sequence[Measured], complete_ms: float | None) -> Latency:
    """Section 4. Answers that needed a tool result are kept apart: only their first audible sample is summarised, by itself."""
    answers = [m.fact for m in measured if isinstance(m.fact, ResponseMeasured)]
    direct = [a for a in answers if a.reply is not None and not a.after_tool]
    audible = _present(a.first_audible_ms for a in direct)
    silences = [m.fact.kind for m in measured if isinstance(m.fact, SilenceMeasured)]
    return Latency(
        first_byte_ms=summarise(_present(a.first_byte_ms for a in direct)),
        first_audible_ms=summarise(audible),
        first_audible_after_tool_ms=summarise(_present(a.first_audible_ms for a in answers if a.after_tool)),
        leading_silence_ms=summarise(_present(a.leading_silence_ms for a in direct)),
        unanswered=sum(1 for a in answers if a.reply is None),
        band=band_of(audible),
        dead_air_n=silences.count("dead_air"),
        silent_wait_n=silences.count("silent_wait"),
        complete_ms=complete_ms,
    )


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
