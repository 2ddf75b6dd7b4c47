"""A director steers the recorded caller, in simulated time: what takes effect, when, and that such a session stands alone."""

from __future__ import annotations

import hashlib
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from person_kit import ScriptedMicrophone, Watcher
from shared_sessions import Session, run_session_in, shared_session

from apex_tui.audio.recording import read_lanes
from apex_tui.cli.scoring import print_score
from apex_tui.engine.caller_side import Clip
from apex_tui.engine.control import Control
from apex_tui.engine.person import Person
from apex_tui.engine.session import run_session
from apex_tui.engine.speech import load_speech
from apex_tui.score.judge import score_folder
from apex_tui.store.recording import open_recording
from apex_tui.timeline.agent_facts import BargeInClosed
from apex_tui.timeline.caller_facts import (
    CallerPlanned,
    CallerTurnEnded,
    CallerTurnStarted,
    CallerWaits,
    DirectorActed,
    EventFired,
)
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Decide, Direct, Run
from apex_tui.timeline.session_facts import SessionEnded, SessionWarning
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.virtual import run_virtual
from apex_tui.trials.regress import scenario_of
from apex_tui.trials.results_read import read_results
from apex_tui.workflow.library import find_workflow


@cache
def spoken() -> dict[str, Clip]:
    return load_speech(find_workflow("leave-request"), 1).caller


STEERED: tuple[dict[str, Any], ...] = (
    {"what": "barge_in", "at_ms": 5_000},
    {"what": "barge_in", "at_ms": 5_020, "by": "a program"},  # the last interruption is being spoken
    {"what": "hold", "at_ms": 14_000},
    {"what": "hold", "at_ms": 15_000},
    {"what": "say", "plan": "ans_contact_during_leave", "at_ms": 18_000},
    {"what": "say", "plan": "listening", "at_ms": 18_000},
    {"what": "microphone", "at_ms": 19_000},
    {"what": "release", "at_ms": 24_000},
    {"what": "finish", "at_ms": 28_000},
)


def steered() -> Session:
    return shared_session("leave-request", directions=STEERED)


def acted(session: Session) -> list[tuple[str, str | None, float]]:
    return [
        (event.fact.what, event.fact.plan, event.media_ms)
        for event in session.events
        if isinstance(event.fact, DirectorActed)
    ]


def onset_of(plan: str) -> float:
    clip = next(clip for name, clip in spoken().items() if name.startswith(plan))
    return clip.onset / 24


def test_each_direction_takes_effect_at_its_frame_or_as_soon_as_the_caller_is_silent() -> None:
    session = steered()
    offset = {fact.turn: fact.offset_ms for fact in session.facts(CallerTurnEnded)}
    contact = next(f for f in session.facts(CallerTurnStarted) if f.plan == "ans_contact_during_leave")
    clip = spoken()[next(name for name in spoken() if name.startswith("ans_contact_during_leave"))]
    over = contact.onset_ms + (len(clip.pcm) - clip.onset) / 24  # its silent end is part of it
    assert over > offset[contact.turn]
    assert acted(session) == [
        ("barge_in", "change_dates", 5_000),
        ("hold", None, 14_000),
        ("say", "ans_contact_during_leave", 18_000),
        ("say", "listening", 20 * math.ceil(over / 20)),
        ("release", None, 24_000),
        ("finish", None, 28_000),
    ]
    for fact in session.facts(DirectorActed):
        if fact.turn is not None:
            started = next(t for t in session.facts(CallerTurnStarted) if t.turn == fact.turn)
            assert started.plan == fact.plan
    waited = next(f for f in session.facts(DirectorActed) if f.plan == "listening")
    assert waited.asked_ms == 18_000


def test_what_cannot_be_done_is_said_and_changes_nothing() -> None:
    told = [f.message for f in steered().facts(SessionWarning) if f.code == "direction-ignored"]
    assert told == [
        "barge-in: the workflow has no interruption left; name the utterance",
        "hold: the caller is held back already",
        "microphone: a person cannot speak in simulated time",
    ]


def test_an_interruption_by_hand_is_the_scripts_own_change_of_mind() -> None:
    session = steered()
    began = next(f for f in session.facts(CallerTurnStarted) if f.plan == "change_dates")
    fired = [f for f in session.facts(EventFired) if f.event == "change_dates"]
    assert [(f.delivered, f.kind) for f in fired] == [("barge_in", "MID_SPEECH_CORRECTION")]
    assert began.floor == "BARGE_IN"
    assert began.onset_ms == pytest.approx(5_000 + onset_of("change_dates"), abs=0.1)
    stop = next(f for f in session.facts(BargeInClosed) if f.turn == began.turn)
    assert stop.stop_kind == "yielded"


