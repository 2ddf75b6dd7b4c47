"""The screen's end of the engine: starts the child process, sends commands, collects what it says.

The child is started with `subprocess.Popen` and pipes that the loop reads, not with ``asyncio.create_subprocess_exec``: asyncio's transport
kills its child when it is closed or collected, and a bank session must run to its end when the screen goes. It gets a session of
its own, so that a hang-up of the terminal does not reach it. Its stderr goes to a log file, never to the screen.

Lines are kept raw until `drain` decodes a bounded number of them, so a flood cannot stall the keys.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.log import read_log
from apex_tui.timeline.messages import AnyCommand, AnyNotice, Failed, Opened, Refill, command_line, read_output
from apex_tui.tui.places import engine_log_path

LINE_LIMIT = 1_000_000
"""Bytes of one line; the engine keeps events under 256 KB."""
PER_DRAIN = 300
"""Lines decoded in one flush of 50 ms: about 3 ms of work at 10 µs a line."""
READ_AHEAD = 20_000
"""Lines kept undecoded; beyond it the pipe is left alone and the engine drops its meters."""
Item = Event | AnyNotice


class Link(Protocol):
    """What a live screen needs of an engine. Tests drive a screen with a scripted one."""

    ended: bool
    problem: str | None

    async def start(self, command: AnyCommand) -> None:
        """Start the engine and hand it its first command."""

    def send(self, command: AnyCommand) -> None:
        """Send a further command; lost without harm when the engine is gone."""

    def drain(self, limit: int = PER_DRAIN) -> list[Item]:
        """What it said since the last call, in order, at most ``limit`` items."""

    async def detach(self) -> None:
        """Let go of the engine: it runs on and finishes the recording."""


def death_sentence(code: int | None, folder: str | None, log: Path | None) -> str:
    """One sentence for an engine that ended without a verdict: how it ended, and where the recording is."""
    if code is None:
        how = "closed its output"
    elif code < 0:
        try:
            how = f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was killed by signal {-code}"
    else:
        how = f"ended with exit code {code}"
    where = f"the recording up to then is in {folder}" if folder else "no session folder had been opened"
    return f"The engine {how}; {where}; {'no log could be kept' if log is None else f'its log is {log}'}."


class EngineLink:
    """One engine process. ``argv`` is replaced in tests by a script that plays the engine."""

    def __init__(self, argv: Sequence[str] | None = None, log: Path | None = None) -> None:
        self._argv = list(argv) if argv is not None else [sys.executable, "-m", "apex_tui.engine"]
        self.log: Path | None = log or engine_log_path()
        """None: none could be kept."""
        self.ended = False
        """The engine said all it will ever say, and `drain` handed it out."""
        self.problem: str | None = None
        """The last line that could not be read, in one sentence; the run goes on."""
        self.folder: str | None = None
        self._raw: deque[bytes] = deque()
        self._ready: deque[Item] = deque()
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._filling: asyncio.Task[None] | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._writer: asyncio.WriteTransport | None = None
        self._last_seq = -1
        self._verdict = False
        self._closed = False
        self._taken = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """Process id of the engine."""
        return self._process.pid if self._process else None

    async def start(self, command: AnyCommand) -> None:
        """Start the process and send it ``command``.

        Raises:
            UserError: it could not be started.
        """
        try:
            process = await asyncio.to_thread(self._spawn)
        except OSError as error:
            raise UserError(f"the engine could not be started: {error.strerror or error}") from error
        self._process = process
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader(limit=LINE_LIMIT)
        self._transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), process.stdout)
        self._writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self.send(command)
        self._reader = asyncio.create_task(self._read(stream, process), name="engine-output")

    def _spawn(self) -> subprocess.Popen[bytes]:
        errors: IO[bytes]
        with self._open_log() as errors:
            return subprocess.Popen(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                close_fds=True,
            )

    def _open_log(self) -> IO[bytes]:
        """A run needs no log: where none can be kept, it does without."""
        if self.log is not None:
            try:
                self.log.parent.mkdir(parents=True, exist_ok=True)
                return self.log.open("ab")
            except OSError:
                self.log = None
        return open(os.devnull, "ab")

    def send(self, command: AnyCommand) -> None:
        """Write one command; never waits."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(command_line(command).encode() + b"\n")

    async def _read(self, stream: asyncio.StreamReader, process: subprocess.Popen[bytes]) -> None:
        while True:
            await self._drained_to(READ_AHEAD)
            try:
                line = await stream.readline()
            except ValueError:
                self._raw.append(b"{}")  # longer than the limit: counted as unreadable, and the next line is read
                continue
            except OSError:
                break
            if not line:
                break
            self._raw.append(line)
        code = await _exit_code(process)
        await self._drained_to(0)
        if not self._verdict and not self._closed:
            exit_code = code if code is not None and code > 0 else 3
            self._ready.append(Failed(message=death_sentence(code, self.folder, self.log), exit_code=exit_code))
        self._closed = True

    async def _drained_to(self, most: int) -> None:
        """Wait until at most ``most`` lines are left to decode (0: and nothing is being read from the file)."""
        while len(self._raw) > most or (most == 0 and self._filling is not None):
            self._taken.clear()
            await self._taken.wait()

    def drain(self, limit: int = PER_DRAIN) -> list[Item]:
        """Decode at most ``limit`` lines. Events that the engine dropped for a slow reader are first read from the session's file."""
        for _ in range(min(limit, len(self._raw))):
            if self._filling is not None:
                break
            try:
                item = read_output(self._raw.popleft())
            except UserError as error:
                self.problem = str(error)
                continue
            self._take(item)
        self._taken.set()
        items = [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
        self.ended = self._closed and not self._ready and not self._raw
        return items

    def _take(self, item: Item) -> None:
        if isinstance(item, Event):
            if item.seq > self._last_seq + 1 and self._last_seq >= 0 and self.folder is not None:
                self.send(Refill(seq=self._last_seq))
                self._filling = asyncio.create_task(self._fill(self._last_seq, item), name="engine-refill")
                return
            self._last_seq = max(self._last_seq, item.seq)
        elif isinstance(item, Opened):
            self.folder = item.folder
        elif not isinstance(item, Failed):
            self._verdict = self._verdict or item.type == "scored"
        else:
            self._verdict = True
        self._ready.append(item)

    async def _fill(self, after: int, then: Event) -> None:
        path = Path(self.folder or "") / "events.jsonl"
        try:
            found = await asyncio.to_thread(read_log, path)
            missing = [e for e in found.events if after < e.seq < then.seq]
        except (UserError, OSError):
            missing = []
        self._ready.extend([*missing, then])
        self._last_seq = then.seq
        self._filling = None
        self._taken.set()

    async def detach(self) -> None:
        """Stop listening; the engine runs on."""
        self._closed = True
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._transport is not None:
            self._transport.close()
        if self._writer is not None:
            self._writer.close()


async def _exit_code(process: subprocess.Popen[bytes], patience_s: float = 5.0) -> int | None:
    """The exit code once the process is gone; None when it closed its output and lives on."""
    waited = 0.0
    while process.poll() is None and waited < patience_s:
        await asyncio.sleep(0.02)
        waited += 0.02
    return process.poll()
