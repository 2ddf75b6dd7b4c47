"""The tools over MCP, with the official Python SDK (extra ``mcp``): the protocol server of a desk, over streamable HTTP or stdio.

In here: the two handlers, where to listen and who may connect, and an orderly end. Deliberately not in here: what a call does (``mounted``).
Everything is imported only when tools are served.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apex_tui
from apex_tui.agents.keys import find_key
from apex_tui.engine.mounted import Desk
from apex_tui.timeline.addresses import is_loopback
from apex_tui.timeline.errors import UserError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

TOKEN = "APEX_TUI_TOOLS_TOKEN"
"""Environment variable with the bearer token that clients must send; required unless only this machine can connect."""
PATH = "/mcp"
REPLY = "apex-tui/reply"
"""Key of a call's ``_meta`` under which an agent may say which of its replies (by the id on its own connection) the call belongs to."""
MAX_REQUEST = 256 * 1024
"""Bytes of one HTTP request: arguments are at most 64 KiB of JSON, and a form is far smaller."""
MAX_SESSIONS = 256
"""MCP sessions at once. An agent has one, some frameworks one for each worker; a client that is killed leaves its own for half an hour."""
MAX_CONNECTIONS = 64
MOST_TOLD = 20
"""Lines of what the SDK logs; nearly all of them are a client's doing, and a client may go on for ever."""
DRAIN_S = 2.0
"""How long the last answers may take to leave when the session ends."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_PLACE = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):)?(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen. Port 0: any free one."""

    host: str
    port: int

    @property
    def local(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(f"http://{self.shown_host}/")

    @property
    def shown_host(self) -> str:
        """The host as it stands in an address."""
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_place(text: str) -> Place:
    """``8808``, ``0.0.0.0:8808`` or ``[::1]:8808``.

    Raises:
        UserError: it is not of that form.
    """
    match = _PLACE.fullmatch(text.strip())
    if match is None or int(match["port"]) > 65535:
        raise UserError(f"--serve-tools {text!r}: write a port such as 8808, or HOST:PORT such as 0.0.0.0:8808")
    return Place((match["host"] or "127.0.0.1").strip("[]"), int(match["port"]))


def token_for(place: Place) -> str | None:
    """The bearer token that clients must send, from the environment or `.env`; None: none is asked for.

    Raises:
        UserError: other machines can connect, and there is no token.
    """
    token = find_key(TOKEN)
    if token is None and not place.local:
        raise UserError(
            f"tools served at {place.shown_host} can be reached from other machines: set {TOKEN} to a secret of your own, "
            "which the agent sends as 'Authorization: Bearer ...', or leave the host out to serve this machine only"
        )
    return token


def need_mcp() -> None:
    """Raises ``UserError``: the extra is not installed."""
    try:
        import mcp.server.lowlevel  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise UserError("serving tools needs the extra 'mcp': pip install 'apex-tui[mcp]'") from None


def protocol_server(desk: Desk, title: str) -> Server[Any]:
    """The MCP server of a desk: lists its tools and carries out calls. Errors of tools are results, as MCP has it (``isError``)."""
    from mcp.server.lowlevel import Server
    from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

    tools = [
        Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"]) for tool in desk.tools
    ]
    schemas = {tool["name"]: tool["parameters"] for tool in desk.tools}

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        desk.listed(_client(context), str(context.protocol_version))
        return ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        reply = (context.meta or {}).get(REPLY)
        done = await desk.call(params.name, params.arguments or {}, reply[:200] if isinstance(reply, str) else None)
        content = json.loads(done.output)
        return CallToolResult(
            content=[TextContent(type="text", text=done.output)],
            structured_content=content if isinstance(content, dict) else None,
            is_error=not done.ok,
        )

    return Server(
        "apex-tui",
        version=apex_tui.__version__,
        title=title,
        instructions=desk.instructions,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


class _OneLine(logging.Handler):
    """What the SDK and its server log, as narration: a line each without a traceback, and not more than anybody would read."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._left = MOST_TOLD

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line to stderr."""
        self._left -= 1
        if self._left < 0:
            return
        error = record.exc_info[1] if record.exc_info else None
        words = record.getMessage() + (f" ({type(error).__name__})" if error is not None else "")
        line = "".join(char if char.isprintable() else " " for char in words[:300])
        with contextlib.suppress(OSError):
            print(
                f"tools over MCP: {line}{'' if self._left else ' (no more of this is shown)'}",
                file=sys.stderr,
                flush=True,
            )


@contextlib.contextmanager
def _narrated() -> Iterator[None]:
    loggers, handler = [logging.getLogger(name) for name in ("mcp", "uvicorn")], _OneLine()
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def _client(context: Any) -> str:
    params = context.session.client_params
    info = params.client_info if params is not None else None
    return f"{info.name} {info.version}".strip() if info is not None else "a client without a name"


@asynccontextmanager
async def serving_http(desk: Desk, title: str, place: Place, token: str | None) -> AsyncIterator[str]:
    """Serve a desk as long as the context is open; gives its address. Close the desk first, so that every call has its answer.

    Raises:
        UserError: the port is taken, or the extra is missing.
    """
    need_mcp()
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    ready = asyncio.Event()

    class Quiet(uvicorn.Server):
        """Leaves Ctrl-C to the session, and says when it listens."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready.set()

    sock = _listen(place)
    port = sock.getsockname()[1]
    manager = StreamableHTTPSessionManager(
        protocol_server(desk, title),
        security_settings=_security(place),
        max_request_body_size=MAX_REQUEST,
        max_sessions=MAX_SESSIONS,
    )
    open_posts = _Open()
    config = uvicorn.Config(
        _guarded(manager.handle_request, token, open_posts), log_config=None, access_log=False, lifespan="off", http="h11", ws="none",
        limit_concurrency=MAX_CONNECTIONS, timeout_graceful_shutdown=1, server_header=False,
    )  # fmt: skip
    server = Quiet(config)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(sock.close)
        stack.enter_context(_narrated())
        async with manager.run():
            task = asyncio.create_task(server.serve(sockets=[sock]), name="tools over MCP")
            task.add_done_callback(lambda _: ready.set())
            try:
                await ready.wait()
                yield f"http://{place.shown_host}:{port}{PATH}"
                await open_posts.drained()
            finally:
                server.should_exit = True
        # The manager has ended every stream; what is left are idle connections.
        server.force_exit = True
        await asyncio.gather(task, return_exceptions=True)


class _Open:
    """Counts the requests that are being answered."""

    def __init__(self) -> None:
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def __enter__(self) -> None:
        self._count += 1
        self._none.clear()

    def __exit__(self, *exception: object) -> None:
        self._count -= 1
        if not self._count:
            self._none.set()

    async def drained(self) -> None:
        """Wait until every answer has left, but not for ever."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._none.wait(), DRAIN_S)


def _listen(place: Place) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((place.host, place.port))
        sock.listen(MAX_CONNECTIONS)
    except OSError as error:
        raise UserError(
            f"tools cannot be served at {place.shown_host}:{place.port}: {error.strerror or error}; choose another port"
        ) from None
    sock.setblocking(False)
    return sock


def _security(place: Place) -> Any:
    """On this machine: only requests that name it, so that no web page can reach the tools through a name of its own."""
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = ["127.0.0.1", "localhost", "[::1]"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=place.local,
        allowed_hosts=[f"{host}:*" for host in hosts],
        allowed_origins=[f"http://{host}:*" for host in hosts],
    )


def _guarded(inner: App, token: str | None, open_posts: _Open) -> App:
    """The application: one path, and the token before anything is read."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"].rstrip("/") != PATH:
            await _refuse(send, 404, f"the tools are at {PATH}")
        elif token is not None and not _carries(scope, token):
            await _refuse(send, 401, "send the token as 'Authorization: Bearer ...'")
        elif scope["method"] == "POST":
            with open_posts:
                await inner(scope, receive, send)
        else:
            await inner(scope, receive, send)

    return app


def _carries(scope: Scope, token: str) -> bool:
    sent = [value for name, value in scope["headers"] if name == b"authorization"]
    return len(sent) == 1 and hmac.compare_digest(sent[0], b"Bearer " + token.encode())


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def serve_stdio(desk: Desk, title: str) -> None:
    """Serve a desk over stdin and stdout until stdin closes. Raises ``UserError``: the extra is missing."""
    need_mcp()
    from mcp.server.stdio import stdio_server

    server = protocol_server(desk, title)
    with _narrated():
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
