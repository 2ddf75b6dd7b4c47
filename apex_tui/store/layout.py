"""Where sessions lie and what is in a session's folder.

In here: names of folders, and ``SessionFolder`` with its paths and what the engine writes besides the log.
Deliberately not in here: opening and listing (``recording``), raw messages (``wire``), the log and the audio themselves.

    <root>/<utc time>-<workflow>-<agent>-<seed>/
        session.json  workflow.json  events.jsonl  wire.jsonl  audio.wav  records.sqlite  artifacts/  score.json  blobs/
        engine.log
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apex_tui.store.files import write_json
from apex_tui.store.meta import SessionMeta
from apex_tui.store.roots import ROOT_VARIABLE, checkout, examples_root, sessions_root
from apex_tui.timeline.errors import RecordingError

__all__ = [
    "ROOT_VARIABLE",
    "SessionFolder",
    "checkout",
    "create",
    "examples_root",
    "session_name",
    "sessions_root",
    "slug",
]

_MAX_SLUG = 60  # a folder's name stays under the 255 bytes of common file systems, with both slugs, time and seed
_MAX_TWINS = 1000


def slug(text: str) -> str:
    """``text`` as a part of a file name: lower case letters, digits, ``_`` and single ``-``, at most 60 characters, never empty."""
    return re.sub(r"[^a-z0-9_]+", "-", text.lower())[:_MAX_SLUG].strip("-") or "x"


def session_name(utc: str, workflow: str, agent: str, seed: int) -> str:
    """The name of a session's folder; names sort by time. ``utc`` is ISO 8601 (without an offset it is taken as UTC).

    Raises:
        ValueError: ``utc`` is not a time.
    """
    at = datetime.fromisoformat(utc)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return f"{at:%Y%m%dT%H%M%SZ}-{slug(workflow)}-{slug(agent)}-{seed}"


class SessionFolder:
    """The folder of one session. Nothing is created by naming it; see ``create``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.meta = path / "session.json"
        self.workflow = path / "workflow.json"
        self.events = path / "events.jsonl"
        self.wire = path / "wire.jsonl"
        self.audio = path / "audio.wav"
        self.records = path / "records.sqlite"
        self.artifacts = path / "artifacts"
        self.score = path / "score.json"
        self.blobs = path / "blobs"
        self.engine_log = path / "engine.log"

    @property
    def name(self) -> str:
        """The session's name: that of its folder."""
        return self.path.name

    def find_audio(self) -> Path | None:
        """The recording that is there: ``audio.wav``, or ``audio.ogg`` (examples), or None."""
        return next((p for p in (self.audio, self.path / "audio.ogg") if p.is_file()), None)

    def write_meta(self, meta: SessionMeta, *, durable: bool = True) -> None:
        """Write or replace session.json; ``durable`` False while frames are paced. Raises ``RecordingError`` when the disk refuses."""
        write_json(self.meta, meta.model_dump(mode="json"), durable)

    def write_workflow(self, snapshot: dict[str, Any]) -> None:
        """Write workflow.json, gold included. Raises ``RecordingError`` when the disk refuses."""
        write_json(self.workflow, snapshot)

    def write_score(self, score: dict[str, Any]) -> None:
        """Write or replace score.json. Raises ``RecordingError`` when the disk refuses."""
        write_json(self.score, score)

    def artifact_path(self, artifact: str, number: int) -> Path:
        """Where a version lies: ``artifacts/<artifact>-v<number>.json``."""
        name = slug(artifact)
        if name != artifact:  # two names must not meet in one file
            name = f"{name}-{hashlib.sha256(artifact.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
        return self.artifacts / f"{name}-v{number}.json"

    def write_artifact(self, artifact: str, number: int, content: dict[str, Any]) -> None:
        """Write one version; done while frames are paced, so it does not wait for the disk. Raises ``RecordingError`` when the disk refuses."""
        path = self.artifact_path(artifact, number)
        try:
            self.artifacts.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{self.artifacts} cannot be made: {error.strerror or error}") from error
        write_json(path, content, durable=False)


def create(parent: Path, name: str) -> SessionFolder:
    """Make a folder for a session, readable by its owner only; a name that is taken gets ``-2``, ``-3`` and so on.

    Raises:
        ValueError: ``name`` is not a single part of a path.
        RecordingError: the folder cannot be made.
    """
    if name in ("", ".", "..") or Path(name).name != name:
        raise ValueError(f"{name!r} cannot be the name of a session")
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1, _MAX_TWINS + 1):
            path = parent / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return SessionFolder(path)
    except OSError as error:
        raise RecordingError(f"no session can be kept in {parent}: {error.strerror or error}") from error
    raise RecordingError(f"{parent} holds {_MAX_TWINS} sessions named {name}: name another folder with --out")
