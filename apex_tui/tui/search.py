"""Finding a moment in a recording: by words, by kind of event, by what a person types after ``g``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import State
from apex_tui.tui.plain import plain
from apex_tui.tui.render_floor import event_summary

_TIME = re.compile(r"(?:(\d{1,4}):)?(\d{1,6}(?:\.\d{1,3})?)")
_THING = re.compile(r"([vbtas#])\s*(\d{1,9})", re.IGNORECASE)


def found_in(events: Sequence[Event], words: str) -> list[int]:
    """Indexes of the events whose type or summary holds ``words``, whatever the case."""
    wanted = plain(words, 200).casefold().strip()
    if not wanted:
        return []
    return [i for i, e in enumerate(events) if wanted in e.type or wanted in event_summary(e).casefold()]


def of_kind(events: Sequence[Event], kind: str) -> list[int]:
    """Indexes of the events whose type begins with ``kind`` or holds it as a word (``tool``, ``approval.granted``, ``closed``)."""
    wanted = kind.casefold().strip()
    if not wanted:
        return []
    return [i for i, e in enumerate(events) if e.type.startswith(wanted) or wanted in re.split(r"[._]", e.type)]


def moment(text: str, whole: State, events: Sequence[Event]) -> float | str:
    """Media ms of what was typed (``1:23.4``, ``83``, ``v3``, ``b2``, ``t1``, ``#121``), or a sentence that says why there is none."""
    typed = text.strip()
    time = _TIME.fullmatch(typed)
    if time is not None:
        return int(time[1] or 0) * 60_000.0 + float(time[2]) * 1000.0
    thing = _THING.fullmatch(typed)
    if thing is None:
        return "Type a time (1:23.4 or 83), a version (v3), a barge-in (b2), a tool call (t1) or an event (#121)."
    letter, number = thing[1].lower(), int(thing[2])
    place = _place(letter, number, whole, events)
    return f"There is no {letter}{number} in this recording." if place is None else place


def _place(letter: str, number: int, whole: State, events: Sequence[Event]) -> float | None:
    if letter == "v":
        return next((v.at_ms for a in whole.artifacts.values() for v in a.versions if v.number == number), None)
    if letter == "b":
        barge = whole.barge_ins.get(number)
        return None if barge is None else barge.onset_ms
    if letter == "t":
        return next((c.called_ms for c in whole.calls.values() if c.number == number), None)
    if letter == "a":
        given = sorted(whole.approvals.values(), key=lambda a: a.seq)
        return given[number - 1].granted_ms if 1 <= number <= len(given) else None
    if letter == "s":
        return whole.decisions[number - 1][1] if 1 <= number <= len(whole.decisions) else None
    return next((e.media_ms for e in events if e.seq == number), None) if letter == "#" else None
