"""The dialogue of a workflow as a tree: what the caller says in which state, and what brings it about.

Transitions that say the same are one branch. In here: the text. Deliberately not in here: printing.
"""

from __future__ import annotations

from collections.abc import Iterator

from apex_tui.workflow.caller_model import HEDGE, Action, ScriptedEvent, Transition, Trigger
from apex_tui.workflow.check_words import plan_of
from apex_tui.workflow.model import Workflow

WIDEST = 110


def dialogue(workflow: Workflow) -> list[str]:
    """Return the lines of the tree, states in file order, branches in their order of precedence."""
    out: list[str] = []
    for name, state in workflow.flow.states.items():
        start = " (the call begins here)" if name == workflow.flow.start else ""
        out.append(f"{name}{start}{' - the caller hangs up' if state.terminal else ''}")
        branches: list[tuple[str, list[str]]] = []
        if state.on_enter is not None:
            branches.append(("on entering", list(_said(workflow, name, state.on_enter))))
        for when, transition in _grouped(state.transitions):
            words = list(_said(workflow, transition.next, transition.do)) if transition.do else ["says nothing"]
            if transition.next != name:
                words.append(f"goes on in {transition.next}")
            event = workflow.event(transition.when.external_event or "")
            branches.append((when, [*(_about(event) if event is not None else ()), *words]))
        for index, (when, lines) in enumerate(branches):
            last = index == len(branches) - 1
            out.append(f"{'└─' if last else '├─'} {when}")
            out += [f"{'  ' if last else '│ '}    {line}" for line in lines]
    return out


def _grouped(transitions: tuple[Transition, ...]) -> Iterator[tuple[str, Transition]]:
    """One entry for neighbours that say the same under the same events."""
    groups: list[tuple[list[str], Transition]] = []
    for transition in transitions:
        if groups:
            names, first = groups[-1]
            same = (first.do, first.next, first.when.events_done) == (
                transition.do,
                transition.next,
                transition.when.events_done,
            )
            if same and transition.do is not None:
                names.append(_trigger(transition.when))
                continue
        groups.append(([_trigger(transition.when)], transition))
    for names, transition in groups:
        after = f", once {' and '.join(transition.when.events_done)} was said" if transition.when.events_done else ""
        yield " or ".join(dict.fromkeys(names)) + after, transition


def _trigger(when: Trigger) -> str:
    given = when.model_dump(exclude_defaults=True, exclude={"events_done"})
    words = {
        "agent_act": "",
        "external_event": "event ",
        "approval_request": "asked to approve ",
        "committed": "done: ",
    }
    parts = []
    for key, value in given.items():
        if key == "fact_unrevealed":
            parts.append("for the first time" if value.endswith("__hedge") else f"while {value} is untold")
        else:
            parts.append(f"{words.get(key, key.replace('_', ' ') + ' ')}{value}")
    return " ".join(parts) or "always"


def _about(event: ScriptedEvent) -> Iterator[str]:
    brought = " or ".join(dict.fromkeys(_trigger(trigger) for trigger in (event.trigger, *event.also)))
    window = event.start_window_ms
    within = f", {window[0] / 1000:g} to {window[1] / 1000:g} s into the agent's reply" if window else ""
    yield f"due at {brought}{within}"
    if event.expected_repairs:
        yield f"repairs {', '.join(event.expected_repairs)}"


def _said(workflow: Workflow, state: str, action: Action) -> Iterator[str]:
    plan = plan_of(state, action)
    wording = workflow.wording(plan)
    variants = wording.variants if wording is not None else ()
    facts = [fact for name in action.facts if (fact := workflow.fact(name)) is not None and fact.source != HEDGE]
    tells = f" tells {', '.join(f'{fact.id} = {fact.value}' for fact in facts)}" if facts else ""
    gives = f" approves {action.approves}" if action.approves else ""
    takes = f" takes back {action.revokes}" if action.revokes else ""
    yield f"{action.act} {plan}{tells}{gives}{takes}"
    for variant in variants:
        text = variant.text if len(variant.text) <= WIDEST else variant.text[: WIDEST - 1] + "…"
        yield f'"{text}"'
