"""The recording of a session: one stereo file, left the caller as sent, right the agent as heard.

In here: ``LaneWriter``, a WAV whose header is true at every moment, so that a session that is killed keeps all but its
last 100 ms; and ``read_lanes``, which also reads what a kill or a full disk left, and the Ogg Opus of the examples.
Deliberately not in here: where a recording lies and what else belongs to a session.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from pathlib import Path

import numpy as np
import soundfile

from apex_tui.audio.clips import undisturbed
from apex_tui.audio.containers import parse_ogg, parse_wav
from apex_tui.audio.frames import FRAME_SAMPLES, RATE, SILENT_FRAME_BYTES, Pcm, pcm_bytes, silence, to_samples
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.paths import refuse_pipe

CHANNELS = 2
_FRAME_BYTES = 2 * CHANNELS
_HEADER_BYTES = 44
_FLUSH_SAMPLES = to_samples(100)
_SILENT_BOTH = bytes(_FRAME_BYTES * FRAME_SAMPLES)

MAX_RECORDING_SAMPLES = 4 * 3600 * RATE
"""Four hours (1.4 GB): far above any session, and far below what the 32-bit sizes of a WAV can say."""


class LaneWriter:
    """Writes the two lanes as they are sealed.

    ``caller_sha256`` and ``agent_sha256`` are the digests (hex) of each lane's bytes so far.
    """

    def __init__(self, path: Path) -> None:
        """Start a new file at ``path``; an older one is replaced. Raises ``RecordingError`` when that fails."""
        self.samples = 0
        self._path = path
        self._waiting: list[bytes] = []
        self._waiting_samples = 0
        self._written = 0  # bytes of audio in the file
        self._caller = hashlib.sha256()
        self._agent = hashlib.sha256()
        draft = path.with_name(path.name + ".new")
        try:
            # The file appears under its name with its header, never empty.
            draft.write_bytes(_header(0))
            draft.replace(path)
            self._file = path.open("r+b", buffering=0)
        except OSError as error:
            raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error

    def append(self, caller: Pcm, agent: Pcm) -> None:
        """Add the next samples of both lanes, equally many of each.

        Raises ``ValueError`` when the lengths differ or the writer is closed, ``RecordingError`` when the disk refuses
        or the recording reaches four hours.
        """
        if len(caller) != len(agent):
            raise ValueError(f"both lanes advance together: {len(caller)} samples of caller, {len(agent)} of agent")
        if self._file.closed:
            raise ValueError("this recording is closed")
        if self.samples + len(caller) > MAX_RECORDING_SAMPLES:
            raise RecordingError(f"{self._path} has reached the longest recording, {_hours()} hours")
        one, two = pcm_bytes(caller), pcm_bytes(agent)
        self._caller.update(one)
        self._agent.update(two)
        self._waiting.append(_SILENT_BOTH if one is two is SILENT_FRAME_BYTES else _interleaved(caller, agent))
        self._waiting_samples += len(caller)
        self.samples += len(caller)
        if self._waiting_samples >= _FLUSH_SAMPLES:
            self._flush()

    def close(self) -> None:
        """Write what waits and close the file; a second call does nothing."""
        if self._file.closed:
            return
        try:
            self._flush()
        finally:
            self._file.close()

    @property
    def caller_sha256(self) -> str:
        """SHA-256 of the caller lane's bytes so far."""
        return self._caller.hexdigest()

    @property
    def agent_sha256(self) -> str:
        """SHA-256 of the agent lane's bytes so far."""
        return self._agent.hexdigest()

    def _flush(self) -> None:
        """Append the audio first and only then let the header claim it."""
        audio = b"".join(self._waiting)
        if not audio:
            return
        try:
            _write_all(self._file.fileno(), audio, _HEADER_BYTES + self._written)
            self._written += len(audio)
            _write_all(self._file.fileno(), _header(self._written), 0)
        except OSError as error:
            raise RecordingError(f"{self._path} cannot be written: {error.strerror or error}") from error
        # Kept until here: what a full disk refused is written by the next flush, at its own place.
        self._waiting.clear()
        self._waiting_samples = 0


def _interleaved(caller: Pcm, agent: Pcm) -> bytes:
    both = np.empty((len(caller), CHANNELS), dtype="<i2")
    both[:, 0] = caller
    both[:, 1] = agent
    return both.tobytes()


def read_lanes(path: Path) -> tuple[Pcm, Pcm]:
    """Return (caller, agent) of a recording, as far as it goes when it was cut; both are equally long.

    Raises ``RecordingError`` when the file cannot be read, or is not 24 kHz stereo WAV (16 bits) or Ogg Opus.
    """
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            raw = file.read(_HEADER_BYTES + 65_536 + MAX_RECORDING_SAMPLES * _FRAME_BYTES)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error
    if raw[:4] == b"RIFF"[: len(raw)]:
        both = _wav_lanes(path, raw)
    elif raw[:4] == b"OggS"[: len(raw)]:
        both = _ogg_lanes(path, raw)
    else:
        raise RecordingError(f"{path} is neither a WAV nor an Ogg file; a recording is one of the two")
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def _wav_lanes(path: Path, raw: bytes) -> Pcm:
    wav = parse_wav(raw)
    if wav is None:
        if len(raw) >= _HEADER_BYTES:
            raise RecordingError(f"{path} is a WAV file without audio data; a recording has a data chunk")
        return _no_lanes()
    if wav.bits != 16:
        raise RecordingError(f"{path} has {wav.bits} bits a sample; a recording has 16")
    _check_lanes(path, wav.channels, wav.rate)
    start, end = wav.data
    end -= (end - start) % _FRAME_BYTES
    return (
        np.frombuffer(raw, dtype="<i2", count=(end - start) // 2, offset=start).astype(np.int16).reshape(-1, CHANNELS)
    )


def _ogg_lanes(path: Path, raw: bytes) -> Pcm:
    ogg = parse_ogg(raw)
    if not ogg.has_audio:
        return _no_lanes()
    try:
        with undisturbed(), soundfile.SoundFile(io.BytesIO(raw[: ogg.complete_bytes])) as file:
            _check_lanes(path, file.channels, file.samplerate)
            if file.frames > MAX_RECORDING_SAMPLES:
                raise RecordingError(f"{path} is longer than the longest recording, {_hours()} hours")
            return np.asarray(file.read(dtype="int16", always_2d=True), dtype=np.int16)
    except soundfile.SoundFileError as error:
        raise RecordingError(f"{path} cannot be decoded: it is damaged beyond a cut") from error


def _check_lanes(path: Path, channels: int, rate: int) -> None:
    if channels != CHANNELS or rate != RATE:
        raise RecordingError(f"{path} has {channels} channel(s) at {rate} Hz; a recording is stereo at {RATE} Hz")


def _no_lanes() -> Pcm:
    return silence(0).reshape(0, CHANNELS)


def _hours() -> int:
    return MAX_RECORDING_SAMPLES // RATE // 3600


def _header(data_bytes: int) -> bytes:
    """Return the 44 bytes before ``data_bytes`` of 16-bit stereo."""
    riff = struct.pack("<4sI4s", b"RIFF", _HEADER_BYTES - 8 + data_bytes, b"WAVE")
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, CHANNELS, RATE, RATE * _FRAME_BYTES, _FRAME_BYTES, 16)
    return riff + fmt + struct.pack("<4sI", b"data", data_bytes)


def _write_all(fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view = view[written:]
        at += written
