"""The shape of a verdict: what score.json holds and what every screen and table shows. No logic."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

GateName = Literal["TS", "PV", "AC", "AV"]
GATE_WORDS: dict[GateName, str] = {
    "TS": "target state",
    "PV": "process validity",
    "AC": "action completion",
    "AV": "artifact validity",
}
SCORE_VERSION = 1


class Part(BaseModel):
    """A frozen part of the verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Check(Part):
    """One thing that was checked. ``passed`` None: only a semantic judge could decide (ungraded). ``evidence``: event sequence numbers."""

    id: str
    passed: bool | None
    reason: str
    evidence: tuple[int, ...] = ()


class GateVerdict(Part):
    """One of the four gates, with every check that decided it."""

    gate: GateName
    passed: bool
    reason: str
    """One sentence: why it failed, or what held."""
    checks: tuple[Check, ...] = ()


class FieldVerdict(Part):
    """One gold field against the final artifact."""

    artifact: str
    field: str
    expected: Any
    found: Any
    passed: bool | None
    stale: bool
    required: bool
    corrected: bool
    """The caller corrected it in this session."""
    reason: str
    evidence: tuple[int, ...] = ()
    uptake_ms: float | None = None
    settled_ms: float | None = None
    uptake: Literal["taken_up", "anticipated", "censored"] | None = None


class StopRow(Part):
    """One barge-in (measures.md section 3)."""

    barge_in: int
    kind: str
    onset_ms: float
    stop_kind: str
    stop_delay_ms: float | None = None
    detect_ms: float | None = None
    detect_source: str | None = None
    flush_ms: float | None = None
    evidence: tuple[int, ...] = ()


class Summary(Part):
    """Values of one number: ``n`` beside everything; percentiles only from 20 values, else the values themselves."""

    n: int
    values: tuple[float, ...] = ()
    median: float | None = None
    p95: float | None = None
    censored: int = 0
    """Among them: values that only say *at least this long* (an agent that did not stop within the window)."""


class Floor(Part):
    """Section 3 of measures.md for one session."""

    barge_ins: tuple[StopRow, ...] = ()
    yielded_share: float | None = None
    yielded_n: int = 0
    observed_n: int = 0
    stop_delay_ms: Summary = Summary(n=0)
    cut_ins: int = 0
    terminal_overlaps: int = 0
    agent_backchannels: int = 0
    false_yields: int = 0
    backchannels: int = 0
    overlap_ratio: float | None = None


class Latency(Part):
    """Section 4 of measures.md for one session. ``after_tool`` answers are kept apart."""

    first_byte_ms: Summary = Summary(n=0)
    first_audible_ms: Summary = Summary(n=0)
    first_audible_after_tool_ms: Summary = Summary(n=0)
    leading_silence_ms: Summary = Summary(n=0)
    unanswered: int = 0
    band: Literal["natural", "holds together", "strained"] | None = None
    dead_air_n: int = 0
    silent_wait_n: int = 0
    complete_ms: float | None = None


class ToolUse(Part):
    """Calls against the reference solution."""

    calls: int
    ok: int
    failed: int
    cancelled: int
    reference_calls: int
    ratio: float | None = None
    unknown_tool: int = 0
    invalid_arguments: int = 0
    repeated: int = 0
    after_interruption: int = 0


class Score(Part):
    """The full verdict on one session."""

    schema_version: int = SCORE_VERSION
    session: str
    workflow: str
    agent: str
    rehearsal: bool
    environment_profile: Literal["strict", "official"]
    grading_profile: Literal["strict", "official"]
    validity: Literal["scored", "infrastructure", "simulator", "operator", "cut_off"]
    outcome: str
    success: bool
    """All four gates passed, and the session is valid."""
    gates: tuple[GateVerdict, ...]
    afa: float | None
    afa_n: int
    fields: tuple[FieldVerdict, ...]
    floor: Floor
    latency: Latency
    tools: ToolUse
    timing_degraded: bool
    late_p99_ms: float | None = None
    clock_basis: str
    duration_ms: float

    def gate(self, name: GateName) -> GateVerdict:
        """The verdict on one gate."""
        return next(g for g in self.gates if g.gate == name)
