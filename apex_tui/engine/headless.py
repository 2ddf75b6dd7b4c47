"""Runs a session in this process, without a screen: in real time, or in virtual time as fast as the processor allows."""

from __future__ import annotations

import asyncio
import signal
import threading

from apex_tui.agents.seam import Agent
from apex_tui.engine.control import Control
from apex_tui.engine.session import Notify, Result, run_session
from apex_tui.engine.speech import Speech
from apex_tui.timeline.messages import Run
from apex_tui.timeline.virtual import run_virtual
from apex_tui.workflow.model import Workflow


def run_headless(
    command: Run,
    notify: Notify,
    control: Control | None = None,
    *,
    workflow: Workflow | None = None,
    agent: Agent | None = None,
    speech: Speech | None = None,
) -> Result:
    """Run one session to its end. ``workflow``, ``agent`` and ``speech`` stand in for what the command names.

    Raises:
        UserError: nothing was run.
    """
    control = control or Control()
    if command.virtual:
        return run_virtual(run_session(command, notify, control, workflow=workflow, agent=agent, speech=speech))
    return asyncio.run(_until_told(command, notify, control, workflow))


async def _until_told(command: Run, notify: Notify, control: Control, workflow: Workflow | None) -> Result:
    """In real time a person may end it: the session is closed in order, kept, labelled and judges nobody."""
    loop = asyncio.get_running_loop()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, control.stop, f"it was told to end ({number.name})")
    return await run_session(command, notify, control, workflow=workflow)
