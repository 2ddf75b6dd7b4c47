"""Reading Gemini Live messages: frames of text or bytes, rates in MIME types, durations, and answers to calls.

Nothing here raises on foreign input except ``Unreadable``. Deliberately not in here: what a message means.
"""

from __future__ import annotations

import json
import re
from typing import Any

from apex_tui.agents.realtime.door import MAX_MESSAGE, MAX_TEXT, Unreadable, number, parse_arguments

DEFAULT_RATE = 24_000
ALLOWED = frozenset({8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000})
"""Rates that a server may claim; a slip such as ``rate=1`` would turn a second of audio into hours."""

_RATE = re.compile(r"rate=(\d*)")
_SECONDS = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)s")


def parse(raw: str | bytes) -> dict[str, Any]:
    """One message as an object; a binary frame holds the same JSON as UTF-8. Raises ``Unreadable``."""
    if len(raw) > MAX_MESSAGE:
        raise Unreadable(f"a message of {len(raw)} bytes is larger than {MAX_MESSAGE}")
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"a message that is not JSON ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise Unreadable("a message that is no JSON object")
    return message


def rate_of(mime: object) -> int | None:
    """The sample rate that a MIME type states, 24 kHz when it states none; None when it is no PCM or no possible rate."""
    if not isinstance(mime, str) or not mime.lower().startswith("audio/"):
        return None
    kind = mime.lower()[6:].split(";", 1)[0].strip()
    if kind not in ("pcm", "l16"):
        return None
    found = _RATE.search(mime.lower())
    if found is None:
        return DEFAULT_RATE
    rate = int(found[1]) if 0 < len(found[1]) <= 6 else 0
    return rate if rate in ALLOWED else None


def seconds(value: object) -> float | None:
    """A duration such as ``"50s"`` in seconds, else None."""
    if isinstance(value, str) and (found := _SECONDS.fullmatch(value.strip())):
        return float(found[1])
    return number(value)


def call_arguments(value: object) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments of a call, which are an object here, and why they could not be read."""
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return None, "the arguments are not a JSON object"
    # One way in for all families: the same bounds, the same cleaning.
    return parse_arguments(json.dumps(value))


def answer(output: str) -> dict[str, Any]:
    """A tool's result (JSON text) under the key that says whether it worked."""
    try:
        result = json.loads(output)
    except ValueError:
        result = output[:MAX_TEXT]
    failed = isinstance(result, dict) and result.get("ok") is False
    return {"error" if failed else "output": result}
