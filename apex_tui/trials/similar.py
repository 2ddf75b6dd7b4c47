"""How like each other two recipes are, and how the whole set spreads over the axes: numbers that keep the library from repeating itself.

Likeness is 0 (nothing in common) to 1 (the same work), the mean of five shares: runs of three words in common in what is said and written, names
of tools, names of the artifact's fields, names of tables and documents, and the artifact's class with the profession. Common parts of every
recipe (the request for approval, "Yes, that's right") are left out. Pure. Deliberately not in here: running anything.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from apex_tui.workflow.lines import without_pauses
from apex_tui.workflow.model import Workflow

MOST_LIKE = 0.2
"""Two recipes above this are one recipe twice."""
SHINGLE = 3
"""Words in a run: single words are shared by all English, runs of three by those who copied."""
_COMMON = frozenset({"request_approval", "commit", "kb_search", "verify_identity", "hand_over", "set_lifecycle"})
"""Handlers of tools whose names say nothing about the work."""
_EVERYWHERE = frozenset({"ack", "nudge", "close", "approve"})
SLOW_MS = 5_000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two recipes and their likeness."""

    first: str
    second: str
    likeness: float


def likeness(one: Workflow, other: Workflow) -> float:
    """Return how like two recipes are, 0 to 1."""
    parts: tuple[Callable[[Workflow], Set[object]], ...] = (_runs, _tools, _fields, _sources)
    shares = [_shared(part(one), part(other)) for part in parts]
    kind = (one.primary_artifact == other.primary_artifact) * 0.5 + (one.profession == other.profession) * 0.5
    return (sum(shares) + kind) / (len(shares) + 1)


def pairs(workflows: Sequence[Workflow]) -> list[Pair]:
    """Every two of them, the most alike first."""
    found = [Pair(a.id, b.id, likeness(a, b)) for a, b in itertools.combinations(workflows, 2)]
    return sorted(found, key=lambda pair: (-pair.likeness, pair.first, pair.second))


def _shared(one: Set[object], other: Set[object]) -> float:
    """Share of the smaller set that is in the other too; 0 where one is empty."""
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


def _runs(workflow: Workflow) -> Set[object]:
    texts = [without_pauses(v.text) for w in workflow.wordings if w.user_plan_id not in _EVERYWHERE for v in w.variants]
    texts += [step.say for turn in workflow.reference.turns for step in turn.steps if step.say]
    texts += [document.text for document in workflow.documents]
    return {run for text in texts for run in _shingles(text)}


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"[a-z']+", text.lower())
    return (tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))


def _tools(workflow: Workflow) -> Set[object]:
    return {tool.name for tool in workflow.tools if tool.handler not in _COMMON}


def _fields(workflow: Workflow) -> Set[object]:
    return {
        field.name
        for artifact in workflow.artifacts.values()
        for field in (artifact.shape.fields if artifact.shape else ())
    }


def _sources(workflow: Workflow) -> Set[object]:
    return {*workflow.records, *(document.doc_id for document in workflow.documents)}


# --- balance -----------------------------------------------------------------------------------------------------------------------------


def balance(workflows: Sequence[Workflow]) -> dict[str, dict[str, int]]:
    """Axis -> value -> number of recipes that have it, the commonest first."""
    return {axis: _counted(value for flow in workflows for value in read(flow)) for axis, read in AXES.items()}


def _counted(values: Iterable[str]) -> dict[str, int]:
    counts = Counter(values)
    return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))


def _one(read: Callable[[Workflow], str]) -> Callable[[Workflow], tuple[str, ...]]:
    return lambda flow: (read(flow),)


def _corrections(flow: Workflow) -> int:
    return sum(event.type == "MID_SPEECH_CORRECTION" for event in flow.events)


def _features(flow: Workflow) -> tuple[str, ...]:
    """What makes the work hard, each at most once."""
    handlers = {tool.handler for tool in flow.tools}
    corrected = [fact for fact in flow.facts if fact.supersedes]
    twice = {fact.supersedes for fact in corrected} & {fact.id for fact in corrected}
    names = {fact.field.partition(".")[2] for fact in corrected if fact.field}
    follow = [
        field for art in flow.artifacts.values() if art.shape for field in art.shape.fields if field.name in names
    ]
    needed = {p.args.get("tool") for p in flow.gold.required_actions if p.kind == "tool_called"}
    found = {
        "lookup with distractors": any(document.distractor for document in flow.documents),
        "identity before data": "verify_identity" in handlers,
        "approval": any(tool.commits for tool in flow.tools),
        "several approvals": sum(tool.commits for tool in flow.tools) > 1,
        "follow-through in mid-call": any(event.type == "FOLLOW_THROUGH" for event in flow.events),
        "tool that fails": any(tool.effect.get("fails") for tool in flow.tools),
        f"tool slower than {SLOW_MS // 1000} s": any(tool.latency.base_ms > SLOW_MS for tool in flow.tools),
        "records in SQLite": bool(flow.records),
        "correction with dependents": any(field.dependents for field in follow),
        "corrected twice": bool(twice),
        "takes back an approval": any(t.do and t.do.revokes for s in flow.flow.states.values() for t in s.transitions),
        "back-channels": any(event.type == "BACKCHANNEL" for event in flow.events),
        "hedged answers": any(w.user_plan_id.startswith("hedge_") for w in flow.wordings),
        "ends with a person": any(t.name in needed for t in flow.tools if t.handler == "hand_over"),
    }
    return tuple(name for name, there in found.items() if there)


AXES: dict[str, Callable[[Workflow], tuple[str, ...]]] = {
    "archetype": _one(lambda flow: flow.archetype),
    "artifact": _one(lambda flow: flow.primary_artifact or "none"),
    "autonomy": _one(lambda flow: flow.autonomy.level),
    "knowledge": _one(lambda flow: flow.knowledge_burden),
    "risk": _one(lambda flow: flow.risk_tier),
    "tools": _one(lambda flow: flow.tool_burden),
    "dynamics": _one(lambda flow: flow.temporal_dynamics),
    "caller": _one(lambda flow: flow.caller.profile),
    "voice": _one(lambda flow: flow.caller.voice),
    "corrections": _one(lambda flow: str(_corrections(flow))),
    "graded fields": _one(lambda flow: str(sum(len(row.fields) for row in flow.gold.artifact_expectations))),
    "reference calls": _one(lambda flow: str(flow.reference.calls)),
    "features": _features,
}
"""How each axis is read from a recipe."""
