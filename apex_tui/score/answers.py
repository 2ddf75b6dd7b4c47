"""How long the caller waited for an answer: from the last audible caller sample, signed (measures.md section 4).

An answer is measured as soon as its first sound is known, and detailed once its reply is over. Deliberately not in here: silences.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from apex_tui.score.floor_state import KNOWN_AFTER_MS, Known, Measured, Reply, Speech, Turn, difference
from apex_tui.score.sentences import first_sentence
from apex_tui.timeline.agent_facts import ResponseDetailed, ResponseMeasured, Stage

NEAR_MS = 1000.0
"""A pause farther from where a sentence should end is another sentence's."""


@dataclass(slots=True)
class _Answer:
    turn: Turn
    reply: Reply
    audible: float


class Answers:
    """The caller turn that waits for an answer, and the answers whose reply is not over."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._waiting: Turn | None = None
        self._open: list[_Answer] = []

    def turn_began(self, turn: Turn, *, wants_answer: bool) -> list[Measured]:
        """A caller turn that claims the floor: what waited until now stays unanswered."""
        out = self.look(turn.onset, final=True)
        if self._waiting is not None:
            out.append(_unanswered(self._waiting))
        self._waiting = turn if wants_answer else None
        return out

    def look(self, now: float, *, final: bool = False) -> list[Measured]:
        """Measure the waiting turn, once its end and the first sound of a new reply are both known.

        Sound that was over before the turn ended answered nothing; whether it was is known `KNOWN_AFTER_MS` after the turn's end.
        """
        turn = self._waiting
        if turn is None or turn.offset is None:
            return []
        if not turn.judged and (open_reply := self._known.open_reply(turn.onset)) is not None:
            turn.interrupted_reply = open_reply.id
        speech = self._known.speech
        for stretch in speech[bisect_right(speech, turn.onset, key=lambda s: s.on) :]:
            if stretch.reply is None or stretch.reply == turn.interrupted_reply:
                continue
            if stretch.off is not None and stretch.off <= turn.end:
                continue
            if stretch.on < turn.end and stretch.off is None and now < turn.end + KNOWN_AFTER_MS and not final:
                return []
            self._waiting = None
            return [self._measure(turn, stretch)]
        return []

    def advance(self, now: float) -> list[Measured]:
        """Detail the answers whose reply has been over for long enough that its last edge is known."""
        out: list[Measured] = []
        for answer in list(self._open):
            if answer.reply.closed_at is not None and now >= answer.reply.closed_at + KNOWN_AFTER_MS:
                self._open.remove(answer)
                out.append(self._detail(answer))
        return out

    def finish(self, now: float) -> list[Measured]:
        """The session is over."""
        out = self.look(now, final=True)
        out += [_unanswered(self._waiting)] if self._waiting is not None else []
        out += [self._detail(answer) for answer in self._open]
        self._waiting, self._open = None, []
        return out

    def _measure(self, turn: Turn, speech: Speech) -> Measured:
        reply = self._known.replies[speech.reply or ""]
        self._open.append(_Answer(turn, reply, speech.on))
        fact = ResponseMeasured(
            turn=turn.number,
            reply=reply.id,
            first_byte_ms=difference(reply.first_byte, turn.end),
            first_audible_ms=round(speech.on - turn.end, 3),
            leading_silence_ms=speech.leading,
            after_tool=reply.after_tool or self._worked(turn, speech.on),
        )
        return Measured(fact, tuple(sorted({turn.seq, reply.seq, speech.seq})))

    def _worked(self, turn: Turn, until: float) -> bool:
        """Whether a call over MCP ran between the caller's last sample and ``until``: such an answer waited for work, or may have."""
        return any(
            t.mounted and t.start < until and (t.end is None or t.end > turn.end) for t in self._known.tools.values()
        )

    def _detail(self, answer: _Answer) -> Measured:
        turn, reply = answer.turn, answer.reply
        end, exact = _sentence_end(reply)
        fact = ResponseDetailed(
            turn=turn.number,
            reply=reply.id,
            first_speech_ms=difference(reply.speech_onset(), turn.end),
            first_speakable_ms=difference(reply.speakable, turn.end),
            first_sentence_ms=difference(end, turn.end),
            first_sentence_estimated=end is not None and not exact,
            stages=self._stages(answer),
        )
        return Measured(fact, tuple(sorted({turn.seq, reply.seq, *(s.seq for s in reply.stretches)})))

    def _stages(self, answer: _Answer) -> tuple[Stage, ...]:
        """From the last syllable to the first audible sample: each part ends at a signal; a part whose begin is unknown is unexplained."""
        turn, reply = answer.turn, answer.reply
        stopped = [
            n[0] for n in self._known.noticed if n[1].what == "speech_stopped" and turn.onset <= n[0] <= reply.started
        ]
        tools = [t.end for t in self._known.tools.values() if t.end is not None and turn.end <= t.end <= reply.started]
        ends: list[tuple[_Name, _Source, float | None]] = [
            ("endpoint", "provider", stopped[-1] if stopped else None),
            ("work", "client", max(tools, default=None)),
            ("begin", "provider", reply.started),
            ("first_byte", "client", reply.first_byte),
            ("lead", "client", answer.audible),
        ]
        if not reply.after_tool:
            del ends[1]
        stages: list[Stage] = []
        at, gap = turn.end, False
        for name, source, end in ends:
            if end is None:
                gap = True
                continue
            part = round(end - at, 3)
            stages.append(
                Stage(name="unexplained", source="none", ms=part) if gap else Stage(name=name, source=source, ms=part)
            )
            at, gap = end, False
        return tuple(stages)


_Name = Literal["endpoint", "work", "begin", "first_byte", "lead", "unexplained"]
_Source = Literal["provider", "client", "none"]


def _unanswered(turn: Turn) -> Measured:
    return Measured(ResponseMeasured(turn=turn.number, reply=None), (turn.seq,))


def _sentence_end(reply: Reply) -> tuple[float | None, bool]:
    """Where the first sentence of a reply ended as heard, and whether that is exact.

    Words are not timed. A reply that is one sentence ends with it: exact. Otherwise it is the pause of 200 ms or more that lies nearest to
    the share of the sentence in the reply's words, within `NEAR_MS`; None when there is none, or when the sentence was not heard whole.
    """
    begun = reply.speech_onset()
    closed = reply.closed
    if begun is None or closed is None:
        return None, False
    text = closed.text.strip()
    sentence = first_sentence(text)
    if sentence is None or not closed.heard.strip().startswith(sentence):
        return None, False
    if sentence == text:
        return (reply.stretches[-1].off, True) if closed.how == "played" else (None, False)
    played = reply.first_played if reply.first_played is not None else begun
    estimate = begun + (closed.generated_ms - (begun - played)) * len(sentence) / len(text)
    pauses = sorted({*(s.off for s in reply.stretches[:-1] if s.off is not None), *reply.pauses})
    near = min((p for p in pauses if p > begun), key=lambda p: abs(p - estimate), default=None)
    return (near, False) if near is not None and abs(near - estimate) <= NEAR_MS else (None, False)
