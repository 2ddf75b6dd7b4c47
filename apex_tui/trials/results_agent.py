"""The numbers of one agent over its sessions.

In here: `Group` (sessions under one set of conditions) and its figures, each as measures.md defines it. Deliberately not in here: ranking and
which workflows all agents have in common (``results``).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from apex_tui.score.floor import WINDOW_MS
from apex_tui.score.floor_numbers import counts
from apex_tui.score.verdict import GATE_WORDS
from apex_tui.trials import stats
from apex_tui.trials.results_model import (
    PERCENTILES_FROM,
    AgentResult,
    Corrections,
    Lapses,
    Mean,
    Share,
    Spread,
    Tools,
    Turns,
    Twins,
)  # fmt: skip
from apex_tui.trials.results_read import SessionRow
from apex_tui.trials.results_verdict import CountedField, CountedStop, CountedSummary

AGENT_SIDE = frozenset({"agent_closed", "agent_stalled"})
"""Endings that the agent's side brought about: failures in the inclusive rate, whatever the gates say."""


class Group:
    """Sessions of one agent under one set of conditions; ``label`` is its name in the table, unique there.

    ``twins`` are sessions of workflows without their corrections: a control (measures.md section 5), so they stand beside the figures and in
    none of them. ``rows`` and ``scored`` are the others.
    """

    def __init__(self, label: str, rows: Sequence[SessionRow]) -> None:
        self.label = label
        self.rows = [row for row in rows if row.labels.twin_of is None]
        self.twins = [row for row in rows if row.labels.twin_of is not None]
        self.first = rows[0]
        self.agent = rows[0].agent
        self.rehearsal = rows[0].score.rehearsal
        self.scored = [row for row in self.rows if row.scored]

    @cached_property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Workflow -> (successes, scored sessions)."""
        found: dict[str, tuple[int, int]] = {row.workflow: (0, 0) for row in self.rows}
        for row in self.scored:
            c, n = found[row.workflow]
            found[row.workflow] = (c + row.score.success, n + 1)
        return dict(sorted(found.items()))

    @property
    def failed(self) -> list[SessionRow]:
        """Every scored session that did not succeed, those of twins last."""
        return [row for row in (*self.scored, *self.twins) if row.scored and not row.score.success]


def model_of(row: SessionRow) -> str | None:
    """The model that was asked for."""
    named = row.meta.parameters.get("model")
    return str(named) if named else None


def share(hits: int, n: int, *, fields: bool = False) -> Share:
    """A share with Wilson's interval; without one for ``fields``: those of one session stand or fall together."""
    edges = stats.wilson(hits, n) if n and not fields else None
    low, high = edges or (None, None)
    return Share(hits=hits, n=n, value=hits / n if n else None, low=low, high=high)


def mean_of(values: Sequence[float], *, shares: bool = True) -> Mean:
    """A mean with its bootstrap interval."""
    low, high = stats.bootstrap_mean(values, shares=shares) or (None, None)
    return Mean(value=stats.mean(values), n=len(values), low=low, high=high)


def spread(values: Sequence[float], censored: int = 0) -> Spread:
    """The median, and p95 from 20 values on."""
    p95 = stats.percentile(values, 0.95) if len(values) >= PERCENTILES_FROM else None
    return Spread(n=len(values), median=stats.median(values), p95=p95, censored=censored)


def agent_result(group: Group, k: int, once: Collection[str], often: Collection[str], not_run: int) -> AgentResult:
    """Everything about one agent; ``once`` and ``often`` are the workflows over which Pass@1 and the figures at k are averaged."""
    first, scored = group.first, group.scored
    counts = group.counts
    at_one = [counts[w][0] / counts[w][1] for w in sorted(once) if w in counts]  # who ran only twins has none of them
    at_k = [(counts[w][1], counts[w][0]) for w in sorted(often) if w in counts]
    right, total = afa_of(scored)
    return AgentResult(
        label=group.label,
        agent=group.agent,
        model=model_of(first),
        channel=first.channel,
        environment_profile=first.score.environment_profile,
        grading_profile=first.score.grading_profile,
        clock="simulated" if first.meta.virtual else "real time",
        parts=first.parts,
        rehearsal=group.rehearsal,
        sessions=len(group.rows),
        scored=len(scored),
        successes=sum(row.score.success for row in scored),
        invalid=dict(sorted(Counter(row.score.validity for row in group.rows if not row.scored).items())),
        retries=sum(row.retries for row in group.rows),
        not_run=not_run,
        degraded=sum(row.score.timing_degraded for row in scored),
        pass_1=mean_of(at_one),
        pass_k=mean_of([stats.pass_at_k(n, c, k) for n, c in at_k]),
        reliable_k=mean_of([stats.reliable_at_k(n, c, k) for n, c in at_k]),
        inclusive=_inclusive(group),
        twins=twins_of(group),
        per_workflow=counts,
        success=share(sum(row.score.success for row in scored), len(scored)),
        gates={name: share(sum(row.score.gate(name).passed for row in scored), len(scored)) for name in GATE_WORDS},
        afa=share(right, total, fields=True),
        afa_workflows=_afa_by_workflow(scored),
        corrections=corrections_of(scored, group.twins),
        wrong_values=_wrong_values(scored),
        turns=turns_of(scored),
        complete_ms=spread(_present(row.score.latency.complete_ms for row in scored)),
        minutes=mean_of([_minutes(row) for row in scored], shares=False),
        usd=mean_of([c * _minutes(r) for r in scored if (c := r.usd_per_minute) is not None], shares=False),
        tokens=mean_of(_present(map(_tokens, scored)), shares=False),
        tools=_tools(scored),
        lapses=_lapses(scored),
    )


