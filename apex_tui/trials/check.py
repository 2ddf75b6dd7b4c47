"""Checks of a workflow that need sessions: the reference succeeds under several seeds and in both profiles, a do-nothing agent does not, and
no fact is spoken before its reveal rule allows.

The static checks come from the workflow floor. Sessions run in virtual time, in a folder that is thrown away.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from apex_tui.engine.headless import run_headless
from apex_tui.engine.speech import tones_of
from apex_tui.score.verdict import Score
from apex_tui.timeline.agent_facts import AgentActed
from apex_tui.timeline.caller_facts import CallerTurnStarted, EventFired
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.trials.text_control import SILENT as SILENT_TURNS
from apex_tui.trials.text_control import run_text
from apex_tui.workflow.check import check as check_statically
from apex_tui.workflow.model import Reference, ReferenceTurn, Workflow
from apex_tui.workflow.official_lint import lint

SEEDS = (1, 2, 3)
Profile = Literal["strict", "official"]
SILENT = Reference(turns=(ReferenceTurn(after="(nothing that a caller says)"),))
"""What an agent follows that does nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check, in one sentence."""

    check: str
    ok: bool
    detail: str


def check_workflow(workflow: Workflow, seeds: Sequence[int] = SEEDS, *, tones: bool = False) -> list[Finding]:
    """Every check of one workflow. A workflow that cannot even be run gives a finding, not an exception.

    ``tones``: its speech is not rendered yet; tones of about the right length stand in for it.
    """
    found = check_statically(workflow)
    out = [Finding("holds together", False, sentence) for sentence in found] or [
        Finding("holds together", True, "wordings, reveal rules, references and gold agree")
    ]
    profiles: tuple[Profile, ...] = ("strict", "official")
    for profile in profiles:
        out += [_reference(workflow, seed, profile, tones) for seed in seeds]
    out.append(_do_nothing(workflow, tones))
    if workflow.source == "official":
        out += [*_taxonomy(workflow), *check_text(workflow, seeds)]
    return out


def check_text(package: Workflow, seeds: Sequence[int] = SEEDS) -> list[Finding]:
    """The reference's own check of a package: its solution succeeds in the text condition, and an agent that does nothing does not."""
    return [*(_text(package, seed) for seed in seeds), _text_silent(package)]


def _taxonomy(workflow: Workflow) -> list[Finding]:
    """The lint of the format: errors fail the package, warnings are told."""
    found = lint(workflow.folder) if workflow.folder is not None else []
    return [Finding("taxonomy", not row.error, row.sentence) for row in found]


def _text(workflow: Workflow, seed: int) -> Finding:
    check = f"text condition (C0), reference, seed {seed}"
    try:
        run = run_text(workflow, seed=seed)
    except ApexError as error:
        return Finding(check, False, str(error))
    if run.leaks:
        plan, fact = run.leaks[0]
        return Finding(check, False, f"the plan {plan} tells {fact} before anything revealed it")
    failed = "; ".join(f"{gate.gate}: {gate.reason}" for gate in run.gates if not gate.passed)
    if failed or run.outcome != "SUCCESS":
        return Finding(check, False, f"does not succeed ({run.outcome}): {failed or 'a plan has no wording'}")
    return Finding(check, True, f"succeeds in {run.turns} turns, {len(run.rows)} rows")


def _text_silent(workflow: Workflow) -> Finding:
    check = "text condition (C0), do-nothing agent"
    try:
        run = run_text(workflow, SILENT_TURNS)
    except ApexError as error:
        return Finding(check, False, str(error))
    words = "succeeds: the outcome can be reached by doing nothing" if run.passed else "fails, as it must"
    return Finding(check, not run.passed, words)


def _reference(workflow: Workflow, seed: int, profile: Profile, tones: bool) -> Finding:
    check = f"reference, {profile}, seed {seed}"
    try:
        score, events = _session(workflow, seed, profile, tones)
    except ApexError as error:
        return Finding(check, False, str(error))
    early = spoken_too_early(workflow, events)
    if early:
        return Finding(check, False, early[0])
    if score.success:
        return Finding(check, True, f"succeeds in {score.duration_ms / 1000:.0f} s with {score.tools.calls} tool calls")
    failed = "; ".join(f"{gate.gate}: {gate.reason}" for gate in score.gates if not gate.passed)
    return Finding(check, False, f"does not succeed ({score.validity}, {score.outcome}): {failed}")


def _do_nothing(workflow: Workflow, tones: bool) -> Finding:
    check = "do-nothing agent"
    try:
        score, events = _session(workflow.model_copy(update={"reference": SILENT}), 1, "strict", tones)
    except ApexError as error:
        return Finding(check, False, str(error))
    passed = [gate.gate for gate in score.gates if gate.passed]
    if score.success:
        return Finding(check, False, "succeeds: the outcome can be reached by doing nothing")
    early = spoken_too_early(workflow, events)
    if early:
        return Finding(check, False, early[0])
    return Finding(check, True, f"fails, as it must ({score.outcome}; gates that hold: {', '.join(passed) or 'none'})")


def _session(workflow: Workflow, seed: int, profile: Profile, tones: bool) -> tuple[Score, list[Event]]:
    events: list[Event] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    with tempfile.TemporaryDirectory(prefix="apex-tui-check-") as folder:
        command = Run(workflow=workflow.id, seed=seed, profile=profile, virtual=True, sound="none", out=folder)
        speech = tones_of(workflow, seed) if tones else None
        result = run_headless(command, keep, workflow=workflow, speech=speech)
    return result.score, events


def spoken_too_early(workflow: Workflow, events: Sequence[Event]) -> list[str]:
    """Facts that the caller spoke before anything allowed it, one sentence each."""
    acts: set[str] = set()
    fired: set[str] = set()
    # A correction takes effect with its first audible sample, so its event may stand just behind the turn that speaks it.
    fired_by_turn = {cause: e.fact.event for e in events if isinstance(e.fact, EventFired) for cause in e.causes}
    out: list[str] = []
    for event in events:
        match event.fact:
            case AgentActed(key=key):
                acts.add(key)
            case EventFired(event=name):
                fired.add(name)
            case CallerTurnStarted() as turn:
                now = fired | ({fired_by_turn[event.seq]} if event.seq in fired_by_turn else set())
                for name in turn.facts:
                    fact = workflow.fact(name)
                    allowed = fact is not None and (
                        fact.reveal.may_volunteer
                        or bool(acts.intersection(fact.reveal.agent_acts))
                        or bool(now.intersection(fact.reveal.events))
                        or workflow.flow.start in fact.reveal.on_state
                    )
                    if not allowed:
                        out.append(
                            f"the caller says {name} at {turn.onset_ms / 1000:.1f} s, before anything revealed it"
                        )
    return out
