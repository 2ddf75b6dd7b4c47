"""What a session's ``session.json`` says when it opens: what runs against what, and the digests that prove equal input."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import apex_tui
from apex_tui.agents.dialects import own_dialect
from apex_tui.agents.instructions import instructions_sha256, tools_sha256
from apex_tui.agents.rehearsal.presets import is_rehearsal
from apex_tui.agents.seam import Agent
from apex_tui.audio import edges
from apex_tui.engine.speech import Speech
from apex_tui.store.layout import SessionFolder
from apex_tui.store.meta import SessionMeta, addresses
from apex_tui.timeline.messages import Run
from apex_tui.timeline.session_facts import ClockBasis
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.snapshot import digest


def opening_meta(
    command: Run,
    workflow: Workflow,
    agent: Agent,
    speech: Speech,
    folder: SessionFolder,
    utc: str,
    basis: ClockBasis,
    sound: str,
    given: tuple[str, tuple[dict[str, Any], ...]],
) -> SessionMeta:
    """The file's content before anything happened. ``given``: the instructions and the tools that the agent gets."""
    instructions, tools = given
    kept = {"profile", "tool_latency", "tool_failures", "max_s", "budget_s", "model", "instructions"}
    parameters = {**command.model_dump(mode="json", include=kept), **addresses(command.url, command.parts)}
    parameters |= dialect_of(command)
    if command.regression:
        parameters["regression"] = command.regression
    if command.directions:
        parameters["directions"] = [direct.model_dump(mode="json", exclude={"type"}) for direct in command.directions]
    return SessionMeta(
        session=folder.path.name,
        workflow=workflow.id,
        workflow_version=workflow.version,
        workflow_digest=digest(workflow),
        title=workflow.title,
        agent=agent.name,
        agent_url=agent.url,
        rehearsal=agent.rehearsal,
        seed=command.seed,
        profile=command.profile,
        caller=speech.kind,
        virtual=command.virtual,
        clock_basis=basis,
        app_version=apex_tui.__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        parameters=parameters,
        edge_parameters=dict(edges.PARAMETERS),
        instructions_sha256=instructions_sha256(instructions),
        tools_sha256=tools_sha256(tools),
        clips=speech.digests,
        started_utc=utc,
        sound=sound,
        labels=("rehearsal (scripted)",) if agent.rehearsal else (),
    )


def dialect_of(command: Run) -> dict[str, str]:
    """Which dialect of the user's own the agent speaks, so that a regression can tell whether it still does; empty for one of ours."""
    file = command.profile_file
    own = None if is_rehearsal(command.agent) else own_dialect(command.agent, None if file is None else Path(file))
    if own is None:
        return {}
    return {"dialect_sha256": own, **({"profile_file": file} if file is not None else {})}
