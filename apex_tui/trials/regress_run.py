"""Plays scenarios again: does what failed then hold now?

In here: running a scenario with its caller pinned, judging the outcome, and the JUnit file for CI. An agent that does not come to the pinned
place (the caller never said there what the failure needed) is *not comparable*: neither passed nor failed. Deliberately not in here: making
scenarios (``regress``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from pydantic import ValidationError

from apex_tui.agents.dialects import default_user_file, own_dialect
from apex_tui.agents.registry import check_name
from apex_tui.engine.headless import run_headless
from apex_tui.engine.speech import need_speech
from apex_tui.score.verdict import Score
from apex_tui.store.files import Unreadable, read_json
from apex_tui.timeline.caller_facts import CallerPlanned, CallerTurnStarted, EventFired
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK, ApexError, BankError, UserError, WorkflowError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.trials.regress import SUFFIX, Expectation, Pin, Scenario, read_scenario
from apex_tui.trials.tables import clean
from apex_tui.workflow.library import find_workflow, own_place
from apex_tui.workflow.model import UNCORRECTED, Workflow
from apex_tui.workflow.snapshot import digest, from_json

_OF_THE_AGENT = ("parts", "profile_file")
"""Options that say nothing about another agent."""
Status = Literal["passed", "failed", "not comparable", "invalid"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one scenario went. ``why`` is one sentence; ``failed`` what failed again; ``folder`` the new session, if one was begun."""

    name: str
    status: Status
    why: str
    failed: tuple[str, ...] = ()
    folder: Path | None = None
    seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Instead:
    """Another agent than the one that failed."""

    agent: str | None = None
    url: str | None = None
    model: str | None = None


def run_scenarios(folder: Path, out: Path, instead: Instead, narrate: Callable[[str], None]) -> list[Outcome]:
    """Play every scenario in ``folder`` (or the one file), in the order of their names.

    Raises:
        UserError: there is none, or no agent of the name that is to play instead.
    """
    files = [folder] if folder.is_file() else sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    if not files:
        raise UserError(f"{folder}: no scenario (*{SUFFIX}) is there; `apex-tui regress SESSION --out DIR` makes one")
    if instead.agent is not None:
        check_name(instead.agent)
    found: list[Outcome] = []
    for path in files:
        found.append(play(path, out, instead))
        narrate(
            f"{found[-1].status:<14} {clean(found[-1].name)}: {found[-1].why}"
        )  # whole: the way out stands at its end
    return found


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """1 when any fails again; 3 when none does but some could not be judged; else 0."""
    if any(o.status == "failed" for o in outcomes):
        return EXIT_FAILED
    return EXIT_INVALID if any(o.status != "passed" for o in outcomes) else EXIT_OK


def play(path: Path, out: Path, instead: Instead) -> Outcome:
    """Play one scenario; whatever goes wrong is its outcome, never an exception."""
    try:
        scenario = read_scenario(path)
        other = other_dialect(scenario) if instead.agent is None else None
        if other is not None:
            return Outcome(scenario.name, "not comparable", other)
        workflow, note = workflow_of(scenario, path.parent)
        events: list[Event] = []

        def keep(item: Event | AnyNotice) -> None:
            if isinstance(item, Event):
                events.append(item)

        command = command_of(scenario, out, instead)
        result = run_headless(command, keep, workflow=pinned(workflow, scenario.caller))
    except ApexError as error:
        return Outcome(path.name.removesuffix(SUFFIX), "invalid", str(error))
    except Exception as error:  # one scenario that breaks must not hide what the others say
        return Outcome(
            path.name.removesuffix(SUFFIX), "invalid", f"the session failed: {type(error).__name__}: {error}"
        )
    judged = judge(scenario, result.score, events)
    return Outcome(
        scenario.name, judged.status, judged.why, judged.failed, result.folder, result.score.duration_ms / 1000, note
    )


def workflow_of(scenario: Scenario, home: Path) -> tuple[Workflow, str]:
    """The workflow to run, and a note when it is no longer the one that failed.

    Raises:
        UserError: it does not exist, or its snapshot cannot be read.
    """
    if scenario.workflow.endswith(".workflow.json"):
        try:
            return spoken(from_json(read_json(home / Path(scenario.workflow).name), scenario.workflow)), ""
        except Unreadable as error:
            raise UserError(f"{scenario.workflow} {error}: make the scenario again from its session") from None
    workflow = find_workflow(scenario.workflow)
    changed = digest(workflow) != scenario.workflow_digest
    return workflow, "the workflow has changed since the session that failed" if changed else ""


def spoken(kept: Workflow) -> Workflow:
    """A kept workflow with the speech that is there for it: the bank's, or the clips beside the recipe of its id.

    Raises:
        UserError: there is none; a scenario holds no voices.
    """
    try:
        need_speech(kept)
        return kept
    except BankError:
        pass
    try:
        folder = find_workflow(kept.id).folder
    except WorkflowError:
        folder = None
    if folder is None:
        name, place = kept.id.removesuffix(UNCORRECTED), own_place()
        raise UserError(
            f"a scenario holds no voices, and the speech of {kept.id} is not in your own place: copy its recipe and its clips to "
            f"{place / name / name}.yaml and {place / name / name}.speech"
        )
    return kept.found_in(folder)


