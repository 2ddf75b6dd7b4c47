"""The fold of floor facts: barge-ins, cut-ins, false yields, answers and silences, as they were measured."""

from __future__ import annotations

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handlers, Memory, add_mark, areas, new_row, own_row, reply_of
from apex_tui.timeline.state import BargeIn, Mark, State

_BARGE_IN = areas("barge_in", "transcript", "lanes")
_FLOOR = areas("barge_in", "lanes")
_LATENCY = areas("latency")


def _barge_in(state: State, memory: Memory, event: Event, fact: a.BargeInOpened | a.BargeInClosed) -> BargeIn:
    """The barge-in of that number, to be changed; a new one gets its row, its mark and its place on the reply."""
    if fact.barge_in in state.barge_ins:
        return own_row(memory, state.barge_ins, fact.barge_in)
    row = BargeIn(fact.barge_in, event.seq, fact.turn, fact.reply, fact.kind, fact.onset_ms)
    state.barge_ins[fact.barge_in] = new_row(memory, row)
    reply_of(state, memory, event, fact.reply).barge_in = fact.barge_in
    memory.barge_in_marks[fact.barge_in] = add_mark(state, memory, Mark(event.seq, fact.onset_ms, "B", "?"))
    return row


def _opened(state: State, memory: Memory, event: Event, fact: a.BargeInOpened) -> Areas:
    if fact.barge_in in state.barge_ins:
        return memory.ignore()
    _barge_in(state, memory, event, fact)
    return _BARGE_IN


def _closed(state: State, memory: Memory, event: Event, fact: a.BargeInClosed) -> Areas:
    row = _barge_in(state, memory, event, fact)
    if row.closed is not None:
        return memory.ignore()
    row.closed = fact
    own_row(memory, state.marks, memory.barge_in_marks[fact.barge_in]).label = _label(fact)
    return _BARGE_IN


def _label(fact: a.BargeInClosed) -> str:
    # A number alone says that the agent yielded; every other end is named.
    if fact.stop_kind == "yielded" and fact.stop_delay_ms is not None:
        return f"{fact.stop_delay_ms:.0f} ms"
    return fact.stop_kind.replace("_", " ")


def _false_yield(state: State, memory: Memory, event: Event, fact: a.FalseYield) -> Areas:
    state.false_yields.append(fact)
    return _FLOOR


def _cut_in(state: State, memory: Memory, event: Event, fact: a.CutIn) -> Areas:
    state.cut_ins.append(fact)
    return _FLOOR


def _response(state: State, memory: Memory, event: Event, fact: a.ResponseMeasured) -> Areas:
    state.responses.append(fact)
    return _LATENCY


def _silence(state: State, memory: Memory, event: Event, fact: a.SilenceMeasured) -> Areas:
    state.silences.append(fact)
    return _LATENCY


def _detailed(state: State, memory: Memory, event: Event, fact: a.ResponseDetailed) -> Areas:
    state.details.append(fact)
    return _LATENCY


def _disagreed(state: State, memory: Memory, event: Event, fact: a.StateDisagreed) -> Areas:
    state.disagreements.append(fact)
    return _FLOOR


HANDLERS: Handlers = {
    a.BargeInOpened: _opened,
    a.BargeInClosed: _closed,
    a.FalseYield: _false_yield,
    a.CutIn: _cut_in,
    a.ResponseMeasured: _response,
    a.SilenceMeasured: _silence,
    a.ResponseDetailed: _detailed,
    a.StateDisagreed: _disagreed,
}
