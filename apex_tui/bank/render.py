"""Renders the clips of a workflow into its folder of the bank: speak, shape, encode, then measure what was encoded.

Edges and digests are taken from the *decoded* Ogg Opus file, since that is what a session plays. Clips whose text, voice
and engine are unchanged are kept, so rendering again changes no byte. Needs the extra ``render`` and ``opusenc`` - but
only when something is to be rendered.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from apex_tui.audio.clips import decode, file_digest, pcm_digest
from apex_tui.audio.frames import RATE, Pcm
from apex_tui.bank import shape
from apex_tui.bank.bank import unique_specs
from apex_tui.bank.manifest import (
    MANIFEST_NAME,
    MAX_CLIP_SAMPLES,
    SLUG,
    Clip,
    ClipSpec,
    Manifest,
    load_manifest,
    text_digest,
    write_manifest,
)
from apex_tui.bank.marks import parse_speech
from apex_tui.bank.voices import Voices, engine_of, sources_of, voice_names
from apex_tui.timeline.errors import BankError, UserError

REVISION = 2
"""Raise it when trimming, level or encoding change: every clip is then rendered again."""
BITRATE_KBPS = 24
"""15 MB for 72 minutes; word error rates of the recogniser do not move against the uncompressed clip."""
ENCODE_TIMEOUT_S = 60.0

Speak = Callable[[str, str], Pcm]
"""(plain words, voice) -> 24 kHz mono."""
Encode = Callable[[Pcm, Path, int], None]
"""(pcm, file to write, serial number of the Ogg stream)."""


@dataclass(frozen=True)
class Rendered:
    """What one call of ``render`` did: clip ids in the order of the specs, files removed, seconds of audio in the bank."""

    rendered: tuple[str, ...]
    kept: tuple[str, ...]
    removed: tuple[str, ...]
    audio_s: float


def render(
    specs: Iterable[ClipSpec],
    directory: Path,
    jobs: int = 1,
    only_changed: bool = True,
    *,
    workflow: str | None = None,
    on_clip: Callable[[str], None] | None = None,
    speak: Speak | None = None,
    encode: Encode | None = None,
) -> Rendered:
    """Bring ``directory`` (named like the workflow unless told) up to date with ``specs`` and write its manifest.

    Finished clips are in the manifest even when a later one fails or the run is interrupted. BankError: clips whose sound
    is suspicious, named together after all others are done. UserError: missing extra, ``opusenc``, unknown voice.
    """
    wanted = unique_specs(specs)
    name = workflow or directory.name
    if not re.fullmatch(SLUG, name):
        raise UserError(f"workflow {name!r} is no slug (lower case, digits, . _ -); rename the folder of its clips.")
    for spec in wanted.values():
        engine_of(spec.voice)  # an unknown voice is told before anything is written
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / MANIFEST_NAME
    before = _old_manifest(path)
    old = before.by_id() if only_changed and before is not None and before.revision == REVISION else {}
    current = {spec.id: _kept(old[spec.id], spec, directory) for spec in wanted.values() if spec.id in old}
    kept = {clip.id: clip for clip in current.values() if clip is not None}
    todo = [spec for spec in wanted.values() if spec.id not in kept]
    encoder = before.encoder if before is not None and not todo else ""
    if todo:
        encoder = opusenc_version() if encode is None else "injected"
    done = dict(kept)
    try:
        failed = _render_all(todo, directory, jobs, done, on_clip, speak or Voices().synth, encode or opusenc)
    finally:
        clips = _in_order(wanted, done, before, directory)
        manifest = Manifest(
            schema_version=1,
            workflow=name,
            revision=REVISION,
            encoder=encoder,
            sources=sources_of({clip.voice for clip in clips}),
            clips=clips,
        )
        if clips or not todo:
            write_manifest(path, manifest)
    if failed:
        raise BankError(_failure(failed, directory))
    removed = _remove_leftovers(before, manifest, directory)
    rendered = tuple(spec.id for spec in todo)
    audio_s = sum(clip.samples for clip in clips) / RATE
    return Rendered(rendered, tuple(kept), removed, audio_s)


def _failure(failed: dict[str, str], directory: Path) -> str:
    named = "; ".join(f"{name}: {why}" for name, why in list(failed.items())[:3])
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return f"{directory}: {named}{more}; change the wording or the voice of these clips and render again."


def _old_manifest(path: Path) -> Manifest | None:
    """None when there is none or it cannot be used: rendering is the way out that its errors name."""
    try:
        return load_manifest(path)
    except BankError:
        return None


def _kept(clip: Clip, spec: ClipSpec, directory: Path) -> Clip | None:
    """The clip with the spec's present facts, plan and variant, its edges measured again, or None: render it anew.

    Measuring again keeps the manifest true when the edge detector changes; the audio stays as it is.
    """
    unchanged = text_digest(clip) == text_digest(spec) and (clip.engine, clip.engine_sha256) == engine_of(spec.voice)
    if not unchanged or not _is_intact(clip, directory):
        return None
    middles = tuple((start + end) // 2 for start, end in clip.pauses)
    try:
        again = describe(spec, directory / clip.file, middles)
    except (ValueError, UserError):
        return None
    return again if again.pcm_sha256 == clip.pcm_sha256 else None


def _in_order(
    wanted: dict[str, ClipSpec], done: dict[str, Clip], before: Manifest | None, directory: Path
) -> tuple[Clip, ...]:
    """Finished clips, and for those that failed the earlier entry if its file is still the one it describes.

    An entry that survives keeps its old text, so that opening says that it is out of date and no good clip is lost.
    """
    old = before.by_id() if before is not None and before.revision == REVISION else {}
    clips = []
    for name in wanted:
        clip = done.get(name) or old.get(name)
        if clip is not None and (name in done or (clip.voice in voice_names() and _is_intact(clip, directory))):
            clips.append(clip)
    return tuple(clips)


def _is_intact(clip: Clip, directory: Path) -> bool:
    file = directory / clip.file
    return file.is_file() and file_digest(file) == clip.file_sha256


def _render_all(
    todo: list[ClipSpec],
    directory: Path,
    jobs: int,
    done: dict[str, Clip],
    on_clip: Callable[[str], None] | None,
    speak: Speak,
    encode: Encode,
) -> dict[str, str]:
    """Render into ``done``; returns why clips failed. Threads suffice: the engines compute outside the interpreter's lock."""
    failed: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        running: dict[Future[Clip], str] = {
            pool.submit(render_clip, spec, directory, speak, encode): spec.id for spec in todo
        }
        try:
            for future in as_completed(running):
                name = running[future]
                try:
                    done[name] = future.result()
                except ValueError as error:
                    failed[name] = str(error)
                if on_clip is not None:
                    on_clip(name)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return {spec.id: failed[spec.id] for spec in todo if spec.id in failed}


