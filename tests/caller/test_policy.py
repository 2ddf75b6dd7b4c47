"""The strict caller's turn-taking, as tables of what the agent does and what the caller says: opening, answers, back-channels, and what is
checked and costs.
"""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from stage import Stage, answer, booking, corrected, gap, on, stage, wording

from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import Say, Scene, Wait
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import (
    CallerFact,
    Flow,
    Reveal,
    ScriptedEvent,
    State,
    Trigger,
)
from apex_tui.workflow.lines import choose_variant

# --- opening and answers ---------------------------------------------------------------------------------------------------------------


def test_opening_is_at_500_ms_with_the_seeds_wording() -> None:
    s = stage(seed=3)
    assert s.plans() == ["open"]
    assert s.said[0].onset_ms == 500.0
    assert s.said[0].text == choose_variant(booking(), 3, "open").text
    assert (s.said[0].turn, s.said[0].because, s.said[0].recovered) == (1, "opening", False)


def test_opening_waits_for_an_agent_that_greets_first() -> None:
    s = Stage(CallerPolicy(booking(), 1))
    s.speak("r0", 1200)
    s.run(2500)
    assert s.said[0].onset_ms == 1200 + gap(1)


@pytest.mark.parametrize(
    ("acts", "plans"),
    [
        (("ASK:amount",), ["ans_amount"]),
        (("ASK:start",), ["ans_dates"]),
        (("ASK:start", "ASK:end"), ["ans_dates"]),
        (("ASK:start", "ASK:amount"), ["ans_amount", "ans_dates"]),
        (("CONFIRM:start",), ["right"]),
        (("CONFIRM:start", "ASK:amount"), ["ans_amount"]),
        (("CONFIRM:start", "CONFIRM:end"), ["right"]),
        (("ASK:unknown",), []),
        ((), []),
    ],
)
def test_what_a_reply_asks_is_answered_when_it_has_ended(acts: tuple[str, ...], plans: list[str]) -> None:
    s = stage()
    s.speak("r1", 2000, *((900.0 + n, key) for n, key in enumerate(acts)))
    s.run(1980)
    assert s.plans() == ["open"]
    s.run(4000)
    assert s.plans() == ["open", *plans]


def test_answer_comes_a_seeded_gap_after_the_last_audible_sample() -> None:
    s = stage(seed=5)
    s.speak("r1", 1507, (1000, "ASK:amount"))
    start = s.now
    say = s.until_said("ans_amount")
    assert say.onset_ms == start + 1507 + gap(2, seed=5)
    assert say.values == {"form.amount": 500.0}
    assert say.facts == ("amount",)
    assert say.because == "ASK:amount was heard"


def test_second_answer_waits_while_the_agent_speaks_again() -> None:
    s = stage()
    s.speak("r1", 1000, (900, "ASK:amount"), (950, "ASK:start"))
    first = s.until_said("ans_amount")
    s.run(first.onset_ms + 1000 - s.now + 40)
    s.speak("r2", 2000)
    s.run(1960)
    assert s.plans()[-1] == "ans_amount"
    assert s.until_said("ans_dates", 2000).onset_ms == s.scene.agent_quiet_since_ms + gap(3)


def test_act_understood_after_the_reply_ended_is_answered() -> None:
    s = stage()
    s.hear("r1", 1000)
    s.policy.note_act(s.now, "ASK:amount", "r1")
    assert s.until_said("ans_amount", 100).onset_ms <= s.now + 20


def test_reply_without_sound_is_no_reason_to_answer() -> None:
    s = stage()
    s.policy.note_act(s.now, "ASK:amount", "silent")
    s.policy.note_reply_closed(s.now, "silent", False, False)
    s.run(2000)
    assert s.plans() == ["open"]
    s.policy.note_act(s.now, "ASK:start", "silent")
    s.run(6000)
    assert s.plans() == ["open", "ans_amount", "ans_dates"]


def test_same_plan_at_most_four_times() -> None:
    s = stage()
    for n in range(6):
        s.hear(f"r{n}", 500, (400, "ASK:amount"))
    assert s.plans().count("ans_amount") == 4
    assert any("4 times" in refusal.because for refusal in s.policy.refusals)


def test_acknowledgement_is_dropped_when_the_agent_goes_on() -> None:
    s = stage()
    s.speak("r1", 800, (500, "CONFIRM:start"))
    s.run(820)
    s.scene = replace(s.scene, agent_expected=True)
    s.run(1500)
    assert s.plans() == ["open"]
    s.hear("r2", 800, (700, "ASK:amount"))
    assert s.plans() == ["open", "ans_amount"]


