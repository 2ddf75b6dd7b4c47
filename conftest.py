"""A place for what the workers of one test run share (see ``tests/shared_sessions.py``); it is gone when the run is over."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

_PLACE = "APEX_TUI_TESTS_SHARED"


def pytest_configure(config: pytest.Config) -> None:
    """The first process makes the place; its workers inherit the name."""
    if not hasattr(config, "workerinput"):
        os.environ[_PLACE] = tempfile.mkdtemp(prefix="apex-tui-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """The workers are gone."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(_PLACE), ignore_errors=True)
