"""Facts about the session itself: start, clock, health of the instrument, end."""

from __future__ import annotations

from typing import Literal

from apex_tui.timeline.base import Fact, Json

ClockBasis = Literal["playout", "device", "receipt", "simulated"]
"""What the agent lane's times rest on (measures.md section 1)."""

CallerSpeech = Literal["bank", "recorded", "package", "tones", "microphone"]
"""What the caller speaks with: our bank, a person's clips beside the recipe, those of an official package, tones in their place, or a person."""

Outcome = Literal[
    "completed", "handed_over", "agent_stalled", "agent_closed", "over_time", "infrastructure", "simulator", "operator"
]  # fmt: skip
"""Why the session ended. The last three make it invalid: they judge nobody."""

INVALID_OUTCOMES: frozenset[str] = frozenset({"infrastructure", "simulator", "operator"})


class SessionStarted(Fact):
    """First event. ``parameters`` holds what is needed to repeat the run (channel, manner, latencies ...)."""

    type: Literal["session.started"] = "session.started"
    session: str
    workflow: str
    workflow_version: str
    workflow_digest: str
    title: str
    agent: str
    rehearsal: bool
    """The agent knows the solution: the label *rehearsal (scripted)* stays on every screen and export."""
    seed: int
    profile: Literal["strict", "official"]
    caller: CallerSpeech
    clock_basis: ClockBasis
    virtual: bool
    parameters: Json = {}


class SessionClock(Fact):
    """Anchors the monotonic ``wall_ns`` of this event to UTC (ISO 8601). ``simulated`` runs carry a fixed date."""

    type: Literal["session.clock"] = "session.clock"
    utc: str


class SessionPulse(Fact):
    """Once a second of media time: how late our own frames were in that second (ms), both lanes' levels (dBFS), and what waits where.

    ``dropped``: caller frames that the agent's backlog cost in that second.
    """

    type: Literal["session.pulse"] = "session.pulse"
    frames: int
    late_p50_ms: float
    late_p99_ms: float
    late_max_ms: float
    over_20ms: int
    dropped: int
    caller_db: float
    agent_db: float
    queue_ms: float
    """Agent audio received and not yet played."""
    tick_max_ms: float = 0.0
    """The longest that the work of one frame took."""
    send_queue_ms: float = 0.0
    """Caller audio that waits to be sent to the agent."""
    outlet_bytes: int = 0
    """What waits for a slow screen."""
    log_lines: int = 0
    """Lines of the log that wait for the disk (at most 100 ms)."""
    underruns: int = 0
    """How often the sound device found too little to play, so far."""


class SessionWarning(Fact):
    """Something the user should know; the run goes on. ``code`` is a slug, ``message`` one sentence."""

    type: Literal["session.warning"] = "session.warning"
    code: str
    message: str


class SessionEnded(Fact):
    """Last event of a session that was not cut off. Pacing is over the whole session, in ms; ``degraded`` as in measures.md 1."""

    type: Literal["session.ended"] = "session.ended"
    outcome: Outcome
    reason: str
    frames: int
    late_p50_ms: float
    late_p99_ms: float
    late_max_ms: float
    over_20ms: int
    dropped: int
    timing_degraded: bool
    degraded_because: tuple[str, ...] = ()
    """One sentence for each rule of measures.md 1 that the pacing broke."""
    tick_max_ms: float = 0.0
    underruns: int = 0
    caller_sha256: str
    """Digest of the caller lane as sent (little-endian 16-bit samples)."""
    agent_sha256: str
    caller_clean_sha256: str | None = None
    """Digest of the caller lane before its channel; equal to ``caller_sha256`` on a clean one."""
    lost_packets: int | None = None
    """Packets of 20 ms that the caller's channel lost; None when it loses none by nature."""


class OperatorMarked(Fact):
    """The person at the keyboard marked this moment."""

    actor = "operator"
    type: Literal["operator.marked"] = "operator.marked"
    note: str = ""


class SessionErased(Fact):
    """A tombstone behind the end: the caller's voice was silenced and their words redacted, in ``turns`` or (none named) in the whole session.

    ``caller_sha256``: digest of the caller lane before, so that a copy elsewhere can be recognised. ``texts``: how many were redacted.
    """

    actor = "operator"
    type: Literal["session.erased"] = "session.erased"
    utc: str
    turns: tuple[int, ...] = ()
    caller_sha256: str
    texts: int
