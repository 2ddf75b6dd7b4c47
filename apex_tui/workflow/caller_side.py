"""The caller's half of a compiled recipe: facts, dialogue, events, wordings, and how the agent's words are read.

In here: the derivation alone. The dialogue is one state, CALL, whose transitions lead back to it; their order is their precedence: events,
approvals, answers (corrected before original, and a hedge before the first), acknowledgement, goodbye.
Deliberately not in here: when the caller speaks (the policy decides).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apex_tui.workflow.asking import commonly_asked
from apex_tui.workflow.caller_model import (  # fmt: skip
    HEDGE,
    Action,
    CallerFact,
    Flow,
    Observer,
    Reveal,
    ScriptedEvent,
    State,
    Transition,
    Trigger,
    Variant,
    Wording,
)
from apex_tui.workflow.determinism import stable_key
from apex_tui.workflow.forms import forms, month_forms
from apex_tui.workflow.part import value_key  # fmt: skip
from apex_tui.workflow.recipe import Approval, Recipe
from apex_tui.workflow.stages import beats, committed_fields, dependents, stages

CALL, DONE = "CALL", "DONE"


def fact_id(recipe: Recipe, name: str, corrections: int) -> str:
    """Return the id of the fact that holds for a field after the first ``corrections`` corrections: ``name``, ``name_v2`` ..."""
    version = 1 + sum(1 for change in list(recipe.corrections.values())[:corrections] if name in change.changes)
    return name if version == 1 else f"{name}_v{version}"


def answer_plan(recipe: Recipe, key: str, corrections: int) -> str:
    """Return the plan that tells a fact after the first ``corrections`` corrections: ``ans_<fact>``, ``ans_<fact>_after_<correction>``."""
    touching = [name for name, change in list(recipe.corrections.items())[:corrections] if key in change.again]
    return f"ans_{key}_after_{touching[-1]}" if touching else recipe.facts[key].plan or f"ans_{key}"


def approval_plan(recipe: Recipe, approval: Approval) -> str:
    """Return the plan that gives an approval: ``approve`` for the one that ends the work, ``approve_<action>`` before it."""
    return "approve" if approval.action == recipe.action else f"approve_{approval.action}"


def hedged(key: str) -> str:
    """Return the id of what a hedge reveals: that it was said, and nothing else."""
    return f"{key}__hedge"


def end_tool(recipe: Recipe) -> str | None:
    """Return the tool that ends a work without approval: the one that marks it as ready, or that hands the call over."""
    return next(iter((*recipe.tools_of("ready"), *recipe.tools_of("hand_over"))), None)


def facts(recipe: Recipe) -> tuple[CallerFact, ...]:
    """Return the original facts, then those that supersede them, each with the rule that lets it be spoken."""
    found: list[CallerFact] = []
    for key, fact in recipe.facts.items():
        acts = tuple(f"{act}:{name}" for act in ("ASK", "MISREAD") for name in fact.fills)
        acts += tuple(f"ASK:{name}" for later in recipe.facts.values() if later.after == key for name in later.fills)
        reveal = Reveal(may_volunteer=key in recipe.caller.opening.reveals, agent_acts=acts)
        for name, value in fact.fills.items():
            found.append(CallerFact(id=name, value=value, field=_path(recipe, name), reveal=reveal))
        if fact.hedge is not None:
            found.append(CallerFact(id=hedged(key), value=True, source=HEDGE, reveal=reveal))
    for number, (key, change) in enumerate(recipe.corrections.items(), 1):
        for name, value in change.changes.items():
            found.append(
                CallerFact(
                    id=fact_id(recipe, name, number),
                    value=value,
                    source="correction",
                    supersedes=fact_id(recipe, name, number - 1),
                    reveal=Reveal(events=(key,)),
                    field=_path(recipe, name),
                )
            )
    return tuple(found)


def flow(recipe: Recipe) -> Flow:
    """Return the dialogue."""
    opened = tuple(name for key in recipe.caller.opening.reveals for name in recipe.facts[key].fills)
    opening = Action(act="OPENING_REQUEST", plan_id="open", facts=opened)
    steps = (*_event_steps(recipe), *_approval_steps(recipe), *_answer_steps(recipe), *_closing_steps(recipe))
    call = State(on_enter=opening, transitions=steps)
    return Flow(start=CALL, states={CALL: call, DONE: State(terminal=True)})


def events(recipe: Recipe) -> tuple[ScriptedEvent, ...]:
    """Return corrections, back-channels and follow-through events. A request for approval brings about every correction as well."""
    found: list[ScriptedEvent] = []
    for number, key in enumerate(recipe.corrections, 1):
        found.append(_correction_event(recipe, key, number))
    for key, back in recipe.backchannels.items():
        found.append(
            ScriptedEvent(
                id=key,
                type="BACKCHANNEL",
                criticality="nuisance",
                trigger=back.when,
                start_window_ms=back.onset_ms,
                delivery="BACKCHANNEL",
                expected_floor_action="CONTINUE",
            )
        )
    for key, follow in recipe.follow_through.items():
        found.append(
            ScriptedEvent(
                id=key, type="FOLLOW_THROUGH", trigger=follow.when, world_updates=dict(follow.world), sql=follow.sql
            )
        )
    return tuple(found)


def wordings(recipe: Recipe) -> tuple[Wording, ...]:
    """Return the wordings of every plan that the dialogue can reach, and of the nudge."""
    caller, found = recipe.caller, list[Wording]()
    opened = tuple(name for key in caller.opening.reveals for name in recipe.facts[key].fills)
    found.append(_wording("open", "OPENING_REQUEST", caller.opening.say, opened))
    for key, fact in recipe.facts.items():
        if fact.hedge is not None:
            found.append(_wording(f"hedge_{key}", "CLARIFY", fact.hedge.say, (hedged(key),)))
        found.append(_wording(answer_plan(recipe, key, 0), "ANSWER", fact.say, tuple(fact.fills)))
        for number, change in enumerate(recipe.corrections.values(), 1):
            if key in change.again:
                known = tuple(fact_id(recipe, name, number) for name in fact.fills)
                found.append(_wording(answer_plan(recipe, key, number), "ANSWER", change.again[key], known))
    for number, (key, change) in enumerate(recipe.corrections.items(), 1):
        known = tuple(fact_id(recipe, name, number) for name in change.changes)
        found.append(_wording(key, "CORRECT", change.say, known, change.early))
    found.extend(_wording(key, "BACKCHANNEL", back.say) for key, back in recipe.backchannels.items())
    found.extend(_wording(approval_plan(recipe, row), "APPROVE", row.say) for row in recipe.approval)
    found.extend(_wording(key, follow.act, follow.say) for key, follow in recipe.follow_through.items() if follow.say)
    found.append(_wording("ack", "ACKNOWLEDGE", caller.yes.say))
    found.append(_wording("close", "END", caller.goodbye.say))
    found.append(_wording("nudge", "ASK", caller.nudge.say))
    return tuple(found)


def observer(recipe: Recipe) -> Observer:
    """Return the phrases that name each field and the forms of each value it may take: told, corrected, computed or easily misheard."""
    topics = {**recipe.artifact.fields, **recipe.topics}
    lexicon = {name: topic.names for name, topic in topics.items() if topic.names}
    by_value: dict[str, dict[str, tuple[str, ...]]] = {}
    for stage in stages(recipe):
        for name, value in stage.items():
            if recipe.telling(name) is not None:
                topic = topics[name]
                by_value.setdefault(name, {})[value_key(value)] = forms(
                    topic.type, value, topic.said.get(value_key(value), ())
                )
    for name, topic in topics.items():
        for value in topic.misheard:
            said = topic.said.get(value_key(value), ())
            known = by_value.setdefault(name, {})
            known.setdefault(
                value_key(value), month_forms(value) if topic.type == "date" else forms(topic.type, value, said)
            )
    values = {
        name: tuple(dict.fromkeys(form for row in rows.values() for form in row)) for name, rows in by_value.items()
    }
    asked = {name: found for name, topic in topics.items() if (found := (*topic.asked, *commonly_asked(topic)))}
    return Observer(lexicon=lexicon, asked=asked, values=values, forms=by_value)


def _path(recipe: Recipe, name: str) -> str | None:
    return f"{recipe.artifact.id}.{name}" if name in recipe.artifact.fields else None


def _wording(
    plan: str, act: Any, texts: tuple[str, ...], known: tuple[str, ...] = (), early: tuple[str, ...] = ()
) -> Wording:
    """``early``: texts for before their time; those of ``texts`` that are not among them are for later."""
    fits = dict.fromkeys(texts, "late" if early else "any") | {
        text: "any" if text in texts else "early" for text in early
    }
    variants = tuple(
        Variant(
            variant_id=f"{plan}#v{number}", text=text, expressed_fact_ids=known, checksum=stable_key(text), fits=fit
        )
        for number, (text, fit) in enumerate(fits.items(), 1)
    )
    return Wording(user_plan_id=plan, speech_act=act, variants=variants)


def _correction_event(recipe: Recipe, key: str, number: int) -> ScriptedEvent:
    change = recipe.corrections[key]
    # Corrections come one after the other, or a superseded value could come back.
    before = tuple(recipe.corrections)[: number - 1]
    found = [_brought_about(when, before) for when in change.when]
    if recipe.action is not None:
        found.append(Trigger(approval_request=recipe.action, events_done=before))
        found.append(Trigger(agent_act=f"REQUEST_APPROVAL:{recipe.action}", events_done=before))
    elif ready := recipe.tools_of("ready"):
        found.append(Trigger(tool_result=ready[0], events_done=before))
    changed = [name for name in change.changes if name in recipe.artifact.fields]
    follow = [other for name in changed for other in dependents(recipe, name) if other not in committed_fields(recipe)]
    return ScriptedEvent(
        id=key,
        type="MID_SPEECH_CORRECTION",
        trigger=found[0],
        also=tuple(found[1:]),
        start_window_ms=change.onset_ms,
        delivery="BARGE_IN",
        expected_floor_action="YIELD",
        max_stop_latency_ms=1500,
        expected_repairs=tuple(f"{recipe.artifact.id}.{name}" for name in dict.fromkeys([*changed, *follow])),
        forbidden_tool_commits=(change.revokes,) if change.revokes else (),
    )


def _brought_about(when: str, before: tuple[str, ...]) -> Trigger:
    """``CALL:tool`` is a call, anything else an act of the agent."""
    act, _, name = when.partition(":")
    if act == "CALL":
        return Trigger(tool_call=name, events_done=before)
    return Trigger(agent_act=when, events_done=before)


def _step(when: Trigger, do: Action, to: str = CALL) -> Transition:
    return Transition(when=when, do=do, next=to)


def _event_steps(recipe: Recipe) -> Iterator[Transition]:
    for number, (key, change) in enumerate(recipe.corrections.items(), 1):
        known = tuple(fact_id(recipe, name, number) for name in change.changes)
        yield _step(
            Trigger(external_event=key),
            Action(
                act="CORRECT", plan_id=key, facts=known, floor_action="BARGE_IN", urgency="high", event_id=key, revokes=change.revokes
            ),
        )  # fmt: skip
    for key in recipe.backchannels:
        yield _step(
            Trigger(external_event=key),
            Action(act="BACKCHANNEL", plan_id=key, floor_action="BACKCHANNEL", event_id=key),
        )
    for key, follow in recipe.follow_through.items():
        if follow.say:
            yield _step(Trigger(external_event=key), Action(act=follow.act, plan_id=key, event_id=key))


def _approval_steps(recipe: Recipe) -> Iterator[Transition]:
    """An approval is given when every correction was said that comes before it."""
    said = {beat.key: beat.stage for beat in beats(recipe) if beat.kind == "approval"}
    for row in recipe.approval:
        first = tuple(recipe.corrections)[: said[row.action]]
        approve = Action(act="APPROVE", plan_id=approval_plan(recipe, row), approves=row.action)
        yield _step(Trigger(approval_request=row.action, events_done=first), approve)
        yield _step(Trigger(agent_act=f"REQUEST_APPROVAL:{row.action}", events_done=first), approve)


def _answer_steps(recipe: Recipe) -> Iterator[Transition]:
    """Corrected answers of every fact come before its original: the longest run of corrections first."""
    for key, fact in recipe.facts.items():
        touching = [number for number, change in enumerate(recipe.corrections.values(), 1) if key in change.again]
        for number in (*reversed(touching), 0):
            if number == 0 and fact.after is not None:
                yield from _earlier_steps(recipe, fact.after, tuple(fact.fills))
            if number == 0 and fact.hedge is not None:
                yield from _hedge_steps(key, tuple(fact.fills))
            done = tuple(list(recipe.corrections)[index - 1] for index in touching if index <= number)
            known = tuple(fact_id(recipe, name, number) for name in fact.fills)
            answer = Action(act="ANSWER", plan_id=answer_plan(recipe, key, number), facts=known)
            for act in ("ASK", "MISREAD"):
                for name in fact.fills:
                    yield _step(Trigger(agent_act=f"{act}:{name}", events_done=done), answer)


def _earlier_steps(recipe: Recipe, key: str, names: tuple[str, ...]) -> Iterator[Transition]:
    """Questions that are answered with an earlier fact while that was not told."""
    first = tuple(recipe.facts[key].fills)
    answer = Action(act="ANSWER", plan_id=answer_plan(recipe, key, 0), facts=first)
    for name in names:
        yield _step(Trigger(agent_act=f"ASK:{name}", fact_unrevealed=first[0]), answer)


def _hedge_steps(key: str, names: tuple[str, ...]) -> Iterator[Transition]:
    hedge = Action(act="CLARIFY", plan_id=f"hedge_{key}", facts=(hedged(key),))
    for name in names:
        yield _step(Trigger(agent_act=f"ASK:{name}", fact_unrevealed=hedged(key)), hedge)


def _closing_steps(recipe: Recipe) -> Iterator[Transition]:
    yield _step(Trigger(agent_act="CONFIRM"), Action(act="ACKNOWLEDGE", plan_id="ack"))
    said = tuple(key for key, follow in recipe.follow_through.items() if follow.say)
    if recipe.action is not None:
        end = Trigger(committed=recipe.action, events_done=said)
    else:
        end = Trigger(tool_result=end_tool(recipe), events_done=(*recipe.corrections, *said))
    yield _step(end, Action(act="END", plan_id="close"), DONE)
