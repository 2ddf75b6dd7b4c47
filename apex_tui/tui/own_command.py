"""Our own command line, run beside the screen: for work that the screen may not do itself (sound, sessions), answered as data."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import NamedTuple

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
    words = err.decode("utf-8", "replace")[-LAST_WORDS:].strip()
    return Ran(process.returncode or 0, out[:MOST_BYTES].decode("utf-8", "replace"), words)
