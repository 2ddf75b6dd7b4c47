"""Widgets that paint prepared lines cell by cell (Textual's line API): one for fixed rows, one that scrolls.

A line is styled text whose styles are roles; the roles' colours come from the stylesheet, so a change of theme changes them. A widget
repaints only the rows that changed, and a line that moves keeps its paint. Markup is never parsed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Span, Text
from textual.binding import Binding, BindingType
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


class Paint:
    """The painted lines of one widget, kept while it looks the same. A line is known by being the same object: a text is never changed."""

    MOST = 600
    """Lines kept; dropped whole when there are more."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._base: Style | None = None
        self._roles: dict[str, Style] = {}
        self._width = 0
        self._strips: dict[int, tuple[Text, Strip]] = {}
        self._placed: dict[int, tuple[Text, tuple[int, int], Strip]] = {}

    def forget(self) -> None:
        """The colours changed."""
        self._base = None
        self._roles.clear()
        self._strips.clear()
        self._placed.clear()

    @property
    def base(self) -> Style:
        """The widget's own style; asking Textual for it takes longer than painting a line."""
        if self._base is None:
            self._base = self._widget.rich_style
        return self._base

    def _role(self, name: str) -> Style:
        style = self._roles.get(name)
        if style is None:
            style = self._roles[name] = self._widget.screen.get_component_rich_style(name, partial=True)
        return style

    def drawn(self, text: Text, width: int, selected: tuple[int, int] | None = None) -> Strip:
        """One line of ``width`` cells in the colours of the widget's theme, with the cells ``selected`` marked."""
        styled = fit(text, width) if text.cell_len > width else text.copy()
        spans = [Span(0, len(styled.plain), self.base)]  # without any span Rich would draw the line in no style at all
        for span in styled.spans:
            if not isinstance(span.style, str):
                spans.append(span)
            elif span.style in ROLES:
                spans.append(Span(span.start, span.end, self._role(f"lines--{span.style}")))
        if selected is not None:
            whole = len(styled.plain)
            start, end = min(selected[0], whole), whole if selected[1] == -1 else min(selected[1], whole)
            if (
                start < end
            ):  # a selection may begin right of a short line's last word, and Rich dies of a span that ends before it begins
                spans.append(Span(start, end, self._role("screen--selection")))
        styled.spans = spans
        styled.end = ""
        return Strip(styled.render(self._widget.app.console)).adjust_cell_length(width, self.base)

    def line(self, text: Text, width: int) -> Strip:
        """The line in ``width`` cells."""
        if width != self._width or len(self._strips) > self.MOST:
            self._width = width
            self._strips.clear()
            self._placed.clear()
        known = self._strips.get(id(text))
        if known is not None and known[0] is text:
            return known[1]
        strip = self.drawn(text, width)
        self._strips[id(text)] = (text, strip)
        return strip

    def placed(self, text: Text, width: int, x: int, y: int) -> Strip:
        """The line in ``width`` cells, each of which knows its column and row, so that it can be selected."""
        strip = self.line(text, width)
        known = self._placed.get(id(text))
        if known is not None and known[0] is text and known[1] == (x, y):
            return known[2]
        strip = strip.apply_offsets(x, y)
        self._placed[id(text)] = (text, (x, y), strip)
        return strip


class FixedLines(Widget):
    """A block of lines without scrolling: title, band, lanes, tabs, keys. ``source(width)`` makes the lines."""

    can_focus = False
    ALLOW_SELECT = False
    """Its cells do not know their place."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.source: Callable[[int], Sequence[Text]] = lambda _width: ()
        self.clicked: Callable[[int, int], None] | None = None
        """Told the column and row of a click."""
        self._lines: tuple[Text, ...] = ()
        self._paint = Paint(self)

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

    def notify_style_update(self) -> None:
        """The stylesheet was applied."""
        super().notify_style_update()
        self._paint.forget()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Nothing, where a selection goes over it: what Textual would copy is its name."""
        return None

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
            return Strip.blank(width, self._paint.base)
        return self._paint.line(self._lines[y], width)


