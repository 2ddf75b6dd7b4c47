"""A person's sound inside the agent's reply: undecided until its length, its words or a key tell; and one that is only the loudspeaker's echo."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from person_kit import ScriptedMicrophone, Watcher

from apex_tui.audio.echo import Headphones
from apex_tui.audio.frames import FRAME_SAMPLES, Pcm, to_samples
from apex_tui.audio.likeness import EchoEar
from apex_tui.caller.backchannels import only_listening
from apex_tui.engine.caller_side import Clip
from apex_tui.engine.control import Control
from apex_tui.engine.pending import PendingTurns
from apex_tui.engine.person import Person
from apex_tui.engine.session import Result, run_session
from apex_tui.engine.speech import Speech, load_speech
from apex_tui.score.judge import score_folder
from apex_tui.timeline.agent_facts import BargeInOpened, FalseYield
from apex_tui.timeline.caller_facts import CallerTurnDecided, CallerTurnEnded, CallerTurnStarted, PersonDecided
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import Decide, Run
from apex_tui.timeline.state import State, Turn
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.virtual import run_virtual
from apex_tui.workflow.library import find_workflow


@cache
def speech() -> Speech:
    return load_speech(find_workflow("leave-request"), 1)


@cache
def clips() -> dict[str, Clip]:
    return {name.partition("#")[0]: clip for name, clip in speech().caller.items()}


def heard(number: int, words: str | None) -> State:
    turn = Turn(
        number=number, seq=5, plan="person", act="SPEECH", text="", facts=(), values={}, floor="BARGE_IN", onset_ms=0, ends_ms=0, value_end_ms=0,
        heard_by_agent=words, heard_seq=None if words is None else 9,
    )  # fmt: skip
    return State(turns=[turn])


def test_long_sound_is_a_turn_as_soon_as_it_is_long() -> None:
    turns = PendingTurns()
    turns.began(1, 2000.0)
    assert turns.look(3000.0, heard(1, None)) == []
    assert turns.look(3001.0, heard(1, None)) == [CallerTurnDecided(turn=1, kind="turn", by="length")]
    assert turns.look(9000.0, heard(1, "mm-hm")) == []
    assert turns.by_key("turn") is None


@pytest.mark.parametrize(("words", "kind"), [("Mm-hm.", "backchannel"), ("Stop!", "turn"), ("", "turn")])
def test_short_sound_waits_for_its_words(words: str, kind: str) -> None:
    turns = PendingTurns()
    turns.began(1, 2000.0)
    assert turns.look(2400.0, heard(1, words)) == []  # it goes on: more words may come
    turns.ended(1, 2500.0)
    assert turns.look(4000.0, heard(1, None)) == []
    assert [f.kind for f in turns.look(4000.0, heard(1, words))] == [kind]


def test_a_key_decides_the_newest_and_the_first_decision_counts() -> None:
    turns = PendingTurns()
    turns.began(1, 0.0)
    turns.ended(1, 400.0)
    turns.began(2, 3000.0)
    assert turns.by_key("backchannel") == CallerTurnDecided(turn=2, kind="backchannel", by="key")
    turns.ended(2, 3300.0)
    assert turns.look(3300.0, heard(2, "stop")) == []


def test_only_what_is_said_while_listening_claims_no_floor() -> None:
    assert all(only_listening(words) for words in ("Mm-hm.", "Uh-huh", "okay", "Oh, right.", "I see", "Mhm mhm"))
    assert not any(
        only_listening(words)
        for words in ("yes", "No.", "stop", "wait wait", "okay stop", "right right right", "", "...")
    )


def call(out: Path, press: str | None) -> tuple[list[Event], Result]:
    """The person opens the call, says mm-hm into the answer, and presses a key (or none) a little later."""
    control = Control()

    def key(event: Event) -> None:
        if press is not None and isinstance(event.fact, CallerTurnEnded) and event.fact.turn == 2:
            control.decide(Decide.model_validate({"what": press}))

    watcher = Watcher(key)
    microphone = ScriptedMicrophone((1000.0, clips()["open"].pcm), (5900.0, clips()["listening"].pcm))
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(out), max_s=9)
    result = run_virtual(run_session(command, watcher, control, person=Person(microphone)))
    assert score_folder(result.folder) == result.score
    return watcher.events, result


def facts(events: list[Event], kind: type) -> list[object]:
    return [event.fact for event in events if isinstance(event.fact, kind)]


def test_an_undecided_sound_is_in_no_number(tmp_path: Path) -> None:
    events, result = call(tmp_path, None)
    turn = SessionView.fold(events).state.turns[1]
    assert (turn.pending, turn.floor) == (True, "BARGE_IN")
    assert facts(events, CallerTurnDecided) == []
    floor = result.score.floor
    assert (floor.undecided, floor.backchannels, floor.false_yields, floor.barge_ins) == (1, 0, 0, ())


def test_a_key_makes_it_a_back_channel_or_an_interruption(tmp_path: Path) -> None:
    events, result = call(tmp_path, "listening")
    assert facts(events, CallerTurnDecided) == [CallerTurnDecided(turn=2, kind="backchannel", by="key")]
    floor = result.score.floor
    assert (floor.undecided, floor.backchannels, floor.barge_ins) == (0, 1, ())
    assert (
        floor.false_yields == len(facts(events, FalseYield)) == 1
    )  # the rehearsal agent stops for any sound of a person
    decided = facts(events, PersonDecided)[0]
    assert isinstance(decided, PersonDecided)
    assert (decided.what, decided.turn) == ("listening", 2)
    events, result = call(tmp_path, "interruption")
    [stop] = result.score.floor.barge_ins
    onset = facts(events, CallerTurnStarted)[1]
    assert isinstance(onset, CallerTurnStarted)
    assert (stop.onset_ms, stop.stop_kind) == (onset.onset_ms, "yielded")
    assert stop.stop_delay_ms == pytest.approx(110, abs=40)
    assert len(facts(events, BargeInOpened)) == 1


class Room(Headphones):
    """No remedy against echo, in a room that carries the loudspeaker to the microphone 60 ms late, 20 dB down."""

    def __init__(self, microphone: ScriptedMicrophone) -> None:
        self._microphone, self._frames = microphone, 0

    def played(self, pcm: Pcm) -> None:
        lane, at = self._microphone._lane, (self._frames + 3) * FRAME_SAMPLES
        end = min(len(lane), at + len(pcm))
        lane[at:end] += (pcm[: max(0, end - at)] * 0.1).astype(np.int16)
        self._frames += 1


def test_the_loudspeakers_own_echo_is_shown_and_counts_for_nothing(tmp_path: Path) -> None:
    microphone = ScriptedMicrophone((1000.0, clips()["open"].pcm), (9000.0, np.zeros(1, np.int16)), noise=1)
    control = Control()

    def press(event: Event) -> None:
        if isinstance(event.fact, CallerTurnStarted) and event.fact.echo_suspect:
            control.decide(Decide(what="corrected", field="leave_form.start_date"))
            control.decide(Decide(what="retake"))

    watcher = Watcher(press)
    command = Run(workflow="leave-request", caller="microphone", virtual=True, out=str(tmp_path), max_s=8)
    result = run_virtual(run_session(command, watcher, control, person=Person(microphone, Room(microphone))))
    keys = facts(watcher.events, PersonDecided)
    assert {fact.turn for fact in keys if isinstance(fact, PersonDecided)} == {1}  # nobody said the echo
    turns = [fact for fact in facts(watcher.events, CallerTurnStarted) if isinstance(fact, CallerTurnStarted)]
    assert [turn.echo_suspect for turn in turns[:2]] == [False, True]
    floor = result.score.floor
    assert floor.echo_suspects == sum(turn.echo_suspect for turn in turns)
    assert floor.barge_ins
    assert all(stop.echo_suspect for stop in floor.barge_ins)
    assert (floor.observed_n, floor.undecided, floor.stop_delay_ms.n) == (0, 0, 0)
    assert score_folder(result.folder) == result.score


def test_a_person_over_an_echo_is_no_echo() -> None:
    agent = max(speech().agent.values(), key=len)
    noise = np.random.default_rng(3).normal(0, 8, len(agent))
    for level, over in ((0.1, None), (0.5, None), (0.1, "ans_dates"), (0.5, "change_dates")):
        room = np.zeros(len(agent))
        room[to_samples(60) :] = agent[: -to_samples(60)] * level
        onset = to_samples(1500)
        if over is not None:
            clip = clips()[over]
            said = clip.pcm[clip.onset :][: len(agent) - onset]
            room[onset : onset + len(said)] += said
        lane = np.clip(room + noise, -32_768, 32_767).astype(np.int16)
        ear = EchoEar()
        for at in range(0, onset + to_samples(200), FRAME_SAMPLES):
            ear.heard(lane[at : at + FRAME_SAMPLES])
            ear.played(agent[at : at + FRAME_SAMPLES])
        assert ear.suspects(onset) is (over is None), (level, over)
