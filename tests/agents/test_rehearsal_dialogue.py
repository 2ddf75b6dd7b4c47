from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from agent_kit import LINES, SECONDS, SETUP, Caller, workflow

from apex_tui.agents.rehearsal.agent import RehearsalAgent
from apex_tui.agents.rehearsal.manner import Manner
from apex_tui.agents.seam import (
    AgentAudio,
    AgentText,
    Closed,
    ProviderError,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    SpeechStopped,
    Stamped,
    ToolRequest,
    UserTranscript,
)
from apex_tui.timeline.virtual import run_virtual

Script = Callable[[Caller], Coroutine[Any, Any, None]]


def play(script: Script, manner: Manner | None = None) -> Caller:
    async def main() -> Caller:
        agent = RehearsalAgent.in_memory(workflow(), LINES, manner)
        ready = await agent.open(SETUP)
        assert ready.accepted["tools"] == ["update_form", "submit"]
        caller = Caller(agent)
        await script(caller)
        await caller.end()
        return caller

    return run_virtual(main())


def whole_text(caller: Caller) -> list[str]:
    return [event.text for event in caller.of(AgentText) if event.final]


async def opening(caller: Caller) -> None:
    caller.speak(500, 1.0, "opening", "OPENING_REQUEST")
    await caller.until(5000)


def test_an_answer_comes_when_the_manner_says() -> None:
    caller = play(opening)
    assert caller.times(SpeechStarted) == [590.0]
    assert caller.times(SpeechStopped) == [1800.0]
    assert caller.times(AgentAudio)[0] == 2050.0
    assert [event.text for event in caller.of(UserTranscript)] == ["words of opening"]
    assert whole_text(caller) == ["Hello, which date do you want?"]
    assert sum(len(event.pcm) for event in caller.of(AgentAudio)) == 2 * len(LINES["agent.hello"])
    assert b"".join(event.pcm for event in caller.of(AgentAudio)) == LINES["agent.hello"].tobytes()
    assert caller.of(ReplyEnded) == [ReplyEnded("resp_1", "completed", "")]
    assert caller.of(Closed) == [Closed(1000, "", True)]


def test_audio_is_sent_in_bursts() -> None:
    caller = play(opening)
    times = caller.times(AgentAudio)
    assert len(times) == 20
    assert {round(after - before, 3) for before, after in pairwise(times)} == {25.0}


def test_words_come_with_their_sound() -> None:
    caller = play(opening)
    words = [event.text for event in caller.of(AgentText) if not event.final]
    assert "".join(words) == "Hello, which date do you want?"
    assert len(words) == 6
    order = [type(stamped.event) for stamped in caller.seen if isinstance(stamped.event, AgentText | AgentAudio)]
    assert order.index(AgentAudio) == 1


@pytest.mark.parametrize("detect", [60.0, 90.0, 250.0, 600.0])
def test_a_barge_in_is_noticed_after_exactly_the_stated_time(detect: float) -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)
        caller.speak(6403, 1.5, "correction", "CORRECT")
        await caller.until(8000)

    caller = play(script, Manner(detect_ms=detect, burst=1.0))
    assert caller.times(SpeechStarted)[-1] == pytest.approx(6403 + detect, abs=0.01)
    ended = [stamped for stamped in caller.seen if isinstance(stamped.event, ReplyEnded)]
    cut, reply = next(
        (s, s.event.reply) for s in ended if isinstance(s.event, ReplyEnded) and s.event.status == "cancelled"
    )
    assert caller.ms(cut.at) == pytest.approx(6403 + detect, abs=0.01)
    assert cut.event == ReplyEnded(reply, "cancelled", "turn_detected")
    assert not [s for s in caller.seen if isinstance(s.event, AgentAudio) and s.event.reply == reply and s.at > cut.at]


async def opening_and_read_back(caller: Caller) -> None:
    """Until the read-back runs."""
    caller.speak(500, 0.5, "opening", "OPENING_REQUEST")
    await caller.until(3600)
    caller.speak(3700, 0.6, "date")
    await answer_calls(caller, 6000)


