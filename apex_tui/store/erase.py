"""Erasing a person from a recorded session: their voice becomes silence, their words are redacted, and a tombstone says so.

In here: one session's own files. What was measured stays, and so does the work that was done: the verdict of an erased session is the same.
Deliberately not in here: clips that were made of the session (``bank.own``), and copies that somebody exported.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apex_tui.audio.containers import parse_wav
from apex_tui.audio.frames import pcm_bytes, to_samples
from apex_tui.audio.recording import CHANNELS, read_lanes
from apex_tui.store.files import new_file
from apex_tui.store.meta import ERASED
from apex_tui.store.recording import Recording
from apex_tui.timeline.blobs import is_ref
from apex_tui.timeline.caller_facts import CallerTurnStarted, MicrophonePulse
from apex_tui.timeline.errors import RecordingError, UserError
from apex_tui.timeline.events import Event, to_line
from apex_tui.timeline.session_facts import SessionErased
from apex_tui.timeline.state import Turn
from apex_tui.timeline.view import SessionView

REDACTED = "[erased]"
AROUND_MS = (400.0, 700.0)
"""Silenced before the found onset and after the found end of a single turn: breath, and what the detector missed."""
WORDS: dict[str, tuple[str, ...]] = {
    "caller.turn_started": ("text",),
    "agent.heard_caller": ("text",),
    "person.decided": ("value",),
    "operator.marked": ("note",),
}
"""Event type -> keys that hold words of the person."""
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Erased:
    """What was done: seconds of the caller's lane that were silenced, texts that were redacted, and whether raw messages were removed."""

    silenced_s: float
    texts: int
    wire: bool


def erase(recording: Recording, utc: str, turns: Sequence[int] = ()) -> Erased:
    """Erase the caller of a session, or only some of their turns. Raw provider messages are removed in either case: they hold transcripts.

    Raises:
        UserError: there was no person, or there is no such turn.
        RecordingError: a file cannot be changed; nothing is half told: doing it again finishes it.
    """
    need_person(recording)
    meta = recording.meta
    events = list(recording.events)
    if recording.problem is not None and not events:
        raise RecordingError(f"{recording.folder.path}: {recording.problem}")
    chosen = _chosen(events, turns, meta.session)
    audio = recording.folder.find_audio()
    for own in (audio, recording.folder.wire, recording.folder.events):
        if own is not None and own.is_symlink():
            raise RecordingError(f"{own}: is a link; only a session's own files are erased: put the file in its place")
    digest, silenced = hashlib.sha256(b"").hexdigest(), 0.0
    if audio is not None:
        lane, _ = read_lanes(audio)
        digest = hashlib.sha256(pcm_bytes(lane)).hexdigest()
        spans = [(0, len(lane))] if chosen is None else _spans(chosen, events, len(lane))
        silenced = sum(to - start for start, to in spans) / 24_000
        _silence(audio, spans)
    wire = _drop_wire(recording.folder.wire)
    texts = _redact(recording.folder.events, events, chosen, utc, digest, tuple(turns))
    labels = tuple(dict.fromkeys((*meta.labels, ERASED)))
    recording.folder.write_meta(meta.completed(labels=labels))
    return Erased(round(silenced, 1), texts, wire)


def need_person(recording: Recording) -> None:
    """Raises ``UserError``: no person spoke in this session."""
    meta = recording.meta
    if meta.caller not in ("microphone", "recorded") and not any(_by_a_person(event) for event in recording.events):
        raise UserError(
            f"{meta.session}: no person spoke in it; the caller's voice is synthetic, so there is nobody to erase."
        )


def _by_a_person(event: Event) -> bool:
    """A turn that was found at a microphone: also of a session whose recorded caller somebody took over."""
    return isinstance(event.fact, CallerTurnStarted) and event.fact.detected


def _chosen(events: list[Event], turns: Sequence[int], session: str) -> list[Turn] | None:
    """The named turns; None: all of the session."""
    if not turns:
        return None
    known = {turn.number: turn for turn in SessionView.fold(events).state.turns}
    unknown = [number for number in turns if number not in known]
    if unknown:
        raise UserError(
            f"{session}: there is no turn {unknown[0]} of the caller; there are {', '.join(map(str, known)) or 'none'}."
        )
    return [known[number] for number in dict.fromkeys(turns)]


