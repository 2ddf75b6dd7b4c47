"""What the agent's messages mean for the session: replies, play-out, interruption, acts. Stamped where they arrived, never where handled."""

from __future__ import annotations

from collections import deque

from apex_tui.agents.seam import (
    Agent,
    AgentAudio,
    AgentText,
    Closed,
    LateAudio,
    LimitWarning,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    StageDone,
    Stamped,
    ToolCancelled,
    ToolRequest,
    UsageReported,
    UserTranscript,
)
from apex_tui.audio.edges import Edge, EdgeDetector
from apex_tui.audio.frames import RATE, pcm_from_bytes, to_ms, to_samples
from apex_tui.audio.playout import MAX_WAITING_SAMPLES, PlayOut, Sealed, Span
from apex_tui.caller.observer import ActObserver
from apex_tui.caller.policy import CallerPolicy
from apex_tui.engine.late import LateTally
from apex_tui.engine.replies import Book, Replies
from apex_tui.engine.tool_tasks import ToolTasks
from apex_tui.engine.wiring import Wiring
from apex_tui.score.floor import ASIDES
from apex_tui.timeline import agent_facts as facts
from apex_tui.timeline.caller_facts import CallerTurnDecided, CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import Outcome, SessionWarning
from apex_tui.workflow.model import Workflow

SPANS_KEPT = 400
"""Stretches of the lane remembered to say which reply an edge belongs to: far more than the detector looks back."""
READ_EVERY_MS = 100
LATE_EVERY_MS = 1000


