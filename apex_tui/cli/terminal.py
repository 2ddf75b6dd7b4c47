"""What a command prints on a terminal: text only. Names, words and titles come from files that others wrote, and may hold escape sequences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO, cast

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""All but tab and line feed; what turns the direction of writing as well."""
_COLUMN = re.compile(r"(?:^| ) +(?=\S)")
"""The room before a column: the indent, or two blanks and more."""
_DATA = ("{", "[", '"', "|")
"""How lines of JSON and Markdown tables begin: they are copied, and stay whole."""
_LEAST = 20
"""Cells that a column needs so that its text can go on below it."""


def folded(line: str, width: int) -> str:
    """A line parted between words where it is wider than ``width`` cells, and gone on with below the last of its columns that leaves room.

    Words stay whole (a path is copied in one), and so does data.
    """
    if len(line) <= width or line.lstrip().startswith(_DATA):
        return line
    columns = [found.end() for found in _COLUMN.finditer(line) if found.end() <= width - _LEAST]
    indent = columns[-1] if columns else 0
    lines = [line[:indent]]
    for part in re.split("( +)", line[indent:]):
        if part.strip(" ") and len(lines[-1]) > indent and len(lines[-1]) + len(part) > width:
            lines[-1] = lines[-1].rstrip(" ")
            lines.append(" " * indent)
        if part.strip(" ") or len(lines[-1]) > indent:
            lines[-1] += part
    return "\n".join(lines)


def terminal_width(stream: TextIO) -> int:
    """Cells of a line; 0: not known, or no terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


class _TextOnly:
    """A terminal that gets characters and line breaks, and no control sequence; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._at_start = True

    def write(self, text: str) -> int:
        """Write with each control character as a blank, and lines folded that begin here."""
        plain = _CONTROL.sub(" ", text)
        if len(plain) > _LEAST and (width := terminal_width(self.stream)) > _LEAST:
            first, *others = plain.split("\n")
            first = folded(first, width) if self._at_start else first
            plain = "\n".join((first, *(folded(line, width) for line in others)))
        self.stream.write(plain)
        if plain:
            self._at_start = plain.endswith("\n")
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.stream, name)


def for_terminal(stream: TextIO) -> TextIO:
    """The stream, made safe where it leads to a terminal. A file or a pipe gets every character: it is data there."""
    return cast(TextIO, _TextOnly(stream)) if stream is not None and stream.isatty() else stream


def as_drawn(stream: TextIO) -> TextIO:
    """The stream itself, for text whose parts were cleaned already and that is drawn with colours."""
    return stream.stream if isinstance(stream, _TextOnly) else stream
