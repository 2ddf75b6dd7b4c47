"""A server of the OpenAI-realtime protocol: the GA event names, or those of the beta dialects, with the errors of the real one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from peers.base import Message, Server, b64, pieces

BETA = {
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
    "conversation.item.added": "conversation.item.created",
}
SESSION: Message = {
    "type": "realtime",
    "object": "realtime.session",
    "id": "sess_1",
    "model": "gpt-realtime-2.1",
    "output_modalities": ["audio"],
}


class RealtimePeer(Server):
    """``on_create`` is called for each accepted ``response.create``; by default nothing is answered by itself."""

    def __init__(self, beta: bool = False) -> None:
        super().__init__()
        self.beta = self.cumulative = beta
        self.active: str | None = None
        self.on_create: Callable[[], None] = lambda: None
        self.creates = 0
        self.crossing = False
        """The next ``response.create`` crosses a reply that the server begins by itself."""
        self.item = ""
        self.generated: dict[str, int] = {}  # item -> bytes of audio
        self.truncated: dict[str, int] = {}
        self._open: dict[str, bool] = {}
        self._text: dict[str, str] = {}
        self._output: list[Message] = []

    def emit(self, kind: str, **fields: Any) -> None:
        self.send({"type": BETA.get(kind, kind) if self.beta else kind, "event_id": self.name("event"), **fields})

    def error(
        self, code: str | None, message: str, event_id: str | None = None, kind: str = "invalid_request_error"
    ) -> None:
        error = {"type": kind, "code": code, "message": message, "param": None, "event_id": event_id}
        self.emit("error", error=error)

    def greet(self) -> None:
        self.emit("session.created", session=dict(SESSION))

    def take(self, message: Message) -> None:
        handler = {
            "session.update": self._update,
            "input_audio_buffer.append": self._append,
            "response.create": self._create,
            "response.cancel": self._cancel,
            "conversation.item.create": self._item,
            "conversation.item.truncate": self._truncate,
        }.get(message["type"])
        if handler is None:
            self.faults.append(f"the client sent {message['type']}")
        else:
            handler(message)

    def _update(self, message: Message) -> None:
        self.emit("session.updated", session={**SESSION, **message["session"]})

    def _append(self, message: Message) -> None:
        self.heard += base64.b64decode(message["audio"])

    def _create(self, message: Message) -> None:
        if self.crossing:
            self.crossing = False
            self.begin()
        if self.active is not None:
            text = f"Conversation already has an active response in progress: {self.active}"
            self.error("conversation_already_has_active_response", text, message["event_id"])
            return
        if not all(self._open.values()):
            self.faults.append("a response was asked for with unanswered calls")
        self.creates += 1
        self.on_create()

    def _cancel(self, message: Message) -> None:
        if self.active is None:
            self.error(
                "response_cancel_not_active", "Cancellation failed: no active response found", message["event_id"]
            )
        else:
            self.end("cancelled", "client_cancelled")

    def _item(self, message: Message) -> None:
        item = message["item"]
        if item["type"] == "function_call_output":
            if self._open.get(item["call_id"], True):
                self.faults.append(f"the call {item['call_id']} was answered twice or never made")
            self._open[item["call_id"]] = True
        self.emit("conversation.item.added", item={"id": self.name("item"), **item}, previous_item_id=None)

    def _truncate(self, message: Message) -> None:
        item, end = message["item_id"], message["audio_end_ms"]
        if not self.generated.get(item) or end <= 0:
            self.faults.append("truncated an item without audio, or at 0")
            self.error(None, "Only model output audio messages can be truncated", message["event_id"])
        elif end * 48 > self.generated[item]:
            self.faults.append("truncated beyond the audio")
            text = f"Audio content of {self.generated[item] // 48}ms is already shorter than {end}ms"
            self.error("invalid_value", text, message["event_id"])
        else:
            self.truncated[item] = end
            self.emit("conversation.item.truncated", item_id=item, content_index=0, audio_end_ms=end)

    # --- verbs ------------------------------------------------------------------------------------------------------------------------

    def begin(self) -> str:
        self.active = self.name("resp")
        self._output = []
        self.item = ""
        self.emit(
            "response.created",
            response={"object": "realtime.response", "id": self.active, "status": "in_progress", "output": []},
        )
        return self.active

    def _place(self) -> Message:
        return {"response_id": self.active, "item_id": self.item, "output_index": 0, "content_index": 0}

    def say(self, text: str, pcm: bytes = b"") -> None:
        """Speak in the active response: the words, then the audio in deltas; several calls make one item."""
        if not self.item:
            self.item = self.name("item")
            item = {"id": self.item, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
            self.emit("response.output_item.added", response_id=self.active, output_index=0, item=item)
            self.emit("response.content_part.added", part={"type": "audio", "transcript": ""}, **self._place())
        self._text[self.item] = self._text.get(self.item, "") + text
        if text:
            self.emit("response.output_audio_transcript.delta", delta=text, **self._place())
        for piece in pieces(pcm):
            self.audio(piece)

    def audio(self, piece: bytes, item: str | None = None, response: str | None = None) -> None:
        place = self._place()
        place["item_id"], place["response_id"] = item or self.item, response or self.active
        self.generated[place["item_id"]] = self.generated.get(place["item_id"], 0) + len(piece)
        self.emit("response.output_audio.delta", delta=b64(piece), **place)

    def write(self, text: str) -> None:
        """A text item."""
        self.item = self.name("item")
        self.emit("response.output_text.delta", delta=text, **self._place())
        self.emit("response.output_text.done", text=text, **self._place())
        self.item = ""

    def close_item(self, status: str = "completed") -> None:
        if not self.item:
            return
        text = self._text[self.item]
        self.emit("response.output_audio.done", **self._place())
        self.emit("response.output_audio_transcript.done", transcript=text, **self._place())
        self.emit("response.content_part.done", part={"type": "audio", "transcript": text}, **self._place())
        content = [{"type": "output_audio", "transcript": text}]
        item = {"id": self.item, "type": "message", "role": "assistant", "status": status, "content": content}
        self.emit("response.output_item.done", response_id=self.active, output_index=0, item=item)
        self._output.append(item)
        self.item = ""

    def call(self, call_id: str, name: str, arguments: str, status: str = "completed") -> None:
        self.close_item()
        item: Message = {"id": self.name("item"), "type": "function_call", "call_id": call_id, "name": name}
        place = {"response_id": self.active, "item_id": item["id"], "output_index": len(self._output)}
        added = {**item, "status": "in_progress", "arguments": ""}
        self.emit("response.output_item.added", response_id=self.active, output_index=place["output_index"], item=added)
        self.emit("response.function_call_arguments.delta", call_id=call_id, delta=arguments, **place)
        self.emit("response.function_call_arguments.done", call_id=call_id, name=name, arguments=arguments, **place)
        done = {**item, "status": status, "arguments": arguments}
        self.emit("response.output_item.done", response_id=self.active, output_index=place["output_index"], item=done)
        self._output.append(done)
        if status == "completed":
            self._open.setdefault(call_id, False)

    def end(self, status: str = "completed", reason: str | None = None, error: Message | None = None) -> None:
        self.close_item("completed" if status == "completed" else "incomplete")
        details = None if status == "completed" else {"type": status, "reason": reason, "error": error}
        response = {
            "object": "realtime.response",
            "id": self.active,
            "status": status,
            "status_details": {key: value for key, value in (details or {}).items() if value is not None} or None,
            "output": list(self._output),
            "usage": {"total_tokens": 1, "input_tokens": 1, "output_tokens": 0},
        }
        self.active = None
        self.emit("response.done", response=response)

    def caller_starts(self) -> None:
        """Server VAD: the running response is cancelled, and then the speech is announced."""
        if self.active is not None:
            self.end("cancelled", "turn_detected")
        self.emit("input_audio_buffer.speech_started", audio_start_ms=len(self.heard) // 48, item_id=self.name("item"))

    def caller_stops(self, transcript: str | None = None) -> str:
        item = self.name("item")
        self.emit("input_audio_buffer.speech_stopped", audio_end_ms=len(self.heard) // 48, item_id=item)
        self.emit("input_audio_buffer.committed", item_id=item, previous_item_id=None)
        if transcript is not None:
            self.transcribe(item, transcript)
        return item

    def transcribe(self, item: str, transcript: str) -> None:
        usage = {"type": "duration", "seconds": 1.0}
        kind = "conversation.item.input_audio_transcription"
        self.emit(f"{kind}.completed", item_id=item, content_index=0, transcript=transcript, usage=usage)

    def transcript_piece(self, item: str, words: str) -> None:
        kind = "conversation.item.input_audio_transcription.delta"
        self.emit(kind, item_id=item, content_index=0, delta=words)

    def unknown(self) -> None:
        self.emit("response.telepathy.delta", delta="?")

    def result_of(self, call_id: str) -> Any:
        """What the client answered to a call."""
        outputs = [m["item"]["output"] for m in self.got if m.get("item", {}).get("call_id") == call_id]
        return json.loads(outputs[0]) if outputs else None


class XaiPeer(RealtimePeer):
    """xAI's deviations: no ``session.created``, pings, transcripts that repeat the whole, usage beside the response, errors without a code."""

    def __init__(self) -> None:
        super().__init__()
        self.cumulative = True

    def greet(self) -> None:
        self.emit("conversation.created", conversation={"id": "conv_1"})

    def send(self, message: Message) -> None:
        if message["type"] == "response.done":
            super().send({"type": "ping", "event_id": self.name("event"), "timestamp": 1})
            message["usage"] = message["response"].pop("usage")
        super().send(message)

    def error(
        self, code: str | None, message: str, event_id: str | None = None, kind: str = "invalid_request_error"
    ) -> None:
        super().error(None, message, event_id, kind)

    def transcript_piece(self, item: str, words: str) -> None:
        kind = "conversation.item.input_audio_transcription.updated"
        self.emit(kind, item_id=item, content_index=0, transcript=words)
