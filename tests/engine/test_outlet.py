"""The pipe to the screen: a reader that stops reading never holds up the engine, and what waits is delivered at the end."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from apex_tui.engine.outlet import Outlet
from apex_tui.timeline.messages import Failed, read_output

LINES = 3000


def _told(number: int) -> Failed:
    return Failed(message=f"{number} " + "x" * 200, exit_code=1)


def test_what_waits_in_a_full_pipe_is_written_after_the_loop_has_ended() -> None:
    read, write = os.pipe()
    outlet = Outlet(write, watch=True)

    async def fill() -> None:
        for number in range(LINES):
            outlet.send(_told(number))
        await asyncio.sleep(0)

    asyncio.run(fill())
    got: list[bytes] = []

    def take() -> None:
        with os.fdopen(read, "rb") as pipe:
            got.extend(pipe)

    reader = threading.Thread(target=take)
    reader.start()
    outlet.finish()
    os.close(write)
    reader.join(10)
    assert [read_output(line) for line in got] == [_told(number) for number in range(LINES)]


def test_nothing_more_is_written_to_a_reader_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    outlet = Outlet(write, watch=False)
    os.close(read)
    tries: list[int] = []
    real = os.write

    def counted(fd: int, data: bytes) -> int:
        tries.append(fd)
        return real(fd, data)

    monkeypatch.setattr(os, "write", counted)
    outlet.send(_told(1))
    outlet.send(_told(2))
    outlet.finish()
    os.close(write)
    assert tries == [write]
