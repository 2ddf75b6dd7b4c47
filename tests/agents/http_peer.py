"""A small HTTP server by hand: it records requests, answers from a script in chunks, and notices a client that leaves.

Faithful where it matters: chunked transfer, server-sent events with ``data:`` lines, error bodies of the shape that providers send.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


class Abort(Exception):
    """A chunk that breaks the connection off."""


Chunk = bytes | float | type[Abort]
"""Bytes to send, seconds to wait, or the end of the connection."""


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    chunks: list[Chunk]
    status: int = 200
    kind: str = "text/event-stream"


@dataclass
class HttpPeer:
    """``script`` is asked for every request but ``GET /models``, which is answered with ``models``."""

    script: Callable[[Request], Answer]
    models: int = 200
    requests: list[Request] = field(default_factory=list)
    left_early: int = 0
    url: str = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HttpPeer]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=64 * 1024 * 1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            length = int(headers.get("content-length", "0"))
            body = await reader.readexactly(length)
            await self._answer(Request(method, path.removeprefix("/v1"), headers, body), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request.path == "/models":
            answer = Answer([b"{}" if self.models == 200 else ERROR_401], self.models, "application/json")
        else:
            self.requests.append(request)
            answer = self.script(request)
        writer.write(
            f"HTTP/1.1 {answer.status} X\r\ncontent-type: {answer.kind}\r\nconnection: close\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        gone = asyncio.ensure_future(reader.read(1))
        try:
            for chunk in answer.chunks:
                if isinstance(chunk, bytes):
                    writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                    await writer.drain()
                elif isinstance(chunk, type):
                    writer.transport.abort()
                    return
                else:
                    done, _ = await asyncio.wait({gone}, timeout=chunk)
                    if done:
                        self.left_early += 1
                        return
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        finally:
            gone.cancel()


ERROR_401 = b'{"error":{"message":"Incorrect API key provided: sk-canary-0123456789","type":"invalid_request_error","code":"invalid_api_key"}}'


def data(event: Any) -> bytes:
    return b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n"


def chat_chunk(delta: dict[str, Any] | None = None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return data({**CHUNK, "choices": [choice]})


CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "fake"}
USAGE = data({**CHUNK, "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
DONE = data(b"[DONE]")


def chat_words(*words: str, finish: str = "stop") -> list[Chunk]:
    first = chat_chunk({"role": "assistant", "content": ""})
    return [first, *(chat_chunk({"content": word}) for word in words), chat_chunk(finish=finish), USAGE, DONE]


def chat_calls(*calls: tuple[str, str, str], finish: str = "tool_calls") -> list[Chunk]:
    """Calls as (id, name, arguments); the arguments come in pieces keyed by index, id and name once."""
    chunks: list[Chunk] = []
    for index, (call_id, name, arguments) in enumerate(calls):
        begun = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        chunks.append(chat_chunk({"tool_calls": [begun]}))
        for start in range(0, len(arguments), 7):
            piece = {"index": index, "function": {"arguments": arguments[start : start + 7]}}
            chunks.append(chat_chunk({"tool_calls": [piece]}))
    return [*chunks, chat_chunk(finish=finish), USAGE, DONE]


def response(status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response as the service describes it in its events, with every field that it always has."""
    asked: dict[str, Any] = {
        "instructions": None,
        "metadata": {},
        "temperature": 1.0,
        "top_p": 1.0,
        "tools": [],
        "tool_choice": "auto",
    }
    about = {"id": "resp_1", "object": "response", "created_at": 1_790_000_000, "model": "fake"}
    ended = {"error": None, "incomplete_details": None, "parallel_tool_calls": True}
    return {**about, **asked, **ended, "status": status, "output": output}


def message(status: str, *words: str) -> dict[str, Any]:
    """The item that the words are in."""
    parts = [{"type": "output_text", "text": "".join(words), "annotations": []}] if words else []
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": parts}


def response_events(*words: str, calls: tuple[tuple[str, str, str], ...] = (), end: str = "completed") -> list[Chunk]:
    """The events of the Responses API in their order, with ``event:`` and ``data:`` lines."""
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response("in_progress", [])},
        {"type": "response.in_progress", "response": response("in_progress", [])},
    ]
    output: list[dict[str, Any]] = []
    if words:
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": message("in_progress")})
        events += [{"type": "response.output_text.delta", **at, "delta": word, "logprobs": []} for word in words]
        events.append({"type": "response.output_text.done", **at, "text": "".join(words), "logprobs": []})
        output.append(message("completed", *words))
    for number, (call_id, name, arguments) in enumerate(calls):
        item = {"id": f"fc_{number}", "type": "function_call", "call_id": call_id, "name": name, "arguments": ""}
        events.append({"type": "response.output_item.added", "output_index": number, "item": item})
        half = len(arguments) // 2
        for piece in (arguments[:half], arguments[half:]):
            events.append(
                {
                    "type": "response.function_call_arguments.delta",
                    "item_id": item["id"],
                    "output_index": number,
                    "delta": piece,
                }
            )
        if end == "completed":
            events.append(
                {
                    "type": "response.function_call_arguments.done",
                    "item_id": item["id"],
                    "output_index": number,
                    "arguments": arguments,
                }
            )
            whole = {**item, "arguments": arguments, "status": "completed"}
            events.append({"type": "response.output_item.done", "output_index": number, "item": whole})
            output.append(whole)
    final = response(end, output)
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    final["usage"] = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7, **details}
    if end == "incomplete":
        final["incomplete_details"] = {"reason": "max_output_tokens"}
    if end == "failed":
        final["error"] = {"code": "server_error", "message": "The model went away."}
    events.append({"type": f"response.{end}", "response": final})
    return [
        b"event: " + event["type"].encode() + b"\n" + data({**event, "sequence_number": number})
        for number, event in enumerate(events)
    ]
