"""Who had the floor: barge-ins, false yields, cut-ins, answers and silences, from the facts of a timeline (measures.md sections 3 and 4).

`FloorMeter` is used twice, unchanged: live, where the conductor puts what it returns on the timeline, and afterwards, where the scorer runs
it over the log again and must get the same facts. It therefore decides by media positions only, never by the order in which a process
happened to look: `take` first advances to the event's media time, then learns the event.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from apex_tui.score.stops import Burst, judge_stop
from apex_tui.timeline.agent_facts import (
    AgentNoticed,
    AgentSpeechEnded,
    AgentSpeechStarted,
    AudioArrived,
    BargeInClosed,
    BargeInOpened,
    CutIn,
    FalseYield,
    ReplyClosed,
    ReplyFlushed,
    ReplyGenerated,
    ReplyStarted,
    ResponseMeasured,
    SilenceMeasured,
)
from apex_tui.timeline.caller_facts import CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.session_facts import SessionEnded
from apex_tui.timeline.work_facts import ToolCalled, ToolCancelled, ToolFinished

WINDOW_MS = 2000.0
"""How long a barge-in is watched after its onset (``yielded_2s``)."""
KNOWN_AFTER_MS = 350.0
"""An audible edge is on the timeline at most this long after it happened: a 250 ms gap, two frames, and a margin."""
OPENS_AFTER_MS = 60.0
"""A barge-in is announced this long after the onset, so that an agent onset just before it is known."""
BURST_MS = 300.0
"""Shorter sound after a stop is a stale burst, not a resumption."""
TERMINAL_MS = 300.0
"""An agent onset within the last 300 ms of a caller turn is no fault."""
BACKCHANNEL_MS = 1000.0
BACKCHANNEL_WORDS = 2
FALSE_YIELD_WITHIN_MS = 1000.0
FALSE_YIELD_FOR_MS = 600.0
SILENCE_MS = 3000.0


class Measured(NamedTuple):
    """A derived fact and the sequence numbers that prove it."""

    fact: AnyFact
    causes: tuple[int, ...]


@dataclass(slots=True)
class _Turn:
    number: int
    seq: int
    backchannel: bool
    onset: float
    ends: float
    offset: float | None = None
    judged: bool = False
    interrupted_reply: str | None = None
    answered: bool = False

    @property
    def end(self) -> float:
        return self.ends if self.offset is None else self.offset


@dataclass(slots=True)
class _Reply:
    id: str
    seq: int
    after_tool: bool = False
    first_byte: float | None = None
    status: str | None = None
    flushed: list[tuple[float, int]] = field(default_factory=list)
    closed: ReplyClosed | None = None
    closed_at: float | None = None
    generated_ms: float | None = None
    first_audible: float | None = None


@dataclass(slots=True)
class _Speech:
    reply: str | None
    on: float
    seq: int
    leading: float | None
    off: float | None = None
    off_seq: int | None = None
    cut_in_judged: bool = False


@dataclass(slots=True)
class _Watch:
    number: int
    turn: _Turn
    reply: str


class FloorMeter:
    """Folds a timeline into measured facts; see the module's docstring for how it is used."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._replies: dict[str, _Reply] = {}
        self._speech: list[_Speech] = []
        self._noticed: list[tuple[float, AgentNoticed, int]] = []
        self._tools: list[tuple[str, str, float, float | None]] = []
        self._unjudged: list[_Turn] = []
        self._watches: list[_Watch] = []
        self._backchannels: list[_Turn] = []
        self._unanswered: list[_Turn] = []
        self._cut_ins: list[tuple[_Turn, _Speech]] = []
        self._barge_ins = 0
        self._silence_from: float | None = None
        self._handlers: dict[type, Callable[[Event, Any], list[Measured]]] = {
            CallerTurnStarted: self._caller_started,
            CallerTurnEnded: self._caller_ended,
            ReplyStarted: self._reply_started,
            AudioArrived: self._audio_arrived,
            AgentSpeechStarted: self._speech_started,
            AgentSpeechEnded: self._speech_ended,
            AgentNoticed: self._agent_noticed,
            ReplyGenerated: self._reply_generated,
            ReplyFlushed: self._reply_flushed,
            ReplyClosed: self._reply_closed,
            ToolCalled: self._tool_called,
            ToolFinished: self._tool_over,
            ToolCancelled: self._tool_over,
            SessionEnded: self._session_ended,
        }

    def take(self, event: Event) -> list[Measured]:
        """Advance to the event's media time, then learn it. Returns what became measurable."""
        out = self.advance(event.media_ms)
        handler = self._handlers.get(type(event.fact))
        if handler is not None:
            out += handler(event, event.fact)
        return out

    def advance(self, now: float) -> list[Measured]:
        """Everything whose observation ends at or before ``now`` (media ms)."""
        out: list[Measured] = []
        while self._unjudged and now >= self._unjudged[0].onset + OPENS_AFTER_MS:
            out += self._judge_onset(self._unjudged.pop(0))
        while self._watches and now >= self._watches[0].turn.onset + WINDOW_MS + KNOWN_AFTER_MS:
            out.append(self._close(self._watches.pop(0), now, cut_short=False))
        patience = FALSE_YIELD_WITHIN_MS + FALSE_YIELD_FOR_MS + KNOWN_AFTER_MS
        while self._backchannels and now >= self._backchannels[0].onset + patience:
            out += self._judge_backchannel(self._backchannels.pop(0))
        if self._cut_ins:
            out += self._judge_cut_ins(now)
        return out + self._answer_with_known_speech(now)

    def finish(self, now: float) -> list[Measured]:
        """The session is over (or its log ends): what is still observed is censored, unanswered turns stay unanswered."""
        out = self.advance(now)
        for turn in self._unjudged:
            out += self._judge_onset(turn)
        out += [self._close(watch, now, cut_short=True) for watch in self._watches]
        out += [
            m
            for turn in self._backchannels
            if turn.onset + FALSE_YIELD_WITHIN_MS <= now
            for m in self._judge_backchannel(turn)
        ]
        out += self._judge_cut_ins(now, final=True)
        out += self._answer_with_known_speech(now, final=True)
        out += [_unanswered(turn) for turn in self._unanswered]
        self._unjudged, self._watches, self._backchannels, self._cut_ins, self._unanswered = [], [], [], [], []
        out += self._end_silence(now)
        return out

    # --- learning ------------------------------------------------------------------------------------------------------------------

    def _caller_started(self, event: Event, fact: CallerTurnStarted) -> list[Measured]:
        out = self._end_silence(fact.onset_ms)
        turn = _Turn(fact.turn, event.seq, fact.act == "BACKCHANNEL", fact.onset_ms, fact.ends_ms)
        self._turns.append(turn)
        self._unjudged.append(turn)
        if turn.backchannel:
            self._backchannels.append(turn)
            return out
        for watch in list(self._watches):
            self._watches.remove(watch)
            out.append(self._close(watch, fact.onset_ms, cut_short=True))
        out += self._answer_with_known_speech(fact.onset_ms, final=True)
        out += [_unanswered(earlier) for earlier in self._unanswered]
        self._unanswered = [] if fact.act == "END" else [turn]  # nobody owes an answer to a goodbye
        return out

    def _caller_ended(self, event: Event, fact: CallerTurnEnded) -> list[Measured]:
        for turn in reversed(self._turns):
            if turn.number == fact.turn:
                turn.offset = fact.offset_ms
                break
        self._begin_silence(fact.offset_ms)
        return self._answer_with_known_speech(event.media_ms)

    def _reply_started(self, event: Event, fact: ReplyStarted) -> list[Measured]:
        self._reply(fact.reply, event.seq).after_tool = fact.after_tool
        return []

    def _audio_arrived(self, event: Event, fact: AudioArrived) -> list[Measured]:
        reply = self._reply(fact.reply, event.seq)
        if reply.first_byte is None:
            reply.first_byte = event.media_ms
        return []

    def _speech_started(self, event: Event, fact: AgentSpeechStarted) -> list[Measured]:
        out = self._end_silence(fact.onset_ms)
        speech = _Speech(fact.reply, fact.onset_ms, event.seq, fact.leading_silence_ms)
        self._speech.append(speech)
        if fact.reply is not None:
            reply = self._reply(fact.reply, event.seq)
            if reply.first_audible is None:
                reply.first_audible = fact.onset_ms
        for turn in self._turns[-4:]:
            if turn.onset < speech.on < turn.end:
                self._cut_ins.append((turn, speech))
        return out + self._answer_with_known_speech(event.media_ms)

    def _speech_ended(self, event: Event, fact: AgentSpeechEnded) -> list[Measured]:
        for speech in reversed(self._speech):
            if speech.off is None:
                speech.off, speech.off_seq = fact.offset_ms, event.seq
                break
        self._begin_silence(fact.offset_ms)
        return self._answer_with_known_speech(event.media_ms)

    def _agent_noticed(self, event: Event, fact: AgentNoticed) -> list[Measured]:
        if fact.what == "speech_started":
            self._noticed.append((event.media_ms, fact, event.seq))
        return []

    def _reply_generated(self, event: Event, fact: ReplyGenerated) -> list[Measured]:
        reply = self._reply(fact.reply, event.seq)
        reply.status, reply.generated_ms = fact.status, fact.generated_ms
        return []

    def _reply_flushed(self, event: Event, fact: ReplyFlushed) -> list[Measured]:
        self._reply(fact.reply, event.seq).flushed.append((fact.at_ms, event.seq))
        return []

    def _reply_closed(self, event: Event, fact: ReplyClosed) -> list[Measured]:
        reply = self._reply(fact.reply, event.seq)
        reply.closed, reply.closed_at = fact, event.media_ms
        return []

    def _tool_called(self, event: Event, fact: ToolCalled) -> list[Measured]:
        if fact.error is None:
            self._tools.append((fact.call, fact.name, event.media_ms, None))
        return []

    def _tool_over(self, event: Event, fact: ToolFinished | ToolCancelled) -> list[Measured]:
        self._tools = [
            (call, name, start, event.media_ms if call == fact.call and end is None else end)
            for call, name, start, end in self._tools
        ]
        return []

    def _session_ended(self, event: Event, fact: SessionEnded) -> list[Measured]:
        return self.finish(event.media_ms)

    def _reply(self, name: str, seq: int) -> _Reply:
        return self._replies.setdefault(name, _Reply(name, seq))

    # --- judging -------------------------------------------------------------------------------------------------------------------

    def _speech_at(self, at: float) -> _Speech | None:
        """The audible stretch that covers ``at``, as far as it is known."""
        return next((s for s in reversed(self._speech) if s.on <= at and (s.off is None or s.off >= at)), None)

    def _open_reply(self, at: float) -> _Reply | None:
        """The reply that was open at ``at``: audible before, not closed then."""
        for reply in reversed(self._replies.values()):
            begun = reply.first_audible is not None and reply.first_audible < at
            if begun and (reply.closed_at is None or reply.closed_at > at):
                return reply
        return None

    def _judge_onset(self, turn: _Turn) -> list[Measured]:
        turn.judged = True
        reply = self._open_reply(turn.onset)
        if reply is None or turn.backchannel:
            return []
        turn.interrupted_reply = reply.id
        self._barge_ins += 1
        self._watches.append(_Watch(self._barge_ins, turn, reply.id))
        kind: Literal["overlap", "in_pause"] = "overlap" if self._speech_at(turn.onset) else "in_pause"
        fact = BargeInOpened(barge_in=self._barge_ins, turn=turn.number, reply=reply.id, kind=kind, onset_ms=turn.onset)
        return [Measured(fact, (reply.seq, turn.seq))]

    def _close(self, watch: _Watch, now: float, *, cut_short: bool) -> Measured:
        """The verdict on one barge-in. ``cut_short``: the session or the next caller turn ended the observation."""
        turn, reply = watch.turn, self._replies[watch.reply]
        covering = self._speech_at(turn.onset)
        noticed = next((n for n in self._noticed if n[0] >= turn.onset), None)
        flush = next((f for f in reply.flushed if f[0] >= turn.onset), None)
        # An agent that paused at the onset has no stop delay; whether it went on is judged all the same.
        silent_from = turn.onset if covering is None else covering.off
        since = turn.onset if covering is None else covering.on
        later = tuple(Burst(s.on, s.off, s.reply) for s in self._speech if s.on > since)
        proven = flush is not None or reply.status == "cancelled"
        ended = reply.closed is not None and reply.closed.how == "played" and reply.status == "completed"
        observed_to = min(now, turn.onset + WINDOW_MS)
        stop = judge_stop(turn.onset, turn.end, silent_from, later, proven, ended, observed_to, cut_short)
        if covering is None:
            stop = stop._replace(delay_ms=None)
        detected = noticed if noticed is not None and noticed[0] <= turn.onset + WINDOW_MS else None
        at_signal = None if detected is None else detected[0]
        fact = BargeInClosed(
            barge_in=watch.number,
            turn=turn.number,
            reply=watch.reply,
            kind="overlap" if covering is not None else "in_pause",
            onset_ms=turn.onset,
            stop_kind=stop.kind,
            stop_delay_ms=stop.delay_ms,
            detect_ms=None if at_signal is None else round(at_signal - turn.onset, 3),
            detect_source=None if detected is None else detected[1].source,
            flush_ms=_difference(None if covering is None else covering.off, at_signal)
            if stop.delay_ms is not None
            else None,
            played_ms=reply.closed.played_ms if reply.closed else None,
            generated_ms=reply.closed.generated_ms if reply.closed else reply.generated_ms,
            stale_bursts=stop.stale_bursts,
        )
        causes = [turn.seq, reply.seq]
        causes += [detected[2]] if detected else []
        causes += [flush[1]] if flush else []
        causes += [covering.off_seq] if covering is not None and covering.off_seq is not None else []
        return Measured(fact, tuple(sorted(set(causes))))

    def _judge_backchannel(self, turn: _Turn) -> list[Measured]:
        covering = self._speech_at(turn.onset)
        if (
            covering is None
            or covering.off is None
            or covering.off - turn.onset > FALSE_YIELD_WITHIN_MS
            or covering.reply is None
        ):
            return []
        reply = self._replies.get(covering.reply)
        flush = next((f for f in reply.flushed if f[0] >= turn.onset), None) if reply else None
        if reply is None or (flush is None and reply.status != "cancelled"):
            return []
        again = next((s.on for s in self._speech if s.on > covering.off), None)
        silent = (again if again is not None else covering.off + FALSE_YIELD_FOR_MS) - covering.off
        if silent < FALSE_YIELD_FOR_MS:
            return []
        fact = FalseYield(turn=turn.number, reply=reply.id, onset_ms=turn.onset, silent_ms=round(silent, 3))
        return [Measured(fact, tuple(sorted({turn.seq, covering.seq, *([flush[1]] if flush else [])})))]

    def _judge_cut_ins(self, now: float, *, final: bool = False) -> list[Measured]:
        out: list[Measured] = []
        for pair in list(self._cut_ins):
            turn, speech = pair
            end = speech.off if speech.off is not None else now
            settled = turn.offset is not None and (
                speech.off is not None or now - speech.on > BACKCHANNEL_MS + KNOWN_AFTER_MS
            )
            if not settled and not final:
                continue
            self._cut_ins.remove(pair)
            overlap = max(0.0, min(end, turn.end) - speech.on)
            reply = self._replies.get(speech.reply) if speech.reply else None
            words = len(reply.closed.text.split()) if reply and reply.closed else None
            kind: Literal["cut_in", "terminal_overlap", "agent_backchannel"] = "cut_in"
            if turn.end - speech.on <= TERMINAL_MS:
                kind = "terminal_overlap"
            elif end - speech.on <= BACKCHANNEL_MS and end < turn.end and (words is None or words <= BACKCHANNEL_WORDS):
                kind = "agent_backchannel"
            fact = CutIn(
                turn=turn.number, reply=speech.reply, onset_ms=speech.on, overlap_ms=round(overlap, 3), kind=kind
            )
            out.append(Measured(fact, tuple(sorted({turn.seq, speech.seq}))))
        return out

    def _answer_with_known_speech(self, now: float, *, final: bool = False) -> list[Measured]:
        """Measure the turn that waits for an answer, once its end and the first sound of a new reply are both known.

        Sound that was over before the turn ended answered nothing; whether it was is known `KNOWN_AFTER_MS` after the turn's end.
        """
        if not self._unanswered or self._unanswered[0].offset is None:
            return []
        turn = self._unanswered[0]
        if not turn.judged and (open_reply := self._open_reply(turn.onset)) is not None:
            turn.interrupted_reply = open_reply.id
        for speech in self._speech[bisect_right(self._speech, turn.onset, key=lambda s: s.on) :]:
            if speech.reply is None or speech.reply == turn.interrupted_reply:
                continue
            if speech.off is not None and speech.off <= turn.end:
                continue
            if speech.on < turn.end and speech.off is None and now < turn.end + KNOWN_AFTER_MS and not final:
                return []
            self._unanswered = []
            return [self._answer(turn, speech)]
        return []

    def _answer(self, turn: _Turn, speech: _Speech) -> Measured:
        reply = self._replies[speech.reply or ""]
        fact = ResponseMeasured(
            turn=turn.number,
            reply=reply.id,
            first_byte_ms=_difference(reply.first_byte, turn.end),
            first_audible_ms=round(speech.on - turn.end, 3),
            leading_silence_ms=speech.leading,
            after_tool=reply.after_tool,
        )
        return Measured(fact, tuple(sorted({turn.seq, reply.seq, speech.seq})))

    # --- silence -------------------------------------------------------------------------------------------------------------------

    def _begin_silence(self, at: float) -> None:
        self._silence_from = at if self._silence_from is None else max(self._silence_from, at)

    def _end_silence(self, at: float) -> list[Measured]:
        begun, self._silence_from = self._silence_from, None
        last_speech = self._speech[-1] if self._speech else None
        busy = (last_speech is not None and last_speech.off is None) or any(t.offset is None for t in self._turns[-2:])
        if begun is None or busy or at - begun < SILENCE_MS:
            return []
        running = [t for t in self._tools if t[2] < at and (t[3] is None or t[3] > begun)]
        longest = max(running, key=lambda t: (t[3] if t[3] is not None else at) - t[2], default=None)
        fact = SilenceMeasured(
            kind="silent_wait" if longest else "dead_air", from_ms=begun, to_ms=at, tool=longest[1] if longest else None
        )
        return [Measured(fact, (last_speech.seq,) if last_speech else ())]


def _unanswered(turn: _Turn) -> Measured:
    return Measured(ResponseMeasured(turn=turn.number, reply=None), (turn.seq,))


def _difference(later: float | None, earlier: float | None) -> float | None:
    return None if later is None or earlier is None else round(later - earlier, 3)


def measure(events: list[Event]) -> list[Measured]:
    """All measured facts of a log, recomputed from its raw facts; a log that was cut is closed at its last event."""
    meter = FloorMeter()
    out = [measured for event in events for measured in meter.take(event)]
    if events and not isinstance(events[-1].fact, SessionEnded):
        out += meter.finish(events[-1].media_ms)
    return out
