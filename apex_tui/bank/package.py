"""The speech that an official package ships (``user/audio``): found by the exact words, decoded, and proven by its digest.

In here: ``index.jsonl`` and the clips that a session needs. Strict where the reference is not: sample rate, length and digest of every clip that
may be played are checked before the session. Deliberately not in here: rendering, and where the audible edges lie (they are measured).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apex_tui.audio.clips import decode, pcm_digest
from apex_tui.audio.frames import RATE, Pcm
from apex_tui.timeline.errors import BankError, UserError
from apex_tui.timeline.paths import refuse_pipe

FOLDER = "user/audio"
INDEX = "index.jsonl"
MAX_INDEX_BYTES = 16 * 1024 * 1024


class Word(BaseModel):
    """One word and when it sounds, in ms of the clip."""

    model_config = ConfigDict(frozen=True)
    word: str
    start_ms: float
    end_ms: float


class IndexRow(BaseModel):
    """One clip of the index. Keys beyond these are left alone."""

    model_config = ConfigDict(frozen=True)
    file: str
    text: str
    voice: str = ""
    kind: str = "variant"
    sample_rate: int = RATE
    num_samples: int = Field(gt=0)
    pcm16_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    word_timestamps: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class PackageClip:
    """A verified clip: its row, and its read-only samples (24 kHz mono)."""

    row: IndexRow
    pcm: Pcm


def has_speech(package: Path) -> bool:
    """Whether a package ships speech."""
    return (package / FOLDER / INDEX).is_file()


def read_index(package: Path) -> dict[str, IndexRow]:
    """Return text -> row; the first row of a text wins.

    Raises:
        BankError: the index cannot be read, or a row of it is not one.
    """
    path = package / FOLDER / INDEX
    try:
        refuse_pipe(path)
        if path.stat().st_size > MAX_INDEX_BYTES:
            raise BankError(f"{path}: larger than {MAX_INDEX_BYTES} bytes, so it is no index; take the file out.")
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror or error}); check its permissions.") from None
    except UnicodeDecodeError:
        raise BankError(f"{path}: not UTF-8; get the package again.") from None
    found: dict[str, IndexRow] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = IndexRow.model_validate(json.loads(line))
        except (ValidationError, ValueError, RecursionError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else None
            why = f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}" if first else "not valid JSON"
            raise BankError(f"{path}:{number}: {why}; get the package again.") from None
        found.setdefault(row.text, row)
    return found


def package_clips(package: Path, texts: Iterable[str]) -> dict[str, PackageClip]:
    """Return the clips of some texts, decoded and verified.

    Raises:
        BankError: a text has no clip, or a clip is not what the index says.
    """
    index = read_index(package)
    where = package / FOLDER / INDEX
    found: dict[str, PackageClip] = {}
    for text in texts:
        row = index.get(text)
        if row is None:
            raise BankError(f"{where}: there is no clip for the words {text[:60]!r}; add one, or take {FOLDER} out.")
        found[text] = PackageClip(row, _verified(package / FOLDER, row))
    return found


def _verified(folder: Path, row: IndexRow) -> Pcm:
    path = folder / row.file
    if Path(row.file).name != row.file:
        raise BankError(f"{folder / INDEX}: {row.file[:80]!r} leads out of {FOLDER}; name a file inside it.")
    if row.sample_rate != RATE:
        raise BankError(f"{path}: at {row.sample_rate} Hz by the index; a package's speech is at {RATE} Hz.")
    try:
        pcm = decode(path)
    except UserError as error:
        raise BankError(str(error)) from None
    if len(pcm) != row.num_samples:
        raise BankError(
            f"{path}: decodes to {len(pcm)} samples, the index says {row.num_samples}; get the package again."
        )
    if pcm_digest(pcm) != row.pcm16_sha256:
        raise BankError(
            f"{path}: its samples are not those of the index (their digest differs); get the package again."
        )
    pcm.setflags(write=False)
    return pcm
