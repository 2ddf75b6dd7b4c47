"""What a model's stream consists of, whatever its dialect. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    """Tokens, as the server counted them."""

    tokens: dict[str, int]


@dataclass(frozen=True, slots=True)
class Trouble:
    """The server reported an error inside the stream, or sent something unreadable."""

    kind: str
    message: str


Piece = Words | Call | Over | Usage | Trouble


def usage_of(value: object) -> list[Piece]:
    """The whole numbers of a usage object."""
    if not isinstance(value, dict):
        return []
    tokens = {str(name): count for name, count in list(value.items())[:20] if type(count) is int}
    return [Usage(tokens)] if tokens else []


Json = dict[str, Any]
