"""Drift: each value that the caller said, followed to the commit - heard, claimed, in the artifact, approved, committed.

Pure functions of a folded state, so that the live screen, replay and the scorer show the same rows; nothing is emitted. Statements of the agent
count only in words that were played. Deliberately not in here: whether the field is right by gold (`fields`), approvals (`work_approvals`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from apex_tui.score.graders import show
from apex_tui.score.known_values import KnownValues
from apex_tui.score.predicates import seconds
from apex_tui.score.verdict_work import STAGES, Drift, DriftClass, Stage
from apex_tui.timeline.state import Approval, Reply, State, Turn, Version
from apex_tui.workflow.model import Workflow

Seqs = tuple[int, ...]
_STOP = re.compile(r"[.!?…]+(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Told:
    """One statement of the caller: the value of a field, and the turn that stated it."""

    turn: Turn
    value: Any


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the caller wants of a field: its value, and the turns that stated it with no other value between them, newest first."""

    value: Any
    turns: list[Turn]

    @property
    def first(self) -> Turn:
        return self.turns[-1]

    @property
    def last(self) -> Turn:
        return self.turns[0]


@dataclass(frozen=True, slots=True)
class _At:
    """A value at a stage. ``there``: the stage was reached, so that a missing value is a disagreement."""

    value: Any = None
    seqs: Seqs = ()
    there: bool = False


def drift_of(state: State, workflow: Workflow, known: KnownValues | None = None) -> tuple[Drift, ...]:
    """One row for each field that the caller has stated so far, whether it drifted or not, in the order of the artifact's fields.

    A statement counts from the end of its value's words. ``known`` may be kept for the session: building it anew is the costly part.
    """
    known = known or KnownValues(workflow)
    known.learn(state)
    told = _told_last(state, known)
    rows = []
    for path in known.specs:
        if path in told:
            rows.append(_row(state, known, path, told))
    return tuple(rows)


def told_values(state: State, known: KnownValues) -> dict[str, list[Told]]:
    """All that the caller has stated of each field, in order; a turn whose value is still being spoken is left out."""
    told: dict[str, list[Told]] = {}
    for turn in state.turns:
        if turn.value_end_ms > state.media_ms:
            continue
        for name, value in turn.values.items():
            path = known.path_of(name)
            if path is not None and value is not None:
                told.setdefault(path, []).append(Told(turn, value))
    return told


def _told_last(state: State, known: KnownValues) -> dict[str, _Wanted]:
    """What the caller stated last of each field: as `told_values` ends, found from the end of a long session."""
    told: dict[str, _Wanted] = {}
    ended: set[str] = set()
    for turn in reversed(state.turns):
        if ended.issuperset(turn.values) or turn.value_end_ms > state.media_ms:
            continue
        for name, value in reversed(turn.values.items()):
            path = known.path_of(name)
            if path is None:
                ended.add(name)
            elif value is not None and name not in ended:
                wanted = told.setdefault(path, _Wanted(value, []))
                if value != wanted.value and not known.same(path, value, wanted.value):
                    ended |= {name, path}
                elif path not in ended and (not wanted.turns or wanted.turns[-1] is not turn):
                    wanted.turns.append(turn)
    return told


def words_of(state: State, reply: Reply) -> str:
    """The words of a reply that were heard so far. While it is open: the sentences that the observer has read in it."""
    if reply.heard is not None:
        return reply.heard
    read = dict.fromkeys(act.evidence for act in state.acts if act.reply == reply.id and act.source != "tool")
    return ". ".join(read)


