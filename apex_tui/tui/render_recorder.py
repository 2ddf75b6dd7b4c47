"""The recorder's card: what the person at the microphone knows, still has to change, and may not say yet; how loud they are; what was said last.

Pure functions of the brief, the last take and the level. Deliberately not in here: where the card stands and its keys (``screen_person``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from apex_tui.tui.lines import Part, fit, flowing, row
from apex_tui.tui.plain import compact, plain
from apex_tui.tui.render_band import level_bar
from apex_tui.workflow.brief import Brief, Change
from apex_tui.workflow.takes import Take, role_words

QUIET_DB, LOUD_DB = -45.0, -3.0
"""A voice below is too quiet, above too loud, as `devices test` has it."""
METER = 20
LEAST_ROWS = 3


def card_lines(
    brief: Brief, last: Take | None, level_db: float | None, speaking: bool, width: int, most: int
) -> list[Text]:
    """The card in at most ``most`` lines; the level and the last take are always the last one."""
    lines = [line for lead, items in _parts(brief) for line in flowing(row((f" {lead:<8}", "head")), items, width)]
    room = max(0, most - 1)
    if len(lines) > room:
        lines = [*lines[: max(0, room - 1)], fit(row(("          … a larger window shows the rest", "quiet")), width)][
            :room
        ]
    return [*(fit(line, width) for line in lines), fit(_voice(last, level_db, speaking), width)]


def _parts(brief: Brief) -> Iterator[tuple[str, Sequence[Text]]]:
    """Rows of the card: the word before it, and pieces that are not parted."""
    due = [change for change in brief.changes if change.due and not change.done]
    later = [change for change in brief.changes if not change.due and not change.done]
    for change in due:
        yield "change", [row(("▲ now: ", "warn"), (_values(change), "strong"), ("  e says which field", "quiet"))]
    yield "tell", _tell(brief)
    for change in later:
        yield "later", [row((_values(change), "strong"), (f"  {plain(change.when, 80)}", "quiet"))]
    if brief.not_yet:
        values = ", ".join(f"{plain(name, 40)} {compact(new, 40)}" for name, new in brief.not_yet)
        yield "not yet", [row(("do not say ", "warn"), values)]
    if brief.changes and all(change.done for change in brief.changes):
        yield "change", [row(("✓ every correction was said", "good"))]
    if brief.goal:
        yield "goal", [row(plain(brief.goal, 200))]


def _tell(brief: Brief) -> list[Text]:
    """What is still to be told, with its values; how much was told is a number."""
    untold = [tell for tell in brief.tell if not tell.told]
    told = len(brief.tell) - len(untold)
    items = [row((f"○ {plain(tell.name, 40)} {compact(tell.value, 60)}", "strong")) for tell in untold]
    if told:
        items.append(row((f"✓ {'all ' if not untold else ''}{told} told", "good")))
    return items or [row(("nothing: this caller has no facts of their own", "quiet"))]


def _values(change: Change) -> str:
    return ", ".join(f"{plain(name, 40)} {compact(old, 40)} → {compact(new, 40)}" for name, old, new in change.changes)


def _voice(last: Take | None, level_db: float | None, speaking: bool) -> Text:
    """`` input ━━━━──── -23 dBFS good    turn 3: answer to dates · k says it again``."""
    parts: list[Part | Text] = [(" input   ", "head"), level_bar(level_db, METER)]
    if level_db is None:
        parts.append(("  nothing was heard yet", "quiet"))
    else:
        parts.append(f" {level_db:4.0f} dBFS ")
        if speaking:
            word = (
                ("too quiet", "warn")
                if level_db < QUIET_DB
                else ("too loud", "bad")
                if level_db > LOUD_DB
                else ("good", "good")
            )
            parts.append(word)
    if last is not None:
        undecided = last.role is None
        parts.append((f"   turn {last.turn}: ", "quiet"))
        parts.append((plain(role_words(last.role, last.of), 60), "warn" if undecided else "strong"))
        if last.role != "drop":
            parts.append((" · k says it again", "quiet"))
    return row(*parts)
