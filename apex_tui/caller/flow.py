"""The caller's dialogue as a state machine: official step semantics, and the strict reading that our policy drives.

In here: triggers, one-shots, `on_enter`, leakage. Deliberately not in here: when anything is spoken (policy) and its words (workflow).
Official: facts that are not eligible are taken off the plan, which is spoken all the same. Strict: such a plan, or one that states a
superseded value, is refused and its transition is not taken; an act trigger without a field (``CONFIRM``) matches any field; approval
requests are consumed by the policy, so they need no one-shot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apex_tui.caller.facts import FactBook, holds
from apex_tui.timeline.caller_facts import FloorAction, SpeechAct
from apex_tui.workflow.caller_model import Action, Transition, Trigger
from apex_tui.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Observation:
    """What happened since the caller last decided. Everything but times is new in this observation (acts: keys such as ``ASK:amount``;
    mutations: ``artifact.field``; commits and approvals: action types). ``media_ms`` is the media clock, ``agent_speech_ms`` the played
    length of the open reply, ``repetitions`` how often the most repeated act of this observation was heard in the session.
    """

    agent_acts: tuple[str, ...] = ()
    tool_calls: tuple[str, ...] = ()
    tool_results: tuple[str, ...] = ()
    mutations: tuple[str, ...] = ()
    commit_attempts: tuple[str, ...] = ()
    approval_requests: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    committed: tuple[str, ...] = ()
    world_predicates: tuple[str, ...] = ()
    media_ms: float = 0.0
    agent_speech_ms: float = 0.0
    repetitions: int = 0


EMPTY = Observation()


@dataclass(frozen=True, slots=True)
class Plan:
    """What the caller is to say. ``state`` is the state that it leads to; ``leaked`` the facts that were not eligible and were taken off."""

    id: str
    act: SpeechAct
    facts: tuple[str, ...]
    floor: FloorAction
    urgency: str
    event_id: str | None
    approves: str | None
    revokes: str | None
    state: str
    leaked: tuple[str, ...] = ()
    style: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A plan that strict use refused to speak, and why."""

    plan: str
    facts: tuple[str, ...]
    because: str


@dataclass(frozen=True, slots=True)
class Move:
    """One step that the engine could take: into ``state`` by ``transition`` (None: the entry of the current state), saying ``action``."""

    state: str
    transition: Transition | None
    action: Action | None
    entry: bool = False
    """``action`` is the entry of ``state``."""


def plan_id(action: Action, state: str) -> str:
    """The plan's id, or ``<state>:<act>`` when the author gave none."""
    return action.plan_id or f"{state}:{action.act}"


def names_act(wanted: str, keys: tuple[str, ...], *, generic: bool) -> bool:
    """Whether an act trigger is met by one of ``keys``; ``generic``: ``CONFIRM`` is met by ``CONFIRM:amount``."""
    if wanted in keys:
        return True
    return generic and ":" not in wanted and any(key.startswith(wanted + ":") for key in keys)


def matches(trigger: Trigger, seen: Observation, book: FactBook, *, generic: bool = False) -> bool:
    """Whether every populated field of ``trigger`` is met. An empty trigger always is."""
    pairs = (
        (trigger.tool_call, seen.tool_calls),
        (trigger.tool_result, seen.tool_results),
        (trigger.artifact_mutation, seen.mutations),
        (trigger.commit_attempt, seen.commit_attempts),
        (trigger.approval_request, seen.approval_requests),
        (trigger.world_predicate, seen.world_predicates),
        (trigger.external_event, seen.events),
        (trigger.committed, seen.committed),
    )
    if any(wanted is not None and wanted not in present for wanted, present in pairs):
        return False
    if trigger.agent_act is not None and not names_act(trigger.agent_act, seen.agent_acts, generic=generic):
        return False
    floors = (
        (trigger.media_time_ms_gte, seen.media_ms),
        (trigger.agent_speech_continuous_ms_gte, seen.agent_speech_ms),
        (trigger.repetition_count_gte, float(seen.repetitions)),
    )
    if any(least is not None and value < least for least, value in floors):
        return False
    if trigger.fact_unrevealed is not None and trigger.fact_unrevealed in book.revealed:
        return False
    return holds(trigger.events_done, book.events)


