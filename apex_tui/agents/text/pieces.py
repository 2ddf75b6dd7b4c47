"""What a model's stream consists of, whatever its dialect. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apex_tui.agents.usage import counts_of
from apex_tui.timeline.agent_facts import ReplyStatus


@dataclass(frozen=True, slots=True)
class Words:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as it stands at the end of the stream. ``cut``: the stream ended early, so the arguments may be incomplete."""

    call_id: str
    name: str
    arguments: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Over:
    """The answer is over; nothing but usage follows."""

    status: ReplyStatus
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the server counted, under the names of ``agents.usage``."""

    counts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Trouble:
    """The server reported an error inside the stream, or sent something unreadable."""

    kind: str
    message: str


Piece = Words | Call | Over | Usage | Trouble


def usage_of(value: object) -> list[Piece]:
    """The counts of a usage object, if it holds any."""
    counts = counts_of(value)
    return [Usage(counts)] if counts else []


Json = dict[str, Any]
