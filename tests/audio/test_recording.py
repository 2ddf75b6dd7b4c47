"""Recordings: true at every moment, readable however they were cut."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from apex_tui.audio import recording
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes, silence
from apex_tui.audio.recording import LaneWriter, read_lanes
from apex_tui.timeline.errors import RecordingError


def lanes(samples: int, seed: int = 1) -> tuple[Pcm, Pcm]:
    rng = np.random.default_rng(seed)
    caller, agent = rng.integers(-9000, 9000, (2, samples), dtype=np.int16)
    return caller, agent


def write(path: Path, caller: Pcm, agent: Pcm) -> LaneWriter:
    writer = LaneWriter(path)
    for at in range(0, len(caller), 480):
        writer.append(caller[at : at + 480], agent[at : at + 480])
    writer.close()
    return writer


def test_both_lanes_come_back_and_their_digests_are_theirs(tmp_path: Path) -> None:
    caller, agent = lanes(10_000)
    writer = write(tmp_path / "audio.wav", caller, agent)
    left, right = read_lanes(tmp_path / "audio.wav")
    assert np.array_equal(left, caller)
    assert np.array_equal(right, agent)
    assert writer.samples == 10_000
    assert writer.caller_sha256 == hashlib.sha256(pcm_bytes(caller)).hexdigest()
    assert writer.agent_sha256 == hashlib.sha256(pcm_bytes(agent)).hexdigest()
    both, rate = soundfile.read(tmp_path / "audio.wav", dtype="int16")
    assert rate == RATE
    assert np.array_equal(both, np.stack((caller, agent), axis=1))
    assert [entry.name for entry in tmp_path.iterdir()] == ["audio.wav"]


def test_the_file_is_whole_after_every_frame_and_at_most_100_ms_behind(tmp_path: Path) -> None:
    path = tmp_path / "audio.wav"
    caller, agent = lanes(480 * 23)
    writer = LaneWriter(path)
    assert soundfile.info(path).frames == 0
    for at in range(0, len(caller), 480):
        writer.append(caller[at : at + 480], agent[at : at + 480])
        info = soundfile.info(path)
        assert (info.channels, info.samplerate) == (2, RATE)
        assert at + 480 - 2400 < info.frames <= at + 480
        left, _ = read_lanes(path)
        assert np.array_equal(left, caller[: info.frames])
    writer.close()
    writer.close()
    assert soundfile.info(path).frames == len(caller)


def test_a_killed_session_keeps_its_recording(tmp_path: Path) -> None:
    path = tmp_path / "audio.wav"
    program = (
        "import sys, numpy as np; from pathlib import Path; from apex_tui.audio.recording import LaneWriter\n"
        "w = LaneWriter(Path(sys.argv[1])); f = np.full(480, 5, dtype=np.int16)\n"
        "for k in range(10**9):\n"
        "    w.append(f, -f)\n"
        "    if k == 50: print('going', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"going\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert soundfile.info(path).frames >= 45 * 480
    caller, agent = read_lanes(path)
    assert len(caller) == soundfile.info(path).frames
    assert (caller == 5).all()
    assert (agent == -5).all()


def test_a_wav_cut_at_any_byte_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    caller, agent = lanes(60)
    write(tmp_path / "whole.wav", caller, agent)
    raw = (tmp_path / "whole.wav").read_bytes()
    cut = tmp_path / "cut.wav"
    for size in range(len(raw) + 1):
        cut.write_bytes(raw[:size])
        left, right = read_lanes(cut)
        assert len(left) == len(right) == max(0, size - 44) // 4
        assert np.array_equal(left, caller[: len(left)])
        assert np.array_equal(right, agent[: len(right)])


def opus_bytes(seconds: float) -> bytes:
    t = np.arange(int(seconds * RATE)) / RATE
    both = np.stack((0.3 * np.sin(2 * np.pi * 300 * t), 0.1 * np.sin(2 * np.pi * 500 * t)), axis=1)
    buffer = io.BytesIO()
    soundfile.write(buffer, both, RATE, format="OGG", subtype="OPUS")
    return buffer.getvalue()


def test_an_ogg_opus_recording_is_read(tmp_path: Path) -> None:
    path = tmp_path / "audio.opus"
    path.write_bytes(opus_bytes(2.0))
    caller, agent = read_lanes(path)
    assert len(caller) == len(agent) == 2 * RATE
    assert np.abs(caller[4800:-4800]).max() == pytest.approx(0.3 * 32_767, rel=0.05)
    assert np.abs(agent[4800:-4800]).max() == pytest.approx(0.1 * 32_767, rel=0.08)


def test_an_ogg_opus_cut_anywhere_is_read_as_far_as_its_pages_go(tmp_path: Path) -> None:
    raw = opus_bytes(5.0)
    path = tmp_path / "audio.opus"
    lengths = []
    for size in [*range(0, 200, 7), *range(200, len(raw), len(raw) // 25), len(raw)]:
        path.write_bytes(raw[:size])
        caller, agent = read_lanes(path)
        assert len(caller) == len(agent)
        lengths.append(len(caller))
    assert lengths[0] == 0
    assert lengths[-1] == 5 * RATE
    assert lengths == sorted(lengths)
    assert any(0 < length < 5 * RATE for length in lengths)


def test_lanes_of_different_length_are_refused(tmp_path: Path) -> None:
    writer = LaneWriter(tmp_path / "audio.wav")
    with pytest.raises(ValueError, match="480 samples of caller, 479 of agent"):
        writer.append(silence(480), silence(479))
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.append(silence(480), silence(480))


def test_what_a_full_disk_refused_is_written_later_at_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, agent = lanes(4800)
    writer = LaneWriter(tmp_path / "audio.wav")

    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(RecordingError, match="No space left"):
            writer.append(caller[:2400], agent[:2400])
    writer.append(caller[2400:], agent[2400:])
    writer.close()
    left, right = read_lanes(tmp_path / "audio.wav")
    assert np.array_equal(left, caller)
    assert np.array_equal(right, agent)


def test_a_recording_has_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_RECORDING_SAMPLES", 1000)
    writer = LaneWriter(tmp_path / "audio.wav")
    writer.append(silence(960), silence(960))
    with pytest.raises(RecordingError, match="longest recording"):
        writer.append(silence(480), silence(480))
    writer.close()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"none/audio\.wav cannot be written"):
        LaneWriter(tmp_path / "none" / "audio.wav")
    with pytest.raises(RecordingError, match=r"gone\.wav cannot be read"):
        read_lanes(tmp_path / "gone.wav")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"ID3 something else entirely", "neither a WAV nor an Ogg"),
        (b"RIFF\x00\x00\x00\x00AVI " + bytes(60), "without audio data"),
    ],
)
def test_a_foreign_file_is_refused_in_one_sentence(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "audio.wav"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=complaint) as caught:
        read_lanes(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rate", "channels", "subtype", "complaint"),
    [
        (RATE, 1, "PCM_16", r"1 channel\(s\) at 24000 Hz"),
        (48_000, 2, "PCM_16", "at 48000 Hz"),
        (RATE, 2, "PCM_24", "24 bits"),
    ],
)
def test_a_wav_of_another_shape_is_refused(
    tmp_path: Path, rate: int, channels: int, subtype: str, complaint: str
) -> None:
    path = tmp_path / "audio.wav"
    soundfile.write(path, np.zeros((100, channels)), rate, subtype=subtype)
    with pytest.raises(RecordingError, match=complaint):
        read_lanes(path)


def test_chunks_before_and_after_the_audio_are_passed_over(tmp_path: Path) -> None:
    caller, agent = lanes(50)
    write(tmp_path / "whole.wav", caller, agent)
    raw = (tmp_path / "whole.wav").read_bytes()
    extra = b"LIST\x03\x00\x00\x00abc\x00"
    path = tmp_path / "extra.wav"
    path.write_bytes(raw[:36] + extra + raw[36:] + extra)
    left, right = read_lanes(path)
    assert np.array_equal(left, caller)
    assert np.array_equal(right, agent)
