"""Overlap that is no barge-in: the agent's onsets inside caller turns, and yields to a back-channel (measures.md section 3)."""

from __future__ import annotations

from typing import Literal

from apex_tui.score.floor_state import KNOWN_AFTER_MS, SLACK_MS, WINDOW_MS, Known, Measured, Speech, Turn
from apex_tui.score.stops import RESUMED_MS
from apex_tui.timeline.agent_facts import CutIn, FalseYield

TERMINAL_MS = 300.0
"""An agent onset within the last 300 ms of a caller turn is no fault."""
TALK_OVER_MS = 300.0
BACKCHANNEL_MS = 1000.0
BACKCHANNEL_WORDS = 2
FALSE_YIELD_WITHIN_MS = 1000.0
FALSE_YIELD_FOR_MS = 600.0

Kind = Literal["cut_in", "terminal_overlap", "agent_backchannel", "talk_over"]


class CutIns:
    """Judges agent onsets inside caller turns: at most one cut-in a turn, other overlap that the agent began is talking over."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._pairs: list[tuple[Turn, Speech]] = []

    def began(self, speech: Speech) -> None:
        """The agent became audible."""
        for turn in self._known.turns[-4:]:
            if turn.onset < speech.on < turn.end and not turn.echo:
                self._pairs.append((turn, speech))

    def advance(self, now: float, *, final: bool = False) -> list[Measured]:
        """What can be told at ``now``: the turn is over, and the stretch is over or longer than any back-channel."""
        out: list[Measured] = []
        for pair in list(self._pairs):
            turn, speech = pair
            known = speech.off is not None or now - speech.on > BACKCHANNEL_MS + KNOWN_AFTER_MS
            if final or (turn.offset is not None and known and not turn.pending):
                self._pairs.remove(pair)
                out += self._judge(turn, speech, now)
        return out

    def _judge(self, turn: Turn, speech: Speech, now: float) -> list[Measured]:
        if speech.on >= turn.end:
            return []  # the turn had ended before: at the microphone that is known only afterwards
        end = speech.off if speech.off is not None else now
        overlap = max(0.0, min(end, turn.end) - speech.on)
        kind = self._kind(turn, speech, end, overlap)
        if kind is None:
            return []
        turn.cut_in = turn.cut_in or kind == "cut_in"
        fact = CutIn(turn=turn.number, reply=speech.reply, onset_ms=speech.on, overlap_ms=round(overlap, 3), kind=kind)
        return [Measured(fact, tuple(sorted({turn.seq, speech.seq})))]

    def _kind(self, turn: Turn, speech: Speech, end: float, overlap: float) -> Kind | None:
        goes_on = speech.reply is not None and speech.reply == turn.interrupted_reply
        if turn.interrupted_reply is not None and end - speech.on < RESUMED_MS and speech.on < turn.onset + WINDOW_MS:
            return None  # a remainder of what was interrupted: the barge-in counts it
        if not turn.aside and not goes_on:
            if turn.end - speech.on <= TERMINAL_MS:
                return "terminal_overlap"
            reply = self._known.reply_of(speech.reply)
            words = len(reply.text.split()) if reply is not None else 0
            if end - speech.on <= BACKCHANNEL_MS and end < turn.end and words <= BACKCHANNEL_WORDS:
                return "agent_backchannel"
            if not turn.cut_in:
                return "cut_in"
        return "talk_over" if overlap >= TALK_OVER_MS else None


class FalseYields:
    """Watches every back-channel and side talk of the caller."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._waiting: list[Turn] = []

    def began(self, turn: Turn) -> None:
        """A caller turn began."""
        if turn.aside:
            self._waiting.append(turn)

    def advance(self, now: float) -> list[Measured]:
        """What can be told at ``now``."""
        out: list[Measured] = []
        patience = FALSE_YIELD_WITHIN_MS + FALSE_YIELD_FOR_MS + KNOWN_AFTER_MS
        while self._waiting and now >= self._waiting[0].onset + patience:
            out += self._judge(self._waiting.pop(0), now)
        return out

    def finish(self, now: float) -> list[Measured]:
        """The session is over: what was observed long enough is judged."""
        out = [m for turn in self._waiting if turn.onset + FALSE_YIELD_WITHIN_MS <= now for m in self._judge(turn, now)]
        self._waiting = []
        return out

    def _judge(self, turn: Turn, now: float) -> list[Measured]:
        stretch = self._known.speech_at(turn.onset)
        reply = self._known.reply_of(stretch.reply) if stretch is not None else None
        if stretch is None or reply is None or stretch.off is None or stretch.off - turn.onset > FALSE_YIELD_WITHIN_MS:
            return []
        proof = reply.proof(turn.onset - SLACK_MS, stretch.off + FALSE_YIELD_FOR_MS)
        again = next((s.on for s in self._known.speech if s.on > stretch.off), None)
        if proof is None or (again if again is not None else now) - stretch.off < FALSE_YIELD_FOR_MS:
            return []
        silent = FALSE_YIELD_FOR_MS if again is None else again - stretch.off
        fact = FalseYield(turn=turn.number, reply=reply.id, onset_ms=turn.onset, silent_ms=round(silent, 3))
        causes = {turn.seq, stretch.seq, *([proof[1]] if proof[1] is not None else [])}
        return [Measured(fact, tuple(sorted(causes)))]
