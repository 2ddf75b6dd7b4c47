"""The fold of agent facts: connection, replies and their words, what the agent heard of the caller, and the observer's readings."""

from __future__ import annotations

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import NOTHING, Areas, Handlers, Memory, areas, own_row, reply_of, turn_of
from apex_tui.timeline.state import Act, Reply, State

_SESSION = areas("session")
_CONNECTED = areas("session", "tools")  # it may say where the tools are served
_TRANSCRIPT = areas("transcript")
_AUDIBLE = areas("transcript", "lanes")
_ACTED = areas("caller")


def _connected(state: State, memory: Memory, event: Event, fact: a.AgentConnected) -> Areas:
    state.connected = fact
    return _CONNECTED


def _closed(state: State, memory: Memory, event: Event, fact: a.AgentClosed) -> Areas:
    state.closed = (fact.code, fact.reason, fact.clean)
    return _SESSION


def _error(state: State, memory: Memory, event: Event, fact: a.AgentError) -> Areas:
    state.errors.append((event.seq, event.media_ms, fact.kind, fact.message))
    return _SESSION


def _reply_started(state: State, memory: Memory, event: Event, fact: a.ReplyStarted) -> Areas:
    reply = reply_of(state, memory, event, fact.reply)
    reply.after_tool = reply.after_tool or fact.after_tool
    return _TRANSCRIPT


def _audio_arrived(state: State, memory: Memory, event: Event, fact: a.AudioArrived) -> Areas:
    reply = reply_of(state, memory, event, fact.reply)
    if reply.first_byte_ms is not None:
        return memory.ignore()
    reply.first_byte_ms = event.media_ms
    return _TRANSCRIPT


def _close_stretches(state: State, memory: Memory, at_ms: float) -> None:
    for name in memory.audible:
        reply = own_row(memory, state.replies, name)
        onset = reply.speech[-1][0]
        reply.speech[-1] = (onset, max(onset, at_ms))
    memory.audible.clear()


def _speech_started(state: State, memory: Memory, event: Event, fact: a.AgentSpeechStarted) -> Areas:
    state.agent_speaking = True
    if fact.reply is None:
        return _AUDIBLE
    reply = reply_of(state, memory, event, fact.reply)
    if fact.reply in memory.audible:
        return memory.ignore()
    # One lane, one voice: what was still open ended here at the latest.
    _close_stretches(state, memory, fact.onset_ms)
    reply.speech.append((fact.onset_ms, None))
    memory.audible.append(fact.reply)
    return _AUDIBLE


def _speech_ended(state: State, memory: Memory, event: Event, fact: a.AgentSpeechEnded) -> Areas:
    state.agent_speaking = False
    if fact.reply is not None:
        reply_of(state, memory, event, fact.reply)
    # A stretch may begin in one reply and end in the next; the lane is silent after it in any case.
    _close_stretches(state, memory, fact.offset_ms)
    return _AUDIBLE


def _paused(state: State, memory: Memory, event: Event, fact: a.AgentPaused) -> Areas:
    return NOTHING


def _late_dropped(state: State, memory: Memory, event: Event, fact: a.LateDropped) -> Areas:
    reply_of(state, memory, event, fact.reply).late_dropped_ms = fact.dropped_ms
    return _TRANSCRIPT


def _stage(state: State, memory: Memory, event: Event, fact: a.AgentStage) -> Areas:
    state.stages.append(fact)
    return NOTHING


def _usage(state: State, memory: Memory, event: Event, fact: a.AgentUsage) -> Areas:
    part = state.usage[fact.part] = dict(state.usage.get(fact.part, {}))
    for name, count in fact.counts.items():
        part[name] = count if fact.so_far else part.get(name, 0.0) + count
    return NOTHING


def _said(state: State, memory: Memory, event: Event, fact: a.AgentSaid) -> Areas:
    reply = reply_of(state, memory, event, fact.reply)
    before = reply.items.get(fact.item, "")
    reply.items[fact.item] = fact.text if fact.final and fact.text else before + fact.text
    ended = reply.closed == "played" and reply.status == "completed" and _tells_end(state)
    if ended and reply.heard == reply.text:
        # It was heard to its end, so all its words were, whenever they are written.
        reply.text = reply.heard = _whole(reply)
    elif reply.closed is None or not reply.text or reply.heard is None:
        reply.text = _whole(reply)
        if reply.closed is not None and reply.played_ms:
            reply.heard = None  # it was heard without its words: how far into them is not known
    # Else the text stays the one that the heard prefix was taken from.
    return _TRANSCRIPT