def render_clip(spec: ClipSpec, directory: Path, speak: Speak, encode: Encode) -> Clip:
    """Speak, check, shape, encode and measure one clip. ValueError: the sound is suspicious or silent."""
    speech = parse_speech(spec.text)
    parts = []
    for words in speech.parts:
        spoken = speak(words, spec.voice)
        why = shape.suspicious_edge(spoken)
        if why is not None:
            raise ValueError(f"{why} ({words[:40]!r} by {spec.voice})")
        parts.append(shape.trim(spoken))
    joined, middles = shape.join(parts, speech.pauses_s)
    if len(joined) > MAX_CLIP_SAMPLES:
        raise ValueError(f"longer than {MAX_CLIP_SAMPLES // RATE} s")
    name = f"{spec.id}.opus"
    with tempfile.TemporaryDirectory(prefix=".rendering-", dir=directory) as work:
        file = Path(work) / name
        encode(shape.match_level(joined), file, stream_serial(spec.id))
        clip = describe(spec, file, middles)
        file.replace(directory / name)
    return clip


def describe(spec: ClipSpec, file: Path, middles: tuple[int, ...] = ()) -> Clip:
    """Measure a finished file: everything that the manifest says of it. ValueError: silent, or an authored pause is lost."""
    pcm = decode(file)
    found = shape.measure(pcm, middles, spec.value_end_part)
    engine, engine_sha256 = engine_of(spec.voice)
    return Clip(
        **spec.model_dump(),
        file=file.name,
        samples=len(pcm),
        onset=found.onset,
        offset=found.offset,
        pauses=found.pauses,
        value_end=found.value_end,
        file_sha256=file_digest(file),
        pcm_sha256=pcm_digest(pcm),
        engine=engine,
        engine_sha256=engine_sha256,
        level_db=round(shape.active_level_db(pcm), 2),
    )


def _remove_leftovers(before: Manifest | None, after: Manifest, directory: Path) -> tuple[str, ...]:
    """Delete files that an earlier manifest lists and this one does not; a file that nobody rendered is left alone."""
    stale = {clip.file for clip in before.clips} - {clip.file for clip in after.clips} if before is not None else set()
    for name in stale:
        (directory / name).unlink(missing_ok=True)
    return tuple(sorted(stale))


def stream_serial(clip_id: str) -> int:
    """Serial number of the Ogg stream: from the id, so that encoding twice gives the same bytes (31 bits)."""
    return int.from_bytes(hashlib.blake2b(clip_id.encode(), digest_size=4).digest(), "big") & 0x7FFF_FFFF


def opusenc(pcm: Pcm, file: Path, serial: int) -> None:
    """Encode to Ogg Opus with the Debian tool, whose stream serial can be fixed. UserError: the tool is missing or fails."""
    raw = ["--raw", "--raw-bits", "16", "--raw-rate", str(RATE), "--raw-chan", "1", "--raw-endianness", "0"]
    command = [
        _opusenc_path(),
        "--quiet",
        "--bitrate",
        str(BITRATE_KBPS),
        "--serial",
        str(serial),
        *raw,
        "-",
        str(file),
    ]
    data = pcm.astype("<i2").tobytes()
    done = subprocess.run(command, input=data, capture_output=True, timeout=ENCODE_TIMEOUT_S, check=False)
    if done.returncode != 0:
        why = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1][:200]
        raise UserError(f"opusenc could not write {file.name} ({why}); check the disk and the tool, then render again.")


def opusenc_version() -> str:
    """First line of ``opusenc --version``. UserError when the tool is missing."""
    done = subprocess.run([_opusenc_path(), "--version"], capture_output=True, text=True, timeout=10, check=False)
    return (done.stdout.strip().splitlines() or ["opusenc"])[0]


def _opusenc_path() -> str:
    found = shutil.which("opusenc")
    if found is None:
        raise UserError(
            "opusenc is not installed (Debian: apt-get install opus-tools; macOS: brew install opus-tools)."
        )
    return found
