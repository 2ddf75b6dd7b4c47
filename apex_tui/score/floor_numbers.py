"""The numbers of measures.md sections 3 and 4 for one session, from the facts that the floor meter recomputes.

Deliberately not in here: how a barge-in or an answer is judged (`floor`, `stops`).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

from apex_tui.score.floor import ASIDES, WINDOW_MS, Measured
from apex_tui.score.stalls import across_stall, stalls, turn_ends
from apex_tui.score.stops import RESUMED_MS
from apex_tui.score.verdict import Disagreement, Floor, Latency, StopRow, Summary
from apex_tui.timeline.agent_facts import (
    AgentActed,
    AgentConnected,
    AgentSpeechEnded,
    AgentSpeechStarted,
    BargeInClosed,
    CutIn,
    FalseYield,
    LateDropped,
    ResponseDetailed,
    ResponseMeasured,
    SilenceMeasured,
    StateDisagreed,
)
from apex_tui.timeline.caller_facts import CallerTurnDecided, CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.work_facts import ArtifactVersion, ToolCalled, ToolCancelled, ToolFinished

ENOUGH = 20
"""Values from which percentiles are given; below that, the values themselves."""
PSEUDO_STEP_MS = 500.0
"""Distance of the moments at which falling silent by chance is looked for."""
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


class Stopped(Protocol):
    """A barge-in, in a verdict or as a table reads it."""

    @property
    def kind(self) -> str:
        """``overlap`` or ``in_pause``."""

    @property
    def stop_kind(self) -> str:
        """As in `BargeInClosed`."""

    @property
    def echo_suspect(self) -> bool:
        """It sounds like the loudspeaker."""

    @property
    def across_stall(self) -> bool:
        """The instrument itself stood still meanwhile."""


def counts(stop: Stopped) -> bool:
    """Whether it stands in shares and delays: speech was interrupted, by a caller, and what followed was observed to its end."""
    broken = stop.stop_kind in ("censored", "invalid") or stop.echo_suspect or stop.across_stall
    return stop.kind == "overlap" and not broken


def floor_of(events: Sequence[Event], measured: Sequence[Measured], end_ms: float) -> Floor:
    """Section 3. The share counts barge-ins that overlapped and were observed to the end of their window.

    The stop delays are those of agents that yielded (also those that resumed); one that did not stop counts as the window, where its
    observation ended. A reply that ended by itself, or with nothing provable, gives no delay.
    """
    found = stalls(events)
    closed = [m for m in measured if isinstance(m.fact, BargeInClosed)]
    rows = tuple(
        _row(m.fact, m.causes, across_stall(m.fact, found, {})) for m in closed if isinstance(m.fact, BargeInClosed)
    )
    observed = [row for row in rows if counts(row)]
    yielded = sum(1 for row in observed if row.stop_kind == "yielded")
    unproven = sum(1 for row in observed if row.stop_kind == "unattributed")
    chance = chance_silences(events, end_ms)
    kinds = [m.fact.kind for m in measured if isinstance(m.fact, CutIn)]
    turns = [e.fact for e in events if isinstance(e.fact, CallerTurnStarted)]
    decided = {e.fact.turn: e.fact.kind for e in events if isinstance(e.fact, CallerTurnDecided)}
    late = {e.fact.reply: e.fact.dropped_ms for e in events if isinstance(e.fact, LateDropped)}
    return Floor(
        barge_ins=rows,
        yielded_share=_share(yielded, len(observed)) if _reports_interruption(events) else None,
        yielded_low=_share(yielded, len(observed)),
        yielded_high=_share(yielded + unproven, len(observed)),
        chance_share=_share(sum(chance), len(chance)),
        chance_n=len(chance),
        invalid_n=sum(1 for row in rows if row.stop_kind == "invalid"),
        echo_suspects=sum(1 for turn in turns if turn.echo_suspect),
        yielded_n=yielded,
        observed_n=len(observed),
        stop_delay_ms=summarise(
            (delay for row in observed if (delay := _delay(row)) is not None),
            sum(1 for row in observed if row.stop_kind == "not_stopped"),
        ),
        cut_ins=kinds.count("cut_in"),
        terminal_overlaps=kinds.count("terminal_overlap"),
        agent_backchannels=kinds.count("agent_backchannel"),
        talk_overs=kinds.count("talk_over"),
        false_yields=sum(1 for m in measured if isinstance(m.fact, FalseYield)),
        backchannels=sum(
            1
            for turn in turns
            if turn.act == "BACKCHANNEL" or turn.floor in ASIDES or decided.get(turn.turn) == "backchannel"
        ),
        undecided=sum(1 for turn in turns if turn.pending and turn.turn not in decided),
        overlap_ratio=overlap_ratio(events, end_ms),
        late_dropped_ms=round(sum(late.values()), 3),
        disagreements=tuple(
            Disagreement(
                declared=m.fact.declared,
                audible=m.fact.audible,
                at_ms=m.fact.at_ms,
                reply=m.fact.reply,
                evidence=m.causes,
            )
            for m in measured
            if isinstance(m.fact, StateDisagreed)
        ),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _reports_interruption(events: Sequence[Event]) -> bool:
    """Whether the agent's provider can prove a yield at all; unless it says otherwise, it can."""
    said = [e.fact.capabilities.get("reports_interruption") for e in events if isinstance(e.fact, AgentConnected)]
    return not said or said[-1] is not False


