"""The four gates: target state, process validity, action completion, artifact validity, each with the checks that decided it.

A required check that is ungraded keeps its gate from passing, and the gate says so. Claims are listed as ungraded and decide nothing, as
in the reference. Precedence is read over the log in strict grading and ignored officially.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apex_tui.score.case import Case
from apex_tui.score.fields import GradedArtifact
from apex_tui.score.graders import UNGRADED
from apex_tui.score.predicates import Answer, answer, lifecycle_at_least
from apex_tui.score.verdict import Check, GateName, GateVerdict
from apex_tui.workflow.outcome_model import Precedence, Predicate


def judge_gates(case: Case, artifacts: Sequence[GradedArtifact]) -> tuple[GateVerdict, ...]:
    """All four gates, in the order TS, PV, AC, AV.

    Raises:
        WorkflowError: the gold outcome holds a predicate that does not exist or cannot be read.
    """
    return _target_state(case), _process(case), _actions(case), _artifacts(case, artifacts)


def _check(case: Case, predicate: Predicate) -> Check:
    said = answer(case, predicate)
    return Check(id=predicate.id, passed=said.value, reason=said.reason, evidence=said.evidence)


def _turned(check: Check) -> Check:
    """The check of something that must not hold."""
    return check.model_copy(update={"passed": None if check.passed is None else not check.passed})


def _gate(gate: GateName, deciding: Sequence[Check], others: Sequence[Check] = (), *, claims: int = 0) -> GateVerdict:
    passed = all(check.passed is True for check in deciding)
    return GateVerdict(gate=gate, passed=passed, reason=_reason(deciding, passed, claims), checks=(*deciding, *others))


def _reason(checks: Sequence[Check], passed: bool, claims: int = 0) -> str:
    tail = (
        f"; {claims} {_plural(claims, 'claim')} ungraded, which {_plural(claims, 'decides', 'decide')} nothing"
        if claims
        else ""
    )
    if passed:
        held = f"{len(checks)} {_plural(len(checks), 'check holds', 'checks hold')}" if checks else "nothing is asked"
        return held + tail
    failed = [check for check in checks if check.passed is False] or [check for check in checks if check.passed is None]
    rest = sum(1 for check in checks if check.passed is not True) - 1
    first = failed[0].reason
    more = f" (and {rest} more {_plural(rest, 'check', 'checks')})" if rest else ""
    return first + more + tail


def _plural(count: int, one: str, many: str | None = None) -> str:
    return one if count == 1 else many or f"{one}s"


def _target_state(case: Case) -> GateVerdict:
    gold = case.workflow.gold
    wanted = _gate("TS", [_check(case, p) for p in gold.terminal_state])
    others = [_gate("TS", [_check(case, p) for p in state]) for state in gold.alternate_terminal_states]
    if wanted.passed or not others:
        return wanted
    reached = next((other for other in others if other.passed), None)
    if reached is not None:
        return reached.model_copy(update={"reason": f"an alternate end was reached: {reached.reason}"})
    tried = tuple(check for other in others for check in other.checks)
    return wanted.model_copy(
        update={"checks": (*wanted.checks, *tried), "reason": f"{wanted.reason}; no alternate end either"}
    )


def _process(case: Case) -> GateVerdict:
    gold = case.workflow.gold
    checks = [_turned(_check(case, predicate)) for predicate in gold.forbidden]
    for gate in gold.critical_gates:
        check = _check(case, gate.predicate).model_copy(update={"id": gate.id})
        checks.append(check if gate.must_hold else _turned(check))
    if case.strict:
        checks += [_precedence(case, rule) for rule in gold.precedence]
    return _gate("PV", checks)


def _precedence(case: Case, rule: Precedence) -> Check:
    """Effects count: the first success of ``after`` needs an earlier success of ``before``."""
    name = f"{rule.before}_before_{rule.after}"
    done = [(case.finished[call.id], call.name) for call in case.state.calls.values() if call.state == "done"]
    after = min((seq for seq, tool in done if tool == rule.after), default=None)
    if after is None:
        return Check(id=name, passed=True, reason=f"{rule.after} never succeeded, so nothing had to come before it")
    before = min((seq for seq, tool in done if tool == rule.before), default=None)
    if before is None:
        return Check(id=name, passed=False, reason=f"{rule.after} was done without {rule.before}", evidence=(after,))
    words = "before" if before < after else "only after"
    return Check(
        id=name, passed=before < after, reason=f"{rule.before} was done {words} {rule.after}", evidence=(before, after)
    )


def _actions(case: Case) -> GateVerdict:
    gold = case.workflow.gold
    return _gate("AC", [_check(case, p) for p in (*gold.required_actions, *gold.required_evidence)])


def _artifacts(case: Case, artifacts: Sequence[GradedArtifact]) -> GateVerdict:
    deciding = [check for artifact in artifacts for check in _artifact(case, artifact)]
    claims = [check for artifact in artifacts for check in _claims(artifact)]
    return _gate("AV", deciding, claims, claims=len(claims))


def _artifact(case: Case, graded: GradedArtifact) -> Iterable[Check]:
    expected = graded.expected
    name = expected.artifact_id
    moment = case.now(name)
    if moment is None:
        yield Check(id=name, passed=False, reason=f"there is no artifact {name}")
        return
    if expected.lifecycle_min is not None:
        yield _as_check(f"{name}.lifecycle", lifecycle_at_least(case, name, expected.lifecycle_min))
    for field in graded.fields:
        verdict = field.verdict
        # Officially an optional field that is present and wrong fails the artifact as well.
        if verdict.required or (not case.strict and field.score is not None):
            passed = verdict.passed
            if not case.strict and (passed is not None or field.score is None):
                passed = field.present and (field.score is None or field.score >= 1.0)
            yield Check(id=f"{name}.{verdict.field}", passed=passed, reason=verdict.reason, evidence=verdict.evidence)
    for field_name in expected.must_not_be_stale:
        check_id = f"{name}.{field_name}.not_stale"
        evidence = (moment.seq,) if moment.seq >= 0 else ()
        if field_name in moment.stale:
            reason = f"{field_name} is stale: {moment.stale[field_name]}"
            yield Check(id=check_id, passed=False, reason=reason, evidence=evidence)
        else:
            yield Check(id=check_id, passed=True, reason=f"{field_name} is not stale", evidence=evidence)


def _as_check(name: str, said: Answer) -> Check:
    return Check(id=name, passed=said.value, reason=said.reason, evidence=said.evidence)


def _claims(graded: GradedArtifact) -> Iterable[Check]:
    expected = graded.expected
    for claim in (*expected.required_claims, *expected.forbidden_claims, *expected.required_caveats):
        said = f"{claim.proposition}: " if claim.proposition else ""
        yield Check(id=f"{expected.artifact_id}.{claim.id}", passed=None, reason=f"{said}{UNGRADED}")
