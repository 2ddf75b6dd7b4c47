"""Artifact versions against each other: two sides, the fields in which they differ. Pure; how it looks is `render_work`'s."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from apex_tui.timeline.state import Artifact, State
from apex_tui.tui.figures import version_of

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score

Mode = Literal["off", "previous", "final", "gold", "versions"]
MODES: tuple[Mode, ...] = ("off", "previous", "final", "gold")
"""What ``c`` goes through; ``versions`` is any two, by their numbers."""
MISSING = object()
"""A side has no such field."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be compared. ``pair``: numbers of two versions, for ``versions``."""

    mode: Mode = "off"
    pair: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Difference:
    """One field: its value at the left and at the right, `MISSING` where a side has none."""

    field: str
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides with their names, and what differs; ``problem``: why nothing can be compared."""

    left: str
    right: str
    rows: tuple[Difference, ...] = ()
    problem: str = ""


def compared(wish: Wish, artifact: Artifact, whole: State | None, score: Score | None) -> Comparison | None:
    """The comparison that is wished for; None: none. ``whole``: the finished session behind a replay."""
    now = artifact.current
    if wish.mode == "off" or now is None:
        return None
    name = f"v{now.number}"
    if wish.mode == "previous":
        before = artifact.versions[-2] if len(artifact.versions) > 1 else None
        if before is None:
            return Comparison("", name, problem=f"{name} is the first version: there is none before it")
        return Comparison(f"v{before.number}", name, differences(before.fields, now.fields))
    if wish.mode == "versions":
        left, right = (version_of(artifact, n) for n in wish.pair)
        if left is None or right is None:
            gone = wish.pair[0] if left is None else wish.pair[1]
            return Comparison("", "", problem=f"there is no v{gone} yet")
        return Comparison(f"v{left.number}", f"v{right.number}", differences(left.fields, right.fields))
    if wish.mode == "final":
        held = (whole.artifacts if whole is not None else {}).get(artifact.id)
        last = held.current if held is not None else None
        if last is None:
            return Comparison(name, "final", problem="the final version is not known while the session goes on")
        return Comparison(name, f"final v{last.number}", differences(now.fields, last.fields))
    gold = {f.field: f.expected for f in score.fields if f.artifact == artifact.id} if score is not None else {}
    if not gold:
        return Comparison(
            name, "gold", problem="gold is shown once the session is scored, and only where it names fields"
        )
    return Comparison(name, "gold", differences({k: now.fields.get(k, MISSING) for k in gold}, gold))


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Fields in which two contents differ, in their order."""
    names = dict.fromkeys((*left, *right))
    rows = (Difference(name, left.get(name, MISSING), right.get(name, MISSING)) for name in names)
    return tuple(row for row in rows if _unlike(row.left, row.right))


def _unlike(left: Any, right: Any) -> bool:
    if left is MISSING or right is MISSING:
        return left is not right
    return bool(left != right) or isinstance(left, bool) != isinstance(right, bool)
