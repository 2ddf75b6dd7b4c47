"""``apex-tui workflows check | balance``: what is checked, printed as it is found."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK
from apex_tui.workflow.library import find_workflow, list_workflows
from apex_tui.workflow.model import Workflow

if TYPE_CHECKING:
    from apex_tui.trials.check import Finding
    from apex_tui.trials.matrix import Cell, Row

CI_SHARE = 1 / 20
"""Of the planted faults, in every run of CI."""


def _chosen(names: Sequence[str]) -> list[Workflow]:
    return [find_workflow(name) for name in names or [card.id for card in list_workflows()]]


def _spoken(names: Sequence[str]) -> list[Workflow]:
    """Workflows that can be played. ``BankError``: one has no speech, which is said once and not for every session."""
    from apex_tui.engine.speech import need_speech

    chosen = _chosen(names)
    for workflow in chosen:
        need_speech(workflow)
    return chosen


def check(names: list[str], *, tones: bool, as_json: bool) -> int:
    """Check workflows, and how like each other they are; exit code 1 when any finding stands."""
    from apex_tui.trials.check import check_workflows

    chosen = _chosen(names) if tones else _spoken(names)
    report: dict[str, list[Finding]] = {}
    for workflow, rows in check_workflows(chosen, tones=tones):
        report.setdefault(workflow.id, []).extend(rows)
        if not as_json:
            _print(workflow.id, rows)
    together = _likeness(chosen)
    if together:
        report["all"] = together
    if as_json:
        print(
            json.dumps(
                {
                    name: [{"check": r.check, "ok": r.ok, "detail": r.detail} for r in rows]
                    for name, rows in report.items()
                }
            )
        )
    else:
        _print("all", together)
    return EXIT_OK if all(row.ok for rows in report.values() for row in rows) else EXIT_FAILED


def _print(name: str, rows: Iterable[Finding]) -> None:
    for row in rows:
        print(clean(f"{'✓' if row.ok else '✗'} {name:<20} {row.check}: {row.detail}", MAX_SENTENCE), flush=True)


def _likeness(chosen: Sequence[Workflow]) -> list[Finding]:
    """The pairs that are too like each other, or the most alike one when there is none; nothing for a single recipe."""
    from apex_tui.trials.check import Finding
    from apex_tui.trials.similar import MOST_LIKE, pairs

    recipes = [flow for flow in chosen if flow.source == "recipe" and flow.bank in (None, flow.id)]
    found = pairs(recipes)
    rows = [pair for pair in found if pair.likeness > MOST_LIKE] or found[:1]
    return [
        Finding(
            "likeness",
            pair.likeness <= MOST_LIKE,
            f"{pair.first} and {pair.second}: {pair.likeness:.2f} (at most {MOST_LIKE:.2f}; the most alike first)",
        )
        for pair in rows
    ]


def balance(names: list[str], *, as_json: bool) -> int:
    """Count recipes by every axis."""
    from apex_tui.trials.similar import balance as counted

    found = counted(_chosen(names))
    if as_json:
        print(json.dumps(found))
        return EXIT_OK
    for axis, counts in found.items():
        words = ", ".join(f"{value} ({count})" for value, count in counts.items())
        print(textwrap.fill(words, 100, initial_indent=f"{axis:<16} ", subsequent_indent=" " * 17))
    return EXIT_OK


def faults(names: list[str], *, as_json: bool) -> int:
    """Run the fault matrix; exit code 1 when anything declared was not found, or found and not declared."""
    from apex_tui.trials.matrix import cells

    rows, wrong = _matrix(cells(_spoken(names)), as_json)
    if as_json:
        print(json.dumps([_as_json(row) for row in rows]))
    return EXIT_FAILED if wrong else EXIT_OK


def ci(names: list[str], *, seed: int, blind: Path | None) -> int:
    """Every reference, a twentieth of the planted faults, and the kept blind solves; exit code 1 when any is not as it must be."""
    from apex_tui.trials.blind import replay, transcripts
    from apex_tui.trials.matrix import cells, sample
    from apex_tui.trials.throwaway import spread

    whole = cells(_spoken(names))
    chosen = sample(whole, CI_SHARE, seed)
    print(f"{len(chosen)} of {len(whole)} sessions of the matrix (seed {seed})")
    _, wrong = _matrix(chosen, quiet=False)
    calls = transcripts(blind) if blind is not None else []
    for name, found in spread(replay, calls):
        _print(name, [found])
        wrong += not found.ok
    return EXIT_FAILED if wrong else EXIT_OK


def _matrix(chosen: Sequence[Cell], quiet: bool) -> tuple[list[Row], int]:
    """Run cells of the matrix and print them as they come; returns the rows, and how many are not as declared."""
    from apex_tui.trials.matrix import run_cells
    from apex_tui.trials.throwaway import workers

    rows: list[Row] = []
    for row in run_cells(chosen, workers()):
        rows.append(row)
        if not quiet:
            print(_matrix_line(row), flush=True)
    wrong = sum(not row.ok for row in rows)
    if not quiet:
        print(f"{len(rows)} sessions, {len(rows) - wrong} as declared" + (f", {wrong} not" if wrong else ""))
    return rows, wrong


def _as_json(row: Row) -> dict[str, object]:
    values = {key: getattr(row, key) for key in ("workflow", "fault", "seed", "ok", "problem")}
    return {**values, "declared": sorted(row.declared), "found": sorted(row.found)}


def _matrix_line(row: Row) -> str:
    """One row: what was found, and what of it was not declared or is missing."""
    found = " ".join(sorted(row.found)) or "nothing"
    line = f"{'✓' if row.ok else '✗'} {row.workflow:<16} {row.fault or 'reference':<26} {found}"
    notes = [row.problem] if row.problem else []
    notes += [f"declared and not found: {' '.join(row.missing)}"] if row.missing else []
    notes += [f"found and not declared: {' '.join(row.surplus)}"] if row.surplus else []
    return "; ".join([line, *notes])
