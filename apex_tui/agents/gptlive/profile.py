"""What may be chosen of a GPT-Live session, and its start message. The service is strict: one unknown field refuses the session.

The neutral prompt goes to both the voice and the model that works for it, since the service splits an agent into these two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apex_tui.agents.realtime.profile import flat_tool
from apex_tui.agents.seam import AgentSetup


@dataclass(frozen=True, slots=True)
class LiveProfile:
    """A GPT-Live service. ``delegate``: the model that runs the tools; None: no tools, the voice talks alone."""

    about: str = ""
    family: str = "gpt-live"
    url: str | None = "wss://api.openai.com/v1/live/sessions"
    model: str | None = "gpt-live-1"
    key: str | None = "OPENAI_API_KEY"
    key_required: bool = True
    auth_header: str = "Authorization"
    auth_format: str = "Bearer {key}"
    headers: dict[str, str] = field(default_factory=dict)
    voice: str | None = "marin"
    delegate: str | None = "gpt-5.6-luna"
    acknowledge_ms: int | None = None
    parallel_tools: bool = True
    warn_before_s: float = 120.0
    """Before ``expires_at``."""


GPT_LIVE = LiveProfile()


def start_session(profile: LiveProfile, setup: AgentSetup) -> dict[str, Any]:
    """The ``session`` of ``session.start``: 24 kHz both ways, nothing stored. Tool choice is never forced, which would loop."""
    audio: dict[str, Any] = {"format": {"type": "audio/pcm", "rate": 24_000}}
    if profile.voice is not None:
        audio["output"] = {"voice": profile.voice}
    session: dict[str, Any] = {"model": profile.model or "", "instructions": setup.instructions, "audio": audio}
    if profile.delegate is not None and setup.tools:
        delegation: dict[str, Any] = {
            "type": "responses",
            "responses": {
                "model": profile.delegate,
                "instructions": setup.instructions,
                "tools": [flat_tool(tool) for tool in setup.tools],
                "tool_choice": "auto",
                "parallel_tool_calls": profile.parallel_tools,
            },
        }
        if profile.acknowledge_ms is not None:
            delegation["acknowledgement_delay_ms"] = profile.acknowledge_ms
        session["delegation"] = delegation
    session["store"] = False
    return session
