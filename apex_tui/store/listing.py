"""Lists of recorded sessions, and finding one by what a person types.

In here: ``list_recordings``, which reads only session.json and score.json of each folder, and ``find_recording``. Deliberately not in here:
opening a session (``recording``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from apex_tui.store.files import Unreadable, read_json
from apex_tui.store.layout import SessionFolder, examples_root, sessions_root
from apex_tui.store.meta import SessionMeta
from apex_tui.timeline.errors import RecordingError

_SHOWN = 5  # candidates that an error names

NO_SESSIONS = frozenset({"examples", "campaigns", "regressions", "tools"})
"""Folders beside the sessions that hold sessions of their own."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One row of a list of sessions. ``gates``: gate -> passed, empty when the session has no verdict; ``success`` likewise None."""

    path: Path
    name: str
    workflow: str
    agent: str
    seed: int
    started_utc: str | None
    outcome: str | None
    rehearsal: bool
    gates: dict[str, bool] = field(default_factory=dict)
    success: bool | None = None
    labels: tuple[str, ...] = ()


class Listings(list[Listing]):
    """Rows, newest first. ``skipped``: folder name -> why it is not a session that can be listed."""

    def __init__(self, rows: list[Listing], skipped: dict[str, str]) -> None:
        super().__init__(rows)
        self.skipped = skipped


def list_recordings(root: Path) -> Listings:
    """All sessions directly under ``root``, newest first; folders that are none are named in ``skipped``. No root: no sessions.

    Raises:
        RecordingError: ``root`` cannot be read.
    """
    rows: list[Listing] = []
    skipped: dict[str, str] = {}
    try:
        folders = sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    except FileNotFoundError:
        return Listings([], {})
    except OSError as error:
        raise RecordingError(f"{root} cannot be read: {error.strerror or error}") from error
    for path in folders:
        try:
            rows.append(_row(SessionFolder(path)))
        except Unreadable as error:
            if path.name not in NO_SESSIONS:
                skipped[path.name] = f"session.json {error}"
        except RecordingError as error:
            skipped[path.name] = str(error)
    rows.sort(key=lambda row: (row.started_utc or "", row.name), reverse=True)
    return Listings(rows, skipped)


def _row(folder: SessionFolder) -> Listing:
    try:
        meta = SessionMeta.model_validate(read_json(folder.meta))
    except ValidationError as error:
        raise Unreadable("is not the description of a session") from error
    gates, success = _verdict(folder)
    return Listing(
        path=folder.path,
        name=folder.name,
        workflow=meta.workflow,
        agent=meta.agent,
        seed=meta.seed,
        started_utc=meta.started_utc,
        outcome=meta.outcome,
        rehearsal=meta.rehearsal,
        gates=gates,
        success=success,
        labels=meta.labels,
    )


def _verdict(folder: SessionFolder) -> tuple[dict[str, bool], bool | None]:
    try:
        score = read_json(folder.score)
    except (Unreadable, RecordingError):
        return {}, None  # a verdict can be made again; its absence hides no session
    gates: dict[str, bool] = {}
    rows = score.get("gates")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("gate"), str) and isinstance(row.get("passed"), bool):
            gates[row["gate"]] = row["passed"]
    success = score.get("success")
    return gates, success if isinstance(success, bool) else None


def find_recording(text: str | None, root: Path | None = None, examples: Path | None = None) -> Path:
    """The folder of the session that ``text`` names: a path, a name under ``root``, or the beginning of one; None: the newest example.

    ``root`` and ``examples`` default to the usual places.

    Raises:
        RecordingError: there is none, or the beginning fits several.
    """
    examples = examples_root() if examples is None else examples
    if text is None:
        rows = list_recordings(examples)
        if not rows:
            raise RecordingError(f"there is no example session in {examples}: name a session or a path")
        return rows[0].path
    root = sessions_root() if root is None else root
    path = _existing(text)
    if path is not None:
        return path.parent if path.is_file() else path
    if not text or Path(text).name != text:
        raise RecordingError(f"{text or 'an empty name'} is not a session: no such folder")
    return _by_name(text, root, examples)


def _existing(text: str) -> Path | None:
    """The path that ``text`` names, if something is there."""
    try:
        path = Path(text).expanduser()
        return path if text and path.exists() else None
    except (OSError, RuntimeError):  # a name that is too long, or a home folder of nobody
        return None


def _by_name(text: str, root: Path, examples: Path) -> Path:
    found = [p for place in (root, examples) for p in _folders(place) if p.name.startswith(text)]
    exact = [p for p in found if p.name == text]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if not found:
        raise RecordingError(f"no session in {root} begins with {text}: give a path, or a name that is there")
    names = ", ".join(p.name for p in found[:_SHOWN]) + (" ..." if len(found) > _SHOWN else "")
    raise RecordingError(f"{text} fits {len(found)} sessions ({names}): type more of the name")


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(p for p in place.iterdir() if p.is_dir() and (p / "events.jsonl").is_file())
    except OSError:
        return []
