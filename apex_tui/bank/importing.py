"""Speech files from elsewhere, with the words that they say: checked at the door, made into clips; and clips out again, in the same form.

In here: the list (CSV or TOML), the checks of each file, and the conversion: mono, 24 kHz, trimmed, at the bank's level. Nothing is taken when
anything is wrong with any file. Deliberately not in here: where clips are kept (``own``).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import soundfile
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apex_tui.audio.frames import RATE, Pcm, pcm_bytes, pcm_from_bytes
from apex_tui.audio.resample import Resampler
from apex_tui.bank import shape
from apex_tui.bank.manifest import duplicates
from apex_tui.bank.marks import plain_words
from apex_tui.bank.own import NewClip, OwnClip, Role, decoded, read_own, shaped
from apex_tui.timeline.errors import BankError, UserError
from apex_tui.timeline.toml import parse_toml
from apex_tui.workflow.files import inside
from apex_tui.workflow.problems import problems, told

LIST_NAME = "clips.csv"
MAX_LIST_BYTES = 1_000_000
MAX_FILES = 500
MAX_FILE_BYTES = 64 * 1024 * 1024
FORMATS = ("WAV", "WAVEX", "FLAC", "OGG")
RATES = (8_000, 192_000)
LENGTH_S = (0.1, 60.0)
"""Of one utterance, in seconds."""
QUIETEST_DB = -45.0
"""Active level (dBFS) below which a voice is too quiet: what is left of it after levelling is the room."""
CUT_RUN = 3
"""Samples in a row at full scale: the voice was cut off there."""
MOST_TOLD = 5


class Row(BaseModel):
    """One line of the list. ``file`` lies beside the list; ``act`` says for people what it is in the call; ``session`` and ``turns`` (numbers with
    spaces between) where it was recorded, so that erasing that session reaches the clip.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)
    file: Annotated[str, Field(min_length=1, max_length=400)]
    text: Annotated[str, Field(min_length=1, max_length=4000)]
    role: Role = "caller"
    act: Annotated[str, Field(max_length=200)] = ""
    session: Annotated[str, Field(max_length=400)] = ""
    turns: Annotated[str, Field(pattern=r"^(\d{1,6}( \d{1,6}){0,99})?$")] = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """One file that was accepted: seconds and active level (dBFS) as they came, and the clip."""

    row: Row
    seconds: float
    level_db: float
    rate: int
    clip: NewClip


def read_list(path: Path) -> list[Row]:
    """The rows of a CSV (columns file, text, role, act, session, turns) or a TOML file (``[[clip]]``).

    Raises:
        UserError: it cannot be read, or a row does not fit; names file, row and key.
    """
    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: is no regular file; name a CSV or TOML file.")
        with path.open("rb") as file:
            raw = file.read(MAX_LIST_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); name a CSV or TOML file.") from None
    if len(raw) > MAX_LIST_BYTES:
        raise UserError(f"{path}: larger than {MAX_LIST_BYTES // 1000} kB; split it.")
    given = _toml(path, raw) if path.suffix.lower() == ".toml" else _csv(path, raw)
    rows = []
    for number, record in given:
        try:
            row = Row.model_validate(record)
            plain_words(row.text)
        except ValidationError as error:
            raise UserError(f"{path.name}, row {number}: {told(*problems(error)[0])}.") from None
        except ValueError as error:
            raise UserError(f"{path.name}, row {number}: text: {error}.") from None
        rows.append(row)
    if not 1 <= len(rows) <= MAX_FILES:
        raise UserError(f"{path.name}: lists {len(rows)} files, not 1 to {MAX_FILES}.")
    twice = duplicates(f"{row.role}: {plain_words(row.text).casefold()}" for row in rows)
    if twice:
        raise UserError(f"{path.name}: two files say {twice[0][:80]!r}; keep one of them.")
    return rows


def _csv(path: Path, raw: bytes) -> list[tuple[int, dict[str, Any]]]:
    try:
        text = raw.decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text), strict=True)
        rows = [(number, {k: v for k, v in row.items() if v not in (None, "")}) for number, row in enumerate(reader, 2)]
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8.") from None
    except csv.Error as error:
        raise UserError(f"{path.name}: not a CSV file ({error}); save it with commas and quotes.") from None
    columns = reader.fieldnames or []
    if "file" not in columns or "text" not in columns:
        raise UserError(f"{path.name}: its first row must name the columns file, text, and if you like role, act.")
    if any(None in row for _, row in rows):
        raise UserError(f"{path.name}: a row has more values than there are columns; put text with commas in quotes.")
    return rows


def _toml(path: Path, raw: bytes) -> list[tuple[int, dict[str, Any]]]:
    try:
        clips = parse_toml(raw).get("clip")
    except ValueError as error:
        raise UserError(f"{path.name}: not TOML ({error}).") from None
    if not isinstance(clips, list) or not all(isinstance(clip, dict) for clip in clips):
        raise UserError(f"{path.name}: needs one [[clip]] with file and text for each file.")
    return list(enumerate(clips, 1))


def take(path: Path) -> list[Taken]:
    """Every file of a list, checked and converted.

    Raises:
        UserError: the list or a file cannot be used; the first faults are named, and nothing is taken.
    """
    found: list[Taken] = []
    faults: list[str] = []
    for row in read_list(path):
        try:
            found.append(_one(path.parent, row))
        except UserError as error:
            faults.append(str(error))
    if faults:
        more = f" (and {len(faults) - MOST_TOLD} more files)" if len(faults) > MOST_TOLD else ""
        raise UserError(f"nothing was imported: {'; '.join(fault.rstrip('.') for fault in faults[:MOST_TOLD])}{more}.")
    return found


