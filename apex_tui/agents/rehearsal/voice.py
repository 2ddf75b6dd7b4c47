"""What the rehearsal agent is saying: one response at a time, and what a manner adds of its own accord.

In here: the running response, until when its audio plays, and *asides*: responses that answer nothing (a filler, words over the caller, what
still comes out after a stop). Pure: times are loop time in seconds. Deliberately not in here: when the caller speaks, and what is answered.
"""

from __future__ import annotations

from collections.abc import Sequence

from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.messages import Messages
from apex_tui.agents.rehearsal.sounds import Line, opened, rest_of, stale
from apex_tui.agents.rehearsal.speech import Call, SpokenResponse

STALE_AFTER_MS = 300.0
"""A stop -> the first stale burst: nearer, it would be heard as the end of what was said."""


class Voice:
    """Speaks for a server. ``samples`` of audio sent by item, and ``calls`` that were sent, are kept for the conversation."""

    def __init__(self, messages: Messages, manner: Manner) -> None:
        self.running: SpokenResponse | None = None
        self.aside = False
        """What runs answers nothing: to interrupt it takes nothing from the solution."""
        self.plays_until = 0.0
        self.samples: dict[str, int] = {}
        self.calls: list[str] = []
        self._messages = messages
        self._manner = manner
        self._spoken: tuple[float, Line] | None = None
        self._later: tuple[float, Line] | None = None

    def begin(self, lines: Sequence[Line], call: Call | None, at: float, *, aside: bool = False) -> list[str]:
        """Begin a response that is heard from ``at`` on; what is announced of it."""
        said = [opened(lines[0], self._manner), *lines[1:]] if lines and not aside else list(lines)
        self.running = SpokenResponse(self._messages, said, call, at, self._manner)
        self.running.plays_until = max(at, self.plays_until)
        self.aside = aside
        if said and not aside:
            self._spoken = (self.running.plays_until, said[-1])
        return self.running.created()

    def speak(self, now: float) -> list[str]:
        """What of the running response is due."""
        if self.running is None:
            return []
        out = self.running.poll(now)
        self._keep(self.running)
        if self.running.over:
            self.running = None
        return out

    def stop(self, now: float, reason: str, *, call_too: bool = False) -> list[str]:
        """Cut the running response off; nothing when none runs."""
        running, self.running = self.running, None
        if running is None:
            return []
        out = running.cancel(reason, call_too=call_too)
        self._keep(running)
        self.plays_until = now
        return out

    def speaks_at(self, at: float) -> bool:
        """Whether something of it plays at a loop time, as far as is known now."""
        running = self.running
        return self.plays_until > at or (running is not None and running.begun and bool(running.sent))

    def silenced(self, now: float) -> None:
        """The client lets go of the floor: nothing that was sent plays any more, and what the manner still says is planned."""
        if self._spoken is not None and now < self.plays_until and not self.aside:
            began, line = self._spoken
            if self._manner.stale_bursts:
                bursts = Line("", stale(line.pcm[line.lead :], int(self._manner.stale_bursts)))
                self._later = (now + STALE_AFTER_MS / 1000, bursts)
            elif self._manner.resume_ms is not None:
                rest = rest_of(line, now - began)
                self._later = None if rest is None else (now + self._manner.resume_ms / 1000, rest)
        self._spoken = None
        self.plays_until = now

    def later_due(self) -> float | None:
        """When something is said after a stop; None: nothing is planned, or another response runs."""
        return self._later[0] if self._later is not None and self.running is None else None

    def say_later(self) -> list[str]:
        """Say what was planned after a stop."""
        assert self._later is not None
        (at, line), self._later = self._later, None
        return self.begin([line], None, at, aside=True)

    def _keep(self, running: SpokenResponse) -> None:
        self.samples.update(running.sent)
        self.plays_until = max(self.plays_until, running.plays_until)
        if running.call_id is not None and running.call_id not in self.calls:
            self.calls.append(running.call_id)
