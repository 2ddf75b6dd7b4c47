"""Campaigns: they end with the same table however often they are killed, retry what judges nobody, and hold agents to demands."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from apex_tui.cli import main
from apex_tui.cli.about_campaigns import shortfalls
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.trials import campaign as module
from apex_tui.trials.campaign import Campaign, Tally, run_campaign
from apex_tui.trials.campaign_cells import CampaignFolder, Cell
from apex_tui.trials.campaign_worker import ABANDONED, run_job
from apex_tui.trials.campaign_worker import main as worker_main
from apex_tui.trials.plan import Demands, Plan, PlanMistake, contenders
from apex_tui.trials.results import table_of
from apex_tui.trials.results_read import read_results


def plan_of(**more: Any) -> Plan:
    return Plan.model_validate(
        {"name": "p", "workflows": ["w"], "agents": ["a", "b"], "repeats": 3, "retries": {"backoff_s": 0.0}, **more}
    )


def cells(plan: Plan, virtual: bool = False) -> list[Cell]:
    return [
        Cell(workflow="w", workflow_digest="d", label=a.name, agent=a.agent, seed=r, repeat=r, virtual=virtual)
        for r in range(plan.repeats)
        for a in plan.agents
    ]


class FakeWorkers:
    """Stands in for the processes: answers by script, and sees how many run at a time."""

    def __init__(self, answers: dict[tuple[str, int], list[str]] | None = None) -> None:
        self.answers = answers or {}
        self.started = 0
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.jobs: list[tuple[str, int]] = []

    async def start(self) -> FakeWorker:
        self.started += 1
        return FakeWorker(self)


class FakeWorker:
    def __init__(self, all_of_them: FakeWorkers) -> None:
        self.them = all_of_them

    async def run(self, command: Run) -> dict[str, Any] | None:
        them = self.them
        them.jobs.append((command.agent, command.seed))
        for name in (command.agent, "all"):
            them.running[name] += 1
            them.most[name] = max(them.most[name], them.running[name])
        await asyncio.sleep(0.002)
        for name in (command.agent, "all"):
            them.running[name] -= 1
        script = them.answers.get((command.agent, command.seed))
        validity = script.pop(0) if script else "scored"
        if validity == "died":
            return None
        return {
            "validity": validity,
            "outcome": validity,
            "success": validity == "scored",
            "folder": None,
            "error": None,
        }

    async def close(self, *, kill: bool = False) -> int:
        return 0


def run(
    plan: Plan, folder: Path, workers: FakeWorkers, monkeypatch: pytest.MonkeyPatch, virtual: bool = False
) -> tuple[Tally, list[str]]:
    lines: list[str] = []
    monkeypatch.setattr(module, "_Worker", workers)
    place = CampaignFolder(folder)
    wanted = cells(plan, virtual)
    place.prepare(plan.name, plan.model_dump(mode="json"), wanted)
    return asyncio.run(Campaign(plan, wanted, place, lines.append).run()), lines


def test_sessions_are_bounded_per_agent_and_in_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = FakeWorkers()
    agents = [{"agent": "a", "concurrency": 2}, "b", "c"]
    plan = plan_of(agents=agents, repeats=4, concurrency={"total": 4, "per_agent": 1})
    tally, _ = run(plan, tmp_path, workers, monkeypatch)
    assert tally == Tally(12, 12, 0, 0, 0)
    assert (workers.most["a"], workers.most["b"], workers.most["all"]) == (2, 1, 4)
    assert workers.started == 12, "each real session has a process of its own"


def test_virtual_sessions_share_processes_and_are_bounded_in_total_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = FakeWorkers()
    run(plan_of(agents=["a"], repeats=8, concurrency={"total": 2}), tmp_path, workers, monkeypatch, virtual=True)
    assert (workers.started, workers.most["a"]) == (2, 2)


def test_infrastructure_is_tried_again_and_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {("a", 0): ["infrastructure", "died"], ("b", 1): ["infrastructure"] * 9, ("b", 2): ["simulator"]}
    workers = FakeWorkers(answers)
    tally, lines = run(plan_of(), tmp_path, workers, monkeypatch)
    assert tally == Tally(cells=6, ran=6, skipped=0, retries=4, unsettled=1)
    assert Counter(workers.jobs)[("a", 0)] == 3
    assert Counter(workers.jobs)[("b", 1)] == 3
    assert Counter(workers.jobs)[("b", 2)] == 1, "a fault of the simulation repeats itself"
    place = CampaignFolder(tmp_path)
    record = place.record(cells(plan_of())[0].digest)
    assert record is not None
    assert [a.validity for a in record.before] == ["infrastructure", "not_run"]
    assert any("again in 0 s" in line for line in lines)


def test_finished_cells_are_skipped_and_only_unsettled_ones_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(plan_of(), tmp_path, FakeWorkers({("b", 1): ["infrastructure"] * 3}), monkeypatch)
    again = FakeWorkers()
    tally, _ = run(plan_of(), tmp_path, again, monkeypatch)
    assert again.jobs == [("b", 1)]
    assert tally == Tally(cells=6, ran=1, skipped=5, retries=0, unsettled=0)


def test_a_record_that_was_cut_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(plan_of(), tmp_path, FakeWorkers(), monkeypatch)
    path = CampaignFolder(tmp_path).record_path(cells(plan_of())[3].digest)
    path.write_bytes(path.read_bytes()[:40])
    again = FakeWorkers()
    run(plan_of(), tmp_path, again, monkeypatch)
    assert again.jobs == [("b", 1)]


def test_one_process_at_a_time_works_on_a_campaign(tmp_path: Path) -> None:
    place = CampaignFolder(tmp_path)
    with place.locked(), pytest.raises(UserError, match=f"another process \\({os.getpid()}\\)"), place.locked():
        pass
    with place.locked():
        pass


def test_the_address_of_an_agent_keeps_its_keys_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "http://me:canary-4711@host/x?key=canary-4711"
    options = {"stt": [secret, "http://host/y?canary-4711"], "llm": secret, "parts": {"tts": secret}}
    plan = plan_of(agents=[{"agent": "a", "url": secret, "options": options}], repeats=1)
    chosen = contenders(plan)[0]
    given = {"url": chosen.url, "label": chosen.label, "options": chosen.options, "parts": chosen.parts}
    wanted = [cells(plan)[0].model_copy(update=given)]
    place, lines = CampaignFolder(tmp_path), list[str]()
    monkeypatch.setattr(module, "_Worker", FakeWorkers())
    place.prepare("p", plan.model_dump(mode="json"), wanted)
    asyncio.run(Campaign(plan, wanted, place, lines.append).run())
    assert wanted[0].options["parts"]["stt"] == secret, "the engine is told all of it"
    assert place.record(wanted[0].digest) is not None
    assert [c.label for c in contenders(plan)] == ["a [stt=http://host/x?key=***]", "a [stt=http://host/y?***]"]
    assert "canary-4711" not in "".join(lines)
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and "canary-4711" in p.read_text()]


def test_addresses_that_look_alike_when_masked_need_names(tmp_path: Path) -> None:
    twice = {"stt": ["http://host/x?key=one", "http://host/x?key=two"]}
    with pytest.raises(PlanMistake, match="what tells them apart is masked; name two agents"):
        contenders(plan_of(agents=[{"agent": "a", "options": twice}]))


class SameProcess:
    """Runs a job where the campaign itself runs: real sessions and files, without starting a process for them."""

    @classmethod
    async def start(cls) -> SameProcess:
        return cls()

    async def run(self, command: Run) -> dict[str, Any] | None:
        return await asyncio.to_thread(run_job, {"run": command.model_dump(mode="json")}, {})

    async def close(self, *, kill: bool = False) -> int:
        return 0


def small_plan() -> Plan:
    return Plan.model_validate(
        {
            "name": "small", "workflows": ["leave-request"], "agents": ["rehearsal", "rehearsal:fault=forgets-correction"],
            "virtual": True, "keep_audio": "all", "max_s": 6.0, "concurrency": {"total": 1},
        }
    )  # fmt: skip


def written(folder: Path) -> int:
    """Bytes on the disk, whatever comes and goes meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def killed_when(folder: Path, least: int, home: Path) -> None:
    """Run the campaign in a process of its own, and kill that process (SIGKILL) as soon as ``least`` bytes are on the disk."""
    child = os.fork()
    if child == 0:
        try:
            run_campaign(small_plan(), home, folder, lambda line: None)
        finally:
            os._exit(0)
    deadline = time.monotonic() + 60
    while written(folder) < least and time.monotonic() < deadline:
        time.sleep(0.001)
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the campaign ended before it was killed"
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def comparable(folder: Path) -> dict[str, Any]:
    table = table_of(read_results([folder])).model_dump(mode="json")
    for failure in table["failures"]:
        del failure["path"]  # the number of the attempt is in it
    return dict(table)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_campaign_killed_at_random_moments_ends_with_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_Worker", SameProcess)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run_campaign(small_plan(), tmp_path, whole, lambda line: None) == Tally(2, 2, 0, 0, 0)
    size, rng = written(whole), random.Random(7)
    for part in (0.0, 0.3, 0.6):  # as the campaign begins, in its first session, and in its second
        killed_when(broken, round(size * (part + 0.2 * rng.random())) if part else 1, tmp_path)
    tally = run_campaign(small_plan(), tmp_path, broken, lambda line: None)
    assert tally.unsettled == 0
    assert tally.ran + tally.skipped == 2
    assert comparable(broken) == comparable(whole)
    table = table_of(read_results([broken]))
    assert ({agent.label: agent.scored for agent in table.agents}, table.missing) == (
        {"rehearsal": 1, "rehearsal:fault=forgets-correction": 1},
        0,
    )


