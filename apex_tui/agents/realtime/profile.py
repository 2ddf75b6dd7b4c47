"""What differs between servers of the OpenAI-realtime family, as plain data; the protocol core reads nothing else.

In here: the profile (every key of a dialect file is a field of it), and the older event names. Deliberately not in here: the
shipped dialects (``dialects/*.toml``), the session message (``sessions``), keys themselves, and state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from apex_tui.agents.seam import Capabilities

EVENT_ALIASES = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
    "conversation.item.created": "conversation.item.added",
}
"""Beta name -> GA name; both are accepted from every server."""

FATAL_KINDS = frozenset(
    {
        "insufficient_quota", "invalid_api_key", "account_deactivated", "billing_hard_limit_reached",
        "credit_balance_exhausted", "forbidden", "session_expired", "beta_api_shape_disabled",
    }
)  # fmt: skip
"""Errors after which nothing more can be expected of the session."""

Rate = Literal[8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]


@dataclass(frozen=True, slots=True)
class Profile:
    """A dialect; every key of a dialect file is a field, and "" is no address.

    The defaults are the protocol as OpenAI publishes it (``dialects/openai.toml`` states the same).

    Rates are in Hz; ``in_rate`` is what the server hears, ``out_rate`` what it sends. None leaves a field out of the session.
    """

    about: str = ""
    family: str = "openai-realtime"
    url: str = "wss://api.openai.com/v1/realtime"
    model: str | None = "gpt-realtime-2.1"
    key: str | None = "OPENAI_API_KEY"
    """The environment variable that holds the key; None: no key is sent."""
    key_required: bool = True
    auth_header: str = "Authorization"
    auth_format: str = "Bearer {key}"
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with the request besides the key; values are not secret."""
    model_in_query: bool = True

    session_shape: Literal["ga", "xai", "beta"] = "ga"
    """``ga``: type and ``audio{}``; ``xai``: ``audio{}`` with voice and turn detection on top; ``beta``: flat."""
    tool_shape: Literal["flat", "nested"] = "flat"
    send_tool_choice: bool = True
    ready_events: tuple[str, ...] = ("session.updated",)
    ready_timeout_s: float = 15.0
    ready_after_timeout: bool = False
    """A server that said something but never confirmed counts as ready when the time is over; the recording says so."""
    tools_echo: Literal["required", "if_present"] = "required"
    """Whether a confirmation without a tool list is a refusal. One that lists tools must list ours in any case."""

    voice: str | None = "marin"
    in_rate: Rate = 24_000
    out_rate: Rate = 24_000
    beta_format: str = "pcm16"
    transcription_model: str | None = "gpt-4o-transcribe"
    language: str | None = "en"
    user_transcript: Literal["delta", "cumulative"] = "delta"
    agent_text: Literal["delta", "cumulative"] = "delta"
    """Whether deltas of the agent's words add up or repeat the whole."""

    turn_detection: Literal["server_vad", "semantic_vad", "push_to_talk"] = "server_vad"
    """``push_to_talk``: the server detects nothing; we commit at the end of each caller turn, and the session is labelled."""
    vad_threshold: float | None = 0.5
    vad_threshold_key: str = "threshold"
    vad_prefix_ms: int = 300
    vad_silence_ms: int = 500
    send_turn_switches: bool = True
    """State that the server answers and yields by itself (``create_response``, ``interrupt_response``)."""

    onset_fallback: bool = False
    """Cancel the reply ourselves when the caller has spoken into it for 600 ms and the server has not noticed."""

    supports_cancel: bool = True
    supports_truncate: bool = True
    auto_continue_after_tool: bool = False
    """The server goes on by itself after a tool's result: no reply is asked for."""
    results_later: bool = True
    """The server goes on while a tool runs, and takes its result whenever it comes; else a reply has to wait for every open call."""
    max_session_s: float | None = 3600.0
    warn_before_s: float = 120.0
    fatal_kinds: frozenset[str] = FATAL_KINDS
    busy_match: tuple[str, ...] = ("conversation_already_has_active_response", "already has an active response")
    """An error whose kind is one of these, or whose message holds one, says that another reply is active."""
    idle_cancel_match: tuple[str, ...] = ("response_cancel_not_active", "no active response")
    limit_match: tuple[str, ...] = ("session_expired", "max_duration", "maximum duration")
    """An error like these says that the session's time is over."""

    def capabilities(self, *, hints: bool = False) -> Capabilities:
        """What an agent of this dialect has, with the rates of its wire."""
        return Capabilities(
            in_rate=self.in_rate,
            out_rate=self.out_rate,
            server_vad=self.turn_detection != "push_to_talk",
            cancel=self.supports_cancel,
            truncate=self.supports_truncate,
            reports_interruption=self.turn_detection != "push_to_talk",
            user_transcript=self.transcription_model is not None,
            hints=hints,
        )


OPENAI = Profile()

REHEARSAL = Profile(
    url="memory:rehearsal",
    model="rehearsal",
    key=None,
    voice=None,
    transcription_model="hint",
    max_session_s=None,
)
"""The rehearsal agent speaks the same protocol; its transcript is the declared side channel's text."""


def matches(needles: tuple[str, ...], kind: str, message: str) -> bool:
    """Whether an error is one of those: servers put it in code, in type, or only into the message."""
    lowered = message.lower()
    return any(kind == needle or needle.lower() in lowered for needle in needles)


def flat_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A neutral tool as the GA protocol wants it: the name beside the type."""
    return {
        "type": "function",
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool.get("parameters", {"type": "object", "properties": {}}),
    }


def nested_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A neutral tool as chat completions and some dialects want it: everything under ``function``."""
    flat = flat_tool(tool)
    kind = flat.pop("type")
    return {"type": kind, "function": flat}
