"""The one workflow model. Both readers (official packages, our recipes) produce it; everything above this floor knows only it.

Names follow the official format where it has one (`Trigger`, `Action`, `Predicate` ...), so that a package's parts parse into these classes
as they are; what only our recipes can say has a default that leaves official behaviour unchanged. Nothing here reads files or runs anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from apex_tui.timeline.caller_facts import FloorAction, SpeechAct
from apex_tui.timeline.work_facts import Lifecycle

HEDGE = "hedge"
"""Source of what a caller reveals by a vague first answer: that it was given, and no value."""
UNCORRECTED = "-uncorrected"
"""Ends the id of a workflow's twin, whose caller says the final values at once and corrects nothing."""
LIFECYCLE: tuple[Lifecycle, ...] = ("EMPTY", "PARTIAL", "DRAFT", "READY_FOR_REVIEW", "APPROVED", "COMMITTED")
Grader = Literal[
    "exact", "casefold_exact", "normalized_phone", "normalized_date", "normalized_address", "enum", "numeric_tolerance", "set_exact",
    "set_f1", "set_precision", "set_recall", "ordered_list", "interval_overlap", "semantic", "claim_atoms",
]  # fmt: skip
ToolClass = Literal[
    "read_only", "retrieval", "state_changing", "reversible_draft", "irreversible_commit", "user_mediated", "discoverable",
    "cross_application",
]  # fmt: skip
Handler = Literal[
    "kb_search", "get_entity", "update_artifact", "set_lifecycle", "request_approval", "commit", "verify_identity", "hand_over",
    "act",
]  # fmt: skip
Value = str | int | float | bool | None


def value_key(value: object) -> str:
    """Return a value as the key of ``Observer.forms``: numbers without a trailing ``.0`` (500.0 -> "500"), text as it is."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class Part(BaseModel):
    """A frozen part of a workflow; an unknown key is an error."""

    # Built when first used: a session needs the schemas of one format, not of both.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


# --- the caller ------------------------------------------------------------------------------------------------------------------------


class Reveal(Part):
    """When a fact may be spoken: any of these."""

    may_volunteer: bool = False
    agent_acts: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    on_state: tuple[str, ...] = ()


class CallerFact(Part):
    """Something that only the caller knows. ``field`` (ours): the ``artifact.field`` that it fills."""

    id: str
    value: Any
    source: str = "task_fixture"
    visibility: Literal["private_user", "public"] = "private_user"
    truth_status: bool = True
    criticality: Literal["required", "optional", "distractor"] = "required"
    supersedes: str | None = None
    reveal: Reveal = Reveal()
    field: str | None = None


class Trigger(Part):
    """Every populated field must match; an empty trigger always matches. ``facts_revealed`` and ``events_done`` are ours."""

    agent_act: str | None = None
    tool_call: str | None = None
    tool_result: str | None = None
    artifact_mutation: str | None = None
    commit_attempt: str | None = None
    approval_request: str | None = None
    world_predicate: str | None = None
    external_event: str | None = None
    media_time_ms_gte: float | None = None
    agent_speech_continuous_ms_gte: float | None = None
    repetition_count_gte: int | None = None
    fact_unrevealed: str | None = None
    committed: str | None = None
    """Ours: a commit of this action was authorised and completed."""
    events_done: tuple[str, ...] = ()
    """Ours: all of these scripted events have been delivered."""


class Action(Part):
    """What the caller says: an act, the plan whose wording is spoken, the facts it reveals, and how it takes the floor."""

    act: SpeechAct
    facts: tuple[str, ...] = ()
    floor_action: FloorAction = "AFTER_FLOOR_RELEASE"
    urgency: str = "normal"
    event_id: str | None = None
    plan_id: str | None = None
    style: dict[str, Any] = {}
    approves: str | None = None
    """Ours: the action type that this utterance approves."""
    revokes: str | None = None
    """Ours: the action type whose approvals and pending requests this utterance takes back."""


class Transition(Part):
    """``when`` matches: say ``do`` (if any) and go to ``next``."""

    when: Trigger
    do: Action | None = None
    next: str


class State(Part):
    """A state of the dialogue."""

    on_enter: Action | None = None
    transitions: tuple[Transition, ...] = ()
    terminal: bool = False


class Flow(Part):
    """The dialogue as a state machine."""

    start: str = "START"
    states: dict[str, State]


class ScriptedEvent(Part):
    """A change that the script brings into the call: a correction, a revocation, news from the world."""

    id: str
    type: str
    criticality: str = "task_critical"
    trigger: Trigger = Trigger()
    also: tuple[Trigger, ...] = ()
    """Ours: further triggers, any of which arms the event as well."""
    start_window_ms: tuple[int, int] | None = None
    """Intended onset, in played ms of the agent's reply; the seed picks the point."""
    delivery: FloorAction = "AFTER_FLOOR_RELEASE"
    expected_floor_action: str | None = None
    max_stop_latency_ms: int | None = None
    fact_updates: dict[str, Any] = {}
    expected_repairs: tuple[str, ...] = ()
    world_updates: dict[str, Any] = {}
    forbidden_tool_commits: tuple[str, ...] = ()
    sql: tuple[str, ...] = ()
    """Ours: what it does to the session's records, as one transaction."""


