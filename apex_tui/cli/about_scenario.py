"""``apex-tui scenario``: a session with a person at the microphone becomes a recipe and clips; reviewed in a file, on the screen, or accepted."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apex_tui.cli.text import clean
from apex_tui.store.meta import DEGRADED
from apex_tui.store.recording import Recording, find_recording, open_recording
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError
from apex_tui.timeline.paths import real_path
from apex_tui.workflow.library import find_workflow, own_place
from apex_tui.workflow.review import ID, Review, read_review, write_review
from apex_tui.workflow.takes import role_words

if TYPE_CHECKING:
    from apex_tui.bank.recognise import Hear


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for; None: as proposed."""

    session: str
    id: str | None = None
    base: str | None = None
    recognise: bool = False


def _drafted(asked: Asked) -> tuple[Recording, Review]:
    from apex_tui.trials.scenario import draft

    if asked.id is not None and re.fullmatch(ID, asked.id) is None:
        raise UserError(
            f"--id {asked.id[:80]!r}: use lower-case letters, digits and -, at most 61 of them, such as leave-by-phone."
        )
    recording = open_recording(find_recording(asked.session))
    hear: Hear | None = None
    if asked.recognise:
        from apex_tui.bank.recognise import recogniser

        hear = recogniser()
    return recording, draft(recording, hear, asked.id, asked.base)


def write_draft(asked: Asked, path: Path) -> int:
    """Write the review for a person to edit; says what is still to be decided."""
    recording, review = _drafted(asked)
    write_review(path, review)
    print(path)
    for line in _told(review):
        print(line, file=sys.stderr)
    if DEGRADED in recording.meta.labels:
        print(
            "the machine was too busy during this call, so sound may be missing: listen to every clip", file=sys.stderr
        )
    for fault in review.faults():
        print(clean(f"to do: {fault}"), file=sys.stderr)
    return EXIT_OK


def _told(review: Review) -> list[str]:
    return [
        clean(
            f"turn {clip.turn:>3}  {clip.from_ms / 1000:8.2f} s  {role_words(clip.role, clip.of):<28} {clip.words or '(no words)'}"
        )
        for clip in review.clips
    ]


def make(asked: Asked, path: Path | None, out: Path | None, times: int, *, as_json: bool) -> int:
    """Make recipe and clips of a reviewed file (or of the proposals), and check them; exit code 1 when a check fails."""
    from apex_tui.trials.check import check_workflow
    from apex_tui.trials.scenario import build, replayed

    recording, drafted = _drafted(asked)
    review = drafted if path is None else _reviewed(path, drafted, asked)
    built = build(review, recording, out)
    workflow = find_workflow(str(built.recipe))
    findings = [*check_workflow(workflow), replayed(workflow, times)]
    ok = all(finding.ok for finding in findings)
    if as_json:
        rows = [{"check": row.check, "ok": row.ok, "detail": row.detail} for row in findings]
        made = {"recipe": str(built.recipe), "clips": built.clips, "stand_ins": built.stand_ins, "findings": rows}
        print(json.dumps(made, ensure_ascii=False))
        return EXIT_OK if ok else EXIT_FAILED
    for line in _told(review):
        print(line, file=sys.stderr)
    print(built.recipe)
    print(f"{built.clips} clips; they stay on this machine unless you export them ('bank export')", file=sys.stderr)
    for name, who in built.stand_ins.items():
        print(
            clean(f"nobody recorded {name}: {'the speech bank speaks' if who == 'bank' else 'tones stand in for'} it"),
            file=sys.stderr,
        )
    for row in findings:
        print(clean(f"{'✓' if row.ok else '✗'} {row.check}: {row.detail}"), file=sys.stderr)
    inside = out is None or real_path(out) == real_path(own_place())
    print(f"run it: apex-tui run {review.id if inside else built.recipe}", file=sys.stderr)
    return EXIT_OK if ok else EXIT_FAILED


def _reviewed(path: Path, drafted: Review, asked: Asked) -> Review:
    """The file, with what the command line says otherwise. ``UserError``: it is a review of another session."""
    review = read_review(path)
    if review.session != drafted.session:
        raise UserError(f"{path.name}: session: it reviews {review.session}, not {drafted.session}.")
    changes = {key: value for key, value in (("id", asked.id), ("base", asked.base)) if value is not None}
    return Review.model_validate({**review.model_dump(), **changes})
