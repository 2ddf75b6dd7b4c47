"""What a raw provider message looks like once nothing secret and no audio is left in it.

In here: pure functions from a message to what may be stored. Deliberately not in here: the file (``wire``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote

MASK = "***"

AUDIO_KEYS = frozenset({"audio", "delta", "data", "pcm"})
"""Keys under which providers put base64 audio."""

AUDIO_MIN = 256
"""Characters above which such a value is taken for audio; words of that length hold spaces, and are no base64."""

MOST_CHARS = 256 * 1024
"""Characters of one message that are looked at, and entries of one list or object: far more than the file keeps (``wire.MAX_MESSAGE``)."""

PIECE = 4
"""Characters of a secret that are taken for a piece of it where a text begins or ends; fewer tell nobody anything."""

_APPEND = '{"type":"input_audio_buffer.append","event_id":"evt_'
_SECRET_KEYS = frozenset(
    {"authorization", "api_key", "apikey", "api-key", "x-api-key", "xi-api-key", "token", "access_token", "client_secret", "password"}
)  # fmt: skip
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_KEY_LIKE = re.compile(
    r"(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}"  # Authorization: Bearer ...
    r"|\b(?:sk|pk|rk|ek)[-_][A-Za-z0-9_-]{12,}"  # provider keys and their short-lived kin
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"  # JSON web tokens
)

_SHORTEST_KEY = 15
"""Characters of the shortest text that ``_KEY_LIKE`` can match; most names and values of a message are shorter."""


class Masker:
    """Removes known secrets, whatever looks like a bearer key, and audio. Empty secrets are passed over."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spelled: set[str] = set()
        for secret in filter(None, secrets):
            # Also as they look inside JSON text and in an address.
            spelled |= {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}
        self._secrets = tuple(secret for secret in spelled if len(secret) >= 2 * PIECE)
        # The longest first: a key may begin with another one.
        known = "|".join(re.escape(text) for text in sorted(spelled, key=lambda text: (-len(text), text)))
        self._known = re.compile(known) if known else None
        self._left = MOST_CHARS

    def text(self, text: str) -> str:
        """``text`` without secrets, and without the piece of one that it begins or ends with: streams cut words anywhere."""
        if self._known is not None:
            text = self._cut(self._known.sub(MASK, text))
        return text if len(text) < _SHORTEST_KEY else _KEY_LIKE.sub(MASK, text)

    def _cut(self, text: str) -> str:
        for secret in self._secrets:
            if len(text) >= PIECE and text in secret:
                return MASK
            at = text.rfind(secret[:PIECE], max(0, len(text) - len(secret)))
            if at >= 0 and secret.startswith(text[at:]):
                text = text[:at] + MASK
            at = text.find(secret[-PIECE:], 0, len(secret))
            if at >= 0 and secret.endswith(text[: at + PIECE]):
                text = MASK + text[at + PIECE :]
        return text

    def message(self, message: str | bytes) -> Any:
        """A raw message as it may be stored: its JSON if it is JSON, else its text; of a binary one only length and digest."""
        try:
            text = message.decode() if isinstance(message, bytes) else message
        except UnicodeDecodeError as error:
            return _digest(error.object)
        self._left = MOST_CHARS
        try:
            return self._value(json.loads(text), "")
        except (ValueError, RecursionError):
            return self.text(text[:MOST_CHARS])

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, str):
            return self._string(value, key)
        if key in _SECRET_KEYS and isinstance(value, dict | list):
            return MASK
        if isinstance(value, dict):
            some = islice(value.items(), MOST_CHARS)
            return {self.text(name[:MOST_CHARS]): self._value(item, name.lower()) for name, item in some}
        if isinstance(value, list):
            return [self._value(item, key) for item in value[:MOST_CHARS]]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)  # Python reads these as numbers and writes what is no JSON
        return value

    def _string(self, value: str, key: str) -> Any:
        if key in _SECRET_KEYS and value:
            return MASK
        if key in AUDIO_KEYS and len(value) > AUDIO_MIN and (digest := _audio(value)) is not None:
            return digest
        value = value[: self._left]
        self._left -= len(value)
        return self.text(value)


def masked_append(message: str | bytes) -> str | None:
    """An ``input_audio_buffer.append`` as our own clients write it, masked, as JSON text; None for anything else.

    Fifty such messages are sent a second. They hold a counter and audio and nothing else, so they need not be parsed to be masked.
    """
    if not isinstance(message, str) or not message.startswith(_APPEND):
        return None
    name, separator, audio = message[len(_APPEND) : -2].partition('","audio":"')
    plain = separator and message.endswith('"}') and name.isascii() and name.isdigit() and len(audio) > AUDIO_MIN
    digest = _audio_text(audio) if plain else None
    return None if digest is None else f'{_APPEND}{name}","audio":{digest}}}'


@lru_cache(maxsize=8)
def _audio_text(value: str) -> str | None:
    """Length and digest as JSON text, None for what is no base64; silence comes again and again."""
    digest = _audio(value)
    return None if digest is None else json.dumps(digest, separators=(",", ":"))


def _audio(value: str) -> dict[str, Any] | None:
    """Length and digest of the audio itself, or of its base64 text when that cannot be decoded; None for what is no base64."""
    try:
        # Strict decoding is ten times as fast as looking at each character by pattern.
        return _digest(binascii.a2b_base64(value, strict_mode=True))
    except ValueError:
        pass
    if not _BASE64.fullmatch(value):
        return None
    try:
        return _digest(base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True))
    except binascii.Error:
        return _digest(value.encode())


def _digest(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