def _row(state: State, known: KnownValues, path: str, told: dict[str, _Wanted]) -> Drift:
    last = told[path]
    current = {name: said.value for name, said in told.items()}
    in_artifact = _in_artifact(state, known, path, _version_now(state, path))
    heard, committed = _heard(known, path, last), _in_version(path, *_committed(state, path))
    since = last.first
    claimed, approved = _answered(state, known, path, last.value, since, current)
    answered_wrong = any(_disagrees(known, path, at, last.value) for at in (claimed, approved))
    # Once the value is written, whatever was wrong before it was said again is mended. Until then that is what it was said again for.
    if answered_wrong and known.same(path, in_artifact.value, last.value):
        since = last.last
        claimed, approved = _answered(state, known, path, last.value, since, current)
    stages: dict[Stage, _At] = {
        "heard": heard, "claimed": claimed, "artifact": in_artifact, "approved": approved, "committed": committed,
    }  # fmt: skip
    wrong = [name for name in STAGES if _disagrees(known, path, stages[name], last.value)]
    first = wrong[0] if wrong else None
    critical = known.specs[path].critical and "artifact" in wrong
    klass = _class(state, known, path, last.value, since, stages) if critical else None
    return Drift(
        field=path,
        said=last.value,
        heard=stages["heard"].value,
        claimed=stages["claimed"].value,
        in_artifact=stages["artifact"].value,
        approved=stages["approved"].value,
        committed=stages["committed"].value,
        first_disagreement=first,
        klass=klass,
        reason=_reason(path, last, since, stages, first, klass),
        evidence={
            "said": tuple(sorted({since.seq, last.last.seq})),
            **{name: at.seqs for name, at in stages.items() if at.seqs},
        },
    )


def _disagrees(known: KnownValues, path: str, at: _At, said: Any) -> bool:
    if at.value is None:
        return at.there
    return not known.same(path, at.value, said)


# --- stages ------------------------------------------------------------------------------------------------------------------------------


def _heard(known: KnownValues, path: str, last: _Wanted) -> _At:
    """What the agent's transcript of the turn states of the field; nothing when it sends none, or states no value that is known."""
    turn = last.last
    if turn.heard_by_agent is None:
        return _At()
    in_turn = {found: value for name, value in turn.values.items() if (found := known.path_of(name)) is not None}
    # A transcriber may end a sentence at a pause inside the value.
    stated = known.stated(turn.heard_by_agent, in_turn).get(path, ())
    if not any(known.same(path, value, last.value) for value in stated):
        stated = (*stated, *known.stated(_STOP.sub(" ", turn.heard_by_agent), in_turn).get(path, ()))
    return _At(_pick(known, path, stated, last.value), (turn.heard_seq,) if turn.heard_seq is not None else (turn.seq,))


def _answered(
    state: State, known: KnownValues, path: str, said: Any, since: Turn, current: dict[str, Any]
) -> tuple[_At, _At]:
    """What was claimed of the value and approved with it since the caller had said it."""
    claimed = _claimed(state, known, path, said, since, current)
    return claimed, _in_version(path, *_approved(state, path, since))


def _claimed(state: State, known: KnownValues, path: str, said: Any, since: Turn, current: dict[str, Any]) -> _At:
    """The last words that state a value of the field, in a reply that began after the caller had said it."""
    for name in reversed(state.reply_order):
        reply = state.replies[name]
        if reply.started_ms < since.value_end_ms:
            break  # so did all before it
        stated = known.stated(words_of(state, reply), current).get(path, ())
        if stated:
            return _At(_pick(known, path, stated, said), _reply_seqs(state, reply, path))
    return _At()


def _pick(known: KnownValues, path: str, stated: tuple[Any, ...], said: Any) -> Any:
    """The said value when it is among the stated ones ("not the 30th, the 3rd"), else the last of them."""
    if any(known.same(path, value, said) for value in stated):
        return said
    return stated[-1] if stated else None


def _reply_seqs(state: State, reply: Reply, path: str) -> Seqs:
    field = path.partition(".")[2]
    acts = [a.seq for a in state.acts if a.reply == reply.id and a.key in (f"CONFIRM:{field}", f"MISREAD:{field}")]
    return (*acts[-1:], *((reply.closed_seq,) if reply.closed_seq is not None else ())) or (reply.seq,)


def _version_now(state: State, path: str) -> Version | None:
    artifact = state.artifacts.get(path.partition(".")[0])
    return artifact.current if artifact is not None else None


def _in_artifact(state: State, known: KnownValues, path: str, version: Version | None) -> _At:
    """The value now. Missing counts once the session is over or the artifact was committed: until then the agent may still write it."""
    over = state.ended is not None or (version is not None and version.lifecycle == "COMMITTED")
    name = path.partition(".")[2]
    if version is None:
        return _At(None, (), over)
    artifact = state.artifacts[version.artifact]
    changed = (
        v.seq for v in reversed(artifact.versions) if any(c.field == name and c.kind != "same" for c in v.changes)
    )
    wrote = next(changed, version.seq)
    return _At(version.fields.get(name), (wrote,), over)


