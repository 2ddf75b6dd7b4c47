"""Two sessions side by side: the first event at which they part, and what that came to.

In here: which events are compared and by what. Sessions are compared by what happened, not by when: times, ids and digests that a provider
or a clock draws anew are left out, so two runs of one seed are equal until somebody said or did something else. Deliberately not in here:
agents over many sessions (``compare_agents``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

from apex_tui.audio.frames import pcm_bytes, to_samples
from apex_tui.audio.recording import read_lanes
from apex_tui.score.judge import score_recording
from apex_tui.score.verdict import GATE_WORDS, Score
from apex_tui.store.recording import Recording
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event
from apex_tui.trials.tables import clean

SHOWN_BEFORE, SHOWN_AFTER = 3, 6
_WIDTH = 62


class Shape(BaseModel):
    """A frozen part of a comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Line(Shape):
    """One event as it is compared: what happened, in words, with its place in the log."""

    seq: int
    media_ms: float
    words: str


class Comparison(Shape):
    """``parted`` counts compared events from 0; None: all are equal, and both logs end together."""

    first: str
    second: str
    first_path: str
    second_path: str
    same_workflow: bool
    same_seed: bool
    parted: int | None
    left: tuple[Line, ...]
    """Around the parting: up to three equal events before it, then what followed."""
    right: tuple[Line, ...]
    common: int
    """Events that are equal from the start."""
    parted_ms: float | None = None
    """The earlier of the two media times at which they part."""
    same_caller_audio: bool | None = None
    """The caller's lanes are equal, sample for sample, up to there; None when a recording is missing."""
    gates: dict[str, tuple[bool | None, bool | None]]
    """Gate -> passed in the first and in the second; None: that session judges nobody."""
    success: tuple[bool, bool]
    directed: tuple[bool, bool] = (False, False)
    """A person directed the caller: that verdict says nothing beside the other."""


def compare_sessions(first: Recording, second: Recording) -> Comparison:
    """Compare two recordings.

    Raises:
        RecordingError: a log is empty, or a workflow.json is not the one that the session ran.
        WorkflowError: a verdict cannot be made.
    """
    mine, other = lines_of(first.events), lines_of(second.events)
    common = next((i for i, (x, y) in enumerate(zip(mine, other, strict=False)) if x.words != y.words), None)
    if common is None:
        common = min(len(mine), len(other))
    parted = None if common == len(mine) == len(other) else common
    at = None if parted is None else min(x[parted].media_ms for x in (mine, other) if parted < len(x))
    verdicts = [score_recording(x) for x in (first, second)]
    start = max(0, common - SHOWN_BEFORE)
    return Comparison(
        first=first.meta.session,
        second=second.meta.session,
        first_path=str(first.folder.path),
        second_path=str(second.folder.path),
        same_workflow=first.meta.workflow_digest == second.meta.workflow_digest,
        same_seed=first.meta.seed == second.meta.seed,
        parted=parted,
        left=tuple(mine[start : common + SHOWN_AFTER]),
        right=tuple(other[start : common + SHOWN_AFTER]),
        common=common,
        parted_ms=at,
        same_caller_audio=_same_caller(first, second, at),
        gates={name: (_gate(verdicts[0], name), _gate(verdicts[1], name)) for name in GATE_WORDS},
        success=(verdicts[0].success, verdicts[1].success),
        directed=(verdicts[0].directed, verdicts[1].directed),
    )


def _gate(score: Score, name: Any) -> bool | None:
    return score.gate(name).passed if score.validity == "scored" else None


def lines_of(events: Iterable[Event]) -> list[Line]:
    """The events of a log that are compared."""
    return [Line(seq=e.seq, media_ms=e.media_ms, words=said) for e in events if (said := words(e)) is not None]


def words(event: Event) -> str | None:
    """What happened, without times and drawn ids; None for events that only measure, or repeat what others say."""
    match event.fact:
        case c.CallerTurnStarted() as f:
            return f"caller says {f.plan}: {f.text}"
        case c.EventFired() as f:
            return f"event {f.event} is delivered ({f.delivered})"
        case a.ReplyClosed() as f if f.how != "silent":
            return f"agent is heard ({f.how}): {f.heard}"
        case a.BargeInClosed() as f:
            return f"barge-in {f.barge_in} ({f.kind}): {f.stop_kind}"
        case a.CutIn() as f if f.kind == "cut_in":
            return f"agent cuts into turn {f.turn}"
        case a.FalseYield() as f:
            return f"agent yields to the back-channel in turn {f.turn}"
        case a.AgentError() as f:
            return f"agent error {f.kind}: {f.message}"
        case s.SessionEnded() as f:
            return f"session ends: {f.outcome} ({f.reason})"
    return _work(event)


