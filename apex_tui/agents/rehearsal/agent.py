"""The rehearsal agent behind the seam: in memory (virtual time), or as a child process with a socket of its own.

In here: ``in_memory`` and ``child``, and the pipe that sets a child up. Both speak the same protocol through the same client, so
that nothing but the wire differs. Deliberately not in here: what the agent does (``server``).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.profile import REHEARSAL
from apex_tui.agents.rehearsal.link import MemoryPeer
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.presets import NAME
from apex_tui.agents.rehearsal.server import RehearsalServer
from apex_tui.agents.seam import WireTap
from apex_tui.agents.transports import MemoryTransport
from apex_tui.agents.websocket import WebsocketTransport
from apex_tui.audio.frames import Pcm, pcm_bytes
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.model import Workflow

START_TIMEOUT_S = 20.0
"""A cold start of the child takes under 2 s on a slow machine."""

END_TIMEOUT_S = 2.0


class ChildTransport:
    """A websocket to a rehearsal server in a child process, which ends with the connection, or with this process."""

    def __init__(self, setup: bytes, log_path: Path | None) -> None:
        self.url = "ws://127.0.0.1/rehearsal"
        self._setup = setup
        self._log_path = log_path
        self._process: asyncio.subprocess.Process | None = None
        self._socket: WebsocketTransport | None = None

    @property
    def close_code(self) -> int | None:
        """The close code of the websocket."""
        return self._socket.close_code if self._socket is not None else None

    @close_code.setter
    def close_code(self, code: int | None) -> None:
        raise AttributeError("the socket knows its close code")

    @property
    def close_reason(self) -> str:
        """The close reason of the websocket."""
        return self._socket.close_reason if self._socket is not None else ""

    @close_reason.setter
    def close_reason(self, reason: str) -> None:
        raise AttributeError("the socket knows its close reason")

    @property
    def closed_here(self) -> bool:
        """Whether this side ended the websocket."""
        return self._socket is not None and self._socket.closed_here

    @closed_here.setter
    def closed_here(self, here: bool) -> None:
        raise AttributeError("the socket knows who closed it")

    @property
    def pid(self) -> int | None:
        """Process id of the child while there is one."""
        return self._process.pid if self._process is not None else None

    async def connect(self) -> None:
        """Start the child, give it its setup, and connect. Raises ``UserError`` when it does not start."""
        log = self._open_log()
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "apex_tui.agents.rehearsal",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log if log is not None else asyncio.subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                # The terminal's Ctrl-C is the app's business: the child ends when its stdin closes.
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"The rehearsal agent could not be started ({error.strerror or error}).") from None
        finally:
            if log is not None:
                log.close()
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                port = await self._hand_over()
            self._socket = WebsocketTransport(f"ws://127.0.0.1:{port}/rehearsal")
            self.url = self._socket.url
            await self._socket.connect()
        except TimeoutError:
            await self.close()
            raise UserError(f"The rehearsal agent did not start within {START_TIMEOUT_S:.0f} s; try again.") from None
        except BaseException:
            await self.close()
            raise

    def offer(self, message: str) -> bool:
        """Send at once where that needs no waiting."""
        return self._socket is not None and self._socket.offer(message)

    async def send(self, message: str) -> None:
        """Send one text message. Raises ``Disconnected``."""
        assert self._socket is not None
        await self._socket.send(message)

    async def recv(self) -> str | bytes:
        """The next message. Raises ``Disconnected``."""
        assert self._socket is not None
        return await self._socket.recv()

    async def close(self) -> None:
        """Close the connection and wait for the child to end; one that does not is killed."""
        if self._socket is not None:
            with suppress(Exception):
                await self._socket.close()
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _hand_over(self) -> int:
        """Write the setup, read the port."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):
            process.stdin.write(self._setup)
            await process.stdin.drain()
        answer = await process.stdout.readline()
        try:
            port = json.loads(answer)["port"]
        except (ValueError, TypeError, KeyError):
            where = f"see {self._log_path}" if self._log_path is not None else "give a log path to learn why"
            raise UserError(f"The rehearsal agent ended before it was ready; {where}.") from None
        return int(port)

    def _open_log(self) -> IO[bytes] | None:
        if self._log_path is None:
            return None
        try:
            return self._log_path.open("ab")
        except OSError as error:
            raise UserError(f"{self._log_path} cannot be written ({error.strerror}); give another log path.") from None


def child_setup(workflow: Workflow, lines: Mapping[str, Pcm], manner: Manner) -> bytes:
    """What a child reads on its stdin: one JSON line, then the samples of all lines in the order in which it names them."""
    steps = [step for turn in workflow.reference.turns for step in turn.steps]
    needed = {step.clip for step in (*steps, *workflow.reference.spare) if step.clip is not None}
    spoken = {name: pcm for name, pcm in lines.items() if name in needed}
    head = {
        "workflow": workflow.model_dump(mode="json", by_alias=True),
        "manner": manner.as_dict(),
        "lines": [[name, len(pcm)] for name, pcm in spoken.items()],
    }
    return json.dumps(head).encode() + b"\n" + b"".join(pcm_bytes(pcm) for pcm in spoken.values())


class RehearsalAgent(RealtimeAgent):
    """An agent that speaks the reference solution. Make one with ``in_memory`` or ``child``."""

    @classmethod
    def in_memory(
        cls,
        workflow: Workflow,
        lines: Mapping[str, Pcm],
        manner: Manner | None = None,
        *,
        name: str = NAME,
        wire: WireTap | None = None,
    ) -> RehearsalAgent:
        """In the same loop, without sockets: for virtual time. Raises ``UserError`` when a line has no clip."""
        peer = MemoryPeer(RehearsalServer(workflow, lines, manner))
        return cls(MemoryTransport(peer, REHEARSAL.url), REHEARSAL, name=name, rehearsal=True, wire=wire)

    @classmethod
    def child(
        cls,
        workflow: Workflow,
        lines: Mapping[str, Pcm],
        manner: Manner | None = None,
        *,
        name: str = NAME,
        wire: WireTap | None = None,
        log_path: Path | None = None,
    ) -> RehearsalAgent:
        """In a process of its own on a free loopback port: for real time. Raises ``UserError`` when a line has no clip."""
        chosen = manner if manner is not None else Manner()
        RehearsalServer(workflow, lines, chosen)  # a missing clip is better told here than by the child's end
        transport = ChildTransport(child_setup(workflow, lines, chosen), log_path)
        return cls(transport, REHEARSAL, name=name, rehearsal=True, wire=wire)
