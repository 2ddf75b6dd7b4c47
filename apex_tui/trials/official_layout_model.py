"""The shape of a table over sessions of the reference: what ``results --official --json`` prints. No logic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from apex_tui.trials.results_model import Share


class Shape(BaseModel):
    """A frozen part of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Uptake(Shape):
    """Section 9.4; only where the packages are there. ``unjudged``: values that the reference would ask its judge about, counted as wrong."""

    corrected: Share
    other: Share
    gap: float | None
    attributed: Share
    unjudged: int


class ModelResult(Shape):
    """One model. Counts of tasks, as the reference gives them; ``n`` is the number of tasks with all repetitions."""

    key: str
    runs: int
    n: int
    pass_1: float
    """Passes over those tasks and repetitions / k: a number of tasks."""
    pass_k: Share
    reliable_k: Share
    distribution: dict[int, int]
    gates: dict[str, Share]
    response_p50_ms: float | None
    response_p95_ms: float | None
    resolution_p50_s: float | None
    resolution_p95_s: float | None
    tool_calls: float | None
    tool_ratio: float | None
    tool_ratio_p50: float | None
    overlap: float | None
    yielded: Share
    stop_p50_ms: float | None
    stop_p95_ms: float | None
    stops: int
    uptake: Uptake | None = None


class Cell(Shape):
    """One model in one slice: success is a mean over tasks, AFA pooled over fields."""

    success: float | None
    afa: float | None


class OfficialSlice(Shape):
    """One label of an axis over ``n`` tasks; ``hatched``: fewer than five. ``cells``: model -> numbers."""

    axis: str
    label: str
    n: int
    hatched: bool
    cells: dict[str, Cell]


class OfficialTable(Shape):
    """All models in the reference's order."""

    k: int
    models: tuple[ModelResult, ...]
    slices: tuple[OfficialSlice, ...] = ()
    skipped: dict[str, str]


@dataclass(slots=True)
class Run:
    """One result.json with what it names."""

    task: str
    rep: int
    passed: bool
    result: dict[str, Any]
    duplex: list[dict[str, Any]] = field(default_factory=list)
    workspace: dict[str, Any] | None = None