async def answer_calls(caller: Caller, until_ms: float, output: str = '{"ok":true}') -> None:
    done = {id(event) for event in getattr(caller, "_answered", [])}
    while caller.frames * 20 < until_ms:
        await caller.until(caller.frames * 20 + 20)
        for event in caller.of(ToolRequest):
            if id(event) not in done:
                done.add(id(event))
                caller.agent.send_tool_result(event.call_id, output)
    caller.__dict__["_answered"] = caller.of(ToolRequest)


def test_one_response_holds_words_and_a_call_and_the_result_moves_it_on() -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)
        await answer_calls(caller, 14_000)

    caller = play(script)
    calls = caller.of(ToolRequest)
    assert [(call.name, call.arguments) for call in calls] == [("update_form", {"date": "2026-12-14"}), ("submit", {})]
    assert whole_text(caller)[1:] == [
        "One moment.",
        "So that is the fourteenth of December for your leave, all day, is it?",
        "Done.",
    ]
    begun = caller.of(ReplyBegun)
    assert [event.after_tool for event in begun] == [False, False, True, True]
    moment = next(event for event in caller.of(AgentText) if event.text == "One moment." and event.final)
    assert moment.reply == calls[0].reply
    assert all(event.status == "completed" for event in caller.of(ReplyEnded))
    assert caller.of(ProviderError) == []


def test_thinking_after_a_result_takes_the_stated_time() -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)

    caller = play(script, Manner(think_ms=345))
    call = next(s.at for s in caller.seen if isinstance(s.event, ToolRequest))
    begun = next(s for s in caller.seen if isinstance(s.event, ReplyBegun) and s.event.after_tool)
    first = next(
        s.at for s in caller.seen if isinstance(s.event, AgentAudio) and s.event.reply == caller.of(ReplyBegun)[2].reply
    )
    assert begun.at >= call
    assert (first - begun.at) * 1000 == pytest.approx(345, abs=1e-6)


def test_an_interruption_drops_the_rest_and_the_correction_is_done() -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)
        caller.speak(6100, 1.0, "correction", "CORRECT")
        await answer_calls(caller, 14_000)

    caller = play(script, Manner(burst=1.0))
    assert [call.arguments for call in caller.of(ToolRequest)] == [{"date": "2026-12-14"}, {"date": "2026-12-15"}]
    assert whole_text(caller)[-1] == "The fifteenth then."
    assert "Done." not in whole_text(caller)
    cut = whole_text(caller)[-2]
    assert "So that is the fourteenth of December for your leave, all day, is it?".startswith(cut)
    assert 0 < len(cut) < 60


def test_a_back_channel_changes_nothing() -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)
        caller.speak(6100, 0.3, "mm-hm", "BACKCHANNEL")
        await answer_calls(caller, 14_000)

    caller = play(script, Manner(burst=1.0))
    assert len(caller.of(SpeechStarted)) == 2
    assert all(event.status == "completed" for event in caller.of(ReplyEnded))
    assert whole_text(caller)[-1] == "Done."


def test_an_authored_pause_does_not_end_the_turn() -> None:
    async def script(caller: Caller) -> None:
        first = caller.speak(500, 0.5, "opening", hinted=False)
        second = caller.speak(3000, 0.5, "opening", hinted=False)
        caller.agent.send_hint(
            type(first)(1, "opening", "OPENING_REQUEST", "a b", first.onset, second.end, ((first.end, second.onset),))
        )
        await caller.until(6000)

    caller = play(script)
    assert caller.times(SpeechStarted) == [590.0]
    assert caller.times(SpeechStopped) == [3800.0]
    assert caller.times(AgentAudio)[0] == 4050.0


