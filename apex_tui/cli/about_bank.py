"""``apex-tui bank render | verify | check``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from apex_tui.bank.bank import find_bank_root
from apex_tui.bank.bank import verify as verify_bank
from apex_tui.bank.manifest import ClipSpec
from apex_tui.bank.render import render as render_bank
from apex_tui.engine.speech import spec_of
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError
from apex_tui.trials.heard import LEAST_RIGHT, MOST_HARD, Tally
from apex_tui.workflow.library import find_workflow, is_ours, list_workflows
from apex_tui.workflow.lines import Line, spoken_lines
from apex_tui.workflow.model import UNCORRECTED


def _chosen(names: list[str]) -> list[str]:
    """The folders of the bank. ``UserError``: a recipe is not one of ours, so it has none."""
    for name in names:
        if not is_ours(name) and (find_workflow(name).source == "recipe"):
            raise UserError(
                f"{name}: the bank renders the recipes in apex_tui/workflows/ of a checkout; put it there and name it by its id, or take in "
                f"recordings with 'apex-tui bank import LIST --for {name}'."
            )
    return names or [card.id for card in list_workflows()]


def _specs(name: str) -> list[ClipSpec]:
    """What a folder of the bank holds, as it is rendered."""
    return [spec_of(line) for line in _lines(name)]


def _lines(name: str) -> list[Line]:
    """What a folder of the bank holds: the lines of the workflow, and those that only its uncorrected twin speaks."""
    workflow = find_workflow(name)
    lines = list(spoken_lines(workflow))
    if any(event.type == "MID_SPEECH_CORRECTION" for event in workflow.events) and is_ours(name):
        known = {line.id for line in lines}
        lines += [line for line in spoken_lines(find_workflow(f"{name}{UNCORRECTED}")) if line.id not in known]
    return lines


def render(names: list[str], *, everything: bool) -> int:
    """Render what changed (or everything) into the bank; returns the exit code."""
    root = find_bank_root()
    for name in _chosen(names):
        specs = _specs(name)

        def say(clip: str, name: str = name) -> None:
            print(f"{name}: {clip}", file=sys.stderr)

        done = render_bank(specs, root / name, jobs=1, only_changed=not everything, on_clip=say)
        print(f"{name}: {len(specs)} clips, {len(done.rendered)} rendered, in {Path(root / name)}")
    return EXIT_OK


def verify(names: list[str], *, as_json: bool) -> int:
    """Prove the bank; exit code 1 when anything is wrong."""
    root = find_bank_root()
    report: dict[str, list[str]] = {}
    for name in _chosen(names):
        specs = _specs(name)
        findings = report[name] = [f"{finding.file}: {finding.problem}" for finding in verify_bank(root / name, specs)]
        if not as_json:  # each at once: a bank takes seconds
            print(
                f"{'✗' if findings else '✓'} {name}: {len(specs)} clips, {len(findings) or 'no'} findings", flush=True
            )
            for finding in findings:
                print(f"    {finding}")
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
    return EXIT_FAILED if any(report.values()) else EXIT_OK


def check(names: list[str], *, as_json: bool) -> int:
    """Let a recogniser transcribe what is new or changed, and write the reports; exit code 1 when too little comes through."""
    from apex_tui.trials import heard_files as files

    root = find_bank_root()
    reports: dict[str, files.Report] = {}
    for name in _chosen(names):

        def say(left: int, name: str = name) -> None:
            print(f"{name}: {left} clips to transcribe", file=sys.stderr)

        reports[name] = files.recognise(find_workflow(name), _lines(name), root, on_clips=say)
        if not as_json:
            print(_tally_line(name, files.tally_of(reports[name])))
            for finding in files.findings(reports[name]):
                print(f"    {finding}")
    whole = files.total(reports)
    if as_json:
        print(
            json.dumps({name: report.model_dump(mode="json") for name, report in reports.items()}, ensure_ascii=False)
        )
    else:
        print(_tally_line("all", whole))
        print(files.NOBODY)
    return EXIT_OK if whole.ok else EXIT_FAILED


def _tally_line(name: str, found: Tally) -> str:
    share = f"{100 * found.right / found.values:.1f} %" if found.values else "none"
    wrong = f"{100 * found.errors / found.length:.1f} %" if found.length else "none"
    return (
        f"{'✓' if found.ok else '✗'} {name}: {found.clips} clips, {found.hard} declared hard (at most {MOST_HARD:.0%}), "
        f"{found.right} of {found.values} critical values right ({share}; at least {LEAST_RIGHT:.0%}), word errors {wrong}"
    )
