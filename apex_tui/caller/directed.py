"""The recorded caller with a director behind them: held back, made to speak, relieved by a person, sent home.

What is said by a director's hand counts like any other utterance: its facts are told, its event has happened, and where it is the flow's own next
step the flow moves on. Reveal rules and superseded values do not stop a director. While the caller is held back or a person has the call, the
policy hears and sees everything, and wants nothing; afterwards patience and gaps begin anew. What a person said is not understood:

    a turn of theirs      answers whatever the agent had said before it; nothing of that is answered again
    approve, deny, revoke by key: that question has its answer
    corrected by key      words that state the old value are not spoken any more; a new one has no words, so the caller stays silent about it
"""

from __future__ import annotations

from typing import Any

from apex_tui.caller.events import CLAIMS
from apex_tui.caller.flow import Move, Plan
from apex_tui.caller.policy import PARTING_MAX_MS, PARTING_MS, CallerPolicy
from apex_tui.caller.scene import Intent, Say, Scene
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.utterances import Utterance, utterances

BY_HAND = "the director"
_NEVER = float("inf")


class DirectedPolicy(CallerPolicy):
    """A caller who can be directed; undirected, they are exactly `CallerPolicy`."""

    def __init__(self, workflow: Workflow, seed: int) -> None:
        super().__init__(workflow, seed)
        self.utterances = {utterance.plan: utterance for utterance in utterances(workflow, seed)}
        self.held = self.relieved = self.finishing = False
        """Held back; a person has the call; on the way out."""
        self._finish_by = _NEVER

    # --- what the director may ask -------------------------------------------------------------------------------------------------

    @property
    def speaking(self) -> bool:
        """Whether an utterance is planned or sounds."""
        return self._speaking

    @property
    def said(self) -> frozenset[str]:
        """The plans that were spoken."""
        return frozenset(plan for plan, times in self._script.said.items() if times)

    def interruption(self) -> Utterance | None:
        """The words of the next interruption: one whose moment is awaited, else the next of the workflow that was not said."""
        armed = [a.event.id for a in self._delivery.armed if a.floor in CLAIMS]
        ways = [u for u in self.utterances.values() if u.floor in CLAIMS and u.plan not in self.said]
        return next((u for u in ways if u.event in armed), next(iter(ways), None))

    # --- what the director does ----------------------------------------------------------------------------------------------------

    def hold(self, held: bool, now_ms: float) -> None:
        """Hold the caller back, or let go."""
        self.held = held
        self._begin_anew(now_ms)

    def relieve(self, relieved: bool, now_ms: float) -> None:
        """A person takes the call, or gives it back."""
        self.relieved = relieved
        self._begin_anew(now_ms)

    def finish(self, now_ms: float) -> None:
        """Say goodbye as soon as the agent is silent, at the latest in six seconds, and hang up."""
        self.finishing, self.held = True, False
        self._finish_by = now_ms + PARTING_MAX_MS
        self._delivery.armed.clear()
        self._begin_anew(now_ms)

    def speak(self, utterance: Utterance, scene: Scene) -> Say:
        """Say it now; over the agent when it speaks. The caller must be silent."""
        into = scene.open_reply if scene.open_reply is not None or scene.agent_audible else None
        over = scene.agent_audible or into is not None
        event = self._take_event(utterance)
        plan = self._plan(utterance, over, event)
        if not utterance.aside:
            self._script.drop_words()
            if into is not None:
                self._cut.add(into)
        if event is not None and not utterance.aside:
            self._script.drop_approvals()
        delivered = None if utterance.aside else "barge_in" if over else "in_turn"
        self._say(scene.now_ms, plan, BY_HAND, event=event, delivered=delivered if event is not None else None)
        self._awaiting = not utterance.aside
        say = self._out.pop()
        assert isinstance(say, Say)
        return say

    def _plan(self, utterance: Utterance, over: bool, event: str | None) -> Plan:
        """Move the flow where these words are its next step; all of their facts are told, whatever rules say."""
        engine, action = self._script.engine, utterance.action
        name, facts = utterance.plan, () if action is None else action.facts
        state = engine.flow_after(utterance.way, utterance.state)
        if action is not None and state is not None:
            stays = utterance.aside and utterance.event is not None
            engine.take(Move(engine.state if stays else state, utterance.way, action, entry=utterance.way is None))
        self._script.spoken(name)
        engine.book.revealed.update(facts)
        floor = utterance.floor if utterance.aside else "BARGE_IN" if over else "AFTER_FLOOR_RELEASE"
        return Plan(
            name, utterance.act, facts, floor, "normal", event, action.approves if action is not None else None,
            action.revokes if action is not None else None, engine.state,
        )  # fmt: skip

    def _take_event(self, utterance: Utterance) -> str | None:
        """The event that these words speak, when it has not happened: it happens now, and never again by itself."""
        event, book = utterance.event, self._script.engine.book
        if event is None or event in book.events or self._workflow.event(event) is None:
            return None
        self._delivery.armed[:] = [armed for armed in self._delivery.armed if armed.event.id != event]
        self._desk.drop(event)
        book.deliver([event])
        return event

    # --- what a person did ---------------------------------------------------------------------------------------------------------

    def note_person_spoke(self) -> None:
        """A person's turn began: it answers what the agent had said."""
        self._script.drop_words()
        if self._scene.open_reply is not None:
            self._cut.add(self._scene.open_reply)
        self._awaiting = self._farewell = self._answered = False
        self._desk.caller_spoke()
        self._dirty = True

    def note_person_decided(self, what: str, field: str | None = None, value: Any = None) -> None:
        """A key said what their words did."""
        if what == "corrected" and field is not None:
            self._script.engine.book.overrule(field, value)
        elif what in ("approve", "deny", "revoke"):
            self._script.drop_approvals()
        self._dirty = True

    # --- the policy's own decisions ------------------------------------------------------------------------------------------------

    def look(self, scene: Scene) -> list[Intent]:
        """As the policy; nothing of its own while it is held back or relieved."""
        if not (self.held or self.relieved) or self._agent_gone or self._hung:
            return super().look(scene)
        self._scene = scene
        if self._dirty or scene.now_ms >= self._desk.next_media_ms:
            self._dirty = False
            self._arm_due(scene.now_ms, scene.open_reply)
        if self._delivery.armed:
            self._delivery.moment(scene, self._closed, self._cut, self._awaiting)  # it keeps track of replies that pass
        if not self._speaking:
            self._wait("person" if self.relieved else "held")
        if not self._out:
            return []
        out, self._out = self._out, []
        return out

    def _begin_anew(self, now_ms: float) -> None:
        self._own_end = max(self._own_end, now_ms)
        self._idle_since, self._waits, self._dirty, self._wake = None, None, True, 0.0

    def _interrupt(self, scene: Scene) -> bool:
        return False if self.finishing else super()._interrupt(scene)

    def _turn_taking(self, scene: Scene) -> None:
        if self.finishing:
            self._take_leave(scene)
        else:
            super()._turn_taking(scene)

    def _part(self, scene: Scene) -> None:
        if self.finishing:
            self._take_leave(scene)
        else:
            super()._part(scene)

    def _take_leave(self, scene: Scene) -> None:
        """The farewell, if there are words for it; then the quiet after it, whatever is still open."""
        now, silent = scene.now_ms, not scene.agent_audible and scene.open_reply is None
        goodbye = next((u for u in self.utterances.values() if u.act == "END"), None)
        if not self._farewell and goodbye is not None:
            if silent or now >= self._finish_by:
                self._out.append(self.speak(goodbye, scene))
                return
            self._wake = min(self._wake, self._finish_by)
            self._wait("done", next_plan=goodbye.plan)
            return
        self._wait("done")
        due = max(self._own_end, scene.agent_quiet_since_ms) + PARTING_MS if silent else _NEVER
        due = min(due, self._own_end + PARTING_MAX_MS)
        if not self._farewell or now >= due:
            self._hang_up("completed", "the director ended the call")
        else:
            self._wake = min(self._wake, due)
