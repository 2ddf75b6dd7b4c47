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
from apex_tui.agents.realtime.door import ident, items, obj, remember, text
from apex_tui.agents.realtime.errors import error_parts, reason_of
from apex_tui.agents.realtime.hearing import Hearing
from apex_tui.agents.realtime.order import Repeats
from apex_tui.agents.realtime.profile import EVENT_ALIASES, Profile, matches
from apex_tui.agents.realtime.replies import Remembered, Replies
from apex_tui.agents.realtime.sessions import accepted_subset, other_formats, session_config, tool_names
from apex_tui.agents.realtime.speaking import Speaking
from apex_tui.agents.seam import (
    AgentEvent,
    AgentSetup,
    Hint,
    LateAudio,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    ToolRequest,
    UsageReported,
)
from apex_tui.agents.usage import counts_of
from apex_tui.timeline.agent_facts import ReplyStatus

_STATUSES: dict[str, ReplyStatus] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "failed": "failed",
    "incomplete": "incomplete",
}


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
        self.spoke = False
        self._replies = Replies(behind=profile.results_later)
        self._out: list[str] = []
        self._sent = 0
        self._sent_types: dict[str, Any] = {}
        self._last_pcm, self._last_encoded = b"", ""
        self._tools: tuple[str, ...] = ()
        self._speaking = Speaking(profile.agent_text == "cumulative", profile.out_rate)
        self._counted = Remembered()
        self._calls = Remembered()
        self._handlers: dict[str, Callable[[dict[str, Any]], list[AgentEvent]]] = {
            **dict.fromkeys(profile.ready_events, self._session_updated),
            "input_audio_buffer.speech_started": self._speech_started,
            "input_audio_buffer.speech_stopped": self._speech_stopped,
            **Hearing(profile.user_transcript == "cumulative").handlers,
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
        if pcm != self._last_pcm:  # silence comes again and again
            self._last_pcm, self._last_encoded = pcm, base64.b64encode(pcm).decode("ascii")
        # Written by hand: this is sent fifty times a second, and base64 needs no escaping.
        self._out.append(
            f'{{"type":"input_audio_buffer.append","event_id":"evt_{self._sent}","audio":"{self._last_encoded}"}}',
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
        cut = self._speaking.cut(item, audio_end_ms)
        if cut is not None:
            self._send("conversation.item.truncate", item_id=item, content_index=cut[0], audio_end_ms=cut[1])

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
        other = other_formats(accepted, self.profile)
        if other is not None:
            return self._refuse("format_not_accepted", other)
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

    def _reply_created(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply = ident(obj(message.get("response")).get("id"))
        if not reply or reply == self._replies.active:
            return []
        if self._replies.is_over(reply):
            self._replies.begun_again(reply)
            why = f"a reply begins under the id of one that is over ({reply}); what it says is taken for late audio and left out"
            return [ProviderError("protocol", why)]
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

    def _speaker(self, message: dict[str, Any]) -> tuple[str | None, list[AgentEvent]]:
        """The reply that a delta belongs to (None: too late), and its beginning where the server did not announce it."""
        reply = ident(message.get("response_id")) or self._replies.active or ""
        if not reply or not self._replies.speaks(reply):
            self.late += 1
            return None, []
        return reply, [] if reply == self._replies.active else self._begin(reply)

    def _audio_delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply, events = self._speaker(message)
        if reply is None:
            return self._late_audio(message)
        item = ident(message.get("item_id")) or reply
        return [*events, *self._speaking.sound(reply, item, message)]

    def _late_audio(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply, delta = ident(message.get("response_id")), message.get("delta")
        ms = len(delta) * 375.0 / self.profile.out_rate if isinstance(delta, str) else 0.0
        return [LateAudio(reply, ms)] if reply and ms else []

    def _text_delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply, events = self._speaker(message)
        words = text(message.get("delta"))
        if reply is not None and words:
            events += self._speaking.words(reply, ident(message.get("item_id")) or reply, words)
        return events

    def _transcript_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        return self._whole_text(message, text(message.get("transcript")))

    def _text_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        return self._whole_text(message, text(message.get("text")))

    def _whole_text(self, message: dict[str, Any], words: str) -> list[AgentEvent]:
        """The words of an item, also of a reply that is over: its sound may still be playing, and words are written when it has been said."""
        reply = ident(message.get("response_id")) or self._replies.active or ""
        if not reply or self._replies.is_another(reply):
            return []
        return self._speaking.whole(reply, ident(message.get("item_id")) or reply, words)

    def _item_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        reply = ident(message.get("response_id")) or self._replies.active
        if reply is not None and self._replies.is_over(reply):
            return []
        item = obj(message.get("item"))
        return [*(self._speaking.unsaid(reply, item) if reply else []), *self._call(item, reply)]

    def _call(self, item: dict[str, Any], reply: str | None) -> list[AgentEvent]:
        if item.get("type") != "function_call" or item.get("status", "completed") != "completed":
            return []
        call_id = ident(item.get("call_id"))
        if not call_id:
            return [ProviderError("bad_call", "a tool call without a call_id; it cannot be answered")]
        if not self._replies.called(call_id, reply):
            return self._called_again(call_id, item)
        self._calls.add(_content(call_id, item))
        arguments, why = door.parse_arguments(item.get("arguments", ""))
        return [ToolRequest(call_id, ident(item.get("name")), arguments, reply, why)]

    def _called_again(self, call_id: str, item: dict[str, Any]) -> list[AgentEvent]:
        """A call comes once by itself and once with its reply. With other content it is another call, which nobody will ever answer."""
        if not item.get("arguments") or not self._calls.add(_content(call_id, item)):
            return []
        return [ProviderError("bad_call", f"the call {call_id} came again with other content; only the first is run")]

    def _reply_done(self, message: dict[str, Any]) -> list[AgentEvent]:
        response = obj(message.get("response"))
        reply = ident(response.get("id")) or self._replies.active or ""
        status = _STATUSES.get(text(response.get("status")), "incomplete")
        used = self._usage(reply, response.get("usage") or message.get("usage"))
        reason = reason_of(obj(response.get("status_details")))
        return [*used, *self._end(reply, status, reason, items(response.get("output")))]

    def _usage(self, reply: str, usage: object) -> list[AgentEvent]:
        """What a reply took, once; xAI states it beside the response instead of in it."""
        counts = counts_of(usage)
        return [UsageReported(counts, "agent", reply)] if counts and reply and self._counted.add(reply) else []

    def _reply_cancelled(self, message: dict[str, Any]) -> list[AgentEvent]:
        named = ident(message.get("response_id")) or ident(obj(message.get("response")).get("id"))
        return self._end(named or self._replies.active or "", "cancelled", "", [])

    def _end(self, reply: str, status: ReplyStatus, reason: str, output: list[dict[str, Any]]) -> list[AgentEvent]:
        if not reply or self._replies.is_over(reply):
            return []
        events: list[AgentEvent] = []
        for item in output:
            events += self._speaking.unsaid(reply, item)
            events += self._call(item, reply) if status == "completed" else []
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


def _content(call_id: str, item: dict[str, Any]) -> str:
    """What is asked for by a call, as one key."""
    return f"{call_id} {ident(item.get('name'))} {hash(str(item.get('arguments', '')))}"