def _one(folder: Path, row: Row) -> Taken:
    file = inside(folder, row.file)
    if file is None:
        raise UserError(f"{row.file[:80]}: leads out of the list's folder; put it beside the list")
    lanes, rate = _read(file, row.file[:80])
    _clean(lanes, row.file[:80])
    pcm = _resampled(lanes.mean(axis=1), rate)
    level = round(shape.active_level_db(pcm), 1)
    if level < QUIETEST_DB:
        heard = f"{level:g}" if level > shape.GATE_DB else f"nothing above {shape.GATE_DB:g}"
        raise UserError(f"{row.file[:80]}: too quiet ({heard} dBFS; at least {QUIETEST_DB:g}): record it louder")
    try:
        clip = shaped(pcm)
    except ValueError as error:
        raise UserError(f"{row.file[:80]}: {error}: record it again") from None
    first, *also = map(int, row.turns.split()) if row.turns else (None,)
    new = NewClip(
        plain_words(row.text),
        clip,
        row.role,
        row.act,
        row.session or None,
        first,
        tuple(also),
        imported=file.name[:400],
    )
    return Taken(row, round(len(pcm) / RATE, 2), level, rate, new)


def _read(file: Path, name: str) -> tuple[Any, int]:
    """Samples (-1 to 1, shape (n, channels)) and their rate; length, rate, channels and format are checked before anything is decoded."""
    try:
        if not file.is_file() and file.exists():
            raise UserError(f"{name}: is no regular file: name a WAV, FLAC or Ogg file")
        if file.stat().st_size > MAX_FILE_BYTES:
            raise UserError(f"{name}: larger than {MAX_FILE_BYTES // 1024 // 1024} MB: a clip is one utterance")
        _whole(file, name)
        with soundfile.SoundFile(file) as sound:
            if sound.format not in FORMATS:
                raise UserError(f"{name}: {sound.format} is none of WAV, FLAC, Ogg: convert it")
            if not RATES[0] <= sound.samplerate <= RATES[1]:
                raise UserError(f"{name}: {sound.samplerate} Hz is outside {RATES[0]} to {RATES[1]}: convert it")
            if sound.channels > 2:
                raise UserError(f"{name}: has {sound.channels} channels: mix it down to one")
            seconds = sound.frames / sound.samplerate
            if not LENGTH_S[0] <= seconds <= LENGTH_S[1]:
                raise UserError(f"{name}: takes {seconds:.2f} s, and a clip takes {LENGTH_S[0]:g} to {LENGTH_S[1]:g} s")
            frames = sound.read(dtype="float64", always_2d=True)
            if len(frames) < sound.frames:
                raise UserError(f"{name}: is cut: it holds {len(frames)} of {sound.frames} samples")
            return frames, int(sound.samplerate)
    except OSError as error:
        raise UserError(f"{name}: cannot be read ({error.strerror or error})") from None
    except soundfile.SoundFileError:
        raise UserError(f"{name}: cannot be decoded as audio: save it as WAV") from None


def _whole(file: Path, name: str) -> None:
    """A WAV must hold as many bytes of sound as its header says: the decoder takes a file that was cut for a shorter one."""
    with file.open("rb") as opened:
        head = opened.read(12)
        if head[:4] != b"RIFF" or head[8:] != b"WAVE":
            return
        size = file.stat().st_size
        while len(chunk := opened.read(8)) == 8:
            length = int.from_bytes(chunk[4:], "little")
            if chunk[:4] == b"data":
                held = size - opened.tell()
                if held < length:
                    raise UserError(f"{name}: is cut: it holds {held} of {length} bytes of sound")
                return
            opened.seek(length + length % 2, 1)


def _clean(lanes: Any, name: str) -> None:
    """No damage that mixing or levelling would hide: each channel is looked at by itself."""
    if not np.all(np.isfinite(lanes)):
        raise UserError(f"{name}: holds values that are no numbers: save it again")
    full = np.abs(lanes) >= 0.9999
    if any((np.convolve(lane, np.ones(CUT_RUN), mode="valid") >= CUT_RUN).any() for lane in full.T):
        raise UserError(f"{name}: cut off at full scale in {int(full.sum())} samples: record it quieter")


def _resampled(sound: Any, rate: int) -> Pcm:
    pcm = np.rint(np.clip(sound, -1.0, 1.0) * 32_767.0).astype(np.int16)
    stream = Resampler(rate, RATE)
    return pcm_from_bytes(stream.feed(pcm_bytes(pcm)) + stream.finish())


def give(speech: Path, out: Path) -> list[OwnClip]:
    """Write every clip as WAV beside a list that ``take`` reads again; returns the clips.

    Raises:
        BankError: there are none, or one is damaged; UserError: the folder exists already, or cannot be written.
    """
    clips: Sequence[OwnClip] = read_own(speech).clips
    if not clips:
        raise BankError(f"{speech}: holds no clips; record a scenario, or import some.")
    try:
        out.mkdir(parents=True, mode=0o700)
        rows = io.StringIO()
        writer = csv.writer(rows)
        writer.writerow(["file", "text", "role", "act", "session", "turns"])
        for clip in clips:
            name = f"{Path(clip.file).stem}.wav"
            soundfile.write(out / name, decoded(speech, clip), RATE, subtype="PCM_16")
            turns = " ".join(str(turn) for turn in (clip.turn, *clip.also) if turn is not None)
            writer.writerow([name, clip.text, clip.role, clip.act, clip.session or "", turns])
        (out / LIST_NAME).write_text(rows.getvalue(), encoding="utf-8")
    except FileExistsError:
        raise UserError(f"{out} is there already; name a folder that is not.") from None
    except OSError as error:
        raise UserError(f"{out} cannot be written ({error.strerror or error}); name another folder.") from None
    return list(clips)
