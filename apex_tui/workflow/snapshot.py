"""A workflow as JSON and back: what lies in a session as ``workflow.json``, and the digest that names it.

In here: the canonical form (sorted keys, no spaces, UTF-8) and its SHA-256. Deliberately not in here: reading or writing files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from pydantic import ValidationError

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.problems import describe

SCHEMA_VERSION = 1
"""The newest snapshot that this version can read."""


def to_json(workflow: Workflow) -> dict[str, Any]:
    """Return the whole workflow, gold included, as plain JSON values; what came after the first recordings is left out where it says nothing."""
    data = workflow.model_dump(mode="json", by_alias=True)
    for parts, later in _later(data):
        for part in parts:
            for key, nothing in later.items():
                if part[key] == nothing:
                    del part[key]
    return data


def _later(data: dict[str, Any]) -> Iterator[tuple[Iterable[dict[str, Any]], dict[str, Any]]]:
    """Parts with the keys that the model gained, and what each holds where it says nothing: a workflow without them keeps the digest that older
    recordings and scenarios name. Whoever adds a key to the model adds it here.
    """
    reference = data["reference"]
    yield (data,), {"records": {}, "recorded": False}
    yield (data["observer"],), {"asked": {}}
    yield data["events"], {"sql": []}
    yield data["documents"], {"words": []}
    yield chain.from_iterable(wording["variants"] for wording in data["wordings"]), {"fits": "any"}
    steps = chain.from_iterable(turn["steps"] for turn in reference["turns"])
    yield chain(reference["spare"], steps), {"background": False, "wait": None}


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
