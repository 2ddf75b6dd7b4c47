"""Opening a speech bank for a session, and verifying a whole one.

A session decodes only the clips that its seed can choose, and checks each before the run starts: file digest, sample count,
PCM digest, wording. Every fault is a BankError of one sentence that names the file and the way out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from apex_tui.audio.clips import decode, file_digest, pcm_digest
from apex_tui.audio.frames import Pcm
from apex_tui.bank import shape
from apex_tui.bank.manifest import (
    MANIFEST_NAME,
    Clip,
    ClipSpec,
    Manifest,
    duplicates,
    load_manifest,
    render_hint,
    text_digest,
)
from apex_tui.timeline.errors import BankError, UserError

DECODERS = 2
"""Threads that decode the clips of a session before it begins."""

MAX_CLIP_FILE_BYTES = 8 * 1024 * 1024
"""Ten minutes at 24 kbit/s are under 2 MB; a larger file is refused before it is read."""


@dataclass(frozen=True)
class LoadedClip:
    """A verified clip: its manifest entry and its read-only samples (24 kHz mono)."""

    meta: Clip
    pcm: Pcm


@dataclass(frozen=True)
class Finding:
    """One fault that ``verify`` found: the file's name and a sentence."""

    file: str
    problem: str


def unique_specs(specs: Iterable[ClipSpec]) -> dict[str, ClipSpec]:
    """Specs by id. BankError when an id occurs twice."""
    listed = list(specs)
    twice = duplicates(spec.id for spec in listed)
    if twice:
        raise BankError(f"clip {twice[0]!r} is asked for twice; give each clip of the workflow its own id.")
    return {spec.id: spec for spec in listed}


