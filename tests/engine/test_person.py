"""A person calls, in simulated time: their voice is a scripted lane, their keys are pressed when the timeline says that it is time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from person_kit import ScriptedMicrophone, Watcher

from apex_tui.audio.echo import HalfDuplexGate
from apex_tui.audio.frames import Pcm, to_samples
from apex_tui.audio.recording import read_lanes
from apex_tui.engine.caller_side import Clip
from apex_tui.engine.control import Control
from apex_tui.engine.person import Person
from apex_tui.engine.session import Result, run_session
from apex_tui.engine.speech import load_speech
from apex_tui.store.recording import open_recording
from apex_tui.timeline.agent_facts import AgentSpeechEnded
from apex_tui.timeline.base import Fact
from apex_tui.timeline.caller_facts import (
    CallerPlanned,
    CallerSoundBegan,
    CallerTurnEnded,
    CallerTurnStarted,
    EventFired,
    MicrophonePulse,
    PersonDecided,
)
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Decide, Run
from apex_tui.timeline.session_facts import SessionEnded, SessionStarted, SessionWarning
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.virtual import run_virtual
from apex_tui.timeline.work_facts import (
    ApprovalGranted,
    ApprovalRequested,
    ApprovalRevoked,
    ArtifactStale,
    CommitDecided,
)
from apex_tui.trials.regress import scenario_of
from apex_tui.trials.results_read import read_results
from apex_tui.workflow.library import find_workflow

T = TypeVar("T", bound=Fact)
LATE_MS = 30.0


@cache
def clips() -> list[Clip]:
    """What the person says: the bank's own caller."""
    return list(load_speech(find_workflow("leave-request"), 1).caller.values())


SPOKEN_MS = [1000.0 + 9000 * number for number in range(7)]


