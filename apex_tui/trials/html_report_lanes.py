"""A session in the HTML report: both lanes on one time axis, its marks, its words, and its sound where that was asked for.

In here: from a recording to SVG and to an audio data URI. Deliberately not in here: which sessions are shown (``html_report``).
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import soundfile

from apex_tui.audio.clips import undisturbed
from apex_tui.audio.frames import RATE
from apex_tui.audio.recording import read_lanes
from apex_tui.store.layout import SessionFolder
from apex_tui.store.recording import Recording
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.state import Mark, State, Turn
from apex_tui.timeline.view import SessionView
from apex_tui.trials.tables import clean

WIDTH = 1100
_LEFT, _TOP, _LANE, _HEIGHT = 64, 12, 22, 136
_APART, _ROWS = 11, 3
"""Marks closer than this (in units of the picture) stand below each other, in at most so many rows."""
GLYPHS = {
    "B": "barge-in", "v": "version", "T": "tool", "A": "approval", "S": "submit (commit)", "E": "scripted event", "M": "mark of the operator",
}  # fmt: skip
MAX_MARKS = 400
MAX_WORDS = 4000
"""Characters of one turn or reply; a minute of speech is under 1,000."""
_LOUD = 32_767

Stretch = tuple[float, float, str]


def lanes(recording: Recording) -> str:
    """The two lanes of a session as SVG; ``data-ms`` on it is what the page's player moves along."""
    state = SessionView.fold(recording.events).state
    length = max(state.media_ms, 1.0)
    scale = (WIDTH - _LEFT - 8) / length
    parts = [_ticks(length, scale)]
    for y, name in ((_TOP, "caller"), (_TOP + _LANE + 8, "agent")):
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 15}" class="name">{name}</text>')
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="{WIDTH - _LEFT - 8}" height="{_LANE}" class="lane"/>')
    parts += [_box(stretch, _TOP, scale, "caller") for turn in state.turns for stretch in _turn(turn)]
    parts += [_box(stretch, _TOP + _LANE + 8, scale, "agent") for stretch in _replies(state, length)]
    parts += _marks(state.marks[:MAX_MARKS], scale)
    parts.append(f'<path d="M{_LEFT} {_TOP - 4}V{_HEIGHT - 18}" class="head"/>')
    label = escape(clean(f"{recording.meta.session}: both lanes over {length / 1000:.1f} s"))
    return (
        f'<svg viewBox="0 0 {WIDTH} {_HEIGHT}" role="img" class="lanes" data-ms="{length:.0f}" data-left="{_LEFT}" '
        f'data-right="{WIDTH - 8}"><title>{label}</title>{"".join(parts)}</svg>'
    )


def _turn(turn: Turn) -> list[Stretch]:
    return [(turn.onset_ms, turn.offset_ms if turn.offset_ms is not None else turn.ends_ms, f"{turn.act}: {turn.text}")]


def _replies(state: State, length: float) -> list[Stretch]:
    found: list[Stretch] = []
    for name in state.reply_order:
        reply = state.replies[name]
        words = reply.heard if reply.heard is not None else reply.text
        found += [(start, length if end is None else end, words) for start, end in reply.speech]
    return found


def _box(stretch: Stretch, y: float, scale: float, kind: str) -> str:
    start, end, words = stretch
    x, width = _LEFT + start * scale, max(1.0, (end - start) * scale)
    tip = escape(clean(f"{start / 1000:.2f} s · {words}"))
    return f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{_LANE - 6}" class="{kind}"><title>{tip}</title></rect>'


def legend(recording: Recording) -> str:
    """What the letters below the lanes mean, for those that occur."""
    present = {mark.glyph for mark in SessionView.fold(recording.events).state.marks}
    words = " · ".join(f"<b>{glyph}</b> {name}" for glyph, name in GLYPHS.items() if glyph in present)
    return f"<p class='faint'>{words}</p>" if words else ""


def _marks(marks: Sequence[Mark], scale: float) -> list[str]:
    """Marks in the order of their time; one that would cover another stands in the next row."""
    ends = [-1.0] * _ROWS
    out = []
    for mark in sorted(marks, key=lambda m: m.at_ms):
        x = _LEFT + mark.at_ms * scale
        row = next((number for number, end in enumerate(ends) if x >= end), ends.index(min(ends)))
        ends[row] = x + _APART
        out.append(_mark(mark, x, row))
    return out


def _mark(mark: Mark, x: float, row: int) -> str:
    y = _TOP + 2 * _LANE + 22 + 12 * row
    tip = escape(clean(f"{mark.at_ms / 1000:.2f} s · {mark.label} (event {mark.seq})"))
    return f'<text x="{x:.1f}" y="{y}" class="mark">{escape(mark.glyph)}<title>{tip}</title></text>'


def _ticks(length: float, scale: float) -> str:
    step = next((s for s in (5, 10, 20, 30, 60, 120, 300, 600) if length / 1000 / s <= 16), 1800)
    out = []
    for second in range(0, int(length / 1000) + 1, step):
        x = _LEFT + second * 1000 * scale
        out.append(f'<path d="M{x:.1f} {_TOP - 4}V{_HEIGHT - 18}" class="grid"/>')
        out.append(f'<text x="{x:.1f}" y="{_HEIGHT - 4}" class="scale">{second // 60}:{second % 60:02d}</text>')
    return "".join(out)


def transcript(recording: Recording) -> str:
    """The words of both sides as a list, in the order in which they began; what was never heard is struck out."""
    state = SessionView.fold(recording.events).state
    lines: list[tuple[float, str]] = [
        (turn.onset_ms, f"<b>caller</b> {escape(clean(turn.text, MAX_WORDS))}") for turn in state.turns
    ]
    for name in state.reply_order:
        reply = state.replies[name]
        if not reply.speech:
            continue
        heard = reply.heard if reply.heard is not None else reply.text
        rest = reply.text[len(heard) :] if reply.text.startswith(heard) else ""
        cut = f" <s>{escape(clean(rest, MAX_WORDS))}</s>" if rest.strip() else ""
        lines.append((reply.speech[0][0], f"<b>agent</b> {escape(clean(heard, MAX_WORDS))}{cut}"))
    items = "".join(f'<li><span class="at">{at / 1000:.1f}</span> {words}</li>' for at, words in sorted(lines))
    return f"<ol class='words'>{items}</ol>"


def sound(folder: Path) -> str | None:
    """An ``<audio>`` element that holds the recording itself (Ogg Opus, left the caller, right the agent); None when there is none.

    Raises:
        RecordingError: the recording cannot be decoded, or is a link to something else.
    """
    path = SessionFolder(folder).find_audio()
    if path is None:
        return None
    if path.suffix == ".ogg":
        raw = b"" if path.is_symlink() else path.read_bytes()
        if not raw.startswith(b"OggS"):  # the page is sent to others: no file of ours that a link names goes with it
            raise RecordingError(f"{path.name} is a link, or no Ogg file: its sound is left out")
    else:
        caller, agent = read_lanes(path)
        if not len(caller):
            return None
        out = io.BytesIO()
        both = np.stack((caller, agent), axis=1).astype(np.float32) / _LOUD
        with undisturbed():
            soundfile.write(out, both, RATE, format="OGG", subtype="OPUS")
        raw = out.getvalue()
    data = base64.b64encode(raw).decode("ascii")
    return f'<audio controls preload="none" src="data:audio/ogg;base64,{data}"></audio>'