def chance_silences(events: Sequence[Event], end_ms: float) -> list[bool]:
    """For pseudo-onsets every `PSEUDO_STEP_MS` of audible agent speech that no caller interrupts: whether the agent fell silent by itself.

    As for a real onset, silence counts from the end of the stretch within the window, unless 300 ms or more of sound follow in it.
    """
    agent, caller = _agent(events, end_ms), _caller(events, end_ms)
    found: list[bool] = []
    for at, (on, off) in ((at, s) for s in agent for at in _steps(*s)):
        until = at + WINDOW_MS
        if until > end_ms or any(start < until and end > on for start, end in caller):
            continue
        later = [(a, b) for a, b in agent if off < a < until]
        found.append(off <= until and all(min(b, until) - a < RESUMED_MS for a, b in later))
    return found


def _steps(on: float, off: float) -> list[float]:
    count = int((off - on) / PSEUDO_STEP_MS)
    return [on + PSEUDO_STEP_MS * k for k in range(1, count + 1) if on + PSEUDO_STEP_MS * k < off]


def _row(fact: BargeInClosed, causes: tuple[int, ...], across: bool) -> StopRow:
    return StopRow(
        barge_in=fact.barge_in,
        kind=fact.kind,
        onset_ms=fact.onset_ms,
        stop_kind=fact.stop_kind,
        stop_delay_ms=fact.stop_delay_ms,
        detect_ms=fact.detect_ms,
        detect_source=fact.detect_source,
        flush_ms=fact.flush_ms,
        played_ms=fact.played_ms,
        generated_ms=fact.generated_ms,
        stale_bursts=fact.stale_bursts,
        echo_suspect=fact.echo_suspect,
        across_stall=across,
        last_audible_ms=fact.last_audible_ms,
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
        if isinstance(event.fact, CallerTurnStarted) and not event.fact.echo_suspect:
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


def latency_of(measured: Sequence[Measured], complete_ms: float | None, events: Sequence[Event] = ()) -> Latency:
    """Section 4. ``events``: the log, for what happened while a call was open.

    Answers that needed a tool result are kept apart: only their first audible sample is summarised, by itself. What spans a stall of the
    instrument is left out and counted.
    """
    found, ends = stalls(events), turn_ends(events)
    every = [m.fact for m in measured if isinstance(m.fact, ResponseMeasured)]
    answers = [a for a in every if not across_stall(a, found, ends)]
    direct = [a for a in answers if a.reply is not None and not a.after_tool]
    audible = _present(a.first_audible_ms for a in direct)
    silences = [m.fact.kind for m in measured if isinstance(m.fact, SilenceMeasured)]
    replies = {a.reply for a in direct}
    details = [m.fact for m in measured if isinstance(m.fact, ResponseDetailed) and m.fact.reply in replies]
    questions, writes = during_calls(events)
    return Latency(
        first_byte_ms=summarise(_present(a.first_byte_ms for a in direct)),
        first_audible_ms=summarise(audible),
        first_audible_after_tool_ms=summarise(_present(a.first_audible_ms for a in answers if a.after_tool)),
        first_speech_ms=summarise(_present(d.first_speech_ms for d in details)),
        leading_silence_ms=summarise(_present(a.leading_silence_ms for a in direct)),
        first_speakable_ms=summarise(_present(d.first_speakable_ms for d in details)),
        first_sentence_ms=summarise(_present(d.first_sentence_ms for d in details)),
        first_sentence_estimated_n=sum(1 for d in details if d.first_sentence_estimated),
        stages=_stages(details),
        unanswered=sum(1 for a in answers if a.reply is None),
        band=band_of(audible),
        dead_air_n=silences.count("dead_air"),
        silent_wait_n=silences.count("silent_wait"),
        questions_during_call=questions,
        writes_during_call=writes,
        complete_ms=complete_ms,
        across_stall_n=len(every) - len(answers),
    )


def _stages(details: Sequence[ResponseDetailed]) -> dict[str, Summary]:
    names = dict.fromkeys(stage.name for detail in details for stage in detail.stages)
    return {name: summarise(s.ms for d in details for s in d.stages if s.name == name) for name in names}


def during_calls(events: Sequence[Event]) -> tuple[int, int]:
    """Questions that the agent asked aloud, and versions that it wrote, while a call (for a version: another one) was running."""
    running: set[str] = set()
    questions = writes = 0
    for event in events:
        match event.fact:
            case ToolCalled(error=None, call=call):
                running.add(call)
            case ToolFinished(call=call) | ToolCancelled(call=call):
                running.discard(call)
            case AgentActed(key=key, source=source) if key.startswith("ASK") and source != "tool":
                questions += bool(running)
            case ArtifactVersion(author="agent", call=call, source=None):
                writes += bool(running - {call or ""})
            case _:
                pass
    return questions, writes


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