def _spans(turns: Iterable[Turn], events: list[Event], length: int) -> list[tuple[int, int]]:
    """Samples of the lane, which lies behind the voice by what the devices told."""
    late = max(
        (event.fact.input_latency_ms for event in events if isinstance(event.fact, MicrophonePulse)), default=0.0
    )
    found = []
    for turn in turns:
        end = turn.offset_ms if turn.offset_ms is not None else float("inf")
        until = length if end == float("inf") else to_samples(end + late + AROUND_MS[1])
        found.append((max(0, to_samples(turn.onset_ms - AROUND_MS[0])), min(length, until)))
    return found


def _silence(path: Path, spans: list[tuple[int, int]]) -> None:
    """Overwrite the caller's samples in place, so that no old copy stays behind on the disk as a deleted file."""
    if path.suffix != ".wav":
        raise RecordingError(f"{path}: only a WAV can be silenced in place; remove the file itself")
    try:
        with path.open("r+b") as file:
            head = file.read(65_536)
            wav = parse_wav(head if len(head) < 65_536 else head + file.read())
            if wav is None:
                raise RecordingError(f"{path} has no audio data; remove the file itself")
            for start, end in spans:
                _zero(file, wav.data[0] + 2 * CHANNELS * start, 2 * CHANNELS * (end - start))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error


def _zero(file: Any, at: int, size: int) -> None:
    """Zero the first of two interleaved 16-bit channels in a stretch of bytes."""
    while size > 0:
        file.seek(at)
        piece = bytearray(file.read(min(size, _PIECE)))
        if not piece:
            return
        piece[0::4] = bytes(len(piece[0::4]))
        piece[1::4] = bytes(len(piece[1::4]))
        file.seek(at)
        file.write(piece)
        at, size = at + len(piece), size - len(piece)


def _drop_wire(path: Path) -> bool:
    if not path.is_file():
        return False
    note = (
        json.dumps({"at_ms": 0.0, "dir": "note", "raw": "the raw messages were removed: the caller was erased"}) + "\n"
    )
    _replace(path, note.encode())
    return True


def _redact(
    path: Path, events: list[Event], chosen: list[Turn] | None, utc: str, digest: str, turns: tuple[int, ...]
) -> int:
    """Rewrite the log: redacted words, and the tombstone behind the last whole line. How many texts were redacted."""
    wanted = None if chosen is None else _events_of(chosen, events)
    try:
        lines = path.read_bytes().split(b"\n")[: len(events)]
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error
    texts, out, gone = 0, list[bytes](), list[str]()
    for line, event in zip(lines, events, strict=True):
        keys = WORDS.get(event.type, ())
        if not keys or (wanted is not None and event.seq not in wanted):
            out.append(line)
            continue
        record = json.loads(line)
        for key in keys:
            value = record["data"].get(key)
            if value not in (None, "", REDACTED):
                if is_ref(value):
                    gone.append(value["$blob"])
                record["data"][key] = REDACTED
                texts += 1
        out.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace"))
    last = events[-1]
    stone = SessionErased(utc=utc, turns=turns, caller_sha256=digest, texts=texts)
    out.append(to_line(Event(last.seq + 1, last.media_ms, last.wall_ns, stone, "operator")).encode())
    _replace(path, b"\n".join(out) + b"\n")
    for name in gone:
        (path.parent / "blobs" / Path(name).name).unlink(missing_ok=True)
    return texts


def _events_of(turns: list[Turn], events: list[Event]) -> set[int]:
    """Events that hold words of these turns: their start, every state of their transcript, and what keys said of them."""
    numbers = {turn.number for turn in turns}
    finals = {turn.heard_seq for turn in turns if turn.heard_seq is not None}
    items = {getattr(event.fact, "item", None) for event in events if event.seq in finals}
    found = set()
    for event in events:
        fact = event.fact
        mine = event.type in ("caller.turn_started", "person.decided") and getattr(fact, "turn", None) in numbers
        heard = event.type == "agent.heard_caller" and getattr(fact, "item", None) in items
        if mine or heard:
            found.add(event.seq)
    return found


def _replace(path: Path, content: bytes) -> None:
    """Write a new file in the place of an old one, whose bytes are overwritten first."""
    draft = path.with_name(path.name + ".new")
    try:
        with new_file(draft) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        old = path.with_name(path.name + ".old")
        path.replace(old)
        draft.replace(path)
        with old.open("r+b") as file:
            file.write(bytes(os.fstat(file.fileno()).st_size))
            file.flush()
            os.fsync(file.fileno())
        old.unlink()
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error
