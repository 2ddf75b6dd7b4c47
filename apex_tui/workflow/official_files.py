"""The files of an official package that have no counterpart in our model, as schemas.

In here: shapes, defaults and enumerations of ``task.yaml``, ``taxonomy.yaml``, ``user_state.yaml`` and their like, as the format declares them.
Deliberately not in here: reading them, and the parts (flow, events, tools, gold) that our own model classes describe already.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from apex_tui.workflow.caller_model import CallerFact, ScriptedEvent  # fmt: skip
from apex_tui.workflow.part import Part  # fmt: skip
from apex_tui.workflow.taxonomy import (
    Archetype,
    ArtifactClass,
    AutonomyLevel,
    Condition,
    Delegation,
    Dynamics,
    GradingMode,
    KnowledgeBurden,
    Origin,
    Phenomenon,
    Profile,
    Risk,
    ToolBurden,
    Track,
)
from apex_tui.workflow.work_model import ArtifactSpec, ToolSpec  # fmt: skip


class TaskAutonomy(Part):
    """``autonomy`` of ``task.yaml``."""

    level: AutonomyLevel = "A0_PREPARE_ONLY"
    approval_required_for: tuple[str, ...] = ()


class TaskScoring(Part):
    """``scoring`` of ``task.yaml``; declared by the format and read by nothing (the gates of the gold file count)."""

    primary: str = "professional_task_success"
    critical_gates: tuple[str, ...] = ()


class TaskFile(Part):
    """``task.yaml``: what the task is, and where its other files lie."""

    id: str
    version: str = "1.0.0"
    title: str
    archetype: Archetype
    profession: str = ""
    industry: str = ""
    risk_tier: Risk = "R0_ROUTINE"
    voice_native: bool = True
    duplex_native: bool = False
    time_budget_s: int = 720
    conditions: tuple[Condition, ...] = ("C0",)
    taxonomy: str = "taxonomy.yaml"
    initial_state: str = "initial_state.json"
    user_program: str = "user/flow.yaml"
    user_state: str = "user/user_state.yaml"
    reveal_graph: str = "user/reveal_graph.yaml"
    event_program: str = "user/events.yaml"
    persona: str = "user/persona.yaml"
    realization_bank: str = "user/realization_bank.jsonl"
    audio_manifest: str = "user/audio_manifest.json"
    knowledge_dir: str = "knowledge/"
    tools: str = "tools/tool_spec.yaml"
    latent_world: str = "workspace/latent_world.json"
    initial_workspace: str = "workspace/initial_workspace.json"
    artifact_schemas_dir: str = "workspace/artifact_schemas/"
    gold_dir: str = "grading/"
    knowledge_load: Literal["none", "supplied", "search"] = "supplied"
    tool_load: Literal["none", "light", "moderate", "discoverable", "multi_app"] = "light"
    autonomy: TaskAutonomy = TaskAutonomy()
    scoring: TaskScoring = TaskScoring()


class Work(Part):
    """``professional_work`` of the taxonomy."""

    primary_archetype: Archetype
    secondary_archetypes: tuple[Archetype, ...] = ()
    economic_function: str
    industry_setting: str


class Interaction(Part):
    """``interaction`` of the taxonomy."""

    delegation_patterns: tuple[Delegation, ...] = ()
    user_profile: Profile = "COOPERATIVE_STANDARD"
    temporal_dynamics: Dynamics = "D0_STATIC"
    duplex_events: tuple[Phenomenon, ...] = ()


class Workspace(Part):
    """``workspace`` of the taxonomy."""

    primary_artifact: ArtifactClass | None = None
    secondary_artifacts: tuple[ArtifactClass, ...] = ()
    artifact_origin: Origin = "APEX_NATIVE"
    autonomy_level: AutonomyLevel = "A0_PREPARE_ONLY"
    artifact_optional: bool = False


class Knowledge(Part):
    """``knowledge`` of the taxonomy."""

    burden: KnowledgeBurden = "K0_NONE"
    tool_burden: ToolBurden = "T0_NONE"


class Grading(Part):
    """``grading`` of the taxonomy."""

    modes: tuple[GradingMode, ...] = ("G_STATE",)
    critical_gates: tuple[str, ...] = ()


class Difficulty(Part):
    """``difficulty`` of the taxonomy: counters, for description only."""

    required_fact_count: int = 0
    dependency_depth: int = 0
    ambiguity_count: int = 0
    correction_count: int = 0
    artifact_field_count: int = 0
    knowledge_doc_count: int = 0
    required_doc_count: int = 0
    tool_call_reference_count: int = 0
    consequential_commit_count: int = 0
    duplex_event_count: int = 0
    environment_change_count: int = 0
    number_of_valid_paths: int = 1
    conversation_target_minutes: float = 0.0


class PaperTags(Part):
    """``paper_tags`` of the taxonomy."""

    flagship: bool = False
    matched_core: bool = False
    human_audit: bool = False


class TaxonomyFile(Part):
    """``taxonomy.yaml``: the labels of the task."""

    task_id: str
    professional_work: Work
    interaction: Interaction = Interaction()
    workspace: Workspace = Workspace()
    knowledge: Knowledge = Knowledge()
    grading: Grading = Grading()
    conditions: tuple[Condition, ...] = ("C0",)
    risk_tier: Risk = "R0_ROUTINE"
    difficulty: Difficulty = Difficulty()
    user_realization_track: Track = "FROZEN_SYNTHETIC"
    paper_tags: PaperTags = PaperTags()


class UserDelegation(Part):
    """``delegation`` of the user state."""

    patterns: tuple[Delegation, ...] = ()
    user_outcome_request: str | None = None
    procedural_steps_revealed: bool = False


class ApprovalState(Part):
    """``approval_state`` of the user state; read by nothing."""

    pending_actions: tuple[str, ...] = ()
    active_tokens: tuple[str, ...] = ()
    revoked_tokens: tuple[str, ...] = ()


class UserStateFile(Part):
    """``user/user_state.yaml``: who calls, and what only the caller knows."""

    schema_version: int = 1
    user_id: str
    role: str = "user"
    profile: Profile = "COOPERATIVE_STANDARD"
    persona: dict[str, Any] = {}
    goals_primary: str | None = None
    goals_secondary: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    delegation: UserDelegation = UserDelegation()
    approval_state: ApprovalState = ApprovalState()
    facts: tuple[CallerFact, ...] = ()


class EventsFile(Part):
    """``user/events.yaml``."""

    events: tuple[ScriptedEvent, ...] = ()


class ToolsFile(Part):
    """``tools/tool_spec.yaml``."""

    tools: tuple[ToolSpec, ...] = ()


class WorkspaceFile(Part):
    """``workspace/initial_workspace.json``."""

    artifacts: dict[str, ArtifactSpec] = {}


class LatentWorldFile(Part):
    """``workspace/latent_world.json``; kept, and read by no runtime."""

    id: str
    seed: int = 0
    entities: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    policies: dict[str, Any] = {}
    authored_inconsistencies: tuple[str, ...] = ()


class ManifestDocument(Part):
    """A row of ``knowledge/manifest.json``; ``path`` is relative to the knowledge folder and wins over ``text``."""

    doc_id: str
    title: str | None = None
    text: str = ""
    path: str | None = None
    gold: bool = False
    distractor: bool = False


class KnowledgeFile(Part):
    """``knowledge/manifest.json``."""

    documents: tuple[ManifestDocument, ...] = ()


class PolicyCall(Part):
    """A tool call of the reference policy."""

    name: str
    args: dict[str, Any] = {}


class PolicyTurn(Part):
    """A turn of the reference policy: words first, then the calls in order."""

    text: str = ""
    tool_calls: tuple[PolicyCall, ...] = ()
    end_call: bool = False


class PolicyFile(Part):
    """``reference/policy.yaml``."""

    turns: tuple[PolicyTurn, ...] = ()


class Renderer(Part):
    """What rendered a source asset."""

    name: str
    version: str = "1.0"


class Provenance(Part):
    """Where an adapted asset comes from."""

    upstream_name: str | None = None
    upstream_asset_id: str | None = None
    license: str | None = None
    transformation: str | None = None


class SourceManifest(Part):
    """Provenance of one artifact's sources."""

    artifact_id: str
    origin: Origin = "APEX_NATIVE"
    latent_world_id: str | None = None
    renderer: Renderer | None = None
    seed: int = 0
    source_provenance: Provenance | None = None
    checksum: str | None = None
    planned_origin: str | None = None

    @model_validator(mode="after")
    def _traceable(self) -> Self:
        if self.origin == "APEX_NATIVE" and not self.latent_world_id:
            raise ValueError("a native asset needs latent_world_id")
        if self.origin == "ADAPTED_OPEN_ASSET":
            told = self.source_provenance.model_dump() if self.source_provenance else {}
            if not told or not all(told.values()):
                raise ValueError("an adapted asset needs upstream_name, upstream_asset_id, license and transformation")
        return self


class SourcesFile(Part):
    """``assets/inputs/artifact_source_manifest.yaml``."""

    manifests: tuple[SourceManifest, ...] = ()
