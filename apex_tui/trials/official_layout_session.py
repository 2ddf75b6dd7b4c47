"""A session on an official package in the session directory of the reference (section 10 of the format), so that its own tools can read it.

In here: the directory, the workspace, the verdict in the official grading profile, and the metrics of section 9. The rows of the log come from
``official_layout_rows``. Deliberately not in here: reading such directories (``official_layout_results``). What the format has no place for lies
beside its files, in ``apex_tui.json``.
"""

from __future__ import annotations

import hashlib
import json
import re
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import apex_tui
from apex_tui.audio.frames import RATE, Pcm, pcm_bytes
from apex_tui.audio.recording import read_lanes
from apex_tui.score.judge import score_recording
from apex_tui.score.verdict import Score
from apex_tui.store.meta import SessionMeta
from apex_tui.store.recording import Recording
from apex_tui.timeline.agent_facts import ResponseMeasured
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.state import State
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.trials.official_layout_rows import CONDITION, Stretches, duplex_records, rows_of, stretches_of
from apex_tui.trials.stats import median
from apex_tui.workflow.model import Workflow

GATES = {"TS": "GS", "PV": "PC", "AC": "RA", "AV": "WA"}
"""Our names of the gates -> those of the reference's files."""
TAIL_MS = 200


def run_id_of(session: str) -> str:
    """Twelve hex characters: the reference draws them at random, here they are the session's own."""
    return hashlib.sha256(session.encode()).hexdigest()[:12]


def export_session(recording: Recording, campaign: Path, model: str | None = None) -> Path:
    """Write one session below ``campaign``. Returns ``<task>/rep<k>``.

    Args:
        recording: the session.
        campaign: the campaign's folder; it may hold other sessions already.
        model: what the reference calls the agent; without it, the agent's name.

    Raises:
        UserError: the session did not run an official package, was not judged, or the disk refuses.
        RecordingError: its workflow.json is not the one that it ran.
    """
    meta, workflow = recording.meta, recording.workflow
    if workflow.source != "official":
        raise UserError(
            f"{meta.session} ran the recipe {workflow.id}: only sessions on official packages have this layout"
        )
    score = score_recording(recording, "official")
    if score.validity != "scored":
        raise UserError(f"{meta.session} judges nobody ({score.validity}): the reference keeps no such session")
    if workflow.id in ("", ".", "..") or Path(workflow.id).name != workflow.id:
        raise UserError(
            f"{meta.session} ran {workflow.id[:80]!r}, which is no name for a folder: it cannot be exported"
        )
    model = model or meta.agent
    run = run_id_of(meta.session)
    state = SessionView.fold(recording.events).state
    try:
        place = _place(campaign, workflow.id, run)
        target = place / run
        (target / "workspace").mkdir(parents=True, exist_ok=True)
        _lines(target / "events.jsonl", rows_of(recording.events, run, workflow, model, meta.caller, score))
        _json(target / "workspace" / "final_workspace.json", final_workspace(state, workflow))
        _lines(target / "workspace" / "versions.jsonl", versions(recording))
        _audio(recording, target / "audio")
        _json(target / "apex_tui.json", _ours(meta, score))
        _json(place / "result.json", result_of(recording, state, score, model, int(place.name[3:]), run), newline=True)
        _campaign(campaign, model, meta)
    except OSError as error:
        raise UserError(
            f"{campaign} cannot be written: {error.strerror or error}; name another place with --out"
        ) from None
    return place


def _place(campaign: Path, task: str, run: str) -> Path:
    """``<task>/rep<k>``: the one that holds this very session already, else the next free one."""
    home = campaign / task
    home.mkdir(parents=True, exist_ok=True)
    reps = [p for p in home.iterdir() if re.fullmatch(r"rep\d+", p.name)]
    same = next((p for p in reps if (p / run).is_dir()), None)
    if same is not None:
        return same
    place = home / f"rep{max((int(p.name[3:]) for p in reps), default=-1) + 1}"
    place.mkdir()
    return place


