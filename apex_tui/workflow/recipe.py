"""Our one-file recipe, as a schema: what an author states, once.

In here: the shape of ``apex_tui/workflows/<archetype>/<id>.yaml``. Deliberately not in here: whether names in it exist (``rules``), and what is
derived from it (``compile``): flow, tool schemas, gold predicates and the reference solution are never written by hand.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from apex_tui.timeline.caller_facts import SpeechAct
from apex_tui.timeline.work_facts import Lifecycle
from apex_tui.workflow.caller_model import Trigger
from apex_tui.workflow.forms import Kind
from apex_tui.workflow.lines import mark_fault
from apex_tui.workflow.part import Grader, Part, Value
from apex_tui.workflow.taxonomy import (
    Archetype,
    ArtifactClass,
    AutonomyLevel,
    Delegation,
    Dynamics,
    KnowledgeBurden,
    Profile,
    Risk,
    ToolBurden,
)  # fmt: skip

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
"""A key of an author's: it becomes part of plan, event and clip ids."""
Window = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]
Wordings = Annotated[tuple[str, ...], Field(min_length=1, max_length=9)]
"""Two or more ways to say the same; the seed picks one. A recorded caller has one, or more."""


Statements = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
"""SQL: one statement, or several in order."""


class Spoken(Part):
    """Anything that the caller says: two or more wordings, with pause marks where the caller pauses."""

    say: Wordings

    @model_validator(mode="after")
    def _speakable(self) -> Self:
        for text in self.say:
            if fault := mark_fault(text):
                raise ValueError(f"say: {text!r} has {fault}")
        return self


class Opening(Spoken):
    """The first thing that the caller says. ``reveals``: facts (by key) that it states already."""

    reveals: tuple[Name, ...] = ()


class RecipeCaller(Part):
    """Who calls, and what is said around the facts."""

    voice: str
    profile: Profile = "COOPERATIVE_STANDARD"
    goal: str
    gap_ms: Window = (350, 800)
    patience_ms: int = Field(default=6000, ge=1000)
    nudges: int = Field(default=3, ge=0)
    opening: Opening
    yes: Spoken = Spoken(say=("Yes, that's right.", "That's right, yes."))
    nudge: Spoken = Spoken(say=("Hello? What do you need from me?", "Are you still there? What do you need from me?"))
    goodbye: Spoken


class Computed(Part):
    """A field that follows from others: a function of ``workflow.computed`` and where its arguments come from.

    An argument is a field's name, a path ``world.a.b``, or a literal number.
    """

    function: str
    args: dict[str, str | int | float] = {}


class Topic(Part):
    """Something that can be asked or told. ``names``: phrases that name it; ``asked``: more ways to ask for it, with ``..``
    for up to five words and ``|`` between words of which one is said; ``said``: value -> how it is said, beyond what is derived.
    """

    type: Kind = "text"
    names: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    said: dict[str, tuple[str, ...]] = {}
    misheard: tuple[Value, ...] = ()
    """Values that it is easily taken for; reading one back is a misreading."""
    description: str = ""


class RecipeField(Topic):
    """One field of the artifact. ``critical``: amounts, dates, identifiers; ``protected``: not to be spoken before identity was verified."""

    critical: bool = False
    protected: bool = False
    grader: Grader | None = None
    """Left out: what fits the type."""
    tolerance: float | None = None
    required: bool = True
    enum: tuple[str, ...] | None = None
    dependents: tuple[Name, ...] = ()
    """Fields that become stale when this one is written, beyond those that are computed from it."""
    computed: Computed | None = None


class RecipeArtifact(Part):
    """The artifact that the work is about."""

    id: Name
    type: ArtifactClass
    fields: dict[Name, RecipeField] = Field(min_length=1)


class RecipeDocument(Part):
    """A document: ``gold`` (must be found) or ``distractor`` (near, and of no use here). ``words``: what else people of the trade search it by;
    they are not shown.
    """

    title: str
    text: str
    words: tuple[str, ...] = ()
    use: Literal["gold", "distractor"]


class RecipeTable(Part):
    """A table of the records, an SQLite file of the session: column -> type, and the rows that it begins with, in the order of the columns.

    ``key`` is the column that names a row; the outcome speaks of ``<table>.<key>``.
    """

    key: Name
    columns: dict[Name, Literal["text", "integer", "real"]] = Field(min_length=1)
    rows: tuple[tuple[Value, ...], ...] = Field(default=(), max_length=200)


