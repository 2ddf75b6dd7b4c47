"""Just enough of the WAV and Ogg containers to say whether a file is whole, and where its audio ends when it is not.

In here: ``parse_wav`` and ``parse_ogg``, which never raise on cut input. Deliberately not in here: decoding; libsndfile
does that, but it opens a cut file without a word, so the cut has to be seen here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_OGG_HEADER = 27
_OGG_LAST_PAGE = 0x04
_HEADER_PACKET_PAGES = 2
"""An Ogg Opus stream begins with one page for the identification and at least one for the comments (RFC 7845)."""


@dataclass(frozen=True, slots=True)
class Wav:
    """What a WAV file declares: ``data`` is (from, to) in bytes of the file, clipped to what is there."""

    channels: int
    rate: int
    bits: int
    data: tuple[int, int]
    whole: bool


@dataclass(frozen=True, slots=True)
class Ogg:
    """How far an Ogg file goes: bytes of complete pages, whether any holds audio, and whether the last page is there."""

    complete_bytes: int
    has_audio: bool
    whole: bool


def parse_wav(raw: bytes) -> Wav | None:
    """Read the chunks of a RIFF file; None when it ends before its data chunk begins, or is no RIFF file."""
    if raw[:4] != b"RIFF" or raw[8:12] != b"WAVE":
        return None
    at = 12
    fmt: tuple[int, int, int] | None = None
    while at + 8 <= len(raw):
        kind, size = struct.unpack_from("<4sI", raw, at)
        body = at + 8
        if kind == b"fmt " and size >= 16 and body + 16 <= len(raw):
            _, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", raw, body)
            fmt = (channels, rate, bits)
        if kind == b"data":
            end = body + size
            return Wav(*fmt, (body, min(end, len(raw))), end <= len(raw)) if fmt else None
        at = body + size + size % 2
    return None


def parse_ogg(raw: bytes) -> Ogg:
    """Walk the pages of an Ogg file up to the last complete one."""
    at = pages = 0
    flags = 0
    while raw[at : at + 4] == b"OggS" and at + _OGG_HEADER <= len(raw):
        segments = raw[at + 26]
        body = at + _OGG_HEADER + segments
        end = body + sum(raw[at + _OGG_HEADER : body])
        if body > len(raw) or end > len(raw):
            break
        flags = raw[at + 5]
        at = end
        pages += 1
    whole = at == len(raw) and bool(flags & _OGG_LAST_PAGE)
    return Ogg(at, pages > _HEADER_PACKET_PAGES, whole)
