"""Clips: decoded exactly or refused in one sentence."""

from __future__ import annotations

import hashlib
import io
import signal
from pathlib import Path

import numpy as np
import pytest
import soundfile

from apex_tui.audio import clips
from apex_tui.audio.clips import AudioError, decode, file_digest, pcm_digest, undisturbed
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes
from apex_tui.timeline.errors import UserError


def voice(samples: int = 12_000) -> Pcm:
    pcm: Pcm = np.rint(9000 * np.sin(np.arange(samples) * 2 * np.pi * 200 / RATE)).astype(np.int16)
    return pcm


def encoded(format_: str, subtype: str, pcm: Pcm | None = None, rate: int = RATE) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, voice() if pcm is None else pcm, rate, format=format_, subtype=subtype)
    return buffer.getvalue()


@pytest.mark.parametrize(("format_", "suffix"), [("WAV", "wav"), ("FLAC", "flac")])
def test_lossless_files_decode_to_the_same_samples(tmp_path: Path, format_: str, suffix: str) -> None:
    path = tmp_path / f"clip.{suffix}"
    path.write_bytes(encoded(format_, "PCM_16"))
    assert np.array_equal(decode(path), voice())
    assert decode(path).dtype == np.int16


def test_opus_decodes_at_its_length_and_level(tmp_path: Path) -> None:
    path = tmp_path / "clip.opus"
    path.write_bytes(encoded("OGG", "OPUS"))
    pcm = decode(path)
    assert len(pcm) == 12_000
    assert np.abs(pcm[2400:-2400]).max() == pytest.approx(9000, rel=0.05)
    assert np.array_equal(pcm, decode(path))


def test_digests_are_sha256_of_the_samples_and_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(encoded("WAV", "PCM_16"))
    assert pcm_digest(decode(path)) == hashlib.sha256(pcm_bytes(voice())).hexdigest()
    assert file_digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(("format_", "subtype"), [("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "OPUS")])
def test_a_cut_file_is_refused_wherever_it_is_cut(tmp_path: Path, format_: str, subtype: str) -> None:
    raw = encoded(format_, subtype)
    path = tmp_path / "clip.bin"
    for size in [0, 3, 10, 30, 43, 44, 45, *range(60, len(raw), max(1, len(raw) // 50)), len(raw) - 1]:
        path.write_bytes(raw[:size])
        with pytest.raises(AudioError) as caught:
            decode(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert issubclass(AudioError, UserError)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"\x89PNG not a sound at all", "damaged or of a foreign format"),
        (encoded("WAV", "PCM_16", rate=16_000), r"1 channel\(s\) at 16000 Hz"),
        (encoded("WAV", "PCM_16", np.zeros((10, 2), dtype=np.int16)), r"2 channel\(s\)"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(content)
    with pytest.raises(AudioError, match=complaint) as caught:
        decode(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for reader in (decode, file_digest):
        with pytest.raises(AudioError, match=r"none\.opus cannot be read: No such file"):
            reader(tmp_path / "none.opus")


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(encoded("WAV", "PCM_16"))
    monkeypatch.setattr(clips, "MAX_CLIP_SAMPLES", 11_999)
    with pytest.raises(AudioError, match="longer than"):
        decode(path)
    monkeypatch.setattr(clips, "MAX_FILE_BYTES", 1000)
    with pytest.raises(AudioError, match="larger than"):
        decode(path)


class InterruptedRead(io.BytesIO):
    """Ctrl-C comes while the decoder asks for bytes: inside a callback, out of which nothing can be raised."""

    def readinto(self, buffer: object) -> int:
        signal.raise_signal(signal.SIGINT)
        return super().readinto(buffer)  # type: ignore[arg-type]


@pytest.mark.parametrize(("format_", "subtype"), [("FLAC", "PCM_16"), ("OGG", "OPUS")])
def test_ctrl_c_while_a_clip_is_decoded_ends_the_command_and_is_no_damaged_clip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, subtype: str
) -> None:
    path = tmp_path / "clip"
    path.write_bytes(encoded(format_, subtype))
    whole = decode(path)
    monkeypatch.setattr(io, "BytesIO", InterruptedRead)
    with pytest.raises(KeyboardInterrupt):
        decode(path)
    monkeypatch.undo()
    assert np.array_equal(decode(path), whole)


def test_ctrl_c_that_was_held_back_is_answered_after_the_block_by_whoever_answered_it_before() -> None:
    told: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: told.append("told"))
    try:
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            assert told == []
        assert told == ["told"]
        signal.raise_signal(signal.SIGINT)
        assert told == ["told", "told"]
    finally:
        signal.signal(signal.SIGINT, before)
