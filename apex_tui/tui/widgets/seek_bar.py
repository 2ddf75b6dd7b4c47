"""The seek bar of a replay, which can be clicked. What its rows say is made by ``render_chrome``."""

from __future__ import annotations

from textual.events import Click
from textual.message import Message

from apex_tui.tui.widgets.painted import FixedLines


class SeekBar(FixedLines):
    """Two rows: where the cursor is, and the marks of the whole session. A click goes there."""

    class Sought(Message):
        """A person clicked at ``share`` of the whole length; ``column`` and ``row`` of the widget."""

        def __init__(self, share: float, column: int, row: int) -> None:
            super().__init__()
            self.share, self.column, self.row = share, column, row

    def on_click(self, event: Click) -> None:
        """Turn a column into a share of the length."""
        cells = max(1, self.size.width - 2)
        self.post_message(self.Sought(min(1.0, max(0.0, (event.x - 1) / cells)), event.x, event.y))
