"""Runs a session in this process, without a screen: in real time, or in virtual time as fast as the processor allows."""

from __future__ import annotations

import asyncio

from apex_tui.engine.session import Control, Notify, Result, run_session
from apex_tui.timeline.messages import Run
from apex_tui.timeline.virtual import run_virtual
from apex_tui.workflow.model import Workflow


def run_headless(
    command: Run, notify: Notify, control: Control | None = None, *, workflow: Workflow | None = None
) -> Result:
    """Run one session to its end. ``workflow`` stands in for the one that the command names (checks alter it).

    Raises:
        UserError: nothing was run.
    """
    session = run_session(command, notify, control, workflow=workflow)
    return run_virtual(session) if command.virtual else asyncio.run(session)