# --- back-channels ---------------------------------------------------------------------------------------------------------------------


def test_back_channel_claims_no_floor_and_awaits_nothing() -> None:
    s = stage()
    s.length_ms = 300
    s.speak("r1", 3000, (0, "EXPLAIN"), (2900, "ASK:amount"))
    start = s.now
    say = s.until_said("mhm")
    assert 400 <= say.onset_ms - start <= 600
    assert (say.floor, say.delivered) == ("BACKCHANNEL", None)
    assert s.until_said("ans_amount").onset_ms == start + 3000 + gap(3)


def test_back_channel_waits_for_sound_and_never_falls_into_silence() -> None:
    s = stage()
    s.length_ms = 300
    s.speak("r1", 3000, (0, "EXPLAIN"), pauses=((300, 900),))
    start = s.now
    assert s.until_said("mhm").onset_ms - start == pytest.approx(900, abs=20)
    t = stage()
    t.hear("r1", 300, (100, "EXPLAIN"))
    assert t.plans() == ["open"]
    t.speak("r2", 2000)
    start = t.now
    assert 400 <= t.until_said("mhm").onset_ms - start <= 600


# --- silent events, load-time checks, cost ---------------------------------------------------------------------------------------------


def test_event_without_words_takes_effect_and_moves_the_flow() -> None:
    states = {
        "A": State(transitions=(on(None, "B", external_event="news"),)),
        "B": State(transitions=(on(answer("ans", "x"), "B", agent_act="ASK:x"),)),
    }
    wf = booking(
        flow=Flow(start="A", states=states),
        events=(ScriptedEvent(id="news", type="WORLD", trigger=Trigger(media_time_ms_gte=2000)),),
        facts=(CallerFact(id="x", value=1, reveal=Reveal(on_state=("B",))),),
        wordings=(wording("ans", "One."),),
    )
    s = stage(wf).run(1000)
    assert [(fire.event_id, fire.delivered) for fire in s.fires()] == [("news", "silent")]
    assert next(t for t, i in s.intents if i in s.fires()) == 2000
    s.hear("r1", 500, (400, "ASK:x"))
    assert s.plans() == ["ans"]


def test_event_by_length_of_speech() -> None:
    wf = booking(
        events=(
            ScriptedEvent(
                id="evt", type="X", start_window_ms=(10, 10), trigger=Trigger(agent_speech_continuous_ms_gte=1500)
            ),
        )
    )
    s = stage(wf)
    s.hear("r1", 1400)
    assert s.plans() == ["open"]
    s.speak("r2", 5000)
    start = s.now
    assert s.until_said("fix").onset_ms - start == pytest.approx(1650, abs=20)


def test_plan_without_words_is_an_error_at_load() -> None:
    with pytest.raises(WorkflowError, match=r"plan bye of state CALL has no wording"):
        CallerPolicy(booking(wordings=tuple(w for w in booking().wordings if w.user_plan_id != "bye")), 1)


def test_same_inputs_same_session() -> None:
    assert corrected(7).intents == corrected(7).intents
    assert corrected(7).said[1].onset_ms != corrected(8).said[1].onset_ms


def test_a_look_without_change_is_cheap() -> None:
    s = stage()
    s.speak("r1", 60_000, (0, "CONFIRM:start"))
    s.run(2000)
    scenes = [replace(s.scene, now_ms=s.now + n, reply_played_ms=s.scene.reply_played_ms + n) for n in range(2000)]
    best = 1.0
    for _ in range(3):
        started = time.process_time()
        for scene in scenes:
            s.policy.look(scene)
        best = min(best, (time.process_time() - started) / len(scenes))
    assert best < 50e-6  # about 3 us on a quiet core; without its memory a look costs hundreds


def test_says_nothing_in_a_flow_that_waits_forever() -> None:
    quiet = booking(
        flow=Flow(
            start="CALL", states={"CALL": State(transitions=(on(answer("again", "amount2"), agent_act="ASK:amount"),))}
        )
    )
    s = stage(quiet)
    s.hear("r1", 500, (400, "ASK:amount"))
    assert s.plans() == []
    assert "may not be revealed" in s.policy.refusals[0].because


def test_look_before_anything_says_why_it_is_silent() -> None:
    policy = CallerPolicy(booking(), 1)
    intents = policy.look(Scene(0.0))
    assert not any(isinstance(intent, Say) for intent in intents)
    assert [i.fact.why for i in intents if isinstance(i, Wait)] == ["gap"]
