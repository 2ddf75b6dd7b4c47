"""Everything that the recorded caller can say in a session, as a director chooses from it: the words, what they do, and where they stand in the flow.

In here: one `Utterance` for each plan with a wording. Deliberately not in here: whether it may be said now (`caller`).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from apex_tui.timeline.caller_facts import FloorAction, SpeechAct
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.caller_model import Action, Transition
from apex_tui.workflow.lines import choose_variant, without_pauses
from apex_tui.workflow.model import Workflow

ASIDES: frozenset[str] = frozenset({"BACKCHANNEL", "OVERLAP_WITHOUT_FLOOR_CLAIM"})
"""Floor actions that leave the floor to the agent."""


@dataclass(frozen=True)
class Utterance:
    """One plan in the wording that the seed chose. ``action`` None: words that stand nowhere in the flow (a nudge). ``state``: where the flow is
    after it; ``way``: the transition that says it, None for a state's entry; ``event``: the scripted event that it speaks.
    """

    plan: str
    act: SpeechAct
    text: str
    voice: str
    floor: FloorAction = "AFTER_FLOOR_RELEASE"
    action: Action | None = None
    state: str | None = None
    way: Transition | None = None
    event: str | None = None

    @property
    def aside(self) -> bool:
        """Whether it claims no floor: a back-channel or side talk."""
        return self.act == "BACKCHANNEL" or self.floor in ASIDES


def utterances(workflow: Workflow, seed: int) -> tuple[Utterance, ...]:
    """What can be said with this seed, each plan once, in the order of the wordings.

    Raises:
        WorkflowError: a wording has no variants.
    """
    places = _places(workflow)
    found: list[Utterance] = []
    for plan in dict.fromkeys(wording.user_plan_id for wording in workflow.wordings):
        text = without_pauses(choose_variant(workflow, seed, plan).text)
        voice = workflow.caller.voice
        if plan not in places:
            wording = workflow.wording(plan)
            act = wording.speech_act if wording is not None and wording.speech_act is not None else "ASK"
            found.append(Utterance(plan, act, text, voice))
            continue
        action, state, way = places[plan]
        event = way.when.external_event if way is not None else None
        found.append(
            Utterance(plan, action.act, text, voice, action.floor_action, action, state, way, event or action.event_id)
        )
    return tuple(found)


def unknown(plan: str, known: Collection[str]) -> str:
    """That there is no such utterance, as a clause that names those near it."""
    near = difflib.get_close_matches(plan, known, 3, 0.4)
    first = f"such as {next(iter(known))}" if known else "none"
    hint = f"; did you mean {', '.join(near)}?" if near else f"; there are {len(known)}, {first}"
    return f"there is no utterance {plan[:80]!r}{hint}"


def know_plans(workflow: Workflow, seed: int, plans: Iterable[str]) -> None:
    """Look for the utterances that directions name in advance.

    Raises:
        UserError: the caller of this workflow has no such words.
    """
    wanted = list(plans)
    known = {utterance.plan for utterance in utterances(workflow, seed)} if wanted else set()
    for plan in wanted:
        if plan not in known:
            raise UserError(f"--direct: {unknown(plan, sorted(known))}")


def _places(workflow: Workflow) -> dict[str, tuple[Action, str, Transition | None]]:
    """Plan -> its action, the state after it, and the transition that says it; the first in the flow counts."""
    places: dict[str, tuple[Action, str, Transition | None]] = {}
    for name, state in workflow.flow.states.items():
        if state.on_enter is not None:
            places.setdefault(state.on_enter.plan_id or f"{name}:{state.on_enter.act}", (state.on_enter, name, None))
        for way in state.transitions:
            if way.do is not None:
                places.setdefault(way.do.plan_id or f"{way.next}:{way.do.act}", (way.do, way.next, way))
    return places
