"""The door: what a server sent is bounded, parsed and cleaned here before anything else looks at it.

In here: messages, text fields, identifiers, numbers, call arguments, base64 audio. Deliberately not in here: what a message
means. Nothing here raises on foreign input except ``Unreadable``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, NoReturn

MAX_MESSAGE = 16 * 1024 * 1024
"""Characters or bytes of one message: the largest append a server may send or take is 15 MiB."""

MAX_TEXT = 64 * 1024
"""Characters of one text field: an hour of speech is shorter."""

MAX_ID = 512
"""Characters of an identifier, as the protocol bounds its own."""

MAX_ITEMS = 1024
"""Items that are followed at a time; the oldest is forgotten beyond that."""

_SECRET = re.compile(r"\b(?:sk|ek|rk)-[A-Za-z0-9_\-.*]{6,}|Bearer\s+\S+")


class Unreadable(ValueError):
    """A message that is no JSON object with a type, or is too large; the text says what is wrong with it."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def parse_message(raw: str | bytes) -> dict[str, Any]:
    """Parse one message into an object with a text ``type``. Raises ``Unreadable``."""
    if len(raw) > MAX_MESSAGE:
        raise Unreadable(f"a message of {len(raw)} bytes is larger than {MAX_MESSAGE}")
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"a message that is not JSON ({type(error).__name__})") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Unreadable("a JSON message without a type")
    return message


def parse_arguments(raw: object) -> tuple[dict[str, Any] | None, str | None]:
    """Arguments of a completed call, and why they could not be read. An empty text is a call without arguments."""
    if not isinstance(raw, str):
        return None, "the arguments are not JSON text"
    if len(raw) > MAX_TEXT:
        return None, f"the arguments are longer than {MAX_TEXT} characters"
    if not raw.strip():
        return {}, None
    try:
        parsed = json.loads(raw, parse_constant=_no_constant)
        cleaned = _clean(parsed)
    except json.JSONDecodeError as error:
        return None, f"the arguments are not whole JSON: {error.msg} at character {error.pos}"
    except (ValueError, RecursionError):
        return None, "the arguments are not valid JSON"
    if not isinstance(cleaned, dict):
        return None, "the arguments are not a JSON object"
    return cleaned, None


def text(value: object) -> str:
    """A text field, bounded and free of lone surrogates; "" when it is no text."""
    return _whole(value[:MAX_TEXT]) if isinstance(value, str) else ""


def ident(value: object) -> str:
    """An identifier, bounded; "" when it is none."""
    return _whole(value) if isinstance(value, str) and len(value) <= MAX_ID else ""


def number(value: object) -> float | None:
    """A finite number within a year of milliseconds, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -3.2e10 < value < 3.2e10 else None


def obj(value: object) -> dict[str, Any]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object, most: int = 1000) -> list[dict[str, Any]]:
    """The objects of a list, at most ``most``."""
    return [entry for entry in value[:most] if isinstance(entry, dict)] if isinstance(value, list) else []


def remember(table: dict[str, Any], key: str, value: Any, most: int = MAX_ITEMS) -> None:
    """Keep a value, forgetting the oldest beyond ``most``."""
    if key not in table and len(table) >= most:
        del table[next(iter(table))]
    table[key] = value


def without_secrets(value: str) -> str:
    """The text with anything that looks like a key taken out: servers repeat keys in their errors."""
    return _SECRET.sub("[key]", value)


class AudioReader:
    """Base64 deltas of one item as whole samples: a delta may end in mid-sample, and its padding may be missing.

    ``received``   bytes of whole samples so far
    ``failures``   deltas that were no base64
    """

    __slots__ = ("_carry", "content_index", "failures", "received")

    def __init__(self, content_index: int = 0) -> None:
        self.received = 0
        self.failures = 0
        self.content_index = content_index
        self._carry = b""

    def read(self, delta: object) -> bytes | None:
        """The samples of a delta (maybe none yet); None when it is no base64."""
        if not isinstance(delta, str):
            self.failures += 1
            return None
        missing = -len(delta) % 4
        try:
            raw = base64.b64decode(delta + "=" * missing if missing else delta, validate=True)
        except (binascii.Error, ValueError):
            self.failures += 1
            return None
        if self._carry:
            raw = self._carry + raw
        if len(raw) % 2:
            raw, self._carry = raw[:-1], raw[-1:]
        else:
            self._carry = b""
        self.received += len(raw)
        return raw


def _whole(value: str) -> str:
    if value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    if isinstance(value, dict):
        return {_whole(key): _clean(entry) for key, entry in value.items()}
    return value
