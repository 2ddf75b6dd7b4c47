"""The caller of a workflow - what they know, when they say it, and how they go on - and how the agent's words to them are read."""

from __future__ import annotations

from typing import Any, Literal

from apex_tui.timeline.caller_facts import FloorAction, SpeechAct
from apex_tui.workflow.part import Part

HEDGE = "hedge"
"""Source of what a caller reveals by a vague first answer: that it was given, and no value."""


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
    fits: Literal["any", "early", "late"] = "any"
    """Ours: a correction is worded otherwise as long as what it would stop is not in prospect (``early``) than when it is (``late``)."""


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
    asked: dict[str, tuple[str, ...]] = {}
    """Ours: field -> other ways to ask for it, which name nothing elsewhere; ``..``: up to five words, ``|``: either word."""
    values: dict[str, tuple[str, ...]] = {}
    forms: dict[str, dict[str, tuple[str, ...]]] = {}
    """Ours: field -> value (as ``value_key`` writes it) -> its spoken and written forms; superseded values and likely mishearings included."""
