"""A campaign that dies together with its worker, at any write of either, and is started again: the table is that of a campaign that never died."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaign_kit import copy_session

from apex_tui.store.files import write_json
from apex_tui.store.layout import SessionFolder
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.trials import campaign as module
from apex_tui.trials import campaign_cells as files
from apex_tui.trials.campaign import Campaign, Tally
from apex_tui.trials.campaign_cells import CampaignFolder, Cell
from apex_tui.trials.plan import Plan
from apex_tui.trials.results import table_of
from apex_tui.trials.results_read import read_results

PLAN = Plan.model_validate(
    {"name": "p", "workflows": ["x"], "agents": ["mine"], "repeats": 2, "concurrency": {"per_agent": 2}}
)
CELLS = [
    Cell(workflow="x", workflow_digest="digest-of-x", label="mine", agent="mine", seed=r, repeat=r, virtual=True)
    for r in (0, 1)
]


class Killed(BaseException):
    """Nothing of the process goes on after this."""


class Disk:
    """Counts writes, and lets everything die in the middle of one: half of its bytes are there, under a passing name or its own."""

    def __init__(self, last: int) -> None:
        self.last, self.writes = last, 0

    def step(self, path: Path, text: str, write: Callable[[], None]) -> None:
        self.writes += 1
        if self.writes > self.last:
            raise Killed
        if self.writes == self.last:
            path.write_text(text[: len(text) // 2])
            raise Killed
        write()


class DyingWorker:
    """A worker whose sessions are copies of a real one, written file by file."""

    def __init__(self, disk: Disk, source: dict[str, Path]) -> None:
        self.disk, self.source = disk, source

    async def start(self) -> DyingWorker:
        return self

    async def run(self, command: Run) -> dict[str, Any] | None:
        await asyncio.sleep(0)
        source = self.source[f"{command.workflow}-{command.seed}"]
        target = Path(str(command.out)) / source.name
        target.mkdir()
        shutil.copy(source / "events.jsonl", target)
        for name in ("session.json", "workflow.json", "score.json"):
            text = (source / name).read_text()
            # The log is written as it goes; a verdict appears whole, or only its passing file does.
            partial = target / (name if name != "score.json" else "score.json.new")
            self.disk.step(partial, text, lambda to=target / name, text=text: to.write_text(text) and None)  # type: ignore[misc]
        score = json.loads((target / "score.json").read_text())
        return {
            "validity": "scored", "outcome": score["outcome"], "success": score["success"], "folder": str(target), "error": None,
        }  # fmt: skip

    async def close(self, *, kill: bool = False) -> int:
        return 0


def run(folder: Path, disk: Disk, source: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Tally:
    with monkeypatch.context() as patch:
        whole = write_json

        def write(path: Path, content: Any) -> None:
            disk.step(path.with_name(path.name + ".new"), json.dumps(content), lambda: whole(path, content))

        patch.setattr(files, "write_json", write)
        patch.setattr(module, "_Worker", DyingWorker(disk, source))
        place = CampaignFolder(folder)
        with place.locked():
            place.prepare("p", PLAN.model_dump(mode="json"), CELLS)
            return asyncio.run(Campaign(PLAN, CELLS, place, lambda line: None).run())


def comparable(folder: Path) -> dict[str, Any]:
    found = table_of(read_results([folder]), 2).model_dump(mode="json")
    for failure in found["failures"]:
        del failure["path"]  # the number of the attempt is in it
    return dict(found)


def test_death_at_any_write_leaves_the_table_as_it_would_have_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = {
        f"x-{seed}": copy_session(tmp_path / "source", f"x-{seed}", workflow="x", seed=seed, success=not seed)
        for seed in (0, 1)
    }
    whole, disk = tmp_path / "whole", Disk(10_000)
    assert run(whole, disk, source, monkeypatch) == Tally(2, 2, 0, 0, 0)
    expected = comparable(whole)
    assert (expected["agents"][0]["scored"], expected["missing"], len(expected["failures"])) == (2, 0, 1)
    assert disk.writes == 1 + 2 * 5, "the plan, and of each cell three files, the attempt and the record"
    for last in range(1, disk.writes + 1):
        folder = tmp_path / str(last)
        with pytest.raises(Killed):
            run(folder, Disk(last), source, monkeypatch)
        between = read_results([folder]) if (folder / "campaign.json").exists() else None
        assert between is None or all(row.scored for row in between.rows), "a half session never counts"
        tally = run(folder, Disk(10_000), source, monkeypatch)
        assert (tally.ran + tally.skipped, tally.unsettled) == (2, 0)
        assert comparable(folder) == expected, f"killed in write {last}"
        shutil.rmtree(folder)


def test_a_lock_that_its_holder_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    place = CampaignFolder(tmp_path)
    for left in (b"", b"99999999", b"\xff\x00 not a number", b"1"):
        place.lock.write_bytes(left)
        with place.locked():
            pass
    with place.locked(), pytest.raises(UserError, match="another process"), place.locked():
        pass


def test_a_session_folder_that_was_never_finished_is_no_row(tmp_path: Path) -> None:
    folder = copy_session(tmp_path, "s")
    SessionFolder(folder).score.unlink()
    found = read_results([tmp_path])
    assert not found.rows
    assert list(found.skipped) == [str(folder)]