class RecipeParam(Part):
    """An argument of a query or an act."""

    type: Kind = "text"
    description: str = ""
    enum: tuple[str, ...] | None = None
    required: bool = True


class RecipeTool(Part):
    """A tool, by what it is for; parameters and results follow from ``kind``.

    search: documents. lookup: one entry of the world, named by its key (``subject`` says what that key is). query: reads the records by
    ``sql``, with ``params``. act: changes the records by ``sql`` without approval. update: writes the artifact, or only the ``fields``
    named, and with ``sql`` the records. identity: compares what the caller tells (``match``: topic -> world path). approval: asks for a
    commit. ready: marks the artifact as ready for review. hand_over: gives the call to a person (every recipe has one; stated and
    ``required``, it is the right end). commit: ``sets`` fields and ``world`` paths, and runs ``sql``, when it is authorised.

    ``sql``: one statement or several, run as one transaction. Of a query or an act ``:name`` is a param, of an update or a commit a
    field of the artifact as it is then. A statement that changes no row undoes all, and ``refusal`` says what that means.
    """

    kind: Literal["search", "lookup", "query", "act", "update", "identity", "approval", "ready", "commit", "hand_over"]
    description: str
    params: dict[Name, RecipeParam] = {}
    fields: tuple[Name, ...] = ()
    sql: Statements = ()
    refusal: str = ""
    fails: Annotated[int, Field(ge=0, le=3)] = 0
    """How many of its first calls fail, as a system that does not answer would make them."""
    latency_ms: Annotated[int, Field(ge=0)] = 0
    jitter_ms: Annotated[int, Field(ge=0)] = 0
    subject: str = ""
    needs_identity: bool = False
    required: bool = False
    """A successful call belongs to the outcome."""
    match: dict[Name, str] = {}
    sets: dict[Name, Value] = {}
    world: dict[str, Value] = {}


class RecipeStep(Part):
    """One step of the reference agent beyond the derived ones: words, a call, or fields to write. ``{field}`` stands for the value then.

    A call in the ``background`` is made with the words that follow, and the call goes on while it runs; ``wait`` names its tool where the
    result is needed, and ``say`` is what bridges the rest of the wait, if there is any.
    """

    say: str | None = None
    call: str | None = None
    background: bool = False
    args: dict[str, Any] = {}
    write: tuple[Name, ...] = ()
    wait: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (
            sum(
                (
                    self.say is not None and self.wait is None,
                    self.call is not None,
                    bool(self.write),
                    self.wait is not None,
                )
            )
            != 1
        ):
            raise ValueError("a step needs one of say, call, write and wait")
        if self.background and self.call is None:
            raise ValueError("background belongs to a call")
        if self.say is not None and (fault := mark_fault(self.say)):
            raise ValueError(f"say: {self.say!r} has {fault}")
        return self


class Hedge(Spoken):
    """A first answer that tells nothing: the caller is unsure, reluctant or vague. ``ask``: how the reference agent gets to the value."""

    ask: str
    then: tuple[RecipeStep, ...] = ()
    """What the reference agent does before it asks again."""


class RecipeFact(Spoken):
    """What only the caller knows: the value of one or more fields or topics, told in one utterance when one of them is asked for."""

    fills: dict[Name, Value] = Field(min_length=1)
    ask: str
    """How the reference agent asks for it."""
    hedge: Hedge | None = None
    """What the caller says when it is first asked for."""
    after: Name | None = None
    """A fact before it, which answers a question for this one as long as it was not told: a second choice is told after the first."""
    plan: Name | None = None
    """Id of the plan that tells it; left out: ``ans_`` and its key."""
    then: tuple[RecipeStep, ...] = ()
    """What the reference agent does next, before it asks for the following fact."""


class Correction(Spoken):
    """The caller changes something while the agent reads it back. ``again``: how each changed fact is told from then on.

    Corrections come in file order. ``after``: the fact or the approval after which the reference meets it; left out: the read-back.
    """

    early: tuple[str, ...] = ()
    """How it is said as long as nothing stands in prospect that the other wordings would stop (``don't book it yet``): some of ``say``, or others."""
    changes: dict[Name, Value] = Field(min_length=1)
    after: Name | None = None
    when: tuple[str, ...] = Field(min_length=1)
    """Agent acts that bring it about, e.g. ``CONFIRM:start_date``; a request for the last approval always does as well."""
    onset_ms: Window
    again: dict[Name, Wordings]
    revokes: Name | None = None
    """Action whose approval, given or asked for, is taken back by it."""
    then: tuple[RecipeStep, ...] = ()
    """What the reference agent looks up again."""