def other_dialect(scenario: Scenario) -> str | None:
    """Why the agent does not speak as it did when it failed, in one sentence; None: it does, or its dialect is one of ours."""
    if scenario.dialect_sha256 is None:
        return None
    file = scenario.options.get("profile_file")
    where = Path(str(file)) if file is not None else None
    try:
        now = own_dialect(scenario.agent, where)
    except UserError as error:
        return f"the dialect of {scenario.agent} is not there as it was when the agent failed: {error}"
    if now == scenario.dialect_sha256:
        return None
    file = where or default_user_file()
    return f"{file} describes {scenario.agent} in another way than when it failed: put that back, or make the scenario again"


def command_of(scenario: Scenario, out: Path, instead: Instead) -> Run:
    """The run that a scenario asks for. Raises ``UserError``: an option has a value that it cannot have."""
    other = instead.agent is not None
    options = {key: value for key, value in scenario.options.items() if not (other and key in _OF_THE_AGENT)}
    try:
        return Run.model_validate(
            {
                **options,
                "workflow": scenario.workflow,
                "agent": instead.agent or scenario.agent,
                "url": instead.url if other or instead.url else scenario.url,
                "model": instead.model if other or instead.model else scenario.model,
                "seed": scenario.seed,
                "profile": scenario.profile,
                "virtual": scenario.virtual and (instead.agent or scenario.agent).startswith("rehearsal"),
                "channel": scenario.channel,
                "max_s": scenario.max_s,
                "regression": scenario.name,
                "sound": "none",
                "out": str(out),
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{scenario.name}: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}") from None


def pinned(workflow: Workflow, pins: Sequence[Pin]) -> Workflow:
    """The workflow with each pinned interruption due at the very played millisecond at which it was then."""
    points = {pin.event: pin.at_played_ms for pin in pins if pin.event and pin.at_played_ms is not None}
    if not points:
        return workflow
    events = tuple(
        event.model_copy(update={"start_window_ms": (round(at), round(at))})
        if (at := points.get(event.id)) is not None and math.isfinite(at)
        else event
        for event in workflow.events
    )
    return workflow.model_copy(update={"events": events})


@dataclass(frozen=True, slots=True)
class Judged:
    """A scenario's status, why, and what failed again."""

    status: Status
    why: str
    failed: tuple[str, ...] = ()


def judge(scenario: Scenario, score: Score, events: Sequence[Event]) -> Judged:
    """Hold a new session to a scenario."""
    if score.validity != "scored":
        return Judged("invalid", f"the session judges nobody: {score.outcome}")
    left = left_path(scenario.caller, events)
    if left is not None:
        return Judged("not comparable", left)
    broken = [(e, why) for e in scenario.expect if (why := _broken(e, score)) is not None]
    if broken:
        names = tuple(e.title for e, _ in broken)
        return Judged(
            "failed", f"{broken[0][1]}" + (f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""), names
        )
    return Judged("passed", f"{', '.join(e.title for e in scenario.expect[:3])} now as expected")


def left_path(pins: Sequence[Pin], events: Sequence[Event]) -> str | None:
    """The first pinned decision that the caller did not come to make, as a sentence; None when all were made, in their order."""
    fired = {cause: e.fact for e in events if isinstance(e.fact, EventFired) for cause in e.causes}
    spoken = {e.fact.turn: e.seq for e in events if isinstance(e.fact, CallerTurnStarted)}
    planned = [e.fact for e in events if isinstance(e.fact, CallerPlanned) and e.fact.turn in spoken]
    made = iter([(p.plan, fired.get(spoken[p.turn])) for p in planned])
    for pin in pins:
        for plan, news in made:
            if plan != pin.plan:
                continue
            if pin.delivered is not None and (news is None or news.delivered != pin.delivered):
                how = "as part of an answer" if news is None else news.delivered.replace("_", " ")
                return (
                    f"the caller said {pin.plan} {how}, and the failure needed it as {pin.delivered.replace('_', ' ')}"
                )
            break
        else:
            return f"the agent left the pinned path: the caller never came to say {pin.plan} in its place"
    return None


def _broken(expected: Expectation, score: Score) -> str | None:
    """Why an expectation does not hold, or None. A check that this workflow no longer has is held to its gate."""
    gate = score.gate(expected.gate)
    if expected.kind != "gate":
        check = next((c for c in gate.checks if c.id == expected.id), None)
        if check is not None:
            return None if check.passed is True else check.reason
    return None if gate.passed else gate.reason


def junit(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as a JUnit file: what failed again is a failure, what could not be judged is an error or skipped."""
    count = {status: sum(o.status == status for o in outcomes) for status in ("failed", "invalid", "not comparable")}
    suite = ElementTree.Element(
        "testsuite", name="apex-tui regress", tests=str(len(outcomes)), failures=str(count["failed"]),
        errors=str(count["invalid"]), skipped=str(count["not comparable"]),
        time=f"{sum(o.seconds for o in outcomes):.3f}",
    )  # fmt: skip
    kinds = {"failed": "failure", "invalid": "error", "not comparable": "skipped"}
    for o in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname="apex-tui.regress", name=clean(o.name), time=f"{o.seconds:.3f}"
        )
        if o.status in kinds:
            ElementTree.SubElement(case, kinds[o.status], message=clean(o.why)).text = clean(", ".join(o.failed))
        if o.folder is not None:
            ElementTree.SubElement(case, "system-out").text = clean(o.folder)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
