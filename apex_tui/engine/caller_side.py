"""What the caller's intents mean for the session: clips on the lane, authority at the audible onset, scripted events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apex_tui.agents.seam import Agent, Hint
from apex_tui.audio.frames import Pcm, to_ms, to_samples
from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import Arm, Fire, HangUp, Intent, Say, Wait
from apex_tui.engine.approving import ApprovalFlags
from apex_tui.engine.caller_lane import CallerLane, Utterance
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.caller_facts import CallerPlanned, CallerTurnEnded, CallerTurnStarted, EventFired
from apex_tui.timeline.session_facts import Outcome
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.lines import without_pauses
from apex_tui.workflow.model import Workflow


@dataclass(frozen=True, slots=True)
class Clip:
    """A rendered utterance: samples, and where in it something is audible (``onset`` .. ``offset``), from the bank's manifest."""

    id: str
    pcm: Pcm
    onset: int
    offset: int
    value_end: int
    sha256: str
    pauses: tuple[tuple[int, int], ...] = ()


Clips = Mapping[str, Clip]
"""Variant id -> clip."""


class CallerSide:
    """Keeps the caller's half of the session."""

    def __init__(
        self, workflow: Workflow, agent: Agent, clips: Clips, wiring: Wiring, policy: CallerPolicy, workbench: Workbench
    ) -> None:
        self._workflow, self._agent, self._clips, self._wiring = workflow, agent, clips, wiring
        self._policy, self._workbench = policy, workbench
        self._lane = CallerLane()
        self.frame: Callable[[int], Pcm] = self._lane.frame
        self.flags = ApprovalFlags(workflow, wiring)

    @property
    def sounding(self) -> bool:
        """Whether a clip is on the lane; its silent end counts."""
        return self._lane.speaking

    def carry_out(self, intent: Intent, next_sample: int, cause: int | None = None) -> tuple[Outcome, str] | None:
        """Do what the policy wants; ``next_sample`` is the first sample that is not sealed yet, ``cause`` the event that asked for it. Returns
        an ending on hanging up.
        """
        match intent:
            case Say():
                self._say(intent, next_sample, cause)
            case Wait(fact=waits):
                self._wiring.emit(waits)
            case Arm(fact=armed):
                self._wiring.emit(armed)
            case Fire():
                self._fire(intent.event_id, intent.delivered, intent.note, self._wiring.media_ms(), None)
            case HangUp():
                return intent.outcome, intent.reason
        return None

    def _say(self, say: Say, next_sample: int, cause: int | None) -> None:
        clip = self._clips[say.variant_id]
        start = max(next_sample, to_samples(say.onset_ms) - clip.onset)
        utterance = Utterance(
            turn=say.turn,
            plan=say.plan,
            act=say.act,
            text=without_pauses(say.text),
            facts=say.facts,
            values=dict(say.values),
            floor=say.floor,
            clip=clip.id,
            pcm=clip.pcm,
            start=start,
            onset=start + clip.onset,
            end=start + clip.offset,
            value_end=start + clip.value_end,
            pauses=tuple((start + a, start + b) for a, b in clip.pauses),
            event=say.event_id,
            delivered=say.delivered,
            note=say.note,
            approves=say.approves,
            revokes=say.revokes,
        )
        self._lane.place(utterance)
        planned = CallerPlanned(
            turn=say.turn,
            plan=say.plan,
            act=say.act,
            facts=say.facts,
            floor=say.floor,
            variant=say.variant_id,
            clip=clip.id,
            pcm_sha256=clip.sha256,
            because=say.because,
            recovered=say.recovered,
        )
        seq = self._wiring.emit(planned, (max(self._wiring.reply_seq.values(), default=None), cause))
        self._agent.send_hint(
            Hint(say.turn, say.plan, say.act, utterance.text, utterance.onset, utterance.end, utterance.pauses)
        )
        loop = asyncio.get_running_loop()
        loop.call_at(self._wiring.call_at(to_ms(utterance.onset)), self._began, utterance, seq)
        loop.call_at(self._wiring.call_at(to_ms(utterance.end)), self._ended, utterance)

    def _began(self, said: Utterance, planned: int) -> None:
        """The first audible sample: from here on a correction, an approval or a revocation counts."""
        onset = to_ms(said.onset)
        fact = CallerTurnStarted(
            turn=said.turn,
            plan=said.plan,
            act=said.act,
            text=said.text,
            facts=said.facts,
            values=said.values,
            floor=said.floor,
            onset_ms=onset,
            ends_ms=to_ms(said.end),
            value_end_ms=to_ms(said.value_end),
            pauses_ms=tuple((to_ms(a), to_ms(b)) for a, b in said.pauses),
        )
        seq = self._wiring.emit(fact, (planned,))
        self._wiring.turn_seq = seq
        self._policy.note_turn_started(said.turn, onset)
        if said.event is not None:
            self._fire(said.event, said.delivered or "overlap", said.note, onset, seq, said.facts)
        self._authority(said, onset, seq)

    def _authority(self, said: Utterance, onset: float, seq: int) -> None:
        """What the words allow or take back. A package's flow names no action: its act answers what is pending."""
        pending, last = self._workbench.open_requests, self._workbench.last_request
        asked = pending[0].action if pending else last.action if last else None
        approves = said.approves or (asked if said.act == "APPROVE" and pending else None)
        revokes = said.revokes or (asked if said.act == "REVOKE" else None)
        if said.act == "DENY" and pending and said.revokes is None:
            self._wiring.emit_all(self._workbench.deny(onset, pending[0].action, said.turn), (seq,))
        if revokes is not None:
            self._wiring.emit_all(self._workbench.revoke(onset, revokes, None, said.turn), (seq,))
        if approves is not None:
            granted = self._workbench.approve(onset, approves, said.turn)
            self._wiring.emit_all([self.flags.flagged(fact) for fact in granted], (seq,))

    def _ended(self, said: Utterance) -> None:
        offset = to_ms(said.end)
        self._wiring.emit(CallerTurnEnded(turn=said.turn, offset_ms=offset), (self._wiring.turn_seq,))
        self._policy.note_turn_ended(said.turn, offset)

    def _fire(
        self, name: str, delivered: str, note: str, onset_ms: float, cause: int | None, facts: tuple[str, ...] = ()
    ) -> None:
        event = self._workflow.event(name)
        if event is None:
            return
        fired = EventFired(
            event=name,
            kind=event.type,
            facts=facts,
            repairs=event.expected_repairs,
            delivered=delivered,
            note=note,
        )
        seq = self._wiring.emit(fired, (cause,))
        self._wiring.emit_all(self._workbench.fire(onset_ms, event), (seq,))