def test_without_hints_the_ears_alone_find_the_turn() -> None:
    async def script(caller: Caller) -> None:
        caller.speak(500, 1.0, "opening", hinted=False)
        await caller.until(6000)

    caller = play(script)
    assert caller.times(SpeechStarted)[0] == pytest.approx(590, abs=10)
    assert caller.times(SpeechStopped)[0] == pytest.approx(2200, abs=10)
    assert whole_text(caller) == ["Hello, which date do you want?"]
    assert caller.of(UserTranscript) == []


@pytest.mark.parametrize("detect", [0.0, 20.0])
def test_a_foreknown_onset_allows_delays_below_the_ears(detect: float) -> None:
    caller = play(opening, Manner(detect_ms=detect, foreknown=True))
    assert caller.times(SpeechStarted) == [pytest.approx(500 + detect, abs=0.01)]


def test_one_that_never_yields_speaks_on_and_answers_later() -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)
        caller.speak(6100, 1.0, "correction", "CORRECT")
        await answer_calls(caller, 18_000)

    caller = play(script, Manner(yields=False))
    assert len(caller.of(SpeechStarted)) == 2
    assert all(event.status == "completed" for event in caller.of(ReplyEnded))
    texts = whole_text(caller)
    assert texts.index("Done.") < texts.index("The fifteenth then.")


def test_a_nudge_has_the_last_line_repeated() -> None:
    async def script(caller: Caller) -> None:
        await opening(caller)
        caller.speak(9000, 0.6, "nudge", "ASK")
        await caller.until(14_000)

    assert whole_text(play(script)) == ["Hello, which date do you want?"] * 2


def test_an_unknown_plan_is_waited_out() -> None:
    async def script(caller: Caller) -> None:
        caller.speak(500, 0.6, "something else")
        await caller.until(5000)

    caller = play(script)
    assert len(caller.of(SpeechStopped)) == 1
    assert caller.of(ReplyBegun) == []


def test_two_utterances_in_a_row_are_both_answered() -> None:
    async def script(caller: Caller) -> None:
        caller.speak(500, 0.6, "opening")
        caller.speak(1500, 0.6, "correction")
        await answer_calls(caller, 10_000)

    caller = play(script)
    assert whole_text(caller) == ["Hello, which date do you want?", "The fifteenth then."]
    assert len(caller.of(ToolRequest)) == 1


def test_truncation_is_clamped_and_acknowledged() -> None:
    wire: list[tuple[str, str]] = []

    async def main() -> None:
        def tap(at: float, direction: str, message: str) -> None:
            wire.append((direction, message))

        agent = RehearsalAgent.in_memory(workflow(), LINES, wire=tap)
        await agent.open(SETUP)
        caller = Caller(agent)
        await opening(caller)
        item = caller.of(AgentAudio)[0].item
        agent.truncate(item, 999_999)
        agent.truncate(item, 0)
        agent.truncate("nothing", 500)
        await caller.until(5100)
        await caller.end()
        assert caller.of(ProviderError) == []

    run_virtual(main())
    acks = [json.loads(m) for d, m in wire if d == "in" and '"conversation.item.truncated"' in m]
    assert [ack["audio_end_ms"] for ack in acks] == [round(SECONDS["agent.hello"] * 1000)]
    sent = [m for d, m in wire if d == "out" and '"conversation.item.truncate"' in m]
    assert len(sent) == 1


def test_two_runs_are_equal_to_the_byte() -> None:
    def once() -> list[tuple[float, str]]:
        wire: list[tuple[float, str]] = []

        async def main() -> None:
            agent = RehearsalAgent.in_memory(workflow(), LINES, wire=lambda at, _, message: wire.append((at, message)))
            await agent.open(SETUP)
            caller = Caller(agent)
            await opening_and_read_back(caller)
            await caller.end()

        run_virtual(main())
        return wire

    assert once() == once()


def test_stamps_are_loop_time() -> None:
    caller = play(opening)
    assert all(isinstance(stamped, Stamped) and stamped.at >= 0.5 for stamped in caller.seen)
