"""Checks of a workflow that need more than reading it: the reference succeeds under several seeds and in both profiles, agents that do nothing or
take a short cut do not, no fact is spoken before its reveal rule allows, and the outcome looks at every value.

The static checks come from the workflow floor. Every session is a task of its own, so that several processes can share them. Deliberately not in
here: planted faults (``matrix``), and how recipes differ from each other (``similar``, ``balance``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apex_tui.engine.own_speech import clips_of
from apex_tui.engine.speech import Speech, spec_of, tones_of
from apex_tui.score.verdict import Score
from apex_tui.timeline.agent_facts import AgentActed
from apex_tui.timeline.caller_facts import CallerTurnStarted, EventFired
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.events import Event
from apex_tui.trials.mutations import unnoticed
from apex_tui.trials.shortcuts import ABOUT, SHORTCUTS, reached
from apex_tui.trials.text_control import SILENT as SILENT_TURNS
from apex_tui.trials.text_control import run_text
from apex_tui.trials.throwaway import Profile, play, spread
from apex_tui.trials.unsaid import said_too_much, without_wording
from apex_tui.workflow.check import check as check_statically
from apex_tui.workflow.lines import spoken_lines
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official_lint import lint
from apex_tui.workflow.outcome_model import Reference, ReferenceTurn

SEEDS = (1, 2, 3)
PROFILES: tuple[Profile, ...] = ("strict", "official")
AFTER_CHANGE = "the caller was waiting for the answer to an earlier change"
"""What the log says of a correction that follows another."""
SILENT = Reference(turns=(ReferenceTurn(after="(nothing that a caller says)"),))
"""What an agent follows that does nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check, in one sentence."""

    check: str
    ok: bool
    detail: str


Task = Callable[[], list[Finding]]
"""One part of the check of a workflow; it can be pickled, and raises nothing for a workflow that cannot be run."""


def check_workflow(workflow: Workflow, seeds: Sequence[int] = SEEDS, *, tones: bool = False) -> list[Finding]:
    """Every check of one workflow. A workflow that cannot even be run gives a finding, not an exception.

    ``tones``: its speech is not rendered yet; tones of about the right length stand in for it.
    """
    return [finding for task in tasks_of(workflow, seeds, tones=tones) for finding in task()]


def check_workflows(
    workflows: Iterable[Workflow], seeds: Sequence[int] = SEEDS, *, tones: bool = False, workers: int | None = None
) -> Iterator[tuple[Workflow, list[Finding]]]:
    """The findings of several workflows in their order, a part of the check at a time. ``workers``: processes, as in ``throwaway.spread``."""
    chosen = list(workflows)
    tasks = [tasks_of(workflow, seeds, tones=tones) for workflow in chosen]
    results = spread(_run, [task for rows in tasks for task in rows], workers)
    for workflow, rows in zip(chosen, tasks, strict=True):
        for _ in rows:
            yield workflow, next(results)


def _run(task: Task) -> list[Finding]:
    return task()


def tasks_of(workflow: Workflow, seeds: Sequence[int] = SEEDS, *, tones: bool = False) -> list[Task]:
    """The parts of the check, in the order in which they are told."""
    found: list[Task] = [partial(_static, workflow)]
    if workflow.source == "recipe" and workflow.folder is not None and not tones:
        found.append(partial(_recorded, workflow, workflow.folder))
    found += [partial(_reference, workflow, seed, profile, tones) for profile in PROFILES for seed in seeds]
    found.append(partial(_do_nothing, workflow, tones))
    if workflow.source == "official":
        return [*found, partial(_taxonomy, workflow), partial(check_text, workflow, seeds)]
    return [*found, *(partial(_shortcut, workflow, name, tones) for name in SHORTCUTS)]


def check_text(package: Workflow, seeds: Sequence[int] = SEEDS) -> list[Finding]:
    """The reference's own check of a package: its solution succeeds in the text condition, and an agent that does nothing does not."""
    return [*(_text(package, seed) for seed in seeds), _text_silent(package)]


def reference(workflow: Workflow, seed: int = 1, profile: Profile = "strict", *, tones: bool = False) -> Finding:
    """Whether the reference succeeds in one session, which tells nothing too early."""
    return _played(workflow, seed, profile, tones)[0]


def _static(workflow: Workflow) -> list[Finding]:
    found = check_statically(workflow)
    if workflow.source == "recipe":
        found += [*said_too_much(workflow), *without_wording(workflow)]
    return [Finding("holds together", False, sentence) for sentence in found] or [
        Finding("holds together", True, "wordings, reveal rules, references and gold agree")
    ]


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


