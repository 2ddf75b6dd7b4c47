"""Our own command line, run beside the screen: for work that the screen may not do itself (sound, sessions), answered as data."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from apex_tui.timeline.messages import Run

MOST_BYTES = 1_000_000
LAST_WORDS = 600


class Ran(NamedTuple):
    """How a command ended: exit code, what it printed, and its last words on stderr."""

    code: int
    out: str
    err: str


async def run_own(arguments: Sequence[str]) -> Ran:
    """Run ``apex-tui`` with these arguments and wait for it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "apex_tui",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    words = spoken(err.decode("utf-8", "replace")[-LAST_WORDS:])
    return Ran(process.returncode or 0, out[:MOST_BYTES].decode("utf-8", "replace"), words)


def spoken(narration: str) -> str:
    """What a command said, without its name before a sentence: on a screen of the same app it tells nothing."""
    return "\n".join(line.removeprefix("apex-tui: ") for line in narration.strip().splitlines())


async def no_device(command: Run, only: str) -> str | None:
    """Why the device that a run needs cannot be opened, one sentence; None: it can. ``only``: ``microphone`` or ``loudspeaker``."""
    named = command.microphone if only == "microphone" else command.speaker
    ran = await run_own(("devices", "test", "--only", only, *((f"--{_OPTION[only]}={named}",) if named else ())))
    lines = ran.err.splitlines()
    return None if ran.code == 0 else lines[-1] if lines else f"no {only}: it cannot be opened"


_OPTION = {"microphone": "microphone", "loudspeaker": "speaker"}
