"""Section 5 of measures.md, put together: what each work measure found in one session."""

from __future__ import annotations

from collections.abc import Sequence

from apex_tui.score.case import Case
from apex_tui.score.known_values import KnownValues
from apex_tui.score.verdict_work import WorkMeasures
from apex_tui.score.work_approvals import confirmations, misread_approvals
from apex_tui.score.work_calls import required_lookups_missing, results_dropped, stale_calls
from apex_tui.score.work_conduct import disclosures, false_success, handover
from apex_tui.score.work_drift import drift_of
from apex_tui.timeline.events import Event


def work_measures(case: Case, events: Sequence[Event]) -> WorkMeasures:
    """All work measures. ``events`` is the log that the case was built from."""
    known = KnownValues(case.workflow)
    known.learn(case.state)
    handed = handover(case)
    return WorkMeasures(
        drift=drift_of(case.state, case.workflow, known),
        stale_calls=stale_calls(case.state, known),
        results_dropped=results_dropped(case, known),
        misread_approvals=misread_approvals(events, case.workflow),
        confirmations=confirmations(case.state, known),
        disclosures=disclosures(case, events, known),
        false_success=false_success(case, events),
        required_lookups_missing=required_lookups_missing(case),
        handover=handed.verdict,
        handover_reason=handed.reason,
        handover_evidence=handed.evidence,
    )
