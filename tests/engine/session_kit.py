"""One virtual session per (workflow, seed, profile) and test run: sessions are pure, so tests may share them."""

from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import pytest

from apex_tui.engine.headless import run_headless
from apex_tui.engine.session import Result
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run

T = TypeVar("T", bound=Fact)
OURS = ("leave-request", "payment")


@dataclass(frozen=True)
class Session:
    result: Result
    events: list[Event]

    def facts(self, kind: type[T]) -> list[T]:
        return [event.fact for event in self.events if isinstance(event.fact, kind)]


def run_virtual_session(
    workflow: str, seed: int, out: Path, profile: Literal["strict", "official"] = "strict"
) -> Session:
    events: list[Event] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    command = Run(workflow=workflow, seed=seed, profile=profile, virtual=True, sound="none", out=str(out))
    return Session(run_headless(command, keep), events)


@functools.cache
def session(workflow: str, seed: int = 1, profile: Literal["strict", "official"] = "strict") -> Session:
    return run_virtual_session(workflow, seed, Path(tempfile.mkdtemp(prefix="apex-tui-tests-")), profile)


def toy_package() -> str:
    root = Path(os.environ.get("APEX_TUI_COMPAT", Path(__file__).parents[3] / "shared" / "compat"))
    path = root / "toy_form_001"
    if not path.is_dir():
        pytest.skip(f"SKIPPED: no official sample package at {path}; set APEX_TUI_COMPAT")
    return str(path)
