"""What a session looks like at one moment: the plain state that the fold builds. No logic, no widgets, no files.

All times are media ms. ``seq`` is the event that created a row, so that every row on a screen can name its evidence. The objects are
mutable and belong to one `SessionView`; nobody else changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # the facts are models, and a screen is painted before the first one is needed
    from apex_tui.timeline.agent_facts import (
        AgentConnected,
        AgentStage,
        BargeInClosed,
        CutIn,
        FalseYield,
        ResponseDetailed,
        ResponseMeasured,
        SilenceMeasured,
        StateDisagreed,
    )
    from apex_tui.timeline.caller_facts import CallerWaits, EventFired, MicrophonePulse, PersonDecided
    from apex_tui.timeline.session_facts import SessionEnded, SessionPulse, SessionStarted, SessionWarning
    from apex_tui.timeline.stalls import Stretch
    from apex_tui.timeline.work_facts import CommitDecided, Decision, FieldChange, Lifecycle, ToolsMounted

Area = Literal[
    "session", "transcript", "artifact", "authority", "tools", "barge_in", "latency", "caller", "lanes", "events"
]
"""Parts of a screen that an event can touch."""


@dataclass(slots=True)
class Turn:
    """One caller turn."""

    number: int
    seq: int
    plan: str
    act: str
    text: str
    facts: tuple[str, ...]
    values: dict[str, Any]
    floor: str
    onset_ms: float
    ends_ms: float
    value_end_ms: float
    offset_ms: float | None = None
    recovered: bool = False
    pending: bool = False
    """At the microphone: whether it was only a back-channel is not decided."""
    claimed: bool | None = None
    """At the microphone, of sound inside the agent's reply: whether it was decided to claim the floor, or to be a back-channel; None: never."""
    echo_suspect: bool = False
    detected: bool = False
    """Found at the microphone; its end, and with it the latest end of any value in it, is known once it is over."""
    heard_by_agent: str | None = None
    """The agent's transcript of it, when it sends one."""
    heard_seq: int | None = None
    """The event that completed the transcript."""
    decided: list[PersonDecided] = field(default_factory=list)
    """What a person at the microphone said by key that these words did."""

    @property
    def retaken(self) -> bool:
        """Whether the person said it again, so that it is not kept."""
        return any(decision.what == "retake" for decision in self.decided)

    @property
    def words(self) -> str:
        """What was said: the script's words; a person's as the agent heard them, if it tells, else nothing."""
        return self.text or (self.heard_by_agent or "" if self.detected else "")


@dataclass(slots=True)
class Reply:
    """One reply of the agent. ``speech`` holds audible stretches as played; an open one ends with None."""

    id: str
    seq: int
    started_ms: float
    after_tool: bool = False
    first_byte_ms: float | None = None
    text: str = ""
    items: dict[str, str] = field(default_factory=dict)
    speech: list[tuple[float, float | None]] = field(default_factory=list)
    status: str | None = None
    status_reason: str = ""
    generated_ms: float | None = None
    closed: str | None = None
    closed_ms: float | None = None
    played_ms: float | None = None
    heard: str | None = None
    closed_seq: int | None = None
    """The event that says how much of it was heard."""
    barge_in: int | None = None
    late_dropped_ms: float = 0.0
    """Audio that arrived after it was over or cut off, and was dropped."""


@dataclass(slots=True)
class Call:
    """One tool call, the ``number``-th of the session. ``state``: refused at the door, running, done, failed, cancelled."""

    id: str
    number: int
    seq: int
    name: str
    arguments: dict[str, Any]
    called_ms: float
    reply: str | None
    after_interruption: bool
    state: Literal["refused", "running", "done", "failed", "cancelled"]
    finished_ms: float | None = None
    latency_ms: float | None = None
    result: dict[str, Any] | None = None
    error: str | None = None
    decision: Decision | None = None
    version: int | None = None
    """The artifact version that it wrote."""
    source: Literal["wire", "mcp"] = "wire"
    before_key: str | None = None
    """A commit that was refused only because the person's key came after their words: the approval that dates from before it."""

    @property
    def label(self) -> str:
        """``T1``, ``T2`` ... in order of the calls."""
        return f"T{self.number}"


@dataclass(slots=True)
class Version:
    """One immutable artifact version."""

    artifact: str
    number: int
    seq: int
    at_ms: float
    digest: str
    author: str
    call: str | None
    lifecycle: Lifecycle
    fields: dict[str, Any]
    changes: tuple[FieldChange, ...]
    source: str | None = None
    """The probe that saw it; None: a tool of ours wrote it."""
    since_ms: float | None = None


