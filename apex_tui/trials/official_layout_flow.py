"""The dialogue and the events of a recipe in the words of the official format.

In here: one state for each stretch between corrections, so that an approval cannot come before the last of them and no answer tells what was
superseded; triggers that the format's caller looks at; and what is lost by that. Deliberately not in here: the other files of a package
(``official_layout_package``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from apex_tui.workflow.caller_model import Action, ScriptedEvent, Transition, Trigger
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Step

DONE = "DONE"
_EVENT_KEYS = {
    "id", "type", "criticality", "start_window_ms", "delivery", "expected_floor_action", "max_stop_latency_ms", "fact_updates",
    "expected_repairs", "world_updates", "forbidden_tool_commits",
}  # fmt: skip
_OURS = {"events_done", "committed", "tool_result"}
"""Parts of a trigger that the format has not, or never looks at."""


class Dialogue:
    """The flow and the events of one export. ``note`` is told what the format cannot say."""

    def __init__(self, workflow: Workflow, note: Callable[[str], None]) -> None:
        self.workflow, self._note = workflow, note
        self._call = workflow.flow.states[workflow.flow.start]
        self._changes = [t for t in self._call.transitions if t.do is not None and t.do.act == "CORRECT"]
        waits = {turn.after for turn in workflow.reference.turns}
        self._acked = any(
            t.do is not None and t.do.act == "ACKNOWLEDGE" and t.do.plan_id in waits for t in self._call.transitions
        )
        self._turns = self._acked or any(t.do is not None and t.do.act == "CLARIFY" for t in self._call.transitions)

    # --- events ----------------------------------------------------------------------------------------------------------------------

    def events(self) -> list[ScriptedEvent]:
        """Events that the reference can fire, corrections first in their order."""
        kept = []
        for event in self.workflow.events:
            if event.delivery == "BACKCHANNEL":
                self._note(f"{event.id}: left out; the reference speaks back-channels as turns that want an answer")
                continue
            said = any(t.when.external_event == event.id for t in self._call.transitions)
            if event.sql and not (said or event.world_updates or event.forbidden_tool_commits):
                self._note(f"{event.id}: left out; it changes records, and the format's events set single values only")
                continue
            if event.also:
                self._note(f"{event.id}: comes about by {_words(event)} only; the format knows one trigger")
            if event.trigger.events_done and event.trigger.agent_act is not None:
                new = self._apart(event).get("artifact_mutation")
                how = f"comes about in a beat that also writes {new}" if new else "may come about before"
                self._note(f"{event.id}: {how}; the format cannot let it wait for {event.trigger.events_done[-1]}")
            if event.sql:
                self._note(f"{event.id}: leaves the records as they are; the format's events set single values only")
            kept.append(event)
        return kept

    def event(self, event: ScriptedEvent) -> dict[str, Any]:
        """An entry of ``events.yaml``."""
        trigger = _when(event.trigger)
        if event.trigger.events_done and event.trigger.agent_act is not None:
            trigger |= self._apart(event)
        return {**event.model_dump(include=_EVENT_KEYS, exclude_defaults=True, mode="json"), "trigger": trigger}

    # --- the flow --------------------------------------------------------------------------------------------------------------------

    def flow(self) -> dict[str, Any]:
        """``flow.yaml``. Where the caller can say something that is no change and must end the beat (a hedge, a yes), every state has a twin
        to go to and fro between: only a change of state ends a beat there.
        """
        states: dict[str, Any] = {}
        for number in range(len(self._changes) + 1):
            names = _names(number) if self._turns else _names(number)[:1]
            for name in names:
                other = names[1 - names.index(name)] if self._turns else name
                states[name] = {"transitions": self._steps(number, name, other)}
        if self._call.on_enter is not None:
            states[_names(0)[0]]["on_enter"] = action_of(self._call.on_enter)
        states[DONE] = {"terminal": True}
        return {"start": _names(0)[0], "states": states}

    def _steps(self, number: int, name: str, other: str) -> list[dict[str, Any]]:
        last = number == len(self._changes)
        said = {t.when.external_event for t in self._changes[:number]}
        steps = [] if last else self._change(self._changes[number], _names(number + 1)[0])
        answered: set[str | None] = set()
        for transition in self._call.transitions:
            action, when = transition.do, transition.when
            if action is None or transition in self._changes or not said.issuperset(when.events_done):
                continue
            ends = self.workflow.flow.states[transition.next].terminal
            if action.act == "ACKNOWLEDGE":
                steps += self._yes(transition, other) if last and self._acked else []
            elif action.act == "BACKCHANNEL" or (ends and not last) or _is_lexical(when.agent_act):
                continue
            elif action.act in ("ANSWER", "CLARIFY"):
                if when.agent_act not in answered:
                    steps.append(self._step(transition, other if action.act == "CLARIFY" else name))
                if action.act == "ANSWER":
                    answered.add(when.agent_act)  # what follows for this question was superseded
            else:
                steps.append(self._step(transition, DONE if ends else name))
        return steps

    def _change(self, transition: Transition, to: str) -> list[dict[str, Any]]:
        """A correction, as its event comes about; one that waits for another at the latest when the approval is asked for."""
        event = self.workflow.event(transition.when.external_event or "")
        facts = transition.do.facts if transition.do is not None else ()
        asked = [t.approval_request for t in event.also if t.events_done] if event is not None and facts else []
        late = [{"approval_request": action, "fact_unrevealed": facts[0]} for action in asked if action is not None]
        return [self._step(transition, to), *({**self._step(transition, to), "when": when} for when in late)]

    def late_facts(self) -> set[str]:
        """Facts of corrections that are said when an approval is asked for, whether or not their event came about."""
        chained = {
            e.id for e in self.workflow.events for t in e.also if t.events_done and t.approval_request is not None
        }
        return {f for t in self._changes if t.do is not None and t.when.external_event in chained for f in t.do.facts}

    def _apart(self, event: ScriptedEvent) -> dict[str, str]:
        """For an event that waits for another: what tells the read-back before it from earlier ones, a field that the reference writes in that
        turn for the first time, or at least in no earlier turn that reads the value back. The format's triggers know no order, and all parts
        of one must come about in one beat.
        """
        forms = self.workflow.observer.values.get((event.trigger.agent_act or "").partition(":")[2], ())
        plans = {t.do.plan_id for t in self._changes if t.do is not None and t.when.external_event == event.id}
        known: set[str] = set()
        read_back: set[str] = set()
        for turn, following in itertools.pairwise(self.workflow.reference.turns):
            written = [path for step in turn.steps for path in self._paths(step)]
            if following.after in plans:
                new = [path for path in written if path not in known] or [p for p in written if p not in read_back]
                return {"artifact_mutation": new[-1]} if new else {}
            known.update(written)
            text = " ".join(step.say for step in turn.steps if step.say).lower()
            read_back.update(written if any(form.lower() in text for form in forms) else ())
        return {}

    def _paths(self, step: Step) -> list[str]:
        tool = self.workflow.tool(step.call) if step.call else None
        fields = step.args.get("fields")
        if tool is None or tool.handler != "update_artifact" or not isinstance(fields, dict):
            return []
        return [f"{tool.effect.get('artifact_id')}.{name}" for name in fields]

    def read_back(self) -> list[str]:
        """Fields whose read-back the observer must tell: those that events wait for, and what was changed where the agent waits for a yes."""
        acts = {event.trigger.agent_act or "" for event in self.workflow.events}
        found = {act.partition(":")[2] for act in acts if act.startswith("CONFIRM:")}
        if self._acked:
            facts = (self.workflow.fact(name) for t in self._changes if t.do is not None for name in t.do.facts)
            found |= {fact.field.partition(".")[2] for fact in facts if fact is not None and fact.field}
        return sorted(found)

    def _yes(self, transition: Transition, to: str) -> list[dict[str, Any]]:
        """The format's observer tells a read-back by its field."""
        return [
            {"when": {"agent_act": f"CONFIRM:{field}"}, "do": action_of(transition.do), "next": to}
            for field in self.read_back()
        ]

    def _step(self, transition: Transition, to: str) -> dict[str, Any]:
        when = _when(transition.when)
        if transition.when.committed is not None:
            self._note("the goodbye follows an attempt to commit, also a refused one; the format knows no success")
        if transition.when.tool_result is not None:
            self._note(
                f"{_plan(transition)} follows the call of {transition.when.tool_result}, also one that fails; the format knows no result"
            )
        if transition.do is not None and transition.do.act == "ANSWER" and transition.do.facts:
            when["fact_unrevealed"] = transition.do.facts[0]
        return {"when": when, "do": action_of(transition.do), "next": to}


def action_of(action: Action | None) -> dict[str, Any]:
    """An action as the format has it."""
    assert action is not None
    return action.model_dump(exclude_defaults=True, exclude={"approves", "revokes"}, mode="json")


def _names(number: int) -> tuple[str, str]:
    return f"CALL_{number}", f"CALL_{number}_AGAIN"


def _plan(transition: Transition) -> str:
    return (transition.do.plan_id if transition.do is not None else None) or "it"


def _is_lexical(act: str | None) -> bool:
    """Acts that our observer tells by words and the format's by nothing."""
    return (act or "").partition(":")[0] in ("MISREAD", "REQUEST_APPROVAL", "CONFIRM")


def _when(trigger: Trigger) -> dict[str, Any]:
    when = trigger.model_dump(exclude_defaults=True, exclude=_OURS, mode="json")
    if trigger.committed is not None:
        when["commit_attempt"] = trigger.committed
    if trigger.tool_result is not None:
        when["tool_call"] = trigger.tool_result
    return when


def _words(event: ScriptedEvent) -> str:
    return ", ".join(
        f"{k} {v}" for k, v in event.trigger.model_dump(exclude_defaults=True, exclude={"events_done"}).items()
    )
