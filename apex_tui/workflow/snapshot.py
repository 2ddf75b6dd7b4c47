"""A workflow as JSON and back: what lies in a session as ``workflow.json``, and the digest that names it.

In here: the canonical form (sorted keys, no spaces, UTF-8) and its SHA-256. Deliberately not in here: reading or writing files.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import ValidationError

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.problems import describe

SCHEMA_VERSION = 1
"""The newest snapshot that this version can read."""


def to_json(workflow: Workflow) -> dict[str, Any]:
    """Return the whole workflow, gold included, as plain JSON values; records are left out where there are none."""
    data = workflow.model_dump(mode="json", by_alias=True)
    # They came after the first recordings: a workflow without them keeps the digest that those name. Whoever adds a key adds it here.
    for part in (data, data["observer"], *data["events"], *data["documents"]):
        for key in ("records", "sql", "recorded", "words", "asked"):
            if not part.get(key, True):
                del part[key]
    reference = data["reference"]
    for step in (*reference["spare"], *(step for turn in reference["turns"] for step in turn["steps"])):
        for key in ("background", "wait"):
            if not step.get(key, True):
                del step[key]
    return data


def from_json(data: object, where: str = "workflow.json") -> Workflow:
    """Return the workflow of a snapshot. ``where`` names the file in errors.

    Raises ``WorkflowError`` in one sentence: not an object, written by a newer version, or a value that does not fit.
    """
    if not isinstance(data, dict):
        raise WorkflowError(f"{where}: expected a JSON object with a workflow; record the session again.")
    version = data.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise WorkflowError(f"{where}: schema_version: expected a whole number from 1, found {version!r}.")
    if version > SCHEMA_VERSION:
        raise WorkflowError(
            f"{where}: schema_version: {version} was written by a newer apex-tui (this one reads up to {SCHEMA_VERSION}); update apex-tui."
        )
    try:
        return Workflow.model_validate(data)
    except ValidationError as error:
        raise WorkflowError("; ".join(f"{where}: {problem}" for problem in describe(error))) from None


def digest(workflow: Workflow) -> str:
    """Return the SHA-256 (hex) of the canonical JSON: the identity of a workflow, whatever file it came from."""
    return json_digest(to_json(workflow))


def json_digest(data: object) -> str:
    """The digest of a snapshot as it was written: it stays what it was when the model gains a field that no old snapshot has."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", errors="surrogatepass")).hexdigest()
