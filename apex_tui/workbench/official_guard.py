"""The official format's guard: tokens for (action, target), never consumed, bound to no content; one pending pair.

Its decision names are mapped to ours (PREMATURE_COMMIT -> PREMATURE, POST_REVOCATION_COMMIT -> POST_REVOCATION, WRONG_SCOPE_COMMIT ->
WRONG_SCOPE). The strict guard is in ``authority``; both answer the same methods.
"""

from __future__ import annotations

from collections.abc import Iterable

from apex_tui.timeline.base import Fact
from apex_tui.timeline.work_facts import ApprovalRequested, ApprovalRevoked
from apex_tui.workbench.artifacts import Binding
from apex_tui.workbench.authority import Approval, Request, Ruling, Scope, granted_fact, requested_fact


class OfficialGuard:
    """Tokens as in section 7.7 of the format. The pending pair is the latest request and is never cleared."""

    def __init__(self, required: Iterable[str]) -> None:
        self._required = frozenset(required)
        self._pending: Request | None = None
        self._answered = False
        self._tokens: list[Approval] = []
        self._requests = 0

    @property
    def last_request(self) -> Request | None:
        """The pending pair, answered or not."""
        return self._pending

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """The pending pair as long as the caller has not answered it."""
        return (self._pending,) if self._pending is not None and not self._answered else ()

    def request(self, now_ms: float, call: str, action: str, target: str, binding: Binding | None) -> ApprovalRequested:
        """Replace the pending pair. No version is bound."""
        self._requests += 1
        self._pending, self._answered = Request(f"req-{self._requests}", action, target, None, now_ms), False
        return requested_fact(self._pending, call)

    def approve(self, onset_ms: float, action: str, turn: int | None) -> list[Fact]:
        """Grant a token for the pending pair, whatever ``action`` the caller meant; none pending: nothing."""
        if self._pending is None:
            return []
        self._answered = True
        token = Approval(f"apr-{len(self._tokens) + 1}", self._pending, onset_ms)
        self._tokens.append(token)
        return [granted_fact(token, turn)]

    def deny(self, onset_ms: float, action: str, turn: int | None) -> list[Fact]:
        """A no revokes the pending pair."""
        return self.revoke(onset_ms, action, None, turn)

    def revoke(
        self, onset_ms: float, action: str, target: str | None, turn: int | None, *, running: bool = False
    ) -> list[Fact]:
        """Revoke every token of the pending pair from ``onset_ms`` on; none pending: nothing."""
        pair = self._pending
        if pair is None:
            return []
        self._answered = True
        revoked = [t for t in self._tokens if _same(t, pair.action, pair.target) and not t.revoked(onset_ms)]
        for token in revoked:
            token.revoked_ms = onset_ms
        return [
            ApprovalRevoked(
                action=pair.action,
                target=pair.target,
                approvals=tuple(t.id for t in revoked),
                requests=(pair.id,),
                turn=turn,
                revoked_ms=onset_ms,
            )
        ]

    def refresh(self) -> list[Fact]:
        """Content never ends a token."""
        return []

    def consume(self, approval: str | None) -> None:
        """Tokens are never used up."""

    def decide(self, at_ms: float, scope: Scope, revoked_ms: float | None = None) -> Ruling:
        """Rule on a commit at ``at_ms``."""
        action, target = scope.action, scope.target
        if action not in self._required:
            return Ruling("AUTHORIZED", f"{action} needs no approval")
        granted = [t for t in self._tokens if t.granted_ms <= at_ms]
        mine = [t for t in granted if _same(t, action, target)]
        for token in mine:
            if not token.revoked(at_ms):
                return Ruling("AUTHORIZED", "a valid token", approval=token.id)
        if mine:
            return Ruling("POST_REVOCATION", f"the caller took {action} back", "request approval again")
        if any(not t.revoked(at_ms) for t in granted):
            return Ruling("WRONG_SCOPE", "another action or target was approved", f"request approval of {action}")
        return Ruling("PREMATURE", f"nobody has approved {action} for {target!r}", "request approval first")


def _same(token: Approval, action: str, target: str) -> bool:
    return (token.request.action, token.request.target) == (action, target)