class Variant(Part):
    """One frozen wording. ``text`` may hold pause marks (``<pause 2.0s>``); they are silence in the audio, not words."""

    variant_id: str
    text: str
    expressed_fact_ids: tuple[str, ...] = ()
    compiler: dict[str, Any] = {}
    checksum: str | None = None


class Wording(Part):
    """All wordings of one plan, in file order (the official hash picks by index)."""

    user_plan_id: str
    speech_act: SpeechAct | None = None
    variants: tuple[Variant, ...]


class CallerProfile(Part):
    """Who calls. Times in ms; the gap before a reply is drawn by seed from ``gap_ms``."""

    voice: str = "am_michael"
    profile: str = "COOPERATIVE_STANDARD"
    goal: str = ""
    gap_ms: tuple[int, int] = (350, 800)
    patience_ms: int = 6000
    """Silence of the agent after which the caller asks what is needed (at most ``nudges`` times, then hangs up)."""
    nudges: int = 3


# --- how agents are read ---------------------------------------------------------------------------------------------------------------


class ActPattern(Part):
    """A regular expression over the agent's words; every match is one act."""

    act: str
    pattern: str
    field: str | None = None


class Observer(Part):
    """How the agent's words and calls are read. ``lexicon`` (ours): field -> phrases that name it, for lexical matching of questions and
    read-backs; ``values``: field -> spoken forms of its current values, which tell a read-back from a question.
    """

    patterns: tuple[ActPattern, ...] = ()
    tool_act_map: dict[str, str] = {}
    lexicon: dict[str, tuple[str, ...]] = {}
    values: dict[str, tuple[str, ...]] = {}
    forms: dict[str, dict[str, tuple[str, ...]]] = {}
    """Ours: field -> value (as ``value_key`` writes it) -> its spoken and written forms; superseded values and likely mishearings included."""


# --- the workbench ---------------------------------------------------------------------------------------------------------------------


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


# --- what counts as done ---------------------------------------------------------------------------------------------------------------


class Predicate(Part):
    """A check on the final state or the log; kinds as in the official format."""

    id: str
    kind: str
    args: dict[str, Any] = {}
    description: str = ""


class Gate(Part):
    """A critical gate: the predicate must (or must not) hold."""

    id: str
    predicate: Predicate
    must_hold: bool = True


class Precedence(Part):
    """``before`` must have happened earlier than ``after`` (tool names)."""

    before: str
    after: str


class Claim(Part):
    """A claim that only a semantic judge could check: reported as ungraded."""

    id: str
    proposition: str = ""
    source_fact: str | None = None


class GoldField(Part):
    """What a field must hold."""

    field: str
    expected: Any = None
    grader: Grader = "exact"
    required: bool = False
    tolerance: float | None = None


class ArtifactExpectation(Part):
    """What an artifact must be at the end."""

    artifact_id: str
    artifact_type: str = "GENERIC"
    lifecycle_min: Lifecycle | None = None
    fields: tuple[GoldField, ...] = ()
    must_not_be_stale: tuple[str, ...] = ()
    required_claims: tuple[Claim, ...] = ()
    forbidden_claims: tuple[Claim, ...] = ()
    required_caveats: tuple[Claim, ...] = ()


class Gold(Part):
    """The right end."""

    terminal_state: tuple[Predicate, ...] = ()
    alternate_terminal_states: tuple[tuple[Predicate, ...], ...] = ()
    required_actions: tuple[Predicate, ...] = ()
    required_evidence: tuple[Predicate, ...] = ()
    forbidden: tuple[Predicate, ...] = ()
    critical_gates: tuple[Gate, ...] = ()
    precedence: tuple[Precedence, ...] = ()
    artifact_expectations: tuple[ArtifactExpectation, ...] = ()


