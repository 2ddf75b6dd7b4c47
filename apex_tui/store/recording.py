"""Opening a recorded session, whatever is left of it.

In here: ``open_recording``, which reads a whole session and says in ``problem`` what is missing; ``begin_recording``, which leaves the rest of a
long log to its reader; lists of sessions and finding one by name
come from ``listing`` and are offered here too. Deliberately not in here: the audio (floor 3, ``audio``), and any judgement.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from apex_tui.store.files import Unreadable, read_json
from apex_tui.store.layout import SessionFolder
from apex_tui.store.listing import Listing, Listings, find_recording, list_recordings
from apex_tui.store.meta import SessionMeta, meta_from_events
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event, is_over
from apex_tui.timeline.log import LogRead, LogReader, read_log
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.snapshot import json_digest

__all__ = [
    "OTHER_WORKFLOW",
    "Listing",
    "Listings",
    "Recording",
    "begin_recording",
    "find_recording",
    "list_recordings",
    "open_recording",
    "what_is_wrong",
]


CUT_OFF = "cut_off"
"""The outcome in the verdict of a log without an end."""
OTHER_WORKFLOW = "is not the workflow that the session ran (its digest differs)"
"""Completes the sentence 'workflow.json ...'."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded session. ``problem``: what is missing or damaged, in sentences for a person, or None; ``score``: score.json as it is."""

    folder: SessionFolder
    meta: SessionMeta
    workflow: Workflow
    events: list[Event]
    problem: str | None = None
    score: dict[str, Any] | None = None
    own_workflow: bool = True
    """Whether ``workflow`` is the one that the session ran, by its digest: nothing is judged by another."""
    rest: LogReader | None = None
    """What reads the rest of the log, when ``events`` holds its beginning only; then ``problem`` says nothing of the log yet."""


def open_recording(path: Path) -> Recording:
    """Open the session in folder ``path`` (or the folder of the file ``path``).

    A session that was killed, or whose files are cut, opens with what is left: the events up to the cut, and the description from the log
    when session.json is gone.

    Raises:
        RecordingError: ``path`` is no session, its workflow is gone, or a newer version wrote it.
    """
    return _opened(path, None)


def begin_recording(path: Path, most: int) -> Recording:
    """Open a session with at most the first ``most`` events; ``rest`` reads on, and `what_is_wrong` then says what is missing.

    Raises:
        RecordingError: as ``open_recording``.
    """
    return _opened(path, most)


def _opened(path: Path, most: int | None) -> Recording:
    folder = SessionFolder(path.parent if path.is_file() else path)
    if not folder.path.is_dir():
        raise RecordingError(f"{path} does not exist: `apex-tui replay` without a name opens an example")
    if not any(file.is_file() for file in (folder.meta, folder.events, folder.workflow)):
        raise RecordingError(f"{folder.path} is not a recorded session: it holds no session.json and no events.jsonl")
    problems: list[str] = []
    log, rest = _log(folder, most)
    meta = _meta(folder, log.events, problems)
    workflow, workflow_digest = _workflow(folder)
    own = workflow_digest == meta.workflow_digest
    if not own:
        problems.append(f"workflow.json {OTHER_WORKFLOW}: restore it before you judge the session.")
    wrong = what_is_wrong(log) if rest is None else None
    if wrong is not None:
        problems.append(wrong)
    score = _score(folder, problems)
    if score is not None and wrong is not None and not is_over(log.events) and score.get("outcome", CUT_OFF) != CUT_OFF:
        problems.append("score.json judges more than is left of the log: 'apex-tui score' judges what is left.")
        score = None
    return Recording(folder, meta, workflow, log.events, " ".join(problems) or None, score, own, rest)


def what_is_wrong(log: LogRead | LogReader) -> str | None:
    """What is missing of a log that was read to its end, in one sentence, or None."""
    if log.problem:
        return _sentence(log.problem)
    if not is_over(log.events):
        return "The log has no end: the session was cut off, or is still running."
    return None


def _log(folder: SessionFolder, most: int | None) -> tuple[LogRead, LogReader | None]:
    if not folder.events.is_file():
        return LogRead([], "events.jsonl is missing"), None
    if most is None:
        return read_log(folder.events), None
    reader = LogReader(folder.events)
    reader.read(most)
    return LogRead(reader.events, reader.problem), None if reader.done else reader


def _meta(folder: SessionFolder, events: list[Event], problems: list[str]) -> SessionMeta:
    derived = meta_from_events(events)
    try:
        return _completed(SessionMeta.model_validate(read_json(folder.meta)), derived)
    except Unreadable as error:
        what = str(error)
    except ValidationError as error:
        what = f"is not valid ({_first(error)})"
    if derived is None:
        raise RecordingError(
            f"{folder.path} cannot be opened: session.json {what}, and events.jsonl does not hold the start of the session"
        )
    problems.append(f"session.json {what}: what is shown of the session comes from its log.")
    return derived


def _completed(meta: SessionMeta, derived: SessionMeta | None) -> SessionMeta:
    """The engine was killed between the end of the log and the end of session.json: the log knows how it ended."""
    if meta.outcome is not None or derived is None or derived.outcome is None:
        return meta
    return meta.completed(
        outcome=derived.outcome,
        caller_sha256=derived.caller_sha256,
        agent_sha256=derived.agent_sha256,
        pacing=derived.pacing,
        labels=tuple(dict.fromkeys((*meta.labels, *derived.labels))),
    )


def _workflow(folder: SessionFolder) -> tuple[Workflow, str]:
    """The workflow that lies in the session, and the digest of what is written there."""
    try:
        data = read_json(folder.workflow)
        return Workflow.model_validate(data), json_digest(data)
    except Unreadable as error:
        what = str(error)
    except ValidationError as error:
        what = f"is not a workflow ({_first(error)})"
    raise RecordingError(
        f"{folder.path} cannot be opened: workflow.json {what}, and without it nothing can be shown or scored"
    )


def _score(folder: SessionFolder, problems: list[str]) -> dict[str, Any] | None:
    """The stored verdict, when it is there and ours to read; it comes from the log again at any time."""
    try:
        return read_json(folder.score)
    except (Unreadable, RecordingError) as error:
        if folder.score.exists():
            what = f"score.json {error}" if isinstance(error, Unreadable) else str(error)
            problems.append(f"{what}; 'apex-tui score' judges the session from its log.")
        return None


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
