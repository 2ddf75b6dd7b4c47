"""The one workflow model. Both readers (official packages, our recipes) produce it; everything above this floor knows only it.

Names follow the official format where it has one (`Trigger`, `Action`, `Predicate` ...), so that a package's parts parse into these classes
as they are; what only our recipes can say has a default that leaves official behaviour unchanged. Nothing here reads files or runs anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import PrivateAttr

from apex_tui.workflow.caller_model import CallerFact, CallerProfile, Flow, Observer, ScriptedEvent, Wording
from apex_tui.workflow.outcome_model import Gold, Reference
from apex_tui.workflow.part import Part
from apex_tui.workflow.work_model import ArtifactSpec, Autonomy, Document, RecordTable, ToolSpec

UNCORRECTED = "-uncorrected"
"""Ends the id of a workflow's twin, whose caller says the final values at once and corrects nothing."""


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
