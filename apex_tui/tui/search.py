"""Finding a moment in a recording: by words, by kind of event, by what a person types after ``g``. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
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


def noted_ms(events: Sequence[Event], seq: int) -> float | None:
    """The moment from which a recording shows event ``seq``; later than the sound it tells of, which lay before it. None: there is no such event."""
    place = bisect_left(events, seq, key=lambda e: e.seq)
    if place == len(events) or events[place].seq != seq:
        return None
    return max(event.media_ms for event in events[: place + 1])


def moment(text: str, whole: State, events: Sequence[Event]) -> float | str:
    """Media ms of what was typed (``1:23.4``, ``83``, ``v3``, ``b2``, ``t1``, ``a1``, ``s1``, ``#121``), or a sentence that says why there is none.

    Of a thing: the moment from which the recording shows it.
    """
    typed = text.strip()
    time = _TIME.fullmatch(typed)
    if time is not None:
        return int(time[1] or 0) * 60_000.0 + float(time[2]) * 1000.0
    thing = _THING.fullmatch(typed)
    if thing is None:
        return "Type a time (1:23.4 or 83), a version (v3), a barge-in (b2), a tool call (t1), an approval (a1), a commit (s1) or an event (#121)."
    letter, number = thing[1].lower(), int(thing[2])
    seq = number if letter == "#" else _seq(letter, number, whole)
    place = noted_ms(events, seq) if seq is not None else None
    return f"There is no {letter}{number} in this recording." if place is None else place


def _seq(letter: str, number: int, whole: State) -> int | None:
    """The event that tells of the thing; of a submission the guard's last word, which is where its mark stands."""
    if letter == "v":
        return next((v.seq for a in whole.artifacts.values() for v in a.versions if v.number == number), None)
    if letter == "b":
        barge = whole.barge_ins.get(number)
        return None if barge is None else barge.seq
    if letter == "t":
        return next((c.seq for c in whole.calls.values() if c.number == number), None)
    if letter == "a":
        found = sorted(approval.seq for approval in whole.approvals.values())
    else:
        found = list({decided.call: seq for seq, _, decided in whole.decisions}.values())
    return found[number - 1] if 1 <= number <= len(found) else None
