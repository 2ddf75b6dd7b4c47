"""What the caller would say next, strictly: pending acts and tool evidence are matched against the flow, one utterance at a time.

In here: consumption of what triggered a transition, answers to repeated questions with the value now wanted, silence instead of a wrong
value. Deliberately not in here: when it is said (policy) and scripted events (events).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass

from apex_tui.caller.flow import FlowEngine, Move, Observation, Plan, Refusal, matches, plan_id
from apex_tui.caller.scene import Item
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import Transition, Trigger
from apex_tui.workflow.model import Workflow

PLAN_CAP = 4
"""The same plan is spoken at most so often: a caller who says the same a fifth time tests nothing."""
_LASTING = frozenset({"approval_requests", "committed"})
"""Evidence that stays until a transition consumes it; everything else is forgotten when nothing answers it."""
_KINDS = (
    ("agent_act", "agent_acts"), ("tool_call", "tool_calls"), ("tool_result", "tool_results"), ("artifact_mutation", "mutations"),
    ("commit_attempt", "commit_attempts"), ("approval_request", "approval_requests"), ("committed", "committed"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """A move that says something. ``stays``: the flow does not move (a repeated question)."""

    move: Move
    plan: str
    items: tuple[Item, ...]
    because: str
    recovered: bool = False

    @property
    def act(self) -> str:
        """The speech act of what would be said."""
        return self.move.action.act if self.move.action is not None else ""


class StrictScript:
    """Pending acts and evidence of one session, and the flow that answers them."""

    def __init__(self, workflow: Workflow, *, strict: bool = True) -> None:
        self.engine = FlowEngine(workflow, strict=strict)
        self.items: list[Item] = []
        self.said: Counter[str] = Counter()
        self._heard: Counter[str] = Counter()
        self._fresh = True
        self.over: str | None = None
        """Why nothing will ever be said again, although the dialogue did not reach its end (the official caller alone)."""
        self.asked_too_often = False
        """What was heard last asks for words that were said as often as they ever are."""

    def silence(self) -> bool:
        """The agent did not answer: whether that counts as a turn of it. Not here."""
        return False

    def note(self, item: Item) -> None:
        """Something was heard or done."""
        if item.kind == "agent_acts":
            self._heard[item.key] += 1
            self.engine.book.acts.add(item.key)
        if not any(old.kind == item.kind and old.key == item.key and old.ready == item.ready for old in self.items):
            self.items.append(item)

    def reply_closed(self, reply: str, *, heard: bool) -> None:
        """A reply ended: what it said may be answered, and evidence from before its end has been spoken about."""
        for item in self.items:
            if item.reply == reply and not heard:
                item.reply = None
            elif item.reply in (reply, None) and heard:
                item.ready = True
        self._fresh = self._fresh or heard

    def ripen(self) -> None:
        """The agent said nothing about it: evidence counts all the same."""
        for item in self.items:
            item.ready = item.ready or item.reply is None
        self._fresh = True

    @property
    def unripe_since(self) -> float | None:
        """When the newest evidence arrived that waits for a reply or for quiet; None when there is none."""
        return max((item.at_ms for item in self.items if not item.ready and item.reply is None), default=None)

    def drop_words(self) -> None:
        """What was heard so far needs no answer any more."""
        self.items = [item for item in self.items if not item.words]

    def keep_questions(self, told: Iterable[str]) -> bool:
        """The caller corrected itself with these facts: of what was heard before only questions about something else need an answer still.
        True when there are such.
        """
        facts = set(told)
        questions = [item for item in self.items if item.words and self._is_open(item, facts)]
        self.drop_words()
        self.items += questions
        return bool(questions)

    def drop_reply(self, reply: str) -> None:
        """What a cut reply said needs no answer; tool evidence stays."""
        self.items = [item for item in self.items if not (item.words and item.reply == reply)]

    def drop_approvals(self) -> None:
        """The caller changed something: approval that was asked for before is not given."""
        self.items = [item for item in self.items if item.kind != "approval_requests" and not _asks_approval(item)]

    def choose(self, now_ms: float) -> Choice | None:
        """The next thing to say, without saying it. Moves without words are made on the way; what nothing answers is forgotten."""
        ready = [item for item in self.items if item.ready]
        if not ready and not self._fresh:
            return None
        self.asked_too_often = False
        for _ in range(len(self.engine.transitions()) + 1):
            firm = [item for item in ready if not _confirms(item)]
            choice = self._match(firm, now_ms) or self._match(ready, now_ms)
            if choice is None:
                break
            if choice.move.action is None:
                self.engine.take(choice.move)
                self._consume(choice)
            elif self.said[choice.plan] >= PLAN_CAP:
                self.engine.refuse(
                    Refusal(choice.plan, choice.move.action.facts, f"it was said {PLAN_CAP} times already")
                )
                if not choice.items:
                    break
                self.asked_too_often = any(map(_asks, choice.items))
                self._consume(choice)
            else:
                return choice
            ready = [item for item in self.items if item.ready]
        choice = self._again(ready)
        if choice is None:
            self._forget()
        return choice

    def take(self, choice: Choice) -> Plan | None:
        """Say it: the flow moves, what triggered it is consumed, and so is whatever would only trigger the same words again."""
        before = self.engine.state
        # A question in two parts is one question: what led to these words before they were said needs no second answer.
        led = {id(item) for item in self.items if item.ready and self._leads_to(item, before, choice.plan)}
        plan = self.engine.take(choice.move)
        self._consume(choice)
        self.said[choice.plan] += 1
        if choice.recovered:
            self._catch_up()
        same = [
            item
            for item in self.items
            if item.ready
            and (
                id(item) in led
                or any(self._leads_to(item, state, choice.plan) for state in (before, self.engine.state))
            )
        ]
        acks = [item for item in self.items if item.ready and _confirms(item) and self._only_acknowledged(item)]
        self._remove([*same, *acks])
        return plan

    def spoken(self, name: str) -> None:
        """These words were said by another hand: what they answer needs no second answer."""
        self.said[name] += 1
        self._remove([item for item in self.items if item.ready and self._leads_to(item, self.engine.state, name)])

    def _match(self, ready: list[Item], now_ms: float) -> Choice | None:
        seen = self._observation(ready, now_ms)
        move = self.engine.peek(seen)
        if move is None:
            return None
        name = plan_id(move.action, move.state) if move.action is not None else ""
        if move.transition is None:
            return Choice(move, name, (), "opening" if not self.said else f"state {move.state} was entered")
        items = tuple(item for item in ready if _triggers(move.transition.when, item))
        return Choice(move, name, items, _because(move.transition.when, items))

    def _again(self, ready: list[Item]) -> Choice | None:
        """A question that the current state does not answer: the words that answer it elsewhere in the flow, if they may be said now."""
        for item in ready:
            if item.kind != "agent_acts" or not item.key.startswith("ASK:"):
                continue
            for transition in self._answers(item.key):
                action = transition.do
                if action is None:
                    continue
                if self.said[plan_id(action, transition.next)] >= PLAN_CAP:
                    self.asked_too_often = True
                    continue
                if self.engine.allowed(action, transition.next):
                    move = Move(self.engine.state, None, action)
                    name = plan_id(action, transition.next)
                    return Choice(
                        move, name, (item,), f"{item.key} was heard outside its place in the flow", recovered=True
                    )
        return None

    def _answers(self, key: str) -> list[Transition]:
        """Transitions that answer a question; where their facts no longer hold, those that say the newer ones."""
        book = self.engine.book
        found: list[Transition] = []
        rest = [transition for _, transition in self.engine.transitions() if transition.do is not None]
        for transition in rest:
            when, action = transition.when, transition.do
            if when.agent_act != key or action is None or not set(when.events_done) <= book.events:
                continue
            newer = {book.successor(fact) for fact in action.facts} - {None}
            found.append(transition)
            found += [other for other in rest if newer and other.do is not None and newer <= set(other.do.facts)]
        return found

    def _catch_up(self) -> None:
        """Pass through states that only wait for a question whose answer was given already."""
        for _ in range(len(self.engine.transitions())):
            current = self.engine.state
            ahead = (t for name, t in self.engine.transitions() if name == current and t.next != current)
            step = next((t for t in ahead if self._was_answered(t)), None)
            if step is None:
                return
            self.engine.take(Move(step.next, step, None))

    def _was_answered(self, transition: Transition) -> bool:
        asked, action = transition.when.agent_act or "", transition.do
        return (
            asked.startswith("ASK:")
            and action is not None
            and bool(action.facts)
            and set(action.facts) <= self.engine.book.revealed
        )

    def _leads_to(self, item: Item, state: str, plan: str) -> bool:
        """Whether this item alone would make the caller say ``plan`` in ``state``."""
        seen = self._observation([item], item.at_ms)
        for name, transition in self.engine.transitions():
            if (
                name == state
                and _triggers(transition.when, item)
                and matches(transition.when, seen, self.engine.book, generic=True)
            ):
                return transition.do is not None and plan_id(transition.do, transition.next) == plan
        return False

    def _only_acknowledged(self, item: Item) -> bool:
        state = self.engine.state
        hits = [t for name, t in self.engine.transitions() if name == state and _triggers(t.when, item)]
        return all(t.do is not None and t.do.act == "ACKNOWLEDGE" and t.next == state for t in hits)

    def _is_open(self, item: Item, told: Set[str]) -> bool:
        """Whether an item is a question that ``told`` does not answer."""
        if item.kind != "agent_acts" or not item.key.startswith("ASK:"):
            return False
        answers = [t.do for _, t in self.engine.transitions() if t.when.agent_act == item.key and t.do is not None]
        return bool(answers) and all(told.isdisjoint(answer.facts) for answer in answers)

    def _observation(self, items: Iterable[Item], now_ms: float) -> Observation:
        lists: dict[str, list[str]] = {}
        for item in items:
            lists.setdefault(item.kind, []).append(item.key)
        acts = lists.get("agent_acts", [])
        repeated = max((self._heard[key] for key in acts), default=0)
        return Observation(**{k: tuple(v) for k, v in lists.items()}, media_ms=now_ms, repetitions=repeated)  # type: ignore[arg-type]

    def _consume(self, choice: Choice) -> None:
        self._remove(choice.items)
        if not choice.items:
            self._fresh = choice.move.transition is None and bool(self.said)

    def _forget(self) -> None:
        self._fresh = False
        self.items = [item for item in self.items if not item.ready or item.kind in _LASTING]

    def _remove(self, items: Iterable[Item]) -> None:
        gone = {id(item) for item in items}
        self.items = [item for item in self.items if id(item) not in gone]


def _confirms(item: Item) -> bool:
    return item.kind == "agent_acts" and item.key.partition(":")[0] == "CONFIRM"


def _asks(item: Item) -> bool:
    return (item.kind == "agent_acts" and item.key.startswith("ASK:")) or _asks_approval(item)


def _asks_approval(item: Item) -> bool:
    return item.kind == "agent_acts" and item.key.partition(":")[0] == "REQUEST_APPROVAL"


def _triggers(trigger: Trigger, item: Item) -> bool:
    """Whether an item meets one of the fields of a trigger (an act without a field meets any)."""
    for name, kind in _KINDS:
        wanted = getattr(trigger, name)
        if wanted is None or kind != item.kind:
            continue
        if wanted == item.key or (name == "agent_act" and ":" not in wanted and item.key.startswith(wanted + ":")):
            return True
    return False


def _because(trigger: Trigger, items: tuple[Item, ...]) -> str:
    names = {"agent_acts": "was heard", "approval_requests": "asks for approval", "committed": "was committed"}
    if items:
        return "; ".join(f"{item.key} {names.get(item.kind, 'was done')}" for item in items)
    if trigger.media_time_ms_gte is not None:
        return f"{trigger.media_time_ms_gte / 1000:.1f} s have passed"
    return "the flow goes on"


def check_wordings(workflow: Workflow) -> None:
    """Raise ``WorkflowError`` unless every plan that the flow can say has words: they are needed before the call begins."""
    for name, state in workflow.flow.states.items():
        for action, where in ((state.on_enter, name), *((t.do, t.next) for t in state.transitions)):
            wording = None if action is None else workflow.wording(plan_id(action, where))
            if action is not None and (wording is None or not wording.variants):
                plan = plan_id(action, where)
                raise WorkflowError(f"{workflow.id}: plan {plan} of state {name} has no wording; add one to the bank.")
