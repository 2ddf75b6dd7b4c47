"""The hand on a running session: the operator's, and at the microphone the person's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from apex_tui.engine.conductor import Conductor
from apex_tui.engine.director import MOST_WAITING
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.messages import Decide, Direct
from apex_tui.timeline.session_facts import OperatorMarked, SessionWarning


@dataclass(slots=True)
class Control:
    """The operator's hand on a running session."""

    conductor: Conductor | None = None
    wiring: Wiring | None = None
    stop_reason: str | None = None
    early: list[Direct] = field(default_factory=list)
    """What was directed before the call stood; it takes effect when it does."""
    backlog: Callable[[], int] | None = None
    """Bytes that wait for a slow screen, when one watches."""

    def stop(self, reason: str) -> None:
        """End the session; it is kept, labelled, and judges nobody."""
        self.stop_reason = reason
        if self.conductor is not None:
            self.conductor.stop("operator", reason)

    def stand(self, conductor: Conductor, wiring: Wiring) -> None:
        """The call stands: what was directed before takes its turn."""
        self.conductor, self.wiring = conductor, wiring
        early, self.early = self.early, []
        for direction in early:
            self.direct(direction)

    def mark(self, note: str) -> None:
        """Mark this moment."""
        if self.wiring is not None:
            self.wiring.emit(OperatorMarked(note=note))

    def direct(self, direction: Direct) -> None:
        """The recorded caller is directed; at the microphone the person speaks for themselves."""
        if self.conductor is None or self.wiring is None:
            self.early = [*self.early, direction][:MOST_WAITING]
            return
        if self.conductor.director is not None:
            self.conductor.director.ask(direction)
        else:
            told = f"{direction.what.replace('_', '-')}: a person calls, and speaks for themselves"
            self.wiring.emit(SessionWarning(code="direction-ignored", message=told))

    def screen_gone(self) -> None:
        """Nobody watches: whoever let a person in to a bank session is gone."""
        self.early.clear()
        if self.conductor is not None and self.conductor.director is not None:
            self.conductor.director.screen_gone()

    def decide(self, decision: Decide) -> None:
        """The person at the microphone says by key what their words did; without one, nothing happens."""
        if self.conductor is not None and self.conductor.person is not None:
            self.conductor.person.decide(decision)

    def hang_up(self) -> None:
        """The person at the microphone ends the call in order."""
        if self.conductor is not None and self.conductor.person is not None:
            self.conductor.stop("completed", "the person hung up")