class Step(Part):
    """One step of the reference solution: words, or a tool call, in order. ``clip``: id of the rendered line."""

    say: str | None = None
    clip: str | None = None
    call: str | None = None
    args: dict[str, Any] = {}
    background: bool = False
    """The call is not waited for: the conversation goes on while it runs."""
    wait: str | None = None
    """A tool that was called so, whose result is needed from here on; ``say`` holds the line when it has not come yet."""


class ReferenceTurn(Part):
    """What the reference agent does when it has heard ``after`` (a plan id); None: in file order, one turn per caller turn."""

    after: str | None = None
    steps: tuple[Step, ...] = ()
    end_call: bool = False


class Reference(Part):
    """A solution that reaches the gold outcome. ``agent_voice`` speaks its lines."""

    turns: tuple[ReferenceTurn, ...] = ()
    agent_voice: str = "heart"
    spare: tuple[Step, ...] = ()
    """Lines of no turn: what a scripted agent says to fill a wait, or with a value that no longer holds."""

    @property
    def calls(self) -> int:
        """Number of tool calls of the solution."""
        return sum(1 for turn in self.turns for step in turn.steps if step.call)


class _Place:
    """Where a workflow was read from. Any two are equal: it is no part of what the workflow is."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place)


class Workflow(Part):
    """A whole workflow. ``digest`` of a loaded one is over its canonical JSON (see ``workflow.snapshot``)."""

    schema_version: int = 1
    id: str
    version: str = "1.0.0"
    title: str
    summary: str = ""
    source: Literal["recipe", "official"]
    archetype: str
    profession: str = ""
    industry: str = ""
    economic_function: str = ""
    primary_artifact: str | None = None
    risk_tier: str = "R0_ROUTINE"
    knowledge_burden: str = "K0_NONE"
    tool_burden: str = "T0_NONE"
    delegation_patterns: tuple[str, ...] = ()
    duplex_events: tuple[str, ...] = ()
    temporal_dynamics: str = "D0_STATIC"
    time_budget_s: int = 720
    condition: str = "C2"
    track: str = "FROZEN_SYNTHETIC"
    locale: str = "en-US"
    autonomy: Autonomy = Autonomy()
    caller: CallerProfile = CallerProfile()
    facts: tuple[CallerFact, ...] = ()
    flow: Flow
    events: tuple[ScriptedEvent, ...] = ()
    wordings: tuple[Wording, ...] = ()
    observer: Observer = Observer()
    artifacts: dict[str, ArtifactSpec] = {}
    tools: tuple[ToolSpec, ...] = ()
    documents: tuple[Document, ...] = ()
    world: dict[str, Any] = {}
    latent_world: dict[str, Any] = {}
    recorded: bool = False
    """Ours: the caller speaks in recordings of a person, of which a line may have one only."""
    records: dict[str, RecordTable] = {}
    """Ours: tables of an SQLite file in the session's folder, which tools read and change."""
    gold: Gold
    reference: Reference = Reference()

    _place: _Place = PrivateAttr(default=_Place())

    @property
    def folder(self) -> Path | None:
        """Where speech of its own lies on this machine: an official package, or what was recorded for a recipe. No part of the workflow, nor of
        its digest.
        """
        return self._place.folder

    def found_in(self, folder: Path) -> Self:
        """The same workflow, knowing its folder."""
        placed = self.model_copy()
        placed._place = _Place(folder)
        return placed

    @property
    def bank(self) -> str:
        """The folder of the speech bank: an uncorrected twin speaks from the one of its workflow."""
        return self.id.removesuffix(UNCORRECTED)

    @property
    def scenario_id(self) -> str:
        """Part of the wording choice: ``<id>@<version>:<condition>:<track>``."""
        return f"{self.id}@{self.version}:{self.condition}:{self.track}"

    def wording(self, plan: str) -> Wording | None:
        """The wordings of a plan (a later entry of the same plan replaces an earlier one)."""
        return next((w for w in reversed(self.wordings) if w.user_plan_id == plan), None)

    def tool(self, name: str) -> ToolSpec | None:
        """The tool of that name, or None."""
        return next((t for t in self.tools if t.name == name), None)

    def fact(self, name: str) -> CallerFact | None:
        """The fact of that id, or None."""
        return next((f for f in self.facts if f.id == name), None)

    def event(self, name: str) -> ScriptedEvent | None:
        """The scripted event of that id, or None."""
        return next((e for e in self.events if e.id == name), None)
