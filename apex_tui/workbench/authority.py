"""Who may commit what: requests for approval, approvals bound to content, revocation, and the guard's ruling (strict rules).

An approval answers one request and covers (action, target, artifact, the version read back, its digest). It is used once, and a later
write or correction ends it for good. All times are media ms; words count from their audible onset. The official rules, which bind
nothing to content, are in ``official_guard``. Deliberately not in here: effects of a commit (``tools``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from apex_tui.timeline.base import Fact
from apex_tui.timeline.work_facts import (
    ApprovalDenied,
    ApprovalGranted,
    ApprovalRequested,
    ApprovalRevoked,
    ApprovalStale,
    Decision,
)
from apex_tui.workbench.artifacts import Binding


@dataclass(frozen=True, slots=True)
class Scope:
    """What a commit is about. ``belongs``: the target is the artifact, or what the tool declares for it (``expects``)."""

    action: str
    target: str
    artifact: str | None
    belongs: bool = True
    expects: str | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """The guard's answer. ``why`` is for the log and the agent, ``hint`` is what the agent can do now."""

    decision: Decision
    why: str
    hint: str = ""
    approval: str | None = None

    @property
    def authorized(self) -> bool:
        """Whether the commit may go ahead."""
        return self.decision == "AUTHORIZED"


@dataclass(frozen=True, slots=True)
class Request:
    """One pending request for approval."""

    id: str
    action: str
    target: str
    binding: Binding | None
    at_ms: float

    def matches(self, scope: Scope) -> bool:
        """Whether it names exactly this action, target and artifact."""
        artifact = self.binding.artifact if self.binding is not None else None
        return (self.action, self.target, artifact) == (scope.action, scope.target, scope.artifact)


@dataclass(slots=True)
class Approval:
    """One yes of the caller, and what became of it."""

    id: str
    request: Request
    granted_ms: float
    used: bool = False
    revoked_ms: float | None = None
    differs: tuple[str, ...] = ()
    """Fields that ended it by a later write or correction."""

    def revoked(self, at_ms: float) -> bool:
        """Whether it had been taken back by then."""
        return self.revoked_ms is not None and self.revoked_ms <= at_ms

    def live(self, at_ms: float) -> bool:
        """Whether it can still be used at that time."""
        return self.granted_ms <= at_ms and not self.used and not self.differs and not self.revoked(at_ms)


@dataclass(frozen=True, slots=True)
class _Revocation:
    action: str
    target: str | None
    at_ms: float

    def covers(self, action: str, target: str) -> bool:
        return self.action == action and self.target in (None, target)