def test_a_caller_held_back_says_nothing_of_their_own() -> None:
    session = steered()
    held = [f.why for e in session.events if isinstance(f := e.fact, CallerWaits) and 14_000 <= e.media_ms < 24_000]
    assert set(held) == {"held"}
    said = [f.plan for e in session.events if isinstance(f := e.fact, CallerPlanned) and 14_000 <= e.media_ms < 24_000]
    assert said == ["ans_contact_during_leave", "listening"]


def test_the_way_out_is_a_goodbye_and_an_orderly_end() -> None:
    session = steered()
    ended = session.facts(SessionEnded)[0]
    assert (ended.outcome, ended.reason) == ("completed", "the director ended the call")
    assert session.facts(CallerTurnStarted)[-1].plan == "close"


def test_the_lane_holds_exactly_the_clips_that_the_log_names() -> None:
    session = steered()
    caller, _ = read_lanes(session.result.folder / "audio.wav")
    assert hashlib.sha256(caller.tobytes()).hexdigest() == session.facts(SessionEnded)[0].caller_sha256
    clips = {clip.id: clip for clip in spoken().values()}
    planned = {fact.turn: fact for fact in session.facts(CallerPlanned)}
    rest = caller.copy()
    for turn in session.facts(CallerTurnStarted):
        clip = clips[planned[turn.turn].clip]
        start = round(turn.onset_ms * 24) - clip.onset
        assert (caller[start : start + len(clip.pcm)] == clip.pcm).all()
        rest[start : start + len(clip.pcm)] = 0
    assert not rest.any()


def test_a_directed_session_is_labelled_and_counts_with_no_others() -> None:
    folder = steered().result.folder
    recording = open_recording(folder)
    assert "directed" in recording.meta.labels
    assert recording.meta.parameters["directions"][0]["what"] == "barge_in"
    found = read_results([folder])
    assert (found.rows, found.directed) == ([], 1)
    with pytest.raises(UserError, match="was directed"):
        scenario_of(recording)
    state = SessionView.fold(recording.events).state
    assert state.directed is not None
    assert (state.directed.acts, state.directed.held, state.directed.finishing) == (6, False, True)


def test_it_can_be_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = steered().result
    print_score(result.score, result.folder)
    print_score(result.score, tmp_path)
    written, by_hand = [line.strip() for line in capsys.readouterr().out.splitlines() if "directed:" in line]
    assert written.startswith("directed: directions steered the caller")
    assert by_hand.startswith("directed: a person steered the caller")
    again = score_folder(result.folder)
    assert again == result.score
    assert again.directed
    assert json.loads((result.folder / "score.json").read_text())["directed"]


def test_the_same_directions_give_the_same_caller(tmp_path: Path) -> None:
    again = run_session_in(tmp_path, "leave-request", directions=STEERED[:1], max_s=6)
    first, _ = read_lanes(steered().result.folder / "audio.wav")
    caller, _ = read_lanes(again.result.folder / "audio.wav")
    assert (caller == first[: len(caller)]).all()


def test_directions_that_do_nothing_leave_an_ordinary_session(tmp_path: Path) -> None:
    session = run_session_in(tmp_path, "leave-request", directions=[{"what": "release"}], max_s=1)
    assert session.result.score.directed is False
    assert "directed" not in open_recording(session.result.folder).meta.labels


LATE_MS = 30.0


def clip_of(plan: str) -> Any:
    return next(clip for name, clip in spoken().items() if name.startswith(plan))


@pytest.fixture(scope="module")
def relieved(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], ScriptedMicrophone, Path]:
    """A person takes the call at 5 s, answers the first question into the greeting, corrects a field by key, and gives the call back at 14 s."""
    microphone = ScriptedMicrophone((1000.0, clip_of("ans_employee_id").pcm), late_ms=LATE_MS)
    control = Control()

    def press(event: Event) -> None:
        if isinstance(event.fact, CallerTurnEnded) and event.fact.turn == 2:
            control.decide(Decide(what="corrected", field="leave_form.handover_to", value="Kim"))
            control.direct(Direct(what="say", plan="close"))

    watcher = Watcher(press)
    directions = (Direct(what="microphone", at_ms=5000), Direct(what="bank", at_ms=14_000))
    out = str(tmp_path_factory.mktemp("s"))
    command = Run(workflow="leave-request", virtual=True, out=out, directions=directions, max_s=33)
    result = run_virtual(run_session(command, watcher, control, person=Person(microphone)))
    return watcher.events, microphone, result.folder


Relieved = tuple[list[Event], ScriptedMicrophone, Path]


def test_a_person_takes_the_call_and_gives_it_back(relieved: Relieved) -> None:
    events, microphone, folder = relieved
    swaps = [(e.fact.what, e.media_ms) for e in events if isinstance(e.fact, DirectorActed)]
    assert swaps == [("microphone", 5020), ("bank", 14_000)]
    turns = [e.fact for e in events if isinstance(e.fact, CallerTurnStarted)]
    assert [t.turn for t in turns] == list(range(1, len(turns) + 1))
    assert [t.turn for t in turns if t.detected] == [2]
    # The microphone's own first sample is the first of the frame after the one in which it took effect.
    true = 5020 + 1000 + clip_of("ans_employee_id").onset / 24 - LATE_MS
    assert turns[1].onset_ms == pytest.approx(true, abs=10)
    assert microphone.closed
    assert {"directed", "a person at the microphone"} <= set(open_recording(folder).meta.labels)


