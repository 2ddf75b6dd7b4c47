"""A verdict as a table counts it: the numbers of score.json without its evidence and its sentences.

In here: the shape of what is read of thousands of sessions; reading only this costs a third of reading all. Deliberately not in here: the verdict
itself (``score.verdict``), which has every field named here, under the same name.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from apex_tui.score.verdict import Score
from apex_tui.score.verdict_work import DriftClass


class Counted(BaseModel):
    """A frozen part; what a table does not count is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)


class CountedGate(Counted):
    """One gate, and why."""

    gate: str
    passed: bool
    reason: str


class CountedField(Counted):
    """One gold field."""

    artifact: str
    field: str
    found: Any
    passed: bool | None
    stale: bool
    corrected: bool
    uptake_ms: float | None = None
    uptake: Literal["taken_up", "anticipated", "censored"] | None = None


class CountedStop(Counted):
    """One barge-in."""

    kind: str
    stop_kind: str
    stop_delay_ms: float | None = None


class CountedSummary(Counted):
    """One number over the turns of a session."""

    values: tuple[float, ...] = ()
    median: float | None = None


class CountedFloor(Counted):
    """Who had the floor."""

    barge_ins: tuple[CountedStop, ...] = ()
    cut_ins: int = 0
    false_yields: int = 0
    backchannels: int = 0
    overlap_ratio: float | None = None


class CountedLatency(Counted):
    """Answers and silences."""

    first_audible_ms: CountedSummary = CountedSummary()
    first_audible_after_tool_ms: CountedSummary = CountedSummary()
    first_sentence_ms: CountedSummary = CountedSummary()
    unanswered: int = 0
    dead_air_n: int = 0
    silent_wait_n: int = 0
    complete_ms: float | None = None


class CountedTools(Counted):
    """Calls."""

    calls: int
    ok: int
    ratio: float | None = None
    unknown_tool: int = 0
    invalid_arguments: int = 0
    repeated: int = 0
    after_interruption: int = 0


class CountedDrift(Counted):
    """Where the value of one field went wrong."""

    field: str
    klass: DriftClass | None = None


class CountedConfirmations(Counted):
    """Critical values spoken back, of all."""

    confirmed: int = 0
    n: int = 0


class CountedWork(Counted):
    """Lapses: only their number counts."""

    drift: tuple[CountedDrift, ...] = ()
    stale_calls: tuple[Any, ...] = ()
    results_dropped: tuple[Any, ...] = ()
    misread_approvals: tuple[Any, ...] = ()
    confirmations: CountedConfirmations = CountedConfirmations()
    disclosures: tuple[Any, ...] = ()
    false_success: tuple[Any, ...] = ()
    required_lookups_missing: tuple[Any, ...] = ()


class CountedScore(Counted):
    """The verdict on one session."""

    schema_version: int
    session: str
    workflow: str
    agent: str
    rehearsal: bool
    environment_profile: Literal["strict", "official"]
    grading_profile: Literal["strict", "official"]
    validity: Literal["scored", "infrastructure", "simulator", "operator", "cut_off"]
    outcome: str
    success: bool
    gates: tuple[CountedGate, ...]
    afa: float | None
    afa_n: int
    fields: tuple[CountedField, ...]
    floor: CountedFloor
    latency: CountedLatency
    tools: CountedTools
    work: CountedWork = CountedWork()
    usage: dict[str, dict[str, float]] = {}
    timing_degraded: bool
    clock_basis: str
    duration_ms: float

    def gate(self, name: str) -> CountedGate:
        """The gate of that name. Raises ``KeyError`` when the verdict has none."""
        for gate in self.gates:
            if gate.gate == name:
                return gate
        raise KeyError(name)


def counted(score: Score) -> CountedScore:
    """What a table counts of a verdict."""
    return CountedScore.model_validate(score)