class SpeechBank:
    """Decoded, verified clips of one workflow. ``altered``: ids that run with other PCM by consent, to be labelled."""

    def __init__(self, manifest: Manifest, clips: dict[str, LoadedClip], altered: tuple[str, ...]) -> None:
        self.manifest = manifest
        self.altered = altered
        self._clips = clips

    @classmethod
    def open(
        cls, directory: Path, specs: Iterable[ClipSpec], ids: Collection[str], *, allow_other_pcm: bool = False
    ) -> SpeechBank:
        """Decode and verify the clips ``ids`` that can be chosen. BankError: anything missing, cut, altered, out of date.

        ``allow_other_pcm``: a file with the right digest may decode to other samples (another build of the decoder); its
        length must still be the manifest's, since edges are sample positions.
        """
        wanted = unique_specs(specs)
        manifest = load_manifest(directory / MANIFEST_NAME)
        known = manifest.by_id()
        clips: dict[str, LoadedClip] = {}
        altered: list[str] = []
        current: list[Clip] = []
        for name in sorted(set(ids)):
            spec = wanted.get(name)
            if spec is None:
                raise BankError(f"clip {name!r} is none of the workflow's; check the workflow's clip ids.")
            current.append(_current(known, spec, directory))
        for clip, pcm in zip(current, _all_verified(current, directory), strict=True):
            name = clip.id
            if pcm_digest(pcm) != clip.pcm_sha256:
                if not allow_other_pcm:
                    raise BankError(_other_pcm(directory / clip.file))
                altered.append(name)
            pcm.setflags(write=False)
            clips[name] = LoadedClip(clip, pcm)
        return cls(manifest, clips, tuple(altered))

    def clip(self, name: str) -> LoadedClip:
        """A clip that was opened. BankError when it was not among the ids."""
        try:
            return self._clips[name]
        except KeyError:
            raise BankError(
                f"clip {name!r} was not opened for this session; it is not among the clips to choose."
            ) from None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the opened clips, sorted."""
        return tuple(self._clips)


def _current(known: dict[str, Clip], spec: ClipSpec, directory: Path) -> Clip:
    """The manifest's clip with the spec's present facts, plan and variant. BankError: missing, or wording changed."""
    clip = known.get(spec.id)
    hint = render_hint(directory.name)
    if clip is None:
        raise BankError(f"{directory / MANIFEST_NAME}: clip {spec.id!r} is missing; render it with {hint}.")
    if text_digest(clip) != text_digest(spec):
        raise BankError(
            f"{directory / clip.file}: out of date, its text or voice has changed; render it again with {hint}."
        )
    return Clip.model_validate({**clip.model_dump(), **spec.model_dump()})


def _all_verified(clips: list[Clip], directory: Path) -> list[Pcm]:
    """What ``_verified_pcm`` gives for each. The decoder leaves the interpreter free, so two processors share the work."""
    with ThreadPoolExecutor(DECODERS, thread_name_prefix="decode") as pool:
        return list(pool.map(lambda clip: _verified_pcm(clip, directory), clips))


def _verified_pcm(clip: Clip, directory: Path) -> Pcm:
    """Decoded samples of a file with the right digest and the right length."""
    file = directory / clip.file
    hint = f"render it again with {render_hint(directory.name)}"
    try:
        size = file.stat().st_size
        if size > MAX_CLIP_FILE_BYTES:
            raise BankError(f"{file}: larger than {MAX_CLIP_FILE_BYTES} bytes, so it is no clip; {hint}.")
        if file_digest(file) != clip.file_sha256:
            raise BankError(f"{file}: is not the rendered file (cut or altered, {size} bytes); {hint}.")
        pcm = _decoded(file, clip.file_sha256)
    except FileNotFoundError:
        raise BankError(f"{file}: the clip's file is missing; {hint}.") from None
    except OSError as error:
        raise BankError(f"{file}: cannot be read ({error.strerror}); check its permissions, or {hint}.") from error
    except BankError:
        raise
    except UserError as error:
        raise BankError(f"{file}: cannot be decoded ({str(error).rstrip('.')}); {hint}.") from error
    if len(pcm) != clip.samples:
        raise BankError(f"{file}: decodes to {len(pcm)} samples, not {clip.samples}; {hint}.")
    return pcm


@lru_cache(maxsize=256)
def _decoded(file: Path, sha256: str) -> Pcm:
    """The samples of a file whose content has that digest: a check of many sessions decodes each clip once."""
    del sha256  # only part of what is remembered
    pcm = decode(file)
    pcm.setflags(write=False)
    return pcm


def _other_pcm(file: Path) -> str:
    return (
        f"{file}: the right file, but it decodes to other samples than when it was rendered; install soundfile==0.14.0, "
        "which decodes it to the same samples everywhere."
    )


def verify(directory: Path, specs: Iterable[ClipSpec]) -> list[Finding]:
    """Check every clip of a bank against the workflow: digests, decoding, wording, edges measured again, nothing extra.

    An empty list means that all holds. Never raises for a faulty bank; the faults are the result.
    """
    try:
        wanted = unique_specs(specs)
        manifest = load_manifest(directory / MANIFEST_NAME)
    except BankError as error:
        return [Finding(MANIFEST_NAME, str(error))]
    known = manifest.by_id()
    findings = []
    for name, spec in wanted.items():
        try:
            current = _current(known, spec, directory)
        except BankError as error:
            findings.append(Finding(known[name].file if name in known else MANIFEST_NAME, str(error)))
            continue
        if current != known[name]:
            sentence = f"clip {name!r}: facts, plan or another field differ from the workflow's; render again."
            findings.append(Finding(current.file, sentence))
    for clip in manifest.clips:
        findings += [Finding(clip.file, problem) for problem in _clip_problems(clip, directory)]
        if clip.id not in wanted:
            findings.append(
                Finding(clip.file, f"clip {clip.id!r} is none of the workflow's; render again to remove it.")
            )
    listed = {clip.file for clip in manifest.clips} | {MANIFEST_NAME}
    for extra in sorted(path.name for path in directory.iterdir() if path.name not in listed):
        findings.append(Finding(extra, f"{directory / extra}: not in the manifest; remove it."))
    return findings


def _clip_problems(clip: Clip, directory: Path) -> list[str]:
    """What is wrong with one clip's file: digests first, then its edges and level measured again."""
    try:
        pcm = _verified_pcm(clip, directory)
    except BankError as error:
        return [str(error)]
    file = directory / clip.file
    if pcm_digest(pcm) != clip.pcm_sha256:
        return [_other_pcm(file)]
    try:
        found = shape.measure(pcm, [(start + end) // 2 for start, end in clip.pauses], clip.value_end_part)
    except ValueError as error:
        return [f"{file}: {error}; render it again."]
    stated = shape.Measured(clip.onset, clip.offset, clip.pauses, clip.value_end)
    if found != stated:
        return [f"{file}: edges measured as {found}, but the manifest says {stated}; render it again."]
    level = round(shape.active_level_db(pcm), 2)
    if level != clip.level_db:
        return [f"{file}: level measured as {level} dBFS, but the manifest says {clip.level_db}; render it again."]
    return []


def find_bank_root() -> Path:
    """Folder that holds one folder per workflow: ``speech_bank/`` of a checkout, else the wheel's copy. BankError: neither."""
    package = Path(__file__).resolve().parent.parent
    checkout = package.parent / "speech_bank"
    if checkout.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    carried = package / "_data" / "speech_bank"
    if carried.is_dir():
        return carried
    raise BankError(f"{carried}: the speech bank is missing from this installation; reinstall apex-tui.")
