"""The protocol core of Gemini Live: messages out, messages in, neutral events; no socket and no clock.

A message holds one or more top-level keys and each is looked at; unknown keys are ignored. Audio is reported at the rate of its MIME type
(``out_rate``). Every reported call is answered once, unless the server takes it back. There is no cancel and no truncate, and errors are
close frames. Deliberately not in here: connections (``agent`` carries a session over with ``restart``), and resampling.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from apex_tui.agents.gemini import wire
from apex_tui.agents.gemini.profile import IN_RATE, GeminiProfile, setup_message
from apex_tui.agents.gemini.turns import Turns
from apex_tui.agents.realtime.door import MAX_ID, AudioReader, Unreadable, ident, items, obj, text
from apex_tui.agents.realtime.replies import Remembered
from apex_tui.agents.seam import (
    AgentEvent,
    AgentSetup,
    LateAudio,
    LimitWarning,
    ProviderError,
    Ready,
    SpeechStarted,
    SpeechStopped,
    ToolCancelled,
    ToolRequest,
    UsageReported,
    UserTranscript,
)
from apex_tui.agents.usage import counts_of

_FAILED = ("MALFORMED", "REJECTED", "PROHIBITED", "SAFETY", "BLOCKLIST", "OTHER")
"""Parts of ``turnCompleteReason`` that say that the turn is no answer."""


ACTIVITY_START = '{"realtimeInput":{"activityStart":{}}}'
ACTIVITY_END = '{"realtimeInput":{"activityEnd":{}}}'


class GeminiClient:
    """One session. ``handle``: the newest that can be resumed from. ``go_away``: the server announced the connection's end."""

    audio_prefix = '{"realtimeInput":{"audio"'
    in_rate = IN_RATE

    def __init__(self, profile: GeminiProfile) -> None:
        self.profile = profile
        self.ready = False
        self.refusal: str | None = None
        self.out_rate = wire.DEFAULT_RATE
        self.handle: str | None = None
        self.go_away = False
        self.left_s: float | None = None
        self._setup = AgentSetup("")
        self._turns = Turns()
        self._out: list[str] = []
        self._calls = Remembered()
        self._open: dict[str, str] = {}  # call id -> name
        self._answered = False  # results were given that no reply has followed
        self._reader = AudioReader()
        self._bad_audio = False
        self._heard = ""
        self._heard_turn = 1
        self._onset_ms: float | None = None

    @property
    def late(self) -> int:
        """Pieces dropped because their turn was interrupted."""
        return self._turns.late

    @property
    def expecting(self) -> bool:
        """Whether the server owes a message: a reply is open, or a blocking call was answered, and nothing is owed to it."""
        waits = self._answered and self.profile.tools == "BLOCKING"
        return self.ready and not self._open and (self._turns.reply is not None or waits)

    @property
    def quiet(self) -> bool:
        """Whether the connection may be changed without losing anything: no turn and no call is open."""
        return not self._turns.in_turn and not self._open and self._turns.reply is None

    # --- out --------------------------------------------------------------------------------------------------------------------------

    def take(self) -> list[str]:
        """Everything that is to be sent now, in order."""
        out, self._out = self._out, []
        return out

    def start(self, setup: AgentSetup) -> None:
        """Configure the session."""
        self._setup = setup
        self._out.append(_text(setup_message(self.profile, setup)))

    def restart(self) -> tuple[str, list[AgentEvent]]:
        """The set-up message for a new connection, and what its loss means: open replies end, open calls are taken back."""
        self.ready = self.go_away = self._answered = False
        self.left_s = None
        events = self._turns.end("incomplete", "the connection was renewed")
        self._turns.turn_over()
        for call_id in list(self._open):
            events.append(ToolCancelled(call_id, "the connection was renewed before the call was answered"))
        self._open.clear()
        return _text(setup_message(self.profile, self._setup, self.handle)), events

    def audio(self, pcm: bytes) -> None:
        """The caller's next samples at 16 kHz."""
        encoded = base64.b64encode(pcm).decode("ascii")
        # Written by hand: this is sent fifty times a second, and base64 needs no escaping.
        self._out.append(
            f'{{"realtimeInput":{{"audio":{{"data":"{encoded}","mimeType":"audio/pcm;rate={IN_RATE}"}}}}}}'
        )

    def activity(self, begins: bool) -> None:
        """The caller's turn begins or is over (push-to-talk only); its beginning interrupts the model."""
        self._out.append(ACTIVITY_START if begins else ACTIVITY_END)

    def text(self, words: str) -> None:
        """A caller turn in writing."""
        turn = {"role": "user", "parts": [{"text": words}]}
        self._out.append(_text({"clientContent": {"turns": [turn], "turnComplete": True}}))

    def tool_result(self, call_id: str, output: str) -> None:
        """The result of an open call, once; one that was taken back or is unknown is not answered."""
        name = self._open.pop(call_id, None)
        if name is None:
            return
        response: dict[str, Any] = {"id": call_id, "name": name, "response": wire.answer(output)}
        if self.profile.tools == "NON_BLOCKING" and self.profile.scheduling is not None:
            response["scheduling"] = self.profile.scheduling
        self._out.append(_text({"toolResponse": {"functionResponses": [response]}}))
        self._answered = True

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """The service cannot be told what was heard."""

    # --- in ---------------------------------------------------------------------------------------------------------------------------

    def receive(self, raw: str | bytes) -> list[AgentEvent]:
        """Read one message of the server. Never raises on what it says."""
        try:
            message = wire.parse(raw)
        except Unreadable as error:
            return [ProviderError("unreadable", str(error))]
        events: list[AgentEvent] = []
        if "setupComplete" in message and not self.ready:
            events.append(self._stand(ident(obj(message["setupComplete"]).get("sessionId"))))
        if "voiceActivity" in message:
            events += self._voice(obj(message["voiceActivity"]))
        if "toolCall" in message:
            events += self._tool_call(obj(message["toolCall"]))
        if "serverContent" in message:
            events += self._content(obj(message["serverContent"]))
        if "usageMetadata" in message:
            events += self._usage(message["usageMetadata"])
        if "toolCallCancellation" in message:
            events += self._cancelled(obj(message["toolCallCancellation"]))
        if "sessionResumptionUpdate" in message:
            self._resumption(obj(message["sessionResumptionUpdate"]))
        if "goAway" in message:
            events += self._going(obj(message["goAway"]))
        return events

    def _stand(self, session: str) -> Ready:
        """The session stands. The service echoes nothing: completing the set-up says that it took all of it."""
        self.ready = True
        accepted: dict[str, Any] = {
            "model": self.profile.model,
            "voice": self.profile.voice,
            "turn_detection": {"type": "automatic", "silence_duration_ms": self.profile.vad_silence_ms},
            "tools": [tool["name"] for tool in self._setup.tools],
            "tool_behavior": self.profile.tools,
            "session": session or None,
        }
        if self.profile.turn_detection == "push_to_talk":
            accepted |= {"turn_detection": None, "mode": "push_to_talk"}
        return Ready({key: value for key, value in accepted.items() if value is not None}, self.profile.model)

    def _voice(self, activity: dict[str, Any]) -> list[AgentEvent]:
        offset = wire.seconds(activity.get("audioOffset"))
        at_ms = 1000 * offset if offset is not None else None
        kind = activity.get("voiceActivityType")
        if kind == "ACTIVITY_END":
            self._onset_ms = None
            return [SpeechStopped("server_vad", at_ms)]
        if kind != "ACTIVITY_START":
            return []
        if self._turns.in_turn:
            self._onset_ms = at_ms  # the turn goes on until the server says that it was interrupted
            return []
        self._turns.caller_spoke()
        return [SpeechStarted("server_vad", at_ms)]

    def _content(self, content: dict[str, Any]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        events += self._caller_words(content)
        for part in items(obj(content.get("modelTurn")).get("parts")):
            events += self._part(part)
        words = text(obj(content.get("outputTranscription")).get("text"))
        if words:
            events += self._turns.words(words)
        if content.get("interrupted") is True and self._turns.interrupted():
            events += self._turns.end("cancelled", "interrupted")
            events.append(SpeechStarted("server_interrupt", self._onset_ms))
            self._onset_ms = None
        if content.get("generationComplete") is True and not self._turns.cut:
            events += self._turns.complete()
        if content.get("turnComplete") is True:
            events += self._turn_complete(ident(content.get("turnCompleteReason")))
        return events

    def _turn_complete(self, reason: str) -> list[AgentEvent]:
        failed = any(word in reason for word in _FAILED)
        events: list[AgentEvent] = []
        if failed:
            # A turn that failed before its first content would look like silence.
            events += self._begin() if self._turns.reply is None and not self._turns.cut else []
            events += self._turns.end("failed", reason)
        else:
            events += self._turns.end("completed")
        self._turns.turn_over()
        self._settle_caller()
        return events

    def _part(self, part: dict[str, Any]) -> list[AgentEvent]:
        blob = obj(part.get("inlineData"))
        words = text(part.get("text")) if part.get("thought") is not True else ""
        if not blob and not words:
            return []
        if self._turns.cut:
            return self._late(blob)
        if not blob:
            return [*self._begin(), *self._turns.words(words)]
        rate = wire.rate_of(blob.get("mimeType"))
        if rate is None:
            return self._unusable(f"audio of the kind {text(blob.get('mimeType'))[:80]!r}; it is left out")
        begun = self._begin()
        if begun or rate != self.out_rate:
            self._reader, self.out_rate = AudioReader(), rate
        pcm = self._reader.read(blob.get("data"))
        if pcm is None:
            return [*begun, *self._unusable("audio that is no base64; it is left out")]
        return [*begun, *self._turns.audio(pcm)]

    def _late(self, blob: dict[str, Any]) -> list[AgentEvent]:
        self._turns.late += 1
        rate, reply = wire.rate_of(blob.get("mimeType")), self._turns.last
        pcm = AudioReader().read(blob.get("data")) if rate is not None else None
        return [LateAudio(reply, len(pcm) * 500.0 / rate)] if pcm and rate and reply else []

    def _unusable(self, why: str) -> list[AgentEvent]:
        known, self._bad_audio = self._bad_audio, True
        return [] if known else [ProviderError("bad_audio", why)]

    def _begin(self) -> list[AgentEvent]:
        begun = self._turns.begin(self._answered)
        if begun:
            self._answered = False
            self._settle_caller()
        return begun

    # --- what the caller said ---------------------------------------------------------------------------------------------------------

    def _caller_words(self, content: dict[str, Any]) -> list[AgentEvent]:
        transcription = obj(content.get("inputTranscription"))
        words = text(transcription.get("text"))
        if words:
            self._turns.caller_spoke()
            self._heard = text(self._heard + words)
        final = transcription.get("finished") is True
        if not self._heard or not (words or final):
            return []
        heard = UserTranscript(f"caller-{self._heard_turn}", self._heard, final)
        if final:
            self._settle_caller()
        return [heard]

    def _settle_caller(self) -> None:
        """Words of the caller from now on are another utterance: transcripts have no ids, so a turn of the model divides them."""
        if self._heard:
            self._heard = ""
            self._heard_turn += 1

    def _usage(self, usage: object) -> list[AgentEvent]:
        counts = counts_of(usage)
        return [UsageReported(counts, "agent", self._turns.last)] if counts else []

    # --- tools ------------------------------------------------------------------------------------------------------------------------

    def _tool_call(self, message: dict[str, Any]) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        reply = self._turns.last if self._turns.in_turn else None
        for call in items(message.get("functionCalls")):
            call_id, name = ident(call.get("id")), ident(call.get("name"))
            if not call_id:
                events.append(ProviderError("bad_call", "a tool call without an id; it cannot be answered"))
            elif self._calls.add(call_id):
                self._open[call_id] = name
                arguments, why = wire.call_arguments(call.get("args"))
                events.append(ToolRequest(call_id, name, arguments, reply, why))
        if self._open and self.profile.tools == "BLOCKING":
            events += self._turns.end("completed", "it waits for a tool")
        return events

    def _cancelled(self, message: dict[str, Any]) -> list[AgentEvent]:
        named = message.get("ids")
        ids = [ident(entry) for entry in named[:1000]] if isinstance(named, list) else []
        for call_id in ids:
            self._open.pop(call_id, None)
        return [ToolCancelled(call_id) for call_id in ids if call_id in self._calls]

    # --- the connection ---------------------------------------------------------------------------------------------------------------

    def _resumption(self, update: dict[str, Any]) -> None:
        handle = update.get("newHandle")
        if update.get("resumable") is True and isinstance(handle, str) and 0 < len(handle) <= 16 * MAX_ID:
            self.handle = handle

    def _going(self, message: dict[str, Any]) -> list[AgentEvent]:
        self.left_s = wire.seconds(message.get("timeLeft"))
        known, self.go_away = self.go_away, True
        if known:
            return []
        when = f"in {self.left_s:g} s" if self.left_s is not None else "soon"
        what = "it can be resumed" if self.handle is not None else "it cannot be resumed"
        return [LimitWarning(f"the provider ends this connection {when}; {what}", self.left_s)]


def _text(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"))