def worker() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "apex_tui.trials.campaign_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def test_a_worker_answers_and_one_whose_campaign_died_ends_in_the_middle_of_its_session(tmp_path: Path) -> None:
    with worker() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"run": {"workflow": "nowhere", "virtual": true}}\n')
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["validity"] == "not_run"
        assert "no workflow 'nowhere'" in answer["error"]
        job = {"run": {"workflow": "leave-request", "virtual": True, "sound": "none", "out": str(tmp_path)}}
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        while process.poll() is None and not list(tmp_path.glob("*/events.jsonl")):
            time.sleep(0.01)
        process.stdin.close()
        assert process.wait(20) == ABANDONED
    assert not list(tmp_path.glob("*/score.json"))


def test_a_worker_ends_when_there_are_no_more_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoJobs:
        def next(self) -> bytes | None:
            return None

    monkeypatch.setattr("apex_tui.trials.campaign_worker._Jobs", NoJobs)
    monkeypatch.setattr(os, "dup", lambda _: -1)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    assert worker_main() == 0


@pytest.mark.parametrize(
    ("demands", "met"), [({}, True), ({"reliable_at_k": 0.5}, False), ({"first_audible_ms": 100.0}, False)]
)
def test_demands_hold_for_agents_and_only_on_request_for_rehearsals(
    tmp_path: Path, demands: dict[str, Any], met: bool
) -> None:
    from campaign_kit import copy_session

    for number in range(3):
        copy_session(tmp_path, f"s{number}", workflow="x", agent="mine", success=number > 0, seed=number)
        copy_session(
            tmp_path, f"r{number}", workflow="x", agent="rehearsal", success=False, rehearsal=True, seed=number
        )
    table = table_of(read_results([tmp_path]))
    found = shortfalls(table, Demands.model_validate(demands))
    assert (not found) is met
    assert not any("rehearsal" in sentence for sentence in found)
    strict = shortfalls(table, Demands.model_validate({"reliable_at_k": 0.5, "rehearsals": True}))
    assert any(sentence.startswith("rehearsal: Reliable@3 is 0.0 %") for sentence in strict)


def test_a_plan_that_does_not_exist_is_the_users_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", str(tmp_path / "no.yaml")]) == 2
    assert "no.yaml" in capsys.readouterr().err
