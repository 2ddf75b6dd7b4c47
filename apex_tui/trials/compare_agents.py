"""Two agents over a campaign, paired per workflow: who did better where, and whether that could be chance.

In here: the pairs and their statistics. Only sessions that differ in nothing but the agent are paired: the same workflow, seed, channel and
profiles. Deliberately not in here: two single sessions (``compare``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict

from apex_tui.store.meta import OWN_TOOLS, PUSH_TO_TALK
from apex_tui.timeline.errors import UserError
from apex_tui.trials import stats
from apex_tui.trials.results_agent import mean_of, model_of
from apex_tui.trials.results_model import Mean
from apex_tui.trials.results_read import SessionRow
from apex_tui.trials.tables import clean


class Shape(BaseModel):
    """A frozen part of a comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Pair(Shape):
    """One workflow: successes of each agent over the ``n`` conditions that both have scored sessions of."""

    workflow: str
    n: int
    first: int
    second: int
    first_gates: dict[str, int]
    """Gate -> sessions in which it held."""
    second_gates: dict[str, int]

    @property
    def difference(self) -> float:
        """Share of the second minus share of the first."""
        return (self.second - self.first) / self.n


class Pairs(Shape):
    """All workflows that both agents ran. ``p``: sign test over workflows that differ, two-sided and exact."""

    first: str
    second: str
    pairs: tuple[Pair, ...]
    difference: Mean
    """Mean over workflows of second minus first, with its bootstrap interval."""
    better: int
    worse: int
    equal: int
    p: float | None
    unpaired: dict[str, int]
    """Agent -> scored sessions without a counterpart: left out."""
    twins: int = 0
    """Scored sessions of uncorrected twins, of both agents: a control, so they stand in no pair."""


def compare_agents(rows: Sequence[SessionRow], first: str, second: str) -> Pairs:
    """Pair the sessions of two agents.

    Raises:
        UserError: the same agent twice, an agent is not in the campaign, or no session of one has a counterpart of the other.
    """
    known = sorted({row.agent for row in rows})
    for name in (first, second):
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known) or 'none'}"
            raise UserError(f"there is no agent {name} in these sessions; {hint}")
    if first == second:
        raise UserError(f"{first} is named twice: name two agents to compare")
    counted = [row for row in rows if row.scored and row.labels.twin_of is None and row.agent in (first, second)]
    for name in (first, second):
        models = sorted({model_of(row) or "none named" for row in counted if row.agent == name})
        if len(models) > 1:
            raise UserError(f"{name} ran with several models ({', '.join(models)}): name a folder with one of them")
    varied = [n for n in range(_N_WAYS) if _varies(counted, first, n) or _varies(counted, second, n)]
    mine, other = _keyed(counted, first, varied), _keyed(counted, second, varied)
    places: defaultdict[str, list[tuple[SessionRow, SessionRow]]] = defaultdict(list)
    for key in mine.keys() & other.keys():
        places[str(key[0])] += zip(mine[key], other[key], strict=False)
    if not places:
        raise UserError(
            f"{first} and {second} share no workflow, seed and channel (uncorrected twins are not paired): nothing can be paired"
        )
    pairs = [_pair(workflow, both) for workflow, both in sorted(places.items())]
    differences = [pair.difference for pair in pairs]
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    matched = sum(pair.n for pair in pairs)
    return Pairs(
        first=first,
        second=second,
        pairs=tuple(pairs),
        difference=mean_of(differences, shares=False),
        better=better,
        worse=worse,
        equal=len(pairs) - better - worse,
        p=stats.sign_test(better, worse),
        unpaired={
            name: rest
            for name, keyed in ((first, mine), (second, other))
            if (rest := sum(map(len, keyed.values())) - matched)
        },
        twins=sum(row.scored and row.labels.twin_of is not None for row in rows if row.agent in (first, second)),
    )


_N_WAYS = 2 + len(OWN_TOOLS)


def _ways(row: SessionRow) -> tuple[object, ...]:
    """How an agent was run. Where that is one way for all of its sessions, it is part of what its name stands for."""
    told = row.meta.parameters.get("instructions") or "neutral"
    labels = tuple(label in row.meta.labels for label in (PUSH_TO_TALK, *OWN_TOOLS))
    return (str(told), *labels)


def _varies(rows: Sequence[SessionRow], agent: str, way: int) -> bool:
    return len({_ways(row)[way] for row in rows if row.agent == agent}) > 1


def _keyed(rows: Sequence[SessionRow], agent: str, varied: Sequence[int]) -> dict[tuple[object, ...], list[SessionRow]]:
    """The sessions of an agent by what another's must share to be paired with them. ``varied``: the ways that count (see `_ways`)."""
    found: defaultdict[tuple[object, ...], list[SessionRow]] = defaultdict(list)
    for row in sorted((row for row in rows if row.agent == agent), key=lambda r: str(r.path)):
        task = (row.workflow, row.meta.workflow_digest, row.meta.seed)
        profiles = (row.score.environment_profile, row.score.grading_profile)
        ways = _ways(row)
        key = (*task, *profiles, row.channel, row.changed, row.meta.virtual, *(ways[n] for n in varied))
        found[key].append(row)
    return found


def _pair(workflow: str, both: Sequence[tuple[SessionRow, SessionRow]]) -> Pair:
    names = [gate.gate for gate in both[0][0].score.gates]
    return Pair(
        workflow=workflow,
        n=len(both),
        first=sum(a.score.success for a, _ in both),
        second=sum(b.score.success for _, b in both),
        first_gates={name: sum(a.score.gate(name).passed for a, _ in both) for name in names},
        second_gates={name: sum(b.score.gate(name).passed for _, b in both) for name in names},
    )


def pairs_text(found: Pairs) -> str:
    """The pairs for a person."""
    first, second = clean(found.first), clean(found.second)
    out = [f"{'workflow':<28} {'n':>3}  {first} → {second}"]
    for pair in found.pairs:
        gates = " ".join(
            f"{name} {pair.first_gates[name]}→{pair.second_gates[name]}"
            for name in pair.first_gates
            if pair.first_gates[name] != pair.second_gates[name]
        )
        out.append(f"{clean(pair.workflow):<28} {pair.n:>3}  {pair.first} → {pair.second}   {gates}".rstrip())
    mean, edges = found.difference, ""
    if mean.low is not None and mean.high is not None:
        edges = f" [{100 * mean.low:+.1f}, {100 * mean.high:+.1f}]"
    out.append(f"difference {100 * (mean.value or 0):+.1f} points{edges} over {mean.n} workflows (second minus first)")
    chance = "" if found.p is None else f"; as uneven by chance: p = {found.p:.3f}"
    out.append(
        f"{second} is better on {found.better}, worse on {found.worse}, equal on {found.equal} workflows{chance}"
    )
    out += [f"left out: {n} sessions of {clean(name)} without a counterpart" for name, n in found.unpaired.items()]
    if found.twins:
        out.append(f"left out: {found.twins} sessions of uncorrected twins, a control")
    return "\n".join(out)
