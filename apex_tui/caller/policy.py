"""The strict caller: when to speak, when to interrupt, when to wait, and when to hang up.

In here: turn-taking over the script (what would be said) and the events (when a change of mind is due). Deliberately not in here: audio,
words of the agent (observer) and any clock: time comes in with every call. Everything is a function of (workflow, seed, inputs).

The conductor notes what happens and looks once per frame; a look returns what the caller wants now. Once a `Say` was returned the caller counts
as speaking until `note_turn_ended`. An utterance is wished at a sample (``onset_ms``), at most ``LEAD_MS`` ahead of the look.
"""

from __future__ import annotations

from typing import Any

from apex_tui.caller.delivery import LEAD_MS
from apex_tui.caller.events import OVERLAPS, Armed
from apex_tui.caller.flow import Move, Plan, plan_id
from apex_tui.caller.notes import CallerNotes
from apex_tui.caller.scene import HangUp, Intent, Say, Scene, Wait
from apex_tui.caller.script import PLAN_CAP, Choice
from apex_tui.timeline.caller_facts import CallerWaits, SilentBecause
from apex_tui.timeline.session_facts import Outcome
from apex_tui.workflow.determinism import stable_int
from apex_tui.workflow.lines import choose_variant

OPENING_MS = 500.0
"""The caller greets this long after the line is open."""
QUIET_MS = 2500.0
"""Silence after which what a tool did is reacted to, although the agent has not spoken about it."""
PARTING_MS, PARTING_MAX_MS = 1200.0, 6000.0
"""After the farewell: the quiet that ends the call, and the longest wait for it."""
NUDGES_IN_ALL = 3 * PLAN_CAP
"""Of a strict caller, whose nudges are counted in a row: a bound on a call that goes nowhere."""
_NEVER = float("inf")
_NOTHING: list[Intent] = []