class BackChannel(Spoken):
    """A sound of listening that claims no floor."""

    when: Trigger
    onset_ms: Window


class Approval(Spoken):
    """The yes to a request for approval of ``action`` (a commit tool).

    The last one ends the work. One on the way names the fact ``after`` which the reference asks for it, with ``ask``, and what it does
    ``then``, when the action is done.
    """

    action: Name
    after: Name | None = None
    ask: str = ""
    doing: str = ""
    """What the reference says while the action runs."""
    then: tuple[RecipeStep, ...] = ()


class FollowThrough(Part):
    """Something that happens in the world, and what the caller says about it, if anything."""

    when: Trigger
    world: dict[str, Value] = {}
    sql: Statements = ()
    act: SpeechAct = "ASK"
    say: Annotated[tuple[str, ...], Field(max_length=9)] = ()


class RecipeAgent(Part):
    """Lines of the reference agent that are no questions. ``{field}`` is spoken as people say the value."""

    voice: str = "heart"
    opening: str
    before_read_back: tuple[RecipeStep, ...] = ()
    """Lookups that the computed fields need."""
    read_back: str
    """Reads the values back before approval is asked for; long enough to be interrupted."""
    confirm: str
    """Reads back what is to be approved, and asks. Without an approval: asks whether all is right."""
    again: str = "That didn't go through. Let me try once more."
    """Said when a tool fails, before it is called again."""
    ending: tuple[RecipeStep, ...] = ()
    """Where nothing is to be approved: what it does when the caller has said that all is right."""
    closing: str


class Outcome(Part):
    """The right end: stated on its own, and checked against what facts, corrections and computed fields give.

    ``records``: ``<table>.<key>`` -> columns of that row, or null: there is no such row.
    """

    lifecycle: Lifecycle = "COMMITTED"
    fields: dict[Name, Value] = Field(min_length=1)
    records: dict[str, dict[Name, Value] | None] = {}


class Recipe(Part):
    """A whole recipe."""

    schema_version: Literal[1] = 1
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    version: str = "1.0.0"
    title: str
    summary: str
    archetype: Archetype
    profession: str = ""
    industry: str = "horizontal_enterprise"
    economic_function: str = ""
    risk_tier: Risk = "R0_ROUTINE"
    knowledge_burden: KnowledgeBurden = "K0_NONE"
    tool_burden: ToolBurden = "T0_NONE"
    autonomy: AutonomyLevel = "A3_APPROVAL_GATED_COMMIT"
    delegation_patterns: tuple[Delegation, ...] = ()
    temporal_dynamics: Dynamics = "D0_STATIC"
    time_budget_s: int = Field(default=720, gt=0)
    locale: str = "en-US"
    speech: Literal["rendered", "recorded"] = "rendered"
    """``recorded``: the caller is a person whose clips lie beside the recipe; each line may have one wording only."""
    caller: RecipeCaller
    world: dict[str, Any] = {}
    artifact: RecipeArtifact
    topics: dict[Name, Topic] = {}
    """What is asked and told without being a field of the artifact, e.g. for an identity check."""
    documents: dict[Name, RecipeDocument] = {}
    tools: dict[Name, RecipeTool]
    facts: dict[Name, RecipeFact] = Field(min_length=1)
    """In the order in which the reference agent asks."""
    corrections: dict[Name, Correction] = {}
    backchannels: dict[Name, BackChannel] = {}
    records: dict[Name, RecipeTable] = {}
    approval: Annotated[
        tuple[Approval, ...], BeforeValidator(lambda given: (given,) if isinstance(given, dict) else given)
    ] = ()
    """One, or several in the order in which they are asked for; none: nothing is committed."""
    follow_through: dict[Name, FollowThrough] = {}
    agent: RecipeAgent
    outcome: Outcome

    @property
    def action(self) -> str | None:
        """The commit that ends the work, or None: nothing is committed, or only on the way."""
        return self.approval[-1].action if self.approval and self.approval[-1].after is None else None

    def topic(self, name: str) -> Topic | None:
        """The artifact's field or the topic of that name, or None."""
        return self.artifact.fields.get(name) or self.topics.get(name)

    def telling(self, name: str) -> str | None:
        """Key of the fact that tells a field or topic, or None."""
        return next((key for key, fact in self.facts.items() if name in fact.fills), None)

    def tools_of(self, kind: str) -> list[str]:
        """Names of the tools of a kind."""
        return [name for name, tool in self.tools.items() if tool.kind == kind]
