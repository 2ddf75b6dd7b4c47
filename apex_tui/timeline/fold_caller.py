"""The fold of caller facts: turns, why the caller is silent, and scripted events."""

from __future__ import annotations

from dataclasses import replace

from apex_tui.timeline import caller_facts as c
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handlers, Memory, add_mark, areas, new_row, turn_of
from apex_tui.timeline.state import Directed, Mark, State, Turn

_CALLER = areas("caller")
_PLANNED = areas("caller", "transcript")
_SPOKEN = areas("transcript", "caller", "lanes")
_ARMED = areas("caller", "events")
_FIRED = areas("events", "caller", "lanes")
_DECIDED = areas("events", "caller", "lanes", "transcript")
_DIRECTED = areas("session", "events", "caller", "lanes")


def _planned(state: State, memory: Memory, event: Event, fact: c.CallerPlanned) -> Areas:
    if not fact.recovered:
        return _CALLER
    memory.recovered.add(fact.turn)
    turn = turn_of(state, memory, fact.turn)
    if turn is None:
        return _CALLER
    turn.recovered = True
    return _PLANNED


def _sound_began(state: State, memory: Memory, event: Event, fact: c.CallerSoundBegan) -> Areas:
    state.undecided_sound = True
    return _CALLER


def _sound_refused(state: State, memory: Memory, event: Event, fact: c.CallerSoundRefused) -> Areas:
    state.undecided_sound = False
    return _CALLER


def _turn_started(state: State, memory: Memory, event: Event, fact: c.CallerTurnStarted) -> Areas:
    if fact.turn in memory.turns:
        return memory.ignore()
    turn = Turn(
        number=fact.turn,
        seq=event.seq,
        plan=fact.plan,
        act=fact.act,
        text=fact.text,
        facts=fact.facts,
        values=dict(fact.values),
        floor=fact.floor,
        onset_ms=fact.onset_ms,
        ends_ms=fact.ends_ms,
        value_end_ms=fact.value_end_ms,
        offset_ms=memory.ended_early.pop(fact.turn, None),
        recovered=fact.turn in memory.recovered,
        detected=fact.detected,
        pending=fact.pending,
        echo_suspect=fact.echo_suspect,
    )
    state.undecided_sound = False
    memory.turns[fact.turn] = len(state.turns)
    state.turns.append(new_row(memory, turn))
    if turn.offset_ms is None:
        memory.speaking.add(fact.turn)
    state.caller_speaking = bool(memory.speaking)
    return _SPOKEN


def _turn_ended(state: State, memory: Memory, event: Event, fact: c.CallerTurnEnded) -> Areas:
    turn = turn_of(state, memory, fact.turn)
    if turn is None:
        memory.ended_early[fact.turn] = fact.offset_ms
        return memory.ignore()
    turn.offset_ms = fact.offset_ms
    if turn.detected:
        turn.ends_ms = turn.value_end_ms = max(turn.onset_ms, fact.offset_ms)
    memory.speaking.discard(fact.turn)
    state.caller_speaking = bool(memory.speaking)
    return _SPOKEN


def _turn_decided(state: State, memory: Memory, event: Event, fact: c.CallerTurnDecided) -> Areas:
    turn = turn_of(state, memory, fact.turn)
    if turn is None or not turn.pending:
        return memory.ignore()
    turn.pending, turn.claimed = False, fact.kind == "turn"
    if fact.kind == "backchannel":
        turn.act = turn.floor = "BACKCHANNEL"
    return _SPOKEN


def _waits(state: State, memory: Memory, event: Event, fact: c.CallerWaits) -> Areas:
    state.waits = fact
    return _CALLER


def _armed(state: State, memory: Memory, event: Event, fact: c.EventArmed) -> Areas:
    return _ARMED


def _fired(state: State, memory: Memory, event: Event, fact: c.EventFired) -> Areas:
    state.fired.append((event.seq, event.media_ms, fact))
    add_mark(state, memory, Mark(event.seq, event.media_ms, "E", fact.event))
    return _FIRED


def _decided(state: State, memory: Memory, event: Event, fact: c.PersonDecided) -> Areas:
    label = f"{fact.what} {fact.field or fact.action or ''}".strip()
    add_mark(state, memory, Mark(event.seq, event.media_ms, "M", label))
    turn = turn_of(state, memory, fact.turn) if fact.turn is not None else None
    if turn is not None:
        turn.decided.append(fact)
    return _DECIDED


def _directed(state: State, memory: Memory, event: Event, fact: c.DirectorActed) -> Areas:
    before = state.directed or Directed()
    changes: dict[str, bool] = {}
    match fact.what:
        case "hold" | "release":
            changes = {"held": fact.what == "hold"}
        case "microphone":
            changes = {"at_microphone": True, "person_spoke": True}
        case "bank":
            changes = {"at_microphone": False}
            state.microphone, state.undecided_sound = None, False
        case "finish":
            changes = {"finishing": True, "held": False}
    state.directed = replace(before, acts=before.acts + 1, **changes)
    label = f"director: {fact.what.replace('_', ' ')} {fact.plan or ''}".strip()
    add_mark(state, memory, Mark(event.seq, event.media_ms, "M", label))
    return _DIRECTED


def _heard(state: State, memory: Memory, event: Event, fact: c.MicrophonePulse) -> Areas:
    state.microphone = fact
    return _CALLER


HANDLERS: Handlers = {
    c.CallerPlanned: _planned,
    c.CallerSoundBegan: _sound_began,
    c.CallerSoundRefused: _sound_refused,
    c.CallerTurnStarted: _turn_started,
    c.CallerTurnEnded: _turn_ended,
    c.CallerTurnDecided: _turn_decided,
    c.CallerWaits: _waits,
    c.EventArmed: _armed,
    c.EventFired: _fired,
    c.PersonDecided: _decided,
    c.DirectorActed: _directed,
    c.MicrophonePulse: _heard,
}
