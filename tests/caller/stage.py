"""A stage for the policy: a hand-made workflow, and a virtual session of 20 ms frames with scripted replies.

The stage plays the conductor's part: it keeps the floor, notes what happens, looks once per frame, and lets utterances run their length.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import Arm, Fire, HangUp, Intent, Say, Scene, Wait
from apex_tui.workflow.caller_model import (
    Action,
    CallerFact,
    CallerProfile,
    Flow,
    Observer,
    Reveal,
    ScriptedEvent,
    State,
    Transition,
    Trigger,
    Variant,
    Wording,
)
from apex_tui.workflow.determinism import stable_int
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold
from apex_tui.workflow.work_model import Autonomy, ToolSpec


def wording(plan: str, *texts: str) -> Wording:
    variants = tuple(Variant(variant_id=f"{plan}#v{n}", text=text) for n, text in enumerate(texts, 1))
    return Wording(user_plan_id=plan, variants=variants)


def answer(plan: str, *facts: str) -> Action:
    return Action(act="ANSWER", plan_id=plan, facts=facts)


def on(do: Action | None, next_state: str = "CALL", **when: Any) -> Transition:
    return Transition(when=Trigger(**when), do=do, next=next_state)


def fact(name: str, value: Any, *acts: str, **more: Any) -> CallerFact:
    return CallerFact(id=name, value=value, reveal=Reveal(agent_acts=acts), **more)


CORRECT = Action(
    act="CORRECT", plan_id="fix", facts=("amount2",), floor_action="BARGE_IN", event_id="evt", revokes="pay"
)
MHM = Action(act="BACKCHANNEL", plan_id="mhm", floor_action="BACKCHANNEL", event_id="mhm")


def booking(**changes: Any) -> Workflow:
    """Two questions, a correction of the amount, a back-channel, an approval after the correction, a farewell after the commit."""
    flow = Flow(
        start="CALL",
        states={
            "CALL": State(
                on_enter=Action(act="OPENING_REQUEST", plan_id="open"),
                transitions=(
                    on(CORRECT, external_event="evt"),
                    on(MHM, external_event="mhm"),
                    on(
                        Action(act="APPROVE", plan_id="yes", approves="pay"),
                        approval_request="pay",
                        events_done=("evt",),
                    ),
                    on(
                        Action(act="APPROVE", plan_id="yes", approves="pay"),
                        agent_act="REQUEST_APPROVAL:pay",
                        events_done=("evt",),
                    ),
                    on(answer("again", "amount2"), agent_act="ASK:amount", events_done=("evt",)),
                    on(answer("again", "amount2"), agent_act="MISREAD:amount", events_done=("evt",)),
                    on(answer("ans_amount", "amount"), agent_act="ASK:amount"),
                    on(answer("ans_dates", "start", "end"), agent_act="ASK:start"),
                    on(answer("ans_dates", "start", "end"), agent_act="ASK:end"),
                    on(Action(act="ACKNOWLEDGE", plan_id="right"), agent_act="CONFIRM"),
                    on(Action(act="END", plan_id="bye"), "DONE", committed="pay"),
                ),
            ),
            "DONE": State(terminal=True),
        },
    )
    base = Workflow(
        id="booking", title="Booking", source="recipe", archetype="FORM_FILL", gold=Gold(), flow=flow,
        autonomy=Autonomy(level="A3_APPROVAL_GATED_COMMIT", approval_required_for=("pay",)),
        caller=CallerProfile(gap_ms=(350, 800), patience_ms=6000, nudges=2),
        facts=(
            fact("amount", 500.0, "ASK:amount", field="form.amount"),
            CallerFact(id="amount2", value=555.23, supersedes="amount", field="form.amount", reveal=Reveal(events=("evt",))),
            fact("start", "2026-12-14", "ASK:start", "ASK:end", field="form.start"),
            fact("end", "2026-12-18", "ASK:start", "ASK:end", field="form.end"),
        ),
        events=(
            ScriptedEvent(
                id="evt", type="MID_SPEECH_CORRECTION", delivery="BARGE_IN", start_window_ms=(900, 1300),
                trigger=Trigger(agent_act="CONFIRM:amount"), also=(Trigger(approval_request="pay"),),
            ),
            ScriptedEvent(id="mhm", type="BACKCHANNEL", delivery="BACKCHANNEL", start_window_ms=(400, 600),
                          trigger=Trigger(agent_act="EXPLAIN")),
        ),
        wordings=(
            wording("open", "Hi, I want to pay.", "Hello, a payment please."),
            wording("ans_amount", "Five hundred dollars.", "It's five hundred."),
            wording("ans_dates", "The fourteenth to the eighteenth.", "December 14 to 18."),
            wording("fix", "Wait, make it 555.23.", "No, 555.23."),
            wording("again", "It's 555.23 now.", "555.23."),
            wording("mhm", "Mm-hm."), wording("yes", "Yes, go ahead.", "Please do."), wording("right", "That's right."),
            wording("bye", "Thanks, bye."), wording("nudge", "Hello? What do you need from me?"),
        ),
        observer=Observer(
            lexicon={
                "amount": ("amount", "how much"), "start": ("start date", "first day"), "end": ("end date",), "date": ("date",),
            },
            values={
                "amount": ("500 dollars", "five hundred", "five hundred fifty-five twenty-three"),
                "start": ("December 14", "the fourteenth"), "end": ("December 18", "the eighteenth"),
            },
        ),
        tools=(
            ToolSpec(name="ask_ok", handler="request_approval", commit_action_type="pay"),
            ToolSpec(name="do_pay", handler="commit", commit_action_type="pay"),
        ),
    )  # fmt: skip
    return base.model_copy(update=changes)


@dataclass
class Reply:
    """A reply that plays for ``length`` ms from ``start``; ``acts`` are noted at their played ms (or, negative, after its end)."""

    name: str
    start: float
    length: float
    acts: tuple[tuple[float, str], ...] = ()
    pauses: tuple[tuple[float, float], ...] = ()
    cut_at: float | None = None


@dataclass
class Stage:
    """One virtual session. ``yields_ms``: how soon the agent stops at an interruption (None: never)."""

    policy: CallerPolicy
    yields_ms: float | None = 200.0
    length_ms: float = 1000.0
    scene: Scene = field(default_factory=lambda: Scene(0.0))
    said: list[Say] = field(default_factory=list)
    intents: list[tuple[float, Intent]] = field(default_factory=list)
    reply: Reply | None = None
    spoken: list[tuple[float, float]] = field(default_factory=list)
    _turn: tuple[Say, float] | None = None
    _noted: int = 0

    @property
    def now(self) -> float:
        return self.scene.now_ms

    def speak(
        self, name: str, length: float, *acts: tuple[float, str], pauses: tuple[tuple[float, float], ...] = ()
    ) -> None:
        """The agent begins a reply now."""
        assert self.reply is None, "one reply at a time"
        self.reply, self._noted = Reply(name, self.now, length, tuple(sorted(acts)), pauses), 0
        self.scene = replace(self.scene, open_reply=name, agent_audible=True, reply_played_ms=0.0, agent_expected=False)

    def run(self, ms: float) -> Stage:
        """Let time pass."""
        end = self.now + ms
        while self.now < end - 1e-6:
            self._frame()
        return self

    def hear(self, name: str, length: float, *acts: tuple[float, str]) -> Stage:
        """A whole reply, and what the caller says in the 3 s after it."""
        self.speak(name, length, *acts)
        return self.run(length + 3000)

    def until_said(self, plan: str, within: float = 30_000) -> Say:
        end = self.now + within
        while self.now < end:
            self._frame()
            if self.said and self.said[-1].plan == plan:
                return self.said[-1]
        raise AssertionError(f"{plan} was not said within {within} ms; said: {[say.plan for say in self.said]}")

    def plans(self) -> list[str]:
        return [say.plan for say in self.said]

    def waits(self) -> list[str]:
        return [intent.fact.why for _, intent in self.intents if isinstance(intent, Wait)]

    def ended(self) -> HangUp | None:
        return next((intent for _, intent in self.intents if isinstance(intent, HangUp)), None)

    def arms(self) -> list[Arm]:
        return [intent for _, intent in self.intents if isinstance(intent, Arm)]

    def fires(self) -> list[Fire]:
        return [intent for _, intent in self.intents if isinstance(intent, Fire)]

    def _frame(self) -> None:
        now = self.now + 20.0
        self.scene = replace(self.scene, now_ms=now)
        self._play(now)
        if self._turn is not None:
            say, ends = self._turn
            if now >= ends:
                self.policy.note_turn_ended(say.turn, ends)
                self._turn = None
        for intent in self.policy.look(self.scene):
            self.intents.append((now, intent))
            if isinstance(intent, Say):
                self._begin(intent)

    def _begin(self, say: Say) -> None:
        assert self._turn is None, f"{say.plan} begins inside {self._turn}"
        self.said.append(say)
        ends = say.onset_ms + self.length_ms
        self.spoken.append((say.onset_ms, ends))
        self._turn = (say, ends)
        self.policy.note_turn_started(say.turn, say.onset_ms)
        if self.reply is not None and say.floor == "BARGE_IN" and self.yields_ms is not None:
            self.reply.cut_at = say.onset_ms + self.yields_ms

    def _play(self, now: float) -> None:
        reply = self.reply
        if reply is None:
            return
        played = now - reply.start
        cut = reply.cut_at is not None and now >= reply.cut_at
        while self._noted < len(reply.acts) and reply.acts[self._noted][0] <= min(played, reply.length) and not cut:
            self.policy.note_act(now, reply.acts[self._noted][1], reply.name)
            self._noted += 1
        audible = not any(a <= played < b for a, b in reply.pauses)
        ends = min(reply.length, reply.cut_at - reply.start if reply.cut_at is not None else reply.length)
        if played < ends:
            self.scene = replace(self.scene, reply_played_ms=played, agent_audible=audible)
            return
        quiet = reply.start + ends
        self.scene = replace(
            self.scene, open_reply=None, agent_audible=False, reply_played_ms=0.0, agent_quiet_since_ms=quiet
        )
        self.policy.note_reply_closed(now, reply.name, True, cut)
        self.reply = None


def stage(workflow: Workflow | None = None, seed: int = 1, **more: Any) -> Stage:
    """A stage with the caller's opening behind it (1.5 s)."""
    made = Stage(CallerPolicy(workflow or booking(), seed), **more)
    return made.run(1600)


def gap(turn: int, seed: int = 1) -> int:
    """The seeded pause in ms before the caller's answer of that turn."""
    return 350 + stable_int(booking().scenario_id, seed, "gap", turn) % 451


def corrected(seed: int = 1) -> Stage:
    """A session in which the correction was delivered and answered."""
    s = stage(seed=seed)
    s.hear("r1", 1500, (1500, "ASK:amount"))
    s.speak("r2", 5000, (300, "CONFIRM:amount"))
    s.until_said("fix")
    s.run(1500)
    s.hear("r3", 1500)
    return s
