"""The verdict on a session: a pure function of its log and the snapshot of its workflow.

Any log is judged on what is there: one that was cut gets the validity ``cut_off`` and is no success. The environment profile is the one that
the session ran in; the grading profile is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from apex_tui.score.case import Case, build
from apex_tui.score.completion import complete_ms
from apex_tui.score.fields import field_accuracy, grade_artifacts
from apex_tui.score.floor import measure
from apex_tui.score.floor_numbers import floor_of, latency_of
from apex_tui.score.gates import judge_gates
from apex_tui.score.gold import asks_nothing
from apex_tui.score.graders import Grading
from apex_tui.score.limits import limits_of, watched
from apex_tui.score.tool_use import tool_use
from apex_tui.score.verdict import Latency, Score
from apex_tui.score.work_measures import work_measures
from apex_tui.store.recording import OTHER_WORKFLOW, Recording, open_recording
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionPulse
from apex_tui.workflow.model import Workflow

DEGRADED_P99_MS = 10.0
DEGRADED_SHARE = 0.001

Validity = Literal["scored", "infrastructure", "simulator", "operator", "cut_off"]
_VALIDITY: dict[str, Validity] = {"infrastructure": "infrastructure", "simulator": "simulator", "operator": "operator"}


def score_log(events: Sequence[Event], workflow: Workflow, grading: Grading = "strict") -> Score:
    """Judge a log, whole or cut at any byte.

    Raises:
        RecordingError: the log is empty, or does not begin with the start of a session.
        WorkflowError: the gold outcome asks for something that does not exist.
    """
    case = build(events, workflow, grading)
    artifacts = grade_artifacts(case)
    gates = judge_gates(case, artifacts)
    afa, afa_n = field_accuracy(case, artifacts)
    measured = measure(list(events))
    started, ended = case.started, case.state.ended
    validity: Validity = "cut_off" if ended is None else _VALIDITY.get(ended.outcome, "scored")
    return Score(
        session=started.session,
        workflow=started.workflow,
        agent=started.agent,
        rehearsal=started.rehearsal,
        environment_profile=started.profile,
        grading_profile=grading,
        validity=validity,
        outcome="cut_off" if ended is None else ended.outcome,
        ended_because="" if ended is None else ended.reason,
        success=validity == "scored" and all(gate.passed for gate in gates),
        gates=gates,
        afa=afa,
        afa_n=afa_n,
        fields=tuple(field.verdict for artifact in artifacts for field in artifact.fields),
        floor=floor_of(events, measured, case.end_ms),
        latency=_latency(case, latency_of(measured, complete_ms(case, gates), events)),
        tools=tool_use(case),
        work=work_measures(case, events),
        limits=limits_of(case.state),
        usage=case.state.usage,
        directed=case.state.directed is not None,
        timing_degraded=_degraded(case, events),
        degraded_because=() if ended is None else ended.degraded_because,
        late_p99_ms=None if ended is None else ended.late_p99_ms,
        clock_basis=started.clock_basis,
        duration_ms=case.end_ms,
    )


def _latency(case: Case, latency: Latency) -> Latency:
    return latency.model_copy(update={"writes_during_call": None}) if watched(case.state) else latency


def score_folder(path: Path, grading: Grading = "strict") -> Score:
    """Judge a recorded session by its own files.

    Raises:
        RecordingError: the folder cannot be opened, or holds nothing to judge.
        WorkflowError: as `score_log`.
    """
    return score_recording(open_recording(path), grading)


def score_recording(recording: Recording, grading: Grading = "strict") -> Score:
    """Judge an opened recording by the workflow that it ran, and by no other.

    Raises:
        RecordingError: workflow.json is another one or asks for nothing, or the log holds nothing to judge.
        WorkflowError: as `score_log`.
    """
    _check_snapshot(recording)
    if not recording.events:
        why = (recording.problem or "the log is empty").rstrip(".")
        raise RecordingError(f"{recording.folder.path}: {why}: there is nothing to judge; record the session again")
    return score_log(recording.events, recording.workflow, grading)


def _check_snapshot(recording: Recording) -> None:
    """Refuse a recording whose workflow cannot be judged by.

    Raises:
        RecordingError: workflow.json is not the one that the session ran, or it asks for nothing.
    """
    where = recording.folder.workflow
    if not recording.own_workflow:
        raise RecordingError(f"{where} {OTHER_WORKFLOW}: restore it to score the session")
    if asks_nothing(recording.workflow):
        raise RecordingError(f"{where} has no gold outcome: nothing can be judged by it")


def _degraded(case: Case, events: Sequence[Event]) -> bool:
    """As the end of the session says; for one that was cut, by the seconds that are there (any one above 10 ms, or the share of late frames)."""
    if case.state.ended is not None:
        return case.state.ended.timing_degraded
    pulses = [event.fact for event in events if isinstance(event.fact, SessionPulse)]
    frames = sum(pulse.frames for pulse in pulses)
    late = sum(pulse.over_20ms for pulse in pulses)
    return late > DEGRADED_SHARE * max(1, frames) or any(pulse.late_p99_ms > DEGRADED_P99_MS for pulse in pulses)
