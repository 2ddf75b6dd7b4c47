"""What a session reads beside its workflow, as digests: a campaign runs a cell again when any of it has changed.

In here: the caller's speech, the agent's dialect, and the files that an agent's options name. Deliberately not in here: the workflow itself
(``workflow.snapshot``), and what only the other end knows (which model answers at an address).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apex_tui.agents.dialects import dialect_digest, load_profiles
from apex_tui.bank.bank import find_bank_root
from apex_tui.bank.manifest import MANIFEST_NAME, load_manifest
from apex_tui.bank.own import read_own
from apex_tui.bank.package import has_speech, read_index
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.paths import real_path
from apex_tui.workflow.model import Workflow

FILES = ("profile_file", "probe_file")
"""Options of an agent that name a file; the path is relative to the plan, and the content counts, not the place."""
MAX_FILE_BYTES = 1 << 20
"""Both kinds of file are a few lines; their readers refuse more."""


def located(options: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """The options with every file's path resolved against the plan's folder ``home``."""
    named = {name: str(real_path(home / str(options[name]))) for name in FILES if options.get(name) is not None}
    return {**options, **named}


def agent_inputs(agent: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Name of what an agent is read from -> SHA-256 (hex) of its content; what there is not is left out.

    Raises:
        UserError: a file that the options name cannot be read.
    """
    found = {name: _file(name, Path(str(options[name]))) for name in FILES if options.get(name) is not None}
    named = options.get("profile_file")
    dialect = load_profiles(Path(str(named)) if named is not None else None).get(agent)
    if dialect is not None:
        found["dialect"] = dialect_digest(dialect.profile)
    return found


def speech_inputs(workflow: Workflow) -> dict[str, str]:
    """``speech``: digest of every clip that a session of the workflow may play; nothing where it is spoken in tones.

    A clip that is not what its index says stops a session, so the index stands for the sound. Two packages with the same words and other
    recordings are different inputs.

    Raises:
        BankError: the index of the speech cannot be read.
    """
    if workflow.source != "official" and workflow.folder is not None:
        own = read_own(workflow.folder)
        recorded = sorted((c.role, c.text, c.pcm_sha256, c.onset, c.offset, c.pauses) for c in own.clips)
        return {"speech": _digest([recorded, _bank_clips(own.stands_in) if own.stands_in is not None else []])}
    if workflow.source != "official":
        return {"speech": _digest(_bank_clips(workflow.bank))}
    if workflow.folder is None or not has_speech(workflow.folder):
        return {}
    rows = read_index(workflow.folder).values()
    return {"speech": _digest(sorted((row.text, row.pcm16_sha256) for row in rows))}


def _bank_clips(name: str) -> list[tuple[object, ...]]:
    manifest = load_manifest(find_bank_root() / name / MANIFEST_NAME)
    return sorted((c.id, c.pcm_sha256, c.onset, c.offset, c.value_end, c.pauses) for c in manifest.clips)


def _file(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"options.{name}: {path} cannot be read ({error.strerror or error}); correct the path"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"options.{name}: {path} is larger than {MAX_FILE_BYTES} bytes; name the file that was meant")
    return hashlib.sha256(content).hexdigest()


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
