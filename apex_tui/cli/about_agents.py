"""``apex-tui agents list`` and ``apex-tui agents check``."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from apex_tui.agents.keys import find_key, hide
from apex_tui.agents.registry import Listed, known_agents, known_secrets, make_agent
from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.score.usage import usage_words
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, ApexError

if TYPE_CHECKING:
    from apex_tui.agents.check import Report


def list_all(profile_file: Path | None = None, *, as_json: bool) -> None:
    """Every agent, and whether its keys are in the environment or `.env` (a key itself is never printed)."""
    agents = known_agents(profile_file)
    if as_json:
        print(json.dumps([_row(agent) for agent in agents], ensure_ascii=False))
        return
    for agent in agents:
        print(f"{agent.name:<12} {agent.family:<16} {_keys(agent):<26} {clean(agent.about)}")
    from apex_tui.agents.rehearsal.faults import FAULTS

    for title, rows in (
        ("rehearsal agents by manner (--agent rehearsal:NAME):", _presets()),
        (
            "with a planted fault (--agent rehearsal:fault=NAME):",
            {name: fault.about for name, fault in FAULTS.items()},
        ),
    ):
        print(f"\n{title}")
        for name, about in rows.items():
            print(f"  {name:<24} {about}")


def check(
    name: str,
    url: str | None,
    model: str | None,
    profile_file: Path | None,
    parts: Mapping[str, str] | None = None,
    *,
    spoken: bool = False,
    as_json: bool,
) -> int:
    """Connect to an agent, exchange one turn and one tool call, and print what it accepted and how long it took.

    Raises:
        UserError: there is no such agent, its key is missing, or it cannot be reached.
    """
    from apex_tui.agents.check import WORKFLOW, check_agent

    async def run() -> Report:
        agent = make_agent(
            name,
            url=url,
            model=model,
            workflow=WORKFLOW,
            lines={},
            virtual=False,
            wire=None,
            log_path=None,
            profile_file=profile_file,
            parts=parts,
        )
        return await check_agent(agent, spoken=spoken)

    secrets = known_secrets(profile_file)
    try:
        report = hide(asyncio.run(run()), secrets)
    except ApexError as error:
        raise type(error)(hide(str(error), secrets)) from None
    if as_json:
        print(json.dumps({**dataclasses.asdict(report), "ok": report.ok}, ensure_ascii=False))
    else:
        for label, value in _lines(report):
            print(f"{label:<16} {clean(value, MAX_SENTENCE)}")  # what a server says may not look like a line of ours
    return EXIT_OK if report.ok else EXIT_FAILED


def _row(agent: Listed) -> dict[str, object]:
    found = {key: find_key(key) is not None for key in agent.keys}
    return {
        "name": agent.name,
        "about": agent.about,
        "family": agent.family,
        "keys": found,
        "key_present": all(found.values()) if found else None,
        "key_required": agent.key_required and bool(found),
        "url": agent.url,
        "source": agent.source,
    }


def _keys(agent: Listed) -> str:
    if not agent.keys:
        return "needs no key"
    absent = "missing" if agent.key_required else "optional"
    return ", ".join(f"{key} {'found' if find_key(key) is not None else absent}" for key in agent.keys)


def _presets() -> dict[str, str]:
    from apex_tui.agents.rehearsal.presets import PRESETS

    return {name: preset.about for name, preset in PRESETS.items()}


def _lines(report: object) -> list[tuple[str, str]]:
    """The report as label and value; what does not exist is left out."""
    from apex_tui.agents.check import Report

    assert isinstance(report, Report)
    accepted = dict(report.accepted)
    detection = accepted.pop("turn_detection", None)
    lines = [
        ("agent", f"{report.name} ({report.family})"),
        ("address", report.url),
        ("model", report.model or "not said"),
        ("turns", "in writing" if report.turns == "written" else "spoken"),
        ("sample rates", _rates(report.capabilities)),
        ("turn detection", _detection(report, detection)),
        ("accepted", json.dumps(accepted, ensure_ascii=False)),
        (
            "lacks",
            ", ".join(name for name, has in report.capabilities.items() if has is False and name != "hints")
            or "nothing",
        ),
    ]
    limit = report.capabilities.get("max_session_s")
    if limit is not None:
        lines.append(("session limit", f"{limit / 60:g} min"))
    times = (
        ("connect", report.open_ms),
        ("first words", report.first_words_ms),
        ("first audio", report.first_audio_ms),
        ("whole answer", report.reply_ms),
        ("tool call", report.tool_call_ms),
        ("after its result", report.after_tool_ms),
    )
    lines += [(label, f"{value:.0f} ms") for label, value in times if value is not None]
    if report.answer:
        lines.append(("answer", report.answer))
    if report.tool_arguments is not None:
        lines.append(("tool arguments", json.dumps(report.tool_arguments, ensure_ascii=False)))
    if report.usage:
        lines.append(("usage", usage_words(report.usage)))
    lines += [("problem", problem) for problem in report.problems]
    return [*lines, ("result", "it works" if report.ok else "it does not work")]


def _detection(report: Report, detection: object) -> str:
    """Who finds the caller's turns; a server that tells nothing may still do what it was asked."""
    if detection:
        return json.dumps(detection)
    stated = "turn_detection" in report.accepted or not report.capabilities.get("server_vad")
    return "none of its own" if stated else "not said"


def _rates(capabilities: dict[str, object]) -> str:
    """The rates of the wire; an agent without sound has none."""
    heard = f"{capabilities['in_rate']} Hz in" if capabilities.get("audio_in") else "no sound in"
    said = f"{capabilities['out_rate']} Hz out" if capabilities.get("audio_out") else "no sound out"
    return f"{heard}, {said}"
