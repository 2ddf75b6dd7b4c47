"""What the live screen and replay share: the body and the keys that move between its panes."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.widgets.body import SessionBody


class SessionScreen(ApexScreen):
    """A screen with a `SessionBody`."""

    def __init__(self) -> None:
        super().__init__()
        self.panes = SessionBody()

    def body(self) -> Sequence[Widget]:
        """Band, lanes and panes."""
        return (self.panes,)

    def action_pane(self, number: int) -> None:
        """Bring one pane to the front."""
        self.panes.select(number)

    def action_pane_next(self) -> None:
        """The next pane."""
        self.panes.cycle(1)

    def action_pane_previous(self) -> None:
        """The previous pane."""
        self.panes.cycle(-1)

    def action_diff(self) -> None:
        """Artifact: all fields, or only what changed."""
        self.panes.toggle_diff()

    def action_zoom(self) -> None:
        """One pane, or all."""
        self.panes.zoom()

    def action_follow(self) -> None:
        """Stay at the end, or not."""
        self.panes.toggle_follow()
