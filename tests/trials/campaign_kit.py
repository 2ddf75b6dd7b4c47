"""Sessions for tables: one virtual session per (workflow, agent, seed) and test run, and copies of its verdict with other outcomes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from shared_sessions import shared_session

from apex_tui.store.recording import Recording, open_recording

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
    """A session folder without its log, as a table reads it: the verdict of a real one with another outcome."""
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
    digest = f"digest-of-{workflow}"
    about |= {"session": name, "workflow": workflow, "agent": agent, "seed": seed, "rehearsal": rehearsal}
    about |= {"workflow_digest": digest}
    snapshot = json.loads((source / "workflow.json").read_text()) | {"id": workflow} | (labels or {})
    for file, data in (("score", content), ("session", about | (meta or {})), ("workflow", snapshot)):
        (target / f"{file}.json").write_text(json.dumps(data))
    return target


def tree(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def copied(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target))
