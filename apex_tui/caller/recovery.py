"""What the reference's caller says when its dialogue has nothing to say (section 5.4): an answer, a closing line, a nudge, or nothing ever more.

In here: the choice, and its limits. Deliberately not in here: when it is said, and the words. An answer is restated, or volunteered, without a
look at its reveal rule, and fields that were asked for are compared with ids of facts: that is how the reference does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Literal

from apex_tui.workflow.caller_model import Action
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official_recovery import CLOSING, NUDGE

RESTATE_CAP = 2
"""Times that one answer is said at most."""
NUDGES = 3
"""Nudges of a session at most."""

Kind = Literal["answer", "finalize", "closing", "nudge", "end"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What to say instead of a plan. ``field``: whose answer it is; ``end``: nothing, the session is over."""

    kind: Kind
    plan: str = ""
    action: Action | None = None
    field: str = ""


class Recovery:
    """The recoveries of one session. ``finalize``: how often the agent is asked to finish before the closing line (the text condition)."""

    def __init__(self, workflow: Workflow, finalize: int = 0) -> None:
        self._answers = answers_by_field(workflow)
        self._worded = {w.user_plan_id for w in workflow.wordings if w.variants}
        self._restated: Counter[str] = Counter()
        self._said: Counter[Kind] = Counter()
        self._finalize = finalize

    def choose(self, acts: Iterable[str], revealed: Container[str]) -> Recovered:
        """The next recovery after a beat in which the agent did ``acts``; nothing is counted yet."""
        for field in self._targets(acts, revealed):
            action = self._answers[field]
            plan = action.plan_id or f"ans_{field}"
            if plan in self._worded:
                return Recovered("answer", plan, action, field)
        if all(field in revealed for field in self._answers):
            if self._said["finalize"] < self._finalize:
                return Recovered("finalize")
            return Recovered("end") if self._said["closing"] else Recovered("closing", CLOSING, _CLOSE)
        return Recovered("end") if self._said["nudge"] >= NUDGES else Recovered("nudge", NUDGE, _NUDGE)

    def take(self, said: Recovered) -> None:
        """It was said."""
        self._said[said.kind] += 1
        if said.kind == "answer":
            self._restated[said.field] += 1

    def _targets(self, acts: Iterable[str], revealed: Container[str]) -> list[str]:
        """Fields that were asked for and may be said again; else the first one that was not said yet."""
        free = [field for field in self._answers if self._restated[field] < RESTATE_CAP]
        asked = [key.partition(":")[2] for key in acts if key.startswith("ASK:")]
        return [field for field in asked if field in free] or [field for field in free if field not in revealed][:1]


_CLOSE = Action(act="END", plan_id=CLOSING)
_NUDGE = Action(act="ASK", plan_id=NUDGE)


def answers_by_field(workflow: Workflow) -> dict[str, Action]:
    """Field -> the ANSWER to its question; a later transition for the same field wins."""
    found: dict[str, Action] = {}
    for state in workflow.flow.states.values():
        for transition in state.transitions:
            asked, action = transition.when.agent_act or "", transition.do
            if asked.startswith("ASK:") and action is not None and action.act == "ANSWER":
                found[asked.partition(":")[2]] = action
    return found
