"""Lines of the review screen: one row an utterance, the chosen one in full, and what stands between the review and a scenario. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from apex_tui.tui.lines import Part, fit, hanging, pad, row
from apex_tui.tui.plain import compact, plain
from apex_tui.tui.words import at, counted
from apex_tui.workflow.review import Clip, Review
from apex_tui.workflow.takes import role_words

MOST_FAULTS = 4
_TURN = re.compile(r"turn (\d+): (.*)", re.DOTALL)


def list_lines(review: Review, chosen: int, playing: int | None, width: int) -> list[Text]:
    """Head and rows: turn, time, length, what it is taken for, words."""
    narrow = width < 96
    roles = 22 if narrow else 32
    lines = [fit(row((f"    {'turn':<5}{'at':<10}{'long':>7}  {pad('is', roles)}words", "quiet")), width)]
    for number, clip in enumerate(review.clips):
        glyph, role = _mark(clip)
        lead = "▸ " if number == chosen else "  "
        gone = clip.role == "drop"
        words: Part = (
            (plain(clip.words, 400), "struck" if gone else "")
            if clip.words
            else ("(no words)", "quiet" if gone else "warn")
        )
        lines.append(
            fit(
                row(
                    (lead, "strong"), (f"{'►' if number == playing else glyph} ", role), (f"{clip.turn:<5}", "strong"),
                    (f"{at(clip.from_ms):<10}", "quiet"), f"{(clip.to_ms - clip.from_ms) / 1000:6.2f}s  ",
                    (pad(plain(role_words(clip.role, clip.of), 80), roles), role if role != "good" else "strong"), words,
                ),
                width,
            )
        )  # fmt: skip
    return lines


def _mark(clip: Clip) -> tuple[str, str]:
    if clip.role is None:
        return "?", "warn"
    if clip.role == "drop":
        return "·", "quiet"
    return "✓", "good"


def detail_lines(review: Review, chosen: int, made: Sequence[Text], file: str, width: int) -> list[Text]:
    """The chosen utterance in full, the outcome, and what is still to do; after it was made, what the checks found."""
    if made:
        return list(made)
    lines: list[Text] = []
    if review.clips:
        clip = review.clips[chosen]
        lines += hanging(
            row((" words    ", "head")), row(plain(clip.words) or ("none yet: w types them", "warn")), width
        )
        lines += hanging(row((" says     ", "head")), row(_values(clip.says) or ("no value", "quiet")), width)
        lines += hanging(row((" because  ", "head")), row((plain(clip.why, 200) or "you said so", "quiet")), width)
    lines += hanging(row((" outcome  ", "head")), row(_values(review.outcome) or ("empty: o fills it", "warn")), width)
    lines.append(
        row((" made as  ", "head"), (plain(review.id, 80), "strong"), (f"  from {plain(review.base, 80)}", "quiet"))
    )
    faults = gathered(review.faults())
    for fault in faults[:MOST_FAULTS]:
        lines += hanging(row((" to do    ", "warn")), row(plain(fault, 300)), width)
    if len(faults) > MOST_FAULTS:
        lines.append(row((f"          and {counted(len(faults) - MOST_FAULTS, 'more point')}", "warn")))
    if not faults:
        lines.append(row((" ready    ", "good"), "a makes the scenario"))
    lines += hanging(row((" file     ", "quiet")), row((plain(file, 400), "quiet")), width)
    return lines


def gathered(faults: Sequence[str]) -> list[str]:
    """``turn 1: no words ...`` and the same of other turns as one: ``turns 1, 3, 4: ...``."""
    turns: dict[str, list[str]] = {}
    for fault in faults:
        found = _TURN.fullmatch(fault)
        turns.setdefault(found[2] if found else fault, []).extend([found[1]] if found else [])
    return [
        f"turn{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {what}" if numbers else what
        for what, numbers in turns.items()
    ]


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{plain(name, 60)} = {compact(value, 80)}" for name, value in values.items())


def made_lines(record: Mapping[str, Any], width: int) -> list[Text]:
    """What ``apex-tui scenario --json`` reports: the recipe, stand-ins, and every check."""
    lines = hanging(row((" made     ", "head")), row((plain(str(record.get("recipe", "")), 400), "strong")), width)
    stand_ins = record.get("stand_ins")
    if isinstance(stand_ins, dict) and stand_ins:
        names = ", ".join(f"{name} ({who})" for name, who in stand_ins.items())
        lines += hanging(row((" others   ", "warn")), row(f"nobody recorded {plain(names, 400)}"), width)
    findings = record.get("findings")
    for found in findings if isinstance(findings, list) else ():
        ok = bool(found.get("ok"))
        lead = row((f" {'✓' if ok else '✗'} ", "good" if ok else "bad"))
        lines += hanging(
            lead,
            row((f"{plain(str(found.get('check', '')), 80)}  ", "strong"), plain(str(found.get("detail", "")), 400)),
            width,
        )
    return lines


def summary(review: Review) -> str:
    """For the title: how many are kept, and how many wait for a decision."""
    kept = sum(clip.role not in (None, "drop") for clip in review.clips)
    waits = sum(clip.role is None for clip in review.clips)
    return f"{plain(review.session, 60)} · {counted(len(review.clips), 'utterance')}, {kept} kept" + (
        f", {waits} to decide" if waits else ""
    )
