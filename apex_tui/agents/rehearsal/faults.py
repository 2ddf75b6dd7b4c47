"""Planted faults: agents that do one thing wrong and everything else right, and what each of them must trip.

A fault declares the gates (TS PV AC AV) and the measures that it trips, exactly: no more and no fewer. What follows from the workflow
(whether a corrected field is critical) is computed by rule. Deliberately not in here: reading those measures from a verdict, and running.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from apex_tui.agents.rehearsal import plants
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.rehearsal.solution import Solution
from apex_tui.timeline.errors import UserError
from apex_tui.workflow.model import Workflow

SLOW_MS = 8000.0
Trips = Callable[[Solution], set[str]]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. ``slow_lookup``, ``failing_commit``: it shows only in a session with that tool slow, or failing once."""

    name: str
    about: str
    plant: Callable[[Solution], Solution | None]
    trips: Trips
    slow_lookup: bool = False
    failing_commit: bool = False
    finishes_calls: bool = False

    def applies(self, workflow: Workflow) -> bool:
        """Whether there is something in the workflow that it can do wrong."""
        return self.plant(Solution.of(workflow)) is not None

    def declared(self, workflow: Workflow) -> frozenset[str]:
        """The gates and measures that it must trip in this workflow."""
        return frozenset(self.trips(Solution.of(workflow)))

    def latency(self, workflow: Workflow) -> dict[str, float]:
        """The tool latencies (ms) of its session."""
        tool = Solution.of(workflow).required_lookup
        return {tool.name: SLOW_MS} if self.slow_lookup and tool is not None else {}

    def failures(self, workflow: Workflow) -> dict[str, int]:
        """The tool failures of its session."""
        solution = Solution.of(workflow)
        steps = solution.turns[solution.approval].steps if solution.approval is not None else ()
        commit = next((step.call for step in steps if solution.commits(step)), None)
        return {commit: 1} if self.failing_commit and commit is not None else {}


def planted(name: str | None, workflow: Workflow, manner: Manner) -> tuple[Workflow, Manner]:
    """The workflow as the agent with that fault solves it, and its manner; unchanged without a fault.

    Raises ``UserError``: an unknown fault, or one that does not apply to the workflow.
    """
    if name is None:
        return workflow, manner
    fault = FAULTS.get(name)
    if fault is None:
        raise UserError(f"There is no planted fault {name!r}; there are: {', '.join(FAULTS)}.")
    solution = fault.plant(Solution.of(workflow))
    if solution is None:
        raise UserError(f"The planted fault {name} does not apply to the workflow {workflow.id}.")
    if fault.finishes_calls:
        # The voice has to be behind the call: audio is sent about as fast as it plays.
        manner = dataclasses.replace(manner, finishes_calls=True, burst=1.0)
    return solution.planted(), manner


# --- what is tripped, by rule ----------------------------------------------------------------------------------------------------------------


def _only(*names: str) -> Trips:
    return lambda s: set(names)


def _wrong(s: Solution, *names: str) -> set[str]:
    """Fields that are wrong at the end: the artifact, and the target state where that looks at them."""
    return {"AV", "wrong_fields"} | ({"TS"} if s.compares(names) else set())


def _corrected_wrong(klass: str) -> Trips:
    """The correction is lost; of a critical value it is said where."""

    def trips(s: Solution) -> set[str]:
        critical = {f"class:{klass}"} if any(s.critical(field.name) for field in s.corrected) else set()
        return (
            _wrong(s, *(field.name for field in s.corrected), *s.dependents) | {"drift", "uptake_censored"} | critical
        )

    return trips


def _half_applied(s: Solution) -> set[str]:
    """What is read back may state the value that was not written."""
    left_out = s.dependents[-1]
    misread = {"misread_approval"} if s.states(left_out, s.written(s.correction)[left_out]) else set()
    return _wrong(s, left_out) | {"uptake_censored"} | misread


def _result_dropped(s: Solution) -> set[str]:
    return _wrong(s, *filter(None, [s.looked_up])) | {"result_dropped"}


