"""What a provider says a piece of work took, under the same names whatever its dialect.

    input_tokens · output_tokens · total_tokens                    cached_tokens: the part of the input that was cheaper
    input_text_tokens · input_audio_tokens · output_text_tokens · output_audio_tokens · reasoning_tokens
    seconds                                                        where time is billed instead of tokens

Pure; foreign input never raises. Deliberately not in here: prices, which nobody's protocol states.
"""

from __future__ import annotations

from apex_tui.agents.realtime.door import items, number, obj
from apex_tui.timeline.base import Json

_PLAIN = {
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "promptTokenCount": "input_tokens",
    "output_tokens": "output_tokens",
    "completion_tokens": "output_tokens",
    "responseTokenCount": "output_tokens",
    "total_tokens": "total_tokens",
    "totalTokenCount": "total_tokens",
    "cachedContentTokenCount": "cached_tokens",
    "thoughtsTokenCount": "reasoning_tokens",
    "seconds": "seconds",
    "active_seconds": "active_seconds",
    "paused_seconds": "paused_seconds",
}
_DETAILS = {
    "input_token_details": "input",
    "input_tokens_details": "input",
    "prompt_tokens_details": "input",
    "output_token_details": "output",
    "output_tokens_details": "output",
    "completion_tokens_details": "output",
}
_INNER = {"text_tokens": "text_tokens", "audio_tokens": "audio_tokens"}
_MODALITIES = {"promptTokensDetails": "input", "responseTokensDetails": "output"}


def counts_of(value: object) -> dict[str, float]:
    """The counts of a usage object in any dialect; nothing when it holds none, or only zeros."""
    usage = obj(value)
    found: dict[str, float] = {}
    for name, ours in _PLAIN.items():
        _add(found, ours, usage.get(name))
    for name, side in _DETAILS.items():
        details = obj(usage.get(name))
        for inner, ours in _INNER.items():
            _add(found, f"{side}_{ours}", details.get(inner))
        _add(found, "cached_tokens", details.get("cached_tokens"))
        _add(found, "reasoning_tokens", details.get("reasoning_tokens"))
    for name, side in _MODALITIES.items():
        for entry in items(usage.get(name), 10):
            modality = str(entry.get("modality", "")).lower()
            if modality in ("text", "audio"):
                _add(found, f"{side}_{modality}_tokens", entry.get("tokenCount"))
    return found if any(found.values()) else {}


def _add(found: Json, name: str, value: object) -> None:
    count = number(value)
    if count is not None and count >= 0 and name not in found:
        found[name] = count
