"""Pure arithmetic on clips at 24 kHz: level, trimming, joining with silence, and finding authored pauses again.

No files and no models. Edges always come from ``apex_tui.audio.edges``, the detector of the live lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from apex_tui.audio.edges import audible_edges, segments
from apex_tui.audio.frames import RATE, Pcm, silence, to_samples

LEAD_MS = 30.0
"""Before the first sample of speech."""
TAIL_MS = 60.0
"""After the last sample of speech: room for what the codec smears."""
FADE_IN_MS = 6.0
FADE_OUT_MS = 10.0
"""Just outside the speech, so that a clip starts and ends without a click and its audible edges are those of the words."""
TARGET_DB = -23.0
"""Active level of every clip in dBFS: peaks of speech then lie near -6 dBFS, far from clipping."""
PEAK_LIMIT = 29_204
"""-1 dBFS; the gain is held below it."""

_FRAME = RATE // 50
GATE_DB = -60.0
"""Frames (dBFS) below it are no speech in a clip."""
_RELATIVE_GATE_DB = -20.0


@dataclass(frozen=True)
class Measured:
    """Edges of a decoded clip in samples; see ``manifest.Clip`` for their meaning."""

    onset: int
    offset: int
    pauses: tuple[tuple[int, int], ...]
    value_end: int


def active_level_db(pcm: Pcm) -> float:
    """Gated RMS in dBFS (full scale 32768): 20 ms frames above -60 dBFS and within 20 dB of those frames' mean.

    Pauses do not count, so clips with and without a pause get the same loudness. -120.0 when nothing is above the gate.
    """
    whole = len(pcm) // _FRAME * _FRAME
    if whole == 0:
        return -120.0
    frames = pcm[:whole].astype(np.float64).reshape(-1, _FRAME) / 32768.0
    power = np.mean(frames * frames, axis=1)
    loud = power[power > 10 ** (GATE_DB / 10)]
    if loud.size == 0:
        return -120.0
    active = loud[loud >= np.mean(loud) * 10 ** (_RELATIVE_GATE_DB / 10)]
    return float(10 * np.log10(np.mean(active)))


def match_level(pcm: Pcm, target_db: float = TARGET_DB) -> Pcm:
    """Scale to the target level, but never above a peak of -1 dBFS. ValueError when there is nothing to scale."""
    level = active_level_db(pcm)
    if level <= -120.0:
        raise ValueError("no audible speech")
    peak = int(np.max(np.abs(pcm.astype(np.int32))))
    gain = min(10 ** ((target_db - level) / 20), PEAK_LIMIT / peak)
    return np.rint(pcm.astype(np.float64) * gain).astype(np.int16)


def spoken_edges(pcm: Pcm) -> tuple[int, int]:
    """First and last sample of speech: where the 5 ms level crosses 35 dB below the loudest. ValueError when silent.

    The detector of the live lanes is far more sensitive in digital silence; breath and room after the last word would count as speech.
    """
    hop = RATE // 200
    whole = len(pcm) // hop * hop
    power = np.mean(pcm[:whole].astype(np.float64).reshape(-1, hop) ** 2, axis=1)
    if power.size == 0 or float(np.max(power)) <= 0.0:
        raise ValueError("no audible speech")
    speech = np.flatnonzero(power >= np.max(power) * 10 ** (-QUIET_BELOW_PEAK_DB / 10))
    return int(speech[0]) * hop, (int(speech[-1]) + 1) * hop


def trim(pcm: Pcm) -> Pcm:
    """Cut to the speech, fade what lies just outside it, and put digital silence around: 30 ms before, 60 ms after.

    So the audible edges of a clip are the edges of its words, whatever the voice breathes. ValueError when silent.
    """
    audible_edges(pcm)  # a sound that the live detector would not hear at all is refused
    onset, offset = spoken_edges(pcm)
    fade_in, fade_out = to_samples(FADE_IN_MS), to_samples(FADE_OUT_MS)
    begin, end = max(0, onset - fade_in), min(len(pcm), offset + fade_out)
    cut = pcm[begin:end].astype(np.float64)
    cut[: onset - begin] *= np.arange(onset - begin) / max(1, onset - begin)
    cut[len(cut) - (end - offset) :] *= np.arange(end - offset)[::-1] / max(1, end - offset)
    lead = silence(to_samples(LEAD_MS) - (onset - begin))
    tail = silence(to_samples(TAIL_MS) - (end - offset))
    return np.concatenate([lead, np.rint(cut).astype(np.int16), tail])


def join(parts: Sequence[Pcm], pauses_s: Sequence[float]) -> tuple[Pcm, tuple[int, ...]]:
    """Join trimmed parts with digital silence, so that each *audible* gap has the authored length.

    The parts' own lead and tail are part of the gap. Also returns the middle sample of each inserted silence, by which
    ``measure`` finds the gap again in the decoded clip.
    """
    if len(parts) != len(pauses_s) + 1:
        raise ValueError(f"{len(parts)} parts need {len(parts) - 1} pauses, not {len(pauses_s)}")
    pieces, middles, length = [parts[0]], [], len(parts[0])
    for pause_s, part in zip(pauses_s, parts[1:], strict=True):
        gap = to_samples(pause_s * 1000 - LEAD_MS - TAIL_MS)
        middles.append(length + gap // 2)
        pieces += [silence(gap), part]
        length += gap + len(part)
    return np.concatenate(pieces), tuple(middles)


def measure(pcm: Pcm, middles: Sequence[int], value_end_part: int | None = None) -> Measured:
    """Edges of a decoded clip whose authored pauses lie around ``middles``. ValueError: silent, or a pause is lost."""
    spans = segments(pcm)
    if not spans:
        raise ValueError("no audible speech")
    gaps = [(left[1], right[0]) for left, right in pairwise(spans)]
    pauses = []
    for middle in middles:
        gap = next((gap for gap in gaps if gap[0] <= middle < gap[1]), None)
        if gap is None:
            raise ValueError(f"the authored pause at {middle / RATE:.2f} s is not silent")
        pauses.append(gap)
    offset = spans[-1][1]
    at_the_end = value_end_part is None or value_end_part == len(pauses)
    value_end = offset if at_the_end or value_end_part is None else pauses[value_end_part][0]
    return Measured(spans[0][0], offset, tuple(pauses), value_end)


MIN_LAST_SEGMENT_MS = 40.0
"""A last segment shorter than this, behind a gap that closes segments, is a click or noise and no syllable."""
QUIET_BELOW_PEAK_DB = 35.0
"""Speech ends, by the reference of the edge detector's calibration, where it sinks this far below the clip's peak."""
MAX_QUIET_EDGE_MS = 250.0
"""The most that may be cut off outside the speech. Final consonants and breath of clean renderings die away within 140 ms; a voice that
leaves up to 550 ms of noise after the last word may hide a word in it."""


def suspicious_edge(pcm: Pcm) -> str | None:
    """Why the energy edges of a *synthesised* clip cannot be trusted, or None.

    Catches a voice that leaves noise after the last word, which the detector would take for speech.
    """
    spans = segments(pcm)
    if not spans:
        return "no audible speech"
    last = (spans[-1][1] - spans[-1][0]) * 1000 / RATE
    if len(spans) > 1 and last < MIN_LAST_SEGMENT_MS:
        return f"a burst of only {last:.0f} ms stands alone at the end"
    first, last_sample = spoken_edges(pcm)
    before = (first - spans[0][0]) * 1000 / RATE
    after = (spans[-1][1] - last_sample) * 1000 / RATE
    if before > MAX_QUIET_EDGE_MS:
        return f"{before:.0f} ms of noise before the first word"
    if after > MAX_QUIET_EDGE_MS:
        return f"{after:.0f} ms of noise after the last word"
    return None
