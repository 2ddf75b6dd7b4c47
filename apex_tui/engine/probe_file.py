"""The file that says what to read in an agent's own backend (TOML), checked against the workflow before anything runs.

    [[probe]]
    artifact = "leave_form"              # may be left out where there is only one
    sqlite = "office.db"                 # read-only, relative to this file
    query = "SELECT first_day, last_day FROM leave WHERE employee = 'E2047'"
    fields = {start_date = "first_day", end_date = "last_day"}

    [[probe]]
    url = "http://127.0.0.1:9000/leave/E2047"
    fields = {approver = "$.manager.name"}

In here: the model, the errors, and which tools the agent's own backend replaces. Deliberately not in here: reading (``probe_readers``).
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from apex_tui.engine.json_path import parse_json_path
from apex_tui.store.meta import mask_url
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.paths import real_path, refuse_pipe, user_path
from apex_tui.timeline.toml import parse_toml
from apex_tui.workbench.schemas import declared_fields, fields_set_by_commit, written_artifact
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import ToolSpec

MAX_FILE = 256 * 1024
MOST_PROBES = 16


class ProbeSpec(BaseModel):
    """One probe. Times in ms; ``fields`` maps a field of the artifact to a column (SQL) or a path (HTTP)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    artifact: str = ""
    every_ms: float = Field(default=200.0, ge=50, le=60_000)
    timeout_ms: float = Field(default=1000.0, ge=10, le=10_000)
    give_up_s: float = Field(default=10.0, ge=1, le=600)
    """So long without an answer, and nobody can be judged by the state any more: the session ends."""
    fields: dict[str, str] = {}
    sqlite: Path | None = None
    query: str | None = Field(default=None, max_length=20_000)
    url: str | None = Field(default=None, max_length=2000)
    bearer: str | None = None
    """The environment variable that holds a token for the URL."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.sqlite is None) == (self.url is None):
            raise ValueError("name one source: sqlite (with query) or url")
        if (self.sqlite is None) != (self.query is None):
            raise ValueError("sqlite and query belong together")
        if self.url is not None:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("url must begin with http:// or https://")
            if not self.fields:
                raise ValueError("url needs fields: field = path, such as start_date = '$.start'")
        if self.bearer is not None and self.url is None:
            raise ValueError("bearer belongs to url")
        return self

    @property
    def source(self) -> str:
        """What it reads, for the timeline and messages: no path above the file, no secret."""
        return f"sqlite {self.sqlite.name}" if self.sqlite is not None else f"http {mask_url(self.url)}"


def read_probe_file(path: Path, workflow: Workflow) -> tuple[ProbeSpec, ...]:
    """The probes of a file, with every artifact named and paths resolved.

    Raises:
        UserError: it cannot be read, or asks for what the workflow does not have; names the file and the key.
    """
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            raw = file.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            raise UserError(f"{path} is larger than {MAX_FILE} bytes; a probe file is a few lines")
        tables = parse_toml(raw)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{path} is not TOML: {error}") from None
    rows = tables.pop("probe", None)
    if tables or not isinstance(rows, list) or not rows or len(rows) > MOST_PROBES:
        wrong = f"{next(iter(tables))!r} is not known; " if tables else ""
        raise UserError(f"{path}: {wrong}write one to {MOST_PROBES} tables [[probe]]")
    specs = tuple(_spec(path, number, row, workflow) for number, row in enumerate(rows, 1))
    _no_overlap(path, specs)
    return specs


def _spec(path: Path, number: int, row: Any, workflow: Workflow) -> ProbeSpec:
    where = f"{path}, probe {number}"
    try:
        spec = ProbeSpec.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        near = get_close_matches(key, list(ProbeSpec.model_fields), 1)
        unknown = first["type"] == "extra_forbidden"
        hint = f" (did you mean {near[0]}?)" if unknown and near else ""
        words = "unknown key" if unknown else first["msg"].removeprefix("Value error, ")
        raise UserError(f"{where}: {key + ': ' if key else ''}{words}{hint}") from None
    names = list(workflow.artifacts)
    artifact = spec.artifact or (names[0] if len(names) == 1 else "")
    if artifact not in workflow.artifacts:
        raise UserError(
            f"{where}: artifact {artifact!r} is none of {workflow.id}; it has: {', '.join(names) or 'none'}"
        )
    declared, by_commit = declared_fields(workflow, artifact), fields_set_by_commit(workflow, artifact)
    if not declared and not spec.fields:
        raise UserError(f"{where}: {artifact} declares no fields, so 'fields' must say which column is which field")
    for field, place in spec.fields.items():
        if declared and field not in declared:
            raise UserError(f"{where}: {artifact} has no field {field!r}; it has: {', '.join(declared)}")
        if field in by_commit:
            raise UserError(f"{where}: {field} is set by {by_commit[field]} when it commits; leave it out")
        if spec.url is not None:
            try:
                parse_json_path(place)
            except ValueError as error:
                raise UserError(f"{where}: fields.{field}: {error}") from None
    sqlite = None if spec.sqlite is None else (real_path(path).parent / user_path(spec.sqlite))
    return spec.model_copy(update={"artifact": artifact, "sqlite": sqlite})


def _no_overlap(path: Path, specs: tuple[ProbeSpec, ...]) -> None:
    """Two probes of one artifact read different fields, so each must name its own."""
    seen: dict[tuple[str, str], int] = {}
    for number, spec in enumerate(specs, 1):
        for other in range(1, number):
            if specs[other - 1].artifact == spec.artifact and not (spec.fields and specs[other - 1].fields):
                raise UserError(
                    f"{path}: probes {other} and {number} both read {spec.artifact}: give each its 'fields'"
                )
        for field in spec.fields:
            earlier = seen.setdefault((spec.artifact, field), number)
            if earlier != number:
                raise UserError(
                    f"{path}: probes {earlier} and {number} both read {spec.artifact}.{field}; leave it to one"
                )


def offered(workflow: Workflow, specs: tuple[ProbeSpec, ...]) -> Workflow:
    """The workflow with the tools that an agent is offered: not those that write an artifact which lives in the agent's own backend.

    Raises:
        UserError: the gold outcome asks for a call of such a tool, so that nothing could be judged.
    """
    watched = {spec.artifact for spec in specs}
    gone = {tool.name for tool in workflow.tools if _writes(workflow, tool, watched)}
    gold = workflow.gold
    asked = [str(p.args.get("tool")) for p in (*gold.required_actions, *gold.required_evidence) if "tool" in p.args]
    asked += [name for rule in gold.precedence for name in (rule.before, rule.after)]
    for name in asked:
        if name in gone:
            raise UserError(
                f"{workflow.id} asks for a call of {name}, which the agent's own backend replaces: it cannot be seen by a probe; "
                "leave --probe out, or take that requirement out of the workflow"
            )
    return (
        workflow.model_copy(update={"tools": tuple(t for t in workflow.tools if t.name not in gone)})
        if gone
        else workflow
    )


def _writes(workflow: Workflow, tool: ToolSpec, watched: set[str]) -> bool:
    return tool.handler == "update_artifact" and written_artifact(workflow, tool) in watched


def unwatched(workflow: Workflow, specs: tuple[ProbeSpec, ...]) -> dict[str, list[str]]:
    """Declared fields of watched artifacts that neither a probe reads nor a commit sets. A probe without ``fields`` may read any."""
    found: dict[str, list[str]] = {}
    for artifact in dict.fromkeys(spec.artifact for spec in specs):
        mine = [spec for spec in specs if spec.artifact == artifact]
        if all(spec.fields for spec in mine):
            known = {name for spec in mine for name in spec.fields} | set(fields_set_by_commit(workflow, artifact))
            rest = [name for name in declared_fields(workflow, artifact) if name not in known]
            found |= {artifact: rest} if rest else {}
    return found
