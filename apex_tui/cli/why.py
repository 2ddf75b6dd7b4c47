"""``apex-tui why``: the chain of one field, from what the caller said to what was committed, with the events that prove each station."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from apex_tui.cli.plain import clock, line_for
from apex_tui.cli.text import clean
from apex_tui.score.verdict import FieldVerdict, Score
from apex_tui.score.verdict_work import STAGES, Drift
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError
from apex_tui.timeline.events import Event

STATIONS = ("said", *STAGES)
_VALUES = {"artifact": "in_artifact"}


def why(session: str | None, path: str, *, as_json: bool) -> int:
    """Print the chain of ``artifact.field``; exit code 1 when the field is wrong.

    Raises:
        UserError: the session has no gold field of that name.
    """
    from apex_tui.score.judge import score_recording
    from apex_tui.store.recording import find_recording, open_recording

    recording = open_recording(find_recording(session))
    score = score_recording(recording)
    field = field_of(score, path)
    drift = next((d for d in score.work.drift if d.field == f"{field.artifact}.{field.field}"), None)
    if as_json:
        print(json.dumps(as_data(field, drift, score), ensure_ascii=False))
    else:
        print("\n".join(chain(field, drift, recording.events)))
    return EXIT_OK if field.passed is True and not field.stale else EXIT_FAILED


def field_of(score: Score, path: str) -> FieldVerdict:
    """The verdict on ``artifact.field``, or on ``field`` where only one artifact has it."""
    known = {f"{f.artifact}.{f.field}": f for f in score.fields}
    short = [f for f in score.fields if f.field == path]
    if path in known:
        return known[path]
    if len(short) == 1:
        return short[0]
    near = get_close_matches(path, known, 3, 0.4)
    there = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known) or 'none'}"
    raise UserError(f"{path} is no gold field of this session; {there}")


def as_data(field: FieldVerdict, drift: Drift | None, score: Score) -> dict[str, Any]:
    """The chain as JSON values."""
    stations = {} if drift is None else {
        name: {"value": getattr(drift, _VALUES.get(name, name)), "evidence": list(drift.evidence.get(name, ()))}
        for name in STATIONS
    }  # fmt: skip
    return {
        "session": score.session,
        "field": field.model_dump(mode="json"),
        "chain": stations,
        "first_disagreement": None if drift is None else drift.first_disagreement,
        "class": None if drift is None else drift.klass,
        "reason": field.reason if drift is None else drift.reason,
    }


def chain(field: FieldVerdict, drift: Drift | None, events: Sequence[Event]) -> list[str]:
    """The chain as lines: each station with its value, then the events that prove it."""
    by_seq = {event.seq: event for event in events}
    mark = "?" if field.passed is None else "✓" if field.passed and not field.stale else "✗"
    out = [f"{mark} {field.artifact}.{field.field}: {clean(field.reason)}"]
    if drift is None:
        out.append("  the caller never stated it: it follows from other fields, or from a tool")
        return out + _proof("decided by", field.evidence, by_seq)
    for name in STATIONS:
        value = getattr(drift, _VALUES.get(name, name))
        shown = "—" if value is None else clean(value)
        parts = "  ◄ first disagreement" if name == drift.first_disagreement else ""
        out += _proof(f"{name:<10} {shown}{parts}", drift.evidence.get(name, ()), by_seq)
    out.append(f"  {drift.klass + ': ' if drift.klass else ''}{clean(drift.reason)}")
    return out + _proof("decided by", field.evidence, by_seq)


def _proof(head: str, seqs: Sequence[int], by_seq: dict[int, Event]) -> list[str]:
    out = [f"  {head}"]
    for seq in seqs:
        event = by_seq.get(seq)
        if event is not None:
            said = line_for(event) or f"{clock(event.media_ms)}  {event.type}"
            out.append(f"      #{seq:<5} {said}")
    return out
