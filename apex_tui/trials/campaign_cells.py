"""What a campaign keeps on disk: its cells, which of them are finished, and the lock that lets one process at a time work on them.

    <folder>/campaign.json               the plan, and the digests of its cells in order
    <folder>/campaign.lock               held by the process that works on it; a killed process lets go of it by dying
    <folder>/cells/<digest>.json         one finished cell: which session counts, how it ended, what was tried before
    <folder>/sessions/<digest>/<attempt>/<session>/      every attempt; one that was killed is referred to by no cell

In here: digests, records and their files. Deliberately not in here: running a session (``campaign``) and reading verdicts (``results_read``).
A record appears whole or not at all, and only after its session's score did: a campaign that was killed runs the missing cells again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

import apex_tui
from apex_tui.store.files import Unreadable, read_json, write_json
from apex_tui.store.meta import mask_addresses
from apex_tui.timeline.errors import RecordingError, UserError

Validity = Literal["scored", "infrastructure", "simulator", "operator", "cut_off", "not_run"]
"""As in a verdict; ``not_run``: no session began (the agent could not be reached, the process died)."""
AGAIN: frozenset[str] = frozenset({"infrastructure", "not_run", "operator", "cut_off"})
"""How a session ended that says nothing about the agent and may go otherwise next time."""
RETRIED: frozenset[str] = frozenset({"infrastructure", "not_run", "cut_off"})


class Row(BaseModel):
    """A frozen row of a file; unknown keys of newer versions are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Cell(Row):
    """One session that a campaign wants. ``workflow`` is what the engine is told (an id or an absolute path)."""

    workflow: str
    workflow_digest: str
    label: str
    agent: str
    url: str | None = None
    model: str | None = None
    options: dict[str, Any] = {}
    inputs: dict[str, str] = {}
    """What a session reads beside the workflow, by digest (``campaign_inputs``): the speech, the dialect, files of the options."""
    parts: dict[str, str] = {}
    seed: int
    repeat: int
    channel: str = "clean"
    profile: Literal["strict", "official"] = "strict"
    virtual: bool = False
    max_s: float | None = None
    usd_per_minute: float | None = None
    app_version: str = apex_tui.__version__

    @property
    def digest(self) -> str:
        """Identity of the cell's content: a change of the workflow, its speech, the agent, any parameter or this app makes it another cell.
        Where files lie is no part of it.
        """
        content = self.model_dump(mode="json", exclude={"workflow", "usd_per_minute"})
        content["options"] = {name: value for name, value in self.options.items() if name not in self.inputs}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def title(self) -> str:
        """For a line of progress."""
        channel = "" if self.channel == "clean" else f" · {self.channel}"
        return f"{Path(self.workflow).stem} · {self.label} · seed {self.seed}{channel} · repetition {self.repeat + 1}"


class Attempt(Row):
    """How one try ended. ``session``: its folder relative to the campaign's, if one was begun; ``error``: one sentence, if there is one."""

    number: int
    validity: Validity
    outcome: str
    success: bool = False
    session: str | None = None
    error: str | None = None


class Record(Row):
    """A finished cell: the attempt that counts, and those before it."""

    cell: Cell
    last: Attempt
    before: tuple[Attempt, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether a restarted campaign may skip it."""
        return self.last.validity not in AGAIN


class CampaignFolder:
    """The files of one campaign below ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "campaign.json"
        self.lock = path / "campaign.lock"
        self.cells = path / "cells"
        self.sessions = path / "sessions"

    def prepare(self, name: str, plan: dict[str, Any], cells: list[Cell]) -> None:
        """Make the folders and write the plan. Raises ``UserError`` when the disk refuses."""
        try:
            for folder in (self.path, self.cells, self.sessions):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{self.path} cannot be made: {error.strerror or error}; name another with --out") from None
        content = {
            "name": name,
            "app_version": apex_tui.__version__,
            "plan": mask_addresses(plan),
            "cells": [cell.digest for cell in cells],
        }
        write_json(self.plan, content)

    def record_path(self, digest: str) -> Path:
        """Where the record of a cell lies."""
        return self.cells / f"{digest}.json"

    def record(self, digest: str) -> Record | None:
        """The record of a cell; None when there is none that can be read."""
        try:
            return Record.model_validate(read_json(self.record_path(digest)))
        except (Unreadable, ValidationError, RecordingError):
            return None

    def finish(self, record: Record) -> None:
        """Put a record on the disk. Raises ``RecordingError`` when it refuses."""
        # An address may carry a key; the cell's identity is its file's name.
        content = mask_addresses(record.model_dump(mode="json"))
        write_json(self.record_path(record.cell.digest), content)

    def attempt_folder(self, digest: str) -> tuple[int, Path]:
        """Number and folder of the next attempt; earlier ones are never touched."""
        home = self.sessions / digest[:16]
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        numbers = [int(p.name) for p in home.iterdir() if p.name.isdecimal()]
        number = max(numbers, default=0) + 1
        path = home / str(number)
        path.mkdir(mode=0o700)
        return number, path

    def note_attempt(self, digest: str, attempt: Attempt) -> None:
        """Remember how an attempt ended, beside its session: a campaign that is killed before the cell is finished still knows."""
        write_json(self.sessions / digest[:16] / str(attempt.number) / "attempt.json", attempt.model_dump(mode="json"))

    def attempts(self, digest: str) -> list[Attempt]:
        """Every attempt that ended, in order; those that were killed left no note."""
        found: list[Attempt] = []
        for path in (self.sessions / digest[:16]).glob("*/attempt.json"):
            try:
                found.append(Attempt.model_validate(read_json(path)))
            except (Unreadable, ValidationError, RecordingError):
                continue
        return sorted(found, key=lambda attempt: attempt.number)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the campaign; the operating system lets go of it when this process ends, however it ends.

        Raises:
            UserError: another process works on it.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
                raise UserError(
                    f"{self.path}: another process{f' ({holder})' if holder.isdecimal() else ''} works on this campaign; "
                    "wait for it, or name another folder with --out"
                ) from None
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(fd)