class AgentSide:
    """Keeps the agent's half of the session."""

    def __init__(
        self, workflow: Workflow, agent: Agent, playout: PlayOut, wiring: Wiring, policy: CallerPolicy, tools: ToolTasks
    ) -> None:
        self._agent, self._playout, self._wiring, self._policy, self._tools = agent, playout, wiring, policy, tools
        self._edges = EdgeDetector()
        can = agent.capabilities
        self._replies = Replies(playout, audible=can.audio_out, tells_end=can.tells_end)
        self._observer = ActObserver(workflow)
        self._spans: deque[Span] = deque(maxlen=SPANS_KEPT)
        self._cut_off: set[str] = set()
        self._owners: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._read: dict[str, str] = {}
        self._quiet_since = 0.0
        self._sounding: str | None = None
        self._sealed = 0
        self._playing: str | None = None
        self._late = LateTally()
        self._interrupted: frozenset[str] = frozenset()
        self._turn, self._turn_ended_ms = -1, 0.0  # the caller turn that claimed the floor last, and the end of one
        self.heard_after_ms = 0.0
        """How long after a frame was sealed the person hears it; 0 where nobody but the timeline listens."""
        wiring.listen(self._learn)

    # --- what the caller could perceive ---------------------------------------------------------------------------------------------

    @property
    def audible(self) -> bool:
        """Whether the agent can be heard now."""
        return self._edges.audible

    @property
    def quiet_since_ms(self) -> float:
        """Media position since which the agent cannot be heard."""
        return self._quiet_since

    @property
    def open_reply(self) -> str | None:
        """The reply that sounds or is about to."""
        book = self._replies.open
        return book.id if book else None

    @property
    def reply_played_ms(self) -> float:
        """How much of the open reply was played."""
        book = self._replies.open
        return self._replies.played_ms(book) if book else 0.0

    @property
    def expected(self) -> bool:
        """Whether more is to be heard: a reply is being produced, or audio waits."""
        return self._replies.generating or self._playout.pending() > 0

    def _learn(self, event: Event) -> None:
        """While the caller speaks into a reply, what that reply still asks for comes too late, whatever the agent has noticed."""
        match event.fact:
            case CallerTurnStarted(floor=floor, turn=turn) if floor not in ASIDES:
                self._turn = turn
                self._interrupted = frozenset(book.id for book in self._replies.live if book.heard_onset)
            case CallerTurnEnded() | CallerTurnDecided(kind="backchannel"):
                self._interrupted = frozenset()
                if isinstance(event.fact, CallerTurnEnded) and event.fact.turn == self._turn:
                    self._turn_ended_ms = event.fact.offset_ms

    def too_late(self, reply: str | None) -> bool:
        """Whether a call that came over MCP belongs to a reply that was cut off or is spoken into. None, when the agent does not say which
        reply: whether the caller speaks into one now, since what it says cannot have been understood yet.
        """
        return bool(self._interrupted) if reply is None else reply in self._cut_off or reply in self._interrupted

    # --- messages -------------------------------------------------------------------------------------------------------------------

    def take(self, stamped: Stamped) -> tuple[Outcome, str] | None:
        """Handle one neutral event. Returns an ending when the session cannot go on."""
        event = stamped.event
        match event:
            case AgentAudio():
                self._audio(event, self._wiring.media_of(stamped.at))
            case LateAudio():
                self._late.more(event.reply, event.ms)
            case AgentText():
                self._words(event)
            case ReplyBegun():
                self._book(event.reply, event.after_tool)
            case ReplyEnded():
                self._reply_ended(event, self._wiring.media_of(stamped.at))
            case ToolRequest():
                self._tools.begin(event, event.reply in self._cut_off or event.reply in self._interrupted)
            case ToolCancelled():
                self._tools.take_back(event.call_id, event.reason)
            case SpeechStarted() | SpeechStopped():
                self._noticed(event, self._wiring.media_of(stamped.at))
            case UserTranscript():
                fact_heard = facts.AgentHeardCaller(item=event.item, text=event.text, final=event.final)
                self._wiring.emit(fact_heard, (self._wiring.turn_seq,))
            case ProviderError():
                self._wiring.emit(facts.AgentError(kind=event.kind, message=event.message, caused_by=event.caused_by))
                if event.fatal:
                    return "infrastructure", event.message
            case StageDone():
                self._stage(event)
            case UsageReported(reply=reply):
                usage = facts.AgentUsage(part=event.part, reply=reply, counts=event.counts, so_far=event.so_far)
                self._wiring.emit(usage, (self._wiring.reply_seq.get(reply or ""),))
            case LimitWarning():
                self._wiring.emit(SessionWarning(code="session-limit", message=event.message))
            case Closed():
                self._wiring.emit(facts.AgentClosed(code=event.code, reason=event.reason, clean=event.clean))
                return ("agent_closed" if event.clean else "infrastructure"), event.sentence
            case Ready():
                pass  # a session that is configured again in mid-call changes nothing here
        return None

    def _book(self, reply: str, after_tool: bool = False) -> Book:
        known = self._replies.get(reply)
        if known is not None:
            return known
        self._tools.awaiting_answer = False
        # Not every agent says what a reply answers: one that follows a caller turn which came after the last result answers that turn.
        after_tool = after_tool and self._tools.answered_ms > self._turn_ended_ms
        causes = (self._wiring.turn_seq, max(self._wiring.call_seq.values(), default=None) if after_tool else None)
        seq = self._wiring.emit(facts.ReplyStarted(reply=reply, after_tool=after_tool), causes)
        self._wiring.reply_seq[reply] = seq
        return self._replies.begin(reply, seq, after_tool)

    def _stage(self, event: StageDone) -> None:
        began, ended = self._wiring.media_of(event.began), self._wiring.media_of(event.ended)
        fact = facts.AgentStage(stage=event.stage, reply=event.reply, from_ms=began, to_ms=ended)
        self._wiring.emit(fact, (self._wiring.reply_seq.get(event.reply or ""), self._wiring.turn_seq))

    def _words(self, event: AgentText) -> None:
        book = self._book(event.reply)
        if not self._replies.words(event.reply, self._item(event.reply, event.item), event.text, event.final):
            return  # a delta after the whole, or the whole once more
        arrived = self._replies.received_ms(book)
        fact = facts.AgentSaid(reply=event.reply, item=event.item, text=event.text, final=event.final, audio_ms=arrived)
        self._wiring.emit(fact, (book.seq,))

    def _audio(self, event: AgentAudio, at_ms: float) -> None:
        book = self._book(event.reply)
        if self._playout.is_flushed(event.reply):
            self._late.more(event.reply, len(event.pcm) * 500 / RATE)
            return
        pcm, item = pcm_from_bytes(event.pcm), self._item(event.reply, event.item)
        if self._replies.received_ms(book) == 0 and not book.flushed:
            self._wiring.emit(facts.AudioArrived(reply=event.reply, item=event.item), (book.seq,))
        self._replies.sound(event.reply, item, pcm)
        lost_before = self._playout.overflow
        self._playout.push(to_samples(at_ms), event.reply, item, pcm)
        if self._playout.overflow and not lost_before:
            minutes = f"more than {to_ms(MAX_WAITING_SAMPLES) / 60_000:g} minutes of its sound wait to be heard"
            self._wiring.emit(
                facts.AgentError(kind="backpressure", message=f"{minutes}; what is beyond them is left out")
            )

    def _item(self, reply: str, item: str) -> str:
        """The item's name in here, which is its id, unless another reply had an item of that id before: each reply's sound is counted apart."""
        owner = self._owners.setdefault(item, reply)
        if owner == reply:
            return item
        name = f"{item} of {reply}"
        if name not in self._ids:
            self._ids[name] = item
            self._wiring.emit(
                facts.AgentError(
                    kind="protocol",
                    message=f"the item {item} of {owner} is used again by {reply}; they are counted apart",
                )
            )
        return name

    def _reply_ended(self, event: ReplyEnded, at_ms: float) -> None:
        book = self._book(event.reply)
        book.status = event.status
        generated = self._replies.received_ms(book)
        fact = facts.ReplyGenerated(reply=event.reply, status=event.status, reason=event.reason, generated_ms=generated)
        self._wiring.emit(fact, (book.seq,))
        if event.status == "cancelled":
            self._cut_off.add(event.reply)
            if self._playout.pending_of(event.reply) > 0:
                self._flush(at_ms, ())
            # Where nothing waits, nothing was lost, and it was cut off all the same.
            book.flushed = book.flushed or generated > 0
            self._playout.refuse(event.reply)
        self._playout.complete(event.reply)

    def _noticed(self, event: SpeechStarted | SpeechStopped, at_ms: float) -> None:
        started = isinstance(event, SpeechStarted)
        fact = facts.AgentNoticed(
            what="speech_started" if started else "speech_stopped", source=event.source, audio_ms=event.audio_ms
        )
        seq = self._wiring.emit(fact, (self._wiring.turn_seq,))
        if started:
            self._flush(at_ms, (seq,))

    def _flush(self, at_ms: float, causes: tuple[int, ...]) -> None:
        """The agent let go of the floor: drop what was not heard and tell it how far we came."""
        waiting = {book.id: self._playout.pending_of(book.id) for book in self._replies.live}
        flushed = self._playout.flush(to_samples(at_ms))
        dropped = {item.reply for item in flushed.items}
        for reply in dropped:
            book = self._book(reply)
            book.flushed = True
            self._cut_off.add(reply)
            lost = to_ms(max(0, waiting.get(reply, 0)))
            fact = facts.ReplyFlushed(reply=reply, at_ms=at_ms, dropped_ms=lost)
            self._wiring.emit(fact, (book.seq, *causes))
        for book in self._replies.live:
            # A reply whose audio had just run dry lost nothing, and was cut off all the same.
            if not book.flushed and self._playout.is_flushed(book.id):
                book.flushed = True
                self._cut_off.add(book.id)
        for item in flushed.items:
            played = min(item.played_samples, item.received_samples)
            heard_ms = int(to_ms(played))
            if heard_ms > 0 and self._agent.capabilities.truncate:
                name = self._ids.get(item.item, item.item)
                self._agent.truncate(name, heard_ms)
                self._wiring.emit(facts.AgentTruncated(item=name, audio_end_ms=heard_ms), causes)

    # --- each frame -----------------------------------------------------------------------------------------------------------------

    def heard(self, sealed: Sealed, now_ms: float) -> None:
        """One frame of the agent lane was played."""
        for span in sealed.spans:
            self._spans.append(span)
            book = self._replies.get(span.reply)
            if book is not None and book.first_played is None:
                book.first_played = span.lane_from
        for edge in self._listen(sealed):
            self._edge(edge.kind, edge.at)
        for since, until in self._edges.take_pauses():
            pause = facts.AgentPaused(
                reply=self._reply_at(since), from_ms=self._at_ear(since), to_ms=self._at_ear(until)
            )
            self._wiring.emit(pause, (self._wiring.reply_seq.get(pause.reply or ""),))
        if self._edges.audible:
            self._quiet_since = now_ms
        if now_ms % READ_EVERY_MS == 0:
            self._read_open_reply(now_ms)
        if now_ms % LATE_EVERY_MS == 0:
            self._late.report(self._wiring)
        for book in self._replies.due_to_close():
            self._close_reply(book, now_ms)

    def _listen(self, sealed: Sealed) -> list[Edge]:
        """Find edges; where one reply follows another, the sound is parted: each reply has an onset of its own."""
        start, done = self._sealed, 0
        edges: list[Edge] = []
        for span in sealed.spans:
            if span.reply != self._playing and self._playing is not None:
                edges += self._edges.feed(sealed.pcm[done : span.lane_from - start])
                edges += self._edges.split()
                done = span.lane_from - start
            self._playing = span.reply
        self._sealed += len(sealed.pcm)
        return edges + self._edges.feed(sealed.pcm[done:])

    def _edge(self, kind: str, at: int) -> None:
        if kind == "on":
            reply = self._reply_at(at)
            book = self._replies.get(reply) if reply else None
            leading = None
            if book is not None and not book.heard_onset and book.first_played is not None:
                book.heard_onset = True
                leading = to_ms(max(0, at - book.first_played))
            self._sounding = reply
            fact = facts.AgentSpeechStarted(reply=reply, onset_ms=self._at_ear(at), leading_silence_ms=leading)
            self._wiring.emit(fact, (book.seq if book else None,))
        else:
            reply, self._sounding = self._sounding, None
            causes = (self._wiring.reply_seq.get(reply or ""),)
            pause = self._plays_on(reply, at)
            self._wiring.emit(facts.AgentSpeechEnded(reply=reply, offset_ms=self._at_ear(at), in_pause=pause), causes)

    def _at_ear(self, sample: int) -> float:
        """When a sample of the lane is heard (media ms)."""
        return round(to_ms(sample) + self.heard_after_ms, 3)

    def _plays_on(self, reply: str | None, at: int) -> bool:
        """Whether audio of the reply was played without a gap from ``at`` to the last sealed sample: a pause in it, not its end."""
        until = self._sealed
        for span in reversed(self._spans):
            if span.reply != reply or span.lane_from + span.samples < until:
                return False
            until = span.lane_from
            if until <= at:
                return True
        return False

    def _reply_at(self, at: int) -> str | None:
        """Whose audio lies at a lane position, or begins next after it (an edge may be dated a hop early)."""
        for span in reversed(self._spans):
            if span.lane_from <= at:
                return span.reply if at < span.lane_from + span.samples else self._next_reply(at)
        return self._spans[0].reply if self._spans else None

    def _next_reply(self, at: int) -> str | None:
        return next((span.reply for span in self._spans if span.lane_from >= at), None)

    def _read_open_reply(self, now_ms: float) -> None:
        book = self._replies.open
        if book is not None and book.items:
            self._observe(book, self._replies.heard(book), now_ms, final=False)

    def _observe(self, book: Book, heard: str, now_ms: float, *, final: bool) -> None:
        if not final and (self._read.get(book.id) == heard or not heard):
            return
        self._read[book.id] = heard
        for reading in self._observer.read_words(book.id, heard, final, self._policy.wants, self._policy.untold):
            fact = facts.AgentActed(
                key=reading.key,
                source=reading.source,
                reply=book.id,
                evidence=reading.evidence,
                value=reading.value,
                confidence=reading.confidence,
            )
            self._wiring.emit(fact, (book.seq,))
            self._policy.note_act(now_ms, reading.key, book.id)

    def _close_reply(self, book: Book, now_ms: float) -> None:
        heard = self._replies.heard(book)
        played = self._replies.played_ms(book)
        self._observe(book, heard, now_ms, final=True)
        self._replies.close(book)
        how = "flushed" if book.flushed else "played" if played > 0 else "silent"
        fact = facts.ReplyClosed(
            reply=book.id,
            how=how,
            played_ms=played,
            generated_ms=self._replies.received_ms(book),
            text=book.text,
            heard=heard,
        )
        self._wiring.emit(fact, (book.seq,))
        silent = not self._agent.capabilities.audio_out
        if silent and heard:
            self._quiet_since = now_ms  # the caller's pause and patience count from the end of the words
        cut_off = book.flushed or (silent and book.status == "cancelled")
        self._policy.note_reply_closed(now_ms, book.id, bool(heard) if silent else played > 0, cut_off)

    def close(self) -> None:
        """The session is over: close what still sounded."""
        for edge in self._edges.finish():
            self._edge(edge.kind, edge.at)
        self._late.report(self._wiring)
