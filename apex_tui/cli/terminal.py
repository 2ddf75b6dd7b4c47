"""What a command prints on a terminal: text only. Names, words and titles come from files that others wrote, and may hold escape sequences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO, cast

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""All but tab and line feed; what turns the direction of writing as well."""


class _TextOnly:
    """A terminal that gets characters and line breaks, and no control sequence; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write with each control character as a blank."""
        self.stream.write(_CONTROL.sub(" ", text))
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
