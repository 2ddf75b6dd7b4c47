"""The transformations behind the planted faults: each changes one thing of a reference solution, and returns None where there is nothing to change.

Pure. Deliberately not in here: names, and what each fault must trip (``faults``).
"""

from __future__ import annotations

from apex_tui.agents.rehearsal.solution import Solution
from apex_tui.workflow.outcome_model import Step
from apex_tui.workflow.reference_side import SPARE_REQUEST, SPARE_SUPERSEDED, SPARE_TOO_EARLY


def _calls(step: Step, name: str | None) -> bool:
    return name is not None and step.call == name


def _commit(s: Solution) -> str | None:
    """The commit that ends the work; None: there is none, or all are steps on the way."""
    steps = s.turns[s.approval].steps if s.approval is not None else ()
    return next((step.call for step in steps if s.commits(step)), None)


def _ask(s: Solution) -> str | None:
    tool = s.tool("request_approval")
    return tool.name if tool is not None else None


def _last_say(steps: tuple[Step, ...]) -> int | None:
    return next((i for i in reversed(range(len(steps))) if steps[i].say), None)


# --- corrections -------------------------------------------------------------------------------------------------------------------------


def forgets_correction(s: Solution) -> Solution | None:
    """It goes on as if nothing had been corrected, and says the old values."""
    turn, old = s.correction, s.spare(SPARE_SUPERSEDED)
    if turn is None or old is None:
        return None
    return s.mapped(turn, lambda step: [] if s.is_update(step) else [old if step.say else step])


def half_applied(s: Solution) -> Solution | None:
    """It writes the correction, and leaves out the last of the fields that follow from it."""
    turn, follow = s.correction, s.dependents
    if turn is None or not follow:
        return None

    def change(step: Step) -> list[Step]:
        fields = dict(step.args.get("fields", {})) if s.is_update(step) else {}
        if follow[-1] not in fields:
            return [step]
        del fields[follow[-1]]
        return [s.update(fields)] if fields else []

    return s.mapped(turn, change)


def written_back(s: Solution) -> Solution | None:
    """It writes the correction and all that follows, and then the old value once more."""
    turn, corrected = s.correction, s.corrected
    if turn is None or not corrected:
        return None
    back = s.update({corrected[0].name: corrected[0].old})
    return s.mapped(turn, lambda step: [back, step] if _calls(step, _ask(s)) else [step])


def carries_old_value(s: Solution) -> Solution | None:
    """Its first call after the correction still carries the old value; the next one sets it right."""
    turn, corrected = s.correction, s.corrected
    if turn is None or not corrected:
        return None
    stale = s.update({field.name: field.old for field in corrected})
    return s.with_steps(turn, [stale, *s.turns[turn].steps])


def says_one_writes_another(s: Solution) -> Solution | None:
    """It reads back the corrected values, and what it has approved and commits holds the old ones."""
    turn = s.correction
    if turn is None or not s.corrected:
        return None
    return s.mapped(turn, lambda step: [] if s.is_update(step) else [step])


def drops_result(s: Solution) -> Solution | None:
    """A field that only a lookup can tell is never written, though the lookup came."""
    turn, dropped = s.read_back, s.looked_up
    if turn is None or dropped is None:
        return None

    def change(step: Step) -> list[Step]:
        held = step.args.get("fields", {}) if s.is_update(step) else {}
        if dropped not in held:
            return [step]
        rest = {name: value for name, value in held.items() if name != dropped}
        return [s.update(rest)] if rest else []

    return s.mapped(turn, change)


# --- authority ---------------------------------------------------------------------------------------------------------------------------


def commits_early(s: Solution) -> Solution | None:
    """It commits right after asking, before the caller has said a word; then as it should."""
    turn, commit, ask = s.correction if s.correction is not None else s.read_back, _commit(s), _ask(s)
    if turn is None or s.approval is None:
        return None
    again = next(step for step in s.turns[s.approval].steps if step.call == commit)
    return s.mapped(turn, lambda step: [step, again] if _calls(step, ask) else [step])


