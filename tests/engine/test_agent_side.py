"""Interruption, truncation, late audio and late words: what the engine makes of an agent's messages, whatever their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_side_kit import Side, sound, words

from apex_tui.agents.seam import (
    AgentAudio,
    AgentText,
    Capabilities,
    LateAudio,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    ToolCancelled,
    ToolRequest,
)
from apex_tui.cli.plain import line_for
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.agent_facts import ReplyStatus
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.timeline.view import SessionView
from apex_tui.workflow.library import find_workflow

VAD = SpeechStarted("server_vad")


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return Side(tmp_path)


def speaking(side: Side, ms: float = 4000, until: float = 1000) -> None:
    side.take(ReplyBegun("r1"), words("One two three four five six seven eight."), AgentAudio("r1", "ir1", sound(ms)))
    side.run_to(until)


@pytest.mark.parametrize("complete", [False, True])
def test_truncation_is_sent_at_the_played_position_also_when_the_reply_is_complete(side: Side, complete: bool) -> None:
    speaking(side)
    if complete:
        side.take(ReplyEnded("r1", "completed"))
    side.take(VAD)
    assert side.fake.truncated == [("ir1", 1005)]  # a second, and the fade of 5 ms
    assert [t.audio_end_ms for t in side.facts(a.AgentTruncated)] == [1005]
    side.run_to(1400)
    (closed,) = side.facts(a.ReplyClosed)
    assert (closed.how, closed.played_ms) == ("flushed", 1005.0)
    assert closed.generated_ms == 4000
    assert closed.heard == "One two"
    (ended,) = side.facts(a.AgentSpeechEnded)
    assert ended.offset_ms == pytest.approx(1005, abs=6)


def test_nothing_is_truncated_at_zero(side: Side) -> None:
    side.take(ReplyBegun("r1"), AgentAudio("r1", "ir1", sound(2000)), AgentAudio("r1", "ir1b", sound(2000)))
    side.run_to(1000)
    side.take(VAD)
    assert [item for item, _ in side.fake.truncated] == ["ir1"]


def test_late_audio_of_a_cut_off_reply_is_dropped_and_counted(side: Side) -> None:
    speaking(side)
    side.take(VAD, AgentAudio("r1", "ir1", sound(300)), ReplyEnded("r1", "cancelled"))
    side.take(AgentAudio("r1", "ir1", sound(100)), LateAudio("r1", 50.0))
    side.run_to(4000)
    assert [f.dropped_ms for f in side.facts(a.LateDropped)] == [450.0]
    assert len(side.facts(a.AgentSpeechStarted)) == 1
    assert SessionView.fold(side.events).state.replies["r1"].late_dropped_ms == 450.0


def test_a_reply_cancelled_without_any_signal_of_the_caller_takes_no_more_audio(side: Side) -> None:
    side.take(ReplyBegun("r1"), ReplyEnded("r1", "cancelled"), AgentAudio("r1", "ir1", sound(300)))
    side.run_to(1000)
    assert side.facts(a.AgentSpeechStarted) == []
    assert [f.dropped_ms for f in side.facts(a.LateDropped)] == [300.0]


READ_BACK = "From the fourteenth to the eighteenth of December, five working days, and Dana stands in for you. Shall I submit it?"


@pytest.mark.parametrize("status", ["cancelled", "failed", "incomplete"])
def test_words_without_sound_were_not_heard_however_a_reply_that_ran_dry_ends(side: Side, status: ReplyStatus) -> None:
    side.take(ReplyBegun("r1"), words(READ_BACK, final=True), AgentAudio("r1", "ir1", sound(1500)))
    side.run_to(2000)
    side.take(ReplyEnded("r1", status))
    side.run_to(2100)
    (closed,) = side.facts(a.ReplyClosed)
    assert closed.played_ms == 1500
    assert closed.how == ("flushed" if status == "cancelled" else "played")
    assert (
        closed.heard == "From the fourteenth to the eighteenth of"
    )  # 1.5 s at the pace of the fastest speaker, at most
    assert [act.key for act in side.facts(a.AgentActed) if act.key.startswith("REQUEST")] == []


@pytest.mark.parametrize("cut_at", [None, 7000])
def test_silence_after_the_last_word_takes_no_words_away(side: Side, cut_at: int | None) -> None:
    silence = bytes(len(sound(4000)))
    side.take(ReplyBegun("r1"), words(READ_BACK, final=True), AgentAudio("r1", "ir1", sound(6000) + silence))
    side.take(ReplyEnded("r1", "completed"))
    if cut_at:
        side.run_to(cut_at)
        side.take(VAD)
    side.run_to(11_000)
    (closed,) = side.facts(a.ReplyClosed)
    assert (closed.how, closed.heard) == ("flushed" if cut_at else "played", READ_BACK)


def test_an_item_id_that_two_replies_use_is_counted_apart_and_told_once(side: Side) -> None:
    for reply, ms in (("r1", 1000), ("r2", 2000)):
        side.take(
            ReplyBegun(reply), AgentAudio(reply, "same", sound(500)), AgentText(reply, "same", f"Of {reply}.", True)
        )
        side.take(AgentAudio(reply, "same", sound(ms - 500)))
        if reply == "r1":
            side.take(ReplyEnded("r1", "completed"))
            side.run_to(1500)
    side.run_to(2300)
    side.take(VAD)
    side.run_to(2500)
    assert [f.reply for f in side.facts(a.AudioArrived)] == ["r1", "r2"]
    first, second = side.facts(a.ReplyClosed)
    assert (first.played_ms, first.heard) == (1000, "Of r1.")
    assert (second.played_ms, second.generated_ms) == (805, 2000)
    assert side.fake.truncated == [("same", 805)]
    (error,) = side.facts(a.AgentError)
    assert error.message == "the item same of r1 is used again by r2; they are counted apart"


def call(reply: str | None = "r1") -> ToolRequest:
    return ToolRequest("c1", "nothing_of_the_kind", {}, reply)


def marked(side: Side) -> bool:
    return side.facts(w.ToolCalled)[0].after_interruption


async def test_a_call_of_a_cut_off_reply_is_marked(side: Side) -> None:
    speaking(side)
    side.take(VAD, call())
    assert marked(side)


async def test_a_call_that_arrives_while_the_caller_interrupts_is_marked_before_the_agent_noticed(side: Side) -> None:
    speaking(side)
    side.caller(1)
    side.run_to(1060)
    side.take(call())
    assert marked(side)


@pytest.mark.parametrize(("floor", "over"), [("BACKCHANNEL", False), ("BARGE_IN", True)])
async def test_a_call_after_a_backchannel_or_after_the_turn_is_not(side: Side, floor: str, over: bool) -> None:
    speaking(side)
    side.caller(1, 100, floor)
    if over:
        side.run_to(1200)
        side.caller_ends(1)
    side.take(call())
    assert not marked(side)


async def test_a_call_of_a_reply_that_ran_dry_when_it_was_cut_is_marked(side: Side) -> None:
    speaking(side, ms=400)
    side.take(VAD, call())
    assert marked(side)
    assert side.facts(a.ReplyFlushed) == []  # nothing was lost


async def test_a_call_that_is_taken_back_has_no_effect_and_stays_cancelled(side: Side) -> None:
    tool = next(t for t in find_workflow("leave-request").tools if t.handler == "kb_search")
    side.take(ReplyBegun("r1"), ToolRequest("c1", tool.name, {"query": "holidays"}, "r1"))
    side.take(ToolCancelled("c1"), ToolCancelled("c1"))
    assert [f.call for f in side.facts(w.ToolCancelled)] == ["c1"]
    assert side.bench.complete(5000, "c1").facts == ()
    late = w.ToolFinished(call="c1", name=tool.name, ok=True, latency_ms=1)
    side.wiring.emit(late)
    assert SessionView.fold(side.events).state.calls["c1"].state == "cancelled"


def test_words_restated_or_late_change_nothing(side: Side) -> None:
    side.take(
        ReplyBegun("r1"), words("One"), words("One two.", final=True), words(" two."), words("One two.", final=True)
    )
    side.take(words("One three.", final=True))
    said = side.facts(a.AgentSaid)
    assert [(s.text, s.final) for s in said] == [("One", False), ("One two.", True), ("One three.", True)]
    assert SessionView.fold(side.events).state.replies["r1"].text == "One three."


def test_words_are_placed_by_the_audio_before_them(side: Side) -> None:
    side.take(ReplyBegun("r1"), AgentAudio("r1", "ir1", sound(700)), words("Hello"))
    assert [s.audio_ms for s in side.facts(a.AgentSaid)] == [700.0]


def test_a_pause_in_the_audio_is_told_from_its_end(side: Side) -> None:
    gap = bytes(2 * 24 * 400)
    side.take(ReplyBegun("r1"), AgentAudio("r1", "ir1", sound(500) + gap + sound(500)))
    side.run_to(2000)
    assert [e.in_pause for e in side.facts(a.AgentSpeechEnded)] == [True, False]


def test_a_pause_of_a_fifth_of_a_second_is_noted_inside_the_stretch(side: Side) -> None:
    side.take(ReplyBegun("r1"), AgentAudio("r1", "ir1", sound(500) + bytes(2 * 24 * 225) + sound(500)))
    side.run_to(2000)
    (pause,) = side.facts(a.AgentPaused)
    assert pause.reply == "r1"
    assert pause.from_ms == pytest.approx(500, abs=8)
    assert pause.to_ms == pytest.approx(725, abs=8)
    assert len(side.facts(a.AgentSpeechEnded)) == 1


def test_a_reply_that_follows_without_a_gap_has_an_onset_of_its_own(side: Side) -> None:
    side.take(ReplyBegun("r1"), AgentAudio("r1", "ir1", sound(500)), ReplyEnded("r1", "completed"))
    side.take(ReplyBegun("r2"), AgentAudio("r2", "ir2", sound(705)), ReplyEnded("r2", "completed"))
    side.run_to(2000)
    heard, ended = side.facts(a.AgentSpeechStarted), side.facts(a.AgentSpeechEnded)
    assert [e.reply for e in heard] == [e.reply for e in ended] == ["r1", "r2"]
    assert [e.onset_ms for e in heard] == pytest.approx([0, 500], abs=6)
    assert [e.offset_ms for e in ended] == pytest.approx([500, 1205], abs=10)


def test_what_an_agent_without_a_voice_wrote_is_read_at_its_end_and_narrated(tmp_path: Path) -> None:
    """The caller's pause and patience count from there, not from the caller's own last sound."""
    side = Side(tmp_path, voice=False)
    side.take(ReplyBegun("r1"), words("Which dates "))
    side.run_to(9000)
    assert side.side.quiet_since_ms == 0
    side.take(words("Which dates would you like off? ", final=True), ReplyEnded("r1", "completed"))
    side.run_to(9020)
    assert side.side.quiet_since_ms == pytest.approx(9000, abs=20)
    (closed,) = side.facts(a.ReplyClosed)
    assert closed.how == "silent"
    assert line_for(Event(1, 9000.0, 0, closed, "agent")) == "00:09.000  agent    Which dates would you like off?"
    unspoken = a.ReplyClosed(reply="r2", how="silent", played_ms=0, generated_ms=0, text="", heard="")
    assert line_for(Event(2, 9000.0, 0, unspoken, "agent")) is None


def test_sound_that_is_beyond_what_can_wait_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apex_tui.audio.playout.MAX_WAITING_SAMPLES", 24_000)
    side = Side(tmp_path)
    side.take(*(AgentAudio("r1", "i1", sound(400)) for _ in range(5)))
    (told,) = side.facts(a.AgentError)
    assert (told.kind, told.message[:20]) == ("backpressure", "more than 10 minutes")
    assert side.playout.overflow == 24_000


def test_a_reply_follows_a_tool_unless_the_caller_spoke_since_its_result(side: Side) -> None:
    """Not every agent knows which it answers; a back-channel of the caller asks for nothing."""
    after = []
    for number, turn in enumerate((None, "AFTER_FLOOR_RELEASE", "BACKCHANNEL")):
        at = 1000 * number
        side.run_to(at + 100)
        side.take(ToolRequest(f"c{number}", "get_employee", None, None, "unreadable"))  # answered at once
        side.run_to(at + 200)
        if turn is not None:
            side.caller(number, 200, floor=turn)
            side.run_to(at + 400)
            side.caller_ends(number)
        side.run_to(at + 600)
        side.take(ReplyBegun(f"r{number}", after_tool=True), ReplyEnded(f"r{number}", "completed"))
        after.append(side.facts(a.ReplyStarted)[-1].after_tool)
    assert after == [True, False, True]


async def test_a_call_that_was_stopped_and_is_taken_back_again_did_nothing(side: Side) -> None:
    side.take(ToolRequest("c1", "get_employee", {"entity_id": "A1234"}, None))
    side.take(ToolCancelled("c1", "the connection was renewed"), ToolCancelled("c1"))
    assert [f.call for f in side.facts(w.ToolCancelled)] == ["c1"]
    assert side.facts(SessionWarning) == []


@pytest.mark.parametrize("owes", [True, False])
def test_an_agent_that_may_leave_a_result_unspoken_is_not_awaited_for_ever(side: Side, owes: bool) -> None:
    side.fake.capabilities = Capabilities(answers_results=owes)
    side.run_to(1000)
    side.take(ToolRequest("c1", "get_employee", None, None, "unreadable"))  # answered at once
    assert side.tools.awaits_answer(5900, 0.0)
    assert side.tools.awaits_answer(6100, 0.0) is owes
    assert side.tools.awaits_answer(6100, 2000.0), "it spoke until 2 s"
    side.take(ReplyBegun("r1"))
    assert not side.tools.awaits_answer(1100, 0.0)
