"""The lines that an official caller says outside its dialogue: four closing lines and a nudge, as wordings of two plans of their own.

In here: finding them in the index of a package's speech, where the format keeps them. A package without speech is spoken in tones; its lines are
sentences of ours, which no provider ever hears as words. Deliberately not in here: when they are said (``caller.recovery``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import Variant, Wording
from apex_tui.workflow.files import read_text

INDEX = "user/audio/index.jsonl"
CLOSING, NUDGE = "recovery.closing", "recovery.nudge"
"""Ids of the plans; no flow says them."""
OUR_CLOSINGS = (
    "That's everything from me. Thank you, goodbye.",
    "That was all I needed. Thanks, bye.",
    "Great, thank you for your help. Goodbye.",
    "All right, thanks a lot. Bye for now.",
)
OUR_NUDGE = "What else do you need from me?"
OUR_FINALIZE = "You have everything now. Please finish it."
"""Of the text condition alone; the format publishes its words nowhere."""
_CLIP = re.compile(r"_closing_(\d)\.flac")


def recovery_wordings(folder: Path) -> tuple[Wording, ...]:
    """The wordings of a package: those of its speech where it ships any (none, when its index names none), else ours."""
    if not (folder / INDEX).is_file():
        return _wordings(OUR_CLOSINGS, OUR_NUDGE)
    closings: dict[int, str] = {}
    nudge = ""
    for row in _rows(folder / INDEX):
        kind, text, file = row.get("kind"), row.get("text"), row.get("file")
        if not isinstance(text, str) or not isinstance(file, str):
            continue
        place = _CLIP.fullmatch(file)
        if kind == "closing" and place is not None:
            closings.setdefault(int(place[1]), text)
        elif kind == "nudge":
            nudge = nudge or text
    return _wordings([closings[number] for number in sorted(closings)], nudge)


def _wordings(closings: tuple[str, ...] | list[str], nudge: str) -> tuple[Wording, ...]:
    lines = [(CLOSING, "END", closings), (NUDGE, "ASK", [nudge] if nudge else [])]
    return tuple(
        Wording.model_validate(
            {
                "user_plan_id": plan,
                "speech_act": act,
                "variants": [Variant(variant_id=f"{plan}#v{n}", text=text) for n, text in enumerate(texts, 1)],
            }
        )
        for plan, act, texts in lines
        if texts
    )


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows that can be read. What is wrong with an index is said when a session wants its clips (``bank.package``)."""
    try:
        text = read_text(path, path.name)
    except WorkflowError:
        return
    for line in text.split("\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row
