"""A second analysis of ``audio.wav`` that shares no code with the instrument: only the standard library's WAV reader and a peak envelope.

It knows nothing of events, clips or replies. A lane sounds where the peak of a millisecond is above a fixed level; stretches closer than 150 ms are
one. From the two lanes alone it finds every interruption and every answer.
"""

from __future__ import annotations

import array
import sys
import wave
from pathlib import Path
from typing import NamedTuple

PEAK = 60
"""About -55 dBFS: far above the silence of a recording, far below any word of it."""
JOIN_MS = 150
RATE = 24_000


class Stretch(NamedTuple):
    """From the first to the last loud millisecond (``end`` exclusive)."""

    begin: int
    end: int


def stretches(lane: array.array[int]) -> list[Stretch]:
    """Where a lane sounds, in ms since the start of the file."""
    per_ms = RATE // 1000
    found: list[Stretch] = []
    for ms in range(len(lane) // per_ms):
        window = lane[ms * per_ms : (ms + 1) * per_ms]
        if max(window) < PEAK and min(window) > -PEAK:
            continue
        if found and ms - found[-1].end < JOIN_MS:
            found[-1] = Stretch(found[-1].begin, ms + 1)
        else:
            found.append(Stretch(ms, ms + 1))
    return found


def lanes(path: Path) -> tuple[list[Stretch], list[Stretch]]:
    """The stretches of the caller (left) and of the agent (right)."""
    with wave.open(str(path)) as wav:
        if (wav.getnchannels(), wav.getframerate(), wav.getsampwidth()) != (2, RATE, 2):
            raise SystemExit(f"{path}: not a stereo 24 kHz 16-bit recording")
        samples = array.array("h", wav.readframes(wav.getnframes()))
    if sys.byteorder == "big":
        samples.byteswap()
    return stretches(samples[0::2]), stretches(samples[1::2])


def stop_delays(caller: list[Stretch], agent: list[Stretch], window_ms: int = 2000) -> list[int | None]:
    """For each caller stretch that begins while the agent sounds: ms until the agent's last loud ms; None: not within the window."""
    out: list[int | None] = []
    for turn in caller:
        under = next((s for s in agent if s.begin < turn.begin < s.end), None)
        if under is not None:
            delay = under.end - turn.begin
            out.append(delay if delay <= window_ms else None)
    return out


def answers(caller: list[Stretch], agent: list[Stretch]) -> list[int]:
    """For each caller stretch: ms from its end to the beginning of the agent's next stretch; negative when that began before the end."""
    out = []
    for turn, following in zip(caller, [*caller[1:], None], strict=True):
        until = following.begin if following is not None else 1 << 60
        answer = next((s for s in agent if turn.begin < s.begin < until), None)
        if answer is not None:
            out.append(answer.begin - turn.end)
    return out
