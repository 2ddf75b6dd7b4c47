"""Lists of recorded sessions, and finding one by what a person types.

In here: ``list_recordings``, which reads only session.json and score.json of each folder, and ``find_recording``. Deliberately not in here:
opening a session (``recording``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from apex_tui.store.files import Unreadable, read_json
from apex_tui.store.layout import SessionFolder, examples_root, sessions_root
from apex_tui.store.meta import VIRTUAL_UTC, SessionMeta
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.paths import real_path, user_path

_SHOWN = 5  # candidates that an error names
_LOOKED_AT = 200  # sessions of a folder whose verdict an error looks up, to name those that failed
_TIME = re.compile(r"\d{8}T\d{6}Z")
CAMPAIGN = "campaign.json"
"""The file that makes a folder a campaign."""

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
    rows.sort(key=lambda row: (_written(row), row.name), reverse=True)
    return Listings(rows, skipped)


def _written(row: Listing) -> str:
    """When it was begun; of a simulated session, whose date is fixed, when its log was written. ISO 8601 in UTC."""
    if row.started_utc != VIRTUAL_UTC:
        return row.started_utc or ""
    try:
        seconds = SessionFolder(row.path).events.stat().st_mtime
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OSError, OverflowError, ValueError):  # a file may be dated in any year
        return row.started_utc


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
    """The folder of the session that ``text`` names; None: the newest example.

    A path of a session, or of a folder that holds one; a name or its beginning, with or without the time, under ``root`` (and, when nothing
    there fits, in its campaigns and regressions); or such a name below a folder or a campaign (``nightly/leave-request-mine-1``).
    ``root`` and ``examples`` default to the usual places.

    Raises:
        RecordingError: there is none, or several fit.
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
        return _in_folder(path) if path.is_dir() else _around(path)
    home = _existing(str(Path(text).parent)) if Path(text).name not in ("", text) else None
    if home is not None and home.is_dir() and home.parts:
        return _by_name(Path(text).name, [[home]])
    if not text or Path(text).name != text:
        raise RecordingError(f"{text or 'an empty name'} is not a session: no such folder")
    return _by_name(text, [[root, examples], [root / "regressions", *_subfolders(root / "campaigns")]])


def _existing(text: str) -> Path | None:
    """The path that ``text`` names, if something is there."""
    try:
        path = user_path(text)
        return path if text and path.exists() else None
    except (OSError, RuntimeError, ValueError):  # a name that is too long or holds a NUL, or a home folder of nobody
        return None


def _around(file: Path) -> Path:
    """The session that a file lies in."""
    folder = SessionFolder(file.parent)
    if not any(part.is_file() for part in (folder.meta, folder.events, folder.workflow)):
        raise RecordingError(f"{file} is no session, and lies in none: name the folder of a session")
    return file.parent


def _in_folder(path: Path) -> Path:
    """The session in a folder: itself, or the only one below it. What is no session at all is told by who opens it."""
    found = [] if _is_session(path) else sessions_in(path)
    if len(found) < 2:
        return (found or [real_path(path) if path.name in ("", "..") else path])[0]
    what = "is a campaign of" if (path / CAMPAIGN).is_file() else "holds"
    failed = [p for p in found[:_LOOKED_AT] if _verdict(SessionFolder(p))[1] is False]
    names = ", ".join(sorted(_shortest(p, found, path) for p in failed or found)[:_SHOWN])
    more = f"those that failed: {names}" if failed else names
    raise RecordingError(
        f"{path} {what} {len(found)} sessions: name one of them ({more}{', ...' if len(failed or found) > _SHOWN else ''})"
    )


def _shortest(path: Path, among: list[Path], home: Path) -> str:
    """What to type for one of several sessions below ``home``: its name without the time where that is enough, else its path."""
    short = _without_time(path.name)
    alone = sum(_fits(other, short) == _fits(path, short) for other in among) == 1
    return str(home / short) if alone else str(path)


def _by_name(text: str, places: list[list[Path]]) -> Path:
    """The session of that name in the first group of places where one fits."""
    for group in places:
        found = [(p, fit) for place in group for p in sessions_in(place) if (fit := _fits(p, text))]
        best = [p for p, fit in found if fit == max(f for _, f in found)]
        if len(best) == 1:
            return best[0]
        if best:
            alike = len({p.name for p in best}) < len(best)
            names = ", ".join(str(p) if alike else p.name for p in best[:_SHOWN])
            way_out = "give the path" if alike else "type more of the name"
            raise RecordingError(
                f"{text} fits {len(best)} sessions ({names}{', ...' if len(best) > _SHOWN else ''}): {way_out}"
            )
    where = f"{places[0][0]}{' or its campaigns' if len(places) > 1 else ''}"
    raise RecordingError(f"no session in {where} begins with {text}: give a path, or a name that is there")


def _fits(path: Path, text: str) -> int:
    """How well a session's name fits: 3 all of it, 2 all but its time, 1 the beginning of either, 0 not at all."""
    name, short = path.name, _without_time(path.name)
    return 3 if name == text else 2 if short == text else 1 if name.startswith(text) or short.startswith(text) else 0


def _without_time(name: str) -> str:
    time, _, rest = name.partition("-")
    return rest if rest and _TIME.fullmatch(time) else name


def sessions_in(place: Path) -> list[Path]:
    """The sessions of a campaign (every attempt), or those in a folder; where it holds none itself, those one level further down."""
    if (place / CAMPAIGN).is_file():
        return [
            p for cell in _subfolders(place / "sessions") for attempt in _subfolders(cell) for p in _folders(attempt)
        ]
    return _folders(place) or [p for child in _subfolders(place) for p in _folders(child)]


def _folders(place: Path) -> list[Path]:
    return [p for p in _subfolders(place) if _is_session(p)]


def _is_session(path: Path) -> bool:
    return (path / "events.jsonl").is_file()


def _subfolders(place: Path) -> list[Path]:
    try:
        return sorted(p for p in place.iterdir() if not p.name.startswith(".") and p.is_dir())
    except OSError:
        return []
