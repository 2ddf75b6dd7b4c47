"""The rehearsal server as a process: reads its setup on stdin, prints its port, serves one connection, and ends.

It ends when the connection closes, or when stdin does, which is how it learns that its parent is gone. It prints one line of
JSON on stdout and nothing else; errors go to stderr, which the parent points at a file or nowhere.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from apex_tui.agents.rehearsal.link import ServerLink
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.server import RehearsalServer
from apex_tui.agents.websocket import MAX_QUEUE, MAX_SIZE
from apex_tui.audio.frames import Pcm, pcm_from_bytes
from apex_tui.workflow.model import Workflow

MAX_HEAD = 64 * 1024 * 1024
CONNECT_TIMEOUT_S = 30.0


async def main() -> int:
    """Serve one session; the exit code."""
    reader = await _stdin()
    server = await read_setup(reader)
    gone = asyncio.ensure_future(_wait_for_end(reader))
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    connected = asyncio.Event()

    async def session(socket: ServerConnection) -> None:
        if connected.is_set():
            await socket.close(1008, "this server serves one session")
            return
        connected.set()
        try:
            await serve_one(socket, server)
        finally:
            if not over.done():
                over.set_result(None)

    async with serve(
        session,
        "127.0.0.1",
        0,
        compression=None,
        max_size=MAX_SIZE,
        max_queue=MAX_QUEUE,
        ping_timeout=60,
        origins=[None],
    ) as listener:
        port = next(iter(listener.sockets)).getsockname()[1]
        # The setup is never garbage; without it a collection takes no time worth naming in the middle of a call.
        gc.collect()
        gc.freeze()
        sys.stdout.write(json.dumps({"port": port}) + "\n")
        sys.stdout.flush()
        late = asyncio.ensure_future(_wait_for_nobody(connected))
        await asyncio.wait([gone, over, late], return_when=asyncio.FIRST_COMPLETED)
        for task in (gone, late):
            task.cancel()
    return 0


async def serve_one(socket: ServerConnection, server: RehearsalServer) -> None:
    """Carry messages between a websocket and a server until the client is gone."""
    outgoing: asyncio.Queue[str] = asyncio.Queue()
    link = ServerLink(server, outgoing.put_nowait)

    async def write() -> None:
        while True:
            await socket.send(await outgoing.get())

    writer = asyncio.ensure_future(write())
    link.opened()
    try:
        async for message in socket:
            link.message(message)
    except ConnectionClosed:
        pass
    finally:
        link.closed()
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)


async def read_setup(reader: asyncio.StreamReader) -> RehearsalServer:
    """The server that the parent's setup describes (see ``agent.child_setup``)."""
    head: dict[str, Any] = json.loads(await reader.readline())
    lines: dict[str, Pcm] = {}
    for name, samples in head["lines"]:
        lines[name] = pcm_from_bytes(await reader.readexactly(2 * samples))
    return RehearsalServer(Workflow.model_validate(head["workflow"]), lines, Manner.from_dict(head["manner"]))


async def _stdin() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=MAX_HEAD)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    return reader


async def _wait_for_end(reader: asyncio.StreamReader) -> None:
    while await reader.read(4096):
        pass


async def _wait_for_nobody(connected: asyncio.Event) -> None:
    """Ends when nobody has connected in time."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await connected.wait()
    except TimeoutError:
        return
    await asyncio.Event().wait()
