"""The session message of each dialect, and what is kept of the server's echo.

Pure data to data. Deliberately not in here: when it is sent, and whether an echo is good enough (``client``).
"""

from __future__ import annotations

from typing import Any

from apex_tui.agents.realtime import door
from apex_tui.agents.realtime.door import ident, items, obj, text
from apex_tui.agents.realtime.profile import Profile, flat_tool, nested_tool
from apex_tui.agents.seam import AgentSetup

COMPRESSED = frozenset({"audio/pcmu", "audio/pcma", "g711_ulaw", "g711_alaw"})
"""Formats that a server may name, and that are not spoken here."""


def session_config(profile: Profile, setup: AgentSetup) -> dict[str, Any]:
    """The ``session`` of ``session.update``: turn detection that answers and yields by itself, tool choice stated where it may be."""
    shape = {"ga": _ga, "xai": _xai, "beta": _beta}[profile.session_shape]
    session = shape(profile)
    session["instructions"] = setup.instructions
    tool = flat_tool if profile.tool_shape == "flat" else nested_tool
    session["tools"] = [tool(each) for each in setup.tools]
    if profile.send_tool_choice:
        session["tool_choice"] = "auto"
    return session


def _ga(profile: Profile) -> dict[str, Any]:
    output: dict[str, Any] = {"format": _pcm(profile.out_rate)}
    if profile.voice is not None:
        output["voice"] = profile.voice
    return {
        "type": "realtime",
        "output_modalities": ["audio"],
        "audio": {
            "input": {
                "format": _pcm(profile.in_rate),
                "transcription": _transcription(profile),
                "turn_detection": _turn_detection(profile),
            },
            "output": output,
        },
    }


def _xai(profile: Profile) -> dict[str, Any]:
    heard: dict[str, Any] = {"format": _pcm(profile.in_rate)}
    transcription = _transcription(profile)
    if transcription is not None:
        heard["transcription"] = transcription
    session: dict[str, Any] = {
        "turn_detection": _turn_detection(profile),
        "audio": {"input": heard, "output": {"format": _pcm(profile.out_rate)}},
    }
    if profile.voice is not None:
        session["voice"] = profile.voice
    return session


def _beta(profile: Profile) -> dict[str, Any]:
    session: dict[str, Any] = {
        "modalities": ["text", "audio"],
        "input_audio_format": profile.beta_format,
        "output_audio_format": profile.beta_format,
        "turn_detection": _turn_detection(profile),
    }
    if profile.voice is not None:
        session["voice"] = profile.voice
    transcription = _transcription(profile)
    if transcription is not None:
        session["input_audio_transcription"] = transcription
    return session


def _pcm(rate: int) -> dict[str, Any]:
    return {"type": "audio/pcm", "rate": rate}


def _transcription(profile: Profile) -> dict[str, Any] | None:
    if profile.transcription_model is None:
        return None
    wanted: dict[str, Any] = {"model": profile.transcription_model}
    if profile.language is not None:
        wanted["language"] = profile.language
    return wanted


def _turn_detection(profile: Profile) -> dict[str, Any] | None:
    if profile.turn_detection == "push_to_talk":
        return None
    wanted: dict[str, Any] = {"type": profile.turn_detection}
    if profile.turn_detection == "server_vad":
        if profile.vad_threshold is not None:
            wanted[profile.vad_threshold_key] = profile.vad_threshold
        wanted["prefix_padding_ms"] = profile.vad_prefix_ms
        wanted["silence_duration_ms"] = profile.vad_silence_ms
    if profile.send_turn_switches:
        wanted["create_response"] = wanted["interrupt_response"] = True
    return wanted


def accepted_subset(session: dict[str, Any]) -> dict[str, Any]:
    """What is kept of the echoed session, whatever its shape: model, voice, formats, turn detection and tool names."""
    audio = obj(session.get("audio"))
    heard, spoken = obj(audio.get("input")), obj(audio.get("output"))
    found = {
        "model": ident(session.get("model")) or None,
        "voice": ident(spoken.get("voice")) or ident(session.get("voice")) or None,
        "input_format": _scalars(heard.get("format")) or ident(session.get("input_audio_format")) or None,
        "output_format": _scalars(spoken.get("format")) or ident(session.get("output_audio_format")) or None,
        "turn_detection": _scalars(heard.get("turn_detection", session.get("turn_detection"))),
        "tools": tool_names(session),
    }
    kept: dict[str, Any] = {key: value for key, value in found.items() if value not in (None, {})}
    if heard.get("turn_detection", session.get("turn_detection", "")) is None:
        kept["turn_detection"] = None  # stated: it finds no turns
    return kept


def other_formats(accepted: dict[str, Any], profile: Profile) -> str | None:
    """What is not as it was asked for in the formats that a server echoed, and the way out; None: nothing. Sound at another rate is another sound."""
    wrong, keys = [], []
    for name, does, key in (("input_format", "takes", "in_rate"), ("output_format", "sends", "out_rate")):
        echoed = accepted.get(name)
        kind = obj(echoed).get("type") if isinstance(echoed, dict) else echoed
        rate = door.number(obj(echoed).get("rate"))
        if kind in COMPRESSED:
            return f"it {does} {kind}, and only 16-bit PCM is spoken here"
        wanted = getattr(profile, key)
        if rate is not None and rate != wanted:
            wrong.append(f"{does} audio at {rate:g} Hz, not {wanted} Hz")
            keys.append(f"{key} = {rate:g}")
    if not wrong:
        return None
    return f"it {' and '.join(wrong)}; state {' and '.join(keys)} for it in agents.toml (docs/agents.md, Dialects)"


def tool_names(session: dict[str, Any]) -> list[str]:
    """Names of the tools that a server echoed, in either shape."""
    return [
        ident(tool.get("name")) or ident(obj(tool.get("function")).get("name")) for tool in items(session.get("tools"))
    ]


def _scalars(value: object) -> dict[str, Any]:
    """The plain entries of a small object."""
    kept: dict[str, Any] = {}
    for key, entry in list(obj(value).items())[:20]:
        if isinstance(entry, str):
            kept[ident(key)] = text(entry)[: door.MAX_ID]
        elif isinstance(entry, bool) or entry is None or door.number(entry) is not None:
            kept[ident(key)] = entry
    return kept
