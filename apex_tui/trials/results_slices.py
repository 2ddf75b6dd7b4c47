"""Slices of a table: every agent by every axis of the taxonomy, and by the parts that a campaign varied.

In here: the grouping by label. Deliberately not in here: the check that slices sum to the totals (``results``), which must not share code with
how they are made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from apex_tui.trials.results_agent import Group, afa_of
from apex_tui.trials.results_model import HATCHED_UNDER, Cut, Slice
from apex_tui.trials.results_read import SessionRow


def slices_of(groups: Sequence[Group]) -> list[Slice]:
    """Every axis in its order, labels in alphabetical order (the codes of ordered axes sort by rank)."""
    members: dict[tuple[str, str, bool], dict[str, list[SessionRow]]] = {}
    for group in groups:
        for row in group.scored:
            for axis, label, overlapping in _places(row):
                cell = members.setdefault((axis, label, overlapping), defaultdict(list))
                cell[group.label].append(row)
    order = list(dict.fromkeys(axis for axis, _, _ in members))
    ranked = sorted(members, key=lambda key: (order.index(key[0]), key[1]))
    return [
        Slice(axis=key[0], label=key[1], overlapping=key[2], cuts={name: cut_of(rows) for name, rows in cells.items()})
        for key in ranked
        for cells in [members[key]]
    ]


def _places(row: SessionRow) -> Iterable[tuple[str, str, bool]]:
    for axis, label in row.labels.single.items():
        yield axis, label, False
    for axis, labels in row.labels.several.items():
        for label in labels:
            yield axis, label, True
    for part, value in row.parts.items():
        yield f"agent: {part}", value, False


def cut_of(rows: Sequence[SessionRow]) -> Cut:
    """The numbers of some sessions of one agent."""
    right, total = afa_of(rows)
    successes = sum(row.score.success for row in rows)
    workflows = len({row.workflow for row in rows})
    return Cut(
        workflows=workflows,
        sessions=len(rows),
        successes=successes,
        success=successes / len(rows) if rows else None,
        afa_right=right,
        afa_n=total,
        afa=right / total if total else None,
        hatched=workflows < HATCHED_UNDER,
    )
