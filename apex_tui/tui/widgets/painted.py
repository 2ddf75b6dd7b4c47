"""Widgets that paint prepared lines cell by cell (Textual's line API): one for fixed rows, one that scrolls.

A line is styled text whose styles are roles; the roles' colours come from the stylesheet, so a change of theme changes them. A widget
repaints only when its lines changed. Markup is never parsed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Span, Text
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from apex_tui.tui.lines import ROLES, fit

CLASSES = {f"lines--{role}" for role in ROLES}
"""Component classes of every screen with painted lines: styled once a screen, not once a widget, which halves the start."""


def paint(widget: Widget, text: Text, width: int, selected: tuple[int, int] | None = None) -> Strip:
    """One line of ``width`` cells in the colours of the widget's theme."""
    base = widget.rich_style
    styled = fit(text, width) if text.cell_len > width else text.copy()
    spans = [Span(0, len(styled.plain), base)]  # without any span Rich would draw the line in no style at all
    for span in styled.spans:
        if isinstance(span.style, str):
            if span.style in ROLES:
                style = widget.screen.get_component_rich_style(f"lines--{span.style}", partial=True)
                spans.append(Span(span.start, span.end, style))
        else:
            spans.append(span)
    if selected is not None:
        start, end = selected
        highlight = widget.screen.get_component_rich_style("screen--selection", partial=True)
        spans.append(Span(start, len(styled.plain) if end == -1 else end, highlight))
    styled.spans = spans
    styled.end = ""
    strip = Strip(styled.render(widget.app.console))
    return strip.adjust_cell_length(width, base)


class FixedLines(Widget):
    """A block of lines without scrolling: title, band, lanes, tabs, keys. ``source(width)`` makes the lines."""

    can_focus = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.source: Callable[[int], Sequence[Text]] = lambda _width: ()
        self.clicked: Callable[[int, int], None] | None = None
        """Told the column and row of a click."""
        self._lines: tuple[Text, ...] = ()

    @property
    def lines(self) -> tuple[Text, ...]:
        """What is painted now."""
        return self._lines

    def reload(self) -> None:
        """Ask the source again; repaint when something changed."""
        if not self.size.width:
            return
        lines = tuple(self.source(self.size.width))
        if lines == self._lines:
            return
        before, self._lines = self._lines, lines
        if len(before) != len(lines):
            self.refresh()
            return
        changed = [y for y, line in enumerate(lines) if line != before[y]]
        self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def on_resize(self, _event: Resize) -> None:
        """The width changed: every line may change."""
        self._lines = ()
        self.reload()

    def on_click(self, event: Click) -> None:
        """Tell whoever asked for it."""
        if self.clicked is not None:
            self.clicked(event.x, event.y)

    def render_line(self, y: int) -> Strip:
        """Paint one row."""
        width = self.size.width
        if y >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        return paint(self, self._lines[y], width)


class Pane(ScrollView, can_focus=True):
    """A scrolling block of lines in a box. With ``follows`` it stays at its end until someone scrolls up."""

    def __init__(self, number: int, title: str, *, follows: bool = False) -> None:
        super().__init__(id=f"pane-{number}", classes="pane")
        self.number = number
        self.follows = follows
        self.following = follows
        self.source: Callable[[int], Sequence[Text]] = lambda _width: ()
        self._lines: list[Text] = []
        self._titles = ("", "")
        self._loading = False
        self.clicked: Callable[[int, int], None] | None = None
        """Told the column and the number of the line that was clicked."""
        self.set_titles(title)

    @property
    def lines(self) -> list[Text]:
        """All lines, seen or not."""
        return self._lines

    def set_titles(self, title: str, subtitle: str = "") -> None:
        """Words on the upper and lower edge; never markup."""
        if (title, subtitle) != self._titles:
            self._titles = (title, subtitle)
            self.border_title = Content(title)
            self.border_subtitle = Content(subtitle)

    @property
    def room(self) -> int:
        """Cells of a line."""
        return self.scrollable_content_region.width

    def reload(self) -> None:
        """Ask the source again; repaint when something changed. A pane without room waits for its resize."""
        if self.room <= 0 or not self.display:
            return
        lines = list(self.source(self.room))
        if lines != self._lines:
            self._lines = lines
            self._settle(len(lines))

    def _settle(self, count: int) -> None:
        self._loading = True
        self.virtual_size = Size(self.room, count)
        if self.following:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True, force=True)
        self._loading = False
        self.refresh()

    def follow(self, on: bool) -> None:
        """Stay at the end, or stop doing so."""
        self.following = on
        if on:
            self._settle(self.virtual_size.height)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up lets go of the end; reaching it takes hold again."""
        super().watch_scroll_y(old_value, new_value)
        if self.follows and not self._loading and old_value != new_value:
            self.following = new_value >= self.max_scroll_y

    def on_resize(self, _event: Resize) -> None:
        """The width changed: wrap again."""
        self.reload()
        if self.following:
            self._settle(self.virtual_size.height)

    def on_click(self, event: Click) -> None:
        """Tell whoever asked for it, scrolling included."""
        place = event.get_content_offset(self)
        if place is not None and self.clicked is not None:
            self.clicked(place.x, place.y + self.scroll_offset.y)

    def show_row(self, number: int) -> None:
        """Scroll so that a line is in sight."""
        height = max(1, self.scrollable_content_region.height)
        if not self.scroll_offset.y <= number < self.scroll_offset.y + height:
            self.scroll_to(y=max(0, number - height // 2), animate=False, immediate=True)

    def line_at(self, index: int) -> Text | None:
        """Line of that number, or None beyond the end."""
        return self._lines[index] if index < len(self._lines) else None

    def render_line(self, y: int) -> Strip:
        """Paint one row of the window."""
        index = y + self.scroll_offset.y
        width = self.size.width
        text = self.line_at(index)
        if text is None:
            return Strip.blank(width, self.rich_style)
        selection = self.text_selection
        span = selection.get_span(index) if selection is not None else None
        return paint(self, text, width, span).apply_offsets(self.scroll_offset.x, index)

    def all_text(self) -> str:
        """Every line as text."""
        return "\n".join(line.plain.rstrip() for line in self._lines)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for copying."""
        return selection.extract("\n".join(line.plain for line in self._lines)), "\n"
