"""The manifest of a speech bank: what is to be rendered, what was rendered, and from which models and licences.

Here are only the models, their text form, and reading them with one-sentence errors. Audio is opened in ``bank``,
made in ``render``. The file is ``manifest.json`` beside the clips of one workflow.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from apex_tui.bank.marks import parse_speech
from apex_tui.timeline.errors import BankError
from apex_tui.timeline.paths import refuse_pipe

MANIFEST_NAME = "manifest.json"
SCHEMA_VERSION = 1
MAX_MANIFEST_BYTES = 16 * 1024 * 1024
"""1,500 clips need about 2 MB; more than this is no manifest."""
MAX_CLIP_SAMPLES = 24_000 * 600
"""Ten minutes of 24 kHz audio; an utterance is seconds."""

SLUG = r"^[a-z0-9]+(?:[._-][a-z0-9]+)*$"
Slug = Annotated[str, Field(pattern=SLUG, max_length=120)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Engine = Literal["kokoro-82m-int8", "hibari-heart"]
Sample = Annotated[int, Field(ge=0, le=MAX_CLIP_SAMPLES)]


class _Model(BaseModel):
    """Strict and frozen: a manifest from outside may hold nothing that is not named here."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ClipSpec(_Model):
    """One utterance that a workflow may need, before it is rendered.

    ``text`` is as spoken and may hold pause marks (``five hundred <pause 2.0s> fifty-five``). ``facts`` are the ids of the
    facts that the words reveal. ``hold`` are the values that the audio says, as written (``"50055"``), for whoever has to
    compare them later. ``value_end_part`` states after which part of the text (0-based, parts lie between pause marks) the
    value is complete; None: after the last.
    """

    id: Slug
    role: Literal["caller", "agent"]
    text: str = Field(min_length=1, max_length=4000)
    voice: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=40)]
    plan: str | None = None
    variant: str | None = None
    facts: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()
    value_end_part: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _marks_hold_together(self) -> ClipSpec:
        parts = len(parse_speech(self.text).parts)
        if self.value_end_part is not None and self.value_end_part >= parts:
            raise ValueError(f"value_end_part is {self.value_end_part}, but the text has {parts} part(s)")
        return self


class Clip(ClipSpec):
    """One rendered utterance. All positions are samples at 24 kHz in the *decoded* file.

    ``onset``/``offset``: first and one past the last audible sample. ``pauses``: authored pauses, each from the last
    audible sample before to the first after it. ``value_end``: end of the last word of the value. ``level_db``: RMS of the
    active frames in dBFS (``shape.active_level_db``). ``engine_sha256`` covers weights, voice file and phonemiser.
    """

    file: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*\.opus$", max_length=140)]
    samples: Annotated[int, Field(gt=0, le=MAX_CLIP_SAMPLES)]
    onset: Sample
    offset: Sample
    pauses: tuple[tuple[int, int], ...] = ()
    value_end: Sample
    file_sha256: Sha256
    pcm_sha256: Sha256
    engine: Engine
    engine_sha256: Sha256
    level_db: float = Field(ge=-120.0, le=0.0)

    @model_validator(mode="after")
    def _positions_are_in_order(self) -> Clip:
        if not self.onset < self.offset <= self.samples:
            raise ValueError("onset, offset and samples are out of order")
        if not self.onset < self.value_end <= self.offset:
            raise ValueError("value_end lies outside onset..offset")
        if len(self.pauses) != len(parse_speech(self.text).pauses_s):
            raise ValueError("pauses are not those of the text")
        edges = [self.onset, *(edge for pause in self.pauses for edge in pause), self.offset]
        if any(a >= b for a, b in pairwise(edges)):
            raise ValueError("pauses are out of order or outside onset..offset")
        return self


class Source(_Model):
    """Where sound came from: a model, a voice file or a phonemiser, its version, digest and licence."""

    name: str
    version: str
    sha256: Sha256 | None
    licence: str


class Manifest(_Model):
    """Everything that lies in one workflow's folder of the bank.

    ``revision`` is the renderer's (trimming, level, encoding); clips of another revision are rendered again.
    """

    schema_version: Literal[1]
    workflow: Slug
    revision: int = Field(ge=1)
    encoder: str
    sources: tuple[Source, ...]
    clips: tuple[Clip, ...]

    @model_validator(mode="after")
    def _ids_and_files_are_unique(self) -> Manifest:
        for what, names in (("id", [c.id for c in self.clips]), ("file", [c.file for c in self.clips])):
            twice = duplicates(names)
            if twice:
                raise ValueError(f"{what} {twice[0]!r} occurs twice")
        return self

    def by_id(self) -> dict[str, Clip]:
        """Clips by their id."""
        return {clip.id: clip for clip in self.clips}


def duplicates(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, in the order of their second occurrence."""
    seen: set[str] = set()
    twice = []
    for name in names:
        if name in seen:
            twice.append(name)
        seen.add(name)
    return twice


def text_digest(spec: ClipSpec) -> str:
    """SHA-256 over what decides the sound: text, voice and where the value ends. Other fields may change freely."""
    decisive = {"text": spec.text, "voice": spec.voice, "value_end_part": spec.value_end_part}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def render_hint(workflow: str) -> str:
    """The way out that every error of the bank names."""
    return f"`apex-tui bank render {workflow}`"


def load_manifest(path: Path) -> Manifest:
    """Read a manifest; every fault is a BankError of one sentence that names the file and the way out."""
    hint = f"render it again with {render_hint(path.parent.name)}"
    try:
        refuse_pipe(path)
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise BankError(f"{path}: larger than {MAX_MANIFEST_BYTES} bytes, so it is no manifest; {hint}.")
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise BankError(
            f"{path}: {path.parent.name} has no speech; make it with {render_hint(path.parent.name)}, take in recordings with "
            f"`apex-tui bank import`, or check without it (`apex-tui workflows check --tones`)."
        ) from error
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error.strerror}); check its permissions, or {hint}.") from error
    try:
        version = _version_of(raw)
    except (ValueError, RecursionError) as error:
        raise BankError(f"{path}: not a JSON object with a whole number as schema_version; {hint}.") from error
    if version > SCHEMA_VERSION:
        raise BankError(f"{path}: written by a newer version (schema {version}); update apex-tui, or {hint}.")
    try:
        return Manifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole file"
        why = "unknown key" if first["type"] == "extra_forbidden" else " ".join(str(first["msg"]).split())
        raise BankError(f"{path}: {field}: {why}; {hint}.") from error


def _version_of(raw: bytes) -> int:
    """schema_version of a JSON object; ValueError when there is none."""
    head = json.loads(raw)
    version = head.get("schema_version") if isinstance(head, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("no schema_version")
    return version


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write atomically (a reader sees the old or the new file, never half of one); same content, same bytes."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(part, path)
