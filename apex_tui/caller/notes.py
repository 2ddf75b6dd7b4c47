"""What the caller has noticed so far: acts, tools, replies and its own turns, and which scripted events they made due.

In here: the notes that the conductor passes in, and arming. Deliberately not in here: deciding what to do about them (policy).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apex_tui.caller.delivery import Delivery
from apex_tui.caller.events import CLAIMS, OVERLAPS, EventDesk
from apex_tui.caller.flow import Observation, Refusal
from apex_tui.caller.official import OfficialScript
from apex_tui.caller.scene import Arm, Fire, Intent, Item, Scene
from apex_tui.caller.script import StrictScript, check_wordings
from apex_tui.timeline.caller_facts import CallerWaits, EventArmed
from apex_tui.workflow.caller_model import ScriptedEvent, Transition
from apex_tui.workflow.model import Workflow

_NEVER = float("inf")


class CallerNotes:
    """Everything that one caller has noticed in one session; `CallerPolicy` decides on it."""

    def __init__(self, workflow: Workflow, seed: int, official: bool = False) -> None:
        self._workflow = workflow
        self._seed = seed
        self._script = OfficialScript(workflow) if official else StrictScript(workflow)
        self._desk = EventDesk(workflow, seed, official=official)
        check_wordings(workflow)
        self._official = official
        self._nudge = workflow.wording("nudge") is not None and not official
        self._approval_tools = {tool.name for tool in workflow.tools if tool.handler == "request_approval"}
        self._out: list[Intent] = []
        self._turn = 0
        self._speaking = False
        self._own_end = 0.0
        self._scene = Scene(0.0)
        self._closed: dict[str, bool] = {}
        self._cut: set[str] = set()
        self._delivery = Delivery()
        self._awaiting = False
        self._answered = False
        self._farewell = False
        self._nudges = 0
        self._idle_since: float | None = None
        self._worked = False
        self._agent_gone = False
        self._hung = False
        self._waits: CallerWaits | None = None
        self._dirty = True
        self._wake = 0.0
        self._barge_at = _NEVER
        self._repeats: dict[str, int] = {}

    # --- what the conductor notes --------------------------------------------------------------------------------------------------

    def note_act(self, now_ms: float, key: str, reply: str | None, source: str = "lexical") -> None:
        """An act was read in a reply (None: known from a tool alone)."""
        words = reply is not None and source != "tool"
        self._repeats[key] = self._repeats.get(key, 0) + 1
        if not (words and reply in self._cut):
            ready = reply is not None and self._closed.get(reply, False)
            bound = None if reply is not None and self._closed.get(reply) is False else reply
            self._script.note(Item("agent_acts", key, bound, now_ms, ready=ready, words=words))
        else:
            self._script.engine.book.acts.add(key)
        self._desk.note(agent_acts=(key,))
        self._arm_due(now_ms, reply)
        self._dirty = True

    def note_tool(
        self,
        now_ms: float,
        name: str,
        ok: bool,
        mutations: Iterable[str] = (),
        approval_request: str | None = None,
        commit: tuple[str, bool] | None = None,
    ) -> None:
        """A tool ended: ``mutations`` are the ``artifact.field`` paths that it wrote, ``commit`` is (action, authorised)."""
        noted: dict[str, tuple[str, ...]] = {"tool_calls": (name,), "mutations": tuple(mutations)}
        if ok:
            noted["tool_results"] = (name,)
        if approval_request is not None:
            noted["approval_requests"] = (approval_request,)
        if commit is not None:
            noted["commit_attempts"] = (commit[0],)
            if commit[1] and ok:
                noted["committed"] = (commit[0],)
        for kind, keys in noted.items():
            for key in keys:
                self._script.note(Item(kind, key, None, now_ms))
        self._desk.note(**noted)
        self._arm_due(now_ms, None)
        self._dirty = True

    def note_reply_closed(self, now_ms: float, reply: str, heard_any: bool, interrupted: bool) -> None:
        """Nothing more of a reply will be heard; ``interrupted``: it was cut off."""
        self._closed[reply] = heard_any
        if reply in self._cut or interrupted:
            self._script.drop_reply(reply)
        else:
            self._script.reply_closed(reply, heard=heard_any)
            if heard_any and not self._speaking:
                self._awaiting, self._answered = False, True
        self._dirty = True

    def note_turn_started(self, turn: int, onset_ms: float) -> None:
        """An utterance became audible."""
        self._dirty = True

    def note_turn_ended(self, turn: int, offset_ms: float) -> None:
        """An utterance ended."""
        if turn == self._turn:
            self._speaking = False
            self._own_end = offset_ms
            self._idle_since = None
            self._waits = None
        self._dirty = True

    def note_agent_closed(self) -> None:
        """The agent's connection ended."""
        self._agent_gone = True
        self._dirty = True

    def take_turn(self) -> int:
        """The number of a turn that a person takes."""
        self._turn += 1
        return self._turn

    # --- what the conductor may ask ------------------------------------------------------------------------------------------------

    @property
    def wants(self) -> dict[str, Any]:
        """Field -> value that the caller wants now (what `ActObserver.read_words` compares with)."""
        return self._script.engine.book.wanted()

    @property
    def untold(self) -> frozenset[str]:
        """Fields of which the caller has said nothing yet; none under the official profile, whose caller takes any value for a read-back."""
        return frozenset() if self._official else self._script.engine.book.untold()

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Plans that were not spoken because they would have said what may not be said."""
        return tuple(self._script.engine.refusals)

    @property
    def done(self) -> bool:
        """The caller has hung up."""
        return self._hung

    def _arm_due(self, now: float, reply: str | None) -> None:
        """Arm every event whose trigger is met; ``reply`` holds the words that met it, if words did."""
        played = self._scene.reply_played_ms if self._scene.open_reply is not None else 0.0
        repeats = max(self._repeats.values(), default=0)
        for event, trigger in self._desk.due(self._script.engine.book, now, played, repeats):
            transition = self._spoken_by(event)
            if transition is None:
                self._fire(event, "")
                continue
            armed = self._delivery.arm(
                event, transition, trigger, self._desk.point(event), self._scene, reply, self._closed, self._awaiting
            )
            at = armed.at if not armed.in_turn and armed.floor in CLAIMS | OVERLAPS else None
            self._out.append(Arm(EventArmed(event=event.id, trigger=trigger, at_played_ms=at)))

    def _spoken_by(self, event: ScriptedEvent) -> Transition | None:
        """The transition that speaks an event: the current state's, else the first in the flow."""
        return next(
            (t for _, t in self._script.engine.transitions() if t.when.external_event == event.id and t.do is not None),
            None,
        )

    def _fire(self, event: ScriptedEvent, note: str) -> None:
        """An event without words takes effect; a transition that it triggers is taken."""
        self._out.append(Fire(event.id, note=note))
        self._script.engine.book.deliver([event.id])
        move = self._script.engine.peek(Observation(events=(event.id,)))
        if move is not None and move.transition is not None and move.action is None:
            self._script.engine.take(move)
        self._dirty = True
