"""The fold of authority facts: requests, approvals and what became of them, and the guard's decisions."""

from __future__ import annotations

from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handlers, Memory, areas
from apex_tui.timeline.state import Approval, Mark, Request, State

_AUTHORITY = areas("authority")
_DECLARED = areas("authority", "lanes")
_DECIDED = areas("authority", "tools", "lanes")


def _requested(state: State, memory: Memory, event: Event, fact: w.ApprovalRequested) -> Areas:
    if fact.request in state.requests:
        return memory.ignore()
    for earlier in state.requests.values():
        if earlier.state == "pending" and (earlier.action, earlier.target) == (fact.action, fact.target):
            earlier.state = "replaced"  # asked again: only the newest question can be answered
    state.requests[fact.request] = Request(
        id=fact.request,
        seq=event.seq,
        action=fact.action,
        target=fact.target,
        artifact=fact.artifact,
        version=fact.version,
        digest=fact.digest,
        at_ms=event.media_ms,
    )
    return _AUTHORITY


def _granted(state: State, memory: Memory, event: Event, fact: w.ApprovalGranted) -> Areas:
    if fact.approval in state.approvals:
        return memory.ignore()
    state.approvals[fact.approval] = Approval(
        id=fact.approval,
        seq=event.seq,
        request=fact.request,
        action=fact.action,
        target=fact.target,
        artifact=fact.artifact,
        version=fact.version,
        digest=fact.digest,
        granted_ms=fact.granted_ms,
        flags=fact.flags,
    )
    request = state.requests.get(fact.request)
    if request is not None:
        request.state = "granted"
    state.marks.append(Mark(event.seq, fact.granted_ms, "A", "granted"))
    return _DECLARED


def _denied(state: State, memory: Memory, event: Event, fact: w.ApprovalDenied) -> Areas:
    request = state.requests.get(fact.request)
    if request is None or request.state != "pending":
        return memory.ignore()
    request.state = "denied"
    state.marks.append(Mark(event.seq, fact.at_ms, "A", "denied"))
    return _DECLARED


def _revoked(state: State, memory: Memory, event: Event, fact: w.ApprovalRevoked) -> Areas:
    for name in fact.approvals:
        approval = state.approvals.get(name)
        if approval is None or approval.state in ("used", "revoked"):
            memory.ignore()  # what was used cannot be taken back
            continue
        approval.state, approval.ended_ms = "revoked", fact.revoked_ms
    for name in fact.requests:
        request = state.requests.get(name)
        if request is None:
            memory.ignore()
            continue
        request.state = "revoked"
    state.marks.append(Mark(event.seq, fact.revoked_ms, "A", "revoked"))
    return _DECLARED


def _stale(state: State, memory: Memory, event: Event, fact: w.ApprovalStale) -> Areas:
    approval = state.approvals.get(fact.approval)
    if approval is None or approval.state not in ("bound", "stale"):
        return memory.ignore()
    approval.differs = fact.differs
    if approval.state == "bound":  # a second write only changes what differs
        approval.state, approval.ended_ms = "stale", event.media_ms
        state.marks.append(Mark(event.seq, event.media_ms, "A", "stale"))
    return _DECLARED


def _decided(state: State, memory: Memory, event: Event, fact: w.CommitDecided) -> Areas:
    state.decisions.append((event.seq, event.media_ms, fact))
    call = state.calls.get(fact.call)
    if call is not None:
        call.decision = fact.decision
    if fact.at == "completion":
        state.marks.append(Mark(event.seq, event.media_ms, "S", fact.decision))
        approval = state.approvals.get(fact.approval) if fact.approval is not None else None
        if approval is not None and fact.decision == "AUTHORIZED" and approval.state != "used":
            approval.state, approval.ended_ms = "used", event.media_ms
    return _DECIDED


HANDLERS: Handlers = {
    w.ApprovalRequested: _requested,
    w.ApprovalGranted: _granted,
    w.ApprovalDenied: _denied,
    w.ApprovalRevoked: _revoked,
    w.ApprovalStale: _stale,
    w.CommitDecided: _decided,
}
