"""What a session with an agent that owns its tools needs beside the agent's connection: the tools over MCP, and probes of its backend.

In here: opening both before the agent is called, binding them to the session when it begins, and an orderly end. With neither asked for, all of
it does nothing. Deliberately not in here: how calls are carried out (``tool_tasks``) and what a change means (``probes``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apex_tui.agents.keys import find_key, spelled
from apex_tui.agents.rehearsal.presets import is_rehearsal
from apex_tui.caller.policy import CallerPolicy
from apex_tui.engine.conductor import Conductor
from apex_tui.engine.wiring import Wiring
from apex_tui.store.meta import BY_PROBE, OVER_MCP, SessionMeta
from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.caller_facts import CallerTurnEnded
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Run
from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.model import Workflow

if TYPE_CHECKING:
    from apex_tui.engine.mounted import Desk
    from apex_tui.engine.probe_file import ProbeSpec
    from apex_tui.engine.probes import Probes

OVER = "the session is over"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for. ``offered``: the workflow with the tools that the agent is offered; ``secrets``: what nothing may show."""

    serve: str | None
    wire: bool
    file: str | None
    specs: tuple[ProbeSpec, ...]
    offered: Workflow
    secrets: tuple[str, ...]

    def beside(self, meta: SessionMeta) -> SessionMeta:
        """The session's description with what is needed to repeat this, and the labels that must stand beside every number."""
        labels = (*((OVER_MCP,) if self.serve else ()), *((BY_PROBE,) if self.specs else ()))
        parameters = {**meta.parameters, **self._parameters()}
        return meta.model_copy(update={"parameters": parameters, "labels": (*meta.labels, *labels)})

    def _parameters(self) -> Json:
        probes = [
            {"artifact": s.artifact, "source": s.source, "every_ms": s.every_ms, "fields": s.fields, "query": s.query}
            for s in self.specs
        ]
        served: Json = {"serve_tools": self.serve, "wire_tools": self.wire} if self.serve else {}
        return {**served, **({"probe_file": self.file, "probes": probes} if probes else {})}


def asked_for(command: Run, workflow: Workflow) -> Asked:
    """Read what a command asks for.

    Raises:
        UserError: it cannot be had: simulated time, a wrong place or file, a missing token.
    """
    if command.wire_tools and command.serve_tools is None:
        raise UserError(
            "--wire-tools goes with --serve-tools; without it the tools are on the agent's connection anyway"
        )
    if command.virtual and (command.serve_tools is not None or command.probe_file is not None):
        option = "--serve-tools" if command.serve_tools is not None else "--probe"
        raise UserError(
            f"{option} talks to the world outside, which does not run in simulated time; leave --virtual out"
        )
    if command.probe_file is not None and is_rehearsal(command.agent):
        raise UserError("the rehearsal agent has no backend of its own to look at; use --probe with another agent")
    specs: tuple[ProbeSpec, ...] = ()
    left = workflow
    if command.probe_file is not None:
        from apex_tui.engine.probe_file import offered, read_probe_file

        specs = read_probe_file(Path(command.probe_file), workflow)
        left = offered(workflow, specs)
    names = [spec.bearer for spec in specs if spec.bearer is not None]
    if command.serve_tools is not None:
        from apex_tui.engine.mcp_tools import TOKEN, need_mcp, parse_place, token_for

        token_for(parse_place(command.serve_tools))
        need_mcp()
        names.append(TOKEN)
    secrets = spelled(key for name in names if (key := find_key(name)) is not None)
    return Asked(command.serve_tools, command.wire_tools, command.probe_file, specs, left, secrets)


class OwnTools:
    """Both of them, open."""

    def __init__(self, asked: Asked, desk: Desk | None, url: str | None, probes: Probes | None) -> None:
        self._asked, self._desk, self.url, self._probes = asked, desk, url, probes
        self._turns = 0

    @property
    def on_wire(self) -> bool:
        """Whether the agent gets the tools over its own connection."""
        return self._desk is None or self._asked.wire

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the session declares beside the agent's own capabilities; empty when nothing was asked for."""
        declared: dict[str, Any] = {}
        if self._desk is not None:
            declared |= {"tools": "both" if self._asked.wire else "mcp", "tools_at": self.url}
        if self._asked.specs:
            declared["watched"] = sorted({spec.artifact for spec in self._asked.specs})
        return declared

    def begin(self, conductor: Conductor, wiring: Wiring, workbench: Workbench, policy: CallerPolicy) -> None:
        """The session has begun: carry out calls, look at the backend."""
        if self._desk is not None:
            from apex_tui.engine.mounted import Runner

            def emit(fact: Fact) -> object:
                return wiring.emit(fact)

            self._desk.open(Runner(conductor.take_mounted, conductor.tools.take_back, emit))
            if not self._asked.wire:
                wiring.listen(lambda event: self._unmounted(event, wiring))
        if self._probes is not None:
            self._warn_of_unwatched(wiring)
            self._probes.begin(workbench, wiring, policy, conductor.stop)
            conductor.tools.look = self._probes.look

    def _warn_of_unwatched(self, wiring: Wiring) -> None:
        from apex_tui.engine.probe_file import unwatched

        for artifact, names in unwatched(self._asked.offered, self._asked.specs).items():
            told = f"no probe reads {', '.join(names)} of {artifact}, and no tool writes there: they can only stay as they are"
            wiring.emit(SessionWarning(code="fields-unwatched", message=told))

    def _unmounted(self, event: Event, wiring: Wiring) -> None:
        """The caller has spoken twice, and nobody can use the tools: say so once, since no work can come of it."""
        if isinstance(event.fact, CallerTurnEnded) and self._desk is not None:
            self._turns += 1
            if self._turns == 2 and not self._desk.mounted:
                told = f"nobody has mounted the tools at {self.url} yet: the agent cannot do any work"
                wiring.emit(SessionWarning(code="tools-not-mounted", message=told))

    async def end(self) -> None:
        """The session is over: refuse calls, look no more."""
        if self._desk is not None:
            self._desk.close(OVER)
        if self._probes is not None:
            await self._probes.end()


@asynccontextmanager
async def own_tools(asked: Asked, title: str, instructions: str, tools: tuple[Json, ...]) -> AsyncIterator[OwnTools]:
    """Open what was asked for; closed with the context.

    Raises:
        UserError: the port is taken, or a query or token cannot be used.
    """
    async with AsyncExitStack() as stack:
        desk, url, probes = None, None, None
        if asked.specs:
            from apex_tui.engine.probe_readers import make_reader
            from apex_tui.engine.probes import Probes

            probes = Probes([(spec, make_reader(spec, asked.offered)) for spec in asked.specs])
            stack.push_async_callback(probes.close)
        if asked.serve is not None:
            from apex_tui.engine.mcp_tools import parse_place, serving_http, token_for
            from apex_tui.engine.mounted import Desk

            desk, place = Desk(tools, instructions), parse_place(asked.serve)
            url = await stack.enter_async_context(serving_http(desk, title, place, token_for(place)))
            stack.callback(desk.close, OVER)
        yield OwnTools(asked, desk, url, probes)
