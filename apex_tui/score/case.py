"""The evidence: a log folded once, beside the workflow that it is judged by, with everything that gates and fields look up.

Nothing here judges. Sequence numbers are kept with everything, since every verdict names its evidence. All times are media ms.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from apex_tui.score.graders import Grading
from apex_tui.timeline.caller_facts import CallerPlanned, EventFired
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionStarted
from apex_tui.timeline.state import Call, State, Turn
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import (
    ApprovalRevoked,
    ArtifactStale,
    ArtifactVersion,
    CommitDecided,
    Decision,
    KnowledgeSearched,
    Lifecycle,
    ToolCancelled,
    ToolFinished,
    WorldChanged,
)
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.work_model import LIFECYCLE, FieldSpec


@dataclass(frozen=True, slots=True)
class Moment:
    """An artifact after one event: its content, what is stale in it, and which fields this event wrote (none: it only went stale)."""

    seq: int
    at_ms: float
    fields: dict[str, Any]
    stale: dict[str, str]
    lifecycle: Lifecycle
    written: frozenset[str] = frozenset()
    version: int = 0


_NOTHING = Moment(-1, 0.0, {}, {}, "EMPTY")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit that was decided: at its completion, or refused at the call.

    ``before_key``: it followed a person's yes whose key came later. ``overtaken``: it was called with authority, and while it was under way the
    caller took the action back, or changed what it was about. The guard refused both, and neither is a fault of the agent.
    """

    seq: int
    at_ms: float
    call: str
    action: str
    target: str
    decision: Decision
    why: str
    before_key: bool = False
    overtaken: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """A scripted change that the caller spoke: which fields it names, and the turn that spoke it (None: its words are not in the log)."""

    seq: int
    kind: str
    repairs: tuple[str, ...]
    turn: Turn | None


def _print(moment: Moment, name: str) -> tuple[Any, ...]:
    """Equal for moments at which a field holds the same, and is stale for the same reason."""
    return name in moment.fields, moment.fields.get(name), moment.stale.get(name)


def rank(lifecycle: str) -> int:
    """Position in the order of lifecycle states. Raises ``ValueError`` for an unknown one."""
    return list(LIFECYCLE).index(lifecycle)  # type: ignore[arg-type]