def afa_of(rows: Iterable[SessionRow]) -> tuple[int, int]:
    """(right, all) gold fields of the sessions, by each session's own field accuracy."""
    right = total = 0
    for row in rows:
        if row.score.afa is not None:
            right += round(row.score.afa * row.score.afa_n)
            total += row.score.afa_n
    return right, total


def is_right(field: CountedField) -> bool:
    """Whether a gold field is right at the end."""
    return field.passed is True and not field.stale


def _minutes(row: SessionRow) -> float:
    return row.score.duration_ms / 60_000


def _tokens(row: SessionRow) -> float | None:
    """All tokens that the provider counted; None when it counted none (or seconds only)."""
    parts = row.score.usage.values()
    found = [p.get("total_tokens") or p.get("input_tokens", 0.0) + p.get("output_tokens", 0.0) for p in parts]
    return sum(found) or None


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _inclusive(group: Group) -> Mean:
    """Per workflow over scored and infrastructure sessions: a connection that the agent's side closed or let stall did not do the work."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in group.rows:
        if row.scored or row.score.validity == "infrastructure":
            counts[row.workflow][1] += 1
            counts[row.workflow][0] += row.scored and row.score.success and row.score.outcome not in AGENT_SIDE
    return mean_of([c / n for _, (c, n) in sorted(counts.items())])


def twins_of(group: Group) -> Twins | None:
    """The control's own figures; None where no twin was run."""
    if not group.twins:
        return None
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for row in group.twins:
        if row.scored:
            found[row.workflow].append(row.score.success)
    return Twins(
        sessions=len(group.twins),
        scored=sum(map(len, found.values())),
        successes=sum(map(sum, found.values())),
        pass_1=mean_of([sum(each) / len(each) for _, each in sorted(found.items())]),
    )


def _afa_by_workflow(rows: Sequence[SessionRow]) -> Mean:
    grouped: defaultdict[str, list[SessionRow]] = defaultdict(list)
    for row in rows:
        grouped[row.workflow].append(row)
    values = [right / n for _, members in sorted(grouped.items()) for right, n in [afa_of(members)] if n]
    return mean_of(values)


def corrections_of(rows: Sequence[SessionRow], twins: Sequence[SessionRow]) -> Corrections:
    """Uptake of corrections, and the control: the same fields in the uncorrected twins."""
    fields = [(row, field) for row in rows for field in row.score.fields]
    corrected = [field for _, field in fields if field.corrected]
    other = [field for _, field in fields if not field.corrected]
    changed = share(sum(map(is_right, corrected)), len(corrected), fields=True)
    rest = share(sum(map(is_right, other)), len(other), fields=True)
    broken = [row for row in rows if not row.score.gate("AV").passed]
    linked = sum(any(f.corrected and not is_right(f) for f in row.score.fields) for row in broken)
    twin, twin_gap = _twin(
        [row for row in twins if row.scored], [(row.workflow, field) for row, field in fields if field.corrected]
    )
    kinds = Counter(field.uptake for field in corrected)
    return Corrections(
        corrected=changed,
        other=rest,
        gap=None if changed.value is None or rest.value is None else rest.value - changed.value,
        twin=twin,
        twin_gap=twin_gap,
        linked=share(linked, len(broken)),
        uptake_ms=spread(_present(field.uptake_ms for field in corrected), kinds["censored"]),
        taken_up=kinds["taken_up"],
        anticipated=kinds["anticipated"],
        censored=kinds["censored"],
    )