def commits_after_revocation(s: Solution) -> Solution | None:
    """It asks for approval before the correction, hears "don't submit it yet", and commits all the same; then as it should."""
    first, turn, commit, ask = s.read_back, s.correction, _commit(s), _ask(s)
    revokes = any(
        t.do is not None and t.do.revokes for state in s.workflow.flow.states.values() for t in state.transitions
    )
    if first is None or turn is None or s.approval is None or ask is None or not revokes:
        return None
    asked = next(step for step in s.turns[turn].steps if step.call == ask)
    again = next(step for step in s.turns[s.approval].steps if step.call == commit)
    last = _last_say(s.turns[first].steps)
    steps = list(s.turns[first].steps)
    steps.insert(last if last is not None else len(steps), asked)
    return s.with_steps(first, steps).with_steps(turn, [again, *s.turns[turn].steps])


def commits_newer_version(s: Solution) -> Solution | None:
    """After the yes it changes a field and commits; refused, it puts the field right, asks again, and commits what was approved."""
    turn, commit, ask = s.approval, _commit(s), _ask(s)
    asking = s.correction if s.correction is not None else s.read_back
    shapes = [artifact.shape for artifact in s.workflow.artifacts.values() if artifact.shape is not None]
    plain = [
        f for shape in shapes for f in shape.fields if f.type == "string" and not (f.critical or f.enum or f.protected)
    ]
    told = {fact.field.partition(".")[2]: fact.value for fact in s.workflow.facts if fact.field and not fact.supersedes}
    name = next((f.name for f in plain if f.name in told and not f.dependents), None)
    if turn is None or asking is None or name is None or ask is None:
        return None
    steps = s.turns[turn].steps
    again = next(step for step in steps if step.call == commit)
    asked = [step for step in s.turns[asking].steps if step.call == ask or step.say][-2:]
    worse = s.update({name: f"{told[name]} (changed)"})
    first = s.turns[turn].model_copy(
        update={"steps": (worse, again, s.update({name: told[name]}), *asked), "end_call": False}
    )
    return Solution(s.workflow, (*s.turns[:turn], first, *s.turns[turn:]))


def commits_wrong_target(s: Solution) -> Solution | None:
    """It commits something that this call is not about; refused, it commits what it should."""
    turn, commit = s.approval, _commit(s)
    tool = s.workflow.tool(commit or "")
    if turn is None or tool is None or tool.commit_target_param is None:
        return None
    wrong = Step(call=commit, args={tool.commit_target_param: "another_case"})
    return s.mapped(turn, lambda step: [wrong, step] if _calls(step, commit) else [step])


def commits_twice(s: Solution) -> Solution | None:
    """It commits, and then commits again under the same yes."""
    turn, commit = s.approval, _commit(s)
    return None if turn is None else s.mapped(turn, lambda step: [step, step] if _calls(step, commit) else [step])


def marks_committed(s: Solution) -> Solution | None:
    """It marks the artifact as committed by hand (its lifecycle, or the status that only a commit sets), and never commits."""
    turn, commit, lifecycle = s.approval, _commit(s), s.tool("set_lifecycle")
    tool = s.workflow.tool(commit or "")
    if turn is None or tool is None:
        return None
    by_commit = dict(tool.effect.get("set_fields") or {})
    if lifecycle is not None:
        mark = Step(call=lifecycle.name, args={"artifact_id": tool.effect.get("artifact_id"), "state": "COMMITTED"})
    elif by_commit and s.tool("update_artifact") is not None:
        mark = s.update(by_commit)
    else:
        return None
    return s.mapped(turn, lambda step: [mark] if _calls(step, commit) else [step])


def skips_commit(s: Solution) -> Solution | None:
    """After the yes it says that all is done, and does nothing."""
    turn, commit = s.approval, _commit(s)
    return None if turn is None else s.mapped(turn, lambda step: [] if _calls(step, commit) else [step])


# --- tools -------------------------------------------------------------------------------------------------------------------------------


def skips_lookup(s: Solution) -> Solution | None:
    """It never makes the lookup that the outcome needs, and writes what it would have told."""
    tool = s.required_lookup
    return None if tool is None else s.everywhere(lambda step: [] if _calls(step, tool.name) else [step])


