"""When the strict caller corrects itself, and what it says and awaits after that."""

from __future__ import annotations

import pytest
from stage import booking, corrected, gap, on, stage, wording

from apex_tui.workflow.caller_model import (
    Action,
    Flow,
    ScriptedEvent,
    State,
    Trigger,
    Variant,
    Wording,
)
from apex_tui.workflow.determinism import stable_int
from apex_tui.workflow.model import Workflow


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
