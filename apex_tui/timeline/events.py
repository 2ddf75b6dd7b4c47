"""The event: a fact in its envelope, and the JSON line that it is stored as.

A line holds ``v, seq, type, actor, media_ms, wall_ns, causes, data``; ``data`` is the fact without its type. The union of all facts is
discriminated by ``type``: an unknown type is an error, because a log that we cannot read whole must not be scored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, cast, get_args

from pydantic import Field, TypeAdapter, ValidationError

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.base import SCHEMA_VERSION, Actor
from apex_tui.timeline.errors import RecordingError

AnyFact = Annotated[
    s.SessionStarted
    | s.SessionClock
    | s.SessionPulse
    | s.SessionWarning
    | s.SessionEnded
    | s.OperatorMarked
    | c.CallerPlanned
    | c.CallerTurnStarted
    | c.CallerTurnEnded
    | c.CallerWaits
    | c.EventArmed
    | c.EventFired
    | a.AgentConnected
    | a.AgentClosed
    | a.AgentError
    | a.ReplyStarted
    | a.AudioArrived
    | a.AgentSpeechStarted
    | a.AgentSpeechEnded
    | a.AgentPaused
    | a.LateDropped
    | a.AgentSaid
    | a.AgentHeardCaller
    | a.AgentNoticed
    | a.AgentStage
    | a.AgentUsage
    | a.ReplyGenerated
    | a.ReplyFlushed
    | a.ReplyClosed
    | a.AgentTruncated
    | a.AgentActed
    | a.BargeInOpened
    | a.BargeInClosed
    | a.FalseYield
    | a.CutIn
    | a.ResponseMeasured
    | a.ResponseDetailed
    | a.StateDisagreed
    | a.SilenceMeasured
    | w.ToolCalled
    | w.ToolFinished
    | w.ToolCancelled
    | w.ArtifactVersion
    | w.ArtifactStale
    | w.ApprovalRequested
    | w.ApprovalGranted
    | w.ApprovalDenied
    | w.ApprovalRevoked
    | w.ApprovalStale
    | w.CommitDecided
    | w.WorldChanged
    | w.KnowledgeSearched,
    Field(discriminator="type"),
]
"""Every fact that can stand on a timeline."""

FACT_TYPES: tuple[str, ...] = tuple(
    sorted(str(cls.model_fields["type"].default) for cls in get_args(get_args(AnyFact)[0]))
)
_FACT: TypeAdapter[AnyFact] = TypeAdapter(AnyFact)
_ACTORS = frozenset(get_args(Actor))


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the timeline. ``media_ms``: position when it was noted; ``wall_ns``: the loop's monotonic time; ``causes``: earlier seqs."""

    seq: int
    media_ms: float
    wall_ns: int
    fact: AnyFact
    actor: Actor
    causes: tuple[int, ...] = ()

    @property
    def type(self) -> str:
        """The event type, such as ``artifact.version``."""
        return self.fact.type


def to_line(event: Event) -> str:
    """The event as one compact JSON line, without the line break."""
    fact = event.fact
    data = fact.model_dump(mode="json", exclude={"type"})
    record = {
        "v": SCHEMA_VERSION,
        "seq": event.seq,
        "type": fact.type,
        "actor": event.actor,
        "media_ms": event.media_ms,
        "wall_ns": event.wall_ns,
        "causes": list(event.causes),
        "data": data,
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def from_record(record: Any) -> Event:
    """Validate one decoded line.

    Raises:
        RecordingError: it is not an event of this version.
    """
    if not isinstance(record, dict):
        raise RecordingError("not an event: a line must hold a JSON object")
    version = record.get("v")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise RecordingError(f"event version {version!r} is newer than {SCHEMA_VERSION}: update apex-tui to open it")
    try:
        data = record["data"]
        fact = _FACT.validate_python({**data, "type": record["type"]})
        causes = tuple(int(x) for x in record["causes"])
        return Event(
            seq=int(record["seq"]),
            media_ms=float(record["media_ms"]),
            wall_ns=int(record["wall_ns"]),
            fact=fact,
            actor=cast(Actor, record["actor"]) if record["actor"] in _ACTORS else "harness",
            causes=causes,
        )
    except (KeyError, TypeError, ValueError, OverflowError, ValidationError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else f"{type(error).__name__} {error}"
        raise RecordingError(
            f"event {record.get('seq', '?')} ({record.get('type', '?')}) is not valid: {what}"
        ) from error


def from_line(line: str | bytes) -> Event:
    """Decode and validate one stored line.

    Raises:
        RecordingError: the line is not JSON or not an event.
    """
    try:
        record = json.loads(line)
    except ValueError as error:
        raise RecordingError(f"not JSON: {error}") from error
    return from_record(record)
