"""The two rows that every screen has, with or without a session: the plain title and the key line."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from apex_tui.tui.lines import ends, fit, row


def title_plain(name: str, state_text: str, width: int) -> Text:
    """Title of a screen without a clock."""
    return ends(row((f" {name} ", "head")), row((f"{state_text} ", "quiet")), width)


def keys_line(keys: Sequence[tuple[str, str]], width: int) -> Text:
    """`` space hold  f follow``: whole entries only, the first ones win."""
    line = Text(no_wrap=True, end="")
    for key, word in keys:
        entry = row(" ", (key, "strong"), f" {word} ")
        if line.cell_len + entry.cell_len > width:
            break
        line.append_text(entry)
    return fit(line, width)
