"""The plan of a campaign: a YAML file that says which sessions to run, and the cells that follow from it.

In here: the schema, its errors in one sentence with the way out, and the order of the cells (all of repetition 0 first, so that a campaign
that is stopped early has looked at everything once). Deliberately not in here: running anything (``campaign``).

    name: nightly
    workflows: [leave-request, payment]
    agents:
      - rehearsal
      - {name: mine, agent: openai, url: "ws://127.0.0.1:8765", options: {llm: [small, large]}}   # one agent per value
    repeats: 3
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from apex_tui.store.meta import mask_addresses
from apex_tui.timeline.errors import UserError, WorkflowError
from apex_tui.timeline.messages import Run
from apex_tui.workflow.files import line_of, parse_yaml, read_text
from apex_tui.workflow.problems import Key, problems, told

MAX_CELLS = 20_000
_TAKEN = frozenset(
    {
        "type",
        "workflow",
        "agent",
        "url",
        "model",
        "seed",
        "profile",
        "virtual",
        "out",
        "sound",
        "max_s",
        "budget_s",
        "regression",
    }
)
"""Fields of the engine's command that the plan sets by keys of its own."""
OPTIONS = tuple(sorted(set(Run.model_fields) - _TAKEN - {"channel"}))
"""What an agent's ``options`` may set beyond those."""
_OPTION = re.compile(r"^--[a-z-]+: ")  # the key of the plan is named instead
PARTS = ("stt", "llm", "tts")
"""Options of a cascade: the address of each part, which may be an axis of its own."""

Count = Annotated[int, Field(ge=1, le=1000, strict=True)]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Scalar = str | int | float | bool


class PlanMistake(UserError):
    """What a plan names cannot be had. ``key``: where in the plan; the file and the line are for who has them (``placed``)."""

    def __init__(self, key: Key, words: str) -> None:
        super().__init__(told(key, words))
        self.key, self.words = key, words


@contextmanager
def about(*key: str | int) -> Iterator[None]:
    """Whatever is wrong in here is a mistake at this key of the plan."""
    try:
        yield
    except PlanMistake:
        raise
    except UserError as error:
        raise PlanMistake(key, _OPTION.sub("", str(error))) from None


def placed(path: Path, mistake: PlanMistake) -> UserError:
    """The mistake with the plan's file and line before it."""
    try:
        return UserError(_sentence(path.name, read_text(path, path.name), mistake.key, mistake.words))
    except WorkflowError:  # the file has gone since it was read
        return mistake


class PlanPart(BaseModel):
    """A part of a plan; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AgentPlan(PlanPart):
    """One agent, or several: every option with a list of values is an axis of its own (the parts of a cascade)."""

    name: Text
    """What tables call it."""
    agent: Text
    url: str | None = None
    model: str | None = None
    options: dict[str, Scalar | dict[str, Scalar] | tuple[Scalar, ...]] = {}
    concurrency: Count | None = None
    """At most so many sessions at a time; without it, ``concurrency.per_agent``."""
    usd_per_minute: Annotated[float, Field(ge=0, strict=True)] | None = None
    """What a minute of it costs, for the cost column; without it there is none."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"name": given, "agent": given}
        if isinstance(given, dict) and "agent" in given and "name" not in given:
            return {**given, "name": given["agent"]}
        return given


class Concurrency(PlanPart):
    """How many sessions run at a time."""

    total: Count = 2
    per_agent: Count = 1


class Retries(PlanPart):
    """A session that fell to the infrastructure is tried again after ``backoff_s`` times the number of the attempt."""

    attempts: Annotated[int, Field(ge=1, le=20, strict=True)] = 3
    backoff_s: Annotated[float, Field(ge=0, le=3600, strict=True)] = 5.0


class Demands(PlanPart):
    """What makes the campaign fail (exit code 1), for each agent that is no rehearsal; ``rehearsals`` holds those to it as well."""

    reliable_at_k: Annotated[float, Field(ge=0, le=1, strict=True)] | None = None
    first_audible_ms: Annotated[float, Field(gt=0, strict=True)] | None = None
    """The median over the sessions' medians must not exceed it."""
    rehearsals: bool = False


class Plan(PlanPart):
    """A whole plan."""

    schema_version: Literal[1] = 1
    name: Text
    workflows: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Ids, paths (relative to the plan), or the single word ``all``."""
    agents: Annotated[tuple[AgentPlan, ...], Field(min_length=1)]
    seeds: Annotated[tuple[Annotated[int, Field(ge=0, strict=True)], ...], Field(min_length=1)] = (1,)
    repeats: Count = 1
    official_seeds: bool = False
    """Every repetition has the same seed, as in the reference: the caller then says the same words each time."""
    channels: Annotated[tuple[Text, ...], Field(min_length=1)] = ("clean",)
    profile: Literal["strict", "official"] = "strict"
    virtual: bool = False
    max_s: Annotated[float, Field(gt=0, strict=True)] | None = None
    """A time budget below the workflows' own: a session that is not done by then is over time, and counts."""
    keep_audio: Literal["all", "failed", "none"] = "all"
    """Whose recordings stay on the disk (3 MB a minute); the logs always do."""
    k: Count = 3
    """The k of Pass@k and Reliable@k."""
    concurrency: Concurrency = Concurrency()
    retries: Retries = Retries()
    minimum: Demands = Demands()

    @model_validator(mode="after")
    def _once(self) -> Self:
        for what, names in (
            ("agents", [a.name for a in self.agents]),
            ("workflows", list(self.workflows)),
            ("seeds", [str(s) for s in self.seeds]),
            ("channels", list(self.channels)),
        ):
            twice = next((n for n in names if names.count(n) > 1), None)
            if twice is not None:
                raise ValueError(f"{what}: {twice} is there twice; name each once (repeats: asks for more sessions)")
        return self


