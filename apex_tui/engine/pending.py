"""What a person's sound inside the agent's reply was: an interruption, or only "mm-hm". It is pending until one of three things decides:

    length   it lasts longer than any back-channel
    words    it was short, and the agent's transcript of it has arrived
    key      the person says so

The first decision counts. Without words and without a key a short one stays pending, and is in no number. Pure: no clock, no device.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from apex_tui.caller.backchannels import LONGEST_MS, only_listening
from apex_tui.timeline.caller_facts import CallerTurnDecided
from apex_tui.timeline.state import State

MOST = 20
"""Undecided turns that are kept in mind; older ones stay undecided."""

Kind = Literal["turn", "backchannel"]


@dataclass(slots=True)
class _Open:
    turn: int
    onset_ms: float
    offset_ms: float | None = None


class PendingTurns:
    """The turns that are not decided."""

    def __init__(self) -> None:
        self._turns: deque[_Open] = deque(maxlen=MOST)

    def began(self, turn: int, onset_ms: float) -> None:
        """A turn began inside an open reply."""
        self._turns.append(_Open(turn, onset_ms))

    def ended(self, turn: int, offset_ms: float) -> None:
        """A turn ended."""
        for pending in self._turns:
            if pending.turn == turn:
                pending.offset_ms = offset_ms

    def look(self, sound_ms: float, state: State) -> list[CallerTurnDecided]:
        """What is certain now. ``sound_ms``: when the person's newest sound was spoken; ``state``: the session with the agent's transcripts."""
        if not self._turns:
            return []
        words = {turn.number: turn.heard_by_agent for turn in state.turns[-2 * MOST :] if turn.heard_seq is not None}
        out = [fact for pending in self._turns if (fact := _decided(pending, sound_ms, words.get(pending.turn)))]
        self._drop(out)
        return out

    def by_key(self, kind: Kind) -> CallerTurnDecided | None:
        """The person says what the newest undecided turn was; None: there is none."""
        if not self._turns:
            return None
        fact = CallerTurnDecided(turn=self._turns[-1].turn, kind=kind, by="key")
        self._drop([fact])
        return fact

    def _drop(self, decided: list[CallerTurnDecided]) -> None:
        gone = {fact.turn for fact in decided}
        self._turns = deque((p for p in self._turns if p.turn not in gone), maxlen=MOST)


def _decided(pending: _Open, sound_ms: float, words: str | None) -> CallerTurnDecided | None:
    end = pending.offset_ms if pending.offset_ms is not None else sound_ms
    if end - pending.onset_ms > LONGEST_MS:
        return CallerTurnDecided(turn=pending.turn, kind="turn", by="length")
    if pending.offset_ms is None or words is None:
        return None
    return CallerTurnDecided(turn=pending.turn, kind="backchannel" if only_listening(words) else "turn", by="words")