def test_while_a_person_has_the_call_the_bank_says_nothing_and_their_keys_decide(relieved: Relieved) -> None:
    events, _, _ = relieved
    said = [e.media_ms for e in events if isinstance(e.fact, CallerPlanned)]
    assert not [at for at in said if 5020 <= at < 14_000]
    told = [e.fact.message for e in events if isinstance(e.fact, SessionWarning)]
    assert "say: a person has the call; give it back to the bank first" in told
    fired = [e.fact for e in events if isinstance(e.fact, EventFired) and e.fact.event == "person-1"]
    assert [f.repairs for f in fired] == [("leave_form.handover_to",)]


def test_afterwards_the_bank_answers_what_is_asked_and_nothing_that_the_person_changed(relieved: Relieved) -> None:
    events, _, _ = relieved
    plans = [e.fact.plan for e in events if isinstance(e.fact, CallerPlanned) and e.media_ms >= 14_000]
    assert plans[:2] == ["listening", "ans_dates"]  # not the employee number, which the person told
    assert "ans_handover_to" not in plans  # the agent asks for it, and the old name no longer holds


def test_a_microphone_that_cannot_be_opened_leaves_the_call_to_the_bank(tmp_path: Path) -> None:
    watcher = Watcher()
    command = Run(
        workflow="leave-request", virtual=True, out=str(tmp_path), directions=(Direct(what="microphone"),), max_s=1
    )
    run_virtual(run_session(command, watcher, door=NoDoor()))
    told = [e.fact.message for e in watcher.events if isinstance(e.fact, SessionWarning)]
    assert told == ["microphone: no microphone: PortAudio is not installed; the bank keeps the call"]
    assert not [e for e in watcher.events if isinstance(e.fact, DirectorActed)]
    assert [e.fact.plan for e in watcher.events if isinstance(e.fact, CallerPlanned)] == ["open"]


class NoDoor:
    barred: str | None = None

    async def open(self) -> Person:
        raise UserError("no microphone: PortAudio is not installed")

    async def close(self, person: Person) -> None:
        raise AssertionError("nothing was open")


def test_when_the_screen_is_gone_the_microphone_closes_and_the_caller_goes_on(tmp_path: Path) -> None:
    control = Control()
    microphone = ScriptedMicrophone()

    def die(event: Event) -> None:
        if event.media_ms > 2000 and not gone:
            gone.append(True)
            control.screen_gone()

    gone: list[bool] = []
    watcher = Watcher(die)
    directions = (Direct(what="hold"), Direct(what="microphone", at_ms=20))
    command = Run(workflow="leave-request", virtual=True, out=str(tmp_path), directions=directions, max_s=4)
    run_virtual(run_session(command, watcher, control, person=Person(microphone)))
    did = [(e.fact.what, e.fact.by) for e in watcher.events if isinstance(e.fact, DirectorActed)]
    gone_by = "the screen is gone"
    assert did == [("hold", "control"), ("microphone", "control"), ("bank", gone_by), ("release", gone_by)]
    assert microphone.closed
    assert [e.fact.plan for e in watcher.events if isinstance(e.fact, CallerPlanned)] == ["open"]


def test_what_is_directed_before_the_call_stands_takes_effect_when_it_does(tmp_path: Path) -> None:
    control = Control()
    control.direct(Direct(what="hold"))
    control.direct(Direct(what="say", plan="ans_contact_during_leaf"))
    events: list[Event] = []
    run = Run(workflow="leave-request", virtual=True, out=str(tmp_path), max_s=3)
    run_virtual(run_session(run, lambda item: events.append(item) if isinstance(item, Event) else None, control))
    (held,) = [event for event in events if isinstance(event.fact, DirectorActed)]
    assert held.media_ms < 100
    assert not [event for event in events if isinstance(event.fact, CallerTurnStarted)]
    told = [event.fact.message for event in events if isinstance(event.fact, SessionWarning)]
    assert told == ["say: there is no utterance 'ans_contact_during_leaf'; did you mean ans_contact_during_leave?"]


def test_an_utterance_that_does_not_exist_is_said_before_anything_runs(tmp_path: Path) -> None:
    directions = (Direct(what="say", plan="ans_contact_during_leaf", at_ms=9e6),)
    command = Run(workflow="leave-request", virtual=True, out=str(tmp_path), directions=directions)
    with pytest.raises(
        UserError, match="no utterance 'ans_contact_during_leaf'; did you mean ans_contact_during_leave"
    ):
        run_virtual(run_session(command, Watcher()))
    assert list(tmp_path.iterdir()) == []