class Authority:
    """The strict guard. ``drift`` says how the content differs from a binding now (see ``Artifacts.drift``)."""

    def __init__(self, required: Iterable[str], drift: Callable[[Binding], tuple[str, ...]], now: Callable[[str], int]):
        self._required = frozenset(required)
        self._drift = drift
        self._now = now
        self._pending: list[Request] = []
        self._approvals: list[Approval] = []
        self._revocations: list[_Revocation] = []
        self._requests = 0
        self.last_request: Request | None = None

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """Requests that wait for the caller's answer, oldest first."""
        return tuple(self._pending)

    def request(self, now_ms: float, call: str, action: str, target: str, binding: Binding | None) -> ApprovalRequested:
        """Put a question to the caller. Asking again about the same action and target replaces the earlier question in its place."""
        self._requests += 1
        made = Request(f"req-{self._requests}", action, target, binding, now_ms)
        self.last_request = made
        again = next((r for r in self._pending if (r.action, r.target) == (action, target)), None)
        if again is not None:
            self._pending[self._pending.index(again)] = made
        else:
            self._pending.append(made)
        return requested_fact(made, call)

    def approve(self, onset_ms: float, action: str, turn: int | None) -> list[Fact]:
        """The caller says yes: grants the oldest request of that action that was there when the words began."""
        request = self._take(onset_ms, action)
        if request is None:
            return []
        approval = Approval(f"apr-{len(self._approvals) + 1}", request, onset_ms)
        self._approvals.append(approval)
        return [granted_fact(approval, turn), *self.refresh()]

    def deny(self, onset_ms: float, action: str, turn: int | None) -> list[Fact]:
        """The caller says no to the oldest request of that action."""
        request = self._take(onset_ms, action)
        if request is None:
            return []
        return [ApprovalDenied(request=request.id, action=action, target=request.target, at_ms=onset_ms)]

    def _take(self, onset_ms: float, action: str) -> Request | None:
        found = next((r for r in self._pending if r.action == action and r.at_ms <= onset_ms), None)
        if found is not None:
            self._pending.remove(found)
        return found

    def revoke(
        self, onset_ms: float, action: str, target: str | None, turn: int | None, *, running: bool = False
    ) -> list[Fact]:
        """Take back approvals and pending requests of an action (and target) from ``onset_ms`` on.

        ``running``: a commit of it is under way, which this stops. Nothing to take back: no fact.
        """
        revocation = _Revocation(action, target, onset_ms)
        approvals = [
            a
            for a in self._approvals
            if revocation.covers(a.request.action, a.request.target)
            and not a.used
            and not a.revoked(onset_ms)
            and a.granted_ms <= onset_ms
        ]
        requests = [r for r in self._pending if revocation.covers(r.action, r.target) and r.at_ms <= onset_ms]
        if not approvals and not requests and not running:
            return []
        for approval in approvals:
            approval.revoked_ms = onset_ms
        self._pending = [r for r in self._pending if r not in requests]
        self._revocations.append(revocation)
        return [
            ApprovalRevoked(
                action=action,
                target=target,
                approvals=tuple(a.id for a in approvals),
                requests=tuple(r.id for r in requests),
                turn=turn,
                revoked_ms=onset_ms,
            )
        ]

    def refresh(self) -> list[Fact]:
        """End every approval whose content no longer holds. Call it after each change of an artifact."""
        facts: list[Fact] = []
        for approval in self._approvals:
            binding = approval.request.binding
            if binding is None or approval.used or approval.differs or approval.revoked_ms is not None:
                continue
            approval.differs = self._drift(binding)
            if approval.differs:
                facts.append(
                    ApprovalStale(
                        approval=approval.id,
                        covers=binding.version,
                        now=self._now(binding.artifact),
                        differs=approval.differs,
                    )
                )
        return facts

    def approved(self, at_ms: float, artifact: str, action: str | None) -> bool:
        """Whether a live approval covers the artifact's current content (of that action; None: of any)."""
        return any(
            a.live(at_ms)
            and self._holds(a)
            and a.request.binding is not None
            and a.request.binding.artifact == artifact
            for a in self._approvals
            if action in (None, a.request.action)
        )

    def decide(self, at_ms: float, scope: Scope, revoked_ms: float | None = None) -> Ruling:
        """Rule on a commit at ``at_ms``. ``revoked_ms``: it was under way when the caller took its action back at that time."""
        if not scope.belongs:
            return Ruling(
                "WRONG_SCOPE",
                f"{scope.target!r} is not what {scope.action} commits",
                f"name {scope.expects!r} as the target",
            )
        if revoked_ms is not None and revoked_ms <= at_ms:
            return _taken_back(scope, revoked_ms)
        if scope.action not in self._required:
            return Ruling("AUTHORIZED", f"{scope.action} needs no approval")
        mine = [a for a in self._approvals if a.request.matches(scope) and a.granted_ms <= at_ms]
        live = next((a for a in reversed(mine) if a.live(at_ms) and self._holds(a)), None)
        if live is not None:
            return Ruling("AUTHORIZED", f"the caller approved it at {_seconds(live.granted_ms)}", approval=live.id)
        return self._refuse(at_ms, scope, mine)

    def _holds(self, approval: Approval) -> bool:
        """The digest once more at the moment of the ruling, whatever was reported before."""
        return approval.request.binding is None or not self._drift(approval.request.binding)

    def _refuse(self, at_ms: float, scope: Scope, mine: list[Approval]) -> Ruling:
        granted_ms = mine[-1].granted_ms if mine else -1.0
        revoked = [r.at_ms for r in self._revocations if r.covers(scope.action, scope.target)]
        latest = max((ms for ms in revoked if granted_ms <= ms <= at_ms), default=None)
        if latest is not None:
            return _taken_back(scope, latest)
        if mine:
            return _spent(scope, mine[-1])
        other = next((a for a in self._approvals if a.live(at_ms)), None)
        if other is not None:
            return Ruling(
                "WRONG_SCOPE",
                f"the caller approved {other.request.action} for {other.request.target!r}, not {scope.action} for {scope.target!r}",
                f"ask the caller to approve {scope.action} for {scope.target!r}, and commit after a clear yes",
            )
        if any(r.matches(scope) for r in self._pending):
            return Ruling(
                "PREMATURE",
                f"nobody has approved {scope.action} for {scope.target!r} yet: the request for approval is open",
                "do not ask again; wait until the caller has said a clear yes, and commit then",
            )
        return Ruling(
            "PREMATURE",
            f"nobody has approved {scope.action} for {scope.target!r}",
            "read it back to the caller, request approval, and commit only after a clear yes",
        )

    def consume(self, approval: str | None) -> None:
        """Use an approval up."""
        for held in self._approvals:
            if held.id == approval:
                held.used = True


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"


def _taken_back(scope: Scope, at_ms: float) -> Ruling:
    return Ruling(
        "POST_REVOCATION",
        f"the caller took {scope.action} back at {_seconds(at_ms)}",
        "do what the caller asked for, read the result back, and request approval again",
    )


def _spent(scope: Scope, approval: Approval) -> Ruling:
    """Why the newest approval of exactly this scope does not count any more."""
    if approval.used:
        return Ruling(
            "ALREADY_USED",
            f"the approval of {scope.action} for {scope.target!r} was used already",
            "do not commit twice; a further commit needs a further approval",
            approval.id,
        )
    covers = approval.request.binding.version if approval.request.binding is not None else 0
    return Ruling(
        "STALE_APPROVAL",
        f"the caller approved version {covers} of {scope.artifact}, which no longer holds",
        "read the current content back and request approval again",
        approval.id,
    )


def requested_fact(request: Request, call: str) -> ApprovalRequested:
    """The timeline's form of a request."""
    binding = request.binding
    return ApprovalRequested(
        request=request.id,
        action=request.action,
        target=request.target,
        artifact=binding.artifact if binding is not None else None,
        version=binding.version if binding is not None else None,
        digest=binding.digest if binding is not None else None,
        call=call,
    )


def granted_fact(approval: Approval, turn: int | None) -> ApprovalGranted:
    """The timeline's form of an approval."""
    request, binding = approval.request, approval.request.binding
    return ApprovalGranted(
        approval=approval.id,
        request=request.id,
        action=request.action,
        target=request.target,
        artifact=binding.artifact if binding is not None else None,
        version=binding.version if binding is not None else None,
        digest=binding.digest if binding is not None else None,
        turn=turn,
        granted_ms=approval.granted_ms,
    )
