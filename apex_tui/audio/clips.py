"""Clips: short mono files that are decoded once, before a session, and identified by their digests.

In here: ``decode`` (WAV, FLAC, Ogg Opus or Vorbis through the pinned soundfile, so that the samples are the same on
every machine), the digests of files and of samples, and how a coder is kept from losing Ctrl-C. Deliberately not in
here: what a digest should be; the speech bank's manifest knows that.
"""

from __future__ import annotations

import hashlib
import io
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile

from apex_tui.audio.containers import parse_ogg, parse_wav
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.paths import refuse_pipe

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_CLIP_SAMPLES = 10 * 60 * RATE
"""Ten minutes: no utterance is longer, and a small compressed file must not unpack into gigabytes."""


class AudioError(UserError):
    """An audio file or device that cannot be used."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C back for a block in which soundfile reads from or writes to memory; it is answered right after.

    libsndfile asks for bytes through a callback, which can raise nothing: the interrupt would be lost, and the bytes missing with it.
    """
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield  # signals are the main thread's, and a handler that Python does not know cannot be put back
        return
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held and callable(before):
            before(held[0], None)


def decode(path: Path) -> Pcm:
    """Decode a whole 24 kHz mono file to 16-bit samples.

    Raises ``AudioError`` when the file is missing, cut, too long, no audio, or of another rate or channel count.
    """
    raw = _read(path)
    if _is_cut(raw):
        raise AudioError(f"{path} is cut: it ends before its audio does; restore or render it again")
    try:
        with undisturbed(), soundfile.SoundFile(io.BytesIO(raw)) as file:
            if file.samplerate != RATE or file.channels != 1:
                raise AudioError(
                    f"{path} has {file.channels} channel(s) at {file.samplerate} Hz; a clip is mono at {RATE} Hz"
                )
            if file.frames > MAX_CLIP_SAMPLES:
                raise AudioError(
                    f"{path} is longer than {MAX_CLIP_SAMPLES // RATE // 60} minutes; a clip is one utterance"
                )
            declared = int(file.frames)
            pcm = file.read(dtype="int16")
    except soundfile.SoundFileError as error:
        raise AudioError(f"{path} cannot be decoded as audio: it is damaged or of a foreign format") from error
    if len(pcm) < declared:
        raise AudioError(f"{path} is cut: it holds {len(pcm)} of {declared} samples; restore or render it again")
    return np.ascontiguousarray(pcm, dtype=np.int16)


def pcm_digest(pcm: Pcm) -> str:
    """Return the SHA-256 (hex) of the samples as little-endian 16-bit bytes, without a header."""
    return hashlib.sha256(pcm_bytes(pcm)).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes. Raises ``AudioError`` when it cannot be read."""
    return hashlib.sha256(_read(path)).hexdigest()


def _read(path: Path) -> bytes:
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise AudioError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise AudioError(f"{path} is larger than {MAX_FILE_BYTES // 1024 // 1024} MB; a clip is one utterance")
    return raw


def _is_cut(raw: bytes) -> bool:
    if raw[:4] == b"OggS":
        return not parse_ogg(raw).whole
    if raw[:4] == b"RIFF":
        wav = parse_wav(raw)
        return wav is None or not wav.whole
    return False  # FLAC declares its length, and foreign formats fail to decode
