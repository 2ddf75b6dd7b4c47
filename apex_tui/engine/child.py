"""The engine as a child process: one `run` command in on stdin, events and notices out on stdout, then an exit code.
A `listen` command instead makes it play the sound of a recording (``replaying``).

Ends by itself when the session does. When the screen dies (stdin closes, stdout breaks), a bank session runs on to its end; a session with a
person at the microphone closes at once, and so does a microphone that a director opened: nobody listens in on a room without a screen that says so.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys

from apex_tui.engine.control import Control
from apex_tui.engine.outlet import Outlet
from apex_tui.engine.session import run_session
from apex_tui.timeline.errors import EXIT_USER, ApexError
from apex_tui.timeline.messages import Decide, Direct, Failed, HangUp, Listen, Mark, Run, Stop, read_command
from apex_tui.timeline.virtual import run_virtual

MAX_COMMAND_BYTES = 1 << 20


def _protect_stdout() -> int:
    """Keep the pipe for ourselves: whatever a library prints to stdout goes to stderr, which is the engine's log."""
    pipe = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return pipe


async def _follow_commands(reader: asyncio.StreamReader, control: Control) -> None:
    while line := await reader.readline():
        try:
            command = read_command(line)
        except ApexError as error:
            print(f"ignored: {error}", file=sys.stderr)
            continue
        match command:
            case Stop():
                control.stop("the operator ended it")
            case Mark(note=note):
                control.mark(note)
            case Decide():
                control.decide(command)
            case Direct():
                control.direct(command)
            case HangUp():
                control.hang_up()


async def _follow_to_the_end(reader: asyncio.StreamReader, command: Run, control: Control) -> None:
    await _follow_commands(reader, control)
    if command.caller == "microphone":
        control.stop("the screen is gone")
    else:
        control.screen_gone()


async def _stdin() -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_COMMAND_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(0, "rb", buffering=0))
    return reader


async def _serve(command: Run, outlet: Outlet, control: Control) -> int:
    control.backlog = lambda: outlet.waiting_bytes
    result = await run_session(command, outlet.send, control, meters=not command.virtual)
    return result.exit_code


async def _real(command: Run, outlet: Outlet) -> int:
    control = Control()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, control.stop, f"the engine was told to end ({number.name})")
    follower = asyncio.create_task(_follow_to_the_end(await _stdin(), command, control), name="commands")
    try:
        return await _serve(command, outlet, control)
    finally:
        follower.cancel()


async def _listen(command: Listen, outlet: Outlet) -> int:
    from apex_tui.engine.replaying import Transport, replay

    gc.enable()  # it may play for hours, and no frame is measured
    reader = await _stdin()

    async def pass_on(transport: Transport) -> None:
        while line := await reader.readline():
            try:
                transport.obey(read_command(line))
            except ApexError as error:
                print(f"ignored: {error}", file=sys.stderr)
        transport.close()  # the screen is gone: nobody listens

    return await replay(
        command, outlet.send, lambda transport: asyncio.create_task(pass_on(transport), name="commands")
    )


def main() -> int:
    """Run one session as the screen's child. Returns the exit code."""
    pipe = _protect_stdout()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    stdin = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - unbuffered, so that later commands stay in the pipe
    first = stdin.readline(MAX_COMMAND_BYTES)
    outlet: Outlet | None = None
    try:
        command = read_command(first)
        if isinstance(command, Listen):
            outlet = Outlet(pipe, watch=True)
            return asyncio.run(_listen(command, outlet))
        if not isinstance(command, Run):
            raise ApexError("the first command must be 'run' or 'listen'")
        outlet = Outlet(pipe, watch=not command.virtual)
        if command.virtual:
            return run_virtual(_serve(command, outlet, Control()))
        return asyncio.run(_real(command, outlet))
    except ApexError as error:
        outlet = outlet or Outlet(pipe, watch=False)
        outlet.send(Failed(message=str(error), exit_code=error.exit_code))
        return error.exit_code
    except Exception as error:
        outlet = outlet or Outlet(pipe, watch=False)
        outlet.send(Failed(message=f"the engine failed: {type(error).__name__}: {error}", exit_code=EXIT_USER))
        raise
    finally:
        if outlet is not None:
            outlet.finish()
