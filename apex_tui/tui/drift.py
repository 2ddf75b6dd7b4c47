"""Drift marks for the screens: each field that the caller stated, followed to the commit, kept up to date at little cost.

The rows are `score.work_drift`'s. They are made anew only when something happened that can change them: 2 ms each time. Back in a replay
nothing is known that became known only later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apex_tui.timeline.state import State

if TYPE_CHECKING:
    from apex_tui.score.known_values import KnownValues
    from apex_tui.score.verdict_work import Drift
    from apex_tui.workflow.model import Workflow


NEAR = 100
"""Events further on or back, up to which it is worth asking whether anything changed that the rows rest on."""
STOP = 5000
"""Events between two tables of known values that are kept, so that going back in a long replay need not learn it all again."""


class DriftWatch:
    """Drift by ``artifact.field``. Without a workflow there is none."""

    def __init__(self, workflow: Workflow | None = None) -> None:
        self.workflow = workflow
        self._kept: list[tuple[int, KnownValues]] = []
        """What was known at some events, the first before the session began; nothing is learned by these."""
        self._known: KnownValues | None = None
        self._known_to = -1
        """The event up to which it was learned from the session."""
        self._key: tuple[object, ...] = ()
        self._shown = (0, -NEAR - 1)
        """The state that the rows are of, and its event."""
        self._rows: dict[str, Drift] = {}

    def prepare(self) -> None:
        """Make the first table, in a thread of whoever can wait: it takes 20 ms, which the first seek or the first write would feel."""
        import apex_tui.score.work_drift  # noqa: F401
        from apex_tui.score.known_values import KnownValues

        if self.workflow is not None and not self._kept:
            known = KnownValues(self.workflow)
            if not self._kept:  # nobody could wait meanwhile
                self._kept.append((-1, known))

    def of(self, state: State) -> dict[str, Drift]:
        """The rows of this state."""
        if self.workflow is None or not state.artifacts:
            return {}
        if self._shown == (id(state), state.seq):
            return self._rows
        near = abs(state.seq - self._shown[1]) <= NEAR
        self._shown = (id(state), state.seq)
        key = _key(state) if near else ()  # after a jump they are made anew in any case
        if not key or key != self._key:
            self._key = key
            self._rows = {row.field: row for row in self._made(state, self.workflow)}
        return self._rows

    def _made(self, state: State, workflow: Workflow) -> tuple[Drift, ...]:
        from apex_tui.score.known_values import KnownValues
        from apex_tui.score.work_drift import drift_of

        if not self._kept:
            self._kept.append((-1, KnownValues(workflow)))
        if self._known is None or state.seq < self._known_to:
            self._known = next(known for seq, known in reversed(self._kept) if seq <= state.seq).unlearned()
        elif self._known_to >= self._kept[-1][0] + STOP:
            self._kept.append((self._known_to, self._known.unlearned()))
        self._known_to = state.seq
        return drift_of(state, workflow, self._known)


def _key(state: State) -> tuple[object, ...]:
    """What the rows rest on: turns whose value was said, transcripts, replies that are over with what was heard of them, versions, authority."""
    said = sum(1 for t in state.turns if t.value_end_ms <= state.media_ms)
    heard = sum(1 for t in state.turns if t.heard_by_agent is not None)
    closed = sum(len(r.heard) + 1 for r in state.replies.values() if r.heard is not None)
    written = sum(len(a.versions) for a in state.artifacts.values())
    return said, heard, closed, written, len(state.approvals), len(state.decisions), state.ended is not None