class Fingers:
    """Presses keys: a correction after the first version, approvals (two of them wrong) at the question, and "stop" after the yes."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.asked: ApprovalRequested | None = None

    def __call__(self, event: Event) -> None:
        match event.fact:
            case CallerTurnStarted(turn=2):
                self._later(
                    0.2,
                    Decide(what="corrected", field="leave_form.leave_type", value="unpaid"),
                    Decide(what="corrected", field="leave_form.nothing"),
                )
            case CallerTurnStarted(turn=3):
                self._later(0.2, Decide(what="retake"), Decide(what="retake"))
            case ApprovalRequested() as fact:
                shown = {"request": fact.request, "digest": fact.digest}
                self._later(
                    2.0,
                    Decide(what="approve", request=fact.request, digest="0" * 64, shown_ms=900),
                    Decide(what="approve", **shown, shown_ms=400),
                    Decide(what="approve", request="req-9", digest=fact.digest, shown_ms=900),
                    Decide(what="approve", **shown, shown_ms=900),
                )
            case CallerTurnStarted(turn=7):
                self._later(0.2, Decide(what="revoke", action="submit_leave_request"))
                self._later(0.3, Decide(what="revoke", action="fly"))
            case CommitDecided():
                asyncio.get_running_loop().call_later(1.0, self.control.hang_up)

    def _later(self, seconds: float, *decisions: Decide) -> None:
        for decision in decisions:
            asyncio.get_running_loop().call_later(seconds, self.control.decide, decision)


@dataclass(frozen=True)
class Called:
    result: Result
    events: list[Event]
    microphone: ScriptedMicrophone

    def facts(self, kind: type[T]) -> list[T]:
        return [event.fact for event in self.events if isinstance(event.fact, kind)]


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Called:
    said = [(ms, clip.pcm) for ms, clip in zip(SPOKEN_MS, clips(), strict=False)]
    microphone = ScriptedMicrophone(*said, late_ms=LATE_MS)
    control = Control()
    watcher = Watcher(Fingers(control))
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path_factory.mktemp("s")))
    result = run_virtual(run_session(command, watcher, control, person=Person(microphone)))
    return Called(result, watcher.events, microphone)


def test_a_persons_turns_are_dated_by_their_voice(called: Called) -> None:
    onsets = [fact.onset_ms for fact in called.facts(CallerTurnStarted)]
    true = [ms + clip.onset / 24 - LATE_MS for ms, clip in zip(SPOKEN_MS, clips(), strict=False)]
    assert onsets == pytest.approx(true, abs=10)
    ends = [fact.offset_ms for fact in called.facts(CallerTurnEnded)]
    true_ends = [ms + clip.offset / 24 - LATE_MS for ms, clip in zip(SPOKEN_MS, clips(), strict=False)]
    assert ends == pytest.approx(true_ends[: len(ends)], abs=30)
    known = [event.media_ms for event in called.events if isinstance(event.fact, CallerTurnStarted)]
    assert all(k - o <= 250 + LATE_MS for k, o in zip(known, onsets, strict=True))
    assert all(fact.detected for fact in called.facts(CallerTurnStarted))


def test_each_turn_follows_from_a_sound_that_was_told_at_its_edge(called: Called) -> None:
    sounds = {event.seq: event for event in called.events if isinstance(event.fact, CallerSoundBegan)}
    turns = [event for event in called.events if isinstance(event.fact, CallerTurnStarted)]
    causes = [sounds[next(seq for seq in event.causes if seq in sounds)] for event in turns]
    assert [c.fact.onset_ms for c in causes] == [event.fact.onset_ms for event in turns]  # type: ignore[union-attr]
    assert all(c.media_ms - c.fact.onset_ms <= 60 + LATE_MS for c in causes)  # type: ignore[union-attr]
    assert all(c.media_ms < event.media_ms for c, event in zip(causes, turns, strict=True))
    before = SessionView.fold([event for event in called.events if event.seq <= causes[0].seq])
    assert before.state.undecided_sound
    assert not SessionView.fold(called.events).state.undecided_sound


def test_the_script_steps_aside(called: Called) -> None:
    assert called.facts(CallerPlanned) == []
    assert {fact.event for fact in called.facts(EventFired)} == {"person-1"}


def test_the_persons_interruption_is_measured_like_any_other(called: Called) -> None:
    floor = called.result.score.floor
    stops = [row for row in floor.barge_ins if row.kind == "overlap"]
    assert len(stops) >= 3
    assert {row.stop_kind for row in stops} == {"yielded"}
    # From the voice (30 ms before it was sent) to the last sample in the recording that can be heard: no part of the detector is used.
    _, agent = read_lanes(called.result.folder / "audio.wav")
    voices = [ms + clip.onset / 24 - LATE_MS for ms, clip in zip(SPOKEN_MS, clips(), strict=False)]
    for row in stops:
        voice = min(voices, key=lambda ms: abs(ms - row.onset_ms))
        after = np.abs(agent[to_samples(voice) : to_samples(voice + 1000)].astype(np.int32))
        last = voice + float(np.flatnonzero(after > 100)[-1]) / 24
        assert row.stop_delay_ms == pytest.approx(last - voice, abs=15)


def test_only_the_key_that_names_what_was_shown_approves(called: Called) -> None:
    granted = called.facts(ApprovalGranted)
    asked = called.facts(ApprovalRequested)
    assert [g.digest for g in granted] == [asked[0].digest]
    ignored = [w.message for w in called.facts(SessionWarning) if w.code == "decision-ignored"]
    assert "approve: what was shown is not what would be approved; look again" in ignored
    assert "approve: it had been shown for less than 0.5 s; nothing was approved" in ignored
    assert "approve: that question is not open any more; nothing was decided" in ignored
    assert "corrected: there is no field 'leave_form.nothing'" in ignored
    assert "revoke: there is no action 'fly' to take back" in ignored
    decided = next(d for d in called.facts(PersonDecided) if d.what == "approve")
    assert (decided.words_ms, granted[0].granted_ms) == (None, decided.key_ms)  # nothing was said after the question


def test_a_key_dates_from_the_words(called: Called) -> None:
    revoked = called.facts(ApprovalRevoked)[0]
    onset = called.facts(CallerTurnStarted)[6].onset_ms
    decided = next(d for d in called.facts(PersonDecided) if d.what == "revoke")
    assert (revoked.revoked_ms, revoked.turn, decided.words_ms) == (onset, 7, onset)
    assert decided.key_ms > onset
    assert called.facts(CommitDecided)[0].decision == "POST_REVOCATION"


def test_an_utterance_can_be_said_again_once(called: Called) -> None:
    again = [d for d in called.facts(PersonDecided) if d.what == "retake"]
    onset = called.facts(CallerTurnStarted)[2].onset_ms
    assert [(d.turn, d.words_ms) for d in again] == [(3, onset)]
    ignored = [w.message for w in called.facts(SessionWarning) if w.code == "decision-ignored"]
    assert "retake: the last utterance is to be said again already" in ignored
    assert [turn.number for turn in SessionView.fold(called.events).state.turns if turn.retaken] == [3]


def test_a_corrected_field_is_stale_until_it_is_written_again(called: Called) -> None:
    stale = called.facts(ArtifactStale)[0]
    assert list(stale.fields) == ["leave_type"]
    assert stale.since_ms == called.facts(CallerTurnStarted)[1].onset_ms
    assert called.facts(EventFired)[0].delivered == "barge_in"


def test_the_room_is_told_every_second(called: Called) -> None:
    pulses = called.facts(MicrophonePulse)
    assert len(pulses) >= 50
    last = pulses[-1]
    assert (last.noise_db, last.echo, last.input_latency_ms, last.error_ms) == (-75.0, "none", LATE_MS, 10.0)
    view = SessionView.fold(called.events)
    assert view.state.microphone == last
    assert view.ignored == 0
    turn = view.state.turns[0]
    assert turn.value_end_ms == turn.ends_ms == turn.offset_ms


def test_hanging_up_ends_it_in_order_and_the_session_stays_apart(called: Called) -> None:
    ended = called.facts(SessionEnded)[0]
    assert (ended.outcome, ended.reason) == ("completed", "the person hung up")
    assert called.facts(SessionStarted)[0].caller == "microphone"
    assert called.microphone.closed
    recording = open_recording(called.result.folder)
    assert "a person at the microphone" in recording.meta.labels
    assert recording.meta.parameters["person"] == {
        "microphone": "a scripted microphone",
        "rate_hz": None,
        "echo": "none",
        "speech_confirmed_by": "energy",
    }
    found = read_results([called.result.folder])
    assert found.rows == []
    assert next(iter(found.skipped.values())).startswith("a person was the caller")
    with pytest.raises(UserError, match="had a person at the microphone"):
        scenario_of(recording)


def test_the_gate_shuts_the_microphone_while_the_agent_sounds(tmp_path: Path) -> None:
    said = [(1000.0, clips()[0].pcm), (8500.0, clips()[1].pcm)]  # the second one into the agent's answer
    watcher = Watcher()
    person = Person(ScriptedMicrophone(*said), HalfDuplexGate(), banner="the microphone is shut while the agent speaks")
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path), max_s=13)
    run_virtual(run_session(command, watcher, person=person))
    turns = [event.fact for event in watcher.events if isinstance(event.fact, CallerTurnStarted)]
    assert turns[0].onset_ms == pytest.approx(1000 + clips()[0].onset / 24, abs=10)
    # What is said while it is shut is not heard by anyone: that turn begins when it opens, 200 ms after the agent's last sound.
    silent = [event.fact.offset_ms for event in watcher.events if isinstance(event.fact, AgentSpeechEnded)]
    opened = next(at for at in silent if at > 8500) + 200
    assert turns[1].onset_ms == pytest.approx(opened, abs=30)
    warnings = [event.fact for event in watcher.events if isinstance(event.fact, SessionWarning)]
    assert warnings[0].message == "the microphone is shut while the agent speaks"
    shut = [event.fact.closed_ms for event in watcher.events if isinstance(event.fact, MicrophonePulse)]
    assert max(shut) == 1000.0
    assert shut[0] == 0.0


def test_a_microphone_that_is_unplugged_is_said_once_and_ends_nothing(tmp_path: Path) -> None:
    class Unplugged(ScriptedMicrophone):
        def frame(self) -> Pcm:
            self.problem = "the microphone is gone" if self._at > to_samples(1500) else None
            return super().frame()

    watcher = Watcher()
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path), max_s=5)
    run_virtual(run_session(command, watcher, person=Person(Unplugged(noise=0))))
    told = [
        (event.media_ms, event.fact.message)
        for event in watcher.events
        if isinstance(event.fact, SessionWarning) and event.fact.code == "microphone"
    ]
    assert told == [(2000.0, "the microphone is gone")]
    silent = [event.fact.silent for event in watcher.events if isinstance(event.fact, MicrophonePulse)]
    assert silent == [False, True, True, True, True]
    ended = watcher.events[-1].fact
    assert isinstance(ended, SessionEnded)
    assert ended.frames == 250


def test_delays_that_move_are_said_once_and_not_while_they_settle(tmp_path: Path) -> None:
    class Wandering(ScriptedMicrophone):
        def frame(self) -> Pcm:
            seconds = self._at / 24_000
            self.latency_ms = 30.0 + (40.0 if seconds < 2 or 14 < seconds < 15 or seconds > 17 else 0.0)
            return super().frame()

    watcher = Watcher()
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path), max_s=19)
    run_virtual(run_session(command, watcher, person=Person(Wandering())))
    told = [
        (event.media_ms, event.fact.message)
        for event in watcher.events
        if isinstance(event.fact, SessionWarning) and event.fact.code == "microphone-timing"
    ]
    sentence = "the delays that the devices tell moved by 40 ms within 10 s: this machine may be too busy, "
    assert told == [(15_000.0, sentence + "and times at the microphone may be wrong by as much")]


def test_nobody_speaks_in_simulated_time(tmp_path: Path) -> None:
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path))
    with pytest.raises(UserError, match="a person cannot speak in simulated time"):
        run_virtual(run_session(command, Watcher()))
    assert list(tmp_path.iterdir()) == []