@dataclass(slots=True)
class Case:
    """One session as it is judged; see `build`."""

    workflow: Workflow
    grading: Grading
    started: SessionStarted
    state: State
    end_ms: float
    world: dict[str, Any]
    world_seq: dict[str, int] = field(default_factory=dict)
    """Path -> the event that changed it last."""
    history: dict[str, list[Moment]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    acts: dict[str, int] = field(default_factory=dict)
    """Act key -> the event that first read it."""
    late_acts: frozenset[str] = frozenset()
    """Keys that were read only after the caller's last plan: the reference never counts them."""
    searches: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    finished: dict[str, int] = field(default_factory=dict)
    """Call -> the event that ended it."""
    corrections: list[Correction] = field(default_factory=list)

    @property
    def strict(self) -> bool:
        """Whether the strict rules are applied."""
        return self.grading == "strict"

    def now(self, artifact: str) -> Moment | None:
        """The artifact as it is at the end; None: neither the workflow nor the log knows it."""
        moments = self.history.get(artifact)
        return moments[-1] if moments else None

    def spec(self, artifact: str, name: str) -> FieldSpec | None:
        """The declared field, or None."""
        declared = self.workflow.artifacts.get(artifact)
        return declared.shape.field(name) if declared is not None and declared.shape is not None else None

    def last_write(self, artifact: str, name: str) -> Moment | None:
        """The version that gave the field its value, or made it hold again; None: none wrote it. Writing the same once more does neither."""
        moments = self.history.get(artifact, [])
        wrote = [(before, m) for before, m in pairwise(moments) if name in m.written]
        told = (m for before, m in reversed(wrote) if _print(before, name) != _print(m, name))
        return next(told, wrote[-1][1] if wrote else None)

    def stated(self, artifact: str, name: str) -> Iterator[tuple[Turn, Any]]:
        """The caller's turns that stated a value of the field, in order, with the value."""
        for turn in self.state.turns:
            for key in (f"{artifact}.{name}", name):
                if key in turn.values:
                    yield turn, turn.values[key]
                    break

    def world_at(self, path: str) -> Any:
        """The value at a dotted path of the world; None when it is missing."""
        node: Any = self.world
        for key in path.split("."):
            if not isinstance(node, dict):
                return None
            node = node.get(key)
        return node

    def world_evidence(self, path: str) -> tuple[int, ...]:
        """The last change of the path, of a part of it, or of what it lies in."""
        touching = [
            seq
            for changed, seq in self.world_seq.items()
            if f"{path}.".startswith(f"{changed}.") or changed.startswith(f"{path}.")
        ]
        return (max(touching),) if touching else ()


def build(events: Sequence[Event], workflow: Workflow, grading: Grading) -> Case:
    """Fold a log, whole or cut.

    Raises:
        RecordingError: the log is empty, or does not begin with the start of a session.
    """
    if not events:
        raise RecordingError("the log is empty: there is nothing to judge; record the session again")
    state = SessionView.fold(events).state
    if state.started is None:
        raise RecordingError(
            "the log does not hold the start of the session: it cannot be judged; record the session again"
        )
    case = Case(workflow, grading, state.started, state, state.media_ms, copy.deepcopy(workflow.world))
    for name, spec in workflow.artifacts.items():
        case.history[name] = [Moment(-1, 0.0, dict(spec.fields), {}, spec.lifecycle)]
    for event in events:
        _learn(case, event)
    case.commits = list(_commits(state, events))
    _read_acts(case, events)
    return case


def _learn(case: Case, event: Event) -> None:
    match event.fact:
        case ArtifactVersion() | ArtifactStale() as fact:
            _artifact(case.history.setdefault(fact.artifact, [_NOTHING]), event, fact)
        case WorldChanged() as fact:
            _set(case.world, fact.path, fact.new)
            case.world_seq.pop(fact.path, None)
            case.world_seq[fact.path] = event.seq
        case KnowledgeSearched() as fact:
            case.searches.append((event.seq, fact.hits))
        case ToolFinished() | ToolCancelled() as fact:
            case.finished.setdefault(fact.call, event.seq)
        case EventFired() as fact if fact.delivered != "silent":
            case.corrections.append(Correction(event.seq, fact.kind, fact.repairs, _spoken_in(case.state, event, fact)))
        case _:
            pass


def _artifact(moments: list[Moment], event: Event, fact: ArtifactVersion | ArtifactStale) -> None:
    last = moments[-1]
    if isinstance(fact, ArtifactStale):
        if fact.version >= last.version:  # else it speaks of a version that has been replaced
            stale = dict(fact.fields)
            moments.append(Moment(event.seq, event.media_ms, last.fields, stale, last.lifecycle, version=last.version))
    elif fact.version > last.version:
        written = frozenset(change.field for change in fact.changes)
        stale = dict(fact.stale)
        moments.append(Moment(event.seq, event.media_ms, fact.fields, stale, fact.lifecycle, written, fact.version))


def _spoken_in(state: State, event: Event, fact: EventFired) -> Turn | None:
    """The turn whose words carried the event: its cause, else the newest turn that states one of its facts, else the newest turn."""
    before = [turn for turn in state.turns if turn.seq < event.seq]
    named = [turn for turn in before if turn.seq in event.causes]
    sharing = [turn for turn in before if set(turn.facts) & set(fact.facts)]
    return next(iter(reversed(named or sharing or before)), None)


def _set(world: dict[str, Any], path: str, value: Any) -> None:
    node = world
    *parents, last = path.split(".")
    for key in parents:
        below = node.get(key)
        if not isinstance(below, dict):
            below = node[key] = {}
        node = below
    node[last] = copy.deepcopy(value)


def _commits(state: State, events: Iterable[Event]) -> Iterator[Commit]:
    """One row a commit: its completion, or its refusal at the call when it never completed (`at call` AUTHORIZED alone decides nothing)."""
    completed = {fact.call for _, _, fact in state.decisions if fact.at == "completion"}
    changed = [event for event in events if isinstance(event.fact, ApprovalRevoked | ArtifactStale)]
    for seq, at_ms, fact in state.decisions:
        if fact.at == "completion" or (fact.decision != "AUTHORIZED" and fact.call not in completed):
            call = state.calls.get(fact.call)
            early = call is not None and call.before_key is not None
            overtaken = call is not None and _overtaken(state, call, seq, fact, changed)
            yield Commit(seq, at_ms, fact.call, fact.action, fact.target, fact.decision, fact.why, early, overtaken)


def _overtaken(state: State, call: Call, seq: int, fact: CommitDecided, changed: Iterable[Event]) -> bool:
    """Whether the caller changed their mind after the agent had called, and that alone ended the authority it had.

    Words count from their audible onset: a call that came after it is no race. What the agent wrote meanwhile was its own doing.
    """
    if fact.at != "completion" or fact.decision == "AUTHORIZED":
        return False
    begun = next((d for _, _, d in state.decisions if d.call == fact.call and d.at == "call"), None)
    if begun is None or begun.decision != "AUTHORIZED":
        return False
    since: list[float] = []
    for event in changed:
        match event.fact:
            case _ if not call.seq < event.seq < seq:
                pass
            case ApprovalRevoked(action=fact.action, revoked_ms=at_ms) if fact.decision == "POST_REVOCATION":
                since.append(at_ms)
            case ArtifactStale(artifact=fact.artifact, since_ms=at_ms) if (
                fact.decision == "STALE_APPROVAL" and begun.version == fact.version
            ):
                since.append(at_ms)
            case _:
                pass
    return bool(since) and min(since) > call.called_ms


def _read_acts(case: Case, events: Iterable[Event]) -> None:
    planned = [e.seq for e in events if isinstance(e.fact, CallerPlanned) and e.fact.act != "BACKCHANNEL"]
    last_plan = planned[-1] if planned else -1
    for act in case.state.acts:
        case.acts.setdefault(act.key, act.seq)
    # The reference's dialogue learns acts only when it plans the next utterance.
    case.late_acts = frozenset(key for key, seq in case.acts.items() if seq > last_plan)
