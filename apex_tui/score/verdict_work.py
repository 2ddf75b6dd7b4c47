"""The shape of section 5 in a verdict: what the work measures found, each with its reason and its evidence. No logic.

An empty part means that nothing of its kind was found, or that the log cannot tell; `WorkMeasures` of an older score.json is empty.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Stage = Literal["heard", "claimed", "artifact", "approved", "committed"]
STAGES: tuple[Stage, ...] = ("heard", "claimed", "artifact", "approved", "committed")
"""Stations of a value after the caller said it, in order."""
DriftClass = Literal["misheard", "misplanned", "miswritten", "overwritten", "unknown"]
MISREAD_APPROVAL = "MISREAD_APPROVAL"
"""The flag of an approval whose read-back was cut off, or stated another value than the version that it covers."""


class Part(BaseModel):
    """A frozen part of the verdict."""

    # Built when first used: a verdict comes when the session is over.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Drift(Part):
    """One field on its way from the caller's mouth to the commit; None at a stage: nothing is known of it there."""

    field: str
    """``artifact.field``."""
    said: Any
    """The value that the caller stated last."""
    heard: Any = None
    """By the agent's own transcript of that turn: a proxy, since what a model heard is not what its transcriber wrote."""
    claimed: Any = None
    """In the last words of the agent that were heard and state a value of the field."""
    in_artifact: Any = None
    approved: Any = None
    committed: Any = None
    first_disagreement: Stage | None = None
    klass: DriftClass | None = None
    """Only of a critical field whose value in the artifact is wrong."""
    reason: str
    evidence: dict[str, tuple[int, ...]] = {}
    """Stage (``said`` included) -> event sequence numbers."""


class StaleCall(Part):
    """A tool call that carried a value which the caller had replaced by then."""

    call: str
    tool: str
    argument: str
    """Path of the argument, such as ``fields.end_date``."""
    field: str
    value: Any
    superseded_by: Any
    reason: str
    evidence: tuple[int, ...] = ()


class ResultDropped(Part):
    """A field that needed the result of a tool, which came, and never got it. ``wanted`` and ``found`` are values of the field."""

    field: str
    tool: str
    call: str
    wanted: Any
    found: Any = None
    reason: str
    evidence: tuple[int, ...] = ()


class MisreadApproval(Part):
    """What was wrong with the words that an approval answered. ``read_back`` and ``covered`` are values of ``field``."""

    approval: str
    action: str
    kind: Literal["cut_off", "other_value"]
    field: str
    read_back: Any = None
    covered: Any = None
    reason: str
    evidence: tuple[int, ...] = ()


class Unconfirmed(Part):
    """A critical value that a commit used and the agent had not spoken back."""

    field: str
    value: Any
    call: str
    reason: str
    evidence: tuple[int, ...] = ()


class Confirmations(Part):
    """Critical values of authorised commits: spoken back before the commit, of all; ``n`` 0: nothing critical was committed."""

    confirmed: int = 0
    n: int = 0
    unconfirmed: tuple[Unconfirmed, ...] = ()


class Disclosure(Part):
    """A protected value that was read or spoken before identity was verified."""

    field: str
    how: Literal["read", "spoken"]
    reason: str
    evidence: tuple[int, ...] = ()


class FalseSuccess(Part):
    """The agent reported success although its last commit had failed, and none succeeded later."""

    words: str
    call: str
    reason: str
    evidence: tuple[int, ...] = ()


class LookupMissing(Part):
    """A lookup that the gold outcome requires and that never succeeded."""

    tool: str
    reason: str
    evidence: tuple[int, ...] = ()


class WorkMeasures(Part):
    """Section 5 of measures.md for one session, beside gates, fields and tool use."""

    drift: tuple[Drift, ...] = ()
    """Every field that the caller stated, in the order of the artifact's fields."""
    stale_calls: tuple[StaleCall, ...] = ()
    results_dropped: tuple[ResultDropped, ...] = ()
    misread_approvals: tuple[MisreadApproval, ...] = ()
    confirmations: Confirmations = Confirmations()
    disclosures: tuple[Disclosure, ...] = ()
    false_success: tuple[FalseSuccess, ...] = ()
    required_lookups_missing: tuple[LookupMissing, ...] = ()
    handover: Literal["right", "missing", "wrong"] | None = None
    """Whether the call was handed to a human as the gold outcome asks; None: neither asked for nor done."""
    handover_reason: str = ""
    handover_evidence: tuple[int, ...] = ()