class Pane(ScrollView, can_focus=True):
    """A scrolling block of lines in a box. With ``follows`` it stays at its end until someone scrolls up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+home", "edge(-1)", "Beginning of this pane", show=False),
        Binding("ctrl+end", "edge(1)", "End of this pane", show=False),
    ]
    leaves_edges = False
    """Home and end are the screen's, even while the pane has the keys: in replay they are those of the recording."""

    def __init__(self, number: int, title: str, *, follows: bool = False) -> None:
        super().__init__(id=f"pane-{number}", classes="pane")
        self.number = number
        self.follows = follows
        self._following = follows
        self.followed: Callable[[], None] = lambda: None
        """Told when it takes hold of its end, or lets go of it."""
        self.source: Callable[[int], Sequence[Text]] = lambda _width: ()
        self._lines: list[Text] = []
        self._paint = Paint(self)
        self._titles = ("", "")
        self._loading = False
        self.clicked: Callable[[int, int], None] | None = None
        """Told the column and the number of the line that was clicked."""
        self.set_titles(title)

    @property
    def following(self) -> bool:
        """Whether it stays at its end."""
        return self._following

    @following.setter
    def following(self, on: bool) -> None:
        before, self._following = self._following, on
        if on != before:
            self.followed()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Home and end, unless the screen has them."""
        return not (self.leaves_edges and action in ("scroll_home", "scroll_end"))

    def action_edge(self, side: int) -> None:
        """The beginning or the end of the pane."""
        if side < 0:
            self.action_scroll_home()
        else:
            self.action_scroll_end()

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
            before, self._lines = self._lines, lines
            self._settle(len(lines), before)

    def _settle(self, count: int, before: Sequence[Text] | None = None) -> None:
        """There are ``count`` lines; with the lines ``before``, only the rows that differ are painted again."""
        top = self.scroll_offset
        self._loading = True
        self._lengthen(count)
        if self.following:
            self.scroll_to(y=self.follow_to(), animate=False, immediate=True, force=True)
        self._loading = False
        if before is None or top != self.scroll_offset:
            self.refresh()
            return
        rows = range(top.y, top.y + self.scrollable_content_region.height)
        changed = [i for i in rows if before[i : i + 1] != self._lines[i : i + 1]]
        if changed:
            self.refresh(*(Region(0, i - top.y, self.size.width, 1) for i in changed))

    def _lengthen(self, count: int) -> None:
        """Tell the scroll bar how many lines there are. The screen is laid out anew only when the bar comes or goes: that costs 5 ms."""
        size = Size(self.room, count)
        fits = count <= self.container_size.height
        if size.width != self.virtual_size.width or fits == self.show_vertical_scrollbar:
            self.virtual_size = size
        elif size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = count
            self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def follow_to(self) -> int:
        """The row at the top of a pane that follows: its end is in sight."""
        return self.max_scroll_y

    def notify_style_update(self) -> None:
        """The stylesheet was applied."""
        super().notify_style_update()
        self._paint.forget()

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
        """Tell whoever asked for it, scrolling included. The end of a selection is no click: a click itself takes every selection away."""
        place = event.get_content_offset(self)
        if place is not None and self.clicked is not None and not self.screen.selections:
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
            return Strip.blank(width, self._paint.base)
        selection = self.text_selection
        span = selection.get_span(index) if selection is not None else None
        if span is None:
            return self._paint.placed(text, width, self.scroll_offset.x, index)
        return self._paint.drawn(text, width, span).apply_offsets(self.scroll_offset.x, index)

    def all_text(self) -> str:
        """Every line as text."""
        return "\n".join(line.plain.rstrip() for line in self._lines)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for copying."""
        return extract(selection, [line.plain for line in self._lines])


def extract(selection: Selection, lines: Sequence[str]) -> tuple[str, str] | None:
    """What is selected of ``lines``, and what follows it. There may be fewer lines now than when they were selected: then nothing."""
    if selection.start is not None and selection.start.y >= len(lines):
        return None
    return selection.extract("\n".join([*lines, ""])), "\n"
