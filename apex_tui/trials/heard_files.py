"""The recogniser's reports: one committed file for each workflow, ``speech_bank/recognised/<workflow>.json``, and how it is made.

A clip that was transcribed before is not transcribed again: what was heard is kept under the digest of its samples. The author declares clips as
*hard* in the same file (clip id -> reason), and that part is kept. Deliberately not in here: what comes through (``heard``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, ValidationError

from apex_tui.audio.clips import decode
from apex_tui.audio.frames import RATE, Pcm
from apex_tui.bank.manifest import MANIFEST_NAME, Clip, Sha256, load_manifest
from apex_tui.bank.recognise import MODEL_SHA256, Hear, recogniser
from apex_tui.timeline.errors import BankError
from apex_tui.trials.heard import Heard, Tally, apart, compare, tally
from apex_tui.workflow.lines import Line, without_pauses
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.part import Part

FOLDER = "recognised"
NOBODY = "No person listened to these clips: a recogniser transcribed them, and only what it made out is judged."
RECOGNISER = {"name": "whisper-base int8, faster-whisper 1.2.1", "weights_sha256": MODEL_SHA256, "licence": "MIT"}
MAX_BYTES = 4 * 1024 * 1024
WINDOW = 28 * RATE
"""Samples of a row of clips: whisper hears 30 s at a time, and takes as long for 2 s."""
GAP = RATE
"""Samples of silence between the clips of a row."""
MOST_WRONG = 0.25
"""Share of wrong words above which a clip is heard again, alone."""


class Transcript(Part):
    """What was heard of one clip, and of its critical values what did not come through."""

    pcm_sha256: Sha256
    heard: str
    critical: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    errors: int = Field(ge=0)
    length: int = Field(ge=0)


class Report(Part):
    """One workflow's report. ``hard``: clips that the author declares hard to make out, with the reason."""

    schema_version: int = 1
    listened: str = NOBODY
    recogniser: dict[str, str] = RECOGNISER
    workflow: str
    hard: dict[str, Annotated[str, Field(min_length=8, max_length=300)]] = {}
    clips: dict[str, Transcript] = {}


def report_path(root: Path, workflow: str) -> Path:
    """Where a workflow's report lies; ``root``: the speech bank."""
    return root / FOLDER / f"{workflow}.json"


def read_report(root: Path, workflow: str) -> Report | None:
    """The report, or None: there is none. Raises ``BankError``: it cannot be read."""
    path = report_path(root, workflow)
    try:
        raw = path.read_bytes()
        if len(raw) > MAX_BYTES:
            raise BankError(f"{path}: larger than {MAX_BYTES} bytes, so it is no report; remove it and check again.")
        return Report.model_validate_json(raw)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror}); check its permissions.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise BankError(f"{path}: {field}: {first['msg']}; correct it, or remove it and check again.") from error


def recognise(
    workflow: Workflow,
    lines: Iterable[Line],
    root: Path,
    ears: Hear | None = None,
    on_clips: Callable[[int], None] | None = None,
) -> Report:
    """Transcribe the clips that are new or changed, compare all of them, and write the report.

    Args:
        workflow: whose clips they are.
        lines: what they say.
        root: the speech bank.
        ears: hears a clip; None: the recogniser.
        on_clips: hears how many clips are still to be transcribed.

    Raises:
        BankError: a clip is missing, or is not the one that the manifest names; the report cannot be read.
        UserError: the recogniser cannot be had.
    """
    old = read_report(root, workflow.id) or Report(workflow=workflow.id)
    clips = load_manifest(root / workflow.id / MANIFEST_NAME).by_id()
    wanted = {line.id: line for line in lines}
    missing = next((name for name in wanted if name not in clips), None)
    if missing is not None:
        raise BankError(
            f"{workflow.id}: there is no clip {missing}; render it with `apex-tui bank render {workflow.id}`."
        )
    new = [name for name in wanted if (row := old.clips.get(name)) is None or row.pcm_sha256 != clips[name].pcm_sha256]
    heard = {name: old.clips[name].heard for name in wanted if name not in new}
    for name, words in _hear([wanted[name] for name in new], clips, root / workflow.id, workflow, ears, on_clips):
        heard[name] = words
    found = {}
    for name, line in wanted.items():
        judged = compare(workflow, line, heard[name])
        found[name] = Transcript(
            pcm_sha256=clips[name].pcm_sha256,
            heard=judged.words,
            critical=judged.critical,
            missed=judged.missed,
            errors=judged.errors,
            length=judged.length,
        )
    report = Report(workflow=workflow.id, hard=dict(old.hard), clips=found)
    _write(report_path(root, workflow.id), report)
    return report


