"""Session directories of the reference as a table, by its own rules (sections 9.3, 9.4 and 11 of the format).

In here: reading ``<campaign>/*/rep*/result.json`` with what lies beside it, and the metrics of the reference's leaderboard. Its ranking is kept
(Pass@k first); intervals and n are ours. Final workspaces are graded again in ``official_layout_regrade``. Deliberately not in here: our own
sessions (``results_read``): the two are never mixed in one table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from apex_tui.timeline.errors import UserError, WorkflowError
from apex_tui.timeline.paths import refuse_pipe
from apex_tui.trials import stats
from apex_tui.trials.official_layout_model import ModelResult, OfficialTable, Run
from apex_tui.trials.official_layout_regrade import Verdicts, slices_of, uptake_of
from apex_tui.trials.official_layout_rows import YIELDS
from apex_tui.trials.results_agent import share
from apex_tui.trials.results_model import Share
from apex_tui.trials.tables import ABSENT, HATCH, clean, percent, shown_share
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package
from apex_tui.workflow.official_lint import read_labels

MAX_BYTES = 32 * 1024 * 1024
AUDIBLE_STOP_MS = 10
"""The reference leaves stop delays up to this out of its percentiles."""


def official_results(
    folders: Iterable[Path], k: int, data: Path | None = None, verdicts: Verdicts | None = None
) -> OfficialTable:
    """The table of campaign folders (or folders of campaign folders).

    Args:
        folders: where the sessions lie.
        k: repetitions.
        data: packages, for tool ratios, correction uptake and slices.
        verdicts: kept verdicts of the reference's judge.

    Raises:
        UserError: a folder does not exist, or two campaigns have one name.
    """
    skipped: dict[str, str] = {}
    campaigns: dict[str, Path] = {}
    for folder in folders:
        for path in _campaigns(folder):
            if campaigns.setdefault(path.name, path) != path:
                raise UserError(f"{path.name} names two campaigns ({campaigns[path.name]} and {path}): rename one")
    packages = _packages(data, skipped)
    labels = {task: found for task, w in packages.items() if w.folder is not None and (found := read_labels(w.folder))}
    kept = verdicts or {}
    runs = {key: own for key, path in campaigns.items() if (own := read_runs(path, skipped))}
    models = [model_result(key, own, k, packages, kept) for key, own in runs.items()]
    models.sort(key=lambda m: (-m.pass_k.hits, -m.reliable_k.hits, -m.pass_1, m.key))
    slices = slices_of({m.key: runs[m.key] for m in models}, packages, labels, kept)
    return OfficialTable(k=k, models=tuple(models), slices=tuple(slices), skipped=skipped)


def _campaigns(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: name a campaign of the reference, or a folder of such")
    if any(folder.glob("*/rep*/result.json")):
        return [folder]
    return [p for p in sorted(folder.iterdir()) if p.is_dir() and any(p.glob("*/rep*/result.json"))]


def read_runs(campaign: Path, skipped: dict[str, str]) -> list[Run]:
    """Every readable result of a campaign; the values in the file count, not the names of folders. Others are noted in ``skipped``."""
    runs: dict[tuple[str, int], Run] = {}
    for path in sorted(campaign.glob("*/rep*/result.json")):
        content = _load(path)
        if not isinstance(content, dict):
            skipped[str(path)] = "is cut, damaged or no JSON object"
            continue
        task, rep = content.get("task_id"), content.get("rep")
        if not isinstance(task, str) or not isinstance(rep, int) or isinstance(rep, bool):
            skipped[str(path)] = "has no task_id and rep"
            continue
        if (task, rep) in runs:
            skipped[str(path)] = f"is a second result of {task} rep {rep}"
            continue
        run = runs[task, rep] = Run(task, rep, bool(content.get("pts")), content)
        place = _run_folder(path.parent, content.get("run_id"))
        if place is not None:
            workspace = _load(place / "workspace" / "final_workspace.json")
            run.workspace = workspace if isinstance(workspace, dict) else None
            run.duplex = _duplex(place / "events.jsonl")
    return list(runs.values())


def _run_folder(rep: Path, run_id: object) -> Path | None:
    if isinstance(run_id, str) and Path(run_id).name == run_id:
        named = rep / run_id
        if (named / "workspace" / "final_workspace.json").is_file():
            return named
    found = [p for p in rep.iterdir() if (p / "workspace" / "final_workspace.json").is_file()]
    return max(found, key=lambda p: (p.stat().st_mtime, p.name), default=None)


def _duplex(path: Path) -> list[dict[str, Any]]:
    """Payloads of DUPLEX_EVENT rows; bad lines are passed over, as the reference does."""
    out: list[dict[str, Any]] = []
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            lines = file.read(MAX_BYTES).split(b"\n")
    except OSError:
        return out
    for line in lines:
        if b"DUPLEX_EVENT" not in line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and row.get("type") == "DUPLEX_EVENT" and isinstance(row.get("payload"), dict):
            out.append(row["payload"])
    return out


def _load(path: Path) -> Any:
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        return json.loads(raw) if len(raw) <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None


def _packages(data: Path | None, skipped: dict[str, str]) -> dict[str, Workflow]:
    if data is None:
        return {}
    if not data.is_dir():
        raise UserError(f"--data {data}: not a folder; name a package, a folder of packages or a dataset")
    root = data / "tasks" if (data / "tasks").is_dir() else data
    folders = (
        [root] if (root / "task.yaml").is_file() else sorted(p for p in root.iterdir() if (p / "task.yaml").is_file())
    )
    found: dict[str, Workflow] = {}
    for folder in folders:
        try:
            found[folder.name] = read_package(folder)
        except WorkflowError as error:
            skipped[str(folder)] = str(error)
    return found


def model_result(
    key: str, runs: Sequence[Run], k: int, packages: dict[str, Workflow], verdicts: Verdicts
) -> ModelResult:
    """Section 9.3 for one model."""
    by_task: defaultdict[str, dict[int, Run]] = defaultdict(dict)
    for run in runs:
        by_task[run.task][run.rep] = run
    whole = [[reps[i] for i in range(k)] for reps in by_task.values() if all(i in reps for i in range(k))]
    passes = [sum(run.passed for run in reps) for reps in whole]
    latency = [_object(run.result.get("latency")) for run in runs]
    response = _numbers(_object(x.get("response_start_latency_ms")).get("median") for x in latency)
    resolution = [x / 1000 for x in _numbers(x.get("time_to_resolution_ms") for x in latency)]
    overlap = _numbers(_object(run.result.get("duplex")).get("overlap_ratio") for run in runs)
    barges = [p for run in runs for p in run.duplex if p.get("type") in YIELDS and "agent_yielded" in p]
    ratios = _tool_ratios(by_task, packages)
    stops = [x for x in _numbers(p.get("isl_ms") for p in barges if p["agent_yielded"]) if x > AUDIBLE_STOP_MS]
    return ModelResult(
        key=key,
        runs=len(runs),
        n=len(whole),
        pass_1=sum(passes) / k,
        pass_k=share(sum(p > 0 for p in passes), len(whole)),
        reliable_k=share(sum(p == k for p in passes), len(whole)),
        distribution={j: passes.count(j) for j in range(k + 1)},
        gates={name: _gate(runs, name) for name in ("GS", "PC", "RA", "WA")},
        response_p50_ms=stats.percentile(response, 0.5),
        response_p95_ms=stats.percentile(response, 0.95),
        resolution_p50_s=stats.percentile(resolution, 0.5),
        resolution_p95_s=stats.percentile(resolution, 0.95),
        tool_calls=stats.mean(_numbers(x.get("tool_calls") for x in latency)),
        tool_ratio=stats.mean(ratios),
        tool_ratio_p50=stats.percentile(ratios, 0.5),
        overlap=stats.mean(overlap),
        yielded=share(sum(bool(p["agent_yielded"]) for p in barges), len(barges)),
        stop_p50_ms=stats.percentile(stops, 0.5),
        stop_p95_ms=stats.percentile(stops, 0.95),
        stops=len(stops),
        uptake=uptake_of(runs, packages, verdicts) if packages else None,
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _numbers(values: Iterable[object]) -> list[float]:
    return [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]


def _gate(runs: Sequence[Run], name: str) -> Share:
    given = [parts[name] for run in runs if name in (parts := _object(run.result.get("components")))]
    return share(sum(map(bool, given)), len(given))


def _tool_ratios(by_task: Mapping[str, Mapping[int, Run]], packages: Mapping[str, Workflow]) -> list[float]:
    """Mean calls / calls of the reference solution, per task."""
    ratios = []
    for task, reps in by_task.items():
        oracle = packages[task].reference.calls if task in packages else 0
        calls = _numbers(_object(run.result.get("latency")).get("tool_calls") for run in reps.values())
        if oracle and calls:
            ratios.append(sum(calls) / len(calls) / oracle)
    return ratios


def official_text(table: OfficialTable) -> str:
    """The table for a person."""
    out = ["official layout · the reference's own definitions and ranking (Pass@k first); intervals 95 %, from ten on"]
    for rank, m in enumerate(table.models, 1):
        out += [
            f"#{rank} {clean(m.key)}: {m.runs} sessions, {m.n} tasks with {table.k} repetitions",
            f"   Pass@1 {m.pass_1:.1f} tasks · Pass@{table.k} {shown_share(m.pass_k)} · Reliable@{table.k} {shown_share(m.reliable_k)}",
            "   " + " · ".join(f"{name} {shown_share(gate)}" for name, gate in m.gates.items()),
            f"   response p50 {_ms(m.response_p50_ms)}, p95 {_ms(m.response_p95_ms)} · resolution p50 {_s(m.resolution_p50_s)}, "
            f"p95 {_s(m.resolution_p95_s)} · overlap {percent(m.overlap)}",
            f"   yielded {shown_share(m.yielded)} · stop p50 {_ms(m.stop_p50_ms)}, p95 {_ms(m.stop_p95_ms)} (n {m.stops}, over 10 ms)",
            f"   tool calls {_one(m.tool_calls)} a session, ratio {_one(m.tool_ratio)}, p50 {_one(m.tool_ratio_p50)}",
        ]
        if m.uptake is not None:
            gap = ABSENT if m.uptake.gap is None else f"{100 * m.uptake.gap:+.1f} points"
            out.append(
                f"   corrected fields {shown_share(m.uptake.corrected)} · other {shown_share(m.uptake.other)} · gap {gap} · "
                f"attributed {shown_share(m.uptake.attributed)} · {m.uptake.unjudged} values unjudged, counted as wrong"
            )
    return "\n".join([*out, *_slices(table)] if table.models else [*out, "no session to count"])


def _slices(table: OfficialTable) -> list[str]:
    """Success and AFA by slice, models in the order of the table."""
    if not table.slices:
        return []
    out = [
        "",
        f"by slice: success (mean of tasks), AFA (pooled fields); {HATCH} fewer than five tasks: too few to compare",
    ]
    for part in table.slices:
        cells = " · ".join(
            f"{clean(key)} {percent(cell.success)}, AFA {percent(cell.afa)}" for key, cell in part.cells.items()
        )
        mark = HATCH if part.hatched else " "
        out.append(f" {mark} {part.axis:<10} {clean(part.label):<26} n {part.n:<3} {cells}")
    return out


def _ms(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.0f} ms"


def _s(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.1f} s"


def _one(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.2f}"
