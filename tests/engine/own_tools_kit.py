"""A real session of a tiny workflow with an agent in this process that owns its tools: it mounts ours over MCP, or has a backend of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

from apex_tui.agents import Turn, serving
from apex_tui.engine import speech
from apex_tui.engine.mcp_tools import TOKEN
from apex_tui.engine.session import Result, run_session
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Opened, Run
from apex_tui.workflow.lines import choosable, spoken_lines
from apex_tui.workflow.model import Workflow

if TYPE_CHECKING:
    from mcp import Client  # takes over a second; only the process that mounts it need wait

T = TypeVar("T", bound=Fact)
DAY_OFF = Path(__file__).parents[1] / "data" / "day-off.yaml"
Step = Callable[["Client", "Told"], Awaitable[str]]


def tones(workflow: Workflow, seed: int, *, rehearsal: bool = True) -> speech.Speech:
    """The workflow is in no bank: it is spoken in tones of the right length."""
    lines = {line.id: line for line in spoken_lines(workflow)}
    return speech._tones(workflow, seed, [lines[name] for name in choosable(workflow, seed)])


class Told:
    """What the engine told, and what came of the session."""

    def __init__(self) -> None:
        self.items: list[Event | AnyNotice] = []
        self.results: list[Any] = []
        """What the agent got from its calls, in order."""
        self.wire_tools: list[int] = []
        self.result: Result | None = None
        self.opened, self.over = asyncio.Event(), asyncio.Event()
        self.client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    def take(self, item: Event | AnyNotice) -> None:
        self.items.append(item)
        if isinstance(item, Opened):
            self.opened.set()

    @property
    def events(self) -> list[Event]:
        return [item for item in self.items if isinstance(item, Event)]

    @property
    def url(self) -> str:
        return next(i.tools for i in self.items if isinstance(i, Opened) and i.tools is not None)

    def facts(self, kind: type[T]) -> list[T]:
        return [event.fact for event in self.events if isinstance(event.fact, kind)]

    def all_of(self, kind: type[Fact]) -> list[Event]:
        return [event for event in self.events if isinstance(event.fact, kind)]


async def session_of(out: Path, steps: Sequence[Step], **command: Any) -> Told:
    """Run a session in which the agent's turn k does ``steps[k]`` with the mounted tools, says what that returns, and then only "Bye"."""
    told = Told()

    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        number = turn.memory["turn"] = turn.memory.get("turn", 0) + 1
        told.wire_tools.append(len(turn.tools))
        yield await steps[number - 1](await told.client, told) if number <= len(steps) else "Bye."

    async with serving(agent) as url:
        run = Run(
            workflow=str(DAY_OFF), agent="realtime", url=url, sound="none", out=str(out), serve_tools="0", **command
        )
        mounting = asyncio.create_task(_mount(told))
        told.result = await run_session(run, told.take)
        told.over.set()
        await mounting
    return told


async def _mount(told: Told) -> None:
    """One client for the whole session, as a framework keeps one; it sends the token that is asked for."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    await told.opened.wait()
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {os.environ.get(TOKEN, '')}"})
    async with http, Client(streamable_http_client(told.url, http_client=http)) as client:
        told.client.set_result(client)
        await told.over.wait()


@contextmanager
def in_tones() -> Iterator[None]:
    with mock.patch("apex_tui.engine.person_devices.load_speech", tones):
        yield
