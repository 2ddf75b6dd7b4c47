"""Who had the floor: barge-ins, false yields, cut-ins, answers and silences, from the facts of a timeline (measures.md sections 3 and 4).

`FloorMeter` is used twice, unchanged: live, where the conductor puts what it returns on the timeline, and afterwards, where the scorer runs
it over the log again and must get the same facts. It therefore decides by media positions only, never by the order in which a process
happened to look: `take` first advances to the event's media time, then learns the event. What is learned lies in `floor_state`; each
judgement in a file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from apex_tui.score.answers import Answers
from apex_tui.score.barge_ins import BargeIns
from apex_tui.score.declared import Declared
from apex_tui.score.floor_state import WINDOW_MS, Known, Measured, Speech, Tool, Turn
from apex_tui.score.overlaps import CutIns, FalseYields
from apex_tui.score.silences import Silences
from apex_tui.timeline.agent_facts import (
    AgentConnected,
    AgentNoticed,
    AgentPaused,
    AgentSaid,
    AgentSpeechEnded,
    AgentSpeechStarted,
    AudioArrived,
    ReplyClosed,
    ReplyFlushed,
    ReplyGenerated,
    ReplyStarted,
)
from apex_tui.timeline.caller_facts import CallerTurnDecided, CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import Event, is_over
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.work_facts import ToolCalled, ToolCancelled, ToolFinished

__all__ = ["WINDOW_MS", "FloorMeter", "Measured", "measure"]

ASIDES = frozenset({"BACKCHANNEL", "OVERLAP_WITHOUT_FLOOR_CLAIM"})
"""Floor actions of a back-channel or side talk."""


class FloorMeter:
    """Folds a timeline into measured facts; see the module's docstring for how it is used."""

    def __init__(self) -> None:
        known = self._known = Known()
        self._applies = True
        self._barge_ins = BargeIns(known)
        self._cut_ins = CutIns(known)
        self._false_yields = FalseYields(known)
        self._answers = Answers(known)
        self._silences = Silences(known)
        self._declared = Declared(known)
        self._handlers: dict[type, Callable[[Event, Any], list[Measured]]] = {
            CallerTurnStarted: self._caller_started,
            CallerTurnDecided: self._caller_decided,
            CallerTurnEnded: self._caller_ended,
            ReplyStarted: self._reply_started,
            AudioArrived: self._audio_arrived,
            AgentSpeechStarted: self._speech_started,
            AgentSpeechEnded: self._speech_ended,
            AgentPaused: self._paused,
            AgentSaid: self._said,
            AgentNoticed: self._noticed,
            ReplyGenerated: self._generated,
            ReplyFlushed: self._flushed,
            ReplyClosed: self._closed,
            ToolCalled: self._tool_called,
            ToolFinished: self._tool_over,
            ToolCancelled: self._tool_over,
            SessionEnded: self._session_ended,
        }

    def take(self, event: Event) -> list[Measured]:
        """Advance to the event's media time, then learn it. Returns what became measurable.

        Of an agent without a voice nothing is: measures of the floor are times of sound, and do not apply to it.
        """
        if isinstance(event.fact, AgentConnected):
            self._applies = event.fact.capabilities.get("audio_out", True) is not False
            self._known.tells_end = event.fact.capabilities.get("tells_end", True) is not False
        if not self._applies:
            return []
        out = self.advance(event.media_ms)
        handler = self._handlers.get(type(event.fact))
        if handler is not None:
            out += handler(event, event.fact)
        return out

    def advance(self, now: float) -> list[Measured]:
        """Everything whose observation ends at or before ``now`` (media ms)."""
        if not self._applies:
            return []
        return [
            *self._barge_ins.advance(now),
            *self._false_yields.advance(now),
            *self._cut_ins.advance(now),
            *self._answers.look(now),
            *self._answers.advance(now),
            *self._declared.advance(now),
        ]

    def finish(self, now: float) -> list[Measured]:
        """The session is over (or its log ends): what is still observed is censored, unanswered turns stay unanswered."""
        if not self._applies:
            return []
        return [
            *self.advance(now),
            *self._barge_ins.finish(now),
            *self._false_yields.finish(now),
            *self._cut_ins.advance(now, final=True),
            *self._answers.finish(now),
            *self._silences.finish(now),
        ]

    # --- learning ------------------------------------------------------------------------------------------------------------------

    def _caller_started(self, event: Event, fact: CallerTurnStarted) -> list[Measured]:
        aside = fact.act == "BACKCHANNEL" or fact.floor in ASIDES
        ends = math.inf if fact.detected else fact.ends_ms  # a person's turn is open until its end was heard
        unsaid = fact.pending or fact.echo_suspect
        turn = Turn(fact.turn, event.seq, aside or unsaid, fact.onset_ms, ends, fact.pauses_ms)
        turn.pending, turn.echo = fact.pending, fact.echo_suspect
        self._known.turns.append(turn)
        if turn.echo:  # nobody spoke, as far as can be told: it is shown as what it would be, and changes nothing
            self._barge_ins.began(turn)
            return []
        out = self._silences.caller_began(fact.onset_ms)
        if turn.pending:
            return out
        self._barge_ins.began(turn)
        self._false_yields.began(turn)
        if not aside:  # nobody owes an answer to a goodbye
            out += self._answers.turn_began(turn, wants_answer=fact.act != "END")
        return out

    def _caller_decided(self, event: Event, fact: CallerTurnDecided) -> list[Measured]:
        """A turn at the microphone is known to be a back-channel, or none. One that was decided only after the next turn has no answer of its own."""
        turn = next((t for t in reversed(self._known.turns) if t.number == fact.turn and t.pending), None)
        if turn is None:
            return []
        turn.pending, turn.aside = False, fact.kind == "backchannel"
        self._false_yields.began(turn)
        if turn.aside:
            return []
        self._barge_ins.began(turn)
        later = any(t.onset > turn.onset and not t.aside for t in self._known.turns)
        return [] if later else self._answers.turn_began(turn, wants_answer=True)

    def _caller_ended(self, event: Event, fact: CallerTurnEnded) -> list[Measured]:
        turn = next((t for t in reversed(self._known.turns) if t.number == fact.turn), None)
        if turn is not None:
            turn.offset = fact.offset_ms
        if turn is None or not turn.echo:
            self._silences.caller_ended()
        return self._answers.look(event.media_ms)

    def _reply_started(self, event: Event, fact: ReplyStarted) -> list[Measured]:
        self._known.reply(fact.reply, event.seq, event.media_ms).after_tool = fact.after_tool
        return []

    def _audio_arrived(self, event: Event, fact: AudioArrived) -> list[Measured]:
        reply = self._known.reply(fact.reply, event.seq, event.media_ms)
        if reply.first_byte is None:
            reply.first_byte = event.media_ms
        return []

    def _speech_started(self, event: Event, fact: AgentSpeechStarted) -> list[Measured]:
        speech = Speech(fact.reply, fact.onset_ms, event.seq, fact.leading_silence_ms)
        self._known.speech.append(speech)
        if fact.reply is not None:
            self._known.reply(fact.reply, event.seq, event.media_ms).stretches.append(speech)
        out = self._silences.agent_began(speech)
        self._cut_ins.began(speech)
        return out + self._answers.look(event.media_ms)

    def _speech_ended(self, event: Event, fact: AgentSpeechEnded) -> list[Measured]:
        speech = next((s for s in reversed(self._known.speech) if s.off is None), None)
        if speech is not None:
            speech.off, speech.off_seq, speech.paused = fact.offset_ms, event.seq, fact.in_pause
        return self._silences.agent_ended() + self._answers.look(event.media_ms)

    def _paused(self, event: Event, fact: AgentPaused) -> list[Measured]:
        if fact.reply is not None:
            self._known.reply(fact.reply, event.seq, event.media_ms).pauses.append(fact.from_ms)
        return []

    def _said(self, event: Event, fact: AgentSaid) -> list[Measured]:
        reply = self._known.reply(fact.reply, event.seq, event.media_ms)
        reply.said(fact, event.media_ms)
        # Whoever writes only when a reply is over is judged before its words are there, as one without words.
        self._known.has_words |= reply.closed is None
        return self._silences.words()

    def _noticed(self, event: Event, fact: AgentNoticed) -> list[Measured]:
        self._known.noticed.append((event.media_ms, fact, event.seq))
        self._declared.noticed(fact, event.media_ms, event.seq)
        return []

    def _generated(self, event: Event, fact: ReplyGenerated) -> list[Measured]:
        reply = self._known.reply(fact.reply, event.seq, event.media_ms)
        if reply.status is None:  # the first end counts, whatever is reported later
            reply.status, reply.status_at, reply.generated_ms = fact.status, event.media_ms, fact.generated_ms
            if fact.status == "cancelled":
                self._declared.cancelled(reply)
        return self._silences.words()

    def _flushed(self, event: Event, fact: ReplyFlushed) -> list[Measured]:
        self._known.reply(fact.reply, event.seq, event.media_ms).flushed.append((fact.at_ms, event.seq))
        return []

    def _closed(self, event: Event, fact: ReplyClosed) -> list[Measured]:
        reply = self._known.reply(fact.reply, event.seq, event.media_ms)
        reply.closed, reply.closed_at = fact, event.media_ms
        return self._silences.words() + self._declared.closed(reply, event.media_ms, event.seq)

    def _tool_called(self, event: Event, fact: ToolCalled) -> list[Measured]:
        if fact.error is None:
            self._known.tools.setdefault(
                fact.call, Tool(fact.call, fact.name, event.media_ms, None, fact.source == "mcp")
            )
        return []

    def _tool_over(self, event: Event, fact: ToolFinished | ToolCancelled) -> list[Measured]:
        tool = self._known.tools.get(fact.call)
        if tool is not None and tool.end is None:
            self._known.tools[fact.call] = tool._replace(end=event.media_ms)
        return []

    def _session_ended(self, event: Event, fact: SessionEnded) -> list[Measured]:
        return self.finish(event.media_ms)


def measure(events: list[Event]) -> list[Measured]:
    """All measured facts of a log, recomputed from its raw facts; a log that was cut is closed at its last event."""
    meter = FloorMeter()
    out = [measured for event in events for measured in meter.take(event)]
    if events and not is_over(events):
        out += meter.finish(events[-1].media_ms)
    return out
