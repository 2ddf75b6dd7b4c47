"""What a cascade is made of, as plain data: three parts, and how turns are found. Deliberately not in here: the parts at work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from apex_tui.agents.realtime.profile import Rate
from apex_tui.agents.text.profile import TextProfile


@dataclass(frozen=True, slots=True)
class Part:
    """One endpoint of a cascade."""

    url: str
    model: str
    key: str | None


@dataclass(frozen=True, slots=True)
class CascadeProfile:
    """Every key of a dialect file is a field. A part without an address or key of its own takes ``url`` and ``key``."""

    about: str = ""
    family: Literal["cascade"] = "cascade"
    url: str | None = None
    key: str | None = "OPENAI_API_KEY"
    key_required: bool = True
    """False, or an address of your own: a part without a key is asked without one."""
    auth_header: str = "Authorization"
    auth_format: str = "Bearer {key}"
    headers: dict[str, str] = field(default_factory=dict)

    stt_url: str | None = None
    stt_key: str | None = None
    stt_model: str = "whisper-1"
    stt_language: str | None = "en"
    llm_url: str | None = None
    llm_key: str | None = None
    llm_model: str = "gpt-5.6-luna"
    llm_api: Literal["chat", "responses"] = "chat"
    tts_url: str | None = None
    tts_key: str | None = None
    tts_model: str = "tts-1"
    tts_voice: str = "alloy"
    tts_rate: Rate = 24_000
    """Rate (Hz) of the raw samples that the voice sends."""

    silence_ms: float = 500.0
    """Silence after the caller's last sound that ends the turn."""
    prefix_ms: float = 300.0
    shortest_ms: float = 80.0
    """Shorter sounds are no turn: a click is not transcribed."""
    max_output_tokens: int | None = None
    stall_s: float = 30.0
    retries: int = 2

    def part(self, name: Literal["stt", "llm", "tts"]) -> Part:
        """The address (maybe empty), model and key variable of a part."""
        url = getattr(self, f"{name}_url") or self.url or ""
        return Part(url, getattr(self, f"{name}_model"), getattr(self, f"{name}_key") or self.key)

    def text_profile(self) -> TextProfile:
        """The model in the middle as a text family knows it."""
        part = self.part("llm")
        return TextProfile(
            family=self.llm_api,
            url=part.url,
            model=part.model,
            key=part.key,
            max_output_tokens=self.max_output_tokens,
            stall_s=self.stall_s,
            retries=self.retries,
        )
