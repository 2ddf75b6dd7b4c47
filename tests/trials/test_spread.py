"""Checks over several processes: Ctrl-C reaches them all, and only the first answers it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from apex_tui.trials.throwaway import spread

SLEEPERS = """
import sys, time
from apex_tui.trials.throwaway import spread
print("begins", flush=True)
try:
    list(spread(time.sleep, [60.0] * 6, 2))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("after_s", [0.1, 2.0], ids=["while the processes start", "while they work"])
def test_ctrl_c_ends_all_processes_without_a_word_of_theirs(after_s: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPERS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begins\n"
        time.sleep(after_s)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, errors) == (130, b"")


def test_results_that_are_not_read_to_the_end_leave_no_process_behind() -> None:
    results = spread(time.sleep, [0.0] * 4, 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert not multiprocessing.active_children()
