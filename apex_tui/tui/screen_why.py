"""The Why dialog: what can be asked about at the left, causes, effects and the drift chain at the right. Enter returns the moment.

It covers the panes only; title, band and lanes of the session stay in sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.screen import ModalScreen

from apex_tui.tui.plain import plain
from apex_tui.tui.render_why import raw_lines, target_lines, tree_lines
from apex_tui.tui.why import Graph, Target, Tree
from apex_tui.tui.widgets.painted import CLASSES, Pane

if TYPE_CHECKING:
    from apex_tui.score.verdict_work import Drift


class WhyScreen(ModalScreen[float | None]):
    """``found``: what can be asked about; ``chosen``: which of them first; ``drift``: chains by ``artifact.field``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,w", "dismiss", "Close", show=False, id="why-close"),
        Binding("up,k", "move(-1)", "Up", show=False, id="why-up"),
        Binding("down,j", "move(1)", "Down", show=False, id="why-down"),
        Binding("pageup", "move(-10)", "A page up", show=False, id="why-page-up"),
        Binding("pagedown", "move(10)", "A page down", show=False, id="why-page-down"),
        Binding("right,l", "unfold", "Open, or go to the tree", show=False, id="why-right"),
        Binding("left,h", "fold", "Close, or go back to the list", show=False, id="why-left"),
        Binding("tab", "side", "List or tree", show=False, priority=True, id="why-side"),
        Binding("enter", "jump", "Go to this moment", show=False, id="why-jump"),
    ]
    AUTO_FOCUS = ""
    COMPONENT_CLASSES = CLASSES

    def __init__(
        self, graph: Graph, found: Sequence[Target], drift: dict[str, Drift], chosen: int = 0, in_tree: bool = False
    ) -> None:
        super().__init__()
        self._graph, self._found, self._drift = graph, list(found), drift
        self.chosen = min(chosen, max(0, len(self._found) - 1))
        self.in_tree = in_tree
        self.walk: Tree | None = None
        self.list_pane, self.tree_pane, self.raw_pane = Pane(11, "ask about"), Pane(12, "why"), Pane(13, "raw")
        self.list_pane.source = lambda width: target_lines(self._found, self.chosen, width, not self.in_tree)
        self.tree_pane.source = lambda width: tree_lines(self.walk, width, self.in_tree) if self.walk else []
        self.raw_pane.source = lambda width: raw_lines(self.walk, width) if self.walk else []
        self.list_pane.clicked = lambda _x, number: self._choose(number)
        self.tree_pane.clicked = lambda _x, number: self._go(number)
        for pane in (self.list_pane, self.tree_pane, self.raw_pane):
            pane.can_focus = False
        self._plant()

    def compose(self) -> ComposeResult:
        """List beside tree, the raw event below."""
        with Horizontal(id="why"):
            yield self.list_pane
            yield self.tree_pane
        yield self.raw_pane

    def on_mount(self) -> None:
        """First picture."""
        self._paint()

    def on_resize(self, event: Resize) -> None:
        """One column when there is little room."""
        self.set_class(event.size.width < 100 or event.size.height < 30, "-compact")
        self.call_after_refresh(self._paint)

    def _plant(self) -> None:
        if self._found:
            target = self._found[self.chosen]
            self.walk = Tree(self._graph, target, self._drift.get(target.path))
            self.tree_pane.set_titles(
                f"why {plain(target.kind, 20)} {plain(target.label, 60)}", "↑↓ ←→ walk · enter go there · escape close"
            )

    def _paint(self) -> None:
        for pane in (self.list_pane, self.tree_pane, self.raw_pane):
            pane.reload()
        self.list_pane.show_row(self.chosen)
        if self.walk is not None:
            self.tree_pane.show_row(self.walk.cursor)

    def _choose(self, number: int) -> None:
        self.chosen, self.in_tree = min(number, max(0, len(self._found) - 1)), False
        self._plant()
        self._paint()

    def _go(self, number: int) -> None:
        if self.walk is not None:
            self.in_tree = True
            self.walk.cursor = min(number, max(0, len(self.walk.nodes) - 1))
            self._paint()

    def action_move(self, lines: int) -> None:
        """Up or down in the list or in the tree."""
        if self.in_tree and self.walk is not None:
            self.walk.move(lines)
            self._paint()
        else:
            self._choose(max(0, self.chosen + lines))

    def action_unfold(self) -> None:
        """Into the tree; there, open a branch."""
        if self.in_tree and self.walk is not None:
            self.walk.unfold()
        self.in_tree = True
        self._paint()

    def action_fold(self) -> None:
        """Close a branch; from the root back to the list."""
        if self.in_tree and self.walk is not None:
            node = self.walk.current
            if node is None or (node.depth == 0 and not node.open):
                self.in_tree = False
            else:
                self.walk.fold()
        self._paint()

    def action_side(self) -> None:
        """The other side."""
        self.in_tree = not self.in_tree
        self._paint()

    def action_jump(self) -> None:
        """Return the moment of the event at the cursor; from the list, of the thing itself."""
        seq: int | None = None
        if self.in_tree and self.walk is not None and self.walk.current is not None:
            seq = self.walk.current.seq
        elif self._found and self._found[self.chosen].seqs:
            seq = self._found[self.chosen].seqs[-1]
        event = self._graph.event(seq) if seq is not None else None
        if event is not None:
            self.dismiss(event.media_ms)
