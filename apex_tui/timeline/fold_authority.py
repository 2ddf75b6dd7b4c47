"""The fold of authority facts: requests, approvals and what became of them, and the guard's decisions."""

from __future__ import annotations

from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import Event
from apex_tui.timeline.fold_base import Areas, Handlers, Memory, add_mark, areas, new_row, own_row
from apex_tui.timeline.state import Approval, Mark, Request, State

_AUTHORITY = areas("authority")
_DECLARED = areas("authority", "lanes")
_DECIDED = areas("authority", "tools", "lanes")
_DATED_BACK = areas("authority", "tools", "lanes", "transcript")


def _requested(state: State, memory: Memory, event: Event, fact: w.ApprovalRequested) -> Areas:
    if fact.request in state.requests:
        return memory.ignore()
    for name, earlier in state.requests.items():
        if earlier.state == "pending" and (earlier.action, earlier.target) == (fact.action, fact.target):
            # Asked again: only the newest question can be answered.
            own_row(memory, state.requests, name).state = "replaced"
    request = Request(
        id=fact.request,
        seq=event.seq,
        action=fact.action,
        target=fact.target,
        artifact=fact.artifact,
        version=fact.version,
        digest=fact.digest,
        at_ms=event.media_ms,
    )
    state.requests[fact.request] = new_row(memory, request)
    return _AUTHORITY


def _granted(state: State, memory: Memory, event: Event, fact: w.ApprovalGranted) -> Areas:
    if fact.approval in state.approvals:
        return memory.ignore()
    approval = Approval(
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
    state.approvals[fact.approval] = new_row(memory, approval)
    if fact.request in state.requests:
        own_row(memory, state.requests, fact.request).state = "granted"
    add_mark(state, memory, Mark(event.seq, fact.granted_ms, "A", "granted"))
    early = [decided.call for _, at_ms, decided in state.decisions if _had_been_approved(state, decided, at_ms, fact)]
    for call in early:
        own_row(memory, state.calls, call).before_key = fact.approval
    return _DATED_BACK if early else _DECLARED


def _had_been_approved(state: State, decided: w.CommitDecided, at_ms: float, approval: w.ApprovalGranted) -> bool:
    """Whether a commit that was refused for want of an approval came after the words of this one, which the key told only later."""
    call = state.calls.get(decided.call)
    if decided.decision != "PREMATURE" or approval.granted_ms > at_ms or call is None or call.after_interruption:
        return False
    if (decided.action, decided.target) != (approval.action, approval.target):
        return False
    return approval.digest is None or approval.digest == _digest(state, decided)


def _digest(state: State, decided: w.CommitDecided) -> str | None:
    """Of the content that was to be committed."""
    artifact = state.artifacts.get(decided.artifact or "")
    versions = artifact.versions if artifact is not None else []
    return next((v.digest for v in versions if v.number == decided.version), None)


def _denied(state: State, memory: Memory, event: Event, fact: w.ApprovalDenied) -> Areas:
    request = state.requests.get(fact.request)
    if request is None or request.state != "pending":
        return memory.ignore()
    own_row(memory, state.requests, fact.request).state = "denied"
    add_mark(state, memory, Mark(event.seq, fact.at_ms, "A", "denied"))
    return _DECLARED


def _revoked(state: State, memory: Memory, event: Event, fact: w.ApprovalRevoked) -> Areas:
    for name in fact.approvals:
        known = state.approvals.get(name)
        if known is None or known.state in ("used", "revoked"):
            memory.ignore()  # what was used cannot be taken back
            continue
        approval = own_row(memory, state.approvals, name)
        approval.state, approval.ended_ms = "revoked", fact.revoked_ms
    for name in fact.requests:
        if name not in state.requests:
            memory.ignore()
            continue
        own_row(memory, state.requests, name).state = "revoked"
    add_mark(state, memory, Mark(event.seq, fact.revoked_ms, "A", "revoked"))
    return _DECLARED


def _stale(state: State, memory: Memory, event: Event, fact: w.ApprovalStale) -> Areas:
    known = state.approvals.get(fact.approval)
    if known is None or known.state not in ("bound", "stale"):
        return memory.ignore()
    approval = own_row(memory, state.approvals, fact.approval)
    approval.differs = fact.differs
    if approval.state == "bound":  # a second write only changes what differs
        approval.state, approval.ended_ms = "stale", event.media_ms
        add_mark(state, memory, Mark(event.seq, event.media_ms, "A", "stale"))
    return _DECLARED


def _decided(state: State, memory: Memory, event: Event, fact: w.CommitDecided) -> Areas:
    state.decisions.append((event.seq, event.media_ms, fact))
    if fact.call in state.calls:
        own_row(memory, state.calls, fact.call).decision = fact.decision
    if fact.at == "completion":
        add_mark(state, memory, Mark(event.seq, event.media_ms, "S", fact.decision))
        approval = state.approvals.get(fact.approval) if fact.approval is not None else None
        if approval is not None and fact.decision == "AUTHORIZED" and approval.state != "used":
            approval = own_row(memory, state.approvals, approval.id)
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
