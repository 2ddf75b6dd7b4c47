"""``apex-tui workflows list | show | new | text``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from apex_tui.cli.dialogue import dialogue
from apex_tui.cli.text import MAX_SENTENCE, clean
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError
from apex_tui.workflow.library import LIBRARY, find_workflow, is_named, list_own, list_workflows
from apex_tui.workflow.model import UNCORRECTED, Workflow
from apex_tui.workflow.snapshot import to_json

OFFICIAL_GATES = {"TS": "GS", "PV": "PC", "AC": "RA", "AV": "WA"}
"""What the format's files call the gates."""


def list_all(*, as_json: bool) -> None:
    """One line per workflow."""
    cards = [*list_workflows(), *list_own()]
    if as_json:
        print(
            json.dumps([{"id": c.id, "title": c.title, "archetype": c.archetype, "summary": c.summary} for c in cards])
        )
        return
    name, kind = max(len(c.id) for c in cards), max(len(c.archetype) for c in cards)
    for card in cards:
        print(clean(f"{card.id:<{name}} {card.archetype:<{kind}} {card.title}: {card.summary}", MAX_SENTENCE))


def show(name: str, *, as_json: bool) -> None:
    """What the workflow asks for, gold outcome included."""
    workflow = find_workflow(name)
    if as_json:
        print(json.dumps(to_json(workflow), ensure_ascii=False))
        return
    for line in _lines(workflow):
        print(clean(line))


def _lines(workflow: Workflow) -> list[str]:
    out = [
        f"{workflow.title}  ({workflow.id} {workflow.version}, {workflow.archetype}, {workflow.profession})",
        workflow.summary,
        "",
    ]
    out.append(
        f"autonomy   {workflow.autonomy.level}; approval needed for {', '.join(workflow.autonomy.approval_required_for) or 'nothing'}"
    )
    for name, artifact in workflow.artifacts.items():
        fields = artifact.shape.fields if artifact.shape else ()
        out.append(f"artifact   {name} ({artifact.artifact_type})")
        out += [
            f"             {f.name}: {f.type}{' required' if f.required else ''}"
            + (f", makes {', '.join(f.dependents)} stale" if f.dependents else "")
            for f in fields
        ]
    out += [f"tool       {tool.name}: {tool.description}" for tool in workflow.tools]
    out += [
        f"document   {doc.doc_id}: {doc.title}{' (distractor)' if doc.distractor else ''}" for doc in workflow.documents
    ]
    out += [
        f"table      {name} ({', '.join(table.columns)}), rows by {table.key}"
        for name, table in workflow.records.items()
    ]
    out += ["", "dialogue", *dialogue(workflow), ""]
    for expectation in workflow.gold.artifact_expectations:
        out.append(f"gold       {expectation.artifact_id} at least {expectation.lifecycle_min}")
        out += [f"             {field.field} = {field.expected!r} ({field.grader})" for field in expectation.fields]
    for predicate in workflow.gold.terminal_state:
        if predicate.kind == "state_equals":
            out.append(f"             {predicate.args.get('path')} = {predicate.args.get('value')!r}")
    out.append(f"reference  {workflow.reference.calls} tool calls in {len(workflow.reference.turns)} turns")
    return out


def new(name: str, folder: Path) -> Path:
    """Write a recipe to start from as ``<name>.yaml``; returns its path. Raises ``UserError``: no id, or one that is taken."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", name) or name.endswith(UNCORRECTED):
        raise UserError(
            f"{name[:80]!r} is no id of a workflow: use lower case letters, digits and hyphens, as in parcel-delivery."
        )
    if is_named(name):
        raise UserError(f"{name} is a workflow already ('workflows show {name}'): a new one needs an id of its own.")
    path = folder / f"{name}.yaml"
    text = (LIBRARY / "template.yaml").read_text(encoding="utf-8").replace("id: parcel-delivery", f"id: {name}", 1)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} is there already; choose another name, or remove it.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); name another folder with --in.") from error
    return path


def text(name: str, seed: int, *, silent: bool, recovery: bool, as_json: bool) -> int:
    """Play a package in the text condition; exit code 1 when it does not succeed."""
    from apex_tui.trials.text_control import SILENT, run_text

    workflow = find_workflow(name)
    if workflow.source != "official":
        raise UserError(
            f"{workflow.id} is a recipe: the text condition plays official packages; write one with 'export'"
        )
    run = run_text(workflow, SILENT if silent else None, seed, recovery=recovery)
    if as_json:
        found = {
            "pts": int(run.passed),
            "components": {OFFICIAL_GATES[gate.gate]: gate.passed for gate in run.gates},
            "outcome": run.outcome,
            "turns": run.turns,
            "leaks": [f"{plan}: {fact}" for plan, fact in run.leaks],
            "rows": run.rows,
        }
        print(json.dumps(found, ensure_ascii=False))
        return EXIT_OK if run.passed else EXIT_FAILED
    for row in run.rows:
        words = json.dumps(row["payload"], ensure_ascii=False)
        print(clean(f"{row['seq']:>4} {row['media_time_ms']:>7} {row['type']:<18} {words}"))
    for gate in run.gates:
        print(clean(f"{'✓' if gate.passed else '✗'} {OFFICIAL_GATES[gate.gate]}  {gate.reason}"))
    print(f"PTS {int(run.passed)}, {run.outcome}, {run.turns} turns, {len(run.leaks) or 'no'} facts told too early")
    return EXIT_OK if run.passed else EXIT_FAILED
