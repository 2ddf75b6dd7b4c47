"""A process that runs sessions for a campaign: one JSON job a line in on stdin, one JSON answer a line out on stdout.

A real session gets a process of its own; a virtual one is pure, so one process may run many. When stdin ends while a session runs, the
campaign has died: the process ends at once, so that no agent is talked to for nobody. Deliberately not in here: retries and records.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import Any

from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.messages import Run
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow

ABANDONED = 70
"""Exit code when the campaign died under a running session."""


class _Jobs:
    """Lines of stdin, read by a thread, which also notices that the other end is gone."""

    def __init__(self) -> None:
        self.busy = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="jobs", daemon=True).start()

    def _read(self) -> None:
        with open(0, "rb", closefd=False) as stdin:
            for line in stdin:
                self._lines.put(line)
        if self.busy:
            os._exit(ABANDONED)
        self._lines.put(None)

    def next(self) -> bytes | None:
        """The next job; None when there will be none."""
        line = self._lines.get()
        self.busy = line is not None
        return line

    def done(self) -> None:
        """The session is over. Said before its answer goes out: whoever reads the answer may close stdin at once."""
        self.busy = False


def run_job(job: dict[str, Any], known: dict[str, Workflow]) -> dict[str, Any]:
    """Run the session of one job; the answer says how it ended, never raises for what a session does."""
    from apex_tui.engine.headless import run_headless

    answer: dict[str, Any] = {"validity": "not_run", "outcome": "not run", "success": False, "folder": None}
    try:
        command = Run.model_validate(job["run"])
        workflow = known.get(command.workflow)
        if workflow is None:
            workflow = known[command.workflow] = find_workflow(command.workflow)
        result = run_headless(command, lambda item: None, workflow=workflow)
    except ApexError as error:
        return {**answer, "error": str(error)}
    except Exception as error:
        return {**answer, "error": f"the session failed: {type(error).__name__}: {error}"}
    score = result.score
    return {
        "validity": score.validity,
        "outcome": score.outcome,
        "success": score.success,
        "folder": str(result.folder),
        "error": None,
    }


def main() -> int:
    """Answer jobs until stdin ends."""
    pipe = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is narration, not an answer
    jobs = _Jobs()
    known: dict[str, Workflow] = {}
    while (line := jobs.next()) is not None:
        answer = json.dumps(run_job(json.loads(line), known)).encode() + b"\n"
        jobs.done()
        try:
            os.write(pipe, answer)
        except BrokenPipeError:
            return ABANDONED
    return 0


if __name__ == "__main__":
    sys.exit(main())
