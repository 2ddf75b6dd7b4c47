"""Facts about the work: tools, artifact versions, authority, knowledge, world."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from apex_tui.timeline.base import Fact, Json, Ms

Decision = Literal["AUTHORIZED", "PREMATURE", "POST_REVOCATION", "WRONG_SCOPE", "STALE_APPROVAL", "ALREADY_USED"]
Lifecycle = Literal["EMPTY", "PARTIAL", "DRAFT", "READY_FOR_REVIEW", "APPROVED", "COMMITTED"]


class ToolCalled(Fact):
    """The agent asked for a tool. ``arguments`` is as sent (bounded); ``error`` is set when it was refused at the door."""

    actor = "agent"
    type: Literal["tool.called"] = "tool.called"
    call: str
    name: str
    arguments: Json
    reply: str | None = None
    after_interruption: bool = False
    """It belongs to a reply that was cut off."""
    error: str | None = None
    source: Literal["wire", "mcp"] = "wire"
    """How it came: over the agent's own connection, or from an agent that mounted the tools over MCP (which names no reply)."""


class ToolsMounted(Fact):
    """A client has mounted the tools over MCP: it asked for their list. ``client`` is what it calls itself."""

    actor = "agent"
    type: Literal["tools.mounted"] = "tools.mounted"
    client: str
    protocol: str
    tools: int


class ToolFinished(Fact):
    """A tool ended. Effects happen at this moment; ``latency_ms`` is media time since the call."""

    actor = "environment"
    type: Literal["tool.finished"] = "tool.finished"
    call: str
    name: str
    ok: bool
    result: Json | None = None
    error: str | None = None
    hint: str | None = None
    decision: Decision | None = None
    latency_ms: float


class ToolCancelled(Fact):
    """A running tool was cancelled before it had an effect."""

    actor = "environment"
    type: Literal["tool.cancelled"] = "tool.cancelled"
    call: str
    name: str
    reason: str


class FieldChange(BaseModel):
    """One field of a new version: what it replaced. Part of `ArtifactVersion`, not an event of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    field: str
    old: Any = None
    new: Any = None
    kind: Literal["added", "changed", "removed", "same"]


class ArtifactVersion(Fact):
    """A new immutable version. ``fields`` is the whole content, ``stale`` the fields that no longer hold, with their cause."""

    actor = "environment"
    type: Literal["artifact.version"] = "artifact.version"
    artifact: str
    version: int
    digest: str
    author: Literal["agent", "environment", "caller", "operator"]
    call: str | None = None
    lifecycle: Lifecycle
    fields: dict[str, Any]
    changes: tuple[FieldChange, ...] = ()
    stale: dict[str, str] = {}
    """Field -> why it is stale (after this version)."""
    source: str | None = None
    """The probe that saw it in the agent's own backend; None: a tool of ours wrote it. What wrote a seen version is not known."""
    since_ms: Ms | None = None
    """Of a seen version: the former content was still there at this time, so the change lies between it and the event's own position."""


class ArtifactStale(Fact):
    """Fields of the current version stopped being true, without a new version. ``fields``: every stale field and its cause."""

    actor = "environment"
    type: Literal["artifact.stale"] = "artifact.stale"
    artifact: str
    version: int
    fields: dict[str, str]
    since_ms: Ms


class ApprovalRequested(Fact):
    """The agent asked for approval of exactly (action, target, version read back, digest)."""

    actor = "agent"
    type: Literal["approval.requested"] = "approval.requested"
    request: str
    action: str
    target: str
    artifact: str | None
    version: int | None
    digest: str | None
    call: str | None = None


class ApprovalGranted(Fact):
    """The caller approved one request; it dates from the audible onset of the words."""

    actor = "caller"
    type: Literal["approval.granted"] = "approval.granted"
    approval: str
    request: str
    action: str
    target: str
    artifact: str | None
    version: int | None
    digest: str | None
    turn: int | None = None
    granted_ms: Ms
    flags: tuple[str, ...] = ()


class ApprovalDenied(Fact):
    """The caller refused a pending request."""

    actor = "caller"
    type: Literal["approval.denied"] = "approval.denied"
    request: str
    action: str
    target: str
    at_ms: Ms


class ApprovalRevoked(Fact):
    """The caller took back approvals and pending requests of an action, from the audible onset of the words."""

    actor = "caller"
    type: Literal["approval.revoked"] = "approval.revoked"
    action: str
    target: str | None
    approvals: tuple[str, ...]
    requests: tuple[str, ...]
    turn: int | None = None
    revoked_ms: Ms


class ApprovalStale(Fact):
    """A later write changed what an approval covers; a commit under it will be refused."""

    actor = "environment"
    type: Literal["approval.stale"] = "approval.stale"
    approval: str
    covers: int
    now: int
    differs: tuple[str, ...]


class CommitDecided(Fact):
    """The guard's decision on a commit, at the call and again at completion."""

    actor = "environment"
    type: Literal["commit.decided"] = "commit.decided"
    call: str
    action: str
    target: str
    decision: Decision
    at: Literal["call", "completion"]
    artifact: str | None = None
    version: int | None = None
    approval: str | None = None
    """The approval that covers it; consumed when ``at`` is completion and the decision is AUTHORIZED."""
    why: str = ""


class WorldChanged(Fact):
    """One path of the world's state changed."""

    actor = "environment"
    type: Literal["world.changed"] = "world.changed"
    path: str
    old: Any = None
    new: Any = None
    cause: str


class KnowledgeSearched(Fact):
    """A search of the documents, with the ids it returned."""

    actor = "environment"
    type: Literal["knowledge.searched"] = "knowledge.searched"
    call: str
    query: str
    hits: tuple[str, ...]
