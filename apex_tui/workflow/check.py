"""Static checks of a workflow: what ``apex-tui workflows check`` can say without running it.

In here: names that lead nowhere, parts that nothing uses, gold that the reference does not reach; the words are in ``check_words``. Deliberately
not in here: playing the reference or an idle agent. Each finding is one sentence; a sound workflow has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from apex_tui.workflow.caller_model import Trigger
from apex_tui.workflow.check_words import actions, check_words
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Predicate
from apex_tui.workflow.part import value_key
from apex_tui.workflow.predicates import predicates_of, unjudgeable

SEARCH_HITS = 3
"""Documents that a search returns unless it asks for more."""


def check(workflow: Workflow) -> list[str]:
    """Return the findings in a stable order, each once."""
    found = [
        *check_words(workflow),
        *_facts(workflow),
        *_flow(workflow),
        *_events(workflow),
        *_workbench(workflow),
        *_gold(workflow),
        *_reference(workflow),
    ]
    return list(dict.fromkeys(found))


def _actions_known(workflow: Workflow) -> set[str]:
    return {tool.commit_action_type or tool.name for tool in workflow.tools if tool.commits or tool.commit_action_type}


def _name(value: object) -> str | None:
    """A name from a package's free-form arguments, which may hold anything."""
    return None if value is None else str(value)


def _facts(workflow: Workflow) -> Iterator[str]:
    for fact in workflow.facts:
        reveal = fact.reveal
        if not (reveal.may_volunteer or reveal.agent_acts or reveal.events or reveal.on_state):
            yield f"The fact {fact.id} has no reveal rule, so it can never be told."
        if fact.supersedes and workflow.fact(fact.supersedes) is None:
            yield f"The fact {fact.id} supersedes {fact.supersedes}, which does not exist."
        yield from (f"The fact {fact.id} is revealed by the event {name}, which does not exist." for name in reveal.events
                    if workflow.event(name) is None)  # fmt: skip
        yield from (f"The fact {fact.id} is revealed in the state {name}, which does not exist." for name in reveal.on_state
                    if name not in workflow.flow.states)  # fmt: skip
        if fact.field and not _has_field(workflow, fact.field):
            yield f"The fact {fact.id} fills {fact.field}, which does not exist."


def _has_field(workflow: Workflow, path: str) -> bool:
    """Whether ``artifact.field`` exists; without a declared shape any field does."""
    name, _, field = path.partition(".")
    artifact = workflow.artifacts.get(name)
    return artifact is not None and (artifact.shape is None or artifact.shape.field(field) is not None)


def _flow(workflow: Workflow) -> Iterator[str]:
    for _, action in actions(workflow):
        said = f"The plan {action.plan_id or action.act}"
        yield from (
            f"{said} tells the fact {name}, which does not exist."
            for name in action.facts
            if workflow.fact(name) is None
        )
        if action.event_id and workflow.event(action.event_id) is None:
            yield f"{said} belongs to the event {action.event_id}, which does not exist."
        for action_type in (action.approves, action.revokes):
            if action_type and action_type not in _actions_known(workflow):
                yield f"{said} is about the action {action_type}, which no tool commits."
    for state_id, state in workflow.flow.states.items():
        for transition in state.transitions:
            yield from _trigger(workflow, f"The state {state_id}", transition.when)
    if not any(state.terminal for state in workflow.flow.states.values()):
        yield "No state of the dialogue is terminal, so the caller never hangs up content."


