"""Sessions of a table: which folders count, what is read of each, and what was left out and why.

In here: finding sessions below the folders that a person names (a session, a folder of sessions, a campaign), and one `SessionRow` for each,
from score.json, session.json and workflow.json; the log is decoded only when a verdict is to be made again, else held against these.
Deliberately not in here: any aggregation (``results``). A folder that is damaged, half-written or foreign is named with its reason, and never
counted.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from apex_tui.score.verdict import SCORE_VERSION
from apex_tui.store.files import Unreadable, read_bounded, read_json
from apex_tui.store.layout import SessionFolder
from apex_tui.store.meta import DIRECTED, SessionMeta
from apex_tui.timeline.errors import ApexError, RecordingError, UserError
from apex_tui.timeline.paths import real_path
from apex_tui.trials.campaign_cells import CampaignFolder, Record
from apex_tui.trials.collector import collector_paused
from apex_tui.trials.results_left_out import APART, REPEAT, sameness
from apex_tui.trials.results_log import check_log
from apex_tui.trials.results_verdict import CountedScore, counted
from apex_tui.workflow.model import UNCORRECTED, Workflow
from apex_tui.workflow.snapshot import from_json, json_digest

MAX_FOLDERS = 50_000
APPROVE = "APPROVE"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Labels:
    """A workflow's place on the taxonomy: axis -> labels. An axis with one label each partitions the sessions; others may overlap."""

    single: dict[str, str]
    several: dict[str, tuple[str, ...]]
    title: str = ""
    voice: str = ""
    twin_of: str | None = None
    """For an uncorrected twin: the workflow that it is the control of."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session that can be counted (or is counted as invalid)."""

    path: Path
    score: CountedScore
    meta: SessionMeta
    labels: Labels
    agent: str
    """What the table calls the agent: the plan's name in a campaign, else the agent's own."""
    channel: str = "clean"
    parts: dict[str, str] = field(default_factory=dict)
    retries: int = 0
    """Attempts at this session that fell to the infrastructure before."""
    usd_per_minute: float | None = None

    @property
    def workflow(self) -> str:
        """The workflow's id."""
        return self.score.workflow

    @property
    def changed(self) -> str:
        """What the command changed of the workflow: slow tools, failing tools, the time budget; ``nothing changed`` otherwise."""
        given = self.meta.parameters
        said = [
            f"{name.replace('_', ' ')} {given[name]}"
            for name in ("tool_latency", "tool_failures", "budget_s")
            if given.get(name)
        ]
        said += ["caller pinned by a regression"] if given.get("regression") else []
        return ", ".join(said).replace("{", "").replace("}", "").replace("'", "") or "nothing changed"

    @property
    def scored(self) -> bool:
        """Whether it says something about the agent."""
        return self.score.validity == "scored"


@dataclass(slots=True)
class Readings:
    """What was found. ``skipped``: path -> why it was not counted; ``not_run``: agent -> cells of a campaign without any session."""

    rows: list[SessionRow] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    not_run: dict[str, int] = field(default_factory=dict)
    directed: int = 0
    """Sessions among ``skipped`` in which a person directed the caller."""
    repeats: int = 0
    """Identical repeats among ``skipped``."""
    apart: int = 0
    """Sessions in folders of examples and regressions, which stand in ``skipped`` as one entry a folder."""
    missing: int = 0
    """Cells of a campaign that have not been run yet."""


def read_results(folders: Iterable[Path], *, rescore: bool = False, grading: str = "strict") -> Readings:
    """Everything below ``folders`` that can stand in a table. ``rescore``: judge each log again instead of reading score.json.

    Raises:
        UserError: a folder does not exist.
    """
    folders = list(folders)
    reader = _Reader(rescore, grading, frozenset(real_path(folder) for folder in folders))
    seen: set[Path] = set()
    with collector_paused():
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"{folder} is not a folder: name a session, a folder of sessions or a campaign")
            place = real_path(folder)
            if place not in seen:
                seen.add(place)
                reader.folder(place)
    return reader.found


