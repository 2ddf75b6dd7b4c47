"""Tool calls against what the caller had said, and tool results against the fields that needed them.

Three findings: calls that carried a superseded value, results that never reached their field, required lookups that never succeeded.
Deliberately not in here: counts of calls (`tool_use`), commits and their authority (`predicates`, `work_approvals`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from apex_tui.score.case import Case
from apex_tui.score.graders import show
from apex_tui.score.known_values import KnownValues
from apex_tui.score.predicates import answer, seconds
from apex_tui.score.uptake import right
from apex_tui.score.verdict_work import LookupMissing, ResultDropped, StaleCall
from apex_tui.score.work_drift import Told, told_values
from apex_tui.timeline.state import Call, State
from apex_tui.workflow.forms import comparable
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import ArtifactExpectation, GoldField

_SHORTEST = 3
"""Characters that a value needs to be recognised under an argument that is not named after its field: a lone 5 could be anything."""
_READS = ("get_entity", "kb_search")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar of a JSON value with its dotted path; list items are numbered."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, below in enumerate(value):
            yield from leaves(below, f"{path}.{index}" if path else str(index))
    else:
        yield path, value


def telling(value: Any) -> bool:
    """Whether a value can be recognised where nothing names its field."""
    return isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value).strip()) >= _SHORTEST


# --- stale calls -------------------------------------------------------------------------------------------------------------------------


class _Change(NamedTuple):
    path: str
    old: Told
    new: Told


def stale_calls(state: State, known: KnownValues) -> tuple[StaleCall, ...]:
    """Calls made after the end of a corrected value's words that carry the value which it replaced, refused and failed ones included.

    An argument carries it when it is named after the field and holds the value, or when the whole argument is the value (in any written form),
    is long enough to be recognised, and is nobody's current value. A value inside a longer text, such as a search query, does not count.
    Usable live: only the folded state is looked at.
    """
    told = told_values(state, known)
    return tuple(row for call in state.calls.values() for row in _stale_in(call, told, known))


def _stale_in(call: Call, told: dict[str, list[Told]], known: KnownValues) -> Iterator[StaleCall]:
    current = {path: _at(said, call.called_ms) for path, said in told.items()}
    wanted = {path: last.value for path, last in current.items() if last is not None}
    changes = [change for path, said in told.items() for change in _changes(path, said, call.called_ms, known)]
    if not changes:
        return
    for argument, value in leaves(call.arguments):
        named = known.path_of(argument.rpartition(".")[2])
        for path, old, new in changes:
            by_name = named == path and known.same(path, value, old.value)
            if by_name or (named is None and _is_value(value, path, old.value, wanted, known)):
                name = path.partition(".")[2]
                yield StaleCall(
                    call=call.id,
                    tool=call.name,
                    argument=argument,
                    field=path,
                    value=value,
                    superseded_by=new.value,
                    reason=f"{call.name} at {seconds(call.called_ms)} carried {show(value)} for {name}: the caller had changed it to "
                    f"{show(new.value)} at {seconds(new.turn.onset_ms)}",
                    evidence=tuple(sorted({old.turn.seq, new.turn.seq, call.seq})),
                )
                break


def _at(said: list[Told], at_ms: float) -> Told | None:
    return next((told for told in reversed(said) if told.turn.value_end_ms <= at_ms), None)


def _changes(path: str, said: list[Told], at_ms: float, known: KnownValues) -> Iterator[_Change]:
    """Values of the field that no longer held at a time, each with the statement that replaced it."""
    heard = [told for told in said if told.turn.value_end_ms < at_ms]
    for place, old in enumerate(heard[:-1]):
        if known.same(path, old.value, heard[-1].value):
            continue
        new = next(later for later in heard[place + 1 :] if not known.same(path, later.value, old.value))
        yield _Change(path, old, new)


def _is_value(value: Any, path: str, old: Any, wanted: dict[str, Any], known: KnownValues) -> bool:
    if not telling(value) or any(known.same(other, value, now) for other, now in wanted.items()):
        return False
    return known.same(path, value, old) or comparable(str(value)) == comparable(str(old))


# --- dropped results ---------------------------------------------------------------------------------------------------------------------


def results_dropped(case: Case, known: KnownValues) -> tuple[ResultDropped, ...]:
    """Fields that needed the result of a lookup or a search, which came, and never got it.

    Which field needs which result follows from the workflow. A field *needs* lookups when gold wants a value for it that the caller never
    tells and no commit sets. Of those,

    - *looked up*: the wanted value stands as it is in the result of a lookup. Dropped when the field does not hold it at the end.
    - *derived*: no result holds it. It needs the lookups and searches that the reference solution makes before its first write of the field.
      Dropped when all of those succeeded and no write of the field followed the last of them, though every field that it depends on is right:
      with a missing lookup or a wrong input the fault lies there, and a wrong value written after the result is a wrong value.
    """
    rows = []
    for expected in case.workflow.gold.artifact_expectations:
        for gold in expected.fields:
            path = f"{expected.artifact_id}.{gold.field}"
            if gold.expected is not None and path not in _told_or_set(case.workflow, known):
                dropped = _dropped(case, expected, gold)
                rows += [dropped] if dropped is not None else []
    return tuple(rows)


def _told_or_set(workflow: Workflow, known: KnownValues) -> set[str]:
    """Fields that the caller can tell, and those that a commit sets itself."""
    told = {known.path_of(fact.field) for fact in workflow.facts if fact.field}
    told |= {known.path_of(fact.id) for fact in workflow.facts if not fact.field and not fact.supersedes}
    for tool in workflow.tools:
        if tool.commits:
            told |= {known.path_of(str(name)) for name in tool.effect.get("set_fields") or {}}
    return {path for path in told if path is not None}


def _dropped(case: Case, expected: ArtifactExpectation, gold: GoldField) -> ResultDropped | None:
    moments = case.history.get(expected.artifact_id, [])
    if moments and right(case, gold, moments[-1], gold.expected):
        return None
    reads = [call for call in case.state.calls.values() if call.state == "done" and _handler(case, call) in _READS]
    holding = [call for call in reads if _handler(case, call) == "get_entity" and _holds(case, call, gold)]
    if holding:
        return _row(case, expected, gold, holding[-1], "its result holds the value")
    needed = _needed(case.workflow, expected.artifact_id, gold.field)
    got = [call for call in reads if call.name in needed]
    if not got or needed - {call.name for call in got} or not _inputs_right(case, expected, gold.field):
        return None
    last = max(got, key=lambda call: call.finished_ms or 0.0)
    after = [m for m in moments if gold.field in m.written and m.seq > case.finished.get(last.id, -1)]
    return None if after else _row(case, expected, gold, last, "the value follows from its result")


def _handler(case: Case, call: Call) -> str | None:
    tool = case.workflow.tool(call.name)
    return tool.handler if tool is not None else None


def _holds(case: Case, call: Call, gold: GoldField) -> bool:
    return telling(gold.expected) and any(
        telling(value) and comparable(str(value)) == comparable(str(gold.expected)) for _, value in leaves(call.result)
    )


def _needed(workflow: Workflow, artifact: str, name: str) -> set[str]:
    """Lookups and searches that the reference makes before it first writes the field; none when it never writes it."""
    before: set[str] = set()
    for turn in workflow.reference.turns:
        for step in turn.steps:
            tool = workflow.tool(step.call) if step.call else None
            if tool is None:
                continue
            fields = step.args.get("fields")
            about = step.args.get("artifact_id", tool.effect.get("artifact_id"))
            if (
                tool.handler == "update_artifact"
                and about in (None, artifact)
                and isinstance(fields, dict)
                and name in fields
            ):
                return before
            if tool.handler in _READS:
                before.add(tool.name)
    return set()


def _inputs_right(case: Case, expected: ArtifactExpectation, name: str) -> bool:
    """Whether every gold field that the field depends on is right at the end."""
    now = case.now(expected.artifact_id)
    for gold in expected.fields:
        spec = case.spec(expected.artifact_id, gold.field)
        if spec is not None and name in spec.dependents and (now is None or not right(case, gold, now, gold.expected)):
            return False
    return True


def _row(case: Case, expected: ArtifactExpectation, gold: GoldField, call: Call, why: str) -> ResultDropped:
    now = case.now(expected.artifact_id)
    found = now.fields.get(gold.field) if now is not None else None
    wrote = case.last_write(expected.artifact_id, gold.field)
    holds = "was never written" if wrote is None else f"holds {show(found)}"
    return ResultDropped(
        field=f"{expected.artifact_id}.{gold.field}",
        tool=call.name,
        call=call.id,
        wanted=gold.expected,
        found=found,
        reason=f"{gold.field} {holds} and should be {show(gold.expected)}: {call.name} answered at {seconds(call.finished_ms or 0.0)}, and {why}",
        evidence=tuple(sorted({case.finished.get(call.id, call.seq), *((wrote.seq,) if wrote is not None else ())})),
    )


# --- required lookups --------------------------------------------------------------------------------------------------------------------


def required_lookups_missing(case: Case) -> tuple[LookupMissing, ...]:
    """Lookups, searches and identity checks that gold requires by name, and needed documents that no search found."""
    gold, rows = case.workflow.gold, list[LookupMissing]()
    for predicate in (*gold.required_actions, *gold.required_evidence):
        tool = case.workflow.tool(str(predicate.args.get("tool", "")))
        looked_up = predicate.kind in ("tool_called", "tool_called_with") and tool is not None
        if looked_up and tool is not None and tool.handler in (*_READS, "verify_identity"):
            name = tool.name
        elif predicate.kind == "kb_gold_retrieved":
            name = next((t.name for t in case.workflow.tools if t.handler == "kb_search"), "search")
        else:
            continue
        found = answer(case, predicate)
        if found.value is False:
            rows.append(LookupMissing(tool=name, reason=found.reason, evidence=found.evidence))
    return tuple(rows)
