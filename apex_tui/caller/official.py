"""What the reference's caller would say next: beats, draining and recovery of the official format, quirks included.

A *beat* is everything that was noted until the agent's reply closed. It is drained: the flow steps over the same observation until it yields
nothing, its state changed, or 24 plans were spoken. A beat that yields nothing is *recovered* (see `recovery`). Deliberately not in here:
timing, which is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from apex_tui.caller.flow import Move, Observation, Plan, plan_id
from apex_tui.caller.recovery import Recovered, Recovery
from apex_tui.caller.script import Choice, StrictScript
from apex_tui.workflow.caller_model import Action
from apex_tui.workflow.model import Workflow

DRAIN_CAP = 24
"""Plans in one beat at most."""


class OfficialScript(StrictScript):
    """The official caller's choice of words. Plans with facts that are not eligible are trimmed and recorded, never refused."""

    def __init__(self, workflow: Workflow) -> None:
        super().__init__(workflow, strict=False)
        self._beat: Observation | None = None
        self._spoken = 0
        self._recovery = Recovery(workflow)
        self._chosen: Recovered | None = None
        self._last = ""
        self._worded = {wording.user_plan_id for wording in workflow.wordings}

    def choose(self, now_ms: float) -> Choice | None:
        """The next plan of the current beat; a new beat begins when something new has ripened."""
        if self._beat is None and not self._open_beat(now_ms):
            return None
        assert self._beat is not None
        move = self.engine.peek(self._beat) if self._spoken < DRAIN_CAP else None
        if move is not None and move.action is not None:
            return Choice(move, plan_id(move.action, move.state), (), "the official flow")
        if move is not None:
            self.engine.take(move)
        choice = None if self._spoken or self.engine.done else self._recovered(self._beat)
        if choice is None:
            self._beat = None
        return choice

    def drop_words(self) -> None:
        """What was heard so far needs no answer any more, the rest of the beat included."""
        super().drop_words()
        self._beat = None

    def keep_questions(self, told: Iterable[str]) -> bool:
        """The reference's caller keeps none."""
        self.drop_words()
        return False

    def silence(self) -> bool:
        """The agent let a closing line or a nudge stand: that was its beat. False when it was neither that was said last."""
        if self._last not in ("closing", "nudge"):
            return False
        self._fresh = True
        return True

    def take(self, choice: Choice) -> Plan | None:
        """Say it. A change of state ends the beat."""
        self.said[choice.plan] += 1
        self._spoken += 1
        self._last = ""
        if choice.recovered and choice.move.action is not None:
            return self._recover(choice.plan, choice.move.action)
        before = self.engine.state
        plan = self.engine.take(choice.move)
        if self.engine.state != before:
            self._beat = None
        return plan

    def _recover(self, name: str, action: Action) -> Plan:
        """The words of a recovery: its facts count as revealed, eligible or not; the flow stays."""
        self._beat = None
        if self._chosen is not None:
            self._recovery.take(self._chosen)
            self._last = self._chosen.kind
        self.engine.book.revealed.update(action.facts)
        return Plan(
            name, action.act, action.facts, action.floor_action, action.urgency, action.event_id, action.approves, action.revokes,
            self.engine.state,
        )  # fmt: skip

    def _open_beat(self, now_ms: float) -> bool:
        ready = [item for item in self.items if item.ready]
        if not ready and not self._fresh:
            return False
        self._beat, self._spoken, self._fresh = self._observation(ready, now_ms), 0, False
        self._remove(ready)
        self.engine.observe(self._beat)
        return True

    def _recovered(self, beat: Observation) -> Choice | None:
        """What recovery says to this beat; None at the end, or where the words for it do not exist."""
        found = self._chosen = self._recovery.choose(beat.agent_acts, self.engine.book.revealed)
        if found.kind == "end":
            self.over = (
                "the caller took its leave" if self._last == "closing" else "the caller asked in vain what is needed"
            )
        if found.action is None or found.plan not in self._worded:
            return None
        because = f"recovery: {found.field or found.kind}"
        return Choice(Move(self.engine.state, None, found.action), found.plan, (), because, recovered=True)
