"""The fault matrix: every planted fault on every workflow it applies to, what it declared against what was found.

Found is what a faulty session trips beyond the clean reference's session under the same seed. A sample of it is every reference and a seeded
share of the faults. Deliberately not in here: faults and their declarations (``agents.rehearsal.faults``), readings (``faults``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apex_tui.agents.rehearsal.faults import FAULTS
from apex_tui.score.verdict import Score
from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.events import Event
from apex_tui.trials.check import not_interrupting, spoken_too_early
from apex_tui.trials.faults import tripped
from apex_tui.trials.throwaway import REHEARSAL, play, spread
from apex_tui.workflow.determinism import seeded_rng
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One session that is to be run. ``fault`` None: the clean reference."""

    workflow: Workflow
    seed: int
    fault: str | None


def cells(
    workflows: Sequence[Workflow], seeds: Sequence[int] = (1,), faults: Iterable[str] | None = None
) -> list[Cell]:
    """The whole matrix: for each workflow and seed the clean reference, then every fault that applies. ``faults``: those wanted (None: all)."""
    wanted = None if faults is None else set(faults)
    chosen = [fault for name, fault in FAULTS.items() if wanted is None or name in wanted]
    found = []
    for workflow in workflows:
        names = [fault.name for fault in chosen if fault.applies(workflow)]
        found += [Cell(workflow, seed, name) for seed in seeds for name in (None, *names)]
    return found


def sample(whole: Sequence[Cell], share: float, seed: int) -> list[Cell]:
    """Every clean reference, and a share of the faults (at least one), picked by ``seed``; in the order of the matrix."""
    faulty = [cell for cell in whole if cell.fault is not None]
    count = min(len(faulty), max(1, round(share * len(faulty))))
    picked = (
        {id(cell) for cell in seeded_rng("fault matrix", seed, "sample").sample(faulty, count)} if faulty else set()
    )
    return [cell for cell in whole if cell.fault is None or id(cell) in picked]


def run_matrix(
    workflows: Sequence[Workflow], seeds: Sequence[int] = (1,), faults: Iterable[str] | None = None, workers: int = 1
) -> Iterator[Row]:
    """The rows of the whole matrix as they are found. ``workers`` is the number of processes, 1 this one."""
    return run_cells(cells(workflows, seeds, faults), workers)


def run_cells(chosen: Sequence[Cell], workers: int = 1) -> Iterator[Row]:
    """The rows of these cells as they are found; each workflow's clean reference stands before its faults."""
    clean = frozenset[str]()
    for cell, (found, problem) in zip(chosen, spread(_session, chosen, workers), strict=True):
        name = cell.workflow.id
        if cell.fault is None:
            clean = found
            yield Row(name, None, cell.seed, frozenset(), found, problem)
        else:
            declared = FAULTS[cell.fault].declared(cell.workflow)
            yield Row(name, cell.fault, cell.seed, declared, found - clean, problem)


def _session(cell: Cell) -> tuple[frozenset[str], str]:
    """What one session tripped, and what kept it from being judged. No fact is told too early, and the
    corrections break into the reference's words.
    """
    try:
        score, events = faulty_session(cell.workflow, cell.seed, cell.fault)
    except ApexError as error:
        return frozenset(), str(error)
    if score.validity != "scored":
        return frozenset(), f"the session judges nobody: {score.validity}"
    wrong = spoken_too_early(cell.workflow, events)
    if cell.fault is None:
        wrong += not_interrupting(cell.workflow, events)
    return tripped(score, events), wrong[0] if wrong else ""


def faulty_session(workflow: Workflow, seed: int, name: str | None) -> tuple[Score, list[Event]]:
    """The verdict and the events of one session with a planted fault (None: the clean reference).

    Raises ``ApexError`` when it could not be run.
    """
    if name is None:
        return play(workflow, seed)
    fault = FAULTS[name]
    return play(
        workflow,
        seed,
        agent=f"{REHEARSAL}:fault={name}",
        latency=fault.latency(workflow),
        failures=fault.failures(workflow),
    )
