"""What many tests look at is made once a test run, whichever worker asks first: sessions in virtual time are pure, so tests may share them.

Whoever wants to change a shared session's folder copies it first.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from apex_tui.engine.headless import run_headless
from apex_tui.engine.session import Result
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run

T = TypeVar("T")
F = TypeVar("F", bound=Fact)
_made: dict[str, Any] = {}


def shared(key: str, make: Callable[[Path], T]) -> T:
    """What ``make`` gives (it can be pickled, and may leave files in the folder that it is told): made once for each ``key``."""
    if key not in _made:
        place = Path(os.environ["APEX_TUI_TESTS_SHARED"]) / hashlib.sha256(key.encode()).hexdigest()[:16]
        place.mkdir(exist_ok=True)
        result, files = place / "result", place / "files"
        with (place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker may be making it
            if not result.exists():
                shutil.rmtree(files, ignore_errors=True)  # of one that failed
                files.mkdir()
                result.with_suffix(".new").write_bytes(pickle.dumps(make(files)))
                result.with_suffix(".new").replace(result)
        _made[key] = pickle.loads(result.read_bytes())
    value: T = _made[key]
    return value


@dataclass(frozen=True)
class Session:
    """A session that was run, with all of its events."""

    result: Result
    events: list[Event]

    def facts(self, kind: type[F]) -> list[F]:
        return [event.fact for event in self.events if isinstance(event.fact, kind)]


def run_session_in(out: Path, workflow: str, **command: Any) -> Session:
    """Run a session in virtual time into ``out``; ``command``: what else a ``Run`` takes."""
    events: list[Event] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    return Session(run_headless(_run(out, workflow, command), keep), events)


def shared_session(workflow: str, **command: Any) -> Session:
    """The session of this command, run once a test run."""
    key = _run(Path(), workflow, command).model_dump_json()
    return shared(key, lambda out: run_session_in(out, workflow, **command))


def _run(out: Path, workflow: str, command: dict[str, Any]) -> Run:
    return Run.model_validate({"virtual": True, "sound": "none", **command, "workflow": workflow, "out": str(out)})
