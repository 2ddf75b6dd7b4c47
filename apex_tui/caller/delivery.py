"""Where an armed event is spoken: inside a reply at its played millisecond, or in turn when that moment passed.

In here: binding armed events to replies, and finding the one whose moment is now. Deliberately not in here: triggers (events) and speaking
(policy).
"""

from __future__ import annotations

from collections.abc import Container

from apex_tui.caller.events import CLAIMS, OVERLAPS, REACTION_MS, Armed
from apex_tui.caller.scene import Scene
from apex_tui.workflow.caller_model import ScriptedEvent, Transition

LEAD_MS = 50.0
"""An utterance is decided this long before its onset: one frame, and the 30 ms of silence with which a clip of the bank begins."""
_NEVER = float("inf")


PAUSE_MS = 700.0
"""An interruption is spoken over speech: it waits this long for the agent to go on after a comma, then takes the pause."""


class Delivery:
    """Armed events of one session. ``closed``: replies that have ended; ``cut``: replies that the caller interrupted."""

    def __init__(self) -> None:
        self.armed: list[Armed] = []
        self.next_at = _NEVER
        """Played ms at which the next look has something to decide."""

    def arm(
        self, event: ScriptedEvent, transition: Transition, trigger: str, point: float, scene: Scene, reply: str | None,
        closed: Container[str], awaiting: bool,
    ) -> Armed:  # fmt: skip
        """Arm an event. ``reply`` holds the words that met its trigger, if words did; ``point`` is the seeded played ms."""
        armed = Armed(event, transition, trigger, point, point, None)
        self.armed.append(armed)
        if armed.floor not in CLAIMS | OVERLAPS:
            armed.in_turn = True
        elif armed.floor in CLAIMS and awaiting:
            armed.in_turn, armed.note = True, "the caller was waiting for the answer to an earlier change"
        elif reply is not None and reply in closed:
            if armed.floor in CLAIMS:
                armed.in_turn, armed.note = True, "its trigger was understood only when the reply had ended"
        elif scene.open_reply is not None and reply in (None, scene.open_reply):
            played = scene.reply_played_ms
            armed.reply, armed.seen = scene.open_reply, True
            armed.at = max(point, played + REACTION_MS) if played > 0 else point
        return armed

    def moment(self, scene: Scene, closed: Container[str], cut: Container[str], awaiting: bool) -> Armed | None:
        """The event to speak inside the open reply now, if any."""
        self.next_at = _NEVER
        for armed in [a for a in self.armed if not a.in_turn]:
            _track(armed, scene, closed, cut)
            if armed.in_turn or scene.open_reply is None or armed.reply != scene.open_reply or awaiting:
                continue
            if armed.at >= scene.reply_played_ms + LEAD_MS:
                self.next_at = min(self.next_at, armed.at - LEAD_MS + 1e-6)
            elif scene.agent_audible or (armed.floor in CLAIMS and scene.reply_played_ms > armed.at + PAUSE_MS):
                return armed
            else:
                self.next_at = scene.reply_played_ms
        return None

    def in_turn(self) -> list[Armed]:
        """Events to be spoken ahead of any answer."""
        return [armed for armed in self.armed if armed.in_turn]

    def lone(self) -> Armed | None:
        """An interruption that waits for a reply that has not begun."""
        return next((a for a in self.armed if not a.in_turn and a.reply is None and a.floor in CLAIMS), None)

    def inside(self, reply: str | None) -> Armed | None:
        """The event that waits for its moment in this reply."""
        return next((a for a in self.armed if not a.in_turn and reply is not None and a.reply == reply), None)


def _track(armed: Armed, scene: Scene, closed: Container[str], cut: Container[str]) -> None:
    """Bind an armed event to the reply it will interrupt, and notice when that reply ended first."""
    current = scene.open_reply
    if armed.reply is not None and armed.reply != current and (armed.seen or armed.reply in closed):
        # A reply that only called a tool was none to interrupt: the next one is waited for.
        if armed.floor in CLAIMS and armed.played > 0:
            armed.in_turn = True
            armed.note = f"the reply ended after {armed.played:.0f} ms, before the chosen point at {armed.at:.0f} ms"
            return
        armed.reply, armed.seen, armed.at = None, False, armed.point
    if armed.reply is None and current is not None and current not in cut:
        armed.reply = current
        if scene.reply_played_ms > armed.point:
            armed.at = scene.reply_played_ms + REACTION_MS
    if armed.reply == current and current is not None:
        armed.seen, armed.played = True, scene.reply_played_ms
