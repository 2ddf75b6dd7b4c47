"""What the live screen and replay share: the body, the keys that move between its panes, Why, comparisons and presenter mode."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.events import Resize
from textual.widget import Widget

from apex_tui.timeline.state import Mark
from apex_tui.tui.compare import Wish
from apex_tui.tui.render_present import present_lines
from apex_tui.tui.screen_base import ApexScreen
from apex_tui.tui.screen_why import WhyScreen
from apex_tui.tui.why import Graph, Target, targets
from apex_tui.tui.widgets.body import TALL, WIDE, SessionBody
from apex_tui.tui.widgets.painted import FixedLines

if TYPE_CHECKING:
    from apex_tui.score.verdict import Score


class SessionScreen(ApexScreen):
    """A screen with a `SessionBody`. ``score``: the verdict, once there is one."""

    HAS_STATUS: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.score: Score | None = None
        self.panes = SessionBody()
        self.panes.asked_field = self._why_field
        self.panes.asked_version = self._version_clicked
        self.panes.asked_mark = self._mark_clicked
        self.status_row = FixedLines(id="status")
        self.stage = FixedLines(id="present")
        self.stage.source = self._present

    def body(self) -> Sequence[Widget]:
        """Status, band, lanes and panes, laid out as they were left; the presenter's boxes in their place."""
        self.panes.restore(self.apex.sources.load_layout())
        self.panes.settled = self.apex.sources.save_layout
        return (self.status_row, *self.above(), self.panes, self.stage)

    def above(self) -> Sequence[Widget]:
        """What a screen puts above the band."""
        return ()

    def on_resize(self, event: Resize) -> None:
        """A status row only where a row can be spared."""
        super().on_resize(event)
        self.status_row.display = self.HAS_STATUS and event.size.width >= WIDE and event.size.height >= TALL
        if self.presenting:
            self.call_after_refresh(self.stage.reload)

    # --- panes -------------------------------------------------------------------------------------------------------------------------

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

    def action_hide(self) -> None:
        """Hide the pane in front."""
        name = self.panes.active
        if self.panes.hide():
            self.say(f"pane {name} is hidden and stays so; {name} brings it back")
        else:
            self.say("the transcript stays, and so does the only pane in sight")

    # --- comparisons -------------------------------------------------------------------------------------------------------------------

    def action_compare(self) -> None:
        """Previous, final, gold, nothing."""
        self.panes.next_compare()
        self._show_artifact()

    def _show_artifact(self) -> None:
        if 2 not in self.panes.shown_panes():
            self.panes.select(2)

    def action_compare_two(self) -> None:
        """Ask for two numbers."""
        self.prompt.ask("compare versions, such as 1 3:", self._compare_two)

    def _compare_two(self, text: str) -> None:
        numbers = [int(n) for n in re.findall(r"\d{1,6}", text)]
        if len(numbers) != 2:
            self.say("type two version numbers, such as 1 3", "warn")
            return
        self.panes.compare(Wish("versions", (numbers[0], numbers[1])))
        self._show_artifact()

    def _version_clicked(self, artifact: str, number: int) -> None:
        held = self.panes.state.artifacts.get(artifact)
        current = held.current if held is not None else None
        if current is not None and number != current.number:
            self.panes.compare(Wish("versions", (number, current.number)))
        else:
            self.panes.compare(Wish())

    def _mark_clicked(self, mark: Mark) -> None:
        """Why is this mark there?"""
        self._open_why([Target("event", mark.label or mark.glyph, (mark.seq,))], 0, True)

    # --- why ---------------------------------------------------------------------------------------------------------------------------

    def action_why(self) -> None:
        """Ask about a field or row of the pane in front; a field that drifted or changed last is chosen first."""
        pane = self.panes.active
        found = targets(self.panes.state, pane, self.panes.events_pane.events, self.panes.events_pane.count)
        if not found and pane == 1:
            self.say("there is nothing to ask about yet")
            return
        self._open_why(found, self._first_choice(found))

    def _first_choice(self, found: Sequence[Target]) -> int:
        drift = self.panes.drift()
        for number, target in enumerate(found):
            row = drift.get(target.path)
            if row is not None and row.first_disagreement is not None:
                return number
        newest = max(range(len(found)), key=lambda n: max(found[n].seqs, default=-1), default=0)
        return newest if found and found[0].kind == "field" else 0

    def _why_field(self, path: str) -> None:
        found = targets(self.panes.state, 2, (), 0)
        chosen = next((n for n, t in enumerate(found) if t.path == path), None)
        if chosen is None:
            self.say("the newest version has no such field: 6 and w ask about the event that removed it")
        else:
            self._open_why(found, chosen, True)

    def _open_why(self, found: Sequence[Target], chosen: int, in_tree: bool = False) -> None:
        events = self.panes.events_pane
        graph = Graph(events.events[: events.count])
        self.app.push_screen(WhyScreen(graph, found, self.panes.drift(), chosen, in_tree), self.went_to)

    def went_to(self, ms: float | None) -> None:
        """A moment was chosen in Why."""

    # --- presenter mode ----------------------------------------------------------------------------------------------------------------

    @property
    def presenting(self) -> bool:
        """Whether the presenter's boxes are shown."""
        return self.has_class("-present")

    def own_words(self) -> list[tuple[str, str]]:
        """Presenter mode has few keys, and words of its own for them."""
        if not self.presenting:
            return []
        shown = {key.id: self.apex.settings.keymap.get(key.id, key.shown) for key in self.keys()}
        return [(shown[name], word) for name, word in self.presenter_words() if name in shown]

    def presenter_words(self) -> Sequence[tuple[str, str]]:
        """The keys that presenter mode names, and what it calls them."""
        return ()

    def action_present(self) -> None:
        """Few boxes, or all."""
        self.toggle_class("-present")
        self.key_row.reload()
        self.call_after_refresh(self.stage.reload)

    def _present(self, width: int) -> Sequence[Text]:
        body = self.panes
        drift = body.drift() if self.presenting else {}
        height = self.stage.size.height
        return present_lines(body.state, body.now_ms, self.score_shown(), width, height, body.primary, drift)

    def score_shown(self) -> Score | None:
        """The verdict, when the moment shown is the end."""
        return self.score
