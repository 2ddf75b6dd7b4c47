"""A failed session as a regression: a small YAML file that says how to come to the same place again, and what must hold there.

In here: the scenario's schema, and making one from a recording. Pinned are only the caller's decisions that the failure needed: the turns and
changes of mind in the causal past of its evidence, with the moment at which each interruption was spoken. Deliberately not in here: playing
scenarios (``regress_run``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from apex_tui.score.judge import score_recording
from apex_tui.score.verdict import Score
from apex_tui.store.files import write_json
from apex_tui.store.layout import slug
from apex_tui.store.meta import SessionMeta
from apex_tui.store.recording import Recording
from apex_tui.timeline.caller_facts import CallerPlanned, CallerTurnStarted, EventArmed, EventFired
from apex_tui.timeline.errors import UserError, WorkflowError
from apex_tui.timeline.events import Event
from apex_tui.trials.tables import clean
from apex_tui.workflow.files import line_of, parse_yaml, read_text
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.problems import problems, told
from apex_tui.workflow.snapshot import digest, to_json

SUFFIX = ".scenario.yaml"


class ScenarioPart(BaseModel):
    """A part of a scenario; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Pin(ScenarioPart):
    """One decision of the caller that the failure needed. ``delivered`` and ``at_played_ms`` are those of a change of mind."""

    plan: str
    act: str
    event: str | None = None
    delivered: Literal["barge_in", "in_turn", "overlap", "silent"] | None = None
    at_played_ms: float | None = None
    """The point inside the agent's reply at which its words were due: the replay's caller has this one only."""


class Expectation(ScenarioPart):
    """What failed and must hold. ``id``: ``artifact.field`` of a field, the check's id, or nothing for the whole gate."""

    kind: Literal["field", "check", "gate"]
    gate: Literal["TS", "PV", "AC", "AV"]
    id: str = ""
    was: str = ""
    """The reason it failed with."""

    @property
    def title(self) -> str:
        """For a line of a report."""
        return self.id or f"gate {self.gate}"


class Scenario(ScenarioPart):
    """A whole scenario. ``workflow`` is an id of ours, or the snapshot beside the file."""

    schema_version: Literal[1] = 1
    name: Annotated[str, Field(min_length=1, max_length=200)]
    workflow: str
    workflow_digest: str
    agent: str
    url: str | None = None
    model: str | None = None
    options: dict[str, Any] = {}
    """Further fields of the run's command, such as tool_latency."""
    dialect_sha256: str | None = None
    """Of the user's own dialect of the agent; None: the dialect was one of ours."""
    seed: int
    channel: str = "clean"
    profile: Literal["strict", "official"] = "strict"
    virtual: bool = False
    max_s: float | None = None
    caller: tuple[Pin, ...] = ()
    expect: Annotated[tuple[Expectation, ...], Field(min_length=1)]
    source_session: str = ""


_KEPT = (
    "tool_latency",
    "tool_failures",
    "budget_s",
    "parts",
    "serve_tools",
    "wire_tools",
    "probe_file",
    "profile_file",
)
"""Parameters of a session that its regression is run with; files must still lie where they lay."""


def scenario_of(recording: Recording) -> Scenario:
    """The scenario of a failed session.

    Raises:
        UserError: the session did not fail, or judges nobody.
        RecordingError: its workflow.json is not the one that it ran.
    """
    score = score_recording(recording)
    if score.validity != "scored":
        raise UserError(
            f"{recording.meta.session} judges nobody ({score.validity}): only a scored session can be a regression"
        )
    if recording.meta.caller == "microphone":
        raise UserError(
            f"{recording.meta.session} had a person at the microphone: what they said cannot be said again by the caller"
        )
    if score.directed:
        raise UserError(f"{recording.meta.session} was directed: what a person made the caller say is no scenario")
    expected = failed_expectations(score)
    if not expected:
        raise UserError(f"{recording.meta.session} did not fail: there is nothing to hold an agent to")
    meta = recording.meta
    known = meta.parameters
    options = {key: known[key] for key in _KEPT if known.get(key)}
    if known.get("instructions", "neutral") != "neutral":
        options["instructions"] = known["instructions"]
    return Scenario(
        name=f"{meta.workflow}-{slug(meta.agent)}-{meta.seed}-{slug(expected[0].id or expected[0].gate)}",
        workflow=meta.workflow,
        workflow_digest=meta.workflow_digest,
        agent=meta.agent,
        url=_address(meta),
        model=known.get("model"),
        options=options,
        dialect_sha256=known.get("dialect_sha256"),
        seed=meta.seed,
        channel=str(known.get("channel") or "clean"),
        profile="official" if meta.profile == "official" else "strict",
        virtual=meta.virtual,
        max_s=known.get("max_s"),
        caller=pins_of(recording.events, _evidence(score, expected), [e.id for e in expected if e.kind == "field"]),
        expect=expected,
        source_session=meta.session,
    )


def _address(meta: SessionMeta) -> str | None:
    """The address that the session was given; None: its agent's own. Older recordings hold only the one that was connected."""
    if "url" in meta.parameters:
        given = meta.parameters["url"]
        return given if isinstance(given, str) else None
    url = meta.agent_url
    return url.partition("?")[0] if url and url.startswith(("ws:", "wss:", "http:", "https:")) else None


