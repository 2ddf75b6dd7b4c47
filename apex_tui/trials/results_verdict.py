"""A verdict as a table counts it: the numbers of score.json without its evidence and its sentences.

In here: the shape of what is read of thousands of sessions; reading only this costs a third of reading all. A file that another program wrote, or
that was changed, must not bring a number into a table that no session can have: counts below 0, shares outside 0..1, a success without its gates.
Deliberately not in here: the verdict itself (``score.verdict``), which has every field named here under the same name (a test holds them together).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from apex_tui.score.verdict import GATE_WORDS, GateName, Score
from apex_tui.score.verdict_work import DriftClass

Count = Annotated[int, Field(ge=0, le=1_000_000)]
Ratio = Annotated[float, Field(ge=0, le=1)]
Ms = Annotated[float, Field(ge=-1e9, le=1e9)]
"""Up to eleven days; an answer that began early is negative."""


class Counted(BaseModel):
    """A frozen part; what a table does not count is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True, allow_inf_nan=False)


class CountedGate(Counted):
    """One gate, and why."""

    gate: GateName
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
    uptake_ms: Ms | None = None
    uptake: Literal["taken_up", "anticipated", "censored"] | None = None


class CountedStop(Counted):
    """One barge-in."""

    kind: str
    stop_kind: str
    stop_delay_ms: Ms | None = None


class CountedSummary(Counted):
    """One number over the turns of a session."""

    values: tuple[Ms, ...] = ()
    median: Ms | None = None


class CountedFloor(Counted):
    """Who had the floor."""

    barge_ins: tuple[CountedStop, ...] = ()
    cut_ins: Count = 0
    false_yields: Count = 0
    backchannels: Count = 0
    overlap_ratio: Ratio | None = None
    chance_share: Ratio | None = None
    chance_n: Count = 0


class CountedLatency(Counted):
    """Answers and silences."""

    first_audible_ms: CountedSummary = CountedSummary()
    first_audible_after_tool_ms: CountedSummary = CountedSummary()
    first_sentence_ms: CountedSummary = CountedSummary()
    unanswered: Count = 0
    dead_air_n: Count = 0
    silent_wait_n: Count = 0
    complete_ms: Ms | None = None


class CountedTools(Counted):
    """Calls."""

    calls: Count
    ok: Count
    ratio: Annotated[float, Field(ge=0, le=1e6)] | None = None
    unknown_tool: Count = 0
    invalid_arguments: Count = 0
    repeated: Count = 0
    after_interruption: Count = 0


class CountedDrift(Counted):
    """Where the value of one field went wrong."""

    field: str
    klass: DriftClass | None = None


class CountedConfirmations(Counted):
    """Critical values spoken back, of all."""

    confirmed: Count = 0
    n: Count = 0


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
    afa: Ratio | None
    afa_n: Count
    fields: tuple[CountedField, ...]
    floor: CountedFloor
    latency: CountedLatency
    tools: CountedTools
    work: CountedWork = CountedWork()
    usage: dict[str, dict[str, float]] = {}
    directed: bool = False
    timing_degraded: bool
    clock_basis: str
    duration_ms: Ms

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if sorted(gate.gate for gate in self.gates) != sorted(GATE_WORDS):
            raise ValueError("its gates are not the four")
        if self.success != (self.validity == "scored" and all(gate.passed for gate in self.gates)):
            raise ValueError("its success contradicts its gates")
        return self

    def gate(self, name: str) -> CountedGate:
        """The gate of that name. Raises ``KeyError`` when the verdict has none."""
        for gate in self.gates:
            if gate.gate == name:
                return gate
        raise KeyError(name)


def counted(score: Score) -> CountedScore:
    """What a table counts of a verdict."""
    return CountedScore.model_validate(score)
