"""The two rows that every screen has, with or without a session: the plain title and the key line."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from apex_tui.tui.lines import ends, fit, row

ALL_KEYS = "all keys"
"""What help is called where the line leaves keys out."""
ROOM_FOR_PALETTE = 100


def title_plain(name: str, state_text: str, width: int) -> Text:
    """Title of a screen without a clock."""
    return ends(row((f" {name} ", "head")), row((f"{state_text} ", "quiet")), width)


def line_of_keys(
    own: Sequence[tuple[str, str]],
    help_key: tuple[str, str],
    palette: tuple[str, str],
    out: tuple[str, str],
    width: int,
) -> list[tuple[str, str]]:
    """The entries of a key line: all of them where they fit; else the first of ``own``, and help says that there are more.

    A narrow line gives up the palette before a key of its own: help names it.
    """
    if _cells([*own, help_key, palette, out]) <= width:
        return [*own, help_key, palette, out]
    always = [(help_key[0], ALL_KEYS), *([palette] if width >= ROOM_FOR_PALETTE else []), out]
    kept: list[tuple[str, str]] = []
    for entry in own:
        if _cells([*kept, entry, *always]) > width:
            break
        kept.append(entry)
    return [*kept, *always]


def _cells(entries: Sequence[tuple[str, str]]) -> int:
    return sum(cell_len(key) + cell_len(word) + 3 for key, word in entries)


def keys_line(keys: Sequence[tuple[str, str]], width: int) -> Text:
    """`` space hold  f follow``: whole entries only, the first ones win."""
    line = Text(no_wrap=True, end="")
    for key, word in keys:
        entry = row(" ", (key, "strong"), f" {word} ")
        if line.cell_len + entry.cell_len > width:
            break
        line.append_text(entry)
    return fit(line, width)