def failed_expectations(score: Score) -> tuple[Expectation, ...]:
    """What failed, as finely as the verdict tells it: fields, then checks, and a gate only where none of its checks is to blame."""
    fields = {f"{f.artifact}.{f.field}": f for f in score.fields if f.passed is not True or (f.stale and f.required)}
    out: list[Expectation] = []
    for gate in score.gates:
        if gate.passed:
            continue
        blamed = [check for check in gate.checks if check.passed is not True]
        for check in blamed:
            kind: Literal["field", "check"] = "field" if check.id in fields else "check"
            out.append(Expectation(kind=kind, gate=gate.gate, id=check.id, was=check.reason))
        if not blamed:
            out.append(Expectation(kind="gate", gate=gate.gate, was=gate.reason))
    return tuple(sorted(out, key=lambda e: ("field", "check", "gate").index(e.kind)))


def _evidence(score: Score, expected: Iterable[Expectation]) -> set[int]:
    wanted = {(e.gate, e.id) for e in expected}
    seqs = {s for g in score.gates for c in g.checks if (g.gate, c.id) in wanted for s in c.evidence}
    names = {e.id for e in expected}
    return seqs | {s for f in score.fields if f"{f.artifact}.{f.field}" in names for s in f.evidence}


def pins_of(events: Sequence[Event], evidence: Iterable[int], fields: Iterable[str] = ()) -> tuple[Pin, ...]:
    """The caller's decisions that the failure needed, in order: the turns that its evidence follows from, and those that stated or changed
    one of the failed ``fields``. What the agent asked for in between is its own affair: an agent with another order is still comparable.
    """
    wanted = set(fields)
    needed = _turns_behind(events, evidence)
    fired = {cause: e.fact for e in events if isinstance(e.fact, EventFired) for cause in e.causes}
    points = {e.fact.event: e.fact.at_played_ms for e in events if isinstance(e.fact, EventArmed)}
    spoken = {e.fact.turn: e for e in events if isinstance(e.fact, CallerTurnStarted)}
    told: set[str] = set()
    out: list[Pin] = []
    for event in events:
        plan = event.fact
        turn = spoken.get(plan.turn) if isinstance(plan, CallerPlanned) else None
        if not isinstance(plan, CallerPlanned) or turn is None or not isinstance(turn.fact, CallerTurnStarted):
            continue
        news = fired.get(turn.seq)
        about = wanted & ({*turn.fact.values} | set(news.repairs if news is not None else ()))
        # What the caller had to say twice came of the failure; an agent that does better never hears it.
        again = bool(plan.facts) and news is None and told.issuperset(plan.facts)
        told.update(plan.facts)
        if (plan.turn in needed or about) and not again:
            barged = news is not None and news.delivered == "barge_in"
            out.append(
                Pin(
                    plan=plan.plan,
                    act=plan.act,
                    event=None if news is None else news.event,
                    delivered=None if news is None else news.delivered,
                    at_played_ms=points.get(news.event) if news is not None and barged else None,
                )
            )
    return tuple(out)


def _turns_behind(events: Sequence[Event], evidence: Iterable[int]) -> set[int]:
    """Caller turns from which some evidence follows; what made the caller say them is not followed further."""
    by_seq = {event.seq: event for event in events}
    turns, seen, waiting = set[int](), set[int](), list(evidence)
    while waiting:
        seq = waiting.pop()
        event = by_seq.get(seq)
        if event is None or seq in seen:
            continue
        seen.add(seq)
        if isinstance(event.fact, CallerTurnStarted | CallerPlanned):
            turns.add(event.fact.turn)
        else:
            waiting += event.causes
    return turns


def write_scenario(scenario: Scenario, recording: Recording, folder: Path) -> Path:
    """Write a scenario below ``folder``, with the workflow's snapshot where our library does not hold the very same one. Returns the file.

    Raises:
        UserError: the disk refuses.
    """
    stem = f"{slug(scenario.name)}-{hashlib.sha256(scenario.source_session.encode()).hexdigest()[:6]}"
    path = folder / f"{stem}{SUFFIX}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not in_library(scenario):
            snapshot = f"{stem}.workflow.json"
            write_json(folder / snapshot, to_json(recording.workflow))
            scenario = scenario.model_copy(update={"workflow": snapshot})
        content = scenario.model_dump(mode="json", exclude_defaults=True)
        head = clean(f"# {scenario.expect[0].title}: {scenario.expect[0].was}")  # one line: the comment ends with it
        text = yaml.safe_dump({"schema_version": 1, **content}, sort_keys=False, allow_unicode=True, width=140)
        path.write_text(f"{head}\n{text}", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}; name another folder with --out"
        ) from None
    return path


def in_library(scenario: Scenario) -> bool:
    """Whether our library holds the very workflow that the session ran."""
    try:
        return digest(find_workflow(scenario.workflow)) == scenario.workflow_digest
    except WorkflowError:
        return False


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file.

    Raises:
        UserError: it cannot be read or does not fit; one sentence with file, line and key.
    """
    try:
        text = read_text(path, path.name)
        data = parse_yaml(text, path.name, as_written=True)
        return Scenario.model_validate(data)
    except WorkflowError as error:
        raise UserError(str(error)) from None
    except ValidationError as error:
        key, wrong = problems(error)[0]
        line = line_of(text, key)
        raise UserError(f"{path.name}{f':{line}' if line else ''}: {told(key, wrong)}.") from None
