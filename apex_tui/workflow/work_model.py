"""The work of a workflow: artifacts and their fields, tools, tables, documents, and what the agent may do unasked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from apex_tui.timeline.work_facts import Lifecycle
from apex_tui.workflow.part import Grader, Part

LIFECYCLE: tuple[Lifecycle, ...] = ("EMPTY", "PARTIAL", "DRAFT", "READY_FOR_REVIEW", "APPROVED", "COMMITTED")
ToolClass = Literal[
    "read_only", "retrieval", "state_changing", "reversible_draft", "irreversible_commit", "user_mediated", "discoverable",
    "cross_application",
]  # fmt: skip
Handler = Literal[
    "kb_search", "get_entity", "update_artifact", "set_lifecycle", "request_approval", "commit", "verify_identity", "hand_over",
    "act",
]  # fmt: skip


class FieldSpec(Part):
    """One field of an artifact. ``dependents`` become stale when it is written. ``critical``: amounts, dates, identifiers."""

    name: str
    type: str = "string"
    grader: Grader = "exact"
    required: bool = False
    enum: tuple[str, ...] | None = None
    tolerance: float | None = None
    dependents: tuple[str, ...] = ()
    description: str = ""
    critical: bool = False
    protected: bool = False
    """May not be read or spoken before identity was verified."""


class ArtifactSchema(Part):
    """Declared shape of an artifact."""

    artifact_type: str
    fields: tuple[FieldSpec, ...] = ()
    lifecycle: tuple[Lifecycle, ...] = ("DRAFT", "READY_FOR_REVIEW")

    def field(self, name: str) -> FieldSpec | None:
        """The field of that name, or None."""
        return next((f for f in self.fields if f.name == name), None)


class ArtifactSpec(Part):
    """An artifact as the session begins with it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
    artifact_type: str = "GENERIC"
    lifecycle: Lifecycle = "EMPTY"
    fields: dict[str, Any] = {}
    shape: ArtifactSchema | None = Field(default=None, alias="schema")


class ToolParam(Part):
    """One parameter of a tool."""

    name: str
    type: str
    required: bool = True
    description: str = ""
    enum: tuple[Any, ...] | None = None


class Latency(Part):
    """Declared duration of a tool, in ms of media time; jitter is drawn by seed."""

    base_ms: int = 0
    jitter_ms: int = 0
    stress_multiplier: float = 1.0


class ToolSpec(Part):
    """A tool of the workbench."""

    name: str
    tool_class: ToolClass = "read_only"
    description: str = ""
    params: tuple[ToolParam, ...] = ()
    returns: str = "object"
    permissions: tuple[str, ...] = ()
    required_authority: tuple[str, ...] = ()
    required_evidence: tuple[str, ...] = ()
    emits_events: tuple[str, ...] = ()
    latency: Latency = Latency()
    idempotent: bool = True
    reversible: bool = True
    commit_action_type: str | None = None
    commit_target_param: str | None = None
    discoverable: bool = False
    handler: Handler | None = None
    effect: dict[str, Any] = {}
    needs_identity: bool = False
    """Ours: refused with a structured error until identity was verified."""

    @property
    def commits(self) -> bool:
        """Whether a successful call commits something."""
        return self.handler == "commit" or (self.handler is None and self.tool_class == "irreversible_commit")


class RecordTable(Part):
    """A table of the session's records. ``key``: the column that names a row; the rows lie in the world, ``records.<table>.<key>``."""

    key: str
    columns: dict[str, Literal["text", "integer", "real"]]


class Document(Part):
    """A document that can be searched. ``gold``: needed; ``distractor``: near, and of no use."""

    doc_id: str
    title: str
    text: str = ""
    words: tuple[str, ...] = ()
    """What else it is found by."""
    gold: bool = False
    distractor: bool = False


class Autonomy(Part):
    """What the agent may do alone."""

    level: str = "A0_PREPARE_ONLY"
    approval_required_for: tuple[str, ...] = ()
