"""The strict caller's turn-taking, as tables of what the agent does and what the caller says."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from stage import Stage, answer, booking, on, stage, wording

from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import HangUp, Say, Scene, Wait
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import (
    Action,
    CallerFact,
    Flow,
    Reveal,
    ScriptedEvent,
    State,
    Trigger,
    Variant,
    Wording,
)
from apex_tui.workflow.determinism import stable_int
from apex_tui.workflow.lines import choose_variant
from apex_tui.workflow.model import Workflow


def gap(turn: int, seed: int = 1) -> int:
    return 350 + stable_int(booking().scenario_id, seed, "gap", turn) % 451


def corrected(seed: int = 1) -> Stage:
    """A session in which the correction was delivered and answered."""
    s = stage(seed=seed)
    s.hear("r1", 1500, (1500, "ASK:amount"))
    s.speak("r2", 5000, (300, "CONFIRM:amount"))
    s.until_said("fix")
    s.run(1500)
    s.hear("r3", 1500)
    return s


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


# --- corrections -----------------------------------------------------------------------------------------------------------------------


def point(seed: int = 1) -> float:
    return 900.0 + stable_int(booking().scenario_id, seed, "window", "evt") % 401


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_barge_in_at_the_seeded_played_ms(seed: int) -> None:
    s = stage(seed=seed)
    s.speak("r1", 5000, (200, "CONFIRM:amount"))
    start = s.now
    say = s.until_said("fix")
    assert say.onset_ms == pytest.approx(start + point(seed))
    assert (say.floor, say.delivered, say.event_id, say.revokes, say.note) == ("BARGE_IN", "barge_in", "evt", "pay", "")
    assert say.values == {"form.amount": 555.23}
    assert s.arms()[0].fact.at_played_ms == point(seed)
    assert "barge_armed" in s.waits()


def test_barge_in_armed_late_comes_after_the_reaction_time() -> None:
    s = stage()
    s.speak("r1", 5000, (2500, "CONFIRM:amount"))
    start = s.now
    say = s.until_said("fix")
    assert 2500 + 150 - 20 <= say.onset_ms - start <= 2520 + 150


def test_barge_in_armed_before_the_reply_waits_for_its_point() -> None:
    s = stage()
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    s.run(400)
    s.speak("r1", 5000)
    start = s.now
    assert s.until_said("fix").onset_ms == pytest.approx(start + point())


def test_reply_too_short_for_the_interruption_is_corrected_in_turn_before_other_answers() -> None:
    s = stage()
    s.speak("r1", 800, (300, "CONFIRM:amount"), (700, "ASK:start"))
    say = s.until_said("fix")
    assert say.delivered == "in_turn"
    assert "before the chosen point" in say.note
    assert say.onset_ms == s.scene.agent_quiet_since_ms + gap(2)
    s.run(4000)
    assert s.plans() == ["open", "fix", "ans_dates"], "the question beside the read-back is answered in the same turn"
    assert s.said[-1].onset_ms == s.spoken[1][1] + gap(3)
    s.hear("r2", 1500, (900, "CONFIRM:amount"))
    assert s.plans() == ["open", "fix", "ans_dates", "right"], "and the agent has the floor then"


def test_question_that_the_correction_answers_is_not_answered_again() -> None:
    s = stage()
    s.speak("r1", 800, (300, "CONFIRM:amount"), (700, "ASK:amount"))
    s.until_said("fix")
    s.run(4000)
    assert s.plans() == ["open", "fix"]
    assert s.waits()[-1] == "awaits_answer"


def test_agent_that_answers_the_correction_first_gets_the_other_answer_after_that() -> None:
    s = stage()
    s.speak("r1", 800, (300, "CONFIRM:amount"), (700, "ASK:start"))
    s.until_said("fix")
    s.run(1040)
    s.hear("r2", 1500)
    assert s.plans() == ["open", "fix", "ans_dates"]
    assert s.said[-1].onset_ms == s.scene.agent_quiet_since_ms + gap(3)


def test_trigger_understood_after_the_reply_is_corrected_in_turn() -> None:
    s = stage()
    s.hear("r1", 1000)
    s.policy.note_act(s.now, "CONFIRM:amount", "r1")
    assert "only when the reply had ended" in s.until_said("fix", 200).note
    assert s.arms()[0].fact.at_played_ms is None


def test_armed_correction_is_spoken_in_turn_when_the_agent_stays_silent() -> None:
    s = stage()
    s.hear("r1", 1000)
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    noted = s.now
    say = s.until_said("fix")
    assert say.onset_ms - noted <= 2600
    assert "said nothing more" in say.note


def test_after_an_interruption_the_whole_next_reply_is_awaited_and_old_questions_are_dropped() -> None:
    s = stage()
    s.speak("r1", 5000, (200, "CONFIRM:amount"), (400, "ASK:start"))
    s.until_said("fix")
    s.run(2000)
    assert s.waits()[-1] == "awaits_answer"
    s.policy.note_act(s.now, "ASK:end", "r1")
    s.run(2000)
    s.hear("r2", 2500, (1000, "CONFIRM:start"))
    assert s.plans() == ["open", "fix", "right"]


def test_agent_that_talks_on_is_not_taken_for_an_answer() -> None:
    s = stage(yields_ms=None)
    s.speak("r1", 5000, (200, "CONFIRM:amount"), (4900, "ASK:start"))
    s.until_said("fix")
    s.run(6000)
    assert s.plans() == ["open", "fix"]
    s.hear("r2", 1000, (900, "ASK:amount"))
    assert s.plans() == ["open", "fix", "again"]


def test_awaiting_ends_with_patience() -> None:
    s = stage()
    s.speak("r1", 5000, (200, "CONFIRM:amount"))
    fixed = s.until_said("fix")
    assert s.until_said("nudge").onset_ms == pytest.approx(fixed.onset_ms + 1000 + 6000, abs=20)


@pytest.mark.parametrize("key", ["ASK:amount", "MISREAD:amount"])
def test_after_the_correction_only_the_new_value_is_said(key: str) -> None:
    s = corrected()
    s.hear("r9", 1000, (900, key))
    assert s.plans()[-1] == "again"
    assert s.said[-1].values == {"form.amount": 555.23}
    assert s.policy.wants["form.amount"] == 555.23


def test_superseded_plan_is_refused_and_the_successors_is_said() -> None:
    flow = booking().flow.states["CALL"]
    kept = tuple(t for t in flow.transitions if t.do is None or t.do.plan_id != "again")
    bare = booking(
        flow=Flow(
            start="CALL", states={"CALL": flow.model_copy(update={"transitions": kept}), "DONE": State(terminal=True)}
        )
    )
    s = stage(bare)
    s.speak("r1", 5000, (300, "CONFIRM:amount"))
    s.until_said("fix")
    s.run(1500)
    s.hear("r2", 1000)
    s.hear("r3", 1000, (900, "ASK:amount"))
    assert s.plans()[-1] == "fix"
    assert s.said[-1].recovered
    assert any(r.plan == "ans_amount" and "no longer holds" in r.because for r in s.policy.refusals)


def test_two_changes_of_mind_do_not_interrupt_the_awaited_reply() -> None:
    second = ScriptedEvent(
        id="evt2", type="MID_SPEECH_CORRECTION", delivery="BARGE_IN", trigger=Trigger(agent_act="CONFIRM:start")
    )
    base = booking()
    call = base.flow.states["CALL"]
    fix2 = Action(act="CORRECT", plan_id="fix2", floor_action="BARGE_IN", event_id="evt2")
    states = {
        "CALL": call.model_copy(update={"transitions": (on(fix2, external_event="evt2"), *call.transitions)}),
        "DONE": State(terminal=True),
    }
    s = stage(
        booking(
            flow=Flow(start="CALL", states=states),
            events=(*base.events, second),
            wordings=(*base.wordings, wording("fix2", "Also.", "And.")),
        )
    )
    s.speak("r1", 5000, (200, "CONFIRM:amount"))
    s.until_said("fix")
    s.run(1500)
    s.speak("r2", 4000, (500, "CONFIRM:start"))
    s.run(3900)
    assert s.plans()[-1] == "fix"
    assert "waiting for the answer" in s.until_said("fix2").note


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


# --- approvals and the end -------------------------------------------------------------------------------------------------------------


def test_approval_only_after_the_correction_and_after_the_read_back() -> None:
    s = corrected()
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    s.scene = replace(s.scene, agent_expected=True, approval_pending=True)
    s.run(1000)
    s.speak("r4", 3000, (2900, "REQUEST_APPROVAL:pay"))
    s.run(2980)
    assert s.plans()[-1] == "fix"
    say = s.until_said("yes")
    assert (say.act, say.approves) == ("APPROVE", "pay")
    s.run(5000)
    assert s.plans().count("yes") == 1


def test_approval_asked_for_without_words_is_given_after_quiet() -> None:
    s = corrected()
    s.run(200)
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    noted = s.now
    assert s.until_said("yes").onset_ms == pytest.approx(noted + 2500, abs=21)


def test_approval_asked_before_the_correction_is_not_given() -> None:
    s = stage()
    s.speak("r1", 5000, (200, "CONFIRM:amount"))
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    s.until_said("fix")
    s.run(1500)
    s.hear("r2", 1000)
    assert s.plans() == ["open", "fix"]


def test_yes_waits_for_a_running_request() -> None:
    s = corrected()
    s.scene = replace(s.scene, tools_running=("ask_ok",))
    s.hear("r4", 1000, (900, "REQUEST_APPROVAL:pay"))
    assert s.plans()[-1] == "fix"
    assert s.waits()[-1] == "tool_running"
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    s.scene = replace(s.scene, tools_running=())
    s.run(1500)
    assert s.plans()[-1] == "yes"


def test_farewell_after_the_commit_then_hang_up_after_quiet() -> None:
    s = corrected()
    s.policy.note_tool(s.now, "do_pay", True, ("form.status",), commit=("pay", True))
    s.hear("r4", 1000, (500, "CONFIRM:amount"))
    assert s.plans()[-1] == "bye"
    assert s.said[-1].because == "pay was committed"
    s.run(3000)
    ended = s.ended()
    assert ended is not None
    assert (ended.outcome, ended.reason) == ("completed", "the caller said goodbye")
    at = next(t for t, intent in s.intents if isinstance(intent, HangUp))
    assert at == pytest.approx(s.said[-1].onset_ms + 1000 + 1200, abs=20)
    assert s.policy.done
    assert s.policy.look(s.scene) == []


def test_refused_commit_ends_nothing() -> None:
    s = corrected()
    s.policy.note_tool(s.now, "do_pay", True, commit=("pay", False))
    s.policy.note_tool(s.now, "do_pay", False, commit=("pay", True))
    s.hear("r4", 1000)
    assert s.plans()[-1] == "fix"


def test_never_leaves_while_a_tool_runs_or_an_approval_is_open() -> None:
    s = corrected()
    s.policy.note_tool(s.now, "do_pay", True, commit=("pay", True))
    s.speak("r4", 500)
    s.until_said("bye")
    s.scene = replace(s.scene, tools_running=("slow",))
    s.run(9000)
    s.scene = replace(s.scene, tools_running=(), approval_pending=True)
    s.run(9000)
    assert s.ended() is None
    s.scene = replace(s.scene, approval_pending=False)
    s.run(40)
    assert s.ended() is not None


def test_talkative_agent_is_left_after_six_seconds() -> None:
    s = corrected()
    s.policy.note_tool(s.now, "do_pay", True, commit=("pay", True))
    s.speak("r4", 500)
    bye = s.until_said("bye")
    s.run(bye.onset_ms + 1000 - s.now + 100)
    s.speak("r5", 20_000)
    s.run(8000)
    at = next(t for t, intent in s.intents if isinstance(intent, HangUp))
    assert at == pytest.approx(bye.onset_ms + 7000, abs=20)


def test_over_time_ends_the_call_even_with_an_open_approval() -> None:
    s = stage(booking(time_budget_s=4))
    s.scene = replace(s.scene, approval_pending=True, tools_running=("slow",))
    s.run(3000)
    ended = s.ended()
    assert ended is not None
    assert ended.outcome == "over_time"


def test_closed_connection_ends_the_call() -> None:
    s = stage()
    s.policy.note_agent_closed()
    s.run(20)
    ended = s.ended()
    assert ended is not None
    assert ended.outcome == "agent_closed"


# --- patience --------------------------------------------------------------------------------------------------------------------------


def test_silent_agent_is_nudged_then_left() -> None:
    s = stage().run(40_000)
    assert s.plans() == ["open", "nudge", "nudge"]
    assert [say.onset_ms for say in s.said[1:]] == [pytest.approx(7500, abs=20), pytest.approx(14_500, abs=20)]
    assert all(say.recovered and not say.facts for say in s.said[1:])
    ended = s.ended()
    assert ended is not None
    assert ended.outcome == "agent_stalled"
    patience = [i.fact for _, i in s.intents if isinstance(i, Wait) and i.fact.why == "patience"]
    assert (patience[0].until_ms, patience[0].next_plan) == (7500.0, "nudge")
    assert patience[-1].next_plan is None


def test_patience_is_lost_by_failures_in_a_row_and_the_log_says_which_kind() -> None:
    s = stage()

    def not_understood(name: str) -> Say:
        s.run(1500).speak(name, 500)
        said = s.run(7000).said[-1]
        assert said.plan == "nudge"
        return said

    assert not_understood("r1").because == "the agent said nothing that the caller could answer, and was silent for 6 s"
    not_understood("r2")
    s.run(1500).hear("r3", 500, (100, "ASK:amount"))
    not_understood("r4")
    assert s.run(8000).said[-1].because == "the agent was silent for 6 s"
    s.speak("r5", 500)
    s.run(20_000)
    assert s.plans() == ["open", "nudge", "nudge", "ans_amount", "nudge", "nudge"]
    ended = s.ended()
    assert ended is not None
    assert (ended.outcome, ended.reason) == (
        "agent_stalled",
        "the agent said nothing that the caller could answer, and was silent for 6 s",
    )


def test_package_without_a_nudge_is_left_after_three_periods() -> None:
    base = booking()
    s = stage(booking(wordings=tuple(w for w in base.wordings if w.user_plan_id != "nudge"))).run(30_000)
    assert s.plans() == ["open"]
    at = next(t for t, intent in s.intents if isinstance(intent, HangUp))
    assert at == pytest.approx(1500 + 18_000, abs=20)


def test_patience_does_not_run_while_something_is_expected_or_running() -> None:
    s = stage()
    s.scene = replace(s.scene, tools_running=("slow",))
    s.run(10_000)
    s.scene = replace(s.scene, tools_running=(), agent_expected=True)
    s.run(10_000)
    assert s.plans() == ["open"]
    assert s.waits()[-2:] == ["tool_running", "listening"]
    s.scene = replace(s.scene, agent_expected=False)
    busy = s.now
    assert s.until_said("nudge").onset_ms == pytest.approx(busy + 6000, abs=20)


def test_open_approval_is_not_abandoned_by_impatience() -> None:
    s = stage()
    s.scene = replace(s.scene, approval_pending=True)
    s.run(60_000)
    assert s.ended() is None
    assert s.plans() == ["open", "nudge", "nudge"]


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


def two_ways() -> Workflow:
    """The booking, whose correction has a wording that speaks of the payment, and one for when nobody was about to pay."""
    fix = Wording(
        user_plan_id="fix",
        variants=(
            Variant(variant_id="fix#v1", text="Don't pay it yet, it's 555.23.", fits="late"),
            Variant(variant_id="fix#v2", text="Wait, it's 555.23.", fits="early"),
        ),
    )
    base = booking()
    return base.model_copy(update={"wordings": (fix, *(w for w in base.wordings if w.user_plan_id != "fix"))})


def test_a_correction_speaks_of_what_it_stops_only_where_that_is_in_prospect() -> None:
    early = stage(two_ways())
    early.hear("r1", 400, (100, "ASK:amount"))
    early.speak("r2", 5000, (200, "CONFIRM:amount"))
    assert early.until_said("fix").text == "Wait, it's 555.23."
    asked = stage(two_ways())
    asked.speak("r1", 5000, (200, "CONFIRM:amount"), (300, "REQUEST_APPROVAL:pay"))
    assert asked.until_said("fix").text == "Don't pay it yet, it's 555.23."
    all_told = stage(two_ways())
    all_told.hear("r1", 400, (100, "ASK:amount"))
    all_told.hear("r2", 400, (100, "ASK:start"))
    all_told.speak("r3", 5000, (200, "CONFIRM:amount"))
    assert all_told.until_said("fix").text == "Don't pay it yet, it's 555.23."
