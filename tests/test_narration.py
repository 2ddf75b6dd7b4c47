"""A session of which nobody reads what is told: it ends in order, its log whole, and the command says so by its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apex_tui.cli.ending import UNREAD
from apex_tui.cli.narration import Narration


@pytest.mark.parametrize(("options", "stream"), [(("--virtual",), "stderr"), (("--plain",), "stdout")])
def test_a_session_whose_reader_left_ends_in_order(tmp_path: Path, options: tuple[str, ...], stream: str) -> None:
    read, write = os.pipe()
    os.close(read)
    out = tmp_path / "sessions"
    arguments = [sys.executable, "-m", "apex_tui", "run", "leave-request", "--out", str(out), *options]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: write}
    ran = subprocess.run(arguments, stdin=subprocess.DEVNULL, check=False, timeout=60, **streams)  # type: ignore[call-overload]
    os.close(write)
    assert ran.returncode == UNREAD
    assert not ran.stdout
    assert not ran.stderr
    (folder,) = out.iterdir()
    last = json.loads((folder / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert last["data"]["outcome"] == "operator"
    assert "no longer be written" in last["data"]["reason"]
    assert (folder / "score.json").is_file()


def test_the_first_error_counts_and_nothing_is_told_after_it() -> None:
    told: list[int] = []
    stopped: list[str] = []

    def tell(number: int) -> None:
        told.append(number)
        if number == 2:
            raise OSError(28, "No space left on device")

    narration = Narration(tell, stopped.append)
    for number in (1, 2, 3):
        narration(number)
    assert told == [1, 2]
    assert len(stopped) == 1
    with pytest.raises(OSError, match="No space left"):
        narration.check()
