"""Barge-ins: when one is open, and the verdict when its observation ends (measures.md section 3).

Deliberately not in here: the kinds of a stop (`stops`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from apex_tui.score.floor_state import KNOWN_AFTER_MS, SLACK_MS, Known, Measured, Reply, Turn, difference
from apex_tui.score.stops import Burst, Observed, judge_stop, window_end
from apex_tui.timeline.agent_facts import BargeInClosed, BargeInOpened

OPENS_AFTER_MS = 60.0
"""A barge-in is announced this long after the onset, so that an agent onset just before it is known."""


@dataclass(slots=True)
class _Watch:
    number: int
    turn: Turn
    reply: str
    until: float
    cut: bool = False


class BargeIns:
    """Watches every caller onset inside an open reply to the end of its window."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._unjudged: list[Turn] = []
        self._watches: list[_Watch] = []
        self._count = 0

    def began(self, turn: Turn) -> None:
        """A caller turn began; one that claims the floor ends the observation of the one before."""
        self._unjudged.append(turn)
        if turn.aside:
            return
        for watch in self._watches:
            if watch.turn.onset < turn.onset < watch.until:
                watch.until, watch.cut = turn.onset, True

    def advance(self, now: float) -> list[Measured]:
        """What can be told at ``now``."""
        out: list[Measured] = []
        while self._unjudged and now >= self._unjudged[0].onset + OPENS_AFTER_MS:
            out += self._open(self._unjudged.pop(0))
        # The next turn can only end an observation early, so the first watch is always the first to end.
        while self._watches and now >= self._watches[0].until + KNOWN_AFTER_MS and not self._unsure(self._watches[0]):
            out.append(self._close(self._watches.pop(0)))
        return out

    def _unsure(self, watch: _Watch) -> bool:
        """Whether a turn that is not decided yet may end this observation early."""
        return any(turn.pending and watch.turn.onset < turn.onset < watch.until for turn in self._known.turns[-8:])

    def finish(self, now: float) -> list[Measured]:
        """The session is over at ``now``: what is still observed is cut short."""
        out = [m for turn in self._unjudged for m in self._open(turn)]
        for watch in self._watches:
            if now < watch.until:
                watch.until, watch.cut = now, True
            out.append(self._close(watch))
        self._unjudged, self._watches = [], []
        return out

    def _open(self, turn: Turn) -> list[Measured]:
        turn.judged = True
        reply = self._known.open_reply(turn.onset)
        if reply is None or (turn.aside and not turn.echo):
            return []
        turn.interrupted_reply = reply.id
        self._count += 1
        later = next((t.onset for t in self._known.turns if t.onset > turn.onset and not t.aside), None)
        until = window_end(turn.onset)
        cut = later is not None and later < until
        self._watches.append(_Watch(self._count, turn, reply.id, later if cut and later is not None else until, cut))
        kind: Literal["overlap", "in_pause"] = "overlap" if self._known.speech_at(turn.onset) else "in_pause"
        fact = BargeInOpened(barge_in=self._count, turn=turn.number, reply=reply.id, kind=kind, onset_ms=turn.onset)
        return [Measured(fact, tuple(sorted({reply.seq, turn.seq})))]

    def _close(self, watch: _Watch) -> Measured:
        turn, reply = watch.turn, self._known.replies[watch.reply]
        covering = self._known.speech_at(turn.onset)
        since = turn.onset - SLACK_MS
        proof = reply.proof(since, watch.until)
        signal = self._known.signal(since, watch.until)
        names = (reply.id, covering.reply) if covering is not None and covering.reply is not None else (reply.id,)
        after = turn.onset if covering is None else covering.on
        stop = judge_stop(
            Observed(
                onset=turn.onset,
                turn_end=turn.end,
                silent_from=turn.onset if covering is None else covering.off,
                later=_later(self._known, after),
                replies=names,
                proven_at=proof[0] if proof else None,
                natural=self._known.tells_end and _ended_by_itself(reply),
                until=watch.until,
                cut=watch.cut,
                in_pause=covering is None,
            )
        )
        fact = BargeInClosed(
            barge_in=watch.number,
            turn=turn.number,
            reply=watch.reply,
            kind="overlap" if covering is not None else "in_pause",
            onset_ms=turn.onset,
            stop_kind=stop.kind,
            stop_delay_ms=stop.delay_ms,
            detect_ms=difference(signal[0], turn.onset) if signal else None,
            detect_source=signal[1].source if signal else None,
            flush_ms=difference(stop.last_audible, signal[0]) if signal and stop.delay_ms is not None else None,
            played_ms=reply.closed.played_ms if reply.closed else None,
            generated_ms=reply.closed.generated_ms if reply.closed else reply.generated_ms,
            stale_bursts=stop.stale_bursts,
            last_audible_ms=stop.last_audible,
            echo_suspect=turn.echo,
        )
        causes = {turn.seq, reply.seq, signal[2] if signal else None, proof[1] if proof else None}
        causes |= {covering.off_seq} if covering is not None else set()
        return Measured(fact, tuple(sorted(c for c in causes if c is not None)))


def _later(known: Known, after: float) -> tuple[Burst, ...]:
    pairs = pairwise(known.speech)
    return tuple(Burst(s.on, s.off, s.reply, before.paused) for before, s in pairs if s.on > after)


def _ended_by_itself(reply: Reply) -> bool:
    return reply.closed is not None and reply.closed.how == "played" and reply.status == "completed"
