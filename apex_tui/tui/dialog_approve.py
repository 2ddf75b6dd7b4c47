"""What exactly is approved, before it is: action, target, version, and what differs from the last thing that was approved.

It arms half a second after it was shown, and only ``y`` approves: a key that was meant for something else does nothing. When the question
goes away meanwhile, so does the dialog. Returns what was decided and for how long it had been shown (ms); escape: None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key, Resize
from textual.screen import ModalScreen

from apex_tui.tui.lines import Part, hanging, pad, row
from apex_tui.tui.plain import LIMIT, compact, plain
from apex_tui.tui.widgets.painted import CLASSES, FixedLines, Pane

if TYPE_CHECKING:
    from apex_tui.timeline.state import Request, State, Version

ARMED_S = 0.5
MOST_FIELDS = 24
_MISSING: Any = object()


class Answer(NamedTuple):
    """``what`` is ``approve`` or ``deny``."""

    what: str
    shown_ms: float


class ApproveScreen(ModalScreen[Answer | None]):
    """One request. ``state`` is asked anew, so that a question that changed is not answered; ``clock`` gives seconds."""

    COMPONENT_CLASSES = CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Decide nothing", show=False, id="approve-close")
    ]

    def __init__(self, request: Request, state: Callable[[], State], clock: Callable[[], float]) -> None:
        super().__init__()
        self.request = request
        self._state, self._clock = state, clock
        self._since = clock()
        self.pane = Pane(18, "approve exactly this?")
        self.pane.source = self._draw
        self.keys = FixedLines(id="sheet-keys")
        self.keys.source = lambda _width: self._keys()

    def compose(self) -> ComposeResult:
        """What is asked, and the keys."""
        with Vertical(id="dialog", classes="-sheet"):
            yield self.pane
            yield self.keys

    def on_mount(self) -> None:
        """Shown from now on; arm, and look whether the question still stands."""
        self._since = self._clock()
        self.pane.focus()
        self.set_interval(0.1, self._tick)

    def on_resize(self, event: Resize) -> None:
        """As high as the content needs; where there is less room the arrows scroll it, and the keys stay in sight."""
        width = min(104, event.size.width * 96 // 100)
        needed, room = len(self._draw(max(20, width - 5))), max(3, event.size.height * 9 // 10 - 5)
        self.pane.styles.height = min(needed, room) + 2
        self.pane.set_titles("approve exactly this?", "↑↓ scroll: there is more" if needed > room else "")

    @property
    def shown_ms(self) -> float:
        """How long the question has been on the screen."""
        return max(0.0, 1000 * (self._clock() - self._since))

    def _tick(self) -> None:
        if self.request.state != "pending":
            self.dismiss(None)
            return
        self.pane.reload()
        self.keys.reload()

    def on_key(self, event: Key) -> None:
        """``y`` once it is armed, ``n`` at any time."""
        if event.key == "n":
            event.stop()
            self.dismiss(Answer("deny", self.shown_ms))
        elif event.key == "y":
            event.stop()
            if self.shown_ms >= 1000 * ARMED_S:
                self.dismiss(Answer("approve", self.shown_ms))

    def _draw(self, width: int) -> list[Text]:
        asked = self.request
        version = f" version {asked.version}" if asked.version is not None else ""
        what = f"{plain(asked.action, 80)} for {plain(asked.target, 80)}"
        covered = f"{plain(asked.artifact or 'no artifact', 80)}{version}"
        return [
            *hanging(row("  action   "), row((what, "strong")), width),
            *hanging(row("  covers   "), row((covered, "strong")), width),
            *(hanging(row("  content  "), row((plain(asked.digest, 64), "quiet")), width) if asked.digest else []),
            Text(""),
            *content_lines(self._state(), asked, width),
        ]

    def _keys(self) -> list[Text]:
        armed = self.shown_ms >= 1000 * ARMED_S
        return [
            row(("y       ", "strong"), "approve" if armed else "approve (in a moment)"),
            row(("n       ", "strong"), "deny"),
            row(("escape  ", "strong"), "decide nothing"),
        ]


def content_lines(state: State, asked: Request, width: int) -> list[Text]:
    """The content that the approval covers, and how it differs from what was approved last for the same action."""
    shown = _version(state, asked.artifact, asked.version)
    if shown is None:
        return [row(("  nothing that was written: it covers the action alone", "quiet"))]
    lines: list[Text] = []
    artifact = state.artifacts[asked.artifact or ""]
    if artifact.current is not None and artifact.current.number != shown.number:
        lines.append(
            row((f"  ▲ version {artifact.current.number} was written since: this approves {shown.number}", "warn"))
        )
    last = _last_approved(state, asked)
    if last is None:
        lines.append(row(("  the first approval of this: all of it", "quiet")))
        before: dict[str, Any] = {}
    else:
        lines.append(row((f"  since version {last.number}, which was approved last:", "quiet")))
        before = last.fields
    names = [*shown.fields, *(name for name in before if name not in shown.fields)]
    changed = [name for name in names if before.get(name, _MISSING) != shown.fields.get(name, _MISSING)]
    cells = max((cell_len(plain(name, 60)) for name in changed[:MOST_FIELDS]), default=0)
    for name in changed[:MOST_FIELDS]:
        old, new = before.get(name, _MISSING), shown.fields.get(name, _MISSING)
        lines += _field(pad(plain(name, 60), min(cells, width // 3)), old, new, last is not None, width)
    if len(changed) > MOST_FIELDS:
        lines.append(row((f"  and {len(changed) - MOST_FIELDS} more fields: see the artifact", "warn")))
    if not changed:
        lines.append(row(("  nothing differs", "quiet")))
    for name in artifact.stale if artifact.current is shown else ():
        lines += hanging(row(("  ▲ ", "warn")), row((f"{plain(name, 60)} does not hold any more", "warn")), width)
    return lines


def _field(name: str, old: Any, new: Any, compared: bool, width: int) -> Sequence[Text]:
    glyph = "+" if old is _MISSING else "-" if new is _MISSING else "~"
    lead = row(f"  {glyph if compared else ' '} {name}  ")
    # Whole: values that part late must not look alike.
    left: list[Part] = [] if old is _MISSING else [compact(old, LIMIT), (" → ", "warn")]
    right = ("removed", "bad") if new is _MISSING else (compact(new, LIMIT), "strong")
    return hanging(lead, row(*left, right), width)


def _version(state: State, artifact: str | None, number: int | None) -> Version | None:
    held = state.artifacts.get(artifact or "")
    return next((v for v in held.versions if v.number == number), None) if held is not None else None


def _last_approved(state: State, asked: Request) -> Version | None:
    """The version that the newest earlier approval of the same action covers."""
    for approval in reversed(state.approvals.values()):
        if approval.action == asked.action and approval.artifact == asked.artifact:
            return _version(state, approval.artifact, approval.version)
    return None
