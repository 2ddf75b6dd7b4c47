"""Approvals against the words that they answered, and critical values against the words that confirmed them.

Only played words count. The flag of an approval is derived from the state at the moment when it is given, so that the engine (live) and the
scorer (afterwards) find the same; it never changes what the guard decides. Deliberately not in here: whether a commit was authorised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from apex_tui.score.graders import show
from apex_tui.score.known_values import KnownValues
from apex_tui.score.unknown_values import made_up
from apex_tui.score.verdict_work import MISREAD_APPROVAL, Confirmations, MisreadApproval, Unconfirmed
from apex_tui.score.work_drift import version_of, words_of
from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Reply, State, Version
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ApprovalGranted, CommitDecided
from apex_tui.workflow.model import Workflow


class ReadBack(NamedTuple):
    """What was heard before an approval, what of it was cut off, and the events that say so."""

    heard: str
    unheard: str
    seqs: tuple[int, ...]


class Misread(NamedTuple):
    """A field of a read-back that differs from the version it covers: the value that was heard, or None when it was cut off."""

    path: str
    read_back: Any


def misread(heard: str, unheard: str, covered: Mapping[str, Any], known: KnownValues) -> list[Misread]:
    """What is wrong with a read-back.

    ``covered``: path -> value of the version that is approved. A field is misread when the heard words state a value of it and not the covered
    one, or a date or long number in its place that nobody knows; it is cut off when only the ``unheard`` words state a value of it. Fields that a
    read-back leaves out are not its fault.
    """
    found = known.stated(heard, covered)
    wrong = [
        Misread(path, values[-1])
        for path, values in found.items()
        if path in covered and not any(known.same(path, value, covered[path]) for value in values)
    ]
    lost = known.stated(unheard, covered) if unheard else {}
    strange = made_up(heard, covered, {*found, *lost}, known.specs, known.mentioned)
    return [
        *wrong,
        *(Misread(path, said) for path, said in strange),
        *(Misread(path, None) for path in lost if path in covered and path not in found),
    ]


def read_back(state: State, approval: ApprovalGranted) -> ReadBack:
    """All that the agent said from the caller's last turn before the request on, up to the approval's first audible word.

    The caller's back-channels do not part it. Of a reply that still sounds, what the observer has not read by then counts as unheard.
    """
    request = state.requests.get(approval.request)
    asked_ms = request.at_ms if request is not None else approval.granted_ms
    turns = [t for t in state.turns if t.onset_ms < asked_ms and t.number != approval.turn and t.act != "BACKCHANNEL"]
    since_ms = turns[-1].onset_ms if turns else 0.0
    heard, unheard, seqs = list[str](), list[str](), list[int]()
    for reply in _replies(state, since_ms, approval.granted_ms):
        words = words_of(state, reply)
        heard.append(words)
        if _ended_early(reply):
            unheard.append(_rest(reply.text, words))
        seqs.append(reply.closed_seq if reply.closed_seq is not None else reply.seq)
    return ReadBack(". ".join(filter(None, heard)), ". ".join(filter(None, unheard)), tuple(seqs))


def _replies(state: State, since_ms: float, until_ms: float) -> Iterator[Reply]:
    for name in state.reply_order:
        reply = state.replies[name]
        if since_ms <= reply.started_ms <= until_ms:
            yield reply


def _ended_early(reply: Reply) -> bool:
    """Whether words of it are known to be unheard; of words that came only after it had closed nothing is known."""
    return reply.closed is None or (reply.heard is not None and reply.heard != reply.text)


def _rest(text: str, heard: str) -> str:
    """The words of a reply that were not heard; all of them when what was heard is no beginning of it."""
    return text[len(heard) :] if text.startswith(heard) else text


def covered_fields(state: State, artifact: str | None, version: int | None, known: KnownValues) -> dict[str, Any]:
    """Path -> value of a version, without what a commit itself sets; empty when there is no such version."""
    held = version_of(state, artifact, version)
    if held is None:
        return {}
    own = {str(name) for tool in known.workflow.tools if tool.commits for name in tool.effect.get("set_fields") or {}}
    return {
        f"{held.artifact}.{name}": value for name, value in held.fields.items() if value is not None and name not in own
    }


def approval_flags(state: State, approval: ApprovalGranted, known: KnownValues) -> tuple[str, ...]:
    """The flags of an approval that is given now; ``state`` is the session up to and including the turn that gives it."""
    return (MISREAD_APPROVAL,) if _wrong(state, approval, known) else ()


def _wrong(state: State, approval: ApprovalGranted, known: KnownValues) -> list[Misread]:
    known.learn(state)
    words = read_back(state, approval)
    return misread(words.heard, words.unheard, covered_fields(state, approval.artifact, approval.version, known), known)


def misread_approvals(events: Sequence[Event], workflow: Workflow) -> tuple[MisreadApproval, ...]:
    """Every misread field of every approval, each judged on the log as it was when the approval was given, with what was known then."""
    view, known, rows = SessionView(), KnownValues(workflow), list[MisreadApproval]()
    for event in events:
        if isinstance(event.fact, ApprovalGranted):
            rows += _rows(view.state, event.seq, event.fact, known)
        view.apply(event)
    return tuple(rows)


def _rows(state: State, seq: int, fact: ApprovalGranted, known: KnownValues) -> Iterator[MisreadApproval]:
    covered = covered_fields(state, fact.artifact, fact.version, known)
    held = version_of(state, fact.artifact, fact.version)
    seqs = {seq, *read_back(state, fact).seqs, *((held.seq,) if held is not None else ())}
    for path, value in _wrong(state, fact, known):
        holds = f"version {fact.version} holds {show(covered[path])}"
        name = path.partition(".")[2]
        said = (
            f"the read-back was cut off before {name} was heard"
            if value is None
            else f"{name} was read back as {show(value)}"
        )
        yield MisreadApproval(
            approval=fact.approval,
            action=fact.action,
            kind="cut_off" if value is None else "other_value",
            field=path,
            read_back=value,
            covered=covered[path],
            reason=f"{said}, and the approved {holds}",
            evidence=tuple(sorted(seqs)),
        )


# --- confirmations -----------------------------------------------------------------------------------------------------------------------


def confirmations(state: State, known: KnownValues) -> Confirmations:
    """Critical values that an authorised commit used: those spoken back before its call, and those that were not.

    A value counts as spoken back when words heard before the call state it, or a package's own pattern read ``CONFIRM:field``; of one that the
    caller said, after that: the agent's own talk of it before was no answer.
    """
    known.learn(state)
    confirmed, missing = 0, list[Unconfirmed]()
    for seq, _, fact in state.decisions:
        if fact.at != "completion" or fact.decision != "AUTHORIZED":
            continue
        held = version_of(state, fact.artifact, fact.version)
        call = state.calls.get(fact.call)
        if held is None or call is None:
            continue
        for path, value in _critical(held, known):
            if _spoken_back(state, known, path, value, held, call.called_ms):
                confirmed += 1
            else:
                missing.append(_unconfirmed(path, value, fact, (held.seq, call.seq, seq)))
    return Confirmations(confirmed=confirmed, n=confirmed + len(missing), unconfirmed=tuple(missing))


def _critical(version: Version, known: KnownValues) -> Iterator[tuple[str, Any]]:
    for name, value in version.fields.items():
        path = f"{version.artifact}.{name}"
        spec = known.specs.get(path)
        if spec is not None and spec.critical and value is not None:
            yield path, value


def _spoken_back(state: State, known: KnownValues, path: str, value: Any, version: Version, before_ms: float) -> bool:
    current = {f"{version.artifact}.{name}": held for name, held in version.fields.items()}
    since_ms = _said_from(state, known, path, value, before_ms)
    for name in state.reply_order:
        reply = state.replies[name]
        if reply.closed_ms is not None and reply.closed_ms < since_ms:
            continue
        words = _heard_by(state, reply, before_ms)
        if any(known.same(path, found, value) for found in known.stated(words, current).get(path, ())):
            return True
    key = f"CONFIRM:{path.partition('.')[2]}"
    return any(a.key == key and a.source == "pattern" and since_ms <= a.at_ms <= before_ms for a in state.acts)


def _said_from(state: State, known: KnownValues, path: str, value: Any, before_ms: float) -> float:
    """Since when the caller has said the value, and no other (media ms); 0.0: the last that was said of the field is not this value, or nothing."""
    since_ms = 0.0
    for turn in reversed(state.turns):
        told = [held for name, held in turn.values.items() if known.path_of(name) == path]
        if not told or turn.onset_ms >= before_ms:
            continue
        if not known.same(path, told[-1], value):
            break
        since_ms = turn.value_end_ms
    return since_ms


def _heard_by(state: State, reply: Reply, at_ms: float) -> str:
    """The words of a reply that were heard by then; of one that still sounded, what the observer had read."""
    if reply.closed_ms is not None and reply.closed_ms <= at_ms:
        return reply.heard or ""
    read = [a.evidence for a in state.acts if a.reply == reply.id and a.source != "tool" and a.at_ms <= at_ms]
    return ". ".join(dict.fromkeys(read))


def _unconfirmed(path: str, value: Any, fact: CommitDecided, seqs: tuple[int, ...]) -> Unconfirmed:
    return Unconfirmed(
        field=path,
        value=value,
        call=fact.call,
        reason=f"{path.partition('.')[2]} {show(value)} was committed by {fact.action} and never spoken back before",
        evidence=tuple(sorted(seqs)),
    )