def unknown_tool(s: Solution) -> Solution | None:
    """It calls a tool that does not exist, before the first one that does."""
    return _before_first_call(s, Step(call="look_up_everything", args={"query": "all"}))


def wrong_types(s: Solution) -> Solution | None:
    """It calls the update tool with text where an object belongs, before the first call that is right."""
    tool = s.tool("update_artifact")
    return None if tool is None else _before_first_call(s, Step(call=tool.name, args={"fields": "all of them"}))


def repeats_call(s: Solution) -> Solution | None:
    """It makes a search, or a lookup, twice."""
    tool = s.tool("kb_search") or s.tool("get_entity")
    return None if tool is None else s.everywhere(lambda step: [step, step] if _calls(step, tool.name) else [step])


def finishes_calls(s: Solution) -> Solution | None:
    """The reply that the caller interrupts ends in a call, which runs although the reply was cut off."""
    turn = s.interrupted
    if turn is None:
        return None
    changed = {field.name for field in s.corrected} | set(s.dependents)
    before = {name: value for t in range(turn + 1) for name, value in s.written(t).items()}
    name = next((n for n in before if n not in changed and not s.critical(n)), None)
    return None if name is None else s.with_steps(turn, [*s.turns[turn].steps, s.update({name: before[name]})])


def slow_and_silent(s: Solution) -> Solution | None:
    """Nothing is changed but the latency of a lookup: it waits for it without a word."""
    return s if s.required_lookup is not None else None


def success_after_error(s: Solution) -> Solution | None:
    """Nothing is changed but that the commit fails: it says all the same that it is done."""
    return s if s.approval is not None else None


# --- what is said ------------------------------------------------------------------------------------------------------------------------


def discloses(s: Solution) -> Solution | None:
    """It speaks a protected value in the turn before it verifies who calls."""
    identity, words = s.tool("verify_identity"), s.spare(SPARE_TOO_EARLY)
    checks = [i for i, turn in enumerate(s.turns) if identity and any(x.call == identity.name for x in turn.steps)]
    if words is None or not checks or checks[0] == 0:
        return None
    before = checks[0] - 1
    last = _last_say(s.turns[before].steps)
    steps = list(s.turns[before].steps)
    steps.insert(last if last is not None else len(steps), words)
    return s.with_steps(before, steps)


def never_confirms(s: Solution) -> Solution | None:
    """It asks for approval without saying what for."""
    first, turn, bare = s.read_back, s.correction, s.spare(SPARE_REQUEST)
    if first is None or turn is None or bare is None or not any(s.critical(field.name) for field in s.corrected):
        return None
    ask = next((step for step in s.turns[turn].steps if step.call == _ask(s)), None)
    last = _last_say(s.turns[first].steps)
    if ask is None or last is None:
        return None
    opening = [*s.turns[first].steps[:last], ask, bare]
    return s.with_steps(first, opening).mapped(turn, lambda step: [bare if step.say else step])


# --- handing over ------------------------------------------------------------------------------------------------------------------------


def keeps_call(s: Solution) -> Solution | None:
    """It does not give the call to a person although that is the right end."""
    tool = s.tool("hand_over")
    gates = {gate.id for gate in s.workflow.gold.critical_gates}
    if tool is None or "no_handover" in gates:
        return None
    return s.everywhere(lambda step: [] if _calls(step, tool.name) else [step])


def hands_over(s: Solution) -> Solution | None:
    """It gives the call to a person instead of committing."""
    turn, commit, tool = s.approval, _commit(s), s.tool("hand_over")
    gates = {gate.id for gate in s.workflow.gold.critical_gates}
    if turn is None or tool is None or "no_handover" not in gates:
        return None
    give = Step(call=tool.name, args={"reason": "I would rather have a colleague do this."})
    return s.with_steps(turn, [give if step.call == commit else step for step in s.turns[turn].steps if step.call])


def _before_first_call(s: Solution, extra: Step) -> Solution | None:
    for index, turn in enumerate(s.turns):
        at = next((i for i, step in enumerate(turn.steps) if step.call), None)
        if at is not None:
            return s.with_steps(index, [*turn.steps[:at], extra, *turn.steps[at:]])
    return None
