"""The protocol core of GPT-Live: messages out, messages in, neutral events; no socket and no clock.

The voice is one track that never stops, so replies are cut by energy (``track``) and their words, which come without ids, are laid to them
by time. The service reports no speech of the caller and no interruption, and can be neither cancelled nor truncated. Tools are called by
the delegate, whose own events come inside ``response.event``; only completed items count, each call once.

Deliberately not in here: connections, and when the session expires (``expires_at`` is read, the agent counts).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from apex_tui.agents.gptlive.profile import LiveProfile, start_session
from apex_tui.agents.gptlive.track import GAP_SAMPLES, Piece, Track
from apex_tui.agents.gptlive.work import Work
from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import AudioReader, ident, items, obj, text
from apex_tui.agents.seam import (
    AgentAudio,
    AgentEvent,
    AgentSetup,
    AgentText,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    ToolCancelled,
    ToolRequest,
    UsageReported,
    UserTranscript,
)
from apex_tui.agents.usage import counts_of
from apex_tui.audio.frames import RATE, to_ms, to_samples

FATAL_KINDS = frozenset(
    {
        "insufficient_quota", "invalid_api_key", "account_deactivated", "billing_hard_limit_reached",
        "credit_balance_exhausted", "forbidden", "session_expired",
    }
)  # fmt: skip

EARLY = "function_call_outputs_required"

_ENDS = {
    "expired": "session_expired",
    "content": "content",
    "connection_lost": "connection_lost",
    "remote_hangup": "remote_hangup",
}

SLACK_MS = 500.0
"""Times of words and of the track may differ by this much: both count the same seconds, but not from the same message."""

_OUTPUT_TYPES = ("response.completed", "response.failed", "response.incomplete", "response.cancelled")


class GptLiveClient:
    """One session. ``expires_at``: Unix time (s) at which it ends. ``closed``: the service said that it is over."""

    audio_prefix = '{"type":"session.input_audio.append"'
    in_rate = RATE
    out_rate = RATE

    def __init__(self, profile: LiveProfile) -> None:
        self.profile = profile
        self.ready = False
        self.refusal: str | None = None
        self.expires_at: float | None = None
        self.closed = False
        self._out: list[str] = []
        self._sent = 0
        self._tools: tuple[str, ...] = ()
        self._track = Track()
        self._reader = AudioReader()
        self._paused = False
        self._sent_types: dict[str, str] = {}
        self._work = Work()
        self._answered = False  # results were given that no reply has followed
        self._spans: dict[int, tuple[int, int | None]] = {}  # reply -> where it begins and ends on the track
        self._held = ""
        self._heard = ""
        self._heard_turn = 1
        self._heard_end_ms: float | None = None
        self._heard_reply = 0
        self._handlers: dict[str, Callable[[dict[str, Any]], list[AgentEvent]]] = {
            "session.started": self._started,
            "session.output_audio.delta": self._audio_delta,
            "session.output_transcript.delta": self._said,
            "session.input_transcript.delta": self._heard_caller,
            "session.paused": self._pause,
            "session.resumed": self._resume,
            "response.event": self._inner,
            "session.usage.updated": self._seconds,
            "session.closed": self._session_closed,
            "error": self._error,
        }

    @property
    def expecting(self) -> bool:
        """Whether a message is owed: a track that has begun sends in every second, silence included."""
        return self.ready and not self.closed and not self._paused and self._track.position > 0

    # --- out --------------------------------------------------------------------------------------------------------------------------

    def take(self) -> list[str]:
        """Everything that is to be sent now, in order."""
        out, self._out = self._out, []
        return out

    def start(self, setup: AgentSetup) -> None:
        """Start the session."""
        session = start_session(self.profile, setup)
        self._tools = tuple(tool["name"] for tool in setup.tools) if "delegation" in session else ()
        self._send("session.start", session=session)

    def audio(self, pcm: bytes) -> None:
        """The caller's next samples; silence too, since the service's clock runs on what it is sent."""
        encoded = base64.b64encode(pcm).decode("ascii")
        # Written by hand: this is sent fifty times a second, and base64 needs no escaping.
        self._out.append(f'{{"type":"session.input_audio.append","audio":"{encoded}"}}')

    def tool_result(self, call_id: str, output: str) -> None:
        """The result of an open call, once. The delegate goes on when no call of the session is open."""
        if not self._work.answered(call_id):
            return
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        self._send("response.item.create", item=item)
        self._answered = True
        self._go_on()

    def truncate(self, item: str, audio_end_ms: int) -> None:
        """The service cannot be told what was heard."""

    def bye(self) -> None:
        """Ask the service to end the session."""
        self._send("session.close")

    def _go_on(self) -> None:
        if self._work.may_go_on():
            self._work.asked(self._send("response.create"))

    def _send(self, kind: str, **fields: Any) -> str:
        self._sent += 1
        event_id = f"evt_{self._sent}"
        self._sent_types[event_id] = kind
        if len(self._sent_types) > 1024:
            del self._sent_types[next(iter(self._sent_types))]
        self._out.append(json.dumps({"type": kind, "event_id": event_id, **fields}, separators=(",", ":")))
        return event_id

    # --- in ---------------------------------------------------------------------------------------------------------------------------

    def receive(self, raw: str | bytes) -> list[AgentEvent]:
        """Read one message of the server. Never raises on what it says."""
        try:
            message = door.parse_message(raw)
        except door.Unreadable as error:
            return [ProviderError("unreadable", str(error))]
        handler = self._handlers.get(message["type"])
        return handler(message) if handler is not None else []

    def finish(self) -> list[AgentEvent]:
        """The connection is over: an open reply ends with it."""
        return self._pieces(self._track.finish(), "incomplete")

    def _started(self, message: dict[str, Any]) -> list[AgentEvent]:
        if self.ready or self.refusal is not None:
            return []
        session = obj(message.get("session"))
        responses = obj(obj(session.get("delegation")).get("responses"))
        names = [ident(tool.get("name")) for tool in items(responses.get("tools"))]
        missing = [name for name in self._tools if name not in names] if "delegation" in session else []
        if missing:
            return self._refuse("tools_not_accepted", f"it did not take the tools {', '.join(missing)}")
        audio = obj(session.get("audio"))
        rate = obj(audio.get("format")).get("rate", RATE)
        if rate != RATE:
            return self._refuse("format_not_accepted", f"it would send audio at {rate} Hz, not {RATE} Hz")
        self.ready = True
        self.expires_at = door.number(session.get("expires_at"))
        model = ident(session.get("model")) or self.profile.model
        accepted: dict[str, Any] = {"model": model, "delegate": ident(responses.get("model")) or None, "tools": names}
        accepted["voice"] = ident(obj(audio.get("output")).get("voice")) or None
        return [Ready({key: value for key, value in accepted.items() if value not in (None, [])}, model)]

    def _refuse(self, kind: str, why: str) -> list[AgentEvent]:
        self.refusal = why
        return [ProviderError(kind, why, "session.start", fatal=True)]

    def _pause(self, message: dict[str, Any]) -> list[AgentEvent]:
        self._paused = True
        return self._pieces(self._track.finish(), "completed")

    def _resume(self, message: dict[str, Any]) -> list[AgentEvent]:
        self._paused = False
        return []

    # --- the track --------------------------------------------------------------------------------------------------------------------

    def _audio_delta(self, message: dict[str, Any]) -> list[AgentEvent]:
        pcm = self._reader.read(message.get("delta"))
        if pcm is None:
            first = self._reader.failures == 1
            return [ProviderError("bad_audio", "audio that is no base64; it is left out")] if first else []
        self._paused = False
        return self._pieces(self._track.feed(pcm), "completed")

    def _pieces(self, pieces: list[Piece], ending: Any) -> list[AgentEvent]:
        events: list[AgentEvent] = []
        for piece in pieces:
            name = f"speech-{piece.reply}"
            if piece.what == "began":
                self._spans[piece.reply] = (piece.at, None)
                if len(self._spans) > 1024:
                    del self._spans[next(iter(self._spans))]
                events.append(ReplyBegun(name, self._answered))
                self._answered = False
                if self._held:
                    events.append(AgentText(name, name, self._held))
                    self._held = ""
            elif piece.what == "audio":
                events.append(AgentAudio(name, name, piece.raw))
            else:
                self._spans[piece.reply] = (self._spans[piece.reply][0], piece.at)
                why = f"{to_ms(GAP_SAMPLES):.0f} ms without sound" if ending == "completed" else "the track ended"
                events.append(ReplyEnded(name, ending, why))
        return events

    def _said(self, message: dict[str, Any]) -> list[AgentEvent]:
        words = text(message.get("delta"))
        if not words:
            return []
        reply = self._reply_at(door.number(message.get("start_ms")))
        if reply is None:
            self._held = text(self._held + words)
            return []
        return [AgentText(f"speech-{reply}", f"speech-{reply}", words)]

    def _reply_at(self, start_ms: float | None) -> int | None:
        """The reply in which words were spoken; None: in none that has begun."""
        if start_ms is not None:
            at = to_samples(start_ms)
            for reply in reversed(self._spans):
                begin, end = self._spans[reply]
                if begin - to_samples(SLACK_MS) <= at:
                    if end is None or at <= end:
                        return reply
                    break
        return self._track.reply

    def _heard_caller(self, message: dict[str, Any]) -> list[AgentEvent]:
        words = text(message.get("delta"))
        if not words:
            return []
        start, end = door.number(message.get("start_ms")), door.number(message.get("end_ms"))
        events: list[AgentEvent] = []
        paused = (
            start is not None and self._heard_end_ms is not None and start - self._heard_end_ms >= to_ms(GAP_SAMPLES)
        )
        if self._heard and (paused or self._heard_reply != self._track.count):
            events.append(UserTranscript(f"caller-{self._heard_turn}", self._heard, final=True))
            self._heard = ""
            self._heard_turn += 1
        self._heard, self._heard_reply = text(self._heard + words), self._track.count
        self._heard_end_ms = end if end is not None else start
        return [*events, UserTranscript(f"caller-{self._heard_turn}", self._heard, final=False)]

    # --- the delegate -----------------------------------------------------------------------------------------------------------------

    def _inner(self, message: dict[str, Any]) -> list[AgentEvent]:
        event, delegation = obj(message.get("event")), ident(message.get("delegation_id"))
        kind = event.get("type")
        if kind in ("response.created", "response.in_progress"):
            self._work.response_runs(delegation)
        elif kind == "response.output_item.done":
            return self._call(obj(event.get("item")), delegation)
        elif kind in _OUTPUT_TYPES:
            return self._response_over(event, delegation, failed=kind != "response.completed")
        elif kind == "error":
            return [ProviderError(*_error_parts(obj(event.get("error")) or event), caused_by="delegation")]
        return []

    def _call(self, item: dict[str, Any], delegation: str) -> list[AgentEvent]:
        if item.get("type") != "function_call" or item.get("status", "completed") != "completed":
            return []
        call_id = ident(item.get("call_id"))
        if not call_id:
            return [ProviderError("bad_call", "a tool call without a call_id; it cannot be answered")]
        if not self._work.called(call_id, delegation):
            return []
        arguments, why = door.parse_arguments(item.get("arguments", ""))
        return [ToolRequest(call_id, ident(item.get("name")), arguments, None, why)]

    def _response_over(self, event: dict[str, Any], delegation: str, *, failed: bool) -> list[AgentEvent]:
        counts = counts_of(obj(event.get("response")).get("usage"))
        events: list[AgentEvent] = [UsageReported(counts, "delegate")] if counts else []
        for call_id in self._work.response_over(delegation, failed):
            events.append(ToolCancelled(call_id, "the delegate's response failed"))
        if failed:
            response = obj(event.get("response"))
            details = obj(response.get("error")) or obj(response.get("incomplete_details"))
            kind, why = _error_parts(details)
            name = ident(event.get("type")).removeprefix("response.")
            events.append(ProviderError(f"delegate_{name}", why if why != "error" else kind, "delegation"))
        self._go_on()
        return events

    def _seconds(self, message: dict[str, Any]) -> list[AgentEvent]:
        """The voice is billed by time: the service states what the session came to so far."""
        counts = counts_of(message.get("usage"))
        return [UsageReported(counts, "agent", so_far=True)] if counts else []

    # --- ends -------------------------------------------------------------------------------------------------------------------------

    def _session_closed(self, message: dict[str, Any]) -> list[AgentEvent]:
        self.closed = True
        reason = ident(message.get("reason"))
        events = [*self._seconds(message), *self.finish()]
        if reason in _ENDS:
            events.append(ProviderError(_ENDS[reason], f"the provider ended the session: {reason}", fatal=True))
        return events

    def _error(self, message: dict[str, Any]) -> list[AgentEvent]:
        kind, why = _error_parts(obj(message.get("error")))
        event_id = ident(message.get("client_event_id")) or None
        if not self.ready:
            return self._refuse(kind, why)
        if self._work.refused(event_id, early=kind == EARLY):
            self._go_on()
            return []
        caused_by = self._sent_types.get(event_id, event_id) if event_id is not None else None
        return [ProviderError(kind, why, caused_by, fatal=kind in FATAL_KINDS)]


def _error_parts(error: dict[str, Any]) -> tuple[str, str]:
    """Kind (code, else type, else the message's start) and message, without keys."""
    why = door.without_secrets(text(error.get("message")) or text(error.get("reason")))
    kind = ident(error.get("code")) or ident(error.get("type")) or why[:80] or "error"
    return door.without_secrets(kind), why or kind
