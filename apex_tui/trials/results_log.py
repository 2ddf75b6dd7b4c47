"""Whether the log of a session is still the one that its verdict was made of, told without decoding it.

In here: its first and its last event, held against session.json and score.json, and the number of its lines: a log that was emptied, cut, put
together from others or lengthened is found. Deliberately not in here: what its events say; a word that was changed inside a line is seen by
``--rescore`` only, which judges the log again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from apex_tui.store.files import Unreadable, open_regular
from apex_tui.store.meta import SessionMeta
from apex_tui.timeline.log import MAX_EVENTS, MAX_READ_LINE
from apex_tui.trials.results_verdict import CountedScore

_PIECE = 1024 * 1024
MAX_LOG = 1024 * 1024 * 1024
"""Largest log that is looked at, in bytes: a day of a session stays below."""
_DAMAGED = "is damaged: {}; --rescore judges what is left of it"


def check_log(path: Path, meta: SessionMeta, score: CountedScore) -> None:
    """Hold a log against what was written when its session ended.

    Raises:
        Unreadable: it is missing, no regular file, empty, or not the log of this verdict; the message completes the sentence 'events.jsonl ...'.
    """
    first, tail, lines = _ends(path)
    begin = _event(first)
    if begin is None or begin["type"] != "session.started":
        raise Unreadable(_DAMAGED.format("its first line is not the start of a session"))
    if (begin["data"].get("session"), begin["data"].get("workflow_digest")) != (meta.session, meta.workflow_digest):
        raise Unreadable("is the log of another session")
    last, behind = _last(tail)
    ended = last is not None and last["type"] == "session.ended"
    if ended != (score.outcome != "cut_off"):
        raise Unreadable(
            _DAMAGED.format(
                "it comes to an end, and the verdict is on a log that was cut" if ended else "it has no end"
            )
        )
    if last is None or not ended:
        return
    if lines != last["seq"] + behind - begin["seq"] + 1:
        raise Unreadable(_DAMAGED.format(f"it has {lines} lines where its last event is number {last['seq'] + behind}"))
    said = last["data"]
    for name, told, known in (
        ("outcome", said.get("outcome"), score.outcome),
        ("caller_sha256", said.get("caller_sha256"), meta.caller_sha256),
        ("agent_sha256", said.get("agent_sha256"), meta.agent_sha256),
        ("frames", said.get("frames"), (meta.pacing or {}).get("frames")),
    ):
        if known is not None and told != known:
            raise Unreadable(f"is the log of another session (its end tells another {name})")


def _ends(path: Path) -> tuple[bytes, bytes, int]:
    """The first line, the last bytes (at least the last whole line) and the number of lines."""
    first = tail = b""
    lines = 0
    with open_regular(path) as (file, size):
        if not 0 < size <= MAX_LOG:
            raise Unreadable(f"is larger than {MAX_LOG} bytes" if size else "is empty")
        while piece := file.read(_PIECE):
            first = first or piece.partition(b"\n")[0]
            lines += piece.count(b"\n")
            tail = (tail + piece)[-2 * MAX_READ_LINE :]
    return first, tail, lines


def _last(tail: bytes) -> tuple[dict[str, Any] | None, int]:
    """The last event that the session itself noted, and how many erasures are noted behind it; None: the last line is no event."""
    behind = 0
    while tail.endswith(b"\n"):
        tail, _, line = tail[:-1].rpartition(b"\n")
        event = _event(line)
        if event is None or event["type"] != "session.erased":
            return event, behind
        behind += 1
        tail += b"\n" if tail else b""
    return None, behind


def _event(line: bytes) -> dict[str, Any] | None:
    """What a line holds, as far as it is looked at here."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str) or not isinstance(event.get("data"), dict):
        return None
    seq = event.get("seq")
    return event if isinstance(seq, int) and 0 <= seq <= MAX_EVENTS else None
