"""session.json: who, what, versions, seeds, parameters and digests of one session. Written first, completed last.

In here: its model, the labels that follow from a run, what can be told from the log when the file is missing, and the masking of an agent's
address. Deliberately not in here: where the file lies (``layout``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from apex_tui.timeline.agent_facts import AgentConnected
from apex_tui.timeline.base import SCHEMA_VERSION, Json
from apex_tui.timeline.caller_facts import DirectorActed
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionClock, SessionEnded, SessionStarted

VIRTUAL_UTC = "2026-01-01T00:00:00Z"
"""The date of every simulated session: a run is the same whenever it is made."""
REHEARSAL = "rehearsal (scripted)"
DEGRADED = "timing degraded"
BY_OPERATOR = "ended by the operator"
PUSH_TO_TALK = "push-to-talk"
OVER_MCP = "tools over MCP"
BY_PROBE = "state seen by a probe"
OWN_TOOLS = (OVER_MCP, BY_PROBE)
"""Labels of sessions with an agent that owns its tools."""
MICROPHONE = "a person at the microphone"
ERASED = "the caller was erased"
DIRECTED = "directed"
"""A person directed the recorded caller: such a session is never counted with others."""
CLEAN = "clean"
"""The caller's channel that changes nothing, and needs no label."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://\S+")


def mask_url(url: str | None) -> str | None:
    """The address without what may be secret: user, password, and the query but for the names in it."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        query = "&".join(
            f"{pair.partition('=')[0]}=***" if "=" in pair else pair and "***" for pair in parts.query.split("&")
        )
        return urlunsplit((parts.scheme, host, parts.path, query, ""))
    except ValueError:
        return "***"  # not an address; better nothing than a key


def mask_addresses(value: Any) -> Any:
    """The JSON value with every address in its texts masked, however deep; what is said around one stays."""
    if isinstance(value, str):
        return _ADDRESS.sub(lambda found: str(mask_url(found[0])), value)
    if isinstance(value, dict):
        return {name: mask_addresses(inner) for name, inner in value.items()}
    return [mask_addresses(inner) for inner in value] if isinstance(value, list | tuple) else value


def addresses(url: str | None, parts: Mapping[str, str]) -> Json:
    """The addresses that were asked for, as they may be stored and used again: without user, password and query."""
    plain = {name: str(mask_url(given)).partition("?")[0] for name, given in parts.items()}
    return {"url": None if url is None else str(mask_url(url)).partition("?")[0], "parts": plain}


class SessionMeta(BaseModel):
    """The content of session.json. Times are UTC in ISO 8601; digests are SHA-256 in hex; ``None`` is what is not known (yet)."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    session: str
    workflow: str
    workflow_version: str
    workflow_digest: str
    title: str
    agent: str
    agent_url: str | None = None
    """Masked on the way in: no user, no password, no value of the query."""
    rehearsal: bool
    seed: int
    profile: str
    caller: str
    virtual: bool
    clock_basis: str
    app_version: str | None = None
    python: str | None = None
    platform: str | None = None
    parameters: Json = {}
    edge_parameters: Json = {}
    instructions_sha256: str | None = None
    tools_sha256: str | None = None
    clips: dict[str, str] = {}
    """Clip id -> digest of its decoded samples."""
    started_utc: str | None = None
    ended_utc: str | None = None
    outcome: str | None = None
    caller_sha256: str | None = None
    caller_clean_sha256: str | None = None
    """Of the caller lane before its channel."""
    agent_sha256: str | None = None
    pacing: Json | None = None
    sound: str = ""
    """One sentence: which device played, or why there was no sound."""
    labels: tuple[str, ...] = ()
    """What must stand beside every number of this session."""

    @field_validator("agent_url")
    @classmethod
    def _mask(cls, url: str | None) -> str | None:
        return mask_url(url)

    def directed(self, fact: DirectorActed) -> SessionMeta:
        """A copy with the labels of a session in which a director did this."""
        labels = (DIRECTED, MICROPHONE) if fact.what == "microphone" else (DIRECTED,)
        return self.model_copy(update={"labels": tuple(dict.fromkeys((*self.labels, *labels)))})

    def completed(self, **changes: Any) -> SessionMeta:
        """A validated copy with ``changes``, for what is known only at the end."""
        return SessionMeta.model_validate({**self.model_dump(), **changes})


def labels_of(
    rehearsal: bool,
    timing_degraded: bool = False,
    outcome: str | None = None,
    channel: str = CLEAN,
    push_to_talk: bool = False,
    caller: str = "bank",
    directed: bool = False,
    person: bool = False,
) -> tuple[str, ...]:
    """The labels that follow from how a session ran. ``person``: in a directed session, a person had the microphone for a while."""
    labels = (
        (rehearsal, REHEARSAL),
        (push_to_talk, PUSH_TO_TALK),
        (caller == "microphone" or person, MICROPHONE),
        (directed, DIRECTED),
        (channel != CLEAN, f"channel {channel}"),
        (timing_degraded, DEGRADED),
        (outcome == "operator", BY_OPERATOR),
    )
    return tuple(text for applies, text in labels if applies)


def meta_from_events(events: Iterable[Event]) -> SessionMeta | None:
    """What the log alone tells of a session, or None when it does not hold its first event."""
    started: SessionStarted | None = None
    known: dict[str, Any] = {}
    degraded = by_button = directed = person = False
    for event in events:
        fact = event.fact
        if isinstance(fact, SessionStarted) and started is None:
            started = fact
        elif isinstance(fact, SessionClock) and "started_utc" not in known:
            known["started_utc"] = fact.utc
        elif isinstance(fact, AgentConnected):
            by_button = fact.accepted.get("mode") == "push_to_talk"
            known |= {
                "agent_url": fact.url,
                "instructions_sha256": fact.instructions_sha256,
                "tools_sha256": fact.tools_sha256,
            }
        elif isinstance(fact, DirectorActed):
            directed, person = True, person or fact.what == "microphone"
        elif isinstance(fact, SessionEnded):
            degraded = fact.timing_degraded
            known |= {
                "outcome": fact.outcome,
                "caller_sha256": fact.caller_sha256,
                "caller_clean_sha256": fact.caller_clean_sha256,
                "agent_sha256": fact.agent_sha256,
                "pacing": fact.model_dump(
                    include={"frames", "late_p50_ms", "late_p99_ms", "late_max_ms", "over_20ms", "dropped"}
                ),
            }
    if started is None:
        return None
    channel = str(started.parameters.get("channel", CLEAN))
    labels = labels_of(
        started.rehearsal, degraded, known.get("outcome"), channel, by_button, started.caller, directed, person
    )
    return SessionMeta(**started.model_dump(exclude={"type"}), **known, labels=labels)
