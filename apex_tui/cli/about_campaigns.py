"""``apex-tui campaign``: runs a plan of sessions to its end, and says what they came to.

stderr has a line for every finished session, with the time left; stdout has the table. Exit code 1 when the plan's demands are not met.
"""

from __future__ import annotations

import sys
from pathlib import Path

from apex_tui.cli.about_results import Form, show
from apex_tui.cli.text import clean
from apex_tui.store.layout import sessions_root, slug
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK
from apex_tui.timeline.paths import real_path
from apex_tui.trials.campaign import Tally, run_campaign
from apex_tui.trials.plan import Demands, PlanMistake, placed, read_plan
from apex_tui.trials.results import table_of
from apex_tui.trials.results_model import Table
from apex_tui.trials.results_read import read_results


def campaign(plan_path: Path, out: Path | None, form: Form) -> int:
    """Run or resume the campaign of a plan, then print its table; returns the exit code."""
    plan = read_plan(plan_path)
    folder = real_path(out or sessions_root() / "campaigns" / slug(plan.name))
    try:
        tally = run_campaign(plan, real_path(plan_path).parent, folder, _narrate)
    except PlanMistake as mistake:
        raise placed(plan_path, mistake) from None
    _tell(tally)
    readings = read_results([folder])
    table = table_of(readings, plan.k)
    show(table, readings.rows, form)
    short = shortfalls(table, plan.minimum)
    for sentence in short:
        print(f"not met: {sentence}", file=sys.stderr)
    if short:
        return EXIT_FAILED
    return EXIT_INVALID if tally.unsettled == tally.cells else EXIT_OK


def _narrate(line: str) -> None:
    print(clean(line), file=sys.stderr, flush=True)


def _tell(tally: Tally) -> None:
    words = f"{tally.ran} session{'' if tally.ran == 1 else 's'} run, {tally.skipped} finished before, {tally.retries} tried again"
    if tally.unsettled:
        words += f"; {tally.unsettled} fell to the infrastructure every time, the same command tries them again"
    print(words, file=sys.stderr)


def shortfalls(table: Table, demands: Demands) -> list[str]:
    """What the plan demands and an agent does not reach, one sentence each. A demand that cannot be judged is not met."""
    out: list[str] = []
    for agent in table.agents:
        if agent.rehearsal and not demands.rehearsals:
            continue
        reached, wanted = agent.reliable_k.value, demands.reliable_at_k
        if wanted is not None and (reached is None or reached < wanted):
            shown = f"{100 * reached:.1f} %" if reached is not None else "not known (too few scored sessions)"
            out.append(f"{agent.label}: Reliable@{table.k} is {shown}, wanted at least {100 * wanted:.1f} %")
        median, budget = agent.turns.first_audible_ms.median, demands.first_audible_ms
        if budget is not None and (median is None or median > budget):
            shown = f"{median:.0f} ms" if median is not None else "not known (no answer was heard)"
            out.append(f"{agent.label}: first audible is {shown} in the median, the budget is {budget:.0f} ms")
    return out
