"""The themes of our own, and what takes colour away. The only colours in the program; everything else names theme variables."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, NoColor
from textual.theme import Theme

DARK = Theme(
    name="apex-dark",
    primary="#7fb4d9",
    secondary="#b8a1e3",
    accent="#e6c384",
    foreground="#dde3ea",
    background="#10151b",
    surface="#151c24",
    panel="#233040",
    success="#8fd18a",
    warning="#f0c05a",
    error="#ff8f80",
    dark=True,
    variables={"apex-quiet": "#8796a5", "apex-edge": "#3a4a5c"},
)
"""Every text colour has a contrast of at least 5.5 to the background."""

LIGHT = Theme(
    name="apex-light",
    primary="#175e8c",
    secondary="#5b3f99",
    accent="#7a5200",
    foreground="#1b232b",
    background="#fbfaf7",
    surface="#f3f1ec",
    panel="#e2ded4",
    success="#1c6b26",
    warning="#805000",
    error="#b3261e",
    dark=False,
    variables={"apex-quiet": "#586573", "apex-edge": "#b5b0a4"},
)

CONTRAST = Theme(
    name="apex-contrast",
    primary="#9fd8ff",
    secondary="#e0c8ff",
    accent="#ffe600",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#303030",
    success="#7dff7d",
    warning="#ffd24d",
    error="#ff9d9d",
    dark=True,
    variables={"apex-quiet": "#d0d0d0", "apex-edge": "#ffffff"},
)
"""For projectors and tired eyes: every text colour has a contrast of at least 10 to the background."""
OWN = (DARK, LIGHT, CONTRAST)


class Monochrome(LineFilter):
    """No colour at all: dim, bold, reverse and strike-through remain."""

    _colours = NoColor()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Take the colours out of the segments."""
        return [
            Segment(text, Style() if style is None else style, control)
            for text, style, control in self._colours.apply(segments, background)
        ]
