"""What is wrong with the words that an approval answers, put on it as flags; the guard takes no notice of them."""

from __future__ import annotations

from apex_tui.engine.wiring import Wiring
from apex_tui.score.known_values import KnownValues
from apex_tui.score.work_approvals import approval_flags
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.state import State
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ApprovalGranted
from apex_tui.workflow.model import Workflow


class ApprovalFlags:
    """Follows the session, and compares what was read back with what is approved."""

    def __init__(self, workflow: Workflow, wiring: Wiring) -> None:
        self._view, self._known = SessionView(), KnownValues(workflow)
        wiring.listen(self._learn)

    @property
    def state(self) -> State:
        """The session so far."""
        return self._view.state

    def _learn(self, event: Event) -> None:
        self._view.apply(event)

    def flagged(self, fact: Fact) -> Fact:
        """The fact, an approval with its flags."""
        if not isinstance(fact, ApprovalGranted):
            return fact
        flags = approval_flags(self._view.state, fact, self._known)
        return fact.model_copy(update={"flags": (*fact.flags, *flags)})