class _Reader:
    def __init__(self, rescore: bool, grading: str, named: frozenset[Path]) -> None:
        self.found = Readings()
        self._rescore, self._grading, self._named = rescore, grading, named
        self._labels: dict[bytes, tuple[str, Labels]] = {}
        """Digest of the bytes of a workflow.json -> the workflow's own digest, and its labels."""
        self._done: set[Path] = set()
        self._known: dict[tuple[bytes, str, str], Path] = {}
        self._played: set[str] = set()

    def folder(self, path: Path, depth: int = 0) -> None:
        """A campaign, a session, or a folder of such. What the system does not let us read is named."""
        try:
            self._folder(path, depth)
        except OSError as error:
            self.found.skipped[str(path)] = f"cannot be read ({error.strerror or error})"

    def _folder(self, path: Path, depth: int) -> None:
        if (path / "campaign.json").is_file() and (path / "cells").is_dir():
            self._campaign(path)
        elif _is_session(path):
            self._session(path)
        elif depth < 2:
            self._children(path, depth)
        else:
            self.found.skipped[str(path)] = "not a session: it holds no session.json and no events.jsonl"

    def _children(self, path: Path, depth: int) -> None:
        """What lies in a folder of sessions. Files have no place there, and links could lead anywhere."""
        children, rest = _children(path)
        if rest:
            self.found.skipped[f"{path} (the rest)"] = f"more than {MAX_FOLDERS} entries: the others were not looked at"
        folders = [child for child in children if child.is_dir()]
        for child in folders:
            if child.is_symlink():
                self.found.skipped[str(child)] = "a link: name the folder that it leads to, to count it"
            elif child.name in APART and child not in self._named and not _is_session(child):
                self._apart(child)
            else:
                self.folder(child, depth + 1)
        if not depth:
            for child in children:
                if child not in folders:
                    self.found.skipped[str(child)] = "not the folder of a session"
        elif not folders:
            words = "not a session: it holds no session.json and no events.jsonl" if children else "an empty folder"
            self.found.skipped[str(path)] = words

    def _apart(self, path: Path) -> None:
        """Say how many sessions lie in a folder of examples or regressions; none is read."""
        n = sum(_is_session(child) for child in _children(path)[0])
        self.found.apart += n
        if n:
            words = f"{n} session{'' if n == 1 else 's'} of {path.name}: name this folder itself to count {'it' if n == 1 else 'them'}"
            self.found.skipped[str(path)] = words

    def _campaign(self, path: Path) -> None:
        campaign = CampaignFolder(path)
        try:
            wanted = read_json(campaign.plan)["cells"]
        except (Unreadable, RecordingError, KeyError) as error:
            self.found.skipped[str(campaign.plan)] = f"campaign.json {error}"
            return
        if not isinstance(wanted, list):
            self.found.skipped[str(campaign.plan)] = "campaign.json names no cells"
            return
        named = dict.fromkeys(str(d) for d in wanted)
        if wrong := [digest for digest in named if not _DIGEST.fullmatch(digest)]:
            self.found.skipped[str(campaign.plan)] = f"names {len(wrong)} cells that cannot be any"
        for digest in (digest for digest in named if _DIGEST.fullmatch(digest)):
            file = campaign.record_path(digest)
            record = campaign.record(digest)
            if record is not None:
                self._cell(path, record)
            elif os.path.lexists(file):
                self.found.skipped[str(file)] = "the record of a cell that is cut or damaged"
            else:
                self.found.missing += 1
        known = {f"{d}.json" for d in wanted}
        for other in _children(campaign.cells)[0]:
            if other.name not in known:
                self.found.skipped[str(other)] = "not a cell of the campaign's plan as it is now"

    def _cell(self, path: Path, record: Record) -> None:
        cell, last = record.cell, record.last
        retries = sum(1 for attempt in record.before if attempt.validity in ("infrastructure", "not_run", "cut_off"))
        if last.session is None:
            self.found.not_run[cell.label] = self.found.not_run.get(cell.label, 0) + 1
            return
        try:
            session = real_path(path / last.session)
        except (OSError, RuntimeError, ValueError):  # a name that is too long, a circle of links, a NUL
            session = None
        if session is None or not session.is_relative_to(path):
            self.found.skipped[str(path / last.session)] = "a cell's session outside its campaign"
            return
        named = {"agent": cell.label, "channel": cell.channel, "parts": cell.parts, "retries": retries}
        self._session(session, **named, usd_per_minute=cell.usd_per_minute)

    def _session(self, path: Path, **named: Any) -> None:
        if path in self._done:
            return
        self._done.add(path)
        folder = SessionFolder(path)
        try:
            meta, content = _meta(folder)
            if meta.caller == "microphone":
                self.found.skipped[str(path)] = "a person was the caller: it is never counted with recorded callers"
                return
            score = self._score(folder)
            if score.directed or DIRECTED in meta.labels:
                self.found.directed += 1
                self.found.skipped[str(path)] = "it was directed: it is never counted with other sessions"
                return
            labels = self._of(folder, meta)
            if score.session != meta.session or score.workflow != meta.workflow:
                raise Unreadable("score.json is the verdict on another session")
            self._same_log(folder, meta, score)
            twice = self._seen_at(path, content, score)
        except Unreadable as error:
            self.found.skipped[str(path)] = str(error)
            return
        except ApexError as error:
            self.found.skipped[str(path)] = str(error)
            return
        channel = meta.parameters.get("channel")
        named.setdefault("agent", meta.agent)
        named.setdefault("channel", channel if isinstance(channel, str) else "clean")
        row = SessionRow(path, score, meta, labels, **named)
        same = sameness(row.agent, row.channel, meta, score)
        if same is not None and same in self._played:
            self.found.repeats += 1
            self.found.skipped[str(path)] = REPEAT
            return
        if twice is not None:
            self.found.skipped[str(path)] = f"a copy of the session in {twice}"
            return
        if same is not None:
            self._played.add(same)
        self.found.rows.append(row)

    def _seen_at(self, path: Path, content: bytes, score: CountedScore) -> Path | None:
        """Where the same session was counted already: a copy adds nothing. Names alone do not tell; a session's file and profiles do."""
        first = self._known.setdefault((content, score.environment_profile, score.grading_profile), path)
        return None if first == path else first

    def _score(self, folder: SessionFolder) -> CountedScore:
        if self._rescore:
            from apex_tui.score.judge import score_folder

            score = score_folder(folder.path, "official" if self._grading == "official" else "strict")
            try:
                return counted(score)
            except ValidationError as error:
                raise Unreadable(f"its log gives a verdict that no session can have ({_wrong(error)})") from None
        try:
            return read_score(folder.score)
        except Unreadable as error:
            raise Unreadable(f"score.json {error}") from None

    def _of(self, folder: SessionFolder, meta: SessionMeta) -> Labels:
        try:
            raw = hashlib.sha256(read_bounded(folder.workflow)).digest()
            known = self._labels.get(raw)
            if known is None:
                data = read_json(folder.workflow)
                known = self._labels[raw] = (json_digest(data), labels_of(from_json(data)))
        except Unreadable as error:
            raise Unreadable(f"workflow.json {error}") from None
        if known[0] != meta.workflow_digest:
            raise Unreadable("workflow.json is not the workflow that the session ran (its digest differs)")
        return known[1]

    def _same_log(self, folder: SessionFolder, meta: SessionMeta, score: CountedScore) -> None:
        """A verdict that was just made of the log needs no proof that it is of this log."""
        if self._rescore:
            return
        try:
            check_log(folder.events, meta, score)
        except Unreadable as error:
            raise Unreadable(f"events.jsonl {error}") from None


