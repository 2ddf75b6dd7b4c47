"""The hand-written agent lines, and how the observer is measured on them: counts of (line, key) pairs, by kind of act."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from apex_tui.caller.observer import ActObserver, Reading
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.model import Workflow

KINDS = ("ASK", "CONFIRM", "MISREAD", "REQUEST_APPROVAL")
Split = Literal["tuning", "held_out", "fresh", "final"]
FILE = Path(__file__).parents[1] / "data" / "paraphrases.yaml"


@dataclass(frozen=True)
class AgentLine:
    """One line and the keys that a person reads in it."""

    workflow: str
    split: Split
    corrected: bool
    text: str
    keys: frozenset[str]


@dataclass(frozen=True)
class Count:
    """Pairs found and expected, found and not expected, expected and not found."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)


def agent_lines() -> list[AgentLine]:
    lines: list[AgentLine] = []
    for group in yaml.safe_load(FILE.read_text(encoding="utf-8")):
        for text, keys in group["lines"].items():
            lines.append(
                AgentLine(group["workflow"], group["split"], group["corrected"], text, frozenset(keys.split()))
            )
    return lines


@functools.cache
def workflow(name: str) -> Workflow:
    return find_workflow(name)


def wants(name: str, corrected: bool) -> dict[str, Any]:
    """What the caller wants before or after the correction: field -> value."""
    facts = workflow(name).facts
    values = {fact.field or fact.id: fact.value for fact in facts if not fact.supersedes}
    return {**values, **{fact.field or fact.id: fact.value for fact in facts if fact.supersedes and corrected}}


@functools.cache
def observer(name: str) -> ActObserver:
    """One for all lines; each line is a reply of its own."""
    return ActObserver(workflow(name))


@functools.cache
def readings(line: AgentLine) -> tuple[Reading, ...]:
    return tuple(observer(line.workflow).read_words(repr(line), line.text, True, wants(line.workflow, line.corrected)))


def found_keys(line: AgentLine) -> frozenset[str]:
    """As the file writes them: the action's name left out, either date of the leave asked for as the first."""
    short = (r.key.partition(":")[0] if r.key.startswith("REQUEST") else r.key for r in readings(line))
    return frozenset({"REQUEST_APPROVAL": "APPROVAL", "ASK:end_date": "ASK:start_date"}.get(key, key) for key in short)


def kind_of(key: str) -> str:
    return "REQUEST_APPROVAL" if key == "APPROVAL" else key.partition(":")[0]


def count(lines: Iterable[AgentLine]) -> dict[str, Count]:
    """Counts by kind of act, and of all together under ``all``."""
    counts = {kind: Count() for kind in KINDS}
    for line in lines:
        found = found_keys(line)
        for kind in KINDS:
            mine = {key for key in found if kind_of(key) == kind}
            want = {key for key in line.keys if kind_of(key) == kind}
            old = counts[kind]
            counts[kind] = Count(
                old.right + len(mine & want), old.wrong + len(mine - want), old.missed + len(want - mine)
            )
    total = [counts[kind] for kind in KINDS]
    whole = Count(sum(c.right for c in total), sum(c.wrong for c in total), sum(c.missed for c in total))
    return {**counts, "all": whole}


def table() -> list[str]:
    """The table of ``docs/observer.md``, row by row, as it is now."""
    rows = ["| lines | act | n | right | wrong | missed | precision | recall |", "|---|---|---|---|---|---|---|---|"]
    for split in get_args(Split):
        lines = [line for line in agent_lines() if line.split == split]
        for kind, c in count(lines).items():
            shown = f"{split} ({len(lines)})" if kind == KINDS[0] else ""
            rates = f"{c.precision:.1%} | {c.recall:.1%}".replace("%", " %")
            rows.append(f"| {shown} | {kind} | {c.right + c.missed} | {c.right} | {c.wrong} | {c.missed} | {rates} |")
    return rows
