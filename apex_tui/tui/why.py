"""Why: from a field or a row to the events behind it, and from there along causes and effects.

Pure. `targets` names what can be asked about in a pane, `Graph` knows which event led to which, and `Tree` is what the arrows walk: it
holds which branches are open and where the cursor stands. What a line looks like is `render_why`'s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from apex_tui.timeline.events import Event
from apex_tui.timeline.state import Artifact, State
from apex_tui.tui.plain import compact, plain
from apex_tui.tui.words import at, stop_word

if TYPE_CHECKING:
    from apex_tui.score.verdict_work import Drift

Kind = Literal["field", "call", "approval", "turn", "reply", "barge-in", "answer", "event"]
DEPTH = 12
"""Levels that a branch may have: causes are a graph, and a walk must end."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to ask about. ``seqs``: its own events, newest last; ``path``: ``artifact.field`` of a field."""

    kind: Kind
    label: str
    seqs: tuple[int, ...]
    path: str = ""


def targets(state: State, pane: int, events: Sequence[Event], count: int) -> list[Target]:
    """What can be asked about in a pane, in the order in which it shows it (events: the last two hundred)."""
    if pane == 2:
        return [t for a in state.artifacts.values() for t in field_targets(a)]
    if pane == 3:
        return _authority(state)
    if pane == 4:
        calls = sorted(state.calls.values(), key=lambda c: -c.seq)
        return [Target("call", f"{c.label} {plain(c.name, 60)} {c.state}", _call_seqs(state, c.id)) for c in calls]
    if pane == 5:
        return _floor(state)
    if pane == 6:
        shown = events[max(0, count - 200) : count]
        return [Target("event", f"{at(e.media_ms)} {e.type}", (e.seq,)) for e in reversed(shown)]
    return _talk(state)


def field_targets(artifact: Artifact) -> list[Target]:
    """The fields of the newest version."""
    version = artifact.current
    if version is None:
        return []
    rows: list[Target] = []
    for name, value in version.fields.items():
        wrote = [v.seq for v in artifact.versions if any(c.field == name and c.kind != "same" for c in v.changes)]
        label = f"{plain(name, 60)} = {compact(value, 60)}"
        rows.append(Target("field", label, tuple(wrote or [version.seq]), f"{artifact.id}.{name}"))
    return rows


def _call_seqs(state: State, call: str) -> tuple[int, ...]:
    decided = [seq for seq, _, fact in state.decisions if fact.call == call]
    return (state.calls[call].seq, *decided)


def _authority(state: State) -> list[Target]:
    rows = [(r.seq, f"asked {plain(r.action, 60)} v{r.version}: {r.state}") for r in state.requests.values()]
    rows += [(a.seq, f"given {plain(a.action, 60)} v{a.version}: {a.state}") for a in state.approvals.values()]
    early = {call.id for call in state.calls.values() if call.before_key is not None}
    rows += [
        (seq, f"commit {plain(d.action, 60)} at {d.at}: {d.decision}{', before the key' if d.call in early else ''}")
        for seq, _, d in state.decisions
    ]
    return [Target("approval", label, (seq,)) for seq, label in sorted(rows, reverse=True)]


def _floor(state: State) -> list[Target]:
    rows: list[Target] = []
    for barge in reversed(state.barge_ins.values()):
        word = stop_word(barge.closed.stop_kind).word if barge.closed else "observed"
        rows.append(Target("barge-in", f"B{barge.number} {at(barge.onset_ms)} {word}", (barge.seq,)))
    return rows


def _talk(state: State) -> list[Target]:
    rows = [(t.onset_ms, Target("turn", f"{at(t.onset_ms)} caller {plain(t.text, 80)}", (t.seq,))) for t in state.turns]
    for reply in state.replies.values():
        if reply.text or reply.speech:
            began = reply.speech[0][0] if reply.speech else reply.started_ms
            seqs = (reply.seq, *((reply.closed_seq,) if reply.closed_seq is not None else ()))
            rows.append((began, Target("reply", f"{at(began)} agent {plain(reply.text, 80)}", seqs)))
    return [target for _, target in sorted(rows, key=lambda r: -r[0])]


class Graph:
    """Which event led to which. ``events`` in the order of their ``seq``."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = list(events)
        self._seqs = [e.seq for e in self._events]
        self._effects: dict[int, list[int]] = {}
        for event in self._events:
            for cause in event.causes:
                self._effects.setdefault(cause, []).append(event.seq)

    def event(self, seq: int) -> Event | None:
        """The event of that number."""
        place = bisect_left(self._seqs, seq)
        return self._events[place] if place < len(self._seqs) and self._seqs[place] == seq else None

    def causes(self, seq: int) -> tuple[int, ...]:
        """Events that led to it, newest first."""
        event = self.event(seq)
        return tuple(sorted((c for c in event.causes if self.event(c) is not None), reverse=True)) if event else ()

    def effects(self, seq: int) -> tuple[int, ...]:
        """Events that it led to, oldest first."""
        return tuple(self._effects.get(seq, ()))


Way = Literal["chain", "cause", "effect", "raw", "own"]


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree. ``place`` is its path from the root; ``seq`` None: a heading; ``note``: words instead of the event's."""

    place: tuple[str, ...]
    way: Way
    seq: int | None
    note: str = ""
    first: bool = False
    """The first disagreement of a drift chain."""
    more: bool = False
    """It has branches."""
    open: bool = False

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return len(self.place) - 1