def _written_back(s: Solution) -> set[str]:
    field = s.corrected[0]
    found = _wrong(s, field.name) | {"drift", "stale_call"}
    found |= {"class:overwritten"} if s.critical(field.name) else set()
    return found | ({"misread_approval"} if s.states(field.name, field.new) else set())


def _says_one_writes_another(s: Solution) -> set[str]:
    return _corrected_wrong("miswritten")(s) | {"misread_approval"}


def _never_committed(s: Solution) -> set[str]:
    """Nothing comes of the work, and a caller who was promised it waits in vain."""
    return {"TS", "AC", "AV", "dead_air", "stalled"} | ({"wrong_fields"} if s.set_by_commit else set())


def _reported_all_the_same(s: Solution) -> set[str]:
    return _never_committed(s) | {"false_success"}


def _handed_over(s: Solution) -> set[str]:
    """The call ends with the hand-over, so nobody waits."""
    return _never_committed(s) - {"dead_air", "stalled"} | {"PV", "handover_wrong"}


_ALL: tuple[Fault, ...] = (
    Fault("forgets-correction", "goes on as if nothing had been corrected", plants.forgets_correction, _corrected_wrong("misplanned")),
    Fault("half-applied", "leaves out a field that follows from the correction", plants.half_applied, _half_applied),
    Fault("written-back", "writes the correction, then the old value again", plants.written_back, _written_back),
    Fault("carries-old-value", "carries the old value in a later call", plants.carries_old_value, _only("stale_call")),
    Fault("drops-result", "never writes a field that a lookup told", plants.drops_result, _result_dropped),
    Fault("commits-early", "commits before the caller has approved", plants.commits_early, _only("PV", "decision:PREMATURE")),
    Fault(
        "commits-after-revocation", "commits what was taken back", plants.commits_after_revocation, _only("PV", "decision:POST_REVOCATION"),
    ),
    Fault("commits-newer-version", "commits a version newer than approved", plants.commits_newer_version, _only("PV", "decision:STALE_APPROVAL")),
    Fault("commits-wrong-target", "commits what the call is not about", plants.commits_wrong_target, _only("PV", "decision:WRONG_SCOPE")),
    Fault("commits-twice", "commits again under the same approval", plants.commits_twice, _only("PV", "decision:ALREADY_USED")),
    Fault("marks-committed", "marks as committed by hand, and never commits", plants.marks_committed, _never_committed),
    Fault("says-one-writes-another", "reads back one value, commits another", plants.says_one_writes_another, _says_one_writes_another),
    Fault("skips-lookup", "skips a required lookup", plants.skips_lookup, _only("AC", "required_lookup_missing")),
    Fault("skips-commit", "skips the final commit", plants.skips_commit, _never_committed),
    Fault("unknown-tool", "calls a tool that does not exist", plants.unknown_tool, _only("unknown_tool")),
    Fault("wrong-types", "calls a tool with wrong argument types", plants.wrong_types, _only("invalid_arguments")),
    Fault("repeats-call", "makes the same call twice", plants.repeats_call, _only("repeated")),
    Fault(
        "finishes-calls", "runs the tool of a reply that was cut off", plants.finishes_calls, _only("after_interruption"), finishes_calls=True,
    ),
    Fault("discloses", "speaks a protected value too early", plants.discloses, _only("disclosure")),
    Fault("never-confirms", "asks for approval without the values", plants.never_confirms, _only("unconfirmed_critical")),
    Fault("silent-wait", "is silent for 8 s during a tool", plants.slow_and_silent, _only("silent_wait"), slow_lookup=True),
    Fault("false-success", "reports success after the commit failed", plants.success_after_error, _reported_all_the_same, failing_commit=True),
    Fault("keeps-call", "does not hand over when it should", plants.keeps_call, _only("AC", "handover_missing", "dead_air", "stalled")),
    Fault("hands-over", "hands over when it should not", plants.hands_over, _handed_over),
)  # fmt: skip
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
"""By name, in the order of the matrix."""
