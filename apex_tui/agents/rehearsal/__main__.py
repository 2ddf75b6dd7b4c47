"""Starts the rehearsal server as a child process: ``python -m apex_tui.agents.rehearsal``."""

from __future__ import annotations

import asyncio
import sys

from apex_tui.agents.rehearsal.child import main

if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
