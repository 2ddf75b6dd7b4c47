"""A server of text, speech-to-text and text-to-speech endpoints in memory and in virtual time: what chat, responses and cascade agents talk to.

It answers requests only, so a test puts answers into ``script`` and lets the caller speak; ``seconds`` between bytes are the server's own.
"""

from __future__ import annotations

import asyncio
import io
import json
import wave
from collections.abc import AsyncIterator
from typing import Any

import httpx
from agent_kit import tone
from http_peer import Answer, Chunk, chat_calls, chat_chunk, chat_words, response_events

from apex_tui.agents.seam import Agent, Hint
from apex_tui.audio.frames import FRAME_SAMPLES, RATE, pcm_bytes

BASE = "http://127.0.0.1:1/v1"
Calls = tuple[tuple[str, str, str], ...]


class Body(httpx.AsyncByteStream):
    """The chunks of an answer, at the server's pace. ``left``: the client went before the end."""

    def __init__(self, peer: ModelPeer, chunks: list[Chunk]) -> None:
        self._peer, self._chunks = peer, chunks
        self._over = False
        peer.open_streams += 1
        peer.most_open = max(peer.most_open, peer.open_streams)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, bytes):
                self._peer.sent.append(chunk)
                yield chunk
            elif isinstance(chunk, type):
                raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
            else:
                await asyncio.sleep(chunk)
        self._over = True

    async def aclose(self) -> None:
        self._peer.open_streams -= 1
        self._peer.left_early += not self._over


class ModelPeer(httpx.AsyncBaseTransport):
    """``api``: chat or responses. ``script``: the answers to the model's requests, in order; ``voice``: the sound of each sentence."""

    def __init__(self, api: str, *, cascade: bool = False) -> None:
        self.api, self.cascade = api, cascade
        self.agent: Agent | None = None
        self.script: list[list[Chunk] | Answer] = []
        self.transcripts: list[list[Chunk] | str] = []
        self.voice: list[list[Chunk]] = []
        self.requests: list[Any] = []
        self.spoken: list[str] = []
        self.asked_to_speak: list[Any] = []
        self.sent: list[bytes] = []
        """What it streamed, of answers and sound."""
        self.heard = bytearray()
        self.faults: list[str] = []
        self.open_streams = self.most_open = self.left_early = 0
        self._lane = bytearray()
        self._samples = 0

    # --- the caller -------------------------------------------------------------------------------------------------------------------

    def frame(self) -> bytes:
        """The caller's next 20 ms."""
        size = 2 * FRAME_SAMPLES
        sound, self._lane = bytes(self._lane[:size]), self._lane[size:]
        self._samples += FRAME_SAMPLES
        return sound + bytes(size - len(sound))

    def caller(self, words: str, seconds: float = 0.5) -> None:
        """The caller says something from the next frame on."""
        if self.cascade:
            self._lane += pcm_bytes(tone(seconds, 330.0))
            self.transcripts.append(words)
        else:
            assert self.agent is not None
            onset = self._samples
            self.agent.send_hint(Hint(1, "plan", "ANSWER", words, onset, onset + round(seconds * RATE)))

    # --- answers ----------------------------------------------------------------------------------------------------------------------

    def answer(self, *words: str, calls: Calls = (), end: str = "", before: tuple[Chunk, ...] = ()) -> None:
        """The next answer of the model: words, then calls. ``end``: how it ends when not well; ``before``: what comes first."""
        chunks: list[Chunk]
        if self.api == "responses":
            chunks = response_events(*words, calls=calls, end=end or "completed")
        elif calls:
            chunks = [chat_chunk({"content": word}) for word in words]
            chunks += chat_calls(*calls, finish=end or "tool_calls")
        else:
            chunks = chat_words(*words, finish=end or "stop")
        self.script.append([*before, *chunks])

    # --- httpx ------------------------------------------------------------------------------------------------------------------------

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raw = await request.aread()
        path = request.url.path.removeprefix("/v1")
        if path == "/models":
            return httpx.Response(200, content=b"{}")
        if path == "/audio/transcriptions":
            return self._transcript(raw)
        body = json.loads(raw)
        if path == "/audio/speech":
            self.spoken.append(body["input"])
            self.asked_to_speak.append(body)
            return self._stream(Answer(self.voice.pop(0) if self.voice else [b""], 200, "audio/pcm"))
        self.requests.append(body)
        self._judge(body)
        if not self.script:
            self.faults.append("the model was asked though nothing was due")
            self.answer("?")
        given = self.script.pop(0)
        return self._stream(given if isinstance(given, Answer) else Answer(given))

    def _stream(self, answer: Answer) -> httpx.Response:
        return httpx.Response(answer.status, headers={"content-type": answer.kind}, stream=Body(self, answer.chunks))

    def _transcript(self, raw: bytes) -> httpx.Response:
        with wave.open(io.BytesIO(raw[raw.index(b"RIFF") :])) as file:
            self.heard += file.readframes(file.getnframes())
        given = self.transcripts.pop(0) if self.transcripts else ""
        chunks: list[Chunk] = [json.dumps({"text": given}).encode()] if isinstance(given, str) else given
        return self._stream(Answer(chunks, 200, "application/json"))

    def _judge(self, body: Any) -> None:
        """What a real service refuses: a call without its result, or a result twice."""
        calls, results = self.calls_of(body), self.results_of(body)
        if sorted(calls) != sorted(results):
            self.faults.append(f"calls {calls} with results {results}")

    # --- what it was told ---------------------------------------------------------------------------------------------------------------

    @staticmethod
    def entries(body: Any) -> list[Any]:
        found: list[Any] = body.get("messages") or body.get("input")
        return found

    def calls_of(self, body: Any) -> list[str]:
        chat = [call["id"] for entry in self.entries(body) for call in entry.get("tool_calls") or ()]
        return chat + [e["call_id"] for e in self.entries(body) if e.get("type") == "function_call"]

    def results_of(self, body: Any) -> dict[str, Any]:
        """Call -> its result, as the request states them."""
        found: dict[str, Any] = {}
        for entry in self.entries(body):
            if entry.get("role") == "tool":
                found[entry["tool_call_id"]] = json.loads(entry["content"])
            elif entry.get("type") == "function_call_output":
                found[entry["call_id"]] = json.loads(entry["output"])
        return found

    def told(self, number: int, role: str) -> list[str]:
        """What a request said in this role."""
        return [entry["content"] for entry in self.entries(self.requests[number]) if entry.get("role") == role]
