"""What the way in which an agent is connected makes not applicable, or less exact: one sentence for each measure that it touches.

Of an agent without a voice nothing is measured in sound; one that mounts the tools over MCP names no reply with a call; one whose own backend is
watched by a probe calls tools that nobody sees.
Deliberately not in here: the measures themselves, which leave out what they cannot know.
"""

from __future__ import annotations

from collections.abc import Mapping

from apex_tui.timeline.state import State, Version

OF_SOUND = (
    "floor",
    "latency.first_audible_ms",
    "latency.first_audible_after_tool_ms",
    "latency.unanswered",
    "latency.dead_air_n",
    "latency.silent_wait_n",
)
"""What is measured in sound. Of an agent without a voice these hold nothing, or a 0 that says nothing."""


def watched(state: State) -> frozenset[str]:
    """Artifacts that live in the agent's own backend, by what the session declared."""
    declared = state.connected.capabilities.get("watched") if state.connected is not None else None
    return frozenset(str(name) for name in declared) if isinstance(declared, list | tuple) else frozenset()


def limits_of(state: State) -> dict[str, str]:
    """Measure -> what limits it; empty for an agent with a voice, with all tools on its own connection and all state in the workbench."""
    found: dict[str, str] = {}
    mounted = [call for call in state.calls.values() if call.source == "mcp"]
    if any(call.reply is None for call in mounted):
        found["tools.after_interruption"] = (
            "calls over MCP name no reply: only those that came while the caller spoke into one are counted"
        )
    if mounted:
        found["latency.first_audible_after_tool_ms"] = (
            "an answer counts here when a call over MCP ran between the caller's last sample and its first sound"
        )
    names = ", ".join(sorted(watched(state)))
    if names:
        unseen = f"not applicable: which calls write {names} cannot be seen in the agent's own backend"
        found |= {
            "tools.ratio": unseen,
            "latency.writes_during_call": unseen,
            "work.stale_calls": f"{unseen}; others are",
        }
        found["fields.stale"] = f"{names}: by the caller's corrections only, not by what a field depends on"
        found["fields.uptake_ms"] = _uptake(state)
    if state.connected is not None and state.connected.capabilities.get("audio_out", True) is False:
        found |= dict.fromkeys(OF_SOUND, "not applicable: the agent has no voice")
    return found


def _uptake(state: State) -> str:
    """How much later than the write a change was seen, at most."""
    seen = [v for artifact in state.artifacts.values() for v in artifact.versions if v.source is not None]
    most = max((late for v in seen if (late := _late(v)) is not None), default=None)
    bound = "" if most is None else f", {most:.0f} ms at most in this session"
    return f"up to the moment when a probe saw the change, which comes after the write{bound}"


def _late(version: Version) -> float | None:
    return None if version.since_ms is None else version.at_ms - version.since_ms


def grouped(limits: Mapping[str, str]) -> dict[str, list[str]]:
    """Sentence -> the measures that it limits, for whoever shows them."""
    found: dict[str, list[str]] = {}
    for measure, why in limits.items():
        found.setdefault(why, []).append(measure)
    return found