def _tells_end(state: State) -> bool:
    """Whether the agent says itself when a reply is complete; one whose end is found by silence may have broken it off."""
    return state.connected is None or state.connected.capabilities.get("tells_end", True) is not False


def _whole(reply: Reply) -> str:
    if len(reply.items) == 1:
        return next(iter(reply.items.values()))
    return " ".join(text.strip() for text in reply.items.values())


def _heard_caller(state: State, memory: Memory, event: Event, fact: a.AgentHeardCaller) -> Areas:
    number = memory.item_turn.get(fact.item)
    if number is None:
        number = _transcribed_turn(state, fact.final)
    if number is None:
        return memory.ignore()
    memory.item_turn[fact.item] = number
    if not fact.final:  # a transcript that may still change is not what the agent heard
        return NOTHING
    turn = turn_of(state, memory, number)
    if turn is None:
        return memory.ignore()
    parts = memory.transcripts[number] = {**memory.transcripts.get(number, {}), fact.item: fact.text}
    turn.heard_by_agent = " ".join(text.strip() for text in parts.values())
    turn.heard_seq = event.seq
    return _TRANSCRIPT


def _transcribed_turn(state: State, final: bool) -> int | None:
    """Number of the turn that a new item transcribes: the most recent one. A turn can be split into several items, at its pauses.

    A final transcript that arrives while a turn is being spoken belongs to the turn before, if that one still waits for its own.
    """
    if not state.turns:
        return None
    latest = state.turns[-1]
    if final and latest.offset_ms is None and len(state.turns) > 1:
        earlier = state.turns[-2]
        # Agents rarely transcribe a back-channel, so one without a transcript is not waiting.
        if earlier.heard_by_agent is None and earlier.act != "BACKCHANNEL":
            return earlier.number
    return latest.number


def _noticed(state: State, memory: Memory, event: Event, fact: a.AgentNoticed) -> Areas:
    return NOTHING


def _generated(state: State, memory: Memory, event: Event, fact: a.ReplyGenerated) -> Areas:
    reply = reply_of(state, memory, event, fact.reply)
    reply.status, reply.status_reason = fact.status, fact.reason
    reply.generated_ms = fact.generated_ms
    return _TRANSCRIPT


def _flushed(state: State, memory: Memory, event: Event, fact: a.ReplyFlushed) -> Areas:
    reply_of(state, memory, event, fact.reply)
    return _AUDIBLE


def _reply_closed(state: State, memory: Memory, event: Event, fact: a.ReplyClosed) -> Areas:
    reply = reply_of(state, memory, event, fact.reply)
    reply.closed, reply.closed_ms = fact.how, event.media_ms
    reply.played_ms, reply.generated_ms = fact.played_ms, fact.generated_ms
    reply.heard, reply.closed_seq = fact.heard, event.seq
    reply.text = fact.text or reply.text
    return _AUDIBLE


def _truncated(state: State, memory: Memory, event: Event, fact: a.AgentTruncated) -> Areas:
    return NOTHING


def _acted(state: State, memory: Memory, event: Event, fact: a.AgentActed) -> Areas:
    if memory.running and fact.key.startswith("ASK") and fact.source != "tool":
        state.questions_during_call += 1
    state.acts.append(Act(event.seq, event.media_ms, fact.key, fact.source, fact.reply, fact.evidence))
    return _ACTED


HANDLERS: Handlers = {
    a.AgentConnected: _connected,
    a.AgentClosed: _closed,
    a.AgentError: _error,
    a.ReplyStarted: _reply_started,
    a.AudioArrived: _audio_arrived,
    a.AgentSpeechStarted: _speech_started,
    a.AgentSpeechEnded: _speech_ended,
    a.AgentPaused: _paused,
    a.LateDropped: _late_dropped,
    a.AgentSaid: _said,
    a.AgentHeardCaller: _heard_caller,
    a.AgentNoticed: _noticed,
    a.AgentStage: _stage,
    a.AgentUsage: _usage,
    a.ReplyGenerated: _generated,
    a.ReplyFlushed: _flushed,
    a.ReplyClosed: _reply_closed,
    a.AgentTruncated: _truncated,
    a.AgentActed: _acted,
}
