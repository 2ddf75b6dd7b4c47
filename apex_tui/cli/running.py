"""``apex-tui run``: builds the command from the options and runs it, with or without a screen."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pydantic import ValidationError

from apex_tui.cli.about_person import need_the_screen
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Opened, Run
from apex_tui.timeline.paths import real_path
from apex_tui.workflow.library import is_named

if TYPE_CHECKING:
    from apex_tui.engine.session import Result

_DURATION = re.compile(r"(?P<amount>\d+(?:\.\d+)?)(?P<unit>ms|s)?", re.ASCII)


def command_for(
    workflow: str,
    agent: str,
    url: str | None,
    model: str | None,
    seed: int,
    profile: str,
    virtual: bool,
    out: Path | None,
    sound: str,
    max_s: float | None,
    tool_latency: list[str],
    channel: str = "clean",
    instructions: str = "neutral",
) -> Run:
    """The engine's command for these options.

    Raises:
        UserError: an option has a value that it cannot have.
    """
    values: dict[str, Any] = {
        "workflow": workflow
        if is_named(workflow)
        else str(real_path(Path(workflow)))
        if os.path.exists(workflow)
        else workflow,
        "agent": agent,
        "url": url,
        "model": model,
        "seed": seed,
        "profile": profile,
        "virtual": virtual,
        "out": None if out is None else str(real_path(out)),
        "sound": sound,
        "max_s": max_s,
        "tool_latency": dict(latency_of(text) for text in tool_latency),
        "channel": channel_of(channel),
        "instructions": instructions,
    }
    try:
        return Run.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise UserError(f"{option} {first['input']!r}: {first['msg'].lower()}") from error


def latency_of(text: str) -> tuple[str, float]:
    """``NAME=40s`` or ``NAME=250ms`` as (name, ms).

    Raises:
        UserError: it is not of that form.
    """
    name, _, duration = text.partition("=")
    match = _DURATION.fullmatch(duration)
    if not name or match is None:
        raise UserError(
            f"--tool-latency {text!r}: write NAME=DURATION, such as search_documents=40s or search_documents=250ms"
        )
    return name, float(match["amount"]) * (1.0 if match["unit"] == "ms" else 1000.0)


def channel_of(text: str) -> str:
    """The caller's channel in its canonical spelling.

    Raises:
        UserError: there is no such channel.
    """
    from apex_tui.audio.channel import parse_channel

    return str(parse_channel(text))


def with_agent_options(command: Run, profile_file: Path | None, parts: dict[str, str | None]) -> Run:
    """The command with what only some agents take: a file of dialects, the addresses of a cascade's parts."""
    given = {name: address for name, address in parts.items() if address is not None}
    path = None if profile_file is None else str(real_path(profile_file))
    return command.model_copy(update={"profile_file": path, "parts": given})


def with_own_tools(command: Run, serve_tools: str | None, wire_tools: bool, probe: Path | None) -> Run:
    """The command for an agent that owns its tools: where it mounts ours, and how its backend is read."""
    file = None if probe is None else str(real_path(probe))
    return command.model_copy(update={"serve_tools": serve_tools, "wire_tools": wire_tools, "probe_file": file})


def run(
    command: Run, *, headless: bool, as_json: bool, flags: Mapping[str, str | int | bool | None] | None = None
) -> int:
    """Run it; returns the exit code. ``flags``: settings of the screen that were given."""
    if not headless:
        from apex_tui.cli import screen

        return screen.open_run(command, flags or {})
    need_the_screen(command)
    result = _narrated(command, (lambda item: None) if as_json else _Narrator())
    if as_json:
        print(
            json.dumps(
                {"folder": str(result.folder), "score": result.score.model_dump(mode="json")}, ensure_ascii=False
            )
        )
    else:
        from apex_tui.cli.scoring import print_score

        print_score(result.score, result.folder)
    return result.exit_code


def run_plain(command: Run) -> int:
    """Run it in real time and print one line per event on stdout: for screen readers and pipes. Returns the exit code."""
    from apex_tui.cli.scoring import print_score

    result = _narrated(command, _Narrator(sys.stdout))
    print_score(result.score, result.folder)
    return result.exit_code


def _narrated(command: Run, tell: Callable[[Event | AnyNotice], None]) -> Result:
    from apex_tui.cli.narration import Narration
    from apex_tui.engine.control import Control
    from apex_tui.engine.headless import run_headless

    control = Control()
    narration = Narration(tell, control.stop)
    result = run_headless(command, narration, control)
    narration.check()
    return result


class _Narrator:
    """One line per fact that a person would want to read, on stderr or where it is told to."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out

    def __call__(self, item: Event | AnyNotice) -> None:
        if isinstance(item, Opened):
            print(f"recording to {item.folder}; {item.sound}", file=self._out or sys.stderr, flush=True)
            if item.tools is not None:
                print(f"tools over MCP at {item.tools}", file=self._out or sys.stderr, flush=True)
        elif isinstance(item, Event):
            from apex_tui.cli.plain import line_for

            line = line_for(item)
            if line is not None:
                print(line, file=self._out or sys.stderr, flush=True)