class FlowEngine:
    """Runs one workflow's flow. ``strict`` refuses what may not be spoken instead of trimming it."""

    def __init__(self, workflow: Workflow, *, strict: bool = False) -> None:
        self._flow = workflow.flow
        self._strict = strict
        self.book = FactBook(workflow)
        self.state = workflow.flow.start
        self.book.entered.add(self.state)
        self._emitted: set[str] = set()
        self._used: set[str] = set()
        self.leaks: list[tuple[str, str]] = []
        """(plan, fact) of every fact that was not eligible when its plan was built."""
        self.refusals: list[Refusal] = []

    @property
    def done(self) -> bool:
        """Whether the current state is terminal."""
        return self._flow.states[self.state].terminal

    def observe(self, seen: Observation) -> None:
        """Add what was heard and what was delivered to what is known; re-arm approvals that are no longer asked for."""
        self.book.acts.update(seen.agent_acts)
        self.book.deliver(seen.events)
        keep = {f"approval:{action}" for action in seen.approval_requests}
        self._used = {shot for shot in self._used if not shot.startswith("approval:") or shot in keep}

    def step(self, seen: Observation = EMPTY) -> Plan | None:
        """One step: the plan to speak, or None (the state may have moved without words)."""
        self.observe(seen)
        move = self.peek(seen)
        return None if move is None else self.take(move)

    def peek(self, seen: Observation) -> Move | None:
        """The move that ``seen`` allows, without making it; refusals met on the way are recorded."""
        state = self._flow.states[self.state]
        if state.on_enter is not None and self.state not in self._emitted:
            if self.allowed(state.on_enter, self.state):
                return Move(self.state, None, state.on_enter, entry=True)
            self._emitted.add(self.state)
        for transition in state.transitions:
            if self._open(transition, seen):
                return self.move_of(transition)
        return None

    def move_of(self, transition: Transition) -> Move:
        """The move that a transition makes, including the entry words of a state entered silently."""
        if transition.do is not None:
            return Move(transition.next, transition, transition.do)
        entry = self._flow.states[transition.next].on_enter
        return Move(transition.next, transition, entry, entry=entry is not None)

    def take(self, move: Move) -> Plan | None:
        """Make a move and build its plan."""
        self._emitted.add(self.state)
        if move.transition is not None:
            shot = self._one_shot(move.transition.when)
            if shot is not None:
                self._used.add(shot)
        self.state = move.state
        self.book.entered.add(move.state)
        if move.action is None:
            return None
        if move.entry:
            self._emitted.add(move.state)
        return self.build(move.action, move.state)

    def flow_after(self, way: Transition | None, state: str | None) -> str | None:
        """Where the flow is once words were said out of turn: along ``way`` when it leads on from here, into ``state`` when this is its own
        entry and was not said; None: it stays where it is.
        """
        here = self._flow.states[self.state]
        if way is None:
            return state if state == self.state and here.on_enter is not None and state not in self._emitted else None
        spoken_by_event = way.when.external_event is not None
        return way.next if spoken_by_event or way in here.transitions else None

    def build(self, action: Action, state: str) -> Plan:
        """The plan of an action; what is not eligible is taken off and recorded, the rest counts as revealed."""
        name = plan_id(action, state)
        spoken = tuple(fact for fact in action.facts if self.book.eligible(fact))
        leaked = tuple(fact for fact in action.facts if fact not in spoken)
        self.leaks.extend((name, fact) for fact in leaked)
        self.book.revealed.update(spoken)
        return Plan(
            name, action.act, spoken, action.floor_action, action.urgency, action.event_id, action.approves, action.revokes, state,
            leaked, action.style,
        )  # fmt: skip

    def allowed(self, action: Action, state: str, *, event: str | None = None) -> bool:
        """Whether the action may be spoken now; always in official use. ``event`` counts as delivered. A refusal is recorded once."""
        if not self._strict:
            return True
        because = self.book.blocked(action.facts, also_event=event)
        if because is None:
            return True
        self.refuse(Refusal(plan_id(action, state), action.facts, because))
        return False

    def refuse(self, refusal: Refusal) -> None:
        """Record a refusal, once."""
        if refusal not in self.refusals:
            self.refusals.append(refusal)

    def transitions(self) -> list[tuple[str, Transition]]:
        """Every (state, transition), the current state's first, then in file order."""
        order = [self.state, *(name for name in self._flow.states if name != self.state)]
        return [(name, transition) for name in order for transition in self._flow.states[name].transitions]

    def _open(self, transition: Transition, seen: Observation) -> bool:
        if not matches(transition.when, seen, self.book, generic=self._strict):
            return False
        shot = self._one_shot(transition.when)
        if shot is not None and shot in self._used:
            return False
        move = self.move_of(transition)
        return move.action is None or self.allowed(move.action, move.state)

    def _one_shot(self, trigger: Trigger) -> str | None:
        if trigger.external_event is not None:
            return f"event:{trigger.external_event}"
        if trigger.approval_request is not None and not self._strict:
            return f"approval:{trigger.approval_request}"
        return None
