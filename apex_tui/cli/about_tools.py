"""``apex-tui tools serve``: the tools of a workflow over MCP, without a voice; narration and summary on stderr, since stdout is the wire."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from apex_tui.cli.plain import line_for
from apex_tui.cli.text import clean
from apex_tui.timeline.errors import EXIT_OK
from apex_tui.timeline.events import Event


def serve(workflow: str, place: str | None, out: Path | None, *, approve: bool) -> int:
    """Serve until the client closes stdin, or (over HTTP) until Ctrl-C. Returns the exit code.

    Raises:
        UserError: no such workflow, the port is taken, or the extra is missing.
    """
    from apex_tui.engine.mcp_tools import need_mcp, parse_place, token_for
    from apex_tui.workflow.library import find_workflow

    found = find_workflow(workflow)
    need_mcp()
    where = None if place is None else parse_place(place)
    token = None if where is None else token_for(where)
    asyncio.run(_serve(found, where, token, out, approve))
    return EXIT_OK


async def _serve(workflow: Any, place: Any, token: str | None, out: Path | None, approve: bool) -> None:
    from apex_tui.agents.instructions import build_instructions
    from apex_tui.engine.lone_bench import LoneBench
    from apex_tui.engine.mcp_tools import serve_stdio, serving_http
    from apex_tui.engine.mounted import Desk, Runner
    from apex_tui.store.layout import create, session_name, sessions_root
    from apex_tui.workbench.schemas import tool_schemas
    from apex_tui.workflow.snapshot import to_json

    desk = Desk(tool_schemas(workflow), build_instructions(workflow))
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    async with contextlib.AsyncExitStack() as stack:
        url = None
        if place is not None:  # first: a port that is taken leaves nothing behind
            url = await stack.enter_async_context(serving_http(desk, workflow.title, place, token))
        utc = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - names the folder, nothing is timed by it
        folder = create(out or sessions_root() / "tools", session_name(utc, workflow.id, "tools", 1))
        folder.write_workflow(to_json(workflow))
        bench = LoneBench(workflow, folder, _narrate, approve_all=approve)
        desk.open(Runner(bench.take, bench.take_back, bench.emit))
        where = "over stdin and stdout" if url is None else f"at {url}, until Ctrl-C"
        _tell(f"{len(desk.tools)} tools of {workflow.id} {where}; recording to {folder.path}")
        try:
            if url is None:
                await _until(serve_stdio(desk, workflow.title), stop)
            else:
                await stop.wait()
        finally:
            desk.close("the workbench was closed")
            for line in (*_lines(await bench.close()), str(folder.path)):
                _tell(line)


async def _until(serving: Any, stop: asyncio.Event) -> None:
    """Serve until the client is gone, or until told to end."""
    task, told = asyncio.ensure_future(serving), asyncio.ensure_future(stop.wait())
    await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if not task.done():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _narrate(event: Event) -> None:
    line = line_for(event)
    if line is not None:
        _tell(line)


def _tell(line: str) -> None:
    """The log has it too: a client that reads no stderr keeps its tools."""
    with contextlib.suppress(OSError):
        print(clean(line, 2000), file=sys.stderr, flush=True)


def _lines(summary: dict[str, Any]) -> list[str]:
    """The summary for a person; no verdict, since nobody called."""
    calls = [
        f"{name} " + ", ".join(f"{count} {state}" for state, count in row.items())
        for name, row in summary["calls"].items()
    ]
    lines = [f"calls      {line}" for line in calls] or ["calls      none"]
    lines += [f"commit     {row['action']}: {row['decision']} ({row['why']})" for row in summary["commits"]]
    for name, artifact in summary["artifacts"].items():
        fields = ", ".join(f"{key}={value!r}" for key, value in artifact["fields"].items())
        lines.append(f"artifact   {name} v{artifact['version']} {artifact['lifecycle']}  {fields}")
    return [*lines, f"approvals  {summary['approvals']}", "not judged: this is a workbench without a call"]
