"""Silence while the caller waits: 3 s or more in which nobody speaks (measures.md section 4).

Sound before an agent's first words (typing, hold music) is no speech and ends no silence. Where that is not known yet, the stretch waits
until the agent's words, or the end of its reply, tell.
"""

from __future__ import annotations

from apex_tui.score.floor_state import Known, Measured, Speech
from apex_tui.timeline.agent_facts import SilenceMeasured

SILENCE_MS = 3000.0


class Silences:
    """Follows who was last heard speaking."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._from: float | None = None
        self._unsure: list[Speech] = []
        self._speaking: Speech | None = None

    def caller_began(self, onset: float) -> list[Measured]:
        """The caller speaks."""
        return [*self._settle(force=True), *self._end(onset)]

    def caller_ended(self) -> None:
        """The caller's last audible sample is known."""
        self._begin()

    def agent_began(self, speech: Speech) -> list[Measured]:
        """The agent became audible."""
        self._unsure.append(speech)
        return self._settle()

    def agent_ended(self) -> list[Measured]:
        """The agent's last audible sample is known."""
        out = self._settle()
        if self._speaking is not None and self._speaking.off is not None:
            self._speaking = None
            self._begin()
        return out

    def words(self) -> list[Measured]:
        """The agent's words, or the end of a reply, may tell what its sound was."""
        return self._settle() if self._unsure else []

    def finish(self, now: float) -> list[Measured]:
        """The session is over at ``now``."""
        return [*self._settle(force=True), *self._end(now)]

    def _settle(self, *, force: bool = False) -> list[Measured]:
        out: list[Measured] = []
        while self._unsure:
            speech = self._unsure[0]
            is_speech = self._is_speech(speech, force)
            if is_speech is None:
                break
            self._unsure.pop(0)
            if is_speech:
                out += self._end(speech.on)
                self._speaking = speech
                if speech.off is not None:
                    self._speaking = None
                    self._begin()
        return out

    def _is_speech(self, speech: Speech, force: bool) -> bool | None:
        reply = self._known.reply_of(speech.reply)
        if reply is None:
            return True
        told = reply.is_speech(speech)
        if told is None and (force or reply.closed is not None):
            # An agent that never sends words may speak all the same; one that does is silent without them.
            return reply.words_ms is not None or not self._known.has_words
        return told

    def _begin(self) -> None:
        """Nobody speaks any more; what is still audible of one side ends the silence before it begins."""
        if self._speaking is not None or any(turn.offset is None for turn in self._known.turns[-2:]):
            return
        ends = [turn.offset for turn in self._known.turns if turn.offset is not None]
        ends += [
            s.off for s in self._known.speech[-4:] if s.off is not None and s not in self._unsure and self._spoke(s)
        ]
        self._from = max(ends, default=None)

    def _spoke(self, speech: Speech) -> bool:
        reply = self._known.reply_of(speech.reply)
        return reply is None or reply.is_speech(speech) is not False

    def _end(self, at: float) -> list[Measured]:
        begun, self._from = self._from, None
        if begun is None or at - begun < SILENCE_MS:
            return []
        running = [t for t in self._known.tools.values() if t.start < at and (t.end is None or t.end > begun)]
        longest = max(running, key=lambda t: (t.end if t.end is not None else at) - t.start, default=None)
        fact = SilenceMeasured(
            kind="silent_wait" if longest else "dead_air",
            from_ms=begun,
            to_ms=at,
            tool=longest.name if longest else None,
        )
        last = self._known.speech[-1].seq if self._known.speech else None
        return [Measured(fact, (last,) if last is not None else ())]
