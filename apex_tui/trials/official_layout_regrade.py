"""Final workspaces of the reference graded again, by its second grader (section 9.4), and what it makes of them: uptake and slices (9.5).

This grader differs from the one of a run: every gold field counts, a missing artifact's fields are passed over, and only required fields fail an
artifact. Values that the reference would put before its judge are decided by a kept verdict, or counted as wrong and told as *unjudged*.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apex_tui.score.graders import grade
from apex_tui.score.official_judge import kept_verdict
from apex_tui.trials.official_layout_model import Cell, OfficialSlice, Run, Uptake
from apex_tui.trials.results_agent import share
from apex_tui.trials.results_model import HATCHED_UNDER
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official_files import TaxonomyFile
from apex_tui.workflow.outcome_model import ArtifactExpectation, GoldField
from apex_tui.workflow.work_model import LIFECYCLE

Verdicts = Mapping[str, bool]
"""Kept verdicts of the reference's judge: key -> passed."""


@dataclass(slots=True)
class Regraded:
    """One final workspace. ``missed``: names of required fields that are wrong or stale; ``passed`` of ``graded`` fields are right."""

    failed: bool = False
    missed: set[str] = field(default_factory=set)
    passed: int = 0
    graded: int = 0
    unjudged: int = 0


def regrade(workflow: Workflow, workspace: Mapping[str, Any], verdicts: Verdicts) -> Regraded:
    """Section 9.4 over one final workspace."""
    out = Regraded()
    for expected in workflow.gold.artifact_expectations:
        artifact = workspace.get(expected.artifact_id)
        if not isinstance(artifact, dict):
            out.failed = True
            continue
        out.failed |= _too_early(artifact, expected)
        fields, stale = artifact.get("fields"), artifact.get("stale_fields")
        for gold in expected.fields:
            found = fields.get(gold.field, "") if isinstance(fields, dict) else ""
            passed = _passed(workflow, gold, found, verdicts, out)
            out.graded += 1
            out.passed += passed
            if gold.required and (not passed or (isinstance(stale, list) and gold.field in stale)):
                out.missed.add(gold.field)
                out.failed = True
    return out


def _too_early(artifact: Mapping[str, Any], expected: ArtifactExpectation) -> bool:
    lifecycle, least = str(artifact.get("lifecycle", "")).upper(), expected.lifecycle_min
    if least is None:
        return False
    return lifecycle not in LIFECYCLE or LIFECYCLE.index(lifecycle) < LIFECYCLE.index(least)


def _passed(workflow: Workflow, gold: GoldField, found: Any, verdicts: Verdicts, out: Regraded) -> bool:
    wanted = "None" if gold.expected is None else gold.expected
    if grade(gold.grader, found, wanted, gold.tolerance, "official", workflow.locale).passed:
        return True
    said = kept_verdict(verdicts, gold.grader, gold.field, found, gold.expected)
    out.unjudged += said is None
    return said is True


def corrected_fields(workflow: Workflow) -> tuple[set[str], set[str]]:
    """(corrected, all) names of required gold fields, pooled over the artifacts."""
    required = {f.field for e in workflow.gold.artifact_expectations for f in e.fields if f.required}
    repairs = {r.rpartition(".")[2] for e in workflow.events if "CORRECTION" in e.type for r in e.expected_repairs}
    return repairs & required, required


def uptake_of(runs: Sequence[Run], packages: Mapping[str, Workflow], verdicts: Verdicts) -> Uptake:
    """Correction uptake over every session with a final workspace."""
    bad, total = Counter[str](), Counter[str]()
    broken = linked = unjudged = 0
    for run in runs:
        workflow = packages.get(run.task)
        if workflow is None or run.workspace is None:
            continue
        corrected, required = corrected_fields(workflow)
        if not corrected:
            continue
        found = regrade(workflow, run.workspace, verdicts)
        unjudged += found.unjudged
        for name in required:
            side = "corrected" if name in corrected else "other"
            total[side] += 1
            bad[side] += name in found.missed
        broken += found.failed
        linked += found.failed and bool(found.missed & corrected)
    one, two = (share(total[side] - bad[side], total[side], fields=True) for side in ("corrected", "other"))
    gap = None if one.value is None or two.value is None else two.value - one.value
    return Uptake(corrected=one, other=two, gap=gap, attributed=share(linked, broken), unjudged=unjudged)


# --- slices ------------------------------------------------------------------------------------------------------------------------------

