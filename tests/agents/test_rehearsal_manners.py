"""Manners at the agent's own door, with lines of plain tone."""

from __future__ import annotations

import numpy as np
import pytest
from agent_kit import LINES, SETUP, Caller, tone, workflow
from test_rehearsal_dialogue import Script, answer_calls, opening_and_read_back, whole_text

from apex_tui.agents.rehearsal.agent import RehearsalAgent
from apex_tui.agents.rehearsal.manner import FADE_MS, Manner
from apex_tui.agents.rehearsal.sounds import Line, opened, prepared, rest_of, stale, typing
from apex_tui.agents.seam import AgentAudio, Hint, ReplyBegun, SpeechStarted, ToolRequest
from apex_tui.audio.edges import segments
from apex_tui.audio.frames import RATE, silence, to_ms, to_samples
from apex_tui.timeline.virtual import run_virtual
from apex_tui.workflow.outcome_model import Step

FILLER = Step(say="One moment, please. I'm on it.", clip="agent.filler")


def play(script: Script, manner: Manner) -> Caller:
    plain = workflow()
    flow = plain.model_copy(update={"reference": plain.reference.model_copy(update={"spare": (FILLER,)})})

    async def main() -> Caller:
        agent = RehearsalAgent.in_memory(flow, {**LINES, "agent.filler": tone(1.0)}, manner)
        await agent.open(SETUP)
        caller = Caller(agent)
        await script(caller)
        await caller.end()
        return caller

    return run_virtual(main())


@pytest.mark.parametrize("answer", [0.0, 300.0, 700.0, 3000.0])
def test_words_come_at_the_stated_time_after_the_caller(answer: float) -> None:
    async def script(caller: Caller) -> None:
        caller.speak(500, 1.0, "opening")
        await caller.until(6000)

    caller = play(script, Manner(answer_ms=answer, foreknown=True))
    assert caller.times(AgentAudio)[0] == pytest.approx(1500 + answer, abs=0.01)


def test_an_early_start_comes_before_the_caller_is_done() -> None:
    async def script(caller: Caller) -> None:
        caller.speak(500, 1.0, "opening")
        await caller.until(6000)

    caller = play(script, Manner(answer_ms=-250, foreknown=True))
    assert caller.times(AgentAudio)[0] == pytest.approx(1250, abs=0.01)
    assert len(caller.times(SpeechStarted)) == 1
    assert whole_text(caller) == ["Hello, which date do you want?"]


@pytest.mark.parametrize("stop", [0.0, 60.0, 600.0])
def test_the_floor_is_let_go_a_fade_before_the_stated_stop(stop: float) -> None:
    async def script(caller: Caller) -> None:
        await opening_and_read_back(caller)
        caller.speak(6403, 1.5, "correction", "CORRECT")
        await caller.until(8000)

    caller = play(script, Manner(stop_ms=stop, foreknown=True))
    assert caller.times(SpeechStarted)[-1] == pytest.approx(6403 + stop - FADE_MS, abs=0.05)


def test_a_filler_is_said_while_a_call_runs_and_only_then() -> None:
    async def script(caller: Caller) -> None:
        caller.speak(500, 0.5, "opening", "OPENING_REQUEST")
        await caller.until(3600)
        caller.speak(3700, 0.6, "date")
        await caller.until(9000)
        await answer_calls(caller, 12_000)

    caller = play(script, Manner(filler_ms=400))
    called = next(s.at for s in caller.seen if isinstance(s.event, ToolRequest))
    filled = next(s.at for s in caller.seen if isinstance(s.event, ReplyBegun) and s.at > called)
    assert filled - called == pytest.approx(0.4, abs=0.01)
    assert whole_text(caller).count(FILLER.say or "") == 1, "the second call is answered before its wait is filled"
    silent = play(script, Manner())
    assert FILLER.say not in whole_text(silent)


def test_a_pause_is_taken_for_the_end_and_broken_off_when_the_caller_goes_on() -> None:
    async def script(caller: Caller) -> None:
        first = caller.speak(500, 0.5, "opening", hinted=False)
        second = caller.speak(1800, 0.5, "opening", hinted=False)
        caller.agent.send_hint(
            Hint(1, "opening", "OPENING_REQUEST", "a b", first.onset, second.end, ((first.end, second.onset),))
        )
        await caller.until(5000)

    caller = play(script, Manner(cut_in_ms=300))
    assert caller.times(AgentAudio)[0] == pytest.approx(1300, abs=0.01)
    assert caller.times(SpeechStarted) == [590.0, 1890.0]
    assert whole_text(caller)[-1] == "Hello, which date do you want?"
    assert len(caller.of(ReplyBegun)) == 2


def test_a_reply_opens_with_silence_and_typing_before_its_words() -> None:
    line = opened(Line("Hello there", tone(1.0)), Manner(leading_ms=400, noise_ms=900))
    assert to_ms(line.lead) == 1300
    (typed, spoken) = segments(line.pcm)
    assert to_ms(typed[0]) == pytest.approx(400, abs=10)
    assert to_ms(typed[1]) < 1010
    assert to_ms(spoken[0]) == pytest.approx(1300, abs=10)
    assert len(typing(900)) == to_samples(900)


def test_a_steady_line_has_no_gap_and_begins_at_its_first_sample() -> None:
    line = np.concatenate([silence(900), tone(0.4), silence(to_samples(500)), tone(0.4), silence(900)])
    assert len(segments(line)) == 2
    ((begin, end),) = segments(np.concatenate([silence(RATE), prepared(line, Manner(steady=True)), silence(RATE)]))
    assert to_ms(begin) == pytest.approx(1000, abs=6)
    assert to_ms(end - begin) == pytest.approx(1300, abs=15)
    assert prepared(line, Manner()) is line


def test_what_is_left_of_a_line() -> None:
    rest = rest_of(Line("one two three four", tone(4.0)), 2.0)
    assert rest is not None
    assert (rest.text, to_ms(len(rest.pcm))) == ("three", 1200.0)
    assert rest_of(Line("one two", tone(1.0)), 0.9) is None
    bursts = segments(np.concatenate([silence(RATE), stale(tone(2.0), 3), silence(RATE)]))
    assert len(bursts) == 3
    assert all(to_ms(off - on) < 300 for on, off in bursts)
