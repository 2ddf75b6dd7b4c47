"""The protocol core: messages out, messages in, neutral events; no socket and no clock.

``take()`` gives what is to be sent, in order. ``receive()`` reads one message of the server and returns what it means. Unknown
types are ignored; what cannot be read becomes a ``ProviderError`` and the session goes on. A call is reported once, when its
item is complete; audio and words of a reply that is over or was cancelled are dropped and counted in ``late``; a message that comes twice
counts once.

Deliberately not in here: how much was heard (the engine truncates), and whether to run a call.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import AudioReader, ident, items, obj, text
from apex_tui.agents.realtime.order import Repeats
from apex_tui.agents.realtime.profile import EVENT_ALIASES, Profile, matches
from apex_tui.agents.realtime.replies import Replies
from apex_tui.agents.realtime.sessions import accepted_subset, session_config, tool_names
from apex_tui.agents.seam import (
    AgentAudio,
    AgentEvent,
    AgentSetup,
    AgentText,
    Hint,
    LateAudio,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    ToolRequest,
    UserTranscript,
)
from apex_tui.timeline.agent_facts import ReplyStatus

MOST_ITEMS = 1024
"""Items whose audio or transcript is followed at a time; the oldest is forgotten beyond that."""

_STATUSES: dict[str, ReplyStatus] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "failed": "failed",
    "incomplete": "incomplete",
}


def remember(table: dict[str, Any], key: str, value: Any) -> None:
    """Keep a value, forgetting the oldest beyond ``MOST_ITEMS``."""
    if key not in table and len(table) >= MOST_ITEMS:
        del table[next(iter(table))]
    table[key] = value


class RealtimeClient:
    """One session. ``ready``: it stands. ``refusal``: why it does not. ``late``: deltas dropped. ``spoke``: the server said something."""

    audio_prefix = '{"type":"input_audio_buffer.append"'

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.in_rate, self.out_rate = profile.in_rate, profile.out_rate
        self.ready = False
        self.refusal: str | None = None
        self.late = 0
        self.repeats = Repeats()
        self._said: dict[str, Any] = {}
        self.spoke = False
        self._replies = Replies()
        self._out: list[str] = []
        self._sent = 0
        self._sent_types: dict[str, Any] = {}
        self._tools: tuple[str, ...] = ()
        self._audio: dict[str, Any] = {}
        self._heard: dict[str, Any] = {}
        self._handlers: dict[str, Callable[[dict[str, Any]], list[AgentEvent]]] = {
            **dict.fromkeys(profile.ready_events, self._session_updated),
            "input_audio_buffer.speech_started": self._speech_started,
            "input_audio_buffer.speech_stopped": self._speech_stopped,
            "conversation.item.input_audio_transcription.delta": self._user_delta,
            "conversation.item.input_audio_transcription.updated": self._user_whole,
            "conversation.item.input_audio_transcription.completed": self._user_final,
            "conversation.item.input_audio_transcription.failed": self._user_failed,
            "response.created": self._reply_created,
            "response.output_audio.delta": self._audio_delta,
            "response.output_audio_transcript.delta": self._text_delta,
            "response.output_audio_transcript.done": self._transcript_done,
            "response.output_text.delta": self._text_delta,
            "response.output_text.done": self._text_done,
            "response.output_item.done": self._item_done,
            "response.done": self._reply_done,
            "response.cancelled": self._reply_cancelled,
            "error": self._error,
        }

    @property
    def expecting(self) -> bool:
        """Whether the server owes a message: a reply runs or was asked for, and no call waits for us."""
        return self.ready and self._replies.expecting

    # --- out --------------------------------------------------------------------------------------------------------------------------

    def take(self) -> list[str]:
        """Everything that is to be sent now, in order."""
        out, self._out = self._out, []
        return out

    def start(self, setup: AgentSetup) -> None:
        """Configure the session; it stands when the server has echoed every tool."""
        self._tools = tuple(tool["name"] for tool in setup.tools)
        self._send("session.update", session=session_config(self.profile, setup))

    def audio(self, pcm: bytes) -> None:
        """The caller's next samples (16-bit little-endian at the profile's rate)."""
        self._sent += 1
        encoded = base64.b64encode(pcm).decode("ascii")
        # Written by hand: this is sent fifty times a second, and base64 needs no escaping.
        self._out.append(
            f'{{"type":"input_audio_buffer.append","event_id":"evt_{self._sent}","audio":"{encoded}"}}',
        )
        if self._replies.caller_sent(len(pcm) * 500.0 / self.profile.in_rate):
            self._ask_if_owed()

    def text(self, words: str) -> None:
        """A caller turn in writing, and the wish for an answer."""
        content = [{"type": "input_text", "text": words}]
        self._send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        self._replies.owe()
        self._ask_if_owed()

    def commit(self) -> None:
        """The caller's turn is over (push-to-talk only): what was sent is a turn, and an answer is wanted."""
        self._send("input_audio_buffer.commit")
        self._replies.owe()
        self._ask_if_owed()

    def tool_result(self, call_id: str, output: str) -> None:
        """The result of a reported call, once; anything else is ignored. A reply is asked for when all are answered."""
        if not self._replies.answered(call_id):
            return
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        self._send("conversation.item.create", item=item)
        self._ask_if_owed()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """State how much of an item was heard, at most what was received; nothing is sent when that is nothing."""
        reader = self._audio.get(item)
        if reader is None:
            return
        received_ms = reader.received * 500 // self.profile.out_rate
        end = min(int(audio_end_ms), received_ms)
        if end > 0:
            self._send("conversation.item.truncate", item_id=item, content_index=reader.content_index, audio_end_ms=end)

    def cancel(self) -> None:
        """Stop the reply that runs or was asked for (push-to-talk only); what still comes of it is dropped."""
        reply = self._replies.cancel()
        if reply is not None and self.profile.supports_cancel:
            self._send("response.cancel", response_id=reply)

    def hint(self, hint: Hint) -> None:
        """The declared side channel of the rehearsal agent."""
        self._send(
            "rehearsal.hint",
            turn=hint.turn,
            plan=hint.plan,
            act=hint.act,
            text=hint.text,
            onset=hint.onset,
            end=hint.end,
            pauses=[list(pause) for pause in hint.pauses],
        )

    def _send(self, kind: str, **fields: Any) -> str:
        self._sent += 1
        event_id = f"evt_{self._sent}"
        remember(self._sent_types, event_id, kind)
        self._out.append(json.dumps({"type": kind, "event_id": event_id, **fields}, separators=(",", ":")))
        return event_id

    def _ask_if_owed(self) -> None:
        if not self._replies.may_ask():
            return
        if self.profile.auto_continue_after_tool and self._replies.owes_results_only:
            self._replies.asked("")  # the server goes on by itself
        else:
            self._replies.asked(self._send("response.create"))

    # --- in ---------------------------------------------------------------------------------------------------------------------------

    def receive(self, raw: str | bytes) -> list[AgentEvent]:
        """Read one message of the server. Never raises on what it says."""
        try:
            message = door.parse_message(raw)
        except door.Unreadable as error:
            return [ProviderError("unreadable", str(error))]
        self.spoke = True
        if self.repeats.again(message):
            return []
        kind = message["type"]
        handler = self._handlers.get(EVENT_ALIASES.get(kind, kind))
        return handler(message) if handler is not None else []

    def _session_updated(self, message: dict[str, Any]) -> list[AgentEvent]:
        if self.ready or self.refusal is not None:
            return []
        session = obj(message.get("session"))
        if message["type"] == "session.updated" and ("tools" in session or self.profile.tools_echo == "required"):
            echoed = tool_names(session)
            missing = [name for name in self._tools if name not in echoed]
            if missing:
                return self._refuse("tools_not_accepted", f"it did not take the tools {', '.join(missing)}")
        accepted = accepted_subset(session)
        rate = obj(accepted.get("output_format")).get("rate", self.profile.out_rate)
        if rate != self.profile.out_rate:
            return self._refuse(
                "format_not_accepted", f"it would send audio at {rate} Hz, not {self.profile.out_rate} Hz"
            )
        return [self._stand(accepted)]

    def assume_ready(self) -> Ready:
        """Take the session as standing though the server never confirmed it; what it accepted is not known."""
        return self._stand({"unconfirmed": True})

    def _stand(self, accepted: dict[str, Any]) -> Ready:
        self.ready = True
        if self.profile.turn_detection == "push_to_talk":
            accepted["mode"] = "push_to_talk"
        return Ready(accepted, accepted.get("model") or self.profile.model)

    def _refuse(self, kind: str, why: str) -> list[AgentEvent]:
        self.refusal = why
        return [ProviderError(kind, why, "session.update", fatal=True)]

    def _speech_started(self, message: dict[str, Any]) -> list[AgentEvent]:
        if self.repeats.stale_start(message):
            return []
        self._replies.caller_began()
        return [SpeechStarted("server_vad", door.number(message.get("audio_start_ms")))]

    def _speech_stopped(self, message: dict[str, Any]) -> list[AgentEvent]:
        self.repeats.stopped(message)
        self._replies.caller_stopped()
        return [SpeechStopped("server_vad", door.number(message.get("audio_end_ms")))]

    def _user_delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        before = "" if self.profile.user_transcript == "cumulative" else self._heard.get(item, "")
        whole = text(before + text(message.get("delta")))
        remember(self._heard, item, whole)
        return [UserTranscript(item, whole, final=False)]

    def _user_whole(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        whole = text(message.get("transcript")) or text(message.get("delta"))
        remember(self._heard, item, whole)
        return [UserTranscript(item, whole, final=False)]

    def _user_final(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        self._heard.pop(item, None)
        return [UserTranscript(item, text(message.get("transcript")), final=True)]

    def _user_failed(self, message: dict[str, Any]) -> list[AgentEvent]:
        item = ident(message.get("item_id"))
        kind, why = error_parts(obj(message.get("error")))
        settled = UserTranscript(item, self._heard.pop(item, ""), final=True)
        return [settled, ProviderError(kind, f"no transcript of the caller: {why}")]

    def _reply_created(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply = ident(obj(message.get("response")).get("id"))
        if not reply or reply == self._replies.active or self._replies.is_over(reply):
            return []
        return self._begin(reply)

    def _begin(self, reply: str) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        before = self._replies.active
        if before is not None and self._replies.ended(before):
            # Some servers let a reply vanish without a word when the caller goes on.
            events.append(ReplyEnded(before, "cancelled", "superseded"))
        events.append(ReplyBegun(reply, self._replies.begun(reply)))
        unwanted = self._replies.cancel_now()
        if unwanted is not None:
            self._send("response.cancel", response_id=unwanted)
        return events

    def _speaking(self, message: dict[str, Any]) -> tuple[str | None, list[AgentEvent]]:
        """The reply that a delta belongs to (None: too late), and its beginning where the server did not announce it."""
        reply = ident(message.get("response_id")) or self._replies.active or ""
        if not reply or not self._replies.speaks(reply):
            self.late += 1
            return None, []
        return reply, [] if reply == self._replies.active else self._begin(reply)

    def _audio_delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply, events = self._speaking(message)
        if reply is None:
            return self._late_audio(message)
        item = ident(message.get("item_id")) or reply
        reader = self._audio.get(item)
        if reader is None:
            index = door.number(message.get("content_index"))
            reader = AudioReader(int(index) if index is not None and 0 <= index < MOST_ITEMS else 0)
            remember(self._audio, item, reader)
        pcm = reader.read(message.get("delta"))
        if pcm:
            events.append(AgentAudio(reply, item, pcm))
        elif pcm is None and reader.failures == 1:
            events.append(ProviderError("bad_audio", f"audio of item {item} that is no base64; it is left out"))
        return events

    def _late_audio(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply, delta = ident(message.get("response_id")), message.get("delta")
        ms = len(delta) * 375.0 / self.profile.out_rate if isinstance(delta, str) else 0.0
        return [LateAudio(reply, ms)] if reply and ms else []

    def _text_delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply, events = self._speaking(message)
        words = text(message.get("delta"))
        if reply is not None and words:
            item = ident(message.get("item_id")) or reply
            if self.profile.agent_text == "cumulative":
                events += self._cumulative(reply, item, words)
            else:
                events.append(AgentText(reply, item, words))
        return events

    def _cumulative(self, reply: str, item: str, words: str) -> list[AgentEvent]:
        """What a message that repeats the whole adds; one that takes words back states the item anew."""
        before = self._said.get(item, "")
        remember(self._said, item, words)
        if not words.startswith(before):
            return [AgentText(reply, item, words, final=True)]
        return [AgentText(reply, item, words[len(before) :])] if len(words) > len(before) else []

    def _transcript_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        return self._whole_text(message, text(message.get("transcript")))

    def _text_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        return self._whole_text(message, text(message.get("text")))

    def _whole_text(self, message: dict[str, Any], words: str) -> list[AgentEvent]:
        reply = ident(message.get("response_id")) or self._replies.active or ""
        if not reply or self._replies.is_over(reply):
            return []
        return [AgentText(reply, ident(message.get("item_id")) or reply, words, final=True)]

    def _item_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply = ident(message.get("response_id")) or self._replies.active
        if reply is not None and self._replies.is_over(reply):
            return []
        return self._call(obj(message.get("item")), reply)

    def _call(self, item: dict[str, Any], reply: str | None) -> list[AgentEvent]:
        if item.get("type") != "function_call" or item.get("status", "completed") != "completed":
            return []
        call_id = ident(item.get("call_id"))
        if not call_id:
            return [ProviderError("bad_call", "a tool call without a call_id; it cannot be answered")]
        if not self._replies.called(call_id):
            return []
        arguments, why = door.parse_arguments(item.get("arguments", ""))
        return [ToolRequest(call_id, ident(item.get("name")), arguments, reply, why)]

    def _reply_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        response = obj(message.get("response"))
        reply = ident(response.get("id")) or self._replies.active or ""
        status = _STATUSES.get(text(response.get("status")), "incomplete")
        return self._end(reply, status, _reason(obj(response.get("status_details"))), items(response.get("output")))

    def _reply_cancelled(self, message: dict[str, Any]) -> list[AgentEvent]:
        named = ident(message.get("response_id")) or ident(obj(message.get("response")).get("id"))
        return self._end(named or self._replies.active or "", "cancelled", "", [])

    def _end(self, reply: str, status: ReplyStatus, reason: str, output: list[dict[str, Any]]) -> list[AgentEvent]:
        if not reply or self._replies.is_over(reply):
            return []
        events: list[AgentEvent] = []
        if status == "completed":
            for item in output:
                events += self._call(item, reply)
        self._replies.ended(reply)
        self._ask_if_owed()
        return [*events, ReplyEnded(reply, status, reason)]

    def _error(self, message: dict[str, Any]) -> list[AgentEvent]:
        error = obj(message.get("error"))
        kind, why = error_parts(error)
        event_id = ident(error.get("event_id")) or None
        if not self.ready:
            return self._refuse(kind, why)
        busy = matches(self.profile.busy_match, kind, why)
        again = self._replies.refused(event_id, busy)
        caused_by = self._sent_types.get(event_id, event_id) if event_id is not None else None
        if again:
            self._ask_if_owed()
            return []
        if matches(self.profile.idle_cancel_match, kind, why) and caused_by in ("response.cancel", None):
            return []
        fatal = kind in self.profile.fatal_kinds or matches(self.profile.limit_match, kind, why)
        return [ProviderError(kind, why, caused_by, fatal=fatal)]


def error_parts(error: dict[str, Any]) -> tuple[str, str]:
    """Kind (code, else type, else the message's start) and message of an ``error`` object, without keys."""
    why = door.without_secrets(text(error.get("message")))
    kind = ident(error.get("code")) or ident(error.get("type")) or why[:80] or "error"
    return door.without_secrets(kind), why or kind


def _reason(details: dict[str, Any]) -> str:
    reason = text(details.get("reason"))
    error = obj(details.get("error"))
    if error:
        kind, why = error_parts(error)
        reason = ": ".join(dict.fromkeys(part for part in (reason, kind, why) if part))
    return reason[: door.MAX_ID]
