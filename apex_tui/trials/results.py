"""From sessions to a table that can be defended: who completed the work, how reliably, how fast, and where the others failed.

In here: grouping, the averages over workflows, ranking, and the check that the parts sum to the whole. The numbers of one agent come from
``results_agent``, slices from ``results_slices``. Deliberately not in here: reading files (``results_read``) and drawing (``tables``,
``html_report``). Definitions are those of measures.md section 5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from apex_tui.store.meta import OWN_TOOLS, PUSH_TO_TALK
from apex_tui.timeline.errors import ApexError
from apex_tui.trials.collector import collector_paused
from apex_tui.trials.results_agent import Group, agent_result, model_of
from apex_tui.trials.results_left_out import apart_note, directed_note, repeats_note
from apex_tui.trials.results_model import AgentResult, Failure, Provenance, Table
from apex_tui.trials.results_read import Readings, SessionRow
from apex_tui.trials.results_slices import slices_of

NOTES_REHEARSAL = "rehearsal agents are scripted and know the solution: they stand in no ranking"
NOTES_TWINS = "sessions of uncorrected twins are a control: they stand in their own rows and in no other figure"


class Contradiction(ApexError):
    """The parts of a table do not sum to its totals: a defect of ours, and no number of the table may be believed."""


def table_of(readings: Readings, k: int = 3) -> Table:
    """The table of what was read.

    Raises:
        ValueError: k < 1.
        Contradiction: slices or counts do not sum to the totals.
    """
    if k < 1:
        raise ValueError("k must be at least 1")
    with collector_paused():
        return _table(readings, k)


def _table(readings: Readings, k: int) -> Table:
    groups = _groups(readings.rows)
    too_few: dict[str, tuple[str, ...]] = {}
    uncommon: set[str] = set()
    results: list[AgentResult] = []
    for rehearsal in (False, True):
        side = [group for group in groups if group.rehearsal is rehearsal]
        once, often, lacking = common_workflows([group for group in side if group.rows], k)
        too_few |= lacking
        uncommon |= {w for group in side for w in group.counts} - once
        results += [agent_result(group, k, once, often, readings.not_run.get(group.agent, 0)) for group in side]
    agents = ranked(results)
    slices = slices_of(groups)
    table = Table(
        k=k,
        agents=tuple(agents),
        too_few=dict(sorted(too_few.items())),
        uncommon=tuple(sorted(uncommon)),
        slices=tuple(slices),
        failures=tuple(_failures(groups)),
        provenance=_provenance(readings.rows),
        skipped=readings.skipped,
        missing=readings.missing,
        notes=tuple(_notes(agents, readings)),
    )
    check_sums(table)
    counted = sum(agent.sessions + (agent.twins.sessions if agent.twins else 0) for agent in table.agents)
    if counted != len(readings.rows):
        raise Contradiction(f"{counted} sessions stand in the table, {len(readings.rows)} were read")
    return table


def common_workflows(groups: Sequence[Group], k: int) -> tuple[set[str], set[str], dict[str, tuple[str, ...]]]:
    """Workflows that every group has one scored session of, those that every group has k of, and who lacks which of the latter."""
    if not groups:
        return set(), set(), {}
    every = {workflow for group in groups for workflow in group.counts}
    once = {w for w in every if all(g.counts.get(w, (0, 0))[1] >= 1 for g in groups)}
    lacking = {w: tuple(g.label for g in groups if g.counts.get(w, (0, 0))[1] < k) for w in every}
    often = {w for w, who in lacking.items() if not who}
    return once, often, {w: who for w, who in lacking.items() if who}


def ranked(results: Sequence[AgentResult]) -> list[AgentResult]:
    """By Reliable@k, then Pass@1; equal figures share a rank. Rehearsals, and agents without a figure, have none."""

    def figures(result: AgentResult) -> tuple[float, float]:
        return (result.reliable_k.value or 0.0, result.pass_1.value or 0.0)

    racing = sorted(
        (r for r in results if not r.rehearsal and r.reliable_k.value is not None),
        key=lambda r: (-figures(r)[0], -figures(r)[1], r.label),
    )
    out: list[AgentResult] = []
    for place, result in enumerate(racing, 1):
        same = out and figures(out[-1]) == figures(result)
        out.append(result.model_copy(update={"rank": out[-1].rank if same else place}))
    rest = [r for r in results if r not in racing]
    return out + sorted(rest, key=lambda r: (r.rehearsal, -figures(r)[1], r.label))


def check_sums(table: Table) -> None:
    """Raise `Contradiction` unless every axis without overlap sums to the totals of every agent, and every session is accounted for."""
    for agent in table.agents:
        if agent.scored + sum(agent.invalid.values()) != agent.sessions:
            raise Contradiction(f"{agent.label}: scored and invalid sessions do not sum to {agent.sessions}")
        if sum(n for _, n in agent.per_workflow.values()) != agent.scored:
            raise Contradiction(f"{agent.label}: the workflows' sessions do not sum to {agent.scored}")
        total = (agent.scored, agent.successes, agent.afa.hits, agent.afa.n)
        sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for part in table.slices:
            cut = part.cuts.get(agent.label)
            if cut is not None and not part.overlapping:
                found = (cut.sessions, cut.successes, cut.afa_right, cut.afa_n)
                sums[part.axis] = [a + b for a, b in zip(sums[part.axis], found, strict=True)]
        for axis, summed in sums.items():
            if tuple(summed) != total:
                raise Contradiction(
                    f"{agent.label}: the slices by {axis} sum to {summed}, the totals are {list(total)}"
                )


def _groups(rows: Sequence[SessionRow]) -> list[Group]:
    keyed: dict[tuple[object, ...], list[SessionRow]] = {}
    for row in rows:
        keyed.setdefault(_key(row), []).append(row)
    names: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    for key in keyed:
        names[str(key[0])].append(key)
    return [
        Group(_label(key, names[str(key[0])]), members)
        for key, members in sorted(keyed.items(), key=lambda item: str(item[0]))
    ]


def _key(row: SessionRow) -> tuple[object, ...]:
    """Sessions under other conditions are never averaged together."""
    score = row.score
    clock = "simulated" if row.meta.virtual else "real time"
    return (
        row.agent,
        model_of(row) or "",
        score.environment_profile,
        score.grading_profile,
        row.channel,
        clock,
        row.score.rehearsal,
        str(row.meta.parameters.get("instructions") or "neutral"),
        PUSH_TO_TALK if PUSH_TO_TALK in row.meta.labels else "its own turn detection",
        ", ".join(label for label in OWN_TOOLS if label in row.meta.labels) or "tools on its connection",
        row.changed,
    )


_MEANING = (
    "",
    "model {}",
    "environment {}",
    "graded {}",
    "channel {}",
    "{}",
    "rehearsal {}",
    "{} instructions",
    "{}",
    "{}",
    "{}",
)


def _label(key: tuple[object, ...], twins: Sequence[tuple[object, ...]]) -> str:
    """The agent's name, and whatever tells it from others of that name."""
    told = [
        words.format(part)
        for place, (part, words) in enumerate(zip(key, _MEANING, strict=True))
        if place and len({other[place] for other in twins}) > 1
    ]
    return str(key[0]) + (f" ({', '.join(told)})" if told else "")


