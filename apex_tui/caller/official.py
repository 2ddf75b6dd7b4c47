"""What the reference's caller would say next: beats, draining and recovery of the official format, quirks included.

A *beat* is everything that was noted until the agent's reply closed. It is drained: the flow steps over the same observation until it yields
nothing, its state changed, or 24 plans were spoken. A beat that yields nothing is *recovered*: the caller restates, or volunteers, an answer
without looking at its reveal rule. Deliberately not in here: the reference's closing and nudge lines (they are clips without a plan), and
timing, which is ours.
"""

from __future__ import annotations

from apex_tui.caller.flow import Move, Observation, Plan, plan_id
from apex_tui.caller.script import Choice, StrictScript
from apex_tui.workflow.model import Action, Workflow

DRAIN_CAP = 24
"""Plans in one beat at most."""
RESTATE_CAP = 2
"""Times that recovery says one answer at most."""


class OfficialScript(StrictScript):
    """The official caller's choice of words. Plans with facts that are not eligible are trimmed and recorded, never refused."""

    def __init__(self, workflow: Workflow) -> None:
        super().__init__(workflow, strict=False)
        self._beat: Observation | None = None
        self._spoken = 0
        self._restated: dict[str, int] = {}
        self._answers_by_field = _answers_by_field(workflow)

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
        choice = None if self._spoken or self.engine.done else self._recovery(self._beat)
        if choice is None:
            self._beat = None
        return choice

    def drop_words(self) -> None:
        """What was heard so far needs no answer any more, the rest of the beat included."""
        super().drop_words()
        self._beat = None

    def take(self, choice: Choice) -> Plan | None:
        """Say it. A change of state ends the beat."""
        self.said[choice.plan] += 1
        self._spoken += 1
        if choice.recovered and choice.move.action is not None:
            return self._restate(choice.plan, choice.move.action)
        before = self.engine.state
        plan = self.engine.take(choice.move)
        if self.engine.state != before:
            self._beat = None
        return plan

    def _restate(self, name: str, action: Action) -> Plan:
        """The words of a recovery: its facts count as revealed, eligible or not; the flow stays."""
        self._beat = None
        field = next(key for key, known in self._answers_by_field.items() if (known.plan_id or f"ans_{key}") == name)
        self._restated[field] = self._restated.get(field, 0) + 1
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

    def _recovery(self, beat: Observation) -> Choice | None:
        """An answer that was asked for, else the first one that was not given yet (field names compared with fact ids)."""
        known = self._answers_by_field
        asked = [key.partition(":")[2] for key in beat.agent_acts if key.startswith("ASK:")]
        targets = [name for name in asked if name in known and self._restated.get(name, 0) < RESTATE_CAP]
        rest = (n for n in known if n not in self.engine.book.revealed and self._restated.get(n, 0) < RESTATE_CAP)
        name = targets[0] if targets else next(rest, None)
        if name is None:
            return None
        plan = known[name].plan_id or f"ans_{name}"
        return Choice(Move(self.engine.state, None, known[name]), plan, (), f"recovery: {name}", recovered=True)


def _answers_by_field(workflow: Workflow) -> dict[str, Action]:
    """Field -> the ANSWER to its question; a later transition for the same field wins."""
    found: dict[str, Action] = {}
    for state in workflow.flow.states.values():
        for transition in state.transitions:
            asked, action = transition.when.agent_act or "", transition.do
            if asked.startswith("ASK:") and action is not None and action.act == "ANSWER":
                found[asked.partition(":")[2]] = action
    return found
