"""What the policy sees at one moment, and what it may want: the seam between the caller and whoever runs the session.

All times are media ms. Deliberately not in here: any decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from apex_tui.timeline.caller_facts import CallerWaits, EventArmed, FloorAction, SpeechAct
from apex_tui.timeline.session_facts import Outcome


@dataclass(frozen=True, slots=True)
class Scene:
    """The moment as the caller could know it. ``agent_audible``: sound is being played; ``open_reply``: the reply that has the floor;
    ``reply_played_ms``: how much of it was heard; ``agent_quiet_since_ms``: last audible agent sample (0 before the first);
    ``agent_expected``: a response is being generated, or queued audio waits.
    """

    now_ms: float
    agent_audible: bool = False
    open_reply: str | None = None
    reply_played_ms: float = 0.0
    agent_quiet_since_ms: float = 0.0
    tools_running: tuple[str, ...] = ()
    approval_pending: bool = False
    agent_expected: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """Speak this. ``onset_ms`` is the wished audible onset (never before now); ``values``: field -> value that the words state.

    ``delivered`` and ``note`` are for the event's record: how a change of mind was delivered, and why otherwise than authored. A
    back-channel changes nothing and carries None there.
    """

    turn: int
    plan: str
    act: SpeechAct
    facts: tuple[str, ...]
    values: dict[str, Any]
    floor: FloorAction
    variant_id: str
    text: str
    because: str
    onset_ms: float
    event_id: str | None = None
    approves: str | None = None
    revokes: str | None = None
    recovered: bool = False
    delivered: Literal["barge_in", "in_turn"] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why the caller is silent has changed."""

    fact: CallerWaits


@dataclass(frozen=True, slots=True)
class Arm:
    """A scripted event is due and waits for its moment."""

    fact: EventArmed


@dataclass(frozen=True, slots=True)
class Fire:
    """A scripted event takes effect now, without words."""

    event_id: str
    delivered: Literal["silent"] = "silent"
    note: str = ""


@dataclass(frozen=True, slots=True)
class HangUp:
    """The call is over."""

    outcome: Outcome
    reason: str


Intent = Say | Wait | Arm | Fire | HangUp


@dataclass(slots=True)
class Item:
    """Something noted that no transition has consumed yet. ``ready``: the caller may react to it."""

    kind: str
    key: str
    reply: str | None
    at_ms: float
    ready: bool = False
    words: bool = field(default=False)
    """It was heard (not a tool's doing)."""
