"""Opening the app: only in a terminal, and only here is the screen imported. Without a terminal, or when asked, plain lines instead."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from apex_tui.cli.terminal import as_drawn
from apex_tui.cli.text import clean
from apex_tui.store.settings import Settings, Value, config_path, load_settings
from apex_tui.timeline.errors import EXIT_OK, UserError

if TYPE_CHECKING:
    from apex_tui.agents.registry import Listed
    from apex_tui.timeline.messages import Run
    from apex_tui.tui.agent_cards import AgentCard
    from apex_tui.tui.app import Start
    from apex_tui.tui.sources import Sources

Flags = Mapping[str, Value | None]
"""Settings that were given on the command line; None: not given."""


def has_terminal() -> bool:
    """The screen draws on stderr and reads stdin: without a terminal it would draw into a file."""
    return os.environ.get("TERM", "dumb") != "dumb" and sys.stdin.isatty() and sys.stderr.isatty()


def settings_for(flags: Flags) -> Settings:
    """The settings in force for the screen.

    Raises:
        UserError: they cannot be used.
    """
    settings = load_settings(flags)
    if settings.keymap:  # only a keymap needs the actions, and they need Textual
        from apex_tui.tui.keymap import check_keymap
        from apex_tui.tui.keys import action_ids

        settings = load_settings(flags, actions=action_ids())
        check_keymap(settings.keymap, config_path())
    return settings


def open_picker(flags: Flags) -> int:
    """Open the app at the picker; returns the exit code.

    Raises:
        UserError: there is no terminal: a picker cannot be a line.
    """
    settings = settings_for(flags)
    if settings.flag("plain") or not has_terminal():
        raise UserError(
            "the picker needs a terminal; without one use 'apex-tui run WORKFLOW --plain' or 'workflows list'"
        )
    from apex_tui.tui.sources import Sources

    return _shown(None, settings, Sources(agents=agent_cards))


def agent_cards() -> tuple[AgentCard, ...]:
    """Every agent that the picker offers: the rehearsal agent, the others, then its manners and its planted faults.

    The imports are heavy (numpy among them): this is called when the list is opened, never at the start.

    Raises:
        UserError: the user's own file of agents cannot be used.
    """
    from apex_tui.agents.registry import known_agents
    from apex_tui.agents.rehearsal.faults import FAULTS
    from apex_tui.agents.rehearsal.presets import NAME, PRESETS
    from apex_tui.tui.agent_cards import REHEARSAL_CARD, AgentCard

    manners = {f"{NAME}:{name}": preset.about for name, preset in PRESETS.items()}
    faults = {f"{NAME}:fault={name}": fault.about for name, fault in FAULTS.items()}
    return (
        REHEARSAL_CARD,
        *(_card(listed) for listed in known_agents() if listed.name != NAME),
        *(AgentCard(name, about, rehearsal=True) for name, about in (manners | faults).items()),
    )


def _card(listed: Listed) -> AgentCard:
    """A network agent, and whether its keys are there. Behind an address of the user's own a key may not be needed."""
    from apex_tui.agents.keys import find_key
    from apex_tui.tui.agent_cards import AgentCard

    missing = [key for key in listed.keys if find_key(key) is None]
    needs_url = not listed.url and listed.family != "cascade"  # a cascade's parts may each have an address
    if missing:
        note = f"{', '.join(missing)} not found{', if it wants one' if needs_url else ''}"
    else:
        note = f"{', '.join(listed.keys)} found (not shown)" if listed.keys else ""
    return AgentCard(listed.name, listed.about, needs_url, note=note, ready=needs_url or not missing)


def open_run(command: Run, flags: Flags) -> int:
    """Open the app and start this run at once, or print its events line by line; returns the exit code."""
    from apex_tui.workflow.library import find_workflow
    from apex_tui.workflow.utterances import know_plans

    workflow = find_workflow(command.workflow)  # a wrong name is said before the screen opens
    know_plans(workflow, command.seed, [direct.plan for direct in command.directions if direct.plan is not None])
    settings = settings_for(flags)
    if settings.flag("plain") or not has_terminal():
        from apex_tui.cli import running
        from apex_tui.cli.about_person import need_the_screen

        need_the_screen(command)
        return running.run_plain(command)
    _need_devices(command)
    return _shown(command, settings)


def _need_devices(command: Run) -> None:
    """Open what the run cannot do without, and close it again, in a process of its own: said before the screen opens.

    Raises:
        UserError: it cannot be opened.
    """
    wanted = [
        *(["microphone"] if command.caller == "microphone" else []),
        *(["loudspeaker"] if command.sound == "device" else []),
    ]
    if not wanted:
        return
    import asyncio

    from apex_tui.tui.own_command import no_device

    for only in wanted:
        why_not = asyncio.run(no_device(command, only))
        if why_not is not None:
            raise UserError(why_not)


def open_replay(session: str | None, flags: Flags) -> int:
    """Open a recording, or print its events line by line; returns the exit code."""
    from apex_tui.store.recording import begin_recording, find_recording, open_recording

    path = find_recording(session)
    settings = settings_for(flags)
    if settings.flag("plain") or not has_terminal():
        from apex_tui.cli.plain import line_for

        recording = open_recording(path)
        if recording.problem:
            print(f"apex-tui: {clean(recording.problem)}", file=sys.stderr)
        for event in recording.events:
            line = line_for(event)
            if line is not None:
                print(line)
        return EXIT_OK
    beginning = begin_recording(path, 1)  # a folder that cannot be opened is said before the screen opens
    if beginning.rest is not None:
        beginning.rest.close()
    return _replay(path, settings)


def open_review(session: str, flags: Flags) -> int:
    """Open the review of a call at the microphone; returns the exit code.

    Raises:
        UserError: there is no terminal, or nobody was at the microphone.
    """
    from apex_tui.store.recording import begin_recording, find_recording

    path = find_recording(session)
    settings = settings_for(flags)
    if settings.flag("plain") or not has_terminal():
        raise UserError("the review needs a terminal; without one use --draft FILE, edit it, then --review FILE")
    beginning = begin_recording(path, 1)
    if beginning.rest is not None:
        beginning.rest.close()
    if beginning.meta.caller != "microphone":
        raise UserError(f"{beginning.meta.session} had no person at the microphone: there is nothing to review")
    from apex_tui.tui.app import Reviewing

    return _shown(Reviewing(path), settings)


def _replay(path: Path, settings: Settings) -> int:
    from apex_tui.tui.app import Replay

    return _shown(Replay(path), settings)


def _shown(start: Start | None, settings: Settings, sources: Sources | None = None) -> int:
    """Run the app, which draws what it prints itself; returns the exit code."""
    from apex_tui.tui.app import run_app

    with contextlib.redirect_stdout(as_drawn(sys.stdout)), contextlib.redirect_stderr(as_drawn(sys.stderr)):
        return run_app(start, settings, sources)
