"""One session of an agent in Python: the server's side of the realtime protocol around a handler.

Turns are found by energy (``turns``); each starts the handler's generator, whose steps become responses. A response ends with the
generator, or at a tool call, where the generator waits for the results. Deliberately not in here: sockets, and what a handler is.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from apex_tui.agents.own_agent import Call, Handler, Say, Speak, Step, Transcribe, Turn
from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import ident, items, obj, text
from apex_tui.agents.rehearsal.messages import Messages, call_item, message_item, response, user_item
from apex_tui.agents.turns import TurnBegan, TurnDetector, TurnEnded
from apex_tui.audio.frames import RATE, pcm_bytes, pcm_from_bytes, to_ms
from apex_tui.audio.tones import tone_speech

DELTA_BYTES = 4_800
"""100 ms of sound in one message."""

BURST = 4.0
"""How many times faster than it plays sound is sent: ahead of the player, and still to be stopped."""

log = logging.getLogger("apex_tui.agents")


class OwnSession:
    """The protocol for one connection. ``send`` takes each message; see ``own_agent`` for the rest."""

    def __init__(
        self,
        send: Callable[[str], Awaitable[None]],
        handler: Handler,
        transcribe: Transcribe | None = None,
        speak: Speak | None = None,
    ) -> None:
        self._put, self._handler, self._transcribe, self._speak = send, handler, transcribe, speak
        self._messages = Messages()
        self._session: dict[str, Any] = {"type": "realtime", "object": "realtime.session", "model": "local"}
        self._turns = TurnDetector()
        self._memory: dict[str, Any] = {}
        self._item: str | None = None
        self._written: list[str] = []
        self._steps: AsyncGenerator[Step, Any] | None = None
        self._results: dict[str, Any] = {}
        self._open: set[str] = set()
        self._many = False
        self._reply: str | None = None
        self._output: list[dict[str, Any]] = []
        self._saying: dict[str, Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._handlers: dict[str, Callable[[dict[str, Any], str | None], Awaitable[None]]] = {
            "session.update": self._update,
            "input_audio_buffer.append": self._append,
            "conversation.item.create": self._create_item,
            "conversation.item.truncate": self._truncate,
            "response.create": self._create_response,
            "response.cancel": self._cancel,
        }

    async def open(self) -> None:
        """The client connected."""
        await self._emit("session.created", session=self._session)

    async def receive(self, raw: str | bytes) -> None:
        """A message of the client. Never raises on what it says; what is not known is answered as an error."""
        try:
            message = door.parse_message(raw)
        except door.Unreadable as error:
            await self._error("invalid_json", str(error), None)
            return
        cause = ident(message.get("event_id")) or None
        handler = self._handlers.get(message["type"])
        if handler is None:
            await self._error("invalid_value", f"Invalid value: '{text(message['type'])[:80]}'.", cause)
        else:
            await handler(message, cause)

    async def close(self) -> None:
        """The client is gone: whatever runs is ended."""
        await self._stop("client_cancelled", tell=False)

    async def _emit(self, kind: str, **fields: Any) -> None:
        await self._put(self._messages.event(kind, **fields))

    async def _error(self, code: str, why: str, cause: str | None) -> None:
        await self._put(self._messages.error(code, why, cause))

    # --- the client -------------------------------------------------------------------------------------------------------------------

    async def _update(self, message: dict[str, Any], cause: str | None) -> None:
        session = obj(message.get("session"))
        for side in obj(session.get("audio")).values():
            rate = door.number(obj(obj(side).get("format")).get("rate"))
            if rate not in (None, RATE):
                why = f"Invalid 'session.audio': {RATE} Hz is the only rate of this agent, not {rate:g} Hz."
                await self._error("invalid_value", why, cause)
                return
        heard = obj(obj(session.get("audio")).get("input"))
        if heard.get("turn_detection", "") is None:
            why = "Invalid 'session.audio.input.turn_detection': this agent finds the turns itself, and takes no push-to-talk."
            await self._error("invalid_value", why, cause)
            return
        self._session.update(session)
        detection = obj(heard.get("turn_detection"))
        wanted = door.number(detection.get("silence_duration_ms"))
        if wanted is not None and 100 <= wanted <= 10_000:
            self._turns = TurnDetector(wanted)
        await self._emit("session.updated", session=self._session)

    async def _append(self, message: dict[str, Any], cause: str | None) -> None:
        try:
            pcm = pcm_from_bytes(base64.b64decode(str(message.get("audio")), validate=True))
        except (binascii.Error, ValueError):
            await self._error("invalid_value", "Invalid 'audio': base64 of whole 16-bit samples is expected.", cause)
            return
        for turn in self._turns.feed(pcm):
            if isinstance(turn, TurnBegan):
                self._item = self._messages.new_id("item")
                begun = round(to_ms(turn.onset))
                await self._emit("input_audio_buffer.speech_started", audio_start_ms=begun, item_id=self._item)
                await self._stop("turn_detected")
            else:
                await self._turn_over(turn)

    async def _turn_over(self, turn: TurnEnded) -> None:
        item, self._item = self._item or self._messages.new_id("item"), None
        await self._emit("input_audio_buffer.speech_stopped", audio_end_ms=round(to_ms(turn.end)), item_id=item)
        await self._emit("input_audio_buffer.committed", item_id=item, previous_item_id=None)
        await self._emit("conversation.item.added", item=user_item(item, None), previous_item_id=None)
        await self._stop("turn_detected")
        self._task = asyncio.get_running_loop().create_task(self._answer(item, pcm_bytes(turn.pcm)))

    async def _create_item(self, message: dict[str, Any], cause: str | None) -> None:
        item = obj(message.get("item"))
        kind = item.get("type")
        name = ident(item.get("id")) or self._messages.new_id("item")
        if kind == "function_call_output":
            call_id = ident(item.get("call_id"))
            if call_id in self._open:
                self._open.discard(call_id)
                self._results[call_id] = _parsed(item.get("output"))
        elif kind == "message" and item.get("role") == "user":
            self._written += [text(part.get("text")) for part in items(item.get("content")) if text(part.get("text"))]
        else:
            await self._error("invalid_value", "Invalid 'item'.", cause)
            return
        await self._emit("conversation.item.added", item={**item, "id": name}, previous_item_id=None)

    async def _create_response(self, message: dict[str, Any], cause: str | None) -> None:
        if self._reply is not None or (self._task is not None and not self._task.done()):
            why = f"Conversation already has an active response in progress: {self._reply}."
            await self._error("conversation_already_has_active_response", why, cause)
        elif self._written:
            words, self._written = " ".join(self._written), []
            await self._stop("client_cancelled")
            self._steps = self._handler(self._turn(b"", words))
            self._task = asyncio.get_running_loop().create_task(self._respond(self._steps, None))
        elif self._open:
            await self._error("function_call_output_pending", "A function call has no output yet.", cause)
        elif self._steps is not None:
            results = list(self._results.values())
            self._results = {}
            value = results if self._many else results[0] if results else None
            self._task = asyncio.get_running_loop().create_task(self._respond(self._steps, value))
        else:
            await self._error("invalid_value", "There is nothing to answer.", cause)

    async def _cancel(self, message: dict[str, Any], cause: str | None) -> None:
        if self._reply is None:
            await self._error("response_cancel_not_active", "Cancellation failed: no active response found", cause)
        else:
            await self._stop("client_cancelled")

    async def _truncate(self, message: dict[str, Any], cause: str | None) -> None:
        end = door.number(message.get("audio_end_ms"))
        name = ident(message.get("item_id"))
        await self._emit("conversation.item.truncated", item_id=name, content_index=0, audio_end_ms=end)

    # --- the handler ------------------------------------------------------------------------------------------------------------------

    def _turn(self, audio: bytes, words: str | None) -> Turn:
        tools = tuple(
            {key: tool.get(key) for key in ("name", "description", "parameters")}
            for tool in items(self._session.get("tools"))
        )
        return Turn(audio, words, text(self._session.get("instructions")), tools, self._memory)

    async def _answer(self, item: str, audio: bytes) -> None:
        words = None
        if self._transcribe is not None:
            kind = "conversation.item.input_audio_transcription"
            try:
                words = await self._transcribe(audio)
                usage = {"type": "duration", "seconds": round(len(audio) / 2 / RATE, 3)}
                await self._emit(f"{kind}.completed", item_id=item, content_index=0, transcript=words, usage=usage)
            except Exception as error:
                log.exception("the transcription failed")
                why = {"type": "transcription_error", "message": type(error).__name__}
                await self._emit(f"{kind}.failed", item_id=item, content_index=0, error=why)
        self._steps = self._handler(self._turn(audio, words))
        await self._respond(self._steps, None)

    async def _respond(self, steps: AsyncGenerator[Step, Any], value: Any) -> None:
        """One response: the handler's steps until it waits for a tool, or is through."""
        self._reply, self._output = self._messages.new_id("resp"), []
        await self._emit("response.created", response=response(self._reply, "in_progress", []))
        try:
            while True:
                try:
                    step = await steps.asend(value)
                except StopAsyncIteration:
                    self._steps = None
                    break
                value = None
                if isinstance(step, str | Say):
                    await self._say(step if isinstance(step, Say) else Say(step))
                else:
                    self._many = isinstance(step, list)
                    for call in step if isinstance(step, list) else [step]:
                        await self._call(call)
                    break
        except Exception as error:
            log.exception("the handler failed")
            self._steps = None
            why = {"type": "server_error", "code": "handler_error", "message": type(error).__name__}
            await self._done("failed", {"type": "failed", "error": why})
            return
        await self._done("completed", None)

    async def _say(self, say: Say) -> None:
        pcm = say.pcm
        if pcm is None:
            pcm = await self._speak(say.text) if self._speak is not None else pcm_bytes(tone_speech(say.text, "agent"))
        item, index = self._messages.new_id("item"), len(self._output)
        at = {"response_id": self._reply, "item_id": item, "output_index": index, "content_index": 0}
        self._saying = message_item(item, "incomplete", say.text)
        begun = message_item(item, "in_progress", None)
        await self._emit("response.output_item.added", response_id=self._reply, output_index=index, item=begun)
        await self._emit("response.output_audio_transcript.delta", **at, delta=say.text)
        for start in range(0, len(pcm), DELTA_BYTES):
            piece = pcm[start : start + DELTA_BYTES]
            await self._emit("response.output_audio.delta", **at, delta=base64.b64encode(piece).decode())
            await asyncio.sleep(len(piece) / 48_000 / BURST)
        await self._emit("response.output_audio.done", **at)
        await self._emit("response.output_audio_transcript.done", **at, transcript=say.text)
        self._saying = None
        await self._item_done(message_item(item, "completed", say.text))

    async def _call(self, call: Call) -> None:
        name, item = self._messages.new_id("call"), self._messages.new_id("item")
        self._open.add(name)
        self._results[name] = None
        arguments = json.dumps(call.arguments)
        await self._item_done(call_item(item, "completed", name, call.name, arguments))

    async def _item_done(self, item: dict[str, Any]) -> None:
        self._output.append(item)
        index = len(self._output) - 1
        await self._emit("response.output_item.done", response_id=self._reply, output_index=index, item=item)

    async def _done(self, status: str, details: dict[str, Any] | None) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            await self._emit("response.done", response=response(reply, status, self._output, details))

    async def _stop(self, reason: str, *, tell: bool = True) -> None:
        """The caller has the floor, or is gone: end the response and the handler's generator."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        steps, self._steps = self._steps, None
        if steps is not None:
            with suppress(Exception):
                await steps.aclose()
        self._open.clear()
        self._results = {}
        saying, self._saying = self._saying, None
        if tell and self._reply is not None:
            if saying is not None:
                await self._item_done(saying)
            await self._done("cancelled", {"type": "cancelled", "reason": reason})


def _parsed(output: object) -> Any:
    """A tool's result: its JSON, else its text."""
    try:
        return json.loads(text(output))
    except (ValueError, RecursionError):
        return text(output)
