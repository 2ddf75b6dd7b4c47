"""What holds for a whole test run: a place for what its workers share (see ``tests/shared_sessions.py``), and bytecode."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import hypothesis
import pytest

# A slow example is the machine's, not the code's: what must be quick has a test of its CPU time.
# HYPOTHESIS_PROFILE=thorough looks four times as long.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=50)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=200)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

_PLACE = "APEX_TUI_TESTS_SHARED"

# The tests start many processes, each of which would compile all of the app again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure(config: pytest.Config) -> None:
    """The first process makes the place; its workers inherit the name."""
    if not hasattr(config, "workerinput"):
        # Gone when the run is over.
        os.environ[_PLACE] = tempfile.mkdtemp(prefix="apex-tui-tests-")
        os.environ["APEX_TUI_WORKFLOWS"] = os.path.join(
            os.environ[_PLACE], "no-workflows"
        )  # not those of whoever runs the tests


def pytest_unconfigure(config: pytest.Config) -> None:
    """The workers are gone."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(_PLACE), ignore_errors=True)
