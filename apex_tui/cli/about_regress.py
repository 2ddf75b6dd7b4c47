"""``apex-tui regress``: a failed session becomes a scenario, and scenarios are played again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from apex_tui.cli.about_results import write
from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.store.layout import sessions_root
from apex_tui.store.recording import find_recording, open_recording
from apex_tui.timeline.errors import EXIT_OK
from apex_tui.timeline.paths import real_path
from apex_tui.trials.regress import scenario_of, write_scenario
from apex_tui.trials.regress_run import Instead, exit_code, junit, run_scenarios

SCENARIOS = "regressions"
"""Folder of scenarios when none is named: below the current one, so that it can be kept with the agent's code."""


def make(session: str, out: Path | None, *, as_json: bool) -> int:
    """Write the scenario of a failed session."""
    recording = open_recording(find_recording(session))
    scenario = scenario_of(recording)
    path = write_scenario(scenario, recording, out or Path(SCENARIOS))
    if as_json:
        print(json.dumps({"path": str(path), "scenario": scenario.model_dump(mode="json")}, ensure_ascii=False))
        return EXIT_OK
    print(path)
    for expected in scenario.expect:
        print(f"must hold: {expected.title} (was: {expected.was})", file=sys.stderr)
    print(f"pinned: {', '.join(pin.plan for pin in scenario.caller) or 'nothing'}", file=sys.stderr)
    return EXIT_OK


def run(folder: Path, out: Path | None, instead: Instead, junit_file: Path | None, *, as_json: bool) -> int:
    """Play the scenarios of a folder; returns the exit code."""
    place = real_path(out or sessions_root() / SCENARIOS)
    outcomes = run_scenarios(
        folder, place, instead, lambda line: print(clean(line, MAX_SENTENCE), file=sys.stderr, flush=True)
    )
    if junit_file is not None:
        write(junit_file, junit(outcomes))
    if as_json:
        rows = [
            {
                "name": o.name,
                "status": o.status,
                "why": o.why,
                "failed": list(o.failed),
                "folder": None if o.folder is None else str(o.folder),
                "note": o.note,
            }
            for o in outcomes
        ]
        print(json.dumps(rows, ensure_ascii=False))
    else:
        for o in outcomes:
            print(clean(f"{o.status:<14} {o.name}" + (f"  ({o.note})" if o.note else ""), MAX_SENTENCE))
    return exit_code(outcomes)
