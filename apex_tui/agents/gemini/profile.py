"""What may be chosen of a Gemini Live session, the set-up message, and tool schemas in the subset the service takes.

Everything is camelCase, as the server itself writes. Deliberately not in here: keys, state, and reading what comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from apex_tui.agents.seam import AgentSetup

SERVICE = "google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
URL = f"wss://generativelanguage.googleapis.com/ws/{SERVICE}"

IN_RATE = 16_000
"""What the service hears. It says that it resamples others, and was seen to close with 1008 on 24 kHz."""

_KEPT = frozenset(
    {
        "title", "description", "format", "nullable", "required", "minimum", "maximum", "minItems", "maxItems", "minLength",
        "maxLength", "pattern", "minProperties", "maxProperties", "propertyOrdering", "example", "default",
    }
)  # fmt: skip
"""Schema words that pass unchanged; whatever is not known here is left out, since one unknown word ends the session (1007)."""

_MOST_DEPTH = 12


@dataclass(frozen=True, slots=True)
class GeminiProfile:
    """A Gemini Live service.

    ``tools``: whether the model waits for a result (``BLOCKING``) or talks on (``NON_BLOCKING``, where ``scheduling`` says when it takes
    the result up; None leaves that out, for models that refuse the field). ``schemas``: ``openapi`` sends ``parameters`` in the service's
    subset, ``json`` sends ``parametersJsonSchema`` untouched.
    """

    about: str = ""
    family: str = "gemini-live"
    url: str | None = URL
    model: str | None = "gemini-3.8-live"
    key: str | None = "GEMINI_API_KEY"
    key_required: bool = True
    auth_header: str = "x-goog-api-key"
    auth_format: str = "{key}"
    headers: dict[str, str] = field(default_factory=dict)
    voice: str | None = "Kore"
    language: str | None = None
    tools: Literal["BLOCKING", "NON_BLOCKING"] = "NON_BLOCKING"
    scheduling: Literal["INTERRUPT", "WHEN_IDLE", "SILENT"] | None = "WHEN_IDLE"
    schemas: Literal["openapi", "json"] = "openapi"
    turn_detection: Literal["automatic", "push_to_talk"] = "automatic"
    """``push_to_talk``: the service detects nothing; we bracket each caller turn with activity messages, and the session is labelled."""
    vad_prefix_ms: int = 20
    vad_silence_ms: int = 500
    thinking_level: str | None = None
    resumption: bool = True


GEMINI = GeminiProfile()


def setup_message(profile: GeminiProfile, setup: AgentSetup, handle: str | None = None) -> dict[str, Any]:
    """The first message of a connection; ``handle`` continues an earlier one."""
    model = profile.model or ""
    generation: dict[str, Any] = {"responseModalities": ["AUDIO"]}
    speech: dict[str, Any] = {}
    if profile.voice is not None:
        speech["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": profile.voice}}
    if profile.language is not None:
        speech["languageCode"] = profile.language
    if speech:
        generation["speechConfig"] = speech
    if profile.thinking_level is not None:
        generation["thinkingConfig"] = {"thinkingLevel": profile.thinking_level}
    message: dict[str, Any] = {
        "model": model if "/" in model else f"models/{model}",
        "generationConfig": generation,
        "systemInstruction": {"parts": [{"text": setup.instructions}]},
        "realtimeInputConfig": {
            "automaticActivityDetection": _detection(profile),
            "activityHandling": "START_OF_ACTIVITY_INTERRUPTS",
            "turnCoverage": "TURN_INCLUDES_ONLY_ACTIVITY",
        },
        "inputAudioTranscription": {},
        "outputAudioTranscription": {},
        "contextWindowCompression": {"slidingWindow": {}},
    }
    if setup.tools:
        message["tools"] = [{"functionDeclarations": [declaration(profile, tool) for tool in setup.tools]}]
    if profile.resumption:
        message["sessionResumption"] = {} if handle is None else {"handle": handle}
    return {"setup": message}


def _detection(profile: GeminiProfile) -> dict[str, Any]:
    if profile.turn_detection == "push_to_talk":
        return {"disabled": True}
    return {
        "disabled": False,
        "startOfSpeechSensitivity": "START_SENSITIVITY_HIGH",
        "endOfSpeechSensitivity": "END_SENSITIVITY_HIGH",
        "prefixPaddingMs": profile.vad_prefix_ms,
        "silenceDurationMs": profile.vad_silence_ms,
    }


def declaration(profile: GeminiProfile, tool: dict[str, Any]) -> dict[str, Any]:
    """A neutral tool as the service wants it. One without parameters has no schema: an empty object is refused."""
    declared: dict[str, Any] = {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "behavior": profile.tools,
    }
    parameters = tool.get("parameters") or {}
    if parameters.get("properties"):
        if profile.schemas == "json":
            declared["parametersJsonSchema"] = parameters
        else:
            declared["parameters"] = subset(parameters)
    return declared


def subset(schema: Any, depth: int = 0) -> dict[str, Any]:
    """A JSON Schema in the service's subset: upper-case types, ``nullable``, text enumerations, nothing unknown."""
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return {"type": "OBJECT"}
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds or ())
    named = [kind for kind in kinds if kind != "null"]
    if "null" in kinds:
        kept["nullable"] = True
    if len(named) == 1:
        kept["type"] = named[0].upper()
    elif named:
        kept["anyOf"] = [{"type": kind.upper()} for kind in named]
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values if value is not None):
        kept["enum"] = [value for value in values if value is not None]
        kept.setdefault("type", "STRING")
    if isinstance(schema.get("properties"), dict):
        kept["properties"] = {str(name): subset(inner, depth + 1) for name, inner in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        kept["items"] = subset(schema["items"], depth + 1)
    if isinstance(schema.get("anyOf"), list):
        kept["anyOf"] = [subset(inner, depth + 1) for inner in schema["anyOf"]]
    return kept