def _failures(groups: Sequence[Group]) -> list[Failure]:
    return [
        Failure(
            session=row.meta.session,
            path=str(row.path),
            workflow=row.workflow,
            agent=group.label,
            seed=row.meta.seed,
            outcome=row.score.outcome,
            gates={gate.gate: gate.reason for gate in row.score.gates if not gate.passed},
        )
        for group in groups
        for row in group.failed
    ]


def _provenance(rows: Sequence[SessionRow]) -> Provenance:
    digests: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        digests[row.workflow].add(row.meta.workflow_digest)
    speech = {
        "bank": "synthetic, from the bank",
        "recorded": "recorded, a person's",
        "package": "clips of the package",
        "tones": "tones in place of speech",
        "microphone": "a person",
    }
    return Provenance(
        app_versions=tuple(sorted({row.meta.app_version or "unknown" for row in rows})),
        workflows={name: tuple(sorted(found)) for name, found in sorted(digests.items())},
        callers=tuple(sorted({f"{speech.get(r.meta.caller, r.meta.caller)}: {r.labels.voice}" for r in rows})),
        clock_bases=tuple(sorted({row.score.clock_basis for row in rows})),
        profiles=tuple(
            sorted({f"environment {r.score.environment_profile}, graded {r.score.grading_profile}" for r in rows})
        ),
        seeds=tuple(sorted({row.meta.seed for row in rows})),
        clips=len({digest for row in rows for digest in row.meta.clips.values()}),
    )


def _notes(agents: Sequence[AgentResult], readings: Readings) -> list[str]:
    notes: list[str] = []
    if any(agent.rehearsal for agent in agents):
        notes.append(NOTES_REHEARSAL)
    if any(agent.twins is not None for agent in agents):
        notes.append(NOTES_TWINS)
    if any(agent.rank is None and not agent.rehearsal for agent in agents):
        notes.append("an agent without a workflow that has enough scored sessions for every agent has no rank")
    if any(agent.degraded for agent in agents):
        notes.append("timing degraded: some sessions ran on a machine that was too slow for their times to be trusted")
    if any(len({r.meta.workflow_digest for r in readings.rows if r.workflow == w}) > 1 for w in _ids(readings)):
        notes.append("sessions of different versions of a workflow stand in one row; see the provenance")
    if readings.directed:
        notes.append(directed_note(readings.directed))
    if readings.repeats:
        notes.append(repeats_note(readings.repeats))
    if readings.apart:
        notes.append(apart_note(readings.apart))
    if readings.missing:
        notes.append(f"{readings.missing} sessions of the campaign have not been run yet")
    notes.append("the callers are synthetic voices; figures on these workflows are not comparable with published ones")
    return notes


def _ids(readings: Readings) -> set[str]:
    return {row.workflow for row in readings.rows}