def final_workspace(state: State, workflow: Workflow) -> dict[str, Any]:
    """Section 10.3: every artifact as it stood at the end."""
    found: dict[str, Any] = {}
    for name, spec in workflow.artifacts.items():
        artifact = state.artifacts.get(name)
        version = artifact.current if artifact is not None else None
        found[name] = {
            "artifact_id": name,
            "artifact_type": spec.artifact_type,
            "lifecycle": version.lifecycle if version is not None else spec.lifecycle,
            "fields": dict(version.fields) if version is not None else dict(spec.fields),
            "stale_fields": sorted(artifact.stale) if artifact is not None else [],
        }
    return found


def versions(recording: Recording) -> list[dict[str, Any]]:
    """Section 10.4: one row per field write, in order."""
    rows: list[dict[str, Any]] = []
    for event in recording.events:
        fact = event.fact
        if not isinstance(fact, ArtifactVersion) or fact.call is None:
            continue
        for change in fact.changes:
            if change.kind != "removed":
                rows.append(
                    {
                        "seq": len(rows),
                        "artifact_id": fact.artifact,
                        "path": change.field,
                        "old": change.old,
                        "new": change.new,
                        "media_time_ms": round(event.media_ms),
                        "wall_time_ns": 0,
                        "causal_events": [],
                    }
                )
    return rows


def result_of(recording: Recording, state: State, score: Score, model: str, rep: int, run: str) -> dict[str, Any]:
    """Section 10.5: ``result.json``."""
    stretches = stretches_of(recording.events)
    connected = state.connected.model if state.connected is not None else None
    content: dict[str, Any] = {
        "task_id": recording.workflow.id,
        "rep": rep,
        "model": model,
        "run_id": run,
        "condition": CONDITION,
        "pts": int(score.success),
        "components": {GATES[gate.gate]: gate.passed for gate in score.gates},
        "turns": len(state.turns),
        "outcome": "SUCCESS" if score.success else "FAILURE",
        "duplex": duplex_of(recording, stretches),
        "latency": latency_of(recording, state, stretches),
        "wall_s": round(score.duration_ms / 1000, 1),
        "error": None,
    }
    return {**content, "provider_model": connected} if connected else content


def latency_of(recording: Recording, state: State, stretches: Stretches) -> dict[str, Any]:
    """Section 9.2. Response times never fall below 0 there, and answers after a tool count among them."""
    answers = [e.fact for e in recording.events if isinstance(e.fact, ResponseMeasured)]
    times = [max(0.0, a.first_audible_ms) for a in answers if a.first_audible_ms is not None]
    caller, agent = merged(stretches.caller), merged(stretches.agent)
    duration = _duration(stretches)
    both = overlap_ms(caller, agent)
    spoken, answered = _total(caller), _total(agent)
    silent = max(0.0, duration - (spoken + answered - both))
    end = recording.events[-1].media_ms
    calls = [call.name for call in state.calls.values()]
    middle = median(times)
    return {
        "response_start_latency_ms": {"median": None if middle is None else round(middle), "n": len(times)},
        "first_agent_audio_ms": round(agent[0][0]) if agent else None,
        "time_to_resolution_ms": round(end - caller[0][0]) if caller else None,
        "user_speaking_ms": round(spoken, 1),
        "agent_speaking_ms": round(answered, 1),
        "silence_ratio": round(silent / duration, 4) if duration else 0.0,
        "overlap_ratio": round(both / duration, 4) if duration else 0.0,
        "tool_calls": len(calls),
        "retrieval_calls": sum(name.startswith(("kb_search", "search")) for name in calls),
        "user_turns": len(state.turns),
    }