@dataclass(slots=True)
class Artifact:
    """All versions of one artifact, and which fields of the current one no longer hold."""

    id: str
    versions: list[Version] = field(default_factory=list)
    stale: dict[str, str] = field(default_factory=dict)

    @property
    def current(self) -> Version | None:
        """The newest version."""
        return self.versions[-1] if self.versions else None


@dataclass(slots=True)
class Request:
    """One request for approval. ``state``: pending, granted, denied, revoked, or replaced by a newer one for the same thing."""

    id: str
    seq: int
    action: str
    target: str
    artifact: str | None
    version: int | None
    digest: str | None
    at_ms: float
    state: Literal["pending", "granted", "denied", "revoked", "replaced"] = "pending"


@dataclass(slots=True)
class Approval:
    """One approval. ``state``: bound, stale, used, revoked."""

    id: str
    seq: int
    request: str
    action: str
    target: str
    artifact: str | None
    version: int | None
    digest: str | None
    granted_ms: float
    flags: tuple[str, ...] = ()
    state: Literal["bound", "stale", "used", "revoked"] = "bound"
    differs: tuple[str, ...] = ()
    ended_ms: float | None = None


@dataclass(slots=True)
class BargeIn:
    """One barge-in; ``closed`` is None while it is observed."""

    number: int
    seq: int
    turn: int
    reply: str
    kind: str
    onset_ms: float
    closed: BargeInClosed | None = None


@dataclass(slots=True)
class Act:
    """One reading of the observer."""

    seq: int
    at_ms: float
    key: str
    source: str
    reply: str | None
    evidence: str


@dataclass(slots=True)
class Mark:
    """A mark on the lanes: B barge-in, v version, T tool, A approval, S submit (commit), E event, M operator's mark."""

    seq: int
    at_ms: float
    glyph: Literal["B", "v", "T", "A", "S", "E", "M"]
    label: str


@dataclass(frozen=True, slots=True)
class Directed:
    """What a director has done so far; replaced, never changed, because views share it.

    ``held``: the caller is held back; ``at_microphone``: a person has the caller's lane.
    """

    acts: int = 0
    held: bool = False
    at_microphone: bool = False
    finishing: bool = False
    person_spoke: bool = False
    """A person had the caller's lane at some time."""


@dataclass(slots=True)
class State:
    """Everything that the log says so far."""

    seq: int = -1
    media_ms: float = 0.0
    events: int = 0
    started: SessionStarted | None = None
    utc: str | None = None
    ended: SessionEnded | None = None
    warnings: list[tuple[int, float, SessionWarning]] = field(default_factory=list)
    connected: AgentConnected | None = None
    closed: tuple[int | None, str, bool] | None = None
    errors: list[tuple[int, float, str, str]] = field(default_factory=list)
    pulse: SessionPulse | None = None
    late_max_ms: float = 0.0
    over_20ms: int = 0
    stalls: list[Stretch] = field(default_factory=list)
    """What a stall of the instrument reaches into; a measurement across one stands in no number."""
    turns: list[Turn] = field(default_factory=list)
    replies: dict[str, Reply] = field(default_factory=dict)
    reply_order: list[str] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    mounted: list[tuple[int, float, ToolsMounted]] = field(default_factory=list)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    decisions: list[tuple[int, float, CommitDecided]] = field(default_factory=list)
    barge_ins: dict[int, BargeIn] = field(default_factory=dict)
    responses: list[ResponseMeasured] = field(default_factory=list)
    cut_ins: list[CutIn] = field(default_factory=list)
    false_yields: list[FalseYield] = field(default_factory=list)
    silences: list[SilenceMeasured] = field(default_factory=list)
    details: list[ResponseDetailed] = field(default_factory=list)
    stages: list[AgentStage] = field(default_factory=list)
    """What the agent reported of its own work, in the order in which each part was over."""
    usage: dict[str, dict[str, float]] = field(default_factory=dict)
    """What the provider counted so far, by part (``agent``, ``delegate``, ``transcript``)."""
    disagreements: list[StateDisagreed] = field(default_factory=list)
    questions_during_call: int = 0
    writes_during_call: int = 0
    acts: list[Act] = field(default_factory=list)
    fired: list[tuple[int, float, EventFired]] = field(default_factory=list)
    waits: CallerWaits | None = None
    microphone: MicrophonePulse | None = None
    """How well a person at the microphone is heard; None: nobody is there."""
    directed: Directed | None = None
    """None: nobody directed the caller."""
    caller_speaking: bool = False
    undecided_sound: bool = False
    """At the microphone: something sounds, and whether it is speech is not known yet."""
    agent_speaking: bool = False
    searches: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    world: dict[str, Any] = field(default_factory=dict)
    """Dotted path -> newest value, for paths that changed in the session."""
    marks: list[Mark] = field(default_factory=list)
