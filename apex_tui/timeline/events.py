"""The event: a fact in its envelope, and the JSON line that it is stored as.

A line holds ``v, seq, type, actor, media_ms, wall_ns, causes, data``; ``data`` is the fact without its type. The union of all facts is
discriminated by ``type``: an unknown type is an error, because a log that we cannot read whole must not be scored.

Two ways lead from a line to its event. `from_line` takes any spelling and names what is wrong. `from_own_line` is three times as fast and knows
only the spelling that `to_line` writes; whatever it does not know, or would refuse, is left to the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast, get_args

from pydantic import ValidationError

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.base import SCHEMA_VERSION, Actor, Fact
from apex_tui.timeline.errors import RecordingError

AnyFact = (
    s.SessionStarted
    | s.SessionClock
    | s.SessionPulse
    | s.SessionWarning
    | s.SessionEnded
    | s.SessionErased
    | s.OperatorMarked
    | c.CallerPlanned
    | c.CallerTurnStarted
    | c.CallerSoundBegan
    | c.CallerSoundRefused
    | c.CallerTurnDecided
    | c.CallerTurnEnded
    | c.CallerWaits
    | c.EventArmed
    | c.EventFired
    | c.PersonDecided
    | c.DirectorActed
    | c.MicrophonePulse
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
    | w.ToolsMounted
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
    | w.KnowledgeSearched
)
"""Every fact that can stand on a timeline."""

FACT_CLASSES: dict[str, type[Fact]] = {str(cls.model_fields["type"].default): cls for cls in get_args(AnyFact)}
"""Event type -> the class of its fact."""
FACT_TYPES: tuple[str, ...] = tuple(sorted(FACT_CLASSES))
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


def is_over(events: Sequence[Event]) -> bool:
    """Whether a log comes to its end; what was erased afterwards is noted behind it."""
    last = next((event for event in reversed(events) if not isinstance(event.fact, s.SessionErased)), None)
    return last is not None and isinstance(last.fact, s.SessionEnded)


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
        data, name = record["data"], record["type"]
        if name not in FACT_CLASSES:
            raise ValueError(f"there is no event type {str(name)[:60]!r}")
        fact = cast(AnyFact, FACT_CLASSES[name].model_validate({**data, "type": name}))
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


def prepare_facts() -> None:
    """Build what validates and writes every fact now. Otherwise each costs a few ms when it first happens, which a paced frame would feel."""
    for cls in FACT_CLASSES.values():
        cls.model_rebuild()


# --- the fast way ----------------------------------------------------------------------------------------------------------------------

_NUMBER = rb"(?:0|[1-9][0-9]{0,11})"
_OWN = re.compile(
    rb'\{"v":%d,"seq":(%s),"type":"([a-z_.]{1,40})","actor":"([a-z]{1,20})","media_ms":(%s(?:\.[0-9]{1,6})?),'
    rb'"wall_ns":(0|[1-9][0-9]{0,18}),"causes":\[((?:%s(?:,%s)*)?)\],"data":(?=\{)'
    % (SCHEMA_VERSION, _NUMBER, _NUMBER, _NUMBER, _NUMBER)
)
_ACTORS_READ: dict[bytes, Actor] = {actor.encode(): cast(Actor, actor) for actor in _ACTORS}


@cache
def _validator(name: bytes) -> Callable[[bytes], AnyFact] | None:
    """What turns the JSON of ``data`` into the fact of that type; None: there is no such type."""
    cls = FACT_CLASSES.get(name.decode("ascii"))
    if cls is None:
        return None
    cls.model_rebuild()  # a class that was never used is only a promise of a validator
    return cast("Callable[[bytes], AnyFact]", cls.__pydantic_validator__.validate_json)


def from_own_line(line: bytes) -> Event | None:
    """The event of a line that is spelled as `to_line` spells it (a line break may follow); None: it is not, or `from_line` must look at it.

    What this returns is what `from_line` returns.
    """
    head = _OWN.match(line)
    if head is None or not line.endswith(b"}\n"):
        return None
    seq, name, by, media_ms, wall_ns, causes = head.groups()
    actor, validate = _ACTORS_READ.get(by), _validator(name)
    if actor is None or validate is None:
        return None
    try:
        fact = validate(line[head.end() : -2])
    except ValidationError:
        return None
    numbers = tuple(map(int, causes.split(b","))) if causes else ()
    return Event(int(seq), float(media_ms), int(wall_ns), fact, actor, numbers)
