"""``apex-tui export``: sessions and recipes in the layout of the APEX-Voice reference."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from apex_tui.store.recording import find_recording, open_recording
from apex_tui.timeline.errors import EXIT_OK, UserError
from apex_tui.trials.check import check_text
from apex_tui.trials.official_layout_package import export_package
from apex_tui.trials.official_layout_session import export_session
from apex_tui.workflow.library import find_workflow, list_workflows
from apex_tui.workflow.official import read_package

LAYOUTS = ("apex-voice",)


def export(what: Sequence[str], to: str, out: Path, model: str | None, *, as_json: bool) -> int:
    """Write each session (on an official package) or recipe; prints the folders that were written.

    Raises:
        UserError: an unknown layout, or something that cannot be written in it.
    """
    if to not in LAYOUTS:
        raise UserError(f"--to {to!r}: there is {', '.join(LAYOUTS)}")
    own = {card.id for card in list_workflows()}
    written: list[dict[str, object]] = []
    for name in what:
        if name in own or name.endswith((".yaml", ".yml")):
            folder, notes = export_package(find_workflow(name), out)
            kind = "package"
            notes += [f"{row.check}: {row.detail}" for row in check_text(read_package(folder)) if not row.ok]
        else:
            folder, notes, kind = export_session(open_recording(find_recording(name)), out, model), [], "session"
        written.append({"kind": kind, "path": str(folder), "notes": notes})
        if not as_json:
            print(folder)
        for note in notes:
            print(f"{name}: {note}", file=sys.stderr)
    if as_json:
        print(json.dumps(written, ensure_ascii=False))
    elif any(row["kind"] == "session" for row in written):
        key = model or "KEY"
        print(f"read it with the reference: results --run {key}={out}", file=sys.stderr)
    return EXIT_OK