def _work(event: Event) -> str | None:
    match event.fact:
        case w.ToolCalled() as f:
            return f"agent calls {f.name} {_sorted(f.arguments)}" + (f", refused: {f.error}" if f.error else "")
        case w.ToolFinished() as f:
            return f"{f.name} {'returns ' + str(_sorted(f.result)) if f.ok else 'fails: ' + str(f.error)}"
        case w.ToolCancelled() as f:
            return f"{f.name} is cancelled: {f.reason}"
        case w.ArtifactVersion() as f:
            changes = ", ".join(f"{x.field} {x.old!r} → {x.new!r}" for x in f.changes if x.kind != "same")
            return f"{f.artifact} v{f.version} {f.lifecycle}: {changes or 'changed no field'}"
        case w.ArtifactStale() as f:
            return f"{f.artifact} v{f.version} is stale in {', '.join(sorted(f.fields))}"
        case w.ApprovalRequested() as f:
            return f"agent asks for approval of {f.action} on {f.target} v{f.version}"
        case w.ApprovalGranted() as f:
            return f"caller approves {f.action} on {f.target} v{f.version}"
        case w.ApprovalDenied() as f:
            return f"caller denies {f.action} on {f.target}"
        case w.ApprovalRevoked() as f:
            return f"caller takes back {f.action}"
        case w.CommitDecided() as f:
            return f"commit of {f.action} at {f.at}: {f.decision}"
    return None


def _sorted(value: Any) -> Any:
    """The same whatever order a provider wrote the keys in."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _same_caller(first: Recording, second: Recording, until_ms: float | None) -> bool | None:
    """Whether both agents were given the same sound up to where the sessions part."""
    digests = []
    for recording in (first, second):
        path = recording.folder.find_audio()
        if path is None:
            return None
        try:
            caller, _ = read_lanes(path)
        except RecordingError:
            return None
        kept = caller if until_ms is None else caller[: to_samples(until_ms)]
        digests.append(hashlib.sha256(pcm_bytes(kept)).hexdigest())
    return digests[0] == digests[1]


def parting_text(found: Comparison, width: int | None = None) -> str:
    """The comparison for a person: both sides next to each other, or below where a terminal of ``width`` cells has no room for that."""
    below = width is not None and width < 2 * _WIDTH + 5
    out = [f"left:  {named(found.first, found.first_path)}", f"right: {named(found.second, found.second_path)}"]
    if not found.same_workflow:
        out.append("not the same workflow: they differ from the start")
    if not found.same_seed:
        out.append("not the same seed: another caller, with other words")
    if found.parted is None:
        out.append(f"they never part: {found.common} events are equal")
    else:
        out.append(f"they part after {found.common} equal events, at {(found.parted_ms or 0) / 1000:.2f} s")
        start = found.common - min(found.common, SHOWN_BEFORE)
        for row in range(max(len(found.left), len(found.right))):
            mark = ">" if start + row == found.parted else " "
            left, right = _cell(found.left, row), _cell(found.right, row)
            out += (
                [f"{mark} left  {left}".rstrip(), f"{mark} right {right}".rstrip()]
                if below
                else [f"{mark} {left} | {right}"]
            )
    if found.same_caller_audio is not None:
        same = "the same" if found.same_caller_audio else "not the same"
        out.append(f"until then the samples of the caller that the two agents got were {same}")
    steered = [clean(name) for name, yes in zip((found.first, found.second), found.directed, strict=True) if yes]
    if steered:
        out.append(f"directed: {' and '.join(steered)}; no verdict of theirs counts beside another")
        return "\n".join(out)
    for name, both in found.gates.items():
        one, two = ("not scored" if passed is None else "✓" if passed else "✗" for passed in both)
        out.append(f"{name} {one} | {two}")
    return "\n".join(out)


def named(session: str, path: str) -> str:
    """A session by its name, and where it lies: two campaigns hold sessions of the same name."""
    return f"{clean(session)}  ({clean(path)})"


def _cell(lines: tuple[Line, ...], row: int) -> str:
    if row >= len(lines):
        return " " * _WIDTH
    line = lines[row]
    text = f"{line.seq:>5} {line.media_ms / 1000:7.2f} s  {clean(line.words)}"
    return text.ljust(_WIDTH) if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