def _trigger(workflow: Workflow, where: str, when: Trigger) -> Iterator[str]:
    for event in (when.external_event, *when.events_done):
        if event and workflow.event(event) is None:
            yield f"{where} waits for the event {event}, which does not exist."
    for tool in (when.tool_call, when.tool_result):
        if tool and workflow.tool(tool) is None:
            yield f"{where} waits for the tool {tool}, which does not exist."
    for action in (when.approval_request, when.committed):
        if action and action not in _actions_known(workflow):
            yield f"{where} waits for the action {action}, which no tool commits."
    if when.artifact_mutation and not _has_field(workflow, when.artifact_mutation):
        yield f"{where} waits for {when.artifact_mutation}, which does not exist."
    if when.fact_unrevealed and workflow.fact(when.fact_unrevealed) is None:
        yield f"{where} asks about the fact {when.fact_unrevealed}, which does not exist."
    if when.agent_act and workflow.source == "recipe":
        act, _, name = when.agent_act.partition(":")
        named = workflow.observer.lexicon if act == "ASK" else workflow.observer.values
        if act in ("ASK", "CONFIRM", "MISREAD") and name and name not in named:
            yield f"{where} waits for {when.agent_act}, which nothing in the observer can tell."


def _events(workflow: Workflow) -> Iterator[str]:
    awaited = {
        transition.when.external_event for state in workflow.flow.states.values() for transition in state.transitions
    }
    for event in workflow.events:
        where = f"The event {event.id}"
        for trigger in (event.trigger, *event.also):
            yield from _trigger(workflow, where, trigger)
        if event.trigger == Trigger():
            yield f"{where} has an empty trigger, so it happens at once."
        for path in event.expected_repairs:
            if not _has_field(workflow, path):
                yield f"{where} expects a repair of {path}, which does not exist."
        for action in event.forbidden_tool_commits:
            if action not in _actions_known(workflow):
                yield f"{where} forbids the action {action}, which no tool commits."
        if event.id not in awaited and not (event.world_updates or event.sql or event.forbidden_tool_commits):
            yield f"{where} has no effect: nothing is said and nothing changes."
        window = event.start_window_ms
        if window and not 0 <= window[0] <= window[1]:
            yield f"{where} has a start window that ends before it begins."


def _workbench(workflow: Workflow) -> Iterator[str]:
    names = [tool.name for tool in workflow.tools]
    yield from (
        f"The tool {name} is declared twice." for name in sorted({name for name in names if names.count(name) > 1})
    )
    for tool in workflow.tools:
        target = _name(tool.effect.get("artifact_id"))
        if target is not None and target not in workflow.artifacts:
            yield f"The tool {tool.name} writes to {target}, which does not exist."
        sets = tool.effect.get("set_fields")
        for field in sets if isinstance(sets, dict) else ():
            if target in workflow.artifacts and not _has_field(workflow, f"{target}.{field}"):
                yield f"The tool {tool.name} sets {target}.{field}, which does not exist."
    for action in workflow.autonomy.approval_required_for:
        if action not in _actions_known(workflow):
            yield f"Approval is required for {action}, which no tool commits."
    for artifact_id, artifact in workflow.artifacts.items():
        for spec in artifact.shape.fields if artifact.shape else ():
            for name in spec.dependents:
                if not _has_field(workflow, f"{artifact_id}.{name}"):
                    yield f"The field {artifact_id}.{spec.name} has the dependent {name}, which does not exist."


def _gold(workflow: Workflow) -> Iterator[str]:
    gold = workflow.gold
    for row in predicates_of(gold):
        yield from _predicate(workflow, row)
    for order in gold.precedence:
        for name in (order.before, order.after):
            if workflow.tool(name) is None:
                yield f"The gold order names the tool {name}, which does not exist."
    for expected in gold.artifact_expectations:
        for name in (*(field.field for field in expected.fields), *expected.must_not_be_stale):
            if not _has_field(workflow, f"{expected.artifact_id}.{name}"):
                yield f"The gold expects {expected.artifact_id}.{name}, which does not exist."


