"""A verdict as a table counts it: the numbers of score.json without its evidence and its sentences.

In here: the shape of what is read of thousands of sessions; reading only this costs a third of reading all. A file that another program wrote, or
that was changed, must not bring a number into a table that no session can have: counts below 0, shares outside 0..1, a stop beyond its window, a
success or an AFA that its own parts contradict.
Deliberately not in here: the verdict itself (``score.verdict``), which has every field named here under the same name (a test holds them together).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from apex_tui.score.floor_numbers import ENOUGH
from apex_tui.score.floor_state import WINDOW_MS
from apex_tui.score.verdict import GATE_WORDS, GateName, Score
from apex_tui.score.verdict_work import DriftClass
from apex_tui.timeline.agent_facts import StopKind
from apex_tui.timeline.log import MAX_MEDIA_MS
from apex_tui.timeline.session_facts import INVALID_OUTCOMES, Outcome

Count = Annotated[int, Field(ge=0, le=1_000_000)]
Ratio = Annotated[float, Field(ge=0, le=1)]
Ms = Annotated[float, Field(ge=-MAX_MEDIA_MS, le=MAX_MEDIA_MS)]
"""Within a day, the longest that a session can be; an answer that began early is negative."""
Length = Annotated[float, Field(ge=0, le=MAX_MEDIA_MS)]
StopDelay = Annotated[float, Field(ge=0, le=WINDOW_MS)]
_STOPPED = frozenset({"yielded", "natural_end", "unattributed", "resumed"})
"""Kinds of a stop that may have a delay; the others have none."""


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
    required: bool
    corrected: bool
    uptake_ms: Ms | None = None
    uptake: Literal["taken_up", "anticipated", "censored"] | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.stale and self.passed:
            raise ValueError("a field is stale and right at once")
        return self


class CountedStop(Counted):
    """One barge-in."""

    barge_in: Count
    kind: Literal["overlap", "in_pause"]
    stop_kind: StopKind
    stop_delay_ms: StopDelay | None = None
    echo_suspect: bool = False
    across_stall: bool = False

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.stop_delay_ms is not None and self.stop_kind not in _STOPPED:
            raise ValueError("an agent that did not stop has a stop delay")
        return self


class CountedSummary(Counted):
    """One number over the turns of a session."""

    n: Count
    values: tuple[Ms, ...] = ()
    median: Ms | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        few = self.n < ENOUGH
        if len(self.values) != (self.n if few else 0) or few != (self.median is None):
            raise ValueError("a number's values are not as many as its n")
        return self


class CountedFloor(Counted):
    """Who had the floor."""

    barge_ins: tuple[CountedStop, ...] = ()
    cut_ins: Count = 0
    false_yields: Count = 0
    backchannels: Count = 0
    overlap_ratio: Ratio | None = None
    chance_share: Ratio | None = None
    chance_n: Count = 0

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if len({stop.barge_in for stop in self.barge_ins}) != len(self.barge_ins):
            raise ValueError("a barge-in is there twice")
        return self


class CountedLatency(Counted):
    """Answers and silences."""

    first_audible_ms: CountedSummary = CountedSummary(n=0)
    first_audible_after_tool_ms: CountedSummary = CountedSummary(n=0)
    first_sentence_ms: CountedSummary = CountedSummary(n=0)
    unanswered: Count = 0
    dead_air_n: Count = 0
    silent_wait_n: Count = 0
    complete_ms: Length | None = None


class CountedTools(Counted):
    """Calls."""

    calls: Count
    ok: Count
    failed: Count
    cancelled: Count
    ratio: Annotated[float, Field(ge=0, le=1e6)] | None = None
    unknown_tool: Count = 0
    invalid_arguments: Count = 0
    repeated: Count = 0
    after_interruption: Count = 0

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        parts = (self.unknown_tool, self.invalid_arguments, self.repeated, self.after_interruption)
        if max(self.ok + self.failed + self.cancelled, *parts) > self.calls:
            raise ValueError("some calls are more than all calls")
        return self


class CountedDrift(Counted):
    """Where the value of one field went wrong."""

    field: str
    klass: DriftClass | None = None


class CountedConfirmations(Counted):
    """Critical values spoken back, of all."""

    confirmed: Count = 0
    n: Count = 0

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.confirmed > self.n:
            raise ValueError("more values are confirmed than there are")
        return self


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
    outcome: Outcome | Literal["cut_off"]
    success: bool
    gates: tuple[CountedGate, ...]
    afa: Ratio | None
    afa_n: Count
    fields: tuple[CountedField, ...]
    floor: CountedFloor
    latency: CountedLatency
    tools: CountedTools
    work: CountedWork = CountedWork()
    usage: dict[str, dict[str, Annotated[float, Field(ge=0)]]] = {}
    limits: dict[str, str] = {}
    directed: bool = False
    timing_degraded: bool
    clock_basis: str
    duration_ms: Length

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if sorted(gate.gate for gate in self.gates) != sorted(GATE_WORDS):
            raise ValueError("its gates are not the four")
        if self.success != (self.validity == "scored" and all(gate.passed for gate in self.gates)):
            raise ValueError("its success contradicts its gates")
        judged = self.outcome not in INVALID_OUTCOMES and self.outcome != "cut_off"
        if self.validity != ("scored" if judged else self.outcome):
            raise ValueError("its validity contradicts its outcome")
        if (wrong := self._of_the_fields()) is not None:
            raise ValueError(wrong)
        return self

    def _of_the_fields(self) -> str | None:
        """What its fields contradict. Officially AFA is a mean over artifacts, of shares that a table does not read: only its n is held to them."""
        if len({(field.artifact, field.field) for field in self.fields}) != len(self.fields):
            return "a field is there twice"
        if (self.afa is None) != (self.afa_n == 0) and self.grading_profile == "strict":
            return "its AFA contradicts its n"
        if self.afa_n > len(self.fields):
            return "its AFA counts more fields than there are"
        if self.grading_profile != "strict":
            return None
        graded = [field.passed for field in self.fields if field.passed is not None]
        if len(graded) != self.afa_n or (graded and round(sum(graded) / len(graded), 4) != self.afa):
            return "its AFA contradicts its fields"
        if self.gate("AV").passed and not all(field.passed for field in self.fields if field.required):
            return "its gate AV contradicts its fields"
        return None

    def gate(self, name: str) -> CountedGate:
        """The gate of that name. Raises ``KeyError`` when the verdict has none."""
        for gate in self.gates:
            if gate.gate == name:
                return gate
        raise KeyError(name)


def counted(score: Score) -> CountedScore:
    """What a table counts of a verdict."""
    return CountedScore.model_validate(score)
