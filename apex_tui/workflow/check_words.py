"""Static checks of what is said: wordings complete, no value where it may not be spoken, questions that can be understood.

In here: findings about words, each one sentence. Deliberately not in here: names that lead nowhere (``check``), and anything that needs a run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from apex_tui.workflow.caller_model import HEDGE, Action, CallerFact, Trigger
from apex_tui.workflow.determinism import stable_key
from apex_tui.workflow.forms import states, without
from apex_tui.workflow.lines import Line, agent_lines, mark_fault, without_pauses
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.part import value_key

MS_PER_WORD = 350
"""A quick pace (the rehearsal voice takes about 400): a line estimated shorter than an interruption's latest onset may end before it."""


def actions(workflow: Workflow) -> Iterator[tuple[str, Action]]:
    """Return (state, action) of everything that the dialogue can say."""
    for state_id, state in workflow.flow.states.items():
        if state.on_enter:
            yield state_id, state.on_enter
        yield from ((transition.next, transition.do) for transition in state.transitions if transition.do)


def plan_of(state: str, action: Action) -> str:
    """Return the plan id of an action; the default is the format's."""
    return action.plan_id or f"{state}:{action.act}"


def check_words(workflow: Workflow) -> Iterator[str]:
    """Yield every finding about words."""
    yield from _complete(workflow)
    yield from _leaks(workflow)
    yield from _superseded(workflow)
    if workflow.source == "recipe":
        yield from _told(workflow)
        yield from _asked(workflow)
        yield from _interruptible(workflow)


def _complete(workflow: Workflow) -> Iterator[str]:
    plans = dict.fromkeys(plan_of(state, action) for state, action in actions(workflow))
    if workflow.source == "recipe":
        plans["nudge"] = None
    for plan in plans:
        wording = workflow.wording(plan)
        if wording is None or not wording.variants:
            yield f"The plan {plan} has no wording."
        elif (
            len({variant.text for variant in wording.variants}) < 2
            and workflow.source == "recipe"
            and not workflow.recorded
        ):
            yield f"The plan {plan} has one wording only; give it two or more."
    for wording in workflow.wordings:
        for variant in wording.variants:
            if fault := mark_fault(variant.text):
                yield f"The wording {variant.variant_id} has {fault}."
            if variant.checksum is not None and variant.checksum != stable_key(variant.text):
                yield f"The wording {variant.variant_id} is not the text that its checksum was made for."
    for line in agent_lines(workflow):
        if fault := mark_fault(line.text):
            yield f"The agent's line {line.id} has {fault}."


def _forms(workflow: Workflow, fact: CallerFact) -> tuple[str, ...]:
    name = fact.field.partition(".")[2] if fact.field else _root(workflow, fact)
    known = workflow.observer.forms.get(name, {}).get(value_key(fact.value))
    if known:
        return known
    if fact.source == HEDGE:
        return ()
    written = str(fact.value)
    return (
        (written,)
        if isinstance(fact.value, str | int | float) and not isinstance(fact.value, bool) and len(written) > 1
        else ()
    )


def _root(workflow: Workflow, fact: CallerFact) -> str:
    """The first fact of a chain of supersession: that is the name of what is told."""
    seen = {fact.id}
    while fact.supersedes and fact.supersedes not in seen and (older := workflow.fact(fact.supersedes)):
        fact = older
        seen.add(fact.id)
    return fact.id


def _plan_facts(workflow: Workflow) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {wording.user_plan_id: set() for wording in workflow.wordings}
    for state, action in actions(workflow):
        found.setdefault(plan_of(state, action), set()).update(action.facts)
    return found


def _leaks(workflow: Workflow) -> Iterator[str]:
    for plan, allowed in _plan_facts(workflow).items():
        wording = workflow.wording(plan)
        mine = tuple(form for fact in workflow.facts if fact.id in allowed for form in _forms(workflow, fact))
        for variant in wording.variants if wording else ():
            rest = without(without_pauses(variant.text), mine)
            for fact in workflow.facts:
                if fact.id in allowed:
                    continue
                if any(states(rest, form) for form in _forms(workflow, fact)):
                    newer = any(other.supersedes == fact.id and other.id in allowed for other in workflow.facts)
                    why = "which was superseded" if newer else "which it may not reveal"
                    yield f"The wording {variant.variant_id} states the value of {fact.id}, {why}."


