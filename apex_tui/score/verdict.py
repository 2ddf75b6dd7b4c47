"""The shape of a verdict: what score.json holds and what every screen and table shows. No logic."""

from __future__ import annotations

from typing import Any, Literal

from apex_tui.score.verdict_work import Part, WorkMeasures

GateName = Literal["TS", "PV", "AC", "AV"]
GATE_WORDS: dict[GateName, str] = {
    "TS": "target state",
    "PV": "process validity",
    "AC": "action completion",
    "AV": "artifact validity",
}
SCORE_VERSION = 1


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
    overwritten: bool = False
    """The wanted value was written, and another one after it, which is there at the end."""


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
    played_ms: float | None = None
    generated_ms: float | None = None
    stale_bursts: int = 0
    echo_suspect: bool = False
    """What began it sounds like the loudspeaker: shown, and in no number."""
    across_stall: bool = False
    """The instrument itself stood still while it was observed: shown, and in no number."""
    last_audible_ms: float | None = None
    """The raw end of the agent's sound; with ``onset_ms`` it shows why a row is *invalid*."""
    evidence: tuple[int, ...] = ()


class Disagreement(Part):
    """What the agent declared and what could be heard, where they do not agree."""

    declared: str
    audible: str
    at_ms: float
    reply: str | None = None
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
    """None also when the provider reports no interruptions: then only the bounds hold."""
    yielded_low: float | None = None
    yielded_high: float | None = None
    """Bounds of the share: without and with the stops that nothing proves."""
    chance_share: float | None = None
    chance_n: int = 0
    """How often the agent falls silent within the window after a moment at which nobody interrupted, and of how many such moments."""
    invalid_n: int = 0
    """Barge-ins whose raw times contradict each other; they are in no other number."""
    yielded_n: int = 0
    observed_n: int = 0
    stop_delay_ms: Summary = Summary(n=0)
    cut_ins: int = 0
    terminal_overlaps: int = 0
    agent_backchannels: int = 0
    talk_overs: int = 0
    false_yields: int = 0
    backchannels: int = 0
    echo_suspects: int = 0
    """Turns at the microphone that sound like what the loudspeaker was playing; they are in no other number."""
    undecided: int = 0
    """Sounds of a person inside a reply of which neither length and words nor a key said whether they were more than a back-channel. They are in
    no other number.
    """
    overlap_ratio: float | None = None
    late_dropped_ms: float = 0.0
    """Audio of replies that were over or cut off, which went on arriving and was dropped."""
    disagreements: tuple[Disagreement, ...] = ()


class Latency(Part):
    """Section 4 of measures.md for one session. ``after_tool`` answers are kept apart."""

    first_byte_ms: Summary = Summary(n=0)
    first_audible_ms: Summary = Summary(n=0)
    first_audible_after_tool_ms: Summary = Summary(n=0)
    first_speech_ms: Summary = Summary(n=0)
    leading_silence_ms: Summary = Summary(n=0)
    first_speakable_ms: Summary = Summary(n=0)
    first_sentence_ms: Summary = Summary(n=0)
    first_sentence_estimated_n: int = 0
    """How many of these ends were estimated from pauses."""
    stages: dict[str, Summary] = {}
    """Parts of the answers' latency, by the signal that ends them; ``unexplained`` is what no signal explains."""
    unanswered: int = 0
    band: Literal["natural", "holds together", "strained"] | None = None
    dead_air_n: int = 0
    silent_wait_n: int = 0
    questions_during_call: int = 0
    writes_during_call: int | None = 0
    """Questions that the agent asked, and versions that it wrote, while (another) tool call was running."""
    complete_ms: float | None = None
    across_stall_n: int = 0
    """Answers left out because the instrument itself stood still while they were due."""


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
    ended_because: str = ""
    """Why the session ended, in words; empty for one that was cut off."""
    success: bool
    """All four gates passed, and the session is valid."""
    gates: tuple[GateVerdict, ...]
    afa: float | None
    afa_n: int
    fields: tuple[FieldVerdict, ...]
    floor: Floor
    latency: Latency
    tools: ToolUse
    work: WorkMeasures = WorkMeasures()
    usage: dict[str, dict[str, float]] = {}
    """What the provider counted, by part: ``agent``, ``delegate``, ``transcript``; empty when it reported nothing."""
    limits: dict[str, str] = {}
    """Measure -> why it does not apply, or how far, to an agent connected as this one was."""
    directed: bool = False
    """A person directed the recorded caller: the verdict stands for this session alone."""
    timing_degraded: bool
    degraded_because: tuple[str, ...] = ()
    """One sentence for each rule that the pacing broke."""
    late_p99_ms: float | None = None
    clock_basis: str
    duration_ms: float

    def gate(self, name: GateName) -> GateVerdict:
        """The verdict on one gate."""
        return next(g for g in self.gates if g.gate == name)
