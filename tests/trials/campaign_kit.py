"""Sessions for tables: one virtual session per (workflow, agent, seed) and test run, and copies of its verdict with other outcomes."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from shared_sessions import shared_session

from apex_tui.store.recording import Recording, open_recording
from apex_tui.workflow.snapshot import digest, from_json

FORGETS = "rehearsal:fault=forgets-correction"


def recorded(agent: str = "rehearsal", seed: int = 1) -> Path:
    return shared_session("leave-request", agent=agent, seed=seed).result.folder


def recording(agent: str = "rehearsal", seed: int = 1) -> Recording:
    return open_recording(recorded(agent, seed))


def copy_session(
    parent: Path,
    name: str,
    *,
    workflow: str = "leave-request",
    agent: str = "mine",
    success: bool = True,
    seed: int = 1,
    rehearsal: bool = False,
    score: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
    labels: dict[str, Any] | None = None,
) -> Path:
    """A session folder as a table reads it: the verdict of a real one with another outcome, and the first and last event of its log."""
    source = recorded()
    target = parent / name
    target.mkdir(parents=True)
    content = json.loads((source / "score.json").read_text())
    content |= {"session": name, "workflow": workflow, "agent": agent, "rehearsal": rehearsal, "success": success}
    if not success:
        content["gates"][3]["passed"] = False
        content["gates"][3]["reason"] = "end_date is stale"
    content |= score or {}
    if "validity" in (score or {}) and content["validity"] != "scored":
        content["outcome"] = content["validity"]
    graded = [field["passed"] for field in content["fields"] if field["passed"] is not None]
    content |= {"afa_n": len(graded), "afa": round(sum(graded) / len(graded), 4)} | (score or {})
    about = json.loads((source / "session.json").read_text())
    about |= {"session": name, "workflow": workflow, "agent": agent, "seed": seed, "rehearsal": rehearsal}
    snapshot = json.loads((source / "workflow.json").read_text()) | {"id": workflow} | (labels or {})
    about |= {"workflow_digest": digest_of(json.dumps(snapshot)), **(meta or {})}
    for file, data in (("score", content), ("session", about), ("workflow", snapshot)):
        (target / f"{file}.json").write_text(json.dumps(data))
    begin, end = (json.loads(line) for line in ends_of(source))
    begin["data"] |= {name: about[name] for name in ("session", "workflow", "workflow_digest")}
    end["seq"] = 1
    end["data"] |= {"outcome": content["outcome"], "agent_sha256": about["agent_sha256"]}
    kept = [begin] if content["outcome"] == "cut_off" else [begin, end]
    (target / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in kept))
    return target


@cache
def digest_of(snapshot: str) -> str:
    return digest(from_json(json.loads(snapshot)))


@cache
def ends_of(source: Path) -> tuple[str, str]:
    first, *_, last = (source / "events.jsonl").read_text().splitlines()
    return first, last


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def copied(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target))