_FIXED: dict[str, tuple[str, ...]] = {
    "autonomy": ("A0_PREPARE_ONLY", "A1_DRAFT_CONFIRM", "A2_LOW_RISK_EXECUTE", "A3_APPROVAL_GATED_COMMIT"),
    "kburden": ("K0_NONE", "K1_SUPPLIED", "K2_SEARCH_SMALL", "K3_MULTI_DOC_POLICY"),
    "tburden": ("T1_LIGHT", "T2_MODERATE"),
    "difficulty": ("9 fields", "10 fields", "11-13 fields"),
    "risk": ("R0_ROUTINE", "R1_SENSITIVE_DATA_SIM", "R2_CONSEQUENTIAL_ACTION", "R3_SPECIAL_REVIEW"),
}
"""Axes with an order of their own; labels outside it are dropped, as in the reference."""
_AXES: dict[str, Callable[[TaxonomyFile], str | None]] = {
    "archetype": lambda t: t.professional_work.primary_archetype,
    "industry": lambda t: t.professional_work.industry_setting,
    "approve": lambda t: "APPROVE-gated" if "APPROVE" in t.interaction.delegation_patterns else "not APPROVE-gated",
    "artifact": lambda t: t.workspace.primary_artifact,
    "autonomy": lambda t: t.workspace.autonomy_level,
    "kburden": lambda t: t.knowledge.burden,
    "tburden": lambda t: t.knowledge.tool_burden,
    "uprofile": lambda t: t.interaction.user_profile,
    "difficulty": lambda t: _difficulty(t.difficulty.required_fact_count),
    "risk": lambda t: t.risk_tier,
}


def _difficulty(facts: int) -> str:
    return "9 fields" if facts <= 9 else "10 fields" if facts == 10 else "11-13 fields"


def slices_of(
    runs: Mapping[str, Sequence[Run]],
    packages: Mapping[str, Workflow],
    labels: Mapping[str, TaxonomyFile],
    verdicts: Verdicts,
) -> list[OfficialSlice]:
    """Every axis over the tasks that any model ran: mean over tasks of the share of repetitions that passed with the artifact graded again."""
    cells = {key: _by_task(own, packages, verdicts) for key, own in runs.items()}
    tasks = sorted({task for own in cells.values() for task in own} & set(labels))
    found = []
    for axis, read in _AXES.items():
        members: defaultdict[str, list[str]] = defaultdict(list)
        for task in tasks:
            label = read(labels[task])
            if label is not None and (axis not in _FIXED or label in _FIXED[axis]):
                members[label].append(task)
        for label in _ordered(axis, members):
            cuts = {key: _cell(own, members[label]) for key, own in cells.items()}
            n = len(members[label])
            found.append(OfficialSlice(axis=axis, label=label, n=n, hatched=n < HATCHED_UNDER, cells=cuts))
    return found


def _ordered(axis: str, members: Mapping[str, Sequence[str]]) -> list[str]:
    if axis in _FIXED:
        return [label for label in _FIXED[axis] if label in members]
    return sorted(members, key=lambda label: (-len(members[label]), label))


@dataclass(slots=True)
class _Task:
    """One model's repetitions of one task: passes, and fields."""

    passes: list[bool] = field(default_factory=list)
    right: int = 0
    graded: int = 0


def _by_task(runs: Sequence[Run], packages: Mapping[str, Workflow], verdicts: Verdicts) -> dict[str, _Task]:
    found: defaultdict[str, _Task] = defaultdict(_Task)
    for run in runs:
        workflow = packages.get(run.task)
        if workflow is None:
            continue
        again = regrade(workflow, run.workspace, verdicts) if run.workspace is not None else Regraded(failed=True)
        gates = run.result.get("components")
        stored = isinstance(gates, dict) and all(bool(gates.get(name)) for name in ("GS", "PC", "RA"))
        task = found[run.task]
        task.passes.append(stored and not again.failed)
        task.right += again.passed
        task.graded += again.graded
    return dict(found)


def _cell(tasks: Mapping[str, _Task], names: Sequence[str]) -> Cell:
    mine = [tasks[name] for name in names if name in tasks]
    shares = [sum(task.passes) / len(task.passes) for task in mine]
    graded = sum(task.graded for task in mine)
    return Cell(
        success=sum(shares) / len(shares) if shares else None,
        afa=sum(task.right for task in mine) / graded if graded else None,
    )
