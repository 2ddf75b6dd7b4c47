"""What the format asks of a package's labels beyond being readable: two errors, and warnings about words outside its vocabularies."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.files import inside, parse_yaml, read_text
from apex_tui.workflow.official_files import TaskFile, TaxonomyFile

ECONOMIC_FUNCTIONS = frozenset({
    "recruiting", "hr_operations", "sales", "customer_success", "technical_support", "it_helpdesk", "claims_operations",
    "insurance_operations", "healthcare_operations", "legal_operations", "finance_operations", "procurement", "project_management",
    "operations", "field_service", "facilities", "research", "consulting", "compliance", "executive_assistance",
})  # fmt: skip
INDUSTRIES = frozenset({
    "horizontal_enterprise", "software_saas", "financial_services", "insurance", "healthcare_ops", "professional_services",
    "retail_ecommerce", "travel_hospitality", "logistics", "manufacturing_field_ops", "public_service_non_emergency", "workplace_hr",
})  # fmt: skip


class Lint(NamedTuple):
    """One remark, in one sentence. An ``error`` fails the package, anything else only warns."""

    error: bool
    sentence: str


def read_labels(folder: Path) -> TaxonomyFile | None:
    """The labels of a package in full; None for one that cannot be read (reading the package tells why)."""
    try:
        task = TaskFile.model_validate(parse_yaml(read_text(folder / "task.yaml", "task.yaml"), "task.yaml"))
        path = inside(folder, task.taxonomy)
        return (
            None
            if path is None
            else TaxonomyFile.model_validate(parse_yaml(read_text(path, task.taxonomy), task.taxonomy))
        )
    except (WorkflowError, ValidationError):
        return None


def lint(folder: Path) -> list[Lint]:
    """The remarks on a package."""
    labels = read_labels(folder)
    return [] if labels is None else lint_labels(labels)


def lint_labels(labels: TaxonomyFile) -> list[Lint]:
    """The remarks on a package's labels."""
    found = []
    if labels.workspace.primary_artifact is None and not labels.workspace.artifact_optional:
        found.append(Lint(True, "there is no primary artifact, and the taxonomy does not call it optional"))
    if all(mode == "G_JUDGE" for mode in labels.grading.modes):
        found.append(Lint(True, "every grading mode is G_JUDGE, so nothing is graded without a model"))
    if {"C2", "C3"} & set(labels.conditions) and not labels.interaction.duplex_events:
        found.append(Lint(False, "warning: a full-duplex condition is listed and no duplex phenomenon"))
    work = labels.professional_work
    if work.economic_function not in ECONOMIC_FUNCTIONS:
        found.append(Lint(False, f"warning: {work.economic_function!r} is none of the format's economic functions"))
    if work.industry_setting not in INDUSTRIES:
        found.append(Lint(False, f"warning: {work.industry_setting!r} is none of the format's industry settings"))
    return found
