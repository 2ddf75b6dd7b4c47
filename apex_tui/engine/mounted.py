"""The tools as an agent mounts them: what it may call, how many calls at once, and whom the session asks to carry them out.

In here: the desk between a protocol (``mcp_tools``) and whoever runs the calls (a session, or ``lone_bench``). Deliberately not in here: MCP
itself, sockets, and what a tool does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from apex_tui.agents.seam import ToolRequest
from apex_tui.engine.tool_tasks import Answer
from apex_tui.timeline.base import Fact, Json
from apex_tui.timeline.work_facts import ToolsMounted

MOST_AT_ONCE = 16
"""Calls that may run at once; an agent that needs more of one person's form at a time is running away."""
MOST_CLIENTS = 20
"""Clients that are noted on the timeline: one is the rule, a few reconnect."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to: JSON text for the agent, and whether it is an error that the agent can act on."""

    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Runner:
    """Who carries out calls now: ``take`` begins one and answers later, ``take_back`` stops one, ``emit`` notes a fact."""

    take: Callable[[ToolRequest, Answer], None]
    take_back: Callable[[str, str], None]
    emit: Callable[[Fact], object]


class Desk:
    """Takes calls for the tools of one workflow. ``instructions``: the prompt that belongs to them, for whoever wants it."""

    def __init__(self, tools: tuple[Json, ...], instructions: str) -> None:
        self.tools, self.instructions = tools, instructions
        self._runner: Runner | None = None
        self._told = "the session has not begun"
        self._running: dict[str, asyncio.Future[str]] = {}
        self._calls = 0
        self._used = False
        self._clients: list[ToolsMounted] = []

    @property
    def mounted(self) -> bool:
        """Whether anyone has asked for the list of tools, or called one without asking."""
        return bool(self._clients) or self._used

    def open(self, runner: Runner) -> None:
        """From now on calls are carried out; clients that mounted the tools before are noted now."""
        self._runner = runner
        for client in self._clients:
            runner.emit(client)

    def close(self, why: str) -> None:
        """From now on calls are refused with ``why``; whoever still waits gets that as well."""
        self._runner, self._told = None, why
        for future in self._running.values():
            if not future.done():
                future.set_result(_refusal(why, "it had no effect"))

    def listed(self, client: str, protocol: str) -> None:
        """A client asked for the list of tools."""
        fact = ToolsMounted(client=client[:200], protocol=protocol[:40], tools=len(self.tools))
        if fact in self._clients or len(self._clients) >= MOST_CLIENTS:
            return
        self._clients.append(fact)
        if self._runner is not None:
            self._runner.emit(fact)

    async def call(self, name: str, arguments: Json, reply: str | None = None) -> Result:
        """Carry out one call; a cancelled await takes it back. ``reply``: the reply of the agent that it belongs to, when it says so."""
        self._used = True
        if self._runner is None:
            return _result(_refusal(self._told, "call tools only while the call with the person is on"))
        if len(self._running) >= MOST_AT_ONCE:
            return _result(
                _refusal(f"{MOST_AT_ONCE} calls are running already", "wait for one of them, then call again")
            )
        self._calls += 1
        call_id = f"mcp-{self._calls}"
        future = self._running[call_id] = asyncio.get_running_loop().create_future()

        def answer(output: str) -> None:
            if not future.done():
                future.set_result(output)

        try:
            self._runner.take(ToolRequest(call_id, name, arguments, reply), answer)
            return _result(await future)
        except asyncio.CancelledError:
            if self._runner is not None:
                self._runner.take_back(call_id, "the agent cancelled the call")
            raise
        finally:
            del self._running[call_id]


def _result(output: str) -> Result:
    try:
        told = json.loads(output)
    except ValueError:
        told = None
    return Result(output, not (isinstance(told, dict) and told.get("ok") is False))


def _refusal(error: str, hint: str) -> str:
    return json.dumps({"ok": False, "error": error, "hint": hint})
