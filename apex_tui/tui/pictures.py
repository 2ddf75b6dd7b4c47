"""Screens as pictures: SVG that links nothing. Pure; who draws and where it is written is decided elsewhere."""

from __future__ import annotations

import re

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_FAMILY = re.compile(r'font-family:\s*"?Fira Code[^;}]*')


def self_contained(svg: str) -> str:
    """The picture without its web font: whoever opens it asks nobody for anything; the viewer's own monospace font draws it.

    Only the style sheet is changed, never the text on the screen.
    """
    style, end, drawing = svg.partition("</style>")
    return _FAMILY.sub("font-family: monospace", _FONT_FACE.sub("", style)) + end + drawing