def _in_version(path: str, version: Version | None, seq: int) -> _At:
    if version is None:
        return _At()
    return _At(version.fields.get(path.partition(".")[2]), (version.seq, seq), True)


def _approved(state: State, path: str, said: Turn) -> tuple[Version | None, int]:
    """The version of the newest approval that was given after the value was said; an earlier one cannot have covered it."""
    artifact = path.partition(".")[0]
    given = [a for a in state.approvals.values() if a.artifact == artifact and a.granted_ms >= said.value_end_ms]
    return (covered(state, given[-1]), given[-1].seq) if given else (None, -1)


def covered(state: State, approval: Approval) -> Version | None:
    """The version that an approval covers."""
    return version_of(state, approval.artifact, approval.version)


def version_of(state: State, artifact: str | None, number: int | None) -> Version | None:
    """A version by its number; None when there is none."""
    held = state.artifacts.get(artifact or "")
    return next((v for v in held.versions if v.number == number), None) if held is not None else None


def _committed(state: State, path: str) -> tuple[Version | None, int]:
    """The version that the newest authorised commit of the artifact took, as it was before the commit's own writes.

    A commit that left the artifact open was a step on the way: what the caller says after it is no drift.
    """
    name = path.partition(".")[0]
    held = state.artifacts.get(name)
    closed = max((v.number for v in held.versions if v.lifecycle == "COMMITTED"), default=0) if held is not None else 0
    for seq, _, fact in reversed(state.decisions):
        authorised = fact.at == "completion" and fact.decision == "AUTHORIZED" and fact.artifact == name
        if authorised and (fact.version or 0) < closed:
            return version_of(state, fact.artifact, fact.version), seq
    return None, -1


# --- classes -----------------------------------------------------------------------------------------------------------------------------


def _class(state: State, known: KnownValues, path: str, said: Any, since: Turn, stages: dict[Stage, _At]) -> DriftClass:
    """Where a wrong critical value went wrong, by what is known.

    ``overwritten``: the right value stood in the artifact after it was said. ``misheard``: the agent's transcript states another value.
    ``miswritten``: the agent spoke the right value and wrote another. ``misplanned``: it heard the right one, and neither spoke nor wrote it.
    """
    artifact, _, name = path.partition(".")
    held = state.artifacts.get(artifact)
    versions = held.versions if held is not None else []
    if any(v.at_ms >= since.onset_ms and known.same(path, v.fields.get(name), said) for v in versions):
        return "overwritten"
    heard, claimed = stages["heard"].value, stages["claimed"].value
    if heard is not None and not known.same(path, heard, said):
        return "misheard"
    if known.same(path, claimed, said):
        return "miswritten"
    return "misplanned" if heard is not None else "unknown"


_WORDS: dict[Stage, str] = {
    "heard": "the agent heard", "claimed": "the agent said", "artifact": "the artifact holds", "approved": "what was approved holds",
    "committed": "what was committed holds",
}  # fmt: skip
_CLASS_WORDS: dict[DriftClass, str] = {
    "misheard": "misheard by the agent's own transcript",
    "misplanned": "heard right and not acted upon",
    "miswritten": "spoken right and written wrong",
    "overwritten": "written right and overwritten later",
    "unknown": "where it went wrong is not known",
}


def _reason(
    path: str, last: _Wanted, since: Turn, stages: dict[Stage, _At], first: Stage | None, klass: DriftClass | None
) -> str:
    """One sentence without its full stop."""
    name = path.partition(".")[2]
    said = f"the caller said {show(last.value)} for {name} at {seconds(since.onset_ms)}"
    if since is not last.last:
        said += f" and at {seconds(last.last.onset_ms)}"
    if first is None:
        return f"{said}, and nothing disagrees"
    value = stages[first].value
    held = "nothing" if value is None else show(value)
    return f"{said}, and {_WORDS[first]} {held}" + (f": {_CLASS_WORDS[klass]}" if klass else "")