def _predicate(workflow: Workflow, row: Predicate) -> Iterator[str]:
    where = f"The predicate {row.id}"
    wrong = unjudgeable(row)
    if wrong is not None:
        yield wrong
        return
    artifact, field, tool, action = (
        _name(row.args.get(name)) for name in ("artifact_id", "field", "tool", "action_type")
    )
    if artifact is not None and artifact not in workflow.artifacts:
        yield f"{where} names the artifact {artifact}, which does not exist."
    elif artifact is not None and field is not None and not _has_field(workflow, f"{artifact}.{field}"):
        yield f"{where} names {artifact}.{field}, which does not exist."
    if tool is not None and workflow.tool(tool) is None:
        yield f"{where} names the tool {tool}, which does not exist."
    if action is not None and action not in _actions_known(workflow):
        yield f"{where} names the action {action}, which no tool commits."


def _reference(workflow: Workflow) -> Iterator[str]:
    turns = workflow.reference.turns
    if not turns:
        yield "There is no reference solution."
        return
    plans = {wording.user_plan_id for wording in workflow.wordings}
    called = {step.call for turn in turns for step in turn.steps if step.call}
    yield from (
        f"The reference calls {name}, which does not exist." for name in sorted(called) if workflow.tool(name) is None
    )
    yield from (
        f"The reference waits for the plan {turn.after}, which nobody says."
        for turn in turns
        if turn.after and turn.after not in plans
    )
    if workflow.source == "recipe":
        # Handing the call over is always possible and hardly ever right.
        idle = (tool.name for tool in workflow.tools if tool.name not in called and tool.handler != "hand_over")
        yield from (f"The tool {name} is used by nothing." for name in idle)
    yield from _found(workflow)
    yield from _reached(workflow)


def _found(workflow: Workflow) -> Iterator[str]:
    """Gold documents are found by a search of the reference (word overlap, as the tool ranks); all others are declared distractors."""
    ours = workflow.source == "recipe"
    searches = {tool.name for tool in workflow.tools if tool.handler == "kb_search"}
    found: set[str] = set()
    for turn in workflow.reference.turns:
        for step in turn.steps:
            if step.call in searches:
                query = _tokens(str(step.args.get("query", "")))
                scores = {doc.doc_id: len(query & _tokens(f"{doc.title} {doc.text}")) for doc in workflow.documents}
                ranked = sorted((name for name in scores if scores[name]), key=lambda name: (-scores[name], name))
                wanted = step.args.get("top_k", SEARCH_HITS)
                found.update(ranked[: wanted if isinstance(wanted, int) else SEARCH_HITS])
    for document in workflow.documents:
        if document.gold and document.doc_id not in found:
            yield f"The gold document {document.doc_id} is found by no search of the reference."
        if not document.gold and not document.distractor and (ours or document.doc_id not in found):
            yield f"The document {document.doc_id} is neither gold nor declared a distractor."


def _tokens(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def _reached(workflow: Workflow) -> Iterator[str]:
    """What the reference writes, and the commit sets, is what the gold expects."""
    written: dict[tuple[str, str], object] = {}
    for turn in workflow.reference.turns:
        for step in turn.steps:
            tool = workflow.tool(step.call) if step.call else None
            if tool is None:
                continue
            target = str(step.args.get("artifact_id") or tool.effect.get("artifact_id") or "")
            fields = step.args.get("fields") if tool.handler == "update_artifact" else tool.effect.get("set_fields")
            if isinstance(fields, dict):
                written.update({(target, str(name)): value for name, value in fields.items()})
    for expected in workflow.gold.artifact_expectations:
        for row in expected.fields:
            key = (expected.artifact_id, row.field)
            start = (
                workflow.artifacts[expected.artifact_id].fields if expected.artifact_id in workflow.artifacts else {}
            )
            value = written.get(key, start.get(row.field))
            if value is None and row.required:
                yield f"The gold requires {row.field}, and the reference never writes it."
            elif value is not None and row.expected is not None and value_key(value) != value_key(row.expected):
                yield f"The gold expects {row.field} to be {row.expected!r}, and the reference writes {value!r}."
