"""A session of which everything is kept, so that a planted key can be looked for in all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apex_tui.engine.session import Result, run_session
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run, output_line

CANARY = "sk-canary-0123456789"


class Session:
    """A session with everything that the engine said to a screen."""

    def __init__(self) -> None:
        self.said: list[Event | AnyNotice] = []
        self.result: Result | None = None

    async def run(self, out: Path, **command: Any) -> Session:
        self.result = await run_session(
            Run(workflow="leave-request", sound="none", out=str(out), **command), self.said.append
        )
        return self

    def facts(self, kind: type[Fact]) -> list[Any]:
        return [item.fact for item in self.said if isinstance(item, Event) and isinstance(item.fact, kind)]

    def assert_clean(self) -> None:
        """The key is in no file of the session, and in no line that a screen is given."""
        assert self.result is not None
        for path in self.result.folder.rglob("*"):
            if path.is_file():
                assert CANARY.encode() not in path.read_bytes(), path.name
        assert CANARY not in "\n".join(output_line(item) for item in self.said)
