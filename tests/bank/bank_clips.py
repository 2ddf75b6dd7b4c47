"""Small synthetic clips for the bank's tests: bursts of tone for words, written with soundfile, no engine and no tool."""

from pathlib import Path

import numpy as np
import soundfile

from apex_tui.audio.frames import RATE, Pcm, silence, to_samples
from apex_tui.bank.manifest import ClipSpec
from apex_tui.bank.render import render


def tone(ms: float, level_db: float = -20.0) -> Pcm:
    """A 220 Hz tone of the given RMS with 5 ms ramps."""
    count = to_samples(ms)
    ramp = np.minimum(1.0, np.minimum(np.arange(count), np.arange(count)[::-1]) / 120)
    wave = np.sqrt(2) * 10 ** (level_db / 20) * 32768 * np.sin(2 * np.pi * 220 * np.arange(count) / RATE)
    pcm: Pcm = np.rint(np.clip(wave * ramp, -32768, 32767)).astype(np.int16)
    return pcm


def speak(text: str, voice: str) -> Pcm:
    """200 ms of tone for each word with 80 ms between words, and 300 ms of silence around."""
    pieces = [silence(to_samples(300))]
    for _ in text.split():
        pieces += [tone(200), silence(to_samples(80))]
    return np.concatenate([*pieces, silence(to_samples(220))])


def encode(pcm: Pcm, file: Path, serial: int) -> None:
    soundfile.write(file, pcm, RATE, format="OGG", subtype="OPUS")


SPECS = (
    ClipSpec(id="agent.ask", role="agent", text="May I have your number", voice="heart"),
    ClipSpec(
        id="ans_amount.v1",
        role="caller",
        text="five hundred <pause 1.0s> fifty five",
        voice="am_michael",
        plan="ans_amount",
        variant="v1",
        facts=("amount",),
        hold=("555",),
    ),
)


def make_bank(directory: Path, specs: tuple[ClipSpec, ...] = SPECS) -> Path:
    render(specs, directory, speak=speak, encode=encode)
    return directory