def duplex_of(recording: Recording, stretches: Stretches) -> dict[str, Any]:
    """Section 9.1, with the rates that the reference never fills left empty."""
    records = duplex_records(recording.events, recording.workflow)
    duration, both = _duration(stretches), overlap_ms(merged(stretches.caller), merged(stretches.agent))
    out: dict[str, Any] = {"n_events": len(records), "fda": None, "isl_ms": {}, "occr": None, "ira": None, "fyr": None}
    if records:
        yielded = [r for r in records if r["agent_yielded"]]
        delays = sorted(r["isl_ms"] for r in yielded if r["isl_ms"] is not None)
        out["fda"] = round(len(yielded) / len(records), 4)
        out["isl_ms"] = {name: _ranked(delays, share) for name, share in (("median", 0.5), ("p90", 0.9), ("p95", 0.95))}
        out["isl_ms"] |= {"n": len(delays), "miss_rate": round(1 - len(yielded) / len(records), 4)}
    return {**out, "overlap_ms": round(both), "overlap_ratio": round(both / duration, 4) if duration else 0.0}


def _ranked(ordered: Sequence[int], share: float) -> int | None:
    """The reference's percentile inside a session: the value at the rounded rank."""
    return ordered[round(share * (len(ordered) - 1))] if ordered else None


def merged(stretches: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches without overlap, in order."""
    out: list[tuple[float, float]] = []
    for start, end in sorted(stretches):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif end > start:
            out.append((start, end))
    return out


def overlap_ms(first: Sequence[tuple[float, float]], second: Sequence[tuple[float, float]]) -> float:
    """Time in both."""
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)


def _total(stretches: Sequence[tuple[float, float]]) -> float:
    return sum(end - start for start, end in stretches)


def _duration(stretches: Stretches) -> float:
    ends = [end for _, end in (*stretches.caller, *stretches.agent)]
    return max(ends) + TAIL_MS if ends else 0.0


def _audio(recording: Recording, folder: Path) -> None:
    path = recording.folder.find_audio()
    if path is None:
        return
    folder.mkdir(exist_ok=True)
    caller, agent = read_lanes(path)
    _wav(folder / "user.wav", [caller])
    _wav(folder / "agent.wav", [agent])
    _wav(folder / "stereo.wav", [caller, agent])


def _wav(path: Path, lanes: Sequence[Pcm]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(len(lanes))
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm_bytes(lanes[0]) if len(lanes) == 1 else np.stack(lanes, axis=1).astype("<i2").tobytes())


def _ours(meta: SessionMeta, score: Score) -> dict[str, Any]:
    return {
        "written_by": f"apex-tui {apex_tui.__version__}",
        "session": meta.session,
        "labels": list(meta.labels),
        "environment_profile": meta.profile,
        "seed": meta.seed,
        "clock_basis": meta.clock_basis,
        "caller": meta.caller,
        "note": "times are those of played audio; a yield is observed, never brought about by a cancel of ours",
        "score": score.model_dump(mode="json"),
    }


def _campaign(campaign: Path, model: str, meta: SessionMeta) -> None:
    path = campaign / "campaign.json"
    tasks = sorted(p.parent.parent.name for p in campaign.glob("*/rep*/result.json"))
    created = meta.started_utc
    if path.is_file():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
            created = before.get("created_at", created) if isinstance(before, dict) else created
        except (ValueError, RecursionError):
            pass  # it is only a description, and is written anew
    content = {
        "model": model,
        "display_name": model,
        "condition": CONDITION,
        "repeats": max((tasks.count(task) for task in set(tasks)), default=0),
        "max_turns": None,
        "user_audio": meta.caller,
        "n_tasks": len(set(tasks)),
        "apex_voice_version": None,
        "benchmark_version": "v1.0",
        "judge_version": None,
        "created_at": created,
    }
    _json(path, content, newline=True)


def _json(path: Path, content: dict[str, Any], *, newline: bool = False) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=2, default=str)
    path.write_text(text + ("\n" if newline else ""), encoding="utf-8", errors="backslashreplace")


def _lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
