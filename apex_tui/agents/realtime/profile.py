"""What differs between servers of the OpenAI-realtime family, as plain data; the protocol core reads nothing else.

In here: the profile, the GA profile of OpenAI (which any GA server is taken to speak), the session message, and the older
event names. Deliberately not in here: keys, addresses in use, or state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from apex_tui.agents.seam import AgentSetup

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


@dataclass(frozen=True, slots=True)
class Profile:
    """A dialect. Rates in Hz. ``user_transcript``: whether transcription deltas add up or repeat the whole."""

    family: str = "openai-realtime"
    url: str = "wss://api.openai.com/v1/realtime"
    model: str = "gpt-realtime-2.1"
    voice: str | None = "marin"
    rate: int = 24_000
    transcription_model: str | None = "gpt-4o-transcribe"
    language: str | None = "en"
    user_transcript: Literal["delta", "cumulative"] = "delta"
    vad_threshold: float = 0.5
    vad_prefix_ms: int = 300
    vad_silence_ms: int = 500
    fatal_kinds: frozenset[str] = FATAL_KINDS


OPENAI = Profile()

REHEARSAL = Profile(url="memory:rehearsal", model="rehearsal", voice=None, transcription_model="hint")
"""The rehearsal agent speaks the same protocol; its transcript is the declared side channel's text."""


def flat_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A neutral tool as the GA protocol wants it: the name beside the type."""
    return {
        "type": "function",
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool.get("parameters", {"type": "object", "properties": {}}),
    }


def session_config(profile: Profile, setup: AgentSetup) -> dict[str, Any]:
    """The ``session`` of ``session.update``: server VAD that answers and yields by itself, tool choice stated."""
    pcm = {"type": "audio/pcm", "rate": profile.rate}
    transcription: dict[str, Any] | None = None
    if profile.transcription_model is not None:
        transcription = {"model": profile.transcription_model}
        if profile.language is not None:
            transcription["language"] = profile.language
    output: dict[str, Any] = {"format": pcm}
    if profile.voice is not None:
        output["voice"] = profile.voice
    return {
        "type": "realtime",
        "output_modalities": ["audio"],
        "instructions": setup.instructions,
        "audio": {
            "input": {
                "format": pcm,
                "noise_reduction": None,
                "transcription": transcription,
                "turn_detection": {
                    "type": "server_vad",
                    "threshold": profile.vad_threshold,
                    "prefix_padding_ms": profile.vad_prefix_ms,
                    "silence_duration_ms": profile.vad_silence_ms,
                    "create_response": True,
                    "interrupt_response": True,
                },
            },
            "output": output,
        },
        "tools": [flat_tool(tool) for tool in setup.tools],
        "tool_choice": "auto",
    }
