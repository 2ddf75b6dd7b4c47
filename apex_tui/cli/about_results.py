"""``apex-tui results`` and ``apex-tui compare``: tables over many sessions, and where two of them part.

In here: which form is printed where. stdout holds exactly one form; what goes into a file is named on stderr. Deliberately not in here: the
numbers (``trials.results``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from apex_tui.cli.terminal import as_drawn, terminal_width
from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.store.layout import sessions_root
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError
from apex_tui.trials.results_left_out import apart_note, directed_note, repeats_note
from apex_tui.trials.results_model import Table
from apex_tui.trials.results_read import SessionRow, read_results

PIPE_WIDTH = 160
"""Columns of a table that no terminal shows: a pipe has no width of its own."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a table is printed: at most one of the first three, and a page beside it."""

    as_json: bool = False
    as_csv: bool = False
    as_markdown: bool = False
    html: Path | None = None
    with_sound: bool = False
    timelines: int | None = None


def results(
    folders: Sequence[Path],
    form: Form,
    *,
    k: int,
    rescore: bool,
    profile: str,
    agents: Sequence[str],
    axes: Sequence[str] = (),
) -> int:
    """Print the table of everything below ``folders``; exit code 1 when there is no session to count."""
    from apex_tui.trials.results import table_of

    if profile not in ("strict", "official"):
        raise UserError(f"--profile {profile!r}: choose strict or official")
    if profile == "official" and not rescore:
        raise UserError(
            "--profile official: stored verdicts are strict; add --rescore to judge the logs in that profile"
        )
    if not folders and not sessions_root().exists():
        raise UserError(f"no session is recorded yet in {sessions_root()}: 'apex-tui run WORKFLOW' makes one")
    readings = read_results(list(folders) or [sessions_root()], rescore=rescore, grading=profile)
    if agents:
        known = sorted({row.agent for row in readings.rows})
        unknown = [agent for agent in agents if agent not in known]
        if unknown:
            raise UserError(f"--agent {unknown[0]}: there are {', '.join(known) or 'no agents'}")
        readings.rows = [row for row in readings.rows if row.agent in agents]
    table = only_axes(table_of(readings, k), axes)
    show(table, readings.rows, form)
    return EXIT_OK if readings.rows else EXIT_FAILED


def only_axes(table: Table, axes: Sequence[str]) -> Table:
    """The table with the slices of some axes only (all, when none is named). Raises ``UserError``: there is no such axis."""
    known = list(dict.fromkeys(part.axis for part in table.slices))
    unknown = [axis for axis in axes if axis not in known]
    if unknown and known:
        raise UserError(f"--by {unknown[0]!r}: choose one of {', '.join(known)}")
    chosen = tuple(part for part in table.slices if part.axis in axes)
    return table.model_copy(update={"slices": chosen}) if axes else table


def show(table: Table, rows: Sequence[SessionRow], form: Form) -> None:
    """Write the page, if one is wanted, and print the table. Raises ``UserError``: two forms at once, or a page that cannot be written."""
    if form.as_json + form.as_csv + form.as_markdown > 1:
        raise UserError("--json, --csv and --markdown: choose one")
    try:
        if form.html is not None:
            _page(
                table, rows, form, form.html
            )  # first: whoever reads only the table's head wants the page all the same
    finally:
        _print(table, form)


def _print(table: Table, form: Form) -> None:
    from apex_tui.trials.tables import csv_text, left_out, markdown, print_table

    if form.as_json:
        print(table.model_dump_json())
    elif form.as_csv:
        as_drawn(sys.stdout).write(csv_text(table))  # its cells are clean, and its rows stay whole
    elif form.as_markdown:
        print(markdown(table))
    else:
        console = Console(file=as_drawn(sys.stdout), width=None if sys.stdout.isatty() else PIPE_WIDTH)
        print_table(table, console, print)
        table = table.model_copy(update={"skipped": {}})  # they stand under the table
    for line in left_out(table.skipped):
        print(clean(line, MAX_SENTENCE), file=sys.stderr)


def _page(table: Table, rows: Sequence[SessionRow], form: Form, path: Path) -> None:
    from apex_tui.trials.html_report import TIMELINES, html_report

    timelines = TIMELINES if form.timelines is None else form.timelines
    write(path, html_report(table, rows, with_sound=form.with_sound, timelines=timelines))


def write(path: Path, text: str) -> None:
    """Write a file that a person asked for, and say so. Raises ``UserError`` when the disk refuses."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error}); name another file") from None
    print(f"wrote {path}", file=sys.stderr)


def fitting(options: Mapping[str, object], *, official: bool) -> None:
    """Raise ``UserError`` for an option that says nothing here: a table of ours has no packages, one of the reference's only its own form."""
    given = [name for name, value in options.items() if value]
    if given:
        words = (
            "does not go with --official, which prints its own table or --json" if official else "goes with --official"
        )
        raise UserError(f"{given[0]} {words}")


def official(folders: Sequence[Path], *, k: int, data: Path | None, judge_cache: Path | None, as_json: bool) -> int:
    """Print the table of campaign folders in the reference's layout; exit code 1 when there is no session to count."""
    from apex_tui.score.official_judge import read_verdicts
    from apex_tui.trials.official_layout_results import official_results, official_text

    if not folders:
        raise UserError("results --official: name a campaign's folder in the reference's layout, or a folder of such")
    verdicts = None if judge_cache is None else read_verdicts(judge_cache)
    table = official_results(folders, k, data, verdicts)
    print(table.model_dump_json() if as_json else official_text(table))
    for path, why in table.skipped.items():
        print(clean(f"not counted: {path}: {why}", MAX_SENTENCE), file=sys.stderr)
    return EXIT_OK if table.models else EXIT_FAILED


def compare(first: str, second: str, campaign: Path | None, *, as_json: bool) -> int:
    """Two sessions: the first event at which they part. Two agents (``campaign``): paired per workflow. Exit code 1 when sessions part."""
    if campaign is not None:
        from apex_tui.trials.compare_agents import compare_agents, pairs_text

        readings = read_results([campaign])
        pairs = compare_agents(readings.rows, first, second)
        print(pairs.model_dump_json() if as_json else pairs_text(pairs))
        for n, note in (
            (readings.directed, directed_note),
            (readings.repeats, repeats_note),
            (readings.apart, apart_note),
        ):
            if n:
                print(note(n), file=sys.stderr)
        return EXIT_OK
    from apex_tui.store.recording import find_recording, open_recording
    from apex_tui.trials.compare import compare_sessions, parting_text

    found = compare_sessions(open_recording(find_recording(first)), open_recording(find_recording(second)))
    print(found.model_dump_json() if as_json else parting_text(found, terminal_width(sys.stdout) or None))
    return EXIT_OK if found.parted is None else EXIT_FAILED
