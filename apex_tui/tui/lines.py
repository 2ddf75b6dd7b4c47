"""Lines of cells: small functions that build, fit and box styled text. Every render_* module is made of these.

A style is a *role* (``good``, ``bad``, ``dim`` ...); the widget that paints a line turns roles into colours of the theme, so nothing here
knows a colour. Widths are terminal cells, measured, never characters counted.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

ROLES: tuple[str, ...] = (
    "good",
    "bad",
    "warn",
    "quiet",
    "strong",
    "head",
    "struck",
    "caller",
    "agent",
    "mark",
    "cursor",
)
"""Every role; widgets declare one component class for each."""

Part = str | tuple[str, str]
"""A piece of a line: bare text, or text with a role."""

_CONSOLE = Console(file=io.StringIO(), width=200, color_system=None, legacy_windows=False)
"""Only measures and wraps; it prints nothing."""


def row(*parts: Part | Text) -> Text:
    """One line of pieces."""
    text = Text(no_wrap=True, end="")
    for part in parts:
        if isinstance(part, Text):
            text.append_text(part)
        elif isinstance(part, str):
            text.append(part)
        else:
            text.append(part[0], part[1])
    return text


def runs(cells: Iterable[tuple[str, str]]) -> Text:
    """Cells with their roles as one line; neighbours of one role become one piece (a lane is drawn 20 times a second)."""
    text = Text(no_wrap=True, end="")
    for role, group in groupby(cells, key=itemgetter(1)):
        text.append("".join(cell for cell, _ in group), role)
    return text


def fit(text: Text, width: int) -> Text:
    """``text`` in exactly ``width`` cells: padded, or cut with ``…``."""
    fitted = text.copy()
    fitted.truncate(max(0, width), overflow="ellipsis", pad=True)
    return fitted


def clip(text: str, width: int) -> str:
    """Bare text in at most ``width`` cells, cut with ``…``."""
    if cell_len(text) <= width:
        return text
    cut = Text(text)
    cut.truncate(max(0, width), overflow="ellipsis")
    return cut.plain


def middle(text: str, width: int) -> str:
    """Bare text in at most ``width`` cells, its middle left out as ``…``: of a path the beginning and the last names stay."""
    if cell_len(text) <= width:
        return text
    kept = max(2, width - 1)
    head, tail = text, text
    while cell_len(head) > kept // 3:
        head = head[:-1]
    while cell_len(tail) > kept - cell_len(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def pad(text: str, width: int) -> str:
    """Bare text in exactly ``width`` cells."""
    clipped = clip(text, width)
    return clipped + " " * (width - cell_len(clipped))


def ends(left: Text, right: Text, width: int) -> Text:
    """``left`` and ``right`` at the two ends of a line; the left gives way."""
    room = width - right.cell_len
    if room < 1:
        return fit(right, width)
    return Text.assemble(fit(left, room), right, no_wrap=True, end="")


def wrap(text: Text, width: int, indent: int = 0) -> list[Text]:
    """``text`` in lines of at most ``width`` cells; lines after the first are indented."""
    room = max(4, width - indent)
    if indent == 0 and text.cell_len <= width:
        return [text]
    flowing = text.copy()
    flowing.no_wrap = False
    lines = flowing.wrap(_CONSOLE, room)
    margin = " " * indent
    return [line if number == 0 else Text.assemble(margin, line) for number, line in enumerate(lines)] or [Text("")]


def teach(width: int, *sentences: str) -> list[Text]:
    """What an empty pane says: what will stand here, and what brings it about."""
    return [line for sentence in sentences for line in wrap(row((sentence, "quiet")), width)]


def hanging(lead: Text, body: Text, width: int) -> list[Text]:
    """``body`` wrapped to the right of ``lead``, its further lines under the first word of the body."""
    indent = lead.cell_len
    lines = wrap(body, max(8, width - indent))
    margin = " " * indent
    return [Text.assemble(lead if number == 0 else margin, line, end="") for number, line in enumerate(lines)]


def flowing(lead: Text, items: Sequence[Text], width: int) -> list[Text]:
    """``items`` beside one another to the right of ``lead``; none is parted where a line has room for it."""
    room = max(8, width - lead.cell_len)
    lines: list[Text] = []
    for item in items:
        if lines and lines[-1].cell_len + 3 + item.cell_len <= room:
            lines[-1] = Text.assemble(lines[-1], "   ", item, end="")
        else:
            lines += wrap(item, room)
    margin = " " * lead.cell_len
    return [Text.assemble(lead if number == 0 else margin, line, end="") for number, line in enumerate(lines)]


def box(title: str, inner: Sequence[Text], width: int, height: int) -> list[Text]:
    """``inner`` in a round box of exactly ``width`` by ``height`` cells with a title on its upper edge."""
    room = max(1, width - 4)
    upper, lower = _edges(title, width)
    lines = [upper]
    for number in range(height - 2):
        content = inner[number] if number < len(inner) else Text("")
        lines.append(Text.assemble(("│ ", "quiet"), fit(content, room), (" │", "quiet"), end=""))
    return [*lines, lower]


@lru_cache(maxsize=64)
def _edges(title: str, width: int) -> tuple[Text, Text]:
    """The upper and lower edge of a box: the same in nearly every frame."""
    label = clip(title, max(1, width - 6))
    upper = row(("╭─ ", "quiet"), (label, "head"), (" " + "─" * max(0, width - 5 - cell_len(label)) + "╮", "quiet"))
    return fit(upper, width), row(("╰" + "─" * (width - 2) + "╯", "quiet"))


def beside(columns: Iterable[Sequence[Text]]) -> list[Text]:
    """Columns of equal height, joined row by row."""
    return [Text.assemble(*parts, end="") for parts in zip(*columns, strict=True)]


_DIGITS: dict[str, tuple[str, str, str]] = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"),
    "1": ("╺┓ ", " ┃ ", "╺┻╸"),
    "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"),
    "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"),
    "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"),
    "—": ("   ", "╺━╸", "   "),
    ".": (" ", " ", "╹"),
}


@lru_cache(maxsize=256)
def big(text: str) -> tuple[str, str, str]:
    """Digits three rows high; a character without a shape is left out."""
    shapes = [_DIGITS[char] for char in text if char in _DIGITS]
    return ("".join(s[0] for s in shapes), "".join(s[1] for s in shapes), "".join(s[2] for s in shapes))


def big_millis(ms: float | None) -> tuple[tuple[str, str, str], str]:
    """A delay as big digits and its unit: ms up to 9,999, above that seconds; a missing value is ``—``."""
    if ms is None:
        return big("—"), ""
    if round(ms) > 9999:
        return big(f"{ms / 1000:.1f}"), "s"
    return big(f"{ms:.0f}"), "ms"
