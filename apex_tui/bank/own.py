"""Speech of a person beside a recipe: ``<recipe>.speech/`` holds one clip a line, and ``manifest.json`` says which words each one says.

In here: the manifest, adding and removing clips, and finding the clip of a text with its digests checked. A clip is found by its words, so the
recipe may be edited freely: a line whose words change has no clip any more. Files are FLAC: the samples are kept to the bit, on every machine.
Deliberately not in here: cutting clips out of a session (``trials``), and reading files from elsewhere (``importing``).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import soundfile
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from apex_tui.audio.clips import decode, file_digest, pcm_digest, undisturbed
from apex_tui.audio.edges import segments
from apex_tui.audio.frames import RATE, Pcm, to_samples
from apex_tui.bank import shape
from apex_tui.bank.manifest import MANIFEST_NAME, MAX_CLIP_SAMPLES, MAX_MANIFEST_BYTES, Sample, Sha256, duplicates
from apex_tui.bank.marks import MIN_PAUSE_S
from apex_tui.timeline.errors import BankError
from apex_tui.timeline.paths import refuse_pipe
from apex_tui.workflow.lines import slug, without_pauses
from apex_tui.workflow.problems import problems, told

Role = Literal["caller", "agent"]
MAX_CLIPS = 500
WAY_OUT = "record or import it again"


class _Part(BaseModel):
    """Strict and frozen: a manifest from outside may hold nothing that is not named here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OwnClip(_Part):
    """One utterance of a person. Positions are samples at 24 kHz; ``pauses`` are silences of 0.3 s and more inside it.

    ``act``: what it is in the call (opening, answer to dates ...), for people. ``session`` and ``turn``: where it was recorded, ``also``: further
    turns that are in it, because the person went on; ``imported``: the name of the file that it came from.
    """

    file: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*\.flac$", max_length=140)]
    role: Role = "caller"
    text: Annotated[str, Field(min_length=1, max_length=4000)]
    act: Annotated[str, Field(max_length=200)] = ""
    samples: Annotated[int, Field(gt=0, le=MAX_CLIP_SAMPLES)]
    onset: Sample
    offset: Sample
    pauses: tuple[tuple[int, int], ...] = ()
    level_db: float = Field(ge=-120.0, le=0.0)
    file_sha256: Sha256
    pcm_sha256: Sha256
    session: Annotated[str, Field(max_length=400)] | None = None
    turn: int | None = None
    also: tuple[int, ...] = ()
    imported: Annotated[str, Field(max_length=400)] | None = None

    @model_validator(mode="after")
    def _positions_are_in_order(self) -> OwnClip:
        edges = [self.onset, *(edge for pause in self.pauses for edge in pause), self.offset]
        if any(a >= b for a, b in pairwise(edges)) or self.offset > self.samples:
            raise ValueError("onset, pauses, offset and samples are out of order")
        return self


class OwnSpeech(_Part):
    """The manifest. ``stands_in``: the folder of the speech bank that speaks the lines for which there is no clip, where it has them.

    ``consent``: when the recorded person agreed to being kept, and to which words.
    """

    schema_version: Literal[1] = 1
    stands_in: Annotated[str, Field(max_length=120)] | None = None
    consent: Annotated[str, Field(max_length=400)] | None = None
    clips: Annotated[tuple[OwnClip, ...], Field(max_length=MAX_CLIPS)] = ()

    @model_validator(mode="after")
    def _one_clip_a_text(self) -> OwnSpeech:
        twice = duplicates(f"{clip.role}: {_key(clip.text)}" for clip in self.clips)
        twice += duplicates(clip.file for clip in self.clips)
        if twice:
            raise ValueError(f"{twice[0][:80]!r} is there twice")
        return self

    def clip(self, role: Role, text: str) -> OwnClip | None:
        """The clip that says these words, or None. Pause marks of the text count for nothing: the person's own pauses are in the sound."""
        wanted = _key(text)
        return next((clip for clip in self.clips if clip.role == role and _key(clip.text) == wanted), None)


@dataclass(frozen=True, slots=True)
class NewClip:
    """A clip to be added: shaped samples (``shaped``) and what the manifest is to say of them."""

    text: str
    pcm: Pcm
    role: Role = "caller"
    act: str = ""
    session: str | None = None
    turn: int | None = None
    also: tuple[int, ...] = ()
    imported: str | None = None


def _key(text: str) -> str:
    return without_pauses(text).casefold()


def shaped(pcm: Pcm) -> Pcm:
    """Trim to the speech, digital silence around it, and bring it to the bank's level. ``ValueError``: nothing in it is audible, or too long."""
    found = shape.match_level(shape.trim(pcm))
    if len(found) > MAX_CLIP_SAMPLES:
        raise ValueError(f"longer than {MAX_CLIP_SAMPLES // RATE} s")
    return found