def _twin(
    controls: Sequence[SessionRow], corrected: Sequence[tuple[str, CountedField]]
) -> tuple[Share | None, float | None]:
    twins = {row.labels.twin_of for row in controls}
    wanted = {(workflow, f.artifact, f.field) for workflow, f in corrected if workflow in twins}
    if not wanted:
        return None, None
    same = [f for row in controls for f in row.score.fields if (row.labels.twin_of, f.artifact, f.field) in wanted]
    found = share(sum(map(is_right, same)), len(same), fields=True)
    here = [f for workflow, f in corrected if workflow in twins]
    gap = None if found.value is None else found.value - sum(map(is_right, here)) / len(here)
    return found, gap


def _wrong_values(rows: Sequence[SessionRow]) -> dict[str, int]:
    """Wrong gold fields by class: where the value went wrong, or else what is there in its place."""
    found: Counter[str] = Counter()
    for row in rows:
        drift = {d.field: d.klass for d in row.score.work.drift}
        for field in row.score.fields:
            if is_right(field):
                continue
            klass = drift.get(f"{field.artifact}.{field.field}")
            if field.passed is None:
                found["ungraded"] += 1
            elif klass is not None:
                found[klass] += 1
            elif field.passed:
                found["stale"] += 1
            else:
                found["never written" if field.found is None else "wrong"] += 1
    return dict(found.most_common())


def turns_of(rows: Sequence[SessionRow]) -> Turns:
    """Interruptions, latency and silence, of the sessions in which the agent had a voice."""
    rows = [row for row in rows if "floor" not in row.score.limits]
    floors, latencies = [row.score.floor for row in rows], [row.score.latency for row in rows]
    overlaps = [s for floor in floors for s in floor.barge_ins if s.kind == "overlap" and not s.echo_suspect]
    observed = [stop for stop in overlaps if counts(stop)]
    kinds = Counter(stop.stop_kind for stop in observed)
    yielded = share(kinds["yielded"], len(observed))
    unproven = kinds["unattributed"]
    delays = _present(_delay(stop) for stop in observed)
    return Turns(
        yielded=yielded,
        yielded_at_most=(yielded.hits + unproven) / yielded.n if unproven else None,
        stop_kinds=dict(sorted(Counter(stop.stop_kind for stop in overlaps).items())),
        stop_delay_ms=spread(delays, kinds["not_stopped"]),
        first_audible_ms=_medians(latency.first_audible_ms for latency in latencies),
        first_audible_after_tool_ms=_medians(latency.first_audible_after_tool_ms for latency in latencies),
        first_sentence_ms=_medians(latency.first_sentence_ms for latency in latencies),
        dead_air=mean_of([x.dead_air_n for x in latencies], shares=False),
        silent_wait=mean_of([x.silent_wait_n for x in latencies], shares=False),
        silent_by_chance=share(
            sum(round((x.chance_share or 0.0) * x.chance_n) for x in floors), sum(x.chance_n for x in floors)
        ),
        cut_ins=mean_of([x.cut_ins for x in floors], shares=False),
        unanswered=mean_of([x.unanswered for x in latencies], shares=False),
        false_yields=share(
            min(sum(x.false_yields for x in floors), sum(x.backchannels for x in floors)),
            sum(x.backchannels for x in floors),
        ),
        overlap_ratio=mean_of(_present(x.overlap_ratio for x in floors)),
    )


def _delay(stop: CountedStop) -> float | None:
    """As in a session: an agent that did not stop counts as the window, where its observation ended."""
    if stop.stop_kind == "not_stopped":
        return WINDOW_MS
    return stop.stop_delay_ms if stop.stop_kind in ("yielded", "resumed") else None


def _medians(summaries: Iterable[CountedSummary]) -> Spread:
    values = [s.median if s.median is not None else stats.median(s.values) for s in summaries]
    return spread(_present(values))


def _tools(rows: Sequence[SessionRow]) -> Tools:
    used = [row.score.tools for row in rows]
    return Tools(
        ratio=mean_of(_present(u.ratio for u in used if u.ratio is None or math.isfinite(u.ratio)), shares=False),
        calls=sum(u.calls for u in used),
        ok=sum(u.ok for u in used),
        unknown_tool=sum(u.unknown_tool for u in used),
        invalid_arguments=sum(u.invalid_arguments for u in used),
        repeated=sum(u.repeated for u in used),
        after_interruption=sum(u.after_interruption for u in used),
    )


def _lapses(rows: Sequence[SessionRow]) -> Lapses:
    work = [row.score.work for row in rows]
    return Lapses(
        stale_calls=sum(len(w.stale_calls) for w in work),
        results_dropped=sum(len(w.results_dropped) for w in work),
        misread_approvals=sum(len(w.misread_approvals) for w in work),
        disclosures=sum(len(w.disclosures) for w in work),
        false_success=sum(len(w.false_success) for w in work),
        lookups_missing=sum(len(w.required_lookups_missing) for w in work),
        confirmed=share(
            sum(w.confirmations.confirmed for w in work), sum(w.confirmations.n for w in work), fields=True
        ),
    )
