"""A person as the caller: their voice on the lane, their turns on the timeline, and their keys as authority.

The microphone's sound goes through the echo's remedy to the agent, at all times. Turns are found in what is sent. Their edges are media times
of the voice itself: lane position less the microphone's delay. A key says what words did; it dates from the newest turn that began after the
question and not long ago. Nothing is approved unless the key names exactly the request and the content that are pending.
Deliberately not in here: devices (``audio``), and what is shown (the screen).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from apex_tui.audio.echo import Echo, Headphones
from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, Pcm, to_ms, to_samples
from apex_tui.audio.likeness import EchoEar
from apex_tui.audio.microphone import Microphone
from apex_tui.audio.sinks import Sink
from apex_tui.audio.turns import Heard, TurnFinder
from apex_tui.caller.directed import DirectedPolicy
from apex_tui.engine.approving import ApprovalFlags
from apex_tui.engine.pending import PendingTurns
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.caller_facts import (
    CallerSoundBegan,
    CallerSoundRefused,
    CallerTurnDecided,
    CallerTurnEnded,
    CallerTurnStarted,
    EventFired,
    MicrophonePulse,
    PersonDecided,
)
from apex_tui.timeline.messages import Decide
from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.timeline.state import Turn
from apex_tui.workbench.authority import Request
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.caller_model import ScriptedEvent
from apex_tui.workflow.model import Workflow

FRAMES_PER_PULSE = 50
ARMED_AFTER_MS = 500.0
"""What is approved must have been on the screen for so long: a key that was pressed for something else approves nothing."""

STEADY_PULSES, MOVED_MS = 10, 5.0
"""When the devices' delays moved by more within so many seconds, times at the microphone are not to be trusted: a sound server that gets too
little of the processor states delays that wander. The first seconds of a stream, in which they settle, do not count.
"""

FLOOR_KEPT = 50
"""Frames (1 s): an onset is known at most 300 ms later, and a delay of the devices before that."""

BY_KEY = "person-"
"""What the ids of corrections by key begin with."""

WORDS_WITHIN_MS = 15_000.0
"""Words that began longer ago are not the ones that a key speaks of."""


@dataclass(slots=True)
class Person:
    """Everything that makes a person the caller of a session. ``banner``: what is less than it could be, for the screen."""

    microphone: Microphone
    echo: Echo = field(default_factory=Headphones)
    turns: TurnFinder = field(default_factory=TurnFinder)
    banner: str | None = None
    consent: str | None = None
    """What the person agreed to, and when."""


class PersonSide:
    """Keeps the person's half of the session."""

    def __init__(
        self,
        workflow: Workflow,
        person: Person,
        wiring: Wiring,
        workbench: Workbench,
        sink: Sink,
        policy: DirectedPolicy,
        flags: ApprovalFlags,
    ) -> None:
        self._workflow, self._person, self._wiring, self._workbench = workflow, person, wiring, workbench
        self._sink, self._policy = sink, policy
        self._begun_at = 0
        """The lane's sample with which this person began: those of the turn finder count from there."""
        self._flags = flags
        self._turn = 0
        self._sound: int | None = None
        """The event of the sound that is not decided."""
        self._sound_ms = 0.0
        self._frames = 0
        self._closed_ms = 0.0
        self._said: str | None = None
        self._delays: deque[float] = deque(maxlen=STEADY_PULSES)
        self._pulses, self._moved = 0, False
        self._pending, self._ear = PendingTurns(), EchoEar()
        self._floor: deque[tuple[float, bool]] = deque(maxlen=FLOOR_KEPT)
        """Media position of each of the last frames, and whether the agent had the floor then."""
        self.agent_audible = self.agent_has_floor = False
        """Whether the agent can be heard, and whether a reply of it is open; kept up to date by whoever plays it."""

    # --- each frame -----------------------------------------------------------------------------------------------------------------

    def frame(self, index: int) -> Pcm:
        """The samples of frame ``index``: what the person said."""
        person = self._person
        if self._frames == 0:
            self._begun_at = index * FRAME_SAMPLES
            if person.banner is not None:
                self._wiring.emit(SessionWarning(code="microphone", message=person.banner))
        path_ms = person.microphone.latency_ms + self._sink.latency_ms
        raw = person.microphone.frame()
        self._ear.heard(raw)
        clean = person.echo.clean(raw, path_ms, person.turns.speaking, person.turns.undecided)
        self._closed_ms += FRAME_MS if person.echo.closed else 0.0
        self._floor.append((index * FRAME_MS, self.agent_has_floor))
        for heard in person.turns.feed(clean, self.agent_audible, person.echo.closed):
            self._heard(heard)
        for decided in self._pending.look(self._spoken_ms(person.turns.last_sound), self._flags.state):
            self._decided(decided)
        self._frames += 1
        if self._frames % FRAMES_PER_PULSE == 0:
            self._pulse()
        return clean

    def played(self, agent: Pcm) -> None:
        """A frame of the agent was handed to the loudspeaker."""
        self._person.echo.played(agent)
        self._ear.played(agent)

    def close(self) -> None:
        """The session is over: an open turn ends."""
        for heard in self._person.turns.finish():
            self._heard(heard)

    def _spoken_ms(self, sample: int) -> float:
        """When a sample was spoken, counted from the person's first one."""
        late = self._person.microphone.latency_ms + self._person.echo.delay_ms
        return round(max(0.0, to_ms(self._begun_at + sample) - late), 3)

    def _heard(self, heard: Heard) -> None:
        at = self._spoken_ms(heard.at)
        if heard.kind == "sound":
            self._sound, self._sound_ms = self._wiring.emit(CallerSoundBegan(onset_ms=at)), at
            return
        sound, self._sound = self._sound, None
        at = self._sound_ms if sound is not None else at  # as it was told
        if heard.kind == "refused":
            self._wiring.emit(CallerSoundRefused(onset_ms=at), (sound,))
            return
        if heard.kind == "ended":
            self._wiring.emit(CallerTurnEnded(turn=self._turn, offset_ms=at), (self._wiring.turn_seq,))
            self._pending.ended(self._turn, at)
            return
        self._turn = self._policy.take_turn()
        inside = self._inside_a_reply(at)
        echo = self._ear.suspects(heard.at - to_samples(self._person.echo.delay_ms))
        pending = inside and not echo
        if pending:
            self._pending.began(self._turn, at)
        elif not echo:
            self._policy.note_person_spoke()
        fact = CallerTurnStarted(
            turn=self._turn,
            plan="person",
            act="SPEECH",
            text="",
            floor="BARGE_IN" if inside else "AFTER_FLOOR_RELEASE",
            onset_ms=at,
            ends_ms=at,
            value_end_ms=at,
            detected=True,
            pending=pending,
            echo_suspect=echo,
        )
        self._wiring.turn_seq = self._wiring.emit(fact, (sound,))

    def _inside_a_reply(self, at_ms: float) -> bool:
        """Whether the agent had the floor when the person began to speak, which was up to 300 ms ago."""
        return next((had for begun, had in reversed(self._floor) if begun <= at_ms), self.agent_has_floor)

    def _decided(self, fact: CallerTurnDecided, cause: int | None = None) -> None:
        if fact.kind == "turn":
            self._policy.note_person_spoke()
        turn = next((t.seq for t in reversed(self._flags.state.turns) if t.number == fact.turn), None)
        self._wiring.emit(fact, (turn, cause))

    def _pulse(self) -> None:
        person, turns = self._person, self._person.turns
        problem = person.microphone.problem
        self._wiring.emit(
            MicrophonePulse(
                noise_db=turns.noise_db,
                snr_db=turns.snr_db,
                error_ms=round(turns.error_ms, 1),
                echo=person.echo.kind,
                erle_db=person.echo.erle_db,
                closed_ms=self._closed_ms,
                input_latency_ms=round(person.microphone.latency_ms + person.echo.delay_ms, 1),
                output_latency_ms=round(self._sink.latency_ms, 1),
                underruns=person.microphone.underruns,
                overruns=person.microphone.overruns,
                rejected=turns.rejected,
                silent=problem is not None,
            )
        )
        self._closed_ms = 0.0
        self._look_at_delays()
        if problem is not None and problem != self._said:
            self._wiring.emit(SessionWarning(code="microphone", message=problem))
        elif problem is None and self._said is not None:
            back = f"the {person.microphone.description} is back"
            self._wiring.emit(SessionWarning(code="microphone", message=back))
        self._said = problem

    def _look_at_delays(self) -> None:
        """Say once that what the devices tell of their delays moves."""
        self._pulses += 1
        if self._pulses <= STEADY_PULSES or self._moved:
            return
        self._delays.append(self._person.microphone.latency_ms + self._sink.latency_ms)
        moved = max(self._delays) - min(self._delays)
        if moved > MOVED_MS:
            self._moved = True
            message = (
                f"the delays that the devices tell moved by {moved:.0f} ms within {STEADY_PULSES} s: this machine may be too busy, "
                "and times at the microphone may be wrong by as much"
            )
            self._wiring.emit(SessionWarning(code="microphone-timing", message=message))

    # --- keys -----------------------------------------------------------------------------------------------------------------------

    def decide(self, decision: Decide) -> None:
        """Carry out what a key says, or say in a warning why not."""
        refusal = {
            "approve": self._answer,
            "deny": self._answer,
            "revoke": self._revoke,
            "corrected": self._correct,
            "retake": self._retake,
            "listening": self._class,
            "interruption": self._class,
        }[decision.what](decision)
        if refusal is None:
            self._policy.note_person_decided(decision.what, decision.field, decision.value)
        else:
            self._wiring.emit(SessionWarning(code="decision-ignored", message=f"{decision.what}: {refusal}"))

    def _words(self, since_ms: float) -> tuple[int | None, float | None, int | None]:
        """The newest turn that began at or after ``since_ms`` and not long ago: its number, onset and event; else nothing."""
        now, turn = self._wiring.media_ms(), self._last_turn()
        if turn is None or turn.onset_ms < max(since_ms, now - WORDS_WITHIN_MS):
            return None, None, None
        return turn.number, turn.onset_ms, turn.seq

    def _last_turn(self) -> Turn | None:
        """What the person said last. What sounds like the loudspeaker is nobody's words; what the recorded caller said is not theirs."""
        turn = next((turn for turn in reversed(self._flags.state.turns) if not turn.echo_suspect), None)
        return turn if turn is not None and turn.detected else None

    def _note(self, decision: Decide, since_ms: float, **more: Any) -> tuple[float, int | None, int]:
        """Put the decision on the timeline; from when it counts, its turn, and its event."""
        turn, words_ms, seq = self._words(since_ms)
        now = self._wiring.media_ms()
        fact = PersonDecided(what=decision.what, turn=turn, words_ms=words_ms, key_ms=now, **more)
        return (words_ms if words_ms is not None else now), turn, self._wiring.emit(fact, (seq,))

    def _answer(self, decision: Decide) -> str | None:
        request = self._asked(decision)
        if isinstance(request, str):
            return request
        at, turn, seq = self._note(decision, request.at_ms, action=request.action, request=request.id)
        answer = self._workbench.approve if decision.what == "approve" else self._workbench.deny
        self._wiring.emit_all([self._flags.flagged(f) for f in answer(at, request.action, turn)], (seq,))
        return None

    def _asked(self, decision: Decide) -> Request | str:
        """The request that the key answers, or why it answers none."""
        pending = self._workbench.open_requests
        request = next((r for r in pending if r.id == decision.request), None)
        if request is None:
            return "that question is not open any more; nothing was decided"
        if next(r for r in pending if r.action == request.action) is not request:
            return f"an earlier question about {request.action} is open; answer that one first"
        if decision.what == "approve":
            digest = request.binding.digest if request.binding is not None else None
            if decision.digest != digest:
                return "what was shown is not what would be approved; look again"
            if decision.shown_ms < ARMED_AFTER_MS:
                return f"it had been shown for less than {ARMED_AFTER_MS / 1000:g} s; nothing was approved"
        return request

    def _retake(self, decision: Decide) -> str | None:
        turn = self._last_turn()
        if turn is None:
            return "nothing was said yet"
        if turn.retaken:
            return "the last utterance is to be said again already"
        now = self._wiring.media_ms()
        fact = PersonDecided(what="retake", turn=turn.number, words_ms=turn.onset_ms, key_ms=now)
        self._wiring.emit(fact, (turn.seq,))
        return None

    def _class(self, decision: Decide) -> str | None:
        fact = self._pending.by_key("backchannel" if decision.what == "listening" else "turn")
        if fact is None:
            return "no words of yours are undecided"
        now = self._wiring.media_ms()
        onset = next((t.onset_ms for t in self._flags.state.turns if t.number == fact.turn), None)
        self._decided(
            fact, self._wiring.emit(PersonDecided(what=decision.what, turn=fact.turn, words_ms=onset, key_ms=now))
        )
        return None

    def _revoke(self, decision: Decide) -> str | None:
        actions = {*self._workflow.autonomy.approval_required_for, *(r.action for r in self._workbench.open_requests)}
        if decision.action not in actions:
            return f"there is no action {decision.action!r} to take back"
        at, turn, seq = self._note(decision, 0.0, action=decision.action)
        self._wiring.emit_all(self._workbench.revoke(at, decision.action, None, turn), (seq,))
        return None

    def _correct(self, decision: Decide) -> str | None:
        artifact, _, name = (decision.field or "").partition(".")
        known = _fields(self._workflow)
        if decision.field not in known:
            return f"there is no field {decision.field!r}"
        at, _, seq = self._note(decision, 0.0, field=decision.field, value=decision.value)
        number = 1 + sum(1 for _, _, fired in self._flags.state.fired if fired.event.startswith(BY_KEY))
        event = ScriptedEvent(id=f"{BY_KEY}{number}", type="correction", expected_repairs=(f"{artifact}.{name}",))
        last = self._last_turn()
        interrupted = last is not None and last.floor == "BARGE_IN"
        fired = EventFired(
            event=event.id,
            kind=event.type,
            repairs=event.expected_repairs,
            delivered="barge_in" if interrupted else "in_turn",
            note="said by key",
        )
        self._wiring.emit_all([fired, *self._workbench.fire(at, event)], (seq,))
        return None


def _fields(workflow: Workflow) -> set[str]:
    """Every ``artifact.field`` that a workflow knows: declared, or there from the start."""
    return {
        f"{name}.{key}"
        for name, spec in workflow.artifacts.items()
        for key in (*spec.fields, *(f.name for f in (spec.shape.fields if spec.shape is not None else ())))
    }
