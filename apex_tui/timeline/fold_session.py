"""The fold of session facts: start, clock, health of the instrument, end, and the operator's marks."""

from __future__ import annotations

from apex_tui.timeline import session_facts as s
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handlers, Memory, add_mark, areas
from apex_tui.timeline.stalls import stall_of
from apex_tui.timeline.state import Mark, State

_SESSION = areas("session")
_STALLED = areas("session", "barge_in", "latency")
_ENDED = areas("session", "caller", "lanes")
_MARKED = areas("lanes", "events")


def _started(state: State, memory: Memory, event: Event, fact: s.SessionStarted) -> Areas:
    if state.started is not None:
        return memory.ignore()
    state.started = fact
    return _SESSION


def _clock(state: State, memory: Memory, event: Event, fact: s.SessionClock) -> Areas:
    state.utc = fact.utc
    return _SESSION


def _pulse(state: State, memory: Memory, event: Event, fact: s.SessionPulse) -> Areas:
    state.pulse = fact
    state.late_max_ms = max(state.late_max_ms, fact.late_max_ms)
    state.over_20ms += fact.over_20ms
    stalled = stall_of(fact, event.media_ms)
    if stalled is None:
        return _SESSION
    state.stalls.append(stalled)
    return _STALLED


def _warning(state: State, memory: Memory, event: Event, fact: s.SessionWarning) -> Areas:
    state.warnings.append((event.seq, event.media_ms, fact))
    return _SESSION


def _ended(state: State, memory: Memory, event: Event, fact: s.SessionEnded) -> Areas:
    state.ended = fact
    # The last second has no pulse of its own; the end counts the whole session.
    state.late_max_ms = max(state.late_max_ms, fact.late_max_ms)
    state.over_20ms = fact.over_20ms
    state.caller_speaking = state.agent_speaking = False
    return _ENDED


def _marked(state: State, memory: Memory, event: Event, fact: s.OperatorMarked) -> Areas:
    add_mark(state, memory, Mark(event.seq, event.media_ms, "M", fact.note))
    return _MARKED


def _erased(state: State, memory: Memory, event: Event, fact: s.SessionErased) -> Areas:
    add_mark(state, memory, Mark(event.seq, event.media_ms, "M", "voice and words erased"))
    return _MARKED


HANDLERS: Handlers = {
    s.SessionStarted: _started,
    s.SessionClock: _clock,
    s.SessionPulse: _pulse,
    s.SessionWarning: _warning,
    s.SessionEnded: _ended,
    s.OperatorMarked: _marked,
    s.SessionErased: _erased,
}
