"""Your own agent in Python: a function that answers caller turns, served over the OpenAI-realtime protocol on this machine.

    async def agent(turn):
        yield "Which day?"                                   # words, spoken
        result = yield Call("update_form", {"date": "..."})  # a tool; the result comes back as the value of the yield

    serve(agent)

In here: what a handler gets and yields, and the socket. Deliberately not in here: the protocol (``own_session``). Words without sound
are spoken by ``speak``; without one they become labelled tones of the right length, which can be timed but not understood.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as listen
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from apex_tui.agents.websocket import MAX_SIZE
from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import EXIT_USER, UserError

PATH = "/v1/realtime"
PAGES_OF_THIS_MACHINE: list[Origin | re.Pattern[str] | None] = [
    None, re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]+)?"),
]  # fmt: skip
"""Origins that may connect where only this machine can: programs, which name none, and its own pages. A browser lets any page try."""


@dataclass(frozen=True, slots=True)
class Say:
    """Words with their sound: 16-bit little-endian mono at 24 kHz, or None to have them spoken."""

    text: str
    pcm: bytes | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. Yield one to get its result, or a list to make several at once and get a list of results."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """A caller turn.

    ``audio``         what was heard: 16-bit little-endian mono at 24 kHz, with a little before and after
    ``text``          its words: from ``transcribe``, or written by the client; None when nobody knows them
    ``instructions``  the prompt of the session
    ``tools``         the tools of the session as ``{"name", "description", "parameters"}``
    ``memory``        the same dictionary in every turn of a session, for the handler's own use
    """

    audio: bytes
    text: str | None
    instructions: str
    tools: tuple[dict[str, Any], ...]
    memory: dict[str, Any]


Step = str | Say | Call | list[Call]
Handler = Callable[[Turn], AsyncGenerator[Step, Any]]
Transcribe = Callable[[bytes], Awaitable[str]]
Speak = Callable[[str], Awaitable[bytes]]


async def stopped() -> None:
    """Wait for Ctrl-C or SIGTERM, also when a shell started us in the background (which ignores Ctrl-C)."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, ValueError, RuntimeError):  # Windows, or not the main thread
            loop.add_signal_handler(number, stop.set)
    await stop.wait()


def serve(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    transcribe: Transcribe | None = None,
    speak: Speak | None = None,
) -> None:
    """Serve an agent until Ctrl-C or SIGTERM. Prints its address.

    Args:
        handler: called with each caller turn; a turn of the caller while it speaks closes its generator.
        host: where to listen.
        port: 0 takes a free one.
        transcribe: audio of a turn -> its words.
        speak: words -> 16-bit little-endian mono at 24 kHz.

    A place where it cannot listen is one sentence on stderr and exit code 2, as for a command: this is the last line of a program.
    """

    async def forever() -> None:
        async with serving(handler, host=host, port=port, transcribe=transcribe, speak=speak) as url:
            print(f"serving at {url}\ntry: apex-tui agents check realtime --url {url}", flush=True)
            await stopped()

    try:
        asyncio.run(forever())
    except KeyboardInterrupt:
        return
    except UserError as error:
        print(error, file=sys.stderr)
        raise SystemExit(EXIT_USER) from None


@asynccontextmanager
async def serving(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    transcribe: Transcribe | None = None,
    speak: Speak | None = None,
) -> AsyncIterator[str]:
    """Serve an agent as long as the context is open; gives its address. See ``serve``."""
    from apex_tui.agents.own_session import OwnSession

    async def session(socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            own = OwnSession(socket.send, handler, transcribe, speak)
            try:
                await own.open()
                async for raw in socket:
                    await own.receive(raw)
            finally:
                await own.close()

    shown = f"[{host}]" if ":" in host else host
    try:
        origins = PAGES_OF_THIS_MACHINE if is_loopback(f"ws://{shown}") else None
        server = await listen(
            session, host, port, max_size=MAX_SIZE, compression=None, ping_timeout=60, origins=origins
        )
    except (OSError, OverflowError) as error:  # the latter: no number of a port
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise UserError(f"{host}:{port} cannot be used ({why}); choose another port.") from None
    async with server:
        bound = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://{shown}:{bound}{PATH}"