def read_own(folder: Path) -> OwnSpeech:
    """The manifest of a folder; an empty one where there is none yet.

    Raises:
        BankError: it cannot be read, or is not one.
    """
    path = folder / MANIFEST_NAME
    try:
        refuse_pipe(path)
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise BankError(f"{path}: larger than {MAX_MANIFEST_BYTES} bytes, so it is no manifest; {WAY_OUT}.")
        raw = path.read_bytes()
    except FileNotFoundError:
        return OwnSpeech()
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror or error}); check its permissions.") from None
    try:
        return OwnSpeech.model_validate_json(raw)
    except ValidationError as error:
        key, words = problems(error)[0]
        raise BankError(f"{path}: {told(key, words)}; {WAY_OUT}.") from None


def add_clips(
    folder: Path, clips: Sequence[NewClip], stands_in: str | None = None, consent: str | None = None
) -> OwnSpeech:
    """Write clips and the manifest; a clip with the words of an older one replaces it. Nothing changes when a clip cannot be used.

    Raises:
        BankError: a clip has no audible edges, or the disk refuses.
    """
    if folder.is_symlink():
        raise BankError(f"{folder}: is a link, and clips stay where the recipe is; put a folder in its place.")
    before = read_own(folder)
    taken: dict[tuple[str, str], OwnClip] = {(clip.role, _key(clip.text)): clip for clip in before.clips}
    written: list[OwnClip] = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for new in clips:
            written.append(_written(folder, new))
            taken[new.role, _key(new.text)] = written[-1]
        after = OwnSpeech(
            stands_in=stands_in or before.stands_in, consent=consent or before.consent, clips=tuple(taken.values())
        )
        _write(folder, after)
        _sweep(folder, (*before.clips, *written), after.clips)
    except BankError:
        _sweep(folder, written, before.clips)
        raise
    except OSError as error:
        raise BankError(f"{folder}: cannot be written ({error.strerror or error}); name another folder.") from None
    except ValidationError as error:
        _sweep(folder, written, before.clips)
        raise BankError(f"{folder}: {told(*problems(error)[0])}; take some of the clips out.") from None
    return after


def remove_clips(folder: Path, gone: Iterable[OwnClip]) -> OwnSpeech:
    """Take clips out, files first. Raises ``BankError``: the disk refuses."""
    before = read_own(folder)
    names = {clip.file for clip in gone}
    after = before.model_copy(update={"clips": tuple(clip for clip in before.clips if clip.file not in names)})
    try:
        _sweep(folder, before.clips, after.clips)
        _write(folder, after)
    except OSError as error:
        raise BankError(f"{folder}: cannot be written ({error.strerror or error}); check its permissions.") from None
    return after


def _sweep(folder: Path, before: Iterable[OwnClip], after: Iterable[OwnClip]) -> None:
    for name in {clip.file for clip in before} - {clip.file for clip in after}:
        (folder / name).unlink(missing_ok=True)


def _write(folder: Path, manifest: OwnSpeech) -> None:
    path = folder / MANIFEST_NAME
    part = path.with_name(path.name + ".part")
    part.write_text(manifest.model_dump_json(indent=1, exclude_none=True) + "\n", encoding="utf-8")
    os.replace(part, path)


def _written(folder: Path, new: NewClip) -> OwnClip:
    """Measure one clip and write it."""
    spans = segments(new.pcm)
    if not spans:
        raise BankError(f"{new.text[:60]!r}: nothing in it is audible; {WAY_OUT}.")
    least = to_samples(1000 * MIN_PAUSE_S)
    gaps = [(left[1], right[0]) for left, right in pairwise(spans)]
    digest = pcm_digest(new.pcm)
    words = re.sub(r"[^a-z0-9]+", "-", slug(new.text).lower())[:40].strip("-") or "clip"
    path = folder / f"{words}-{digest[:8]}.flac"
    sound = io.BytesIO()
    with undisturbed():
        soundfile.write(sound, new.pcm, RATE, format="FLAC", subtype="PCM_16")
    clip = OwnClip(
        file=path.name,
        role=new.role,
        text=new.text,
        act=new.act,
        samples=len(new.pcm),
        onset=spans[0][0],
        offset=spans[-1][1],
        pauses=tuple(gap for gap in gaps if gap[1] - gap[0] >= least),
        level_db=round(shape.active_level_db(new.pcm), 2),
        file_sha256=hashlib.sha256(sound.getvalue()).hexdigest(),
        pcm_sha256=digest,
        session=new.session,
        turn=new.turn,
        also=new.also,
        imported=new.imported,
    )
    path.write_bytes(sound.getvalue())
    return clip


def decoded(folder: Path, clip: OwnClip) -> Pcm:
    """The verified samples of a clip, read-only.

    Raises:
        BankError: the file is missing, or not what the manifest says.
    """
    path = folder / clip.file
    if not path.is_file():
        raise BankError(f"{path}: the clip's file is missing; {WAY_OUT}.")
    if file_digest(path) != clip.file_sha256:
        raise BankError(f"{path}: is not the file that was recorded (cut or altered); {WAY_OUT}.")
    pcm = decode(path)
    if len(pcm) != clip.samples or pcm_digest(pcm) != clip.pcm_sha256:
        raise BankError(f"{path}: decodes to other samples than were recorded; install soundfile==0.14.0.")
    pcm.setflags(write=False)
    return pcm
