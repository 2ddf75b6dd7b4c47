"""The two audio endpoints: a turn's sound to its words, and a sentence to its sound.

In here: the requests and what their answers may be. Deliberately not in here: when they are asked, and trying again: a turn that was
not understood is said, and the caller repeats it.
"""

from __future__ import annotations

import asyncio
import io
import json
import wave
from collections.abc import AsyncGenerator
from typing import Any

from apex_tui.agents.realtime.door import obj, text
from apex_tui.agents.seam import WireTap
from apex_tui.agents.text.endpoint import Endpoint, Refused
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes

MAX_TRANSCRIPT = 1024 * 1024
MAX_SPEECH = 64 * 1024 * 1024
"""Bytes of one sentence's sound (22 minutes): more is not speech."""

_NOT_RAW = (b"RIFF", b"ID3", b"OggS", b"fLaC", b"{")


class SpeechToText:
    """``POST {base}/audio/transcriptions``."""

    def __init__(self, endpoint: Endpoint, model: str, language: str | None, wire: WireTap | None = None) -> None:
        self.endpoint = endpoint
        self._model = model
        self._language = language
        self._wire = wire

    async def transcribe(self, pcm: Pcm) -> str:
        """The words in this sound, "" for none. Raises ``Refused``."""
        fields = {"model": self._model, "response_format": "json"}
        if self._language is not None:
            fields["language"] = self._language
        _tap(self._wire, "out", {"path": "/audio/transcriptions", **fields, "samples": len(pcm)})
        raw = bytearray()
        files = {"file": ("turn.wav", wav(pcm), "audio/wav")}
        async with self.endpoint.post("/audio/transcriptions", data=fields, files=files) as response:
            async for chunk in response.aiter_bytes():
                raw += chunk
                if len(raw) > MAX_TRANSCRIPT:
                    raise Refused("unreadable", f"{self.endpoint.url} sent a transcript of more than 1 MiB")
            kind = response.headers.get("content-type", "")
        words = bytes(raw).decode("utf-8", "replace")
        if "json" in kind or words.startswith("{"):
            try:
                words = text(obj(json.loads(words)).get("text"))
            except (ValueError, RecursionError):
                raise Refused("unreadable", f"{self.endpoint.url} sent a transcript that is no JSON") from None
        _tap(self._wire, "in", {"path": "/audio/transcriptions", "text": words[:2000]})
        return self.endpoint.masked(words.strip())  # it goes on to another provider


class TextToSpeech:
    """``POST {base}/audio/speech``, raw samples, passed on as they come."""

    def __init__(self, endpoint: Endpoint, model: str, voice: str, wire: WireTap | None = None) -> None:
        self.endpoint = endpoint
        self._model = model
        self._voice = voice
        self._wire = wire

    async def speak(self, words: str) -> AsyncGenerator[bytes, None]:
        """The sound of these words in pieces of whole samples, at the voice's rate. Raises ``Refused``."""
        body = {"model": self._model, "voice": self._voice, "input": words, "response_format": "pcm"}
        _tap(self._wire, "out", {"path": "/audio/speech", "body": body})
        carry, total = b"", 0
        async with self.endpoint.post("/audio/speech", json=body) as response:
            async for chunk in response.aiter_bytes():
                if not total and chunk.startswith(_NOT_RAW):
                    raise Refused("not_pcm", f"{self.endpoint.url} does not send raw samples (response_format pcm)")
                total += len(chunk)
                if total > MAX_SPEECH:
                    raise Refused("too_long", f"{self.endpoint.url} sent more sound than any sentence has")
                chunk = carry + chunk
                carry = chunk[len(chunk) & ~1 :]
                if len(chunk) > 1:
                    yield chunk[: len(chunk) & ~1]
        _tap(self._wire, "in", {"path": "/audio/speech", "bytes": total})


def wav(pcm: Pcm) -> bytes:
    """The samples as a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm_bytes(pcm))
    return buffer.getvalue()


def _tap(wire: WireTap | None, direction: str, message: dict[str, Any]) -> None:
    if wire is not None:
        at = asyncio.get_running_loop().time()
        wire(at, "out" if direction == "out" else "in", json.dumps(message, separators=(",", ":")))
