"""The fault matrix: every planted fault on every workflow it applies to, what it declared against what was found.

Found is what a faulty session trips beyond the clean reference's session under the same seed. Sessions run in virtual time, in a folder
that is thrown away. Deliberately not in here: faults and their declarations (``agents.rehearsal.faults``), readings (``faults``).
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from apex_tui.agents.rehearsal.faults import FAULTS
from apex_tui.engine.headless import run_headless
from apex_tui.score.verdict import Score
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.trials.faults import tripped
from apex_tui.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Row:
    """One session of the matrix. ``fault`` None: the clean reference, which must trip nothing and succeed."""

    workflow: str
    fault: str | None
    seed: int
    declared: frozenset[str]
    found: frozenset[str]
    problem: str = ""
    """The session could not be run, or says nothing about the agent: one sentence."""

    @property
    def ok(self) -> bool:
        """Whether exactly what was declared was found."""
        return not self.problem and self.declared == self.found

    @property
    def missing(self) -> tuple[str, ...]:
        """Declared and not found."""
        return tuple(sorted(self.declared - self.found))

    @property
    def surplus(self) -> tuple[str, ...]:
        """Found and not declared."""
        return tuple(sorted(self.found - self.declared))


def run_matrix(
    workflows: Sequence[Workflow], seeds: Sequence[int] = (1,), faults: Iterable[str] | None = None, workers: int = 1
) -> Iterator[Row]:
    """The rows of the matrix as they are found: for each workflow and seed the clean reference, then every fault that applies.

    ``faults`` names those that are wanted (None: all); ``workers`` is the number of processes, 1 this one.
    """
    wanted = None if faults is None else set(faults)
    chosen = [fault for name, fault in FAULTS.items() if wanted is None or name in wanted]
    tasks: list[tuple[Workflow, int, str | None]] = []
    for workflow in workflows:
        names = [fault.name for fault in chosen if fault.applies(workflow)]
        tasks += [(workflow, seed, name) for seed in seeds for name in (None, *names)]
    if workers == 1:
        yield from _rows(tasks, map(_session, *zip(*tasks, strict=True)))
    else:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            yield from _rows(tasks, pool.map(_session, *zip(*tasks, strict=True)))


def _rows(
    tasks: Iterable[tuple[Workflow, int, str | None]], results: Iterable[tuple[frozenset[str], str]]
) -> Iterator[Row]:
    clean = frozenset[str]()
    for (workflow, seed, name), (found, problem) in zip(tasks, results, strict=True):
        if name is None:
            clean = found
            yield Row(workflow.id, None, seed, frozenset(), found, problem)
        else:
            yield Row(workflow.id, name, seed, FAULTS[name].declared(workflow), found - clean, problem)


def _session(workflow: Workflow, seed: int, name: str | None) -> tuple[frozenset[str], str]:
    """What one session tripped, and what kept it from being judged."""
    try:
        score, events = faulty_session(workflow, seed, name)
    except ApexError as error:
        return frozenset(), str(error)
    if score.validity != "scored":
        return frozenset(), f"the session judges nobody: {score.validity}"
    return tripped(score, events), ""


def faulty_session(workflow: Workflow, seed: int, name: str | None) -> tuple[Score, list[Event]]:
    """The verdict and the events of one session with a planted fault (None: the clean reference).

    Raises ``ApexError`` when it could not be run.
    """
    fault = None if name is None else FAULTS[name]
    events: list[Event] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    with tempfile.TemporaryDirectory(prefix="apex-tui-matrix-") as folder:
        command = Run(
            workflow=workflow.id,
            agent="rehearsal" if fault is None else f"rehearsal:fault={fault.name}",
            seed=seed,
            virtual=True,
            sound="none",
            out=folder,
            tool_latency=fault.latency(workflow) if fault is not None else {},
            tool_failures=fault.failures(workflow) if fault is not None else {},
        )
        return run_headless(command, keep, workflow=workflow).score, events
