"""The right end of a workflow, and a solution that reaches it."""

from __future__ import annotations

from typing import Any

from apex_tui.timeline.work_facts import Lifecycle
from apex_tui.workflow.part import Grader, Part


class Predicate(Part):
    """A check on the final state or the log; kinds as in the official format."""

    id: str
    kind: str
    args: dict[str, Any] = {}
    description: str = ""


class Gate(Part):
    """A critical gate: the predicate must (or must not) hold."""

    id: str
    predicate: Predicate
    must_hold: bool = True


class Precedence(Part):
    """``before`` must have happened earlier than ``after`` (tool names)."""

    before: str
    after: str


class Claim(Part):
    """A claim that only a semantic judge could check: reported as ungraded."""

    id: str
    proposition: str = ""
    source_fact: str | None = None


class GoldField(Part):
    """What a field must hold."""

    field: str
    expected: Any = None
    grader: Grader = "exact"
    required: bool = False
    tolerance: float | None = None


class ArtifactExpectation(Part):
    """What an artifact must be at the end."""

    artifact_id: str
    artifact_type: str = "GENERIC"
    lifecycle_min: Lifecycle | None = None
    fields: tuple[GoldField, ...] = ()
    must_not_be_stale: tuple[str, ...] = ()
    required_claims: tuple[Claim, ...] = ()
    forbidden_claims: tuple[Claim, ...] = ()
    required_caveats: tuple[Claim, ...] = ()


class Gold(Part):
    """The right end."""

    terminal_state: tuple[Predicate, ...] = ()
    alternate_terminal_states: tuple[tuple[Predicate, ...], ...] = ()
    required_actions: tuple[Predicate, ...] = ()
    required_evidence: tuple[Predicate, ...] = ()
    forbidden: tuple[Predicate, ...] = ()
    critical_gates: tuple[Gate, ...] = ()
    precedence: tuple[Precedence, ...] = ()
    artifact_expectations: tuple[ArtifactExpectation, ...] = ()


class Step(Part):
    """One step of the reference solution: words, or a tool call, in order. ``clip``: id of the rendered line."""

    say: str | None = None
    clip: str | None = None
    call: str | None = None
    args: dict[str, Any] = {}
    background: bool = False
    """The call is not waited for: the conversation goes on while it runs."""
    wait: str | None = None
    """A tool that was called so, whose result is needed from here on; ``say`` holds the line when it has not come yet."""


class ReferenceTurn(Part):
    """What the reference agent does when it has heard ``after`` (a plan id); None: in file order, one turn per caller turn."""

    after: str | None = None
    steps: tuple[Step, ...] = ()
    end_call: bool = False


class Reference(Part):
    """A solution that reaches the gold outcome. ``agent_voice`` speaks its lines."""

    turns: tuple[ReferenceTurn, ...] = ()
    agent_voice: str = "heart"
    spare: tuple[Step, ...] = ()
    """Lines of no turn: what a scripted agent says to fill a wait, or with a value that no longer holds."""

    @property
    def calls(self) -> int:
        """Number of tool calls of the solution."""
        return sum(1 for turn in self.turns for step in turn.steps if step.call)
