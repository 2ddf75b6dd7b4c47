"""What a campaign costs: virtual sessions a minute, a table over many sessions, and an audited restart.

    python tests/benchmarks/campaigns.py [--sessions 360] [--rows 2000]

Runs a campaign of virtual rehearsal sessions on two processes, then reads a table over as many copies of their verdicts as ``--rows`` says.
Exit code 1 when 360 sessions would take more than 10 minutes, or 2,000 rows more than 5 seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from apex_tui.trials.campaign import run_campaign
from apex_tui.trials.plan import Plan
from apex_tui.trials.results import table_of
from apex_tui.trials.results_read import read_results

MOST_S, MOST_TABLE_S = 600.0, 5.0


def run(sessions: int, rows: int, home: Path) -> int:
    """Measure; returns the exit code."""
    repeats = max(1, sessions // 4)
    plan = Plan.model_validate(
        {
            "name": "benchmark",
            "workflows": ["leave-request", "payment"],
            "agents": ["rehearsal", {"name": "again", "agent": "rehearsal"}],
            "repeats": repeats,
            "virtual": True,
            "keep_audio": "none",
            "concurrency": {"total": 2},
        }
    )
    began = perf_counter()
    tally = run_campaign(plan, home, home / "campaign", lambda line: print(line, file=sys.stderr))
    took = perf_counter() - began
    per_360 = took / tally.ran * 360
    print(f"{tally.ran} virtual sessions in {took:.1f} s on 2 processes: 360 take {per_360:.0f} s")
    table_s = _table(home, rows)
    print(f"a table over {rows} sessions in {table_s:.2f} s")
    return 0 if per_360 <= MOST_S and table_s * 2000 / rows <= MOST_TABLE_S else 1


def _table(home: Path, rows: int) -> float:
    found = read_results([home / "campaign"]).rows
    many = home / "many"
    many.mkdir()
    for number in range(rows):
        _another(found[number % len(found)].path, many / f"session-{number}", number)
    began = perf_counter()
    table = table_of(read_results([many]))
    took = perf_counter() - began
    assert sum(agent.sessions for agent in table.agents) == rows
    return took


def _another(session: Path, target: Path, number: int) -> None:
    """A copy with a caller's lane of its own, so that it is no identical repeat, which a table counts once."""
    target.mkdir()
    shutil.copy(session / "workflow.json", target)
    log = (session / "events.jsonl").read_text()
    lane = json.loads(log.splitlines()[-1])["data"]["caller_sha256"]
    own = hashlib.sha256(str(number).encode()).hexdigest()
    (target / "events.jsonl").write_text(log.replace(lane, own))
    for name in ("session.json", "score.json"):
        (target / name).write_text((session / name).read_text().replace(lane, own))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=360)
    parser.add_argument("--rows", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="apex-tui-benchmark-") as folder:
        return run(given.sessions, given.rows, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
