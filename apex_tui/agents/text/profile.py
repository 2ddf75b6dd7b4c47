"""What differs between text endpoints, as plain data. Deliberately not in here: the messages (``chat``, ``responses``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class TextProfile:
    """A dialect of the text families; every key of a dialect file is a field. None leaves a field out of the request."""

    about: str = ""
    family: Literal["chat", "responses"] = "chat"
    url: str | None = "https://api.openai.com/v1"
    """The base; ``/chat/completions`` or ``/responses`` is added."""
    model: str | None = None
    key: str | None = "OPENAI_API_KEY"
    key_required: bool = True
    auth_header: str = "Authorization"
    auth_format: str = "Bearer {key}"
    headers: dict[str, str] = field(default_factory=dict)
    max_output_tokens: int | None = None
    temperature: float | None = None
    parallel_tool_calls: bool | None = None
    send_tool_choice: bool = True
    ask_usage: bool = True
    """Ask chat completions for the usage chunk (``stream_options``); some servers refuse the field."""
    stall_s: float = 60.0
    """Without a byte for so long, a stream counts as stalled and the session as broken."""
    retries: int = 2
    """Further attempts after 429, 5xx or a failed connection, before anything of a reply has arrived."""