def _superseded(workflow: Workflow) -> Iterator[str]:
    for fact in workflow.facts:
        for event in fact.reveal.events if fact.supersedes else ():
            after = {
                transition.next
                for state in workflow.flow.states.values()
                for transition in state.transitions
                if transition.when.external_event == event
            }
            for state_id in _reachable(workflow, after):
                for act in _still_told(workflow, state_id, str(fact.supersedes), event):
                    yield f"After {event}, {act} is still answered with {fact.supersedes}, which {fact.id} supersedes."


def _reachable(workflow: Workflow, start: set[str]) -> set[str]:
    reached, waiting = set(start), list(start)
    while waiting:
        state = workflow.flow.states.get(waiting.pop())
        for transition in state.transitions if state else ():
            if transition.next not in reached:
                reached.add(transition.next)
                waiting.append(transition.next)
    return reached


def _still_told(workflow: Workflow, state_id: str, fact: str, event: str) -> Iterator[str]:
    """Acts in a state that bring out ``fact`` although no earlier transition takes the act once ``event`` was delivered."""
    scripted = workflow.event(event)
    before = {event, *(scripted.trigger.events_done if scripted else ())}
    earlier: list[Trigger] = []
    for transition in workflow.flow.states[state_id].transitions:
        when, do = transition.when, transition.do
        if when.external_event in before:
            continue  # it was said already, and once is all it is said
        if do and fact in do.facts:
            guarded = any(
                guard.agent_act == when.agent_act
                and guard.events_done
                and set(guard.events_done) - set(when.events_done) <= before
                for guard in earlier
            )
            if not guarded:
                yield when.agent_act or "a transition"
        earlier.append(when)


def _told(workflow: Workflow) -> Iterator[str]:
    for plan, facts in _plan_facts(workflow).items():
        wording = workflow.wording(plan)
        for variant in wording.variants if wording else ():
            text = without_pauses(variant.text)
            for name in sorted(facts):
                fact = workflow.fact(name)
                if fact and fact.source != HEDGE and not any(states(text, form) for form in _forms(workflow, fact)):
                    yield f"The wording {variant.variant_id} does not state {name} ({fact.value}) in a form that is known."


def _asked(workflow: Workflow) -> Iterator[str]:
    """The reference's question before each answer names what it asks for, and nothing else."""
    plans = _plan_facts(workflow)
    turns = workflow.reference.turns
    for turn, following in itertools.pairwise(turns):
        wording = workflow.wording(following.after or "")
        if wording is None or wording.speech_act != "ANSWER":
            continue
        said = [step.say for step in turn.steps if step.say]
        questions = [part for part in re.split(r"(?<=[.!?])\s+", said[-1] if said else "") if part.endswith("?")]
        wanted = {_root(workflow, fact) for name in plans[following.after or ""] if (fact := workflow.fact(name))}
        named = {
            field
            for field, names in workflow.observer.lexicon.items()
            for name in names
            for part in questions
            if states(part, name)
        }
        if not named & wanted:
            yield f"The question {said[-1] if said else ''!r} names none of {', '.join(sorted(wanted))}."
        for other in sorted(named - wanted):
            yield f"The question {said[-1]!r} also names {other}, so it would be answered as well."


def _lines_after(workflow: Workflow, events: tuple[str, ...]) -> list[Line]:
    """Lines of the reference from the turn on that takes in the last of these events."""
    said = [index for index, turn in enumerate(workflow.reference.turns) if turn.after in events]
    turns = workflow.reference.turns[max(said, default=0) :]
    clips = {step.clip for turn in turns for step in turn.steps}
    return [line for line in agent_lines(workflow) if line.id in clips or not said]


def _interruptible(workflow: Workflow) -> Iterator[str]:
    """Every correction is brought about by a line of the reference that lasts until its latest onset."""
    for event in workflow.events:
        acts = [
            trigger.agent_act
            for trigger in (event.trigger, *event.also)
            if (trigger.agent_act or "").startswith("CONFIRM:")
        ]
        fields = [act.partition(":")[2] for act in acts if act]
        if event.delivery != "BARGE_IN" or not fields or event.start_window_ms is None:
            continue
        lines = [
            line
            for line in _lines_after(workflow, event.trigger.events_done)
            if any(states(line.text, form) for field in fields for form in workflow.observer.values.get(field, ()))
        ]
        if not lines:
            yield f"No line of the reference reads back {' or '.join(fields)}, so {event.id} never happens."
        elif len(lines[0].text.split()) * MS_PER_WORD < event.start_window_ms[1]:
            yield f"The line {lines[0].id} may end before {event.id} begins ({event.start_window_ms[1]} ms); make it longer."
