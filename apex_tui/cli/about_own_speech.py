"""``apex-tui bank import | export``: a person's speech for a recipe of your own, from files and into files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from apex_tui.bank.importing import give, take
from apex_tui.bank.own import OwnSpeech, add_clips, read_own
from apex_tui.cli.text import clean
from apex_tui.timeline.errors import EXIT_OK, UserError
from apex_tui.timeline.paths import user_path
from apex_tui.workflow.compile import OWN_SPEECH, read_recipe
from apex_tui.workflow.library import is_ours, own_recipes
from apex_tui.workflow.lines import spoken_lines


def recipe_of(name: str) -> Path:
    """The file of the user's own recipe. ``UserError``: it is one of ours, or there is none."""
    if is_ours(name):
        raise UserError(
            f"{name} is one of our workflows, and speaks from the bank; copy its recipe under another id, or start with 'workflows new'."
        )
    path = own_recipes().get(name) or user_path(name)
    if not path.is_file() or path.suffix not in (".yaml", ".yml"):
        known = ", ".join(own_recipes()) or "none yet"
        raise UserError(f"{name}: no recipe of yours; name its file, or one of: {known}.")
    return path


def bring(listed: Path, name: str, *, as_json: bool) -> int:
    """Check the files of a list and take them as the speech of a recipe; says which lines have none yet."""
    recipe = recipe_of(name)
    workflow = read_recipe(recipe)
    speech = recipe.with_suffix(OWN_SPEECH)
    read_own(speech)  # a manifest that cannot be used is told before files are read
    taken = take(listed)
    kept = add_clips(speech, [row.clip for row in taken])
    lines = [line for line in spoken_lines(workflow) if line.role == "caller"]
    missing = [line.id for line in lines if kept.clip("caller", line.text) is None]
    idle = _idle(kept, {(line.role, line.text) for line in spoken_lines(workflow)})
    if as_json:
        rows = [
            {"file": t.row.file, "text": t.clip.text, "seconds": t.seconds, "level_db": t.level_db, "rate_hz": t.rate}
            for t in taken
        ]
        print(json.dumps({"speech": str(speech), "clips": rows, "missing": missing, "idle": idle}, ensure_ascii=False))
        return EXIT_OK
    for t in taken:
        print(clean(f"✓ {t.row.file:<28} {t.seconds:5.2f} s  {t.rate} Hz  {t.level_db:5.1f} dBFS  {t.clip.text}"))
    print(f"{_clips(len(taken))} in {speech}, kept on this machine unless you export", file=sys.stderr)
    for text in idle:
        print(clean(f"▲ no line of {workflow.id} says: {text}"), file=sys.stderr)
    if missing:
        print(f"lines of the caller without a clip: {', '.join(missing)}", file=sys.stderr)
    return EXIT_OK


def _clips(number: int) -> str:
    return f"{number} clip{'' if number == 1 else 's'}"


def _idle(kept: OwnSpeech, lines: set[tuple[str, str]]) -> list[str]:
    """Texts of clips that no line speaks."""
    spoken = {clip.file for role, text in lines if (clip := kept.clip("caller" if role == "caller" else "agent", text))}
    return [clip.text for clip in kept.clips if clip.file not in spoken]


def send(name: str, out: Path, *, as_json: bool) -> int:
    """Write the clips of a recipe as WAV files with their list."""
    speech = recipe_of(name).with_suffix(OWN_SPEECH)
    clips = give(speech, out)
    consent = read_own(speech).consent
    if as_json:
        print(
            json.dumps(
                {"folder": str(out), "clips": [clip.text for clip in clips], "consent": consent}, ensure_ascii=False
            )
        )
        return EXIT_OK
    print(out)
    agreed = f"the person agreed to: {consent}" if consent else "no consent is on file"
    print(clean(f"{_clips(len(clips))} of a person's voice left this app's keeping; {agreed}"), file=sys.stderr)
    return EXIT_OK