class CallerPolicy(CallerNotes):
    """One caller in one session. ``official`` says what the reference's caller would say (see `OfficialScript`), at our moments, and only after
    the agent's whole beat, tools included. Silence ends its call after three patience periods, unless it asked for more or took its leave: then
    silence is the answer.

    Raises ``WorkflowError`` when the flow can say a plan that has no wording.
    """

    def look(self, scene: Scene) -> list[Intent]:
        """What the caller wants at this moment; cheap when nothing has changed."""
        if self._hung:
            return _NOTHING
        old, self._scene = self._scene, scene
        if not self._dirty:
            if self._speaking:
                return _NOTHING
            if (
                scene.now_ms < self._wake
                and scene.reply_played_ms < self._barge_at
                and scene.open_reply == old.open_reply
                and scene.agent_audible == old.agent_audible
                and scene.agent_expected == old.agent_expected
                and (
                    scene.agent_quiet_since_ms == old.agent_quiet_since_ms
                    # While it sounds this is always now, which matters only to who waits for a moment inside the reply.
                    or (scene.agent_audible and not self._delivery.armed)
                )
                and scene.tools_running == old.tools_running
                and scene.approval_pending == old.approval_pending
            ):
                return _NOTHING
        self._dirty = False
        return self._think(scene)

    # --- thinking ------------------------------------------------------------------------------------------------------------------

    def _think(self, scene: Scene) -> list[Intent]:
        now = scene.now_ms
        self._wake, self._barge_at = self._workflow.time_budget_s * 1000.0, _NEVER
        self._arm_due(now, scene.open_reply)
        if self._agent_gone:
            self._hang_up("agent_closed", "the agent ended the connection")
        elif not self._speaking:
            self._idle(scene)
            if now >= self._workflow.time_budget_s * 1000.0:
                self._hang_up("over_time", f"the time budget of {self._workflow.time_budget_s} s is used up")
            elif self._script.engine.done:
                self._part(scene)
            elif not self._interrupt(scene):
                self._turn_taking(scene)
        self._wake = min(self._wake, self._desk.next_media_ms if self._desk.next_media_ms > now else _NEVER)
        if scene.open_reply is not None and self._desk.next_speech_ms > scene.reply_played_ms:
            self._barge_at = min(self._barge_at, self._desk.next_speech_ms)
        out, self._out = self._out, []
        return out

    def _turn_taking(self, scene: Scene) -> None:
        now = scene.now_ms
        if scene.agent_audible or scene.open_reply is not None:
            self._wait_for_floor()
            return
        idle = 0.0 if self._idle_since is None else now - self._idle_since
        if self._awaiting:
            if self._idle_since is None or idle < self._workflow.caller.patience_ms:
                self._wait_for_answer(scene)
                return
            self._awaiting = False
        if self._say_event_in_turn(scene, idle):
            return
        if self._official and (scene.agent_expected or scene.tools_running):
            self._wait("tool_running" if scene.tools_running else "listening")  # its beat is not over
            return
        self._ripen(now)
        choice = self._script.choose(now)
        if choice is None and self._script.engine.done:
            self._part(scene)
        elif choice is not None:
            self._answer(scene, choice)
        elif scene.tools_running:
            self._wait("tool_running")
        elif self._script.over is not None:
            self._hang_up("completed" if self._answered or self._farewell else "agent_stalled", self._script.over)
        else:
            self._patience(scene)

    def _answer(self, scene: Scene, choice: Choice) -> None:
        """Say the choice after the gap, unless something has to happen before."""
        if choice.act == "APPROVE" and not self._approval_tools.isdisjoint(scene.tools_running):
            self._wait("tool_running", next_plan=choice.plan)
            return
        if choice.act == "ACKNOWLEDGE" and (scene.agent_expected or scene.tools_running):
            self._wait("tool_running" if scene.tools_running else "listening", next_plan=choice.plan)
            return
        onset = self._onset(scene)
        if onset >= scene.now_ms + LEAD_MS:
            self._wake = min(self._wake, onset - LEAD_MS + 1e-6)
            self._wait("gap", until=onset, next_plan=choice.plan)
            return
        plan = self._script.take(choice)
        if plan is not None:
            if not self._official:
                self._nudges = 0  # the call goes on: patience is lost by failures in a row
            self._say(onset, plan, choice.because, recovered=choice.recovered)

    def _onset(self, scene: Scene) -> float:
        """Onset of the next turn: the seeded gap after whoever spoke last."""
        spoke = max(scene.agent_quiet_since_ms, self._own_end)
        if self._turn == 0 and scene.agent_quiet_since_ms <= 0:
            return max(scene.now_ms, OPENING_MS)
        low, high = self._workflow.caller.gap_ms
        gap = low + stable_int(self._workflow.scenario_id, self._seed, "gap", self._turn + 1) % (
            max(high, low) - low + 1
        )
        return max(scene.now_ms, spoke + gap, OPENING_MS if self._turn == 0 else 0.0)

    def _idle(self, scene: Scene) -> None:
        """Since when nobody speaks, nothing runs and nothing is expected."""
        working = scene.agent_expected or bool(scene.tools_running)
        if working or scene.agent_audible or scene.open_reply is not None:
            self._idle_since = None
        elif self._idle_since is None:
            ended = scene.now_ms if self._worked else 0.0
            self._idle_since = max(scene.agent_quiet_since_ms, self._own_end, ended)
        self._worked = working

    def _ripen(self, now: float) -> None:
        """Let tool evidence count after enough quiet."""
        since = self._script.unripe_since
        if since is None or self._idle_since is None:
            return
        due = max(since, self._idle_since) + QUIET_MS
        if now >= due:
            self._script.ripen()
        else:
            self._wake = min(self._wake, due)

    def _patience(self, scene: Scene) -> None:
        """The agent is silent: ask what is needed, a few times, then give up."""
        if scene.agent_expected or self._idle_since is None:
            self._wait("listening")
            return
        caller = self._workflow.caller
        nudging = self._nudge and self._nudges < caller.nudges and self._script.said["nudge"] < self._most_nudges
        periods = 1 if self._nudge else 3
        until = self._idle_since + caller.patience_ms * periods
        if scene.now_ms < until:
            self._wake = min(self._wake, until)
            self._wait("patience", until=until, next_plan="nudge" if nudging else None)
        elif nudging:
            self._nudges += 1
            self._script.said["nudge"] += 1
            wording = self._workflow.wording("nudge")
            act = (wording.speech_act if wording is not None else None) or "ASK"
            plan = Plan("nudge", act, (), "AFTER_FLOOR_RELEASE", "normal", None, None, None, self._script.engine.state)
            self._say(scene.now_ms, plan, self._unanswered(scene, caller.patience_ms), recovered=True)
        elif scene.approval_pending:
            self._wait("patience")
        elif self._script.silence():
            self._dirty = True
        else:
            self._hang_up("agent_stalled", self._unanswered(scene, round(scene.now_ms - self._idle_since, -2)))

    @property
    def _most_nudges(self) -> int:
        return PLAN_CAP if self._official else NUDGES_IN_ALL

    def _unanswered(self, scene: Scene, ms: float) -> str:
        """Why the caller has nothing to say: nobody spoke, nothing that was understood as a question or an offer, or the same too often."""
        if scene.agent_quiet_since_ms > self._own_end and self._script.asked_too_often:
            said = f"what the caller had said {PLAN_CAP} times"
            return f"the agent asked again for {said}, and was silent for {ms / 1000:g} s"
        if scene.agent_quiet_since_ms > self._own_end:
            return f"the agent said nothing that the caller could answer, and was silent for {ms / 1000:g} s"
        return f"the agent was silent for {ms / 1000:g} s"

    def _part(self, scene: Scene) -> None:
        """The dialogue is over: leave when the agent is quiet, never while a tool runs or an approval is open."""
        self._delivery.armed.clear()
        self._wait("done")
        if scene.tools_running or scene.approval_pending:
            return
        now = scene.now_ms
        silent = not scene.agent_audible and scene.open_reply is None
        if self._farewell:
            due = max(self._own_end, scene.agent_quiet_since_ms) + PARTING_MS if silent else _NEVER
            due = min(due, self._own_end + PARTING_MAX_MS)
        elif self._idle_since is None:
            return
        else:
            due = self._idle_since + (QUIET_MS if self._answered else self._workflow.caller.patience_ms)
        if now >= due:
            self._hang_up("completed", "the caller said goodbye" if self._farewell else "the dialogue reached its end")
        else:
            self._wake = min(self._wake, due)

    # --- scripted events -----------------------------------------------------------------------------------------------------------

    def _interrupt(self, scene: Scene) -> bool:
        """Speak an event inside the open reply when its moment has come; True when something was said."""
        armed = self._delivery.moment(scene, self._closed, self._cut, self._awaiting)
        self._barge_at = self._delivery.next_at
        if armed is None:
            return False
        onset = scene.now_ms + max(0.0, armed.at - scene.reply_played_ms)
        return self._say_event(armed, onset, scene.open_reply)

    def _say_event_in_turn(self, scene: Scene, idle: float) -> bool:
        """Speak a due event ahead of any answer; True when one is due (said now, or waiting for its gap)."""
        ready, lone = self._delivery.in_turn(), self._delivery.lone()
        if (
            not ready
            and lone is not None
            and self._idle_since is not None
            and self._script.choose(scene.now_ms) is None
        ):
            if idle < QUIET_MS:
                self._wake = min(self._wake, self._idle_since + QUIET_MS)
            else:
                lone.in_turn, lone.note = True, f"the agent said nothing more for {QUIET_MS / 1000:g} s"
                ready = [lone]
        while ready:
            armed = ready.pop(0)
            onset = self._onset(scene)
            if onset >= scene.now_ms + LEAD_MS:
                self._wake = min(self._wake, onset - LEAD_MS + 1e-6)
                self._wait("gap", until=onset, next_plan=self._plan_of(armed))
                return True
            if self._say_event(armed, onset, None):
                return True
        return False

    def _say_event(self, armed: Armed, onset: float, reply: str | None) -> bool:
        """Speak an event's words; False when they may not be said (it then takes effect in silence)."""
        self._delivery.armed.remove(armed)
        engine, transition = self._script.engine, armed.transition
        action = transition.do
        if action is None or not engine.allowed(action, transition.next, event=armed.event.id):
            self._fire(
                armed.event, "its words may not be said: " + (engine.refusals[-1].because if engine.refusals else "")
            )
            return False
        engine.book.deliver([armed.event.id])
        stays = armed.floor in OVERLAPS
        plan = engine.take(Move(engine.state if stays else transition.next, transition, action))
        if plan is None:
            return False
        self._script.said[plan.id] += 1
        because = f"event {armed.event.id}: {armed.trigger}"
        if stays:
            self._say(onset, plan, because, event=armed.event.id)
            return True
        # A question that was heard whole beside a read-back is answered in the same turn; one that was cut into is asked again.
        asked = reply is None and plan.act == "CORRECT" and self._script.keep_questions(plan.facts)
        if not asked:
            self._script.drop_words()
        self._script.drop_approvals()
        if reply is not None:
            self._cut.add(reply)
        delivered = "barge_in" if reply is not None else "in_turn"
        self._say(onset, plan, because, event=armed.event.id, delivered=delivered, note=armed.note)
        self._awaiting = not asked
        return True

    def _plan_of(self, armed: Armed) -> str | None:
        return plan_id(armed.transition.do, armed.transition.next) if armed.transition.do is not None else None

    # --- speaking and waiting ------------------------------------------------------------------------------------------------------

    def _say(
        self,
        onset: float,
        plan: Plan,
        because: str,
        *,
        recovered: bool = False,
        event: str | None = None,
        delivered: Any = None,
        note: str = "",
    ) -> None:
        self._turn += 1
        self._speaking = True
        self._answered = False
        self._farewell = plan.act == "END"
        if plan.floor not in OVERLAPS:
            self._desk.caller_spoke()
        if plan.revokes is not None:
            self._script.drop_approvals()
        variant = choose_variant(self._workflow, self._seed, plan.id, early=self._is_early(plan))
        values = self._script.engine.book.values(plan.facts)
        self._out.append(
            Say(
                self._turn, plan.id, plan.act, plan.facts, values, plan.floor, variant.variant_id, variant.text, because, onset,
                event or plan.event_id, plan.approves, plan.revokes, recovered, delivered, note,
            )
        )  # fmt: skip

    def _is_early(self, plan: Plan) -> bool:
        """Whether nobody could think of doing what this plan would stop: there is more to tell, and the agent did not ask to do it."""
        asked = self._scene.approval_pending or f"REQUEST_APPROVAL:{plan.revokes}" in self._script.engine.book.acts
        return plan.revokes is not None and bool(self.untold) and not asked

    def _wait_for_floor(self) -> None:
        armed = self._delivery.inside(self._scene.open_reply)
        if self._awaiting:
            self._wait("awaits_answer")
        elif armed is not None:
            self._wait("barge_armed", next_plan=self._plan_of(armed))
        else:
            self._wait("listening")

    def _wait_for_answer(self, scene: Scene) -> None:
        until = None
        if self._idle_since is not None:
            until = self._idle_since + self._workflow.caller.patience_ms
            self._wake = min(self._wake, until)
        self._wait("tool_running" if scene.tools_running else "awaits_answer", until=until)

    def _wait(self, why: SilentBecause, *, until: float | None = None, next_plan: str | None = None) -> None:
        fact = CallerWaits(why=why, until_ms=until, next_plan=next_plan)
        if fact != self._waits:
            self._waits = fact
            self._out.append(Wait(fact))

    def _hang_up(self, outcome: Outcome, reason: str) -> None:
        self._hung = True
        self._wait("done")
        self._out.append(HangUp(outcome, reason))
