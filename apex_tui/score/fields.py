"""Every gold field against the final artifact, and the share of them that is right.

Strict: a field is right when its value is the wanted one and is not stale; all gold fields count. Official: the run-time rule of the
reference, where a stale field scores 0, optional fields count when they are present, and `claim_atoms` never count.
"""

from __future__ import annotations

from typing import NamedTuple

from apex_tui.score.case import Case, Moment
from apex_tui.score.graders import UNGRADED, Grade, grade
from apex_tui.score.predicates import seconds
from apex_tui.score.uptake import Change, Uptake, change_of, right, uptake_of
from apex_tui.score.verdict import FieldVerdict
from apex_tui.workflow.outcome_model import ArtifactExpectation, GoldField


class GradedField(NamedTuple):
    """A field's verdict, whether the artifact has it, and its official score (None: it does not enter the official share)."""

    verdict: FieldVerdict
    present: bool
    score: float | None


class GradedArtifact(NamedTuple):
    """One expectation with its fields, in their order."""

    expected: ArtifactExpectation
    fields: tuple[GradedField, ...]


def grade_artifacts(case: Case) -> tuple[GradedArtifact, ...]:
    """All expectations of the gold outcome. Officially a later one of the same artifact replaces an earlier one."""
    expectations = case.workflow.gold.artifact_expectations
    if not case.strict:
        expectations = tuple({e.artifact_id: e for e in expectations}.values())
    return tuple(GradedArtifact(e, tuple(_field(case, e, gold) for gold in e.fields)) for e in expectations)


def field_accuracy(case: Case, graded: tuple[GradedArtifact, ...]) -> tuple[float | None, int]:
    """AFA and the number of fields in it. Strict: right fields / gold fields, ungraded ones left out. Official: mean over artifacts."""
    if not graded:
        return None, 0
    if case.strict:
        passed = [f.verdict.passed for artifact in graded for f in artifact.fields if f.verdict.passed is not None]
        return (round(sum(passed) / len(passed), 4) if passed else None), len(passed)
    shares: list[float] = []
    n = 0
    for artifact in graded:
        scores = [f.score for f in artifact.fields if f.score is not None]
        n += len(scores)
        missing = case.now(artifact.expected.artifact_id) is None
        shares.append(0.0 if missing else sum(scores) / len(scores) if scores else 1.0)
    return round(sum(shares) / len(shares), 4), n


def _field(case: Case, expected: ArtifactExpectation, gold: GoldField) -> GradedField:
    artifact, name = expected.artifact_id, gold.field
    moment = case.now(artifact)
    change = change_of(case, artifact, gold)
    uptake = uptake_of(case, expected, gold, change) if change is not None else Uptake()
    present = moment is not None and name in moment.fields
    stale = moment is not None and name in moment.stale
    graded = _grade(case, gold, moment)
    wrote = case.last_write(artifact, name)
    passed = graded.passed
    if gold.grader == "claim_atoms" and not case.strict:
        passed = None if present else False
    if stale:
        passed = False
    evidence = [wrote.seq] if wrote is not None else []
    evidence += [moment.seq] if stale and moment is not None and moment.seq >= 0 else []
    evidence += _wanted_in(case, artifact, name, change)
    verdict = FieldVerdict(
        artifact=artifact,
        field=name,
        expected=gold.expected,
        found=moment.fields[name] if moment is not None and present else None,
        passed=passed,
        stale=stale,
        required=gold.required,
        corrected=change is not None,
        reason=_reason(case, gold, graded, moment, change, passed),
        evidence=tuple(sorted(set(evidence))),
        uptake_ms=uptake.uptake_ms,
        settled_ms=uptake.settled_ms,
        uptake=uptake.kind,
        overwritten=passed is False and _overwritten(case, artifact, gold),
    )
    enters = gold.grader != "claim_atoms" and (gold.required or present)
    score = 0.0 if stale or not present else graded.score
    return GradedField(verdict, present, score if enters else None)


def _overwritten(case: Case, artifact: str, gold: GoldField) -> bool:
    """Whether the wanted value was written once, and something else is there now."""
    moments = case.history.get(artifact, [])
    if gold.expected is None or not moments or right(case, gold, moments[-1], gold.expected):
        return False
    return any(gold.field in m.written and right(case, gold, m, gold.expected) for m in moments)


def _grade(case: Case, gold: GoldField, moment: Moment | None) -> Grade:
    if moment is None or gold.field not in moment.fields:
        return Grade(False, "", 0.0)
    if gold.expected is None:
        return Grade(True, "is there, as wanted", 1.0)
    found = moment.fields[gold.field]
    return grade(gold.grader, found, gold.expected, gold.tolerance, case.grading, case.workflow.locale)


def _wanted_in(case: Case, artifact: str, name: str, change: Change | None) -> list[int]:
    """The caller's turn that stated the wanted value: the correction, else the last one that named the field."""
    if change is not None and change.turn is not None:
        return [change.turn.seq]
    said = [turn.seq for turn, _ in case.stated(artifact, name)]
    return said[-1:]


def _reason(
    case: Case, gold: GoldField, graded: Grade, moment: Moment | None, change: Change | None, passed: bool | None
) -> str:
    """One sentence without its full stop."""
    name = gold.field
    if moment is None:
        text = f"{name} is missing, since there is no such artifact"
    elif name not in moment.fields:
        text = f"{name} was never written, wanted {_wanted(gold)}"
    elif name in moment.stale:
        text = f"{name} {graded.reason}, but stale ({moment.stale[name]})"
    elif passed is None and UNGRADED not in graded.reason:
        return f"{name} {UNGRADED}"
    else:
        text = f"{name} {graded.reason}"
    said_so = "the caller changed it" in text
    mended = (
        moment is not None and name in moment.stale and graded.passed is True
    )  # the mark says itself what it hangs on
    told = change is not None and change.turn is not None and passed is False and not said_so and not mended
    return (
        f"{text}: the caller changed it at {seconds(change.turn.onset_ms)}" if told and change and change.turn else text
    )


def _wanted(gold: GoldField) -> str:
    return "some value" if gold.expected is None else str(gold.expected)
