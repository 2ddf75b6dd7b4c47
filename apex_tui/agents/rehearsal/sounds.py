"""What a rehearsal agent's lines sound like under a manner: exact beginnings, no gaps, silence and typing before words, remains after a stop.

Pure arithmetic on samples. Deliberately not in here: when anything is sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.audio.edges import audible_edges
from apex_tui.audio.frames import RATE, Pcm, silence, to_samples

HUM_HZ = 140.0
HUM = 460
"""Amplitude of the hum that fills gaps: -40 dBFS RMS, far above the threshold of the edge detector on a lane without noise."""

QUIET_BEFORE_WORDS_MS = 300.0
"""Between typing and words, so that the words have an onset of their own."""
CLICK_MS, CLICK_EVERY_MS = 15.0, 120.0
CLICK = 5_000

BURST_MS, BETWEEN_BURSTS_MS = 150.0, 300.0
RESUMED_MS = 1_200.0
"""How much of a line is said when it is resumed."""


@dataclass(frozen=True, slots=True)
class Line:
    """Words and their sound; the first ``lead`` samples are before the words."""

    text: str
    pcm: Pcm
    lead: int = 0


def prepared(pcm: Pcm, manner: Manner) -> Pcm:
    """A clip as this manner speaks it: cut to what is audible where the manner is exact, hummed through where it is steady."""
    if not manner.exact:
        return pcm
    try:
        begin, end = audible_edges(pcm)
    except ValueError:
        return pcm
    cut = pcm[max(0, begin) : end]
    return _hummed(cut) if manner.steady else cut


def opened(line: Line, manner: Manner) -> Line:
    """The first line of a reply, with the silence and the sound that the manner puts before its words."""
    before = [silence(to_samples(manner.leading_ms or 0.0))]
    if manner.noise_ms:
        before.append(typing(manner.noise_ms))
    lead = sum(len(part) for part in before)
    return Line(line.text, np.concatenate([*before, line.pcm]), lead) if lead else line


def typing(noise_ms: float) -> Pcm:
    """Clicks as of a keyboard, audible from the first sample on, then 300 ms of silence: ``noise_ms`` in all."""
    whole, sounding = silence(to_samples(noise_ms)), to_samples(max(0.0, noise_ms - QUIET_BEFORE_WORDS_MS))
    click = (CLICK * np.random.default_rng(7).uniform(-1.0, 1.0, to_samples(CLICK_MS))).astype(np.int16)
    for at in range(0, sounding, to_samples(CLICK_EVERY_MS)):
        piece = click[: sounding - at]
        whole[at : at + len(piece)] = piece
    return whole


def stale(pcm: Pcm, count: int) -> Pcm:
    """Bursts of a line that still come out after it was stopped: the loudest 150 ms of it, 300 ms apart."""
    size = min(to_samples(BURST_MS), len(pcm))
    energy = np.cumsum(np.square(pcm.astype(np.float64)))
    ahead = energy[size:] - energy[:-size] if len(pcm) > size else np.zeros(1)
    at = int(np.argmax(ahead))
    gap = silence(to_samples(BETWEEN_BURSTS_MS))
    return np.concatenate([part for _ in range(count) for part in (pcm[at : at + size], gap)])


def rest_of(line: Line, played_s: float) -> Line | None:
    """What is said on when a line is resumed after ``played_s`` of it: at most 1.2 s, with the words in it; None: it was at its end."""
    at = round(played_s * RATE)
    spoken = len(line.pcm) - line.lead
    if spoken <= 0 or at >= len(line.pcm) - to_samples(400):
        return None
    pcm = line.pcm[at : at + to_samples(RESUMED_MS)]
    words = line.text.split(" ")
    first, last = (len(words) * max(0, sample - line.lead) // spoken for sample in (at, at + len(pcm)))
    return Line(" ".join(words[first : max(first + 1, last)]), pcm)


def _hummed(pcm: Pcm) -> Pcm:
    phase = np.arange(len(pcm)) * (2 * np.pi * HUM_HZ / RATE)
    mixed = pcm.astype(np.float64) + HUM * np.cos(phase)
    out: Pcm = np.clip(np.rint(mixed), -32_768, 32_767).astype(np.int16)
    return out