def _hear(
    lines: Sequence[Line],
    clips: Mapping[str, Clip],
    folder: Path,
    workflow: Workflow,
    ears: Hear | None,
    on_clips: Callable[[int], None] | None,
) -> Iterator[tuple[str, str]]:
    """(clip, words). One speaker's clips go in rows of up to a window, with silence between; what is not right there is heard alone."""
    if not lines:
        return
    ears = ears or recogniser()
    left = len(lines)
    for row in rows_of(lines, clips):
        if on_clips is not None:
            on_clips(left)
        left -= len(row)
        sound = [decode(folder / clips[line.id].file) for line in row]
        parts = apart([without_pauses(line.text) for line in row], ears(_in_a_row(sound))) if len(row) > 1 else [""]
        for line, pcm, words in zip(row, sound, parts, strict=True):
            first = compare(workflow, line, words)
            wrong = first.missed or first.errors > MOST_WRONG * first.length
            yield line.id, ears(pcm) if wrong else words


def rows_of(lines: Sequence[Line], clips: Mapping[str, Clip]) -> list[list[Line]]:
    """Lines of one voice in rows that fit the recogniser's window; a longer clip is a row of its own."""
    found: list[list[Line]] = []
    used, voice = 0, ""
    for line in lines:
        length = clips[line.id].samples + GAP
        if not found or line.voice != voice or used + length > WINDOW:
            found.append([])
            used, voice = 0, line.voice
        found[-1].append(line)
        used += length
    return found


def _in_a_row(sound: Sequence[Pcm]) -> Pcm:
    silence = np.zeros(GAP, dtype=np.int16)
    return np.concatenate([piece for pcm in sound for piece in (pcm, silence)])


def _write(path: Path, report: Report) -> None:
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(report.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def tally_of(report: Report) -> Tally:
    """The counts of one report."""
    return tally(_rows(report), report.hard)


def total(reports: Mapping[str, Report]) -> Tally:
    """The counts of several reports together."""
    rows = [(f"{name} {row.clip}", row) for name, report in reports.items() for row in _rows(report)]
    hard = {f"{name} {clip}" for name, report in reports.items() for clip in report.hard}
    return tally([Heard(key, row.words, row.critical, row.missed, row.errors, row.length) for key, row in rows], hard)


def findings(report: Report) -> list[str]:
    """What an author has to look at, one sentence each: values that do not come through, and declarations that fit nothing."""
    out = [
        f"{name} says {', '.join(row.missed)}, and the recogniser makes it {row.heard!r}"
        for name, row in report.clips.items()
        if row.missed and name not in report.hard
    ]
    out += [f"{name} is declared hard, and there is no such clip" for name in report.hard if name not in report.clips]
    out += [
        f"{name} is declared hard, and everything in it comes through"
        for name in report.hard
        if name in report.clips and not report.clips[name].missed
    ]
    return out


def outdated(report: Report, clips: Mapping[str, str]) -> list[str]:
    """Clips whose samples are not those that were transcribed. ``clips``: id -> digest, as the manifest has it."""
    return [
        name for name, digest in clips.items() if (row := report.clips.get(name)) is None or row.pcm_sha256 != digest
    ]


def _rows(report: Report) -> list[Heard]:
    return [
        Heard(name, row.heard, row.critical, row.missed, row.errors, row.length) for name, row in report.clips.items()
    ]