def _recorded(workflow: Workflow, folder: Path) -> list[Finding]:
    """Whose voice says the caller's lines, where a person's clips lie beside the recipe; a clip that is damaged fails it."""
    lines = [(line, spec_of(line)) for line in spoken_lines(workflow) if line.role == "caller"]
    try:
        who = Counter(voice for voice, _ in clips_of(folder, lines).values())
    except ApexError as error:
        return [Finding("recorded caller", False, str(error))]
    others = [
        f"{who[voice]} by {name}" for voice, name in (("bank", "the speech bank"), ("tones", "tones")) if who[voice]
    ]
    told = f"{who['recorded']} of {len(lines)} lines are the person's own" + (
        f", {' and '.join(others)}" if others else ""
    )
    return [Finding("recorded caller", True, told)]


def _reference(workflow: Workflow, seed: int, profile: Profile, tones: bool) -> list[Finding]:
    """The reference's session; the first of a recipe is judged again with every gold value changed."""
    found, events = _played(workflow, seed, profile, tones)
    if not found.ok or workflow.source != "recipe" or (seed, profile) != (SEEDS[0], PROFILES[0]):
        return [found]
    missed = unnoticed(workflow, events)
    words = (
        f"not noticed when it is changed: {', '.join(missed)}"
        if missed
        else "the reference fails with any of them changed"
    )
    return [found, Finding("gold values", not missed, words)]


def _played(workflow: Workflow, seed: int, profile: Profile, tones: bool) -> tuple[Finding, list[Event]]:
    check = f"reference, {profile}, seed {seed}"
    try:
        score, events = play(workflow, seed, profile=profile, speech=_speech(workflow, seed, tones))
    except ApexError as error:
        return Finding(check, False, str(error)), []
    wrong = [*spoken_too_early(workflow, events), *not_interrupting(workflow, events)]
    if wrong:
        return Finding(check, False, wrong[0]), events
    if score.success:
        words = f"succeeds in {score.duration_ms / 1000:.0f} s with {score.tools.calls} tool calls"
        return Finding(check, True, words), events
    failed = "; ".join(f"{gate.gate}: {gate.reason}" for gate in score.gates if not gate.passed)
    return Finding(check, False, f"does not succeed ({score.validity}, {score.outcome}): {failed}"), events


def _do_nothing(workflow: Workflow, tones: bool) -> list[Finding]:
    idle = workflow.model_copy(update={"reference": SILENT})
    return [_fails(workflow, "do-nothing agent", "doing nothing", partial(play, idle, speech=_speech(idle, 1, tones)))]


def _shortcut(workflow: Workflow, name: str, tones: bool) -> list[Finding]:
    played = partial(reached, workflow, name, _speech(workflow, 1, tones))
    return [_fails(workflow, ABOUT[name], "a short cut", played)]


def _fails(workflow: Workflow, check: str, by: str, played: Callable[[], tuple[Score, list[Event]]]) -> Finding:
    """An agent that must not reach the outcome, however its session ends."""
    try:
        score, events = played()
    except ApexError as error:
        return Finding(check, False, str(error))
    if all(gate.passed for gate in score.gates):
        return Finding(check, False, f"succeeds: the outcome can be reached by {by}")
    early = spoken_too_early(workflow, events)
    if early:
        return Finding(check, False, early[0])
    passed = [gate.gate for gate in score.gates if gate.passed]
    return Finding(check, True, f"fails, as it must ({score.outcome}; gates that hold: {', '.join(passed) or 'none'})")


def _speech(workflow: Workflow, seed: int, tones: bool) -> Speech | None:
    return tones_of(workflow, seed) if tones else None


def not_interrupting(workflow: Workflow, events: Sequence[Event]) -> list[str]:
    """Corrections of a recipe that were not spoken into the agent's words, one sentence each.

    One that follows another may wait for the answer to it, as a person would.
    """
    if workflow.source != "recipe":
        return []
    notes = {e.fact.event: e.fact.note for e in events if isinstance(e.fact, EventFired)}
    out = []
    for event in workflow.events:
        if event.type == "MID_SPEECH_CORRECTION" and event.delivery == "BARGE_IN":
            note = notes.get(event.id, "it never came")
            if note not in ("", AFTER_CHANGE):
                out.append(f"the correction {event.id} does not break into the agent's words: {note}")
    return out


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
