"""Choices that are the same on every machine: BLAKE2b keys, integers, choices and seeded random generators.

In here: the four primitives of the APEX-Voice format and its seed for speech, to the bit. Deliberately not in here: what is chosen with them.
Parts are turned into text by ``str`` (1 -> "1", True -> "True", None -> "None", 1.0 -> "1.0").
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")

_SEPARATOR = "\x1f"


def stable_key(*parts: object) -> str:
    """Return 32 lowercase hex characters that depend on the parts and their order only."""
    joined = _SEPARATOR.join(str(part) for part in parts)
    return hashlib.blake2b(joined.encode("utf-8"), digest_size=16).hexdigest()


def stable_int(*parts: object) -> int:
    """Return an unsigned 64-bit integer: the first 16 hex characters of ``stable_key``."""
    return int(stable_key(*parts)[:16], 16)


def stable_choice(options: Sequence[_T], *parts: object) -> _T:
    """Return the option at ``stable_int`` modulo their number. Raises ``ValueError`` when there is none."""
    if not options:
        raise ValueError("there is nothing to choose from")
    return options[stable_int(*parts) % len(options)]


def seeded_rng(*parts: object) -> random.Random:
    """Return a generator of its own, seeded with ``stable_int``."""
    return random.Random(stable_int(*parts))


def speech_seed(voice: str, text: str, speed: float = 1.0, base: int = 0) -> int:
    """Return the seed (below 2**31) that the format gives a synthesiser for one utterance."""
    digest = hashlib.blake2b(f"{base}|{voice}|{speed}|{text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 2**31
