"""A GPT-Live server: a continuous track in real time, strict about fields, delegation with inner Responses events, expiry.

The track runs on the server's own clock (100 ms deltas, silence included) once the session has started; ``say`` puts sound on it.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from peers.base import Message, Server, b64

DELTA_BYTES = 4800
_FIELDS = frozenset(
    {"model", "instructions", "audio", "delegation", "input", "store", "safety_identifier", "triggers", "client"}
)
_TYPES = frozenset(
    {"session.input_audio.append", "response.item.create", "response.create", "session.close", "session.update"}
)


class GptLivePeer(Server):
    """``expires_at``: Unix seconds. ``track``: whether the track runs by itself."""

    def __init__(self, expires_at: int = 2_000_000_000, track: bool = True) -> None:
        super().__init__()
        self.expires_at = expires_at
        self.session: Message = {}
        self.runs = track
        self.creates = 0
        self.refuse_creates = 0
        self.answers: dict[str, str] = {}
        self.played = bytearray()
        self._queue = bytearray()
        self._words: list[tuple[int, str]] = []
        self._open: dict[str, str] = {}
        self._dead: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._delegations: set[str] = set()

    def emit(self, kind: str, **fields: Any) -> None:
        self.send({"type": kind, "event_id": self.name("event"), **fields})

    def error(self, code: str, message: str, event_id: str | None = None) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": None}
        self.emit("error", error=error, client_event_id=event_id)

    def take(self, message: Message) -> None:
        kind = message["type"]
        if not self.session:
            self._start(message)
        elif kind not in _TYPES:
            self.faults.append(f"the client sent {kind}")
            self.error("unknown_event", f"Unknown event {kind}", message.get("event_id"))
        elif kind == "session.input_audio.append":
            self.heard += base64.b64decode(message["audio"])
        elif kind == "response.item.create":
            self._output(message)
        elif kind == "response.create":
            self._create(message)
        elif kind == "session.close":
            self.over("close_requested")
            self.hang_up(1000)

    def _start(self, message: Message) -> None:
        unknown = set(message.get("session", {})) - _FIELDS
        if message["type"] != "session.start" or unknown:
            self.faults.append(f"no valid session.start: {sorted(unknown)}")
            self.error("unknown_parameter", f"Unknown parameter: {sorted(unknown)}", message.get("event_id"))
            return
        self.session = {**message["session"], "id": "live_1", "status": "active", "expires_at": self.expires_at}
        self.emit("session.started", session=self.session, client_event_id=message.get("event_id"))
        if self.runs:
            self._task = asyncio.get_running_loop().create_task(self._play(), name="gpt-live track")

    async def _play(self) -> None:
        while not self.gone:
            await asyncio.sleep(0.1)
            self.tick()

    def tick(self) -> None:
        """The next 100 ms of the track."""
        sound, self._queue = bytes(self._queue[:DELTA_BYTES]), self._queue[DELTA_BYTES:]
        at = len(self.played)
        self.track(sound + bytes(DELTA_BYTES - len(sound)))
        while self._words and self._words[0][0] <= at:
            begin, words = self._words.pop(0)
            self.words(words, begin // 48, at // 48 + 100)

    def track(self, raw: bytes) -> None:
        self.played += raw
        self.emit("session.output_audio.delta", delta=b64(raw))

    def words(self, text: str, start_ms: int, end_ms: int) -> None:
        self.emit("session.output_transcript.delta", delta=text, start_ms=start_ms, end_ms=end_ms)

    def closed(self) -> None:
        super().closed()
        self._end()

    def hang_up(self, code: int | None, reason: str = "") -> None:
        super().hang_up(code, reason)
        self._end()

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _output(self, message: Message) -> None:
        call_id = message["item"]["call_id"]
        if call_id in self._dead:
            self.faults.append(f"an output for {call_id}, whose response failed")
        elif call_id not in self._open:
            self.faults.append(f"the call {call_id} was answered twice or never made")
        self._open.pop(call_id, None)
        self.answers[call_id] = message["item"]["output"]

    def _create(self, message: Message) -> None:
        if self._open:
            self.faults.append("response.create with open calls")
            self.error("function_call_outputs_required", "Outputs are missing.", message.get("event_id"))
            return
        if self.refuse_creates:
            self.refuse_creates -= 1
            self.error("function_call_outputs_required", "Outputs are missing.", message.get("event_id"))
            return
        self.creates += 1

    # --- verbs ------------------------------------------------------------------------------------------------------------------------

    def begin(self) -> str:
        return ""

    def say(self, text: str, pcm: bytes = b"") -> None:
        """Sound on the track after what waits, and the words once it is played."""
        if text:
            self._words.append((len(self.played) + len(self._queue), text))
        self._queue += pcm

    def end(self, status: str = "completed") -> None:
        """Nothing marks the end of an utterance."""

    def caller_starts(self) -> None:
        """The model hears the caller and falls silent; nothing is said about it."""
        self._queue.clear()
        self._words.clear()

    def inner(self, delegation: str, event: Message) -> None:
        self.emit("response.event", delegation_id=delegation, event=event)

    def delegate(self, *calls: tuple[str, str, str], delegation: str = "dlg_1", finish: str = "completed") -> None:
        """A delegation whose response makes these calls and ends."""
        if delegation not in self._delegations:
            self._delegations.add(delegation)
            target = {
                "id": delegation,
                "type": "delegation",
                "target": "responses",
                "response_id": f"resp_{delegation}",
            }
            self.emit("session.delegation.created", delegation=target, offset_ms=len(self.played) // 48)
        self.inner(
            delegation, {"type": "response.created", "sequence_number": 0, "response": {"id": f"resp_{delegation}"}}
        )
        for number, (call_id, name, arguments) in enumerate(calls):
            self._open.setdefault(call_id, delegation)
            item = {"id": f"fc_{call_id}", "type": "function_call", "call_id": call_id, "name": name}
            place = {"output_index": number, "sequence_number": 2 * number + 1}
            self.inner(
                delegation,
                {
                    "type": "response.output_item.added",
                    "item": {**item, "arguments": "", "status": "in_progress"},
                    **place,
                },
            )
            self.inner(
                delegation,
                {
                    "type": "response.output_item.done",
                    "item": {**item, "arguments": arguments, "status": "completed"},
                    **place,
                },
            )
        if finish:
            self.finish(delegation, finish)

    def finish(self, delegation: str = "dlg_1", status: str = "completed") -> None:
        response: Message = {"id": f"resp_{delegation}", "status": status}
        if status == "failed":
            response["error"] = {"code": "server_error", "message": "The delegate failed."}
            self._dead |= {call for call, owner in self._open.items() if owner == delegation}
            self._open = {call: owner for call, owner in self._open.items() if owner != delegation}
        self.inner(delegation, {"type": f"response.{status}", "sequence_number": 99, "response": response})

    def caller_said(self, text: str, start_ms: int, end_ms: int) -> None:
        self.emit("session.input_transcript.delta", delta=text, start_ms=start_ms, end_ms=end_ms)

    def over(self, reason: str) -> None:
        usage = {"seconds": 1.0, "active_seconds": 1.0, "paused_seconds": 0.0}
        self.emit("session.closed", reason=reason, session=self.session, usage=usage)

    def unknown(self) -> None:
        self.emit("session.telepathy", thought="?")
