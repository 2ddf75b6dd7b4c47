"""Sessions of our workflows, shared by all tests of a run, and the sample of an official package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from sample_package import published_sample
from shared_sessions import Session, run_session_in, shared_session

__all__ = ["OURS", "Session", "run_virtual_session", "session", "toy_package"]

OURS = ("leave-request", "payment")
Profile = Literal["strict", "official"]


def run_virtual_session(workflow: str, seed: int, out: Path, profile: Profile = "strict") -> Session:
    return run_session_in(out, workflow, seed=seed, profile=profile)


def session(workflow: str, seed: int = 1, profile: Profile = "strict") -> Session:
    return shared_session(workflow, seed=seed, profile=profile)


def toy_package() -> str:
    return str(published_sample())
