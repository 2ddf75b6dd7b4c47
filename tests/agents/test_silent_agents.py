"""What the timeline makes of an agent without a voice, and of the stages that an agent reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shared_sessions import shared_session

from apex_tui.audio.playout import PlayOut
from apex_tui.cli.scoring import print_score
from apex_tui.engine.replies import Replies
from apex_tui.score.floor import measure
from apex_tui.score.limits import limits_of
from apex_tui.timeline.agent_facts import AgentConnected, AgentStage, SilenceMeasured
from apex_tui.timeline.base import Fact
from apex_tui.timeline.caller_facts import CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import Event, from_record, to_line
from apex_tui.timeline.state import Call, State
from apex_tui.timeline.view import SessionView
from apex_tui.tui.render_score import score_lines


def event(seq: int, at: float, fact: Any) -> Event:
    return Event(seq, at, 0, fact, fact.actor)


def connected(**capabilities: bool) -> AgentConnected:
    return AgentConnected(
        family="x", url="u", capabilities=dict(capabilities), instructions_sha256="0" * 64, tools_sha256="0" * 64
    )


def turn(number: int, onset: float, end: float) -> tuple[Fact, Fact]:
    started = CallerTurnStarted(
        turn=number,
        plan="p",
        act="ANSWER",
        text="words",
        floor="AFTER_FLOOR_RELEASE",
        onset_ms=onset,
        ends_ms=end,
        value_end_ms=end,
    )
    return started, CallerTurnEnded(turn=number, offset_ms=end)


def test_the_words_of_a_silent_reply_are_heard_when_it_is_over() -> None:
    replies = Replies(PlayOut(), audible=False)
    book = replies.begin("r", 1, after_tool=False)
    replies.words("r", "r", "So that is", final=False)
    assert replies.heard(book) == ""
    book.status = "cancelled"
    assert replies.heard(book) == "So that is"
    spoken = Replies(PlayOut())
    other = spoken.begin("r", 1, after_tool=False)
    spoken.words("r", "r", "So that is", final=False)
    other.status = "completed"
    assert spoken.heard(other) == "", "an agent with a voice is heard only as far as it was played"


def test_measures_of_sound_do_not_apply_without_a_voice() -> None:
    def measured(fact: AgentConnected) -> list[type[Fact]]:
        facts = [fact, *turn(1, 100.0, 1000.0), *turn(2, 9000.0, 9500.0)]
        times = (0.0, 100.0, 1000.0, 9000.0, 9500.0)
        events = [event(seq, at, each) for seq, (at, each) in enumerate(zip(times, facts, strict=True))]
        return [type(found.fact) for found in measure(events)]

    assert SilenceMeasured in measured(connected(audio_out=True))
    assert measured(connected(audio_out=False)) == []


def test_reported_stages_are_kept_in_the_log_and_in_the_fold() -> None:
    fact = AgentStage(stage="stt", reply="r", from_ms=100.0, to_ms=180.0)
    line = to_line(event(3, 200.0, fact))
    assert from_record(json.loads(line)).fact == fact
    view = SessionView()
    view.apply(event(0, 200.0, fact))
    assert view.state.stages == [fact]


def test_the_card_of_an_agent_without_a_voice_says_so_and_prints_no_zeros(capsys: pytest.CaptureFixture[str]) -> None:
    score = shared_session("leave-request").result.score
    assert "floor" not in score.limits
    silent = score.model_copy(update={"limits": limits_of(State(connected=connected(audio_out=False)))})
    print_score(silent, Path("here"))
    shown = capsys.readouterr().out
    assert "limits          floor, latency.first_audible_ms" in shown
    assert "not applicable: the agent has no voice" in shown
    assert not any(word in shown for word in ("stop delay", "first audible ", "cut-ins"))
    lines = "\n".join(line.plain for line in score_lines(silent, 100))
    assert "complete at" in lines
    assert not any(word in lines for word in ("cut-ins", "first audible ", "unanswered 0"))


def test_no_first_sound_after_a_tool_is_measured_of_an_agent_without_a_voice_that_mounts_the_tools() -> None:
    call = Call("c", 1, 5, "look_up", {}, 100.0, None, False, "done", source="mcp")
    limits = limits_of(State(connected=connected(audio_out=False), calls={"c": call}))
    assert limits["latency.first_audible_after_tool_ms"] == "not applicable: the agent has no voice"