_STAGES = ("said", "heard", "claimed", "artifact", "approved", "committed")


class Tree:
    """What the arrows walk: the target's own events with causes and effects, and its drift chain."""

    def __init__(self, graph: Graph, target: Target, drift: Drift | None = None) -> None:
        self.graph, self.target, self.drift = graph, target, drift
        self.cursor = 0
        newest = target.seqs[-1] if target.seqs else -1
        self._open: set[tuple[str, ...]] = {("chain",), ("own",), ("own", str(newest)), ("own", str(newest), "causes")}
        causes = graph.causes(newest)
        if causes:  # two levels stand open at first: usually a tool call and the words before it
            self._open.add(("own", str(newest), "causes", str(causes[0])))
            self._open.add(("own", str(newest), "causes", str(causes[0]), "causes"))
        self.nodes: list[Node] = []
        self._build()
        first = [i for i, n in enumerate(self.nodes) if n.first] or [
            i for i, n in enumerate(self.nodes) if n.place[0] == "own" and n.seq
        ]
        self.cursor = first[0] if first else 0

    @property
    def current(self) -> Node | None:
        """The node at the cursor."""
        return self.nodes[self.cursor] if self.nodes else None

    def move(self, lines: int) -> None:
        """Up or down."""
        self.cursor = min(max(0, len(self.nodes) - 1), max(0, self.cursor + lines))

    def unfold(self) -> None:
        """Open the branch at the cursor; one that is open: go to its first line."""
        node = self.current
        if node is None or not node.more:
            return
        if node.open:
            self.move(1)
            return
        self._open.add(node.place)
        self._build()

    def fold(self) -> None:
        """Close the branch at the cursor; a closed one: go to the line it belongs to."""
        node = self.current
        if node is None:
            return
        if node.open:
            self._open.discard(node.place)
            self._build()
            return
        parents = [i for i, n in enumerate(self.nodes) if n.place == node.place[:-1]]
        self.cursor = parents[0] if parents else 0

    def _build(self) -> None:
        self.nodes = []
        if self.drift is not None:
            self._chain(self.drift)
        if self._heading(("own",), "events", bool(self.target.seqs)):
            for seq in reversed(self.target.seqs):
                self._event(("own", str(seq)), seq, "own")
        self.cursor = min(self.cursor, max(0, len(self.nodes) - 1))

    def _heading(self, place: tuple[str, ...], note: str, more: bool) -> bool:
        opened = place in self._open
        self.nodes.append(Node(place, "own", None, note, more=more, open=opened and more))
        return opened and more

    def _chain(self, drift: Drift) -> None:
        if not self._heading(("chain",), f"chain  {plain(drift.reason, 200)}", True):
            return
        values = (drift.said, drift.heard, drift.claimed, drift.in_artifact, drift.approved, drift.committed)
        for stage, value in zip(_STAGES, values, strict=True):
            seqs = drift.evidence.get(stage, ())
            shown = "—" if value is None else compact(value, 80)
            place = ("chain", stage)
            seq = seqs[0] if seqs else None
            more = seq is not None and self.graph.event(seq) is not None
            opened = place in self._open
            note, first = f"{stage:<10} {shown}", drift.first_disagreement == stage
            self.nodes.append(Node(place, "chain", seq, note, first=first, more=more, open=opened and more))
            if opened and more:
                for number in seqs:
                    self._event((*place, str(number)), number, "own")

    def _event(self, place: tuple[str, ...], seq: int, way: Way) -> None:
        if self.graph.event(seq) is None:
            return
        opened = place in self._open
        self.nodes.append(Node(place, way, seq, more=True, open=opened))
        if not opened:
            return
        self.nodes.append(Node((*place, "raw"), "raw", seq))
        branches: tuple[tuple[Way, tuple[int, ...]], ...] = (
            ("cause", self.graph.causes(seq)),
            ("effect", self.graph.effects(seq)),
        )
        for kind, found in branches:
            below = (*place, f"{kind}s")
            if (
                found
                and len(place) < DEPTH
                and self._heading(below, f"{len(found)} {kind}{'s' * (len(found) != 1)}", True)
            ):
                for number in found:
                    self._event((*below, str(number)), number, kind)
