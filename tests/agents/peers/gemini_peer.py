"""A Gemini Live server: camelCase out, either case in, turns with ``interrupted``, tools that can be taken back, resumption, goAway.

It closes with 1007 on what the service refuses (an unknown set-up field, audio at another rate) as the real one does: errors are closes.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from peers.base import Message, Server, b64, pieces

_SETUP = frozenset(
    {
        "model", "generationConfig", "systemInstruction", "tools", "realtimeInputConfig", "inputAudioTranscription",
        "outputAudioTranscription", "sessionResumption", "contextWindowCompression", "proactivity", "historyConfig",
    }
)  # fmt: skip


def camel(value: Any) -> Any:
    """Keys in camelCase, as proto-JSON reads them; what is inside arguments, results and schemas is left alone."""
    if isinstance(value, list):
        return [camel(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    out: Message = {}
    for key, entry in value.items():
        name = re.sub(r"_([a-z])", lambda found: found[1].upper(), key)
        out[name] = (
            entry if name in ("args", "response", "parameters", "parametersJsonSchema", "properties") else camel(entry)
        )
    return out


class GeminiPeer(Server):
    """``binary``: frames of bytes, as the real service sends them. ``resumable``: handles are given."""

    def __init__(self, binary: bool = True, resumable: bool = True) -> None:
        super().__init__()
        self.binary = binary
        self.resumable = resumable
        self.setup: Message = {}
        self.handles: list[str] = []
        self.resumed: list[str] = []
        self.in_turn = False
        self.answers: dict[str, Message] = {}
        self._open: dict[str, str] = {}

    def send(self, message: Message) -> None:
        self.sent.append(message)
        text = json.dumps(message)
        self.raw(text.encode() if self.binary else text)

    def greet(self) -> None:
        self.setup = {}

    def take(self, message: Message) -> None:
        message = camel(message)
        if not self.setup:
            self._set_up(message.get("setup"))
        elif "setup" in message:
            self.refuse("setup must be the first message")
        elif "realtimeInput" in message:
            self._hear(message["realtimeInput"])
        elif "toolResponse" in message:
            self._answered(message["toolResponse"])
        elif "clientContent" not in message:
            self.refuse(f"unknown field {next(iter(message), '')}")

    def refuse(self, why: str) -> None:
        self.faults.append(why)
        self.hang_up(1007, f"Request contains an invalid argument: {why}"[:120])

    def _set_up(self, setup: Message | None) -> None:
        if setup is None:
            self.refuse("the first message is no setup")
            return
        unknown = set(setup) - _SETUP
        if unknown:
            self.refuse(f"Unknown name {sorted(unknown)[0]!r} at 'setup'")
            return
        self.setup = setup
        handle = setup.get("sessionResumption", {}).get("handle")
        if handle is not None:
            if handle not in self.handles:
                self.refuse("unknown handle")
                return
            self.resumed.append(handle)
        self.send({"setupComplete": {"sessionId": f"session-{self.opened_links}"}})
        self.offer_handle()

    def offer_handle(self, resumable: bool = True) -> None:
        if not self.resumable or "sessionResumption" not in self.setup:
            return
        if resumable:
            self.handles.append(self.name("handle"))
            self.send({"sessionResumptionUpdate": {"newHandle": self.handles[-1], "resumable": True}})
        else:
            self.send({"sessionResumptionUpdate": {"resumable": False}})

    def _hear(self, given: Message) -> None:
        audio = given.get("audio")
        if audio is None:
            return
        if audio.get("mimeType") != "audio/pcm;rate=16000":
            self.refuse(f"audio of {audio.get('mimeType')}")
        else:
            self.heard += base64.b64decode(audio["data"], altchars=b"-_" if set(audio["data"]) & set("-_") else None)

    def _answered(self, response: Message) -> None:
        for entry in response["functionResponses"]:
            if entry["id"] not in self._open:
                self.faults.append(f"the call {entry['id']} was answered twice, or is not open")
            self._open.pop(entry["id"], None)
            self.answers[entry["id"]] = entry

    # --- verbs ------------------------------------------------------------------------------------------------------------------------

    def content(self, **fields: Any) -> None:
        self.send({"serverContent": fields})

    def begin(self) -> str:
        self.in_turn = True
        return ""

    def say(self, text: str, pcm: bytes = b"", rate: int = 24_000) -> None:
        """Audio in parts of 100 ms, the words beside them."""
        self.in_turn = True
        for number, piece in enumerate(pieces(pcm)):
            blob = {"mimeType": f"audio/pcm;rate={rate}", "data": b64(piece)}
            self.content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})
            if number == 0 and text:
                self.content(outputTranscription={"text": text})
        if not pcm and text:
            self.content(outputTranscription={"text": text})

    def audio(self, piece: bytes) -> None:
        blob = {"mimeType": "audio/pcm;rate=24000", "data": b64(piece)}
        self.content(modelTurn={"role": "model", "parts": [{"inlineData": blob}]})

    def write(self, text: str) -> None:
        self.in_turn = True
        self.content(modelTurn={"role": "model", "parts": [{"text": text}]})

    def calls(self, *calls: tuple[str, str, Any]) -> None:
        """Several calls in one message."""
        self.in_turn = True
        for call_id, name, _ in calls:
            self._open[call_id] = name
        self.send({"toolCall": {"functionCalls": [{"id": i, "name": n, "args": a} for i, n, a in calls]}})

    def end(self, status: str = "completed") -> None:
        if status == "failed":
            self.content(turnComplete=True, turnCompleteReason="MALFORMED_FUNCTION_CALL")
        else:
            self.content(generationComplete=True)
            self.content(turnComplete=True)
        self.in_turn = False

    def caller_starts(self) -> None:
        """Automatic activity detection: the turn is interrupted, its calls are taken back, and it is complete."""
        if not self.in_turn:
            self.send(
                {
                    "voiceActivity": {
                        "voiceActivityType": "ACTIVITY_START",
                        "audioOffset": f"{len(self.heard) / 32000:g}s",
                    }
                }
            )
            return
        self.content(interrupted=True)
        if self._open:
            self.send({"toolCallCancellation": {"ids": list(self._open)}})
            self._open.clear()
        self.content(turnComplete=True)
        self.in_turn = False

    def caller_said(self, text: str, finished: bool = False) -> None:
        self.content(inputTranscription={"text": text, "finished": True} if finished else {"text": text})

    def go_away(self, left: str = "50s") -> None:
        self.send({"goAway": {"timeLeft": left}})

    def unknown(self) -> None:
        self.send({"telepathy": {"thought": "?"}})