def _meta(folder: SessionFolder) -> tuple[SessionMeta, bytes]:
    """What session.json says, and the digest of its bytes."""
    try:
        raw = read_bounded(folder.meta)
        return SessionMeta.model_validate_json(raw), hashlib.sha256(raw).digest()
    except Unreadable as error:
        raise Unreadable(f"session.json {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        what = (
            "is cut or damaged" if first["type"] == "json_invalid" else f"is not a session's ({first['msg'].lower()})"
        )
        raise Unreadable(f"session.json {what}") from None


def read_score(path: Path) -> CountedScore:
    """What a table counts of the verdict in a file.

    Raises:
        Unreadable: it is missing, cut, or not a verdict of this version; the message completes the sentence 'score.json ...'.
    """
    try:
        score = CountedScore.model_validate_json(read_bounded(path))
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise Unreadable("is cut or damaged") from None
        raise Unreadable(f"is no verdict of this version ({_wrong(error)}); --rescore judges the log again") from None
    if score.schema_version != SCORE_VERSION:
        raise Unreadable(f"is in version {score.schema_version} of the verdict; --rescore judges the log again")
    return score


def _wrong(error: ValidationError) -> str:
    """Where a verdict is wrong, and how its parts contradict each other when they do."""
    first = error.errors()[0]
    said = first["msg"].removeprefix("Value error, ") if first["type"] == "value_error" else ""
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), said)))


def labels_of(workflow: Workflow) -> Labels:
    """A workflow's labels on every axis; an axis that the workflow says nothing about is labelled ``none``."""
    required = sum(1 for e in workflow.gold.artifact_expectations for f in e.fields if f.required)
    approved = bool(workflow.autonomy.approval_required_for) or APPROVE in workflow.delegation_patterns
    single = {
        "archetype": workflow.archetype,
        "profession": workflow.profession,
        "industry": workflow.industry,
        "economic function": workflow.economic_function,
        "approval": "APPROVE-gated" if approved else "not APPROVE-gated",
        "artifact": workflow.primary_artifact or "",
        "autonomy": workflow.autonomy.level,
        "knowledge burden": workflow.knowledge_burden,
        "tool burden": workflow.tool_burden,
        "caller profile": workflow.caller.profile,
        "temporal dynamics": workflow.temporal_dynamics,
        "difficulty": "up to 9 fields" if required <= 9 else "10 fields" if required == 10 else "11 fields and more",
        "risk": workflow.risk_tier,
    }
    several = {"delegation": workflow.delegation_patterns, "duplex phenomena": workflow.duplex_events}
    twin = workflow.id.removesuffix(UNCORRECTED)
    return Labels(
        {axis: label or "none" for axis, label in single.items()},
        {axis: tuple(dict.fromkeys(labels)) or ("none",) for axis, labels in several.items()},
        workflow.title,
        workflow.caller.voice,
        twin if twin != workflow.id else None,
    )


def _is_session(path: Path) -> bool:
    return any((path / name).is_file() for name in ("session.json", "events.jsonl", "score.json"))


def _children(path: Path) -> tuple[list[Path], bool]:
    """What lies in a folder, sorted, without hidden entries; and whether there is more than is looked at. Raises ``OSError``."""
    with os.scandir(path) as entries:
        names = [entry.name for entry in itertools.islice(entries, MAX_FOLDERS + 1)]
    return [path / name for name in sorted(names[:MAX_FOLDERS]) if not name.startswith(".")], len(names) > MAX_FOLDERS