@dataclass(frozen=True, slots=True)
class Contender:
    """One agent with one choice of options. ``parts``: the options that are axes, with their value."""

    label: str
    agent: str
    url: str | None
    model: str | None
    options: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    place: int = 0
    """Its number in the plan's list of agents."""
    concurrency: int | None = None
    usd_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """One session that the plan asks for, before its workflow was read. ``seed`` is the one that it runs with."""

    workflow: str
    contender: Contender
    seed: int
    repeat: int
    channel: str


def read_plan(path: Path) -> Plan:
    """The plan in a file.

    Raises:
        UserError: it cannot be read, or does not fit; one sentence with file, line and key.
    """
    try:
        text = read_text(path, path.name)
        data = parse_yaml(text, path.name, as_written=True)
    except WorkflowError as error:
        raise UserError(str(error)) from None
    if not isinstance(data, dict):
        raise UserError(f"{path.name}: expected keys such as name, workflows and agents; see docs/campaigns.md.")
    try:
        plan = Plan.model_validate(data)
    except ValidationError as error:
        raise UserError(_told(path.name, text, error)) from None
    try:
        for number, agent in enumerate(plan.agents):
            _check_options(number, agent)
    except PlanMistake as mistake:
        raise placed(path, mistake) from None
    size = len(wishes(plan)) if "all" not in plan.workflows else 0
    if size > MAX_CELLS:
        raise UserError(f"{path.name}: {size} sessions are more than {MAX_CELLS}; split the plan.")
    return plan


def _told(name: str, text: str, error: ValidationError) -> str:
    key, words = problems(error)[0]
    near = ""
    if key and "unknown key" in words:
        known = AgentPlan.model_fields if key[0] == "agents" and len(key) > 1 else Plan.model_fields
        close = difflib.get_close_matches(str(key[-1]), known, 1)
        near = f" (did you mean {close[0]}?)" if close else ""
    first, _, rest = words.partition(": ")
    if not key and first in Plan.model_fields:  # a mistake of the whole plan begins with the key that it is about
        key, words = (first,), rest
    return _sentence(name, text, key, words + near)


def _sentence(name: str, text: str, key: Key, words: str) -> str:
    line = line_of(text, key)
    return f"{name}{f':{line}' if line else ''}: {told(key, words.rstrip('.'))}."


def _check_options(number: int, agent: AgentPlan) -> None:
    for option in agent.options:
        if option in OPTIONS or option in PARTS:
            continue
        known = (*OPTIONS, *PARTS)
        near = difflib.get_close_matches(option, known, 1)
        there = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise PlanMistake(("agents", number, "options", option), f"no option of a run; {there}")


def contenders(plan: Plan) -> list[Contender]:
    """The agents of a plan, one for every choice of their options."""
    found: list[Contender] = []
    for place, agent in enumerate(plan.agents):
        axes = {key: value for key, value in agent.options.items() if isinstance(value, tuple)}
        fixed = {key: value for key, value in agent.options.items() if not isinstance(value, tuple)}
        for choice in itertools.product(*axes.values()):
            parts = {axis: mask_addresses(str(value)) for axis, value in zip(axes, choice, strict=True)}
            label = agent.name + (f" [{', '.join(f'{k}={v}' for k, v in parts.items())}]" if parts else "")
            if any(other.label == label for other in found):
                why = f"two choices are both shown as {label!r}: what tells them apart is masked; name two agents"
                raise PlanMistake(("agents", place, "options"), why)
            options = _gathered({**fixed, **dict(zip(axes, choice, strict=True))})
            found.append(
                Contender(
                    label,
                    agent.agent,
                    agent.url,
                    agent.model,
                    options,
                    parts,
                    place,
                    agent.concurrency,
                    agent.usd_per_minute,
                )
            )
    return found


def _gathered(options: dict[str, Any]) -> dict[str, Any]:
    """The options as the engine's command has them: the parts of a cascade under one key."""
    named = {name: str(options.pop(name)) for name in PARTS if name in options}
    return {**options, "parts": {**(options.get("parts") or {}), **named}} if named else options


def seed_of(plan: Plan, base: int, repeat: int) -> int:
    """The seed of a repetition: another for each, in a way that no two base seeds ever share one; with ``official_seeds`` the base itself."""
    if plan.official_seeds:
        return base
    return base + repeat * (max(plan.seeds) - min(plan.seeds) + 1)


def wishes(plan: Plan, workflows: tuple[str, ...] | None = None) -> list[Wish]:
    """Every session of the plan in the order in which it is run. ``workflows`` replaces the plan's list (for ``all``)."""
    names = plan.workflows if workflows is None else workflows
    agents = contenders(plan)
    return [
        Wish(workflow, agent, seed_of(plan, base, repeat), repeat, channel)
        for repeat in range(plan.repeats)
        for base in plan.seeds
        for channel in plan.channels
        for workflow in names
        for agent in agents
    ]
