"""The shape of a table of results: what ``--json`` prints and every other form shows. No logic.

Every number stands with its ``n``; one that does not exist is None, never 0. Shares lie in 0..1; times are in ms and say so in their name.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

TABLE_VERSION = 1
HATCHED_UNDER = 5
"""A slice of fewer workflows is hatched: too few to compare."""
PERCENTILES_FROM = 20


class Shape(BaseModel):
    """A frozen part of a table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Share(Shape):
    """``hits`` of ``n``. The interval is Wilson's over sessions or events; absent below ten, and for shares of fields (those of one session
    are no independent observations).
    """

    hits: int
    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Mean(Shape):
    """A mean over ``n`` units (named by the field that holds it); the interval is bootstrapped over them, and absent below ten."""

    value: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None


class Spread(Shape):
    """Values of one number: the median always, p95 from 20 values. ``censored`` of them only say *at least this long*."""

    n: int = 0
    median: float | None = None
    p95: float | None = None
    censored: int = 0


class Corrections(Shape):
    """How well what the caller changed arrived, beside everything else (measures.md section 5)."""

    corrected: Share
    """Right among the fields that the caller corrected."""
    other: Share
    gap: float | None = None
    """Other minus corrected; confounded by how hard the fields are."""
    twin: Share | None = None
    """Right among the same fields in the uncorrected twins of the workflows."""
    twin_gap: float | None = None
    """Twin minus corrected, over the workflows whose twin was run: the cost of the correction itself."""
    linked: Share
    """Of the sessions that failed AV: those with a corrected field wrong."""
    uptake_ms: Spread = Spread()
    taken_up: int = 0
    anticipated: int = 0
    censored: int = 0


class Turns(Shape):
    """Who had the floor, and for how long nobody."""

    yielded: Share
    """Barge-ins over speech, observed to the end of their window, at which the agent provably yielded."""
    yielded_at_most: float | None = None
    """The same if every stop that nothing proves had been one; only where there are such."""
    silent_by_chance: Share
    """Of moments in replies that nobody interrupted: those after which the agent fell silent within the window all the same."""
    stop_kinds: dict[str, int] = {}
    stop_delay_ms: Spread = Spread()
    first_audible_ms: Spread = Spread()
    """Over the sessions' medians, answers that needed a tool left out."""
    first_audible_after_tool_ms: Spread = Spread()
    first_sentence_ms: Spread = Spread()
    dead_air: Mean = Mean()
    """Per session, as the next three."""
    silent_wait: Mean = Mean()
    cut_ins: Mean = Mean()
    unanswered: Mean = Mean()
    false_yields: Share
    """Of the caller's back-channels."""
    overlap_ratio: Mean = Mean()


class Tools(Shape):
    """Calls against the reference solution."""

    ratio: Mean = Mean()
    """Over sessions."""
    calls: int = 0
    ok: int = 0
    unknown_tool: int = 0
    invalid_arguments: int = 0
    repeated: int = 0
    after_interruption: int = 0


class Lapses(Shape):
    """Counts of what must not happen, over all scored sessions, and the share of critical values that were read back."""

    stale_calls: int = 0
    results_dropped: int = 0
    misread_approvals: int = 0
    disclosures: int = 0
    false_success: int = 0
    lookups_missing: int = 0
    confirmed: Share


class Twins(Shape):
    """Sessions of uncorrected twins: a control. They stand here and in the gap against the twin, and in no other number of the table."""

    sessions: int
    scored: int
    successes: int
    pass_1: Mean
    """Over ``n`` twins."""


class AgentResult(Shape):
    """One agent under one set of conditions. ``rank`` is None for rehearsals and where too few sessions were run. Uncorrected twins are counted
    in ``twins`` alone.
    """

    label: str
    agent: str
    model: str | None
    channel: str
    environment_profile: str
    grading_profile: str
    clock: Literal["real time", "simulated"]
    parts: dict[str, str] = {}
    rehearsal: bool
    rank: int | None = None
    sessions: int
    scored: int
    successes: int
    invalid: dict[str, int] = {}
    """Sessions that judge nobody, by reason."""
    retries: int = 0
    not_run: int = 0
    degraded: int = 0
    """Scored sessions on a machine that was too slow for their times to be trusted."""
    pass_1: Mean
    """Over ``n`` workflows, as the next two."""
    pass_k: Mean
    reliable_k: Mean
    inclusive: Mean
    """Pass@1 with closes and stalls on the agent's side counted as failures."""
    twins: Twins | None = None
    per_workflow: dict[str, tuple[int, int]]
    """Workflow -> (successes, scored sessions)."""
    success: Share
    gates: dict[str, Share]
    afa: Share
    """Right gold fields of all."""
    afa_workflows: Mean
    corrections: Corrections
    wrong_values: dict[str, int] = {}
    """Class -> wrong fields."""
    turns: Turns
    complete_ms: Spread = Spread()
    minutes: Mean = Mean()
    usd: Mean = Mean()
    """Cost of a session, where the plan says what a minute costs."""
    tokens: Mean = Mean()
    """Tokens of a session as the provider counted them, all of its parts together; only sessions for which it counted any."""
    tools: Tools
    lapses: Lapses


class Cut(Shape):
    """One agent in one slice. ``hatched``: fewer than five workflows."""

    workflows: int
    sessions: int
    successes: int
    success: float | None
    afa_right: int
    afa_n: int
    afa: float | None
    hatched: bool


class Slice(Shape):
    """One label of an axis; ``cuts``: agent's label -> numbers."""

    axis: str
    label: str
    overlapping: bool = False
    """A session can stand under several labels of this axis, so they do not sum to the total."""
    cuts: dict[str, Cut]


class Failure(Shape):
    """A scored session that did not succeed, and why; those of uncorrected twins as well."""

    session: str
    path: str
    workflow: str
    agent: str
    seed: int
    outcome: str
    gates: dict[str, str]
    """Failed gate -> its reason."""


class Provenance(Shape):
    """Where the numbers come from."""

    app_versions: tuple[str, ...]
    workflows: dict[str, tuple[str, ...]]
    """Id -> digests; more than one means that sessions of different versions stand in one row."""
    callers: tuple[str, ...]
    """Kind of speech and voice of the callers."""
    clock_bases: tuple[str, ...]
    profiles: tuple[str, ...]
    seeds: tuple[int, ...]
    clips: int
    """Different clips that were spoken, each known by its digest."""


class Table(Shape):
    """Everything. ``k`` is that of Pass@k and Reliable@k."""

    version: int = TABLE_VERSION
    k: int
    agents: tuple[AgentResult, ...]
    """Ranked first, then unranked, then rehearsals."""
    too_few: dict[str, tuple[str, ...]] = {}
    """Workflow -> agents with fewer than k scored sessions of it: it is left out of Pass@k and Reliable@k for all."""
    uncommon: tuple[str, ...] = ()
    """Workflows that not every agent has a scored session of: left out of Pass@1 for all."""
    slices: tuple[Slice, ...] = ()
    failures: tuple[Failure, ...] = ()
    provenance: Provenance
    skipped: dict[str, str] = {}
    missing: int = 0
    notes: tuple[str, ...] = ()
