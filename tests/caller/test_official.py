"""The official caller: beats, draining, recovery, and the reference's reading of event triggers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_package import published_sample
from stage import Stage, answer, booking, on, wording

from apex_tui.caller.policy import CallerPolicy
from apex_tui.workflow.caller_model import Action, CallerFact, Flow, ScriptedEvent, State, Trigger
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package
from apex_tui.workflow.official_recovery import OUR_CLOSINGS


def official(workflow: Workflow) -> Stage:
    return Stage(CallerPolicy(workflow, 1, official=True)).run(1600)


@pytest.fixture
def toy() -> Workflow:
    return read_package(published_sample())


def test_toy_reference_dialogue(toy: Workflow) -> None:
    s = official(toy)
    for number, name in enumerate(("employee_id", "trip_purpose", "cost_center", "total_amount")):
        s.hear(f"q{number}", 900, (800, f"ASK:{name}"))
    s.speak("read", 4000, (100, "CONFIRM:total_amount"))
    start = s.now
    assert s.until_said("correct_total").onset_ms == start + 700
    s.run(1500)
    s.policy.note_tool(s.now, "request_approval", True, approval_request="submit_expense")
    s.hear("shall", 1500)
    assert s.plans() == ["open", "ans_emp", "ans_purpose", "ans_cc", "ans_total", "correct_total", "approve_submit"]
    assert not any(say.recovered for say in s.said)


def test_recovery_volunteers_and_restates_the_old_value(toy: Workflow) -> None:
    s = official(toy)
    s.hear("r1", 900)
    assert (s.plans()[-1], s.said[-1].recovered, s.said[-1].facts) == ("ans_emp", True, ("employee_id",))
    s.hear("r2", 900, (800, "ASK:total_amount"))
    s.hear("r3", 900, (800, "ASK:total_amount"))
    assert s.plans()[-2:] == ["ans_total", "ans_total"]
    s.hear("r4", 900, (800, "ASK:total_amount"))
    assert (s.plans()[-1], s.said[-1].because) == ("ans_purpose", "recovery: trip_purpose")
    s.hear("r5", 900)
    assert s.plans()[-1] == "ans_cc"
    s.hear("r6", 900)
    assert s.plans()[-1] == "recovery.closing", "every field was told"


@pytest.mark.parametrize("agent_answers", [True, False])
def test_a_closing_line_is_said_once_and_the_agent_may_answer_it(toy: Workflow, agent_answers: bool) -> None:
    s = official(toy)
    for number in range(5):
        s.hear(f"r{number}", 900)
    assert (s.plans()[-1], s.said[-1].text, s.said[-1].act) == ("recovery.closing", OUR_CLOSINGS[1], "END"), "seed 1"
    assert s.ended() is None
    if agent_answers:
        s.hear("bye", 900)
    s.run(30_000)
    ended = s.ended()
    assert ended is not None
    assert (ended.outcome, ended.reason) == ("completed", "the caller took its leave")
    assert s.plans().count("recovery.closing") == 1


@pytest.mark.parametrize("agent_answers", [True, False])
def test_three_nudges_and_the_call_is_over(agent_answers: bool) -> None:
    # The field is called otherwise than its fact, so that the reference never counts it as told.
    state = State(
        on_enter=Action(act="OPENING_REQUEST", plan_id="open"),
        transitions=(on(answer("said", "p1"), "A", agent_act="ASK:price"),),
    )
    words = (wording("open", "Hi."), wording("said", "Ten."), wording("recovery.nudge", "What now?"))
    facts = (CallerFact(id="p1", value=10),)
    s = official(booking(flow=Flow(start="A", states={"A": state}), events=(), facts=facts, wordings=words))
    for number in range(3):
        s.hear(f"r{number}", 900)
    assert s.plans() == ["open", "said", "said", "recovery.nudge"]
    for number in range(3, 6):
        if agent_answers:
            s.hear(f"r{number}", 900)
        else:
            s.run(19_000)
    s.run(1000)
    ended = s.ended()
    assert ended is not None
    assert ended.outcome == ("completed" if agent_answers else "agent_stalled")
    assert s.plans() == ["open", "said", "said", *["recovery.nudge"] * 3]


def test_the_call_is_not_over_while_a_tool_runs(toy: Workflow) -> None:
    s = official(toy)
    for number in range(5):
        s.hear(f"r{number}", 900)
    s.scene = replace(s.scene, tools_running=("update_expense",))
    s.hear("bye", 900)
    s.run(5000)
    assert s.ended() is None
    s.scene = replace(s.scene, tools_running=())
    s.run(3000)
    assert s.ended() is not None


def test_self_loop_drains_to_the_cap_and_facts_are_trimmed_not_refused() -> None:
    states = {"A": State(transitions=(on(answer("loop", "shut"), "A", agent_act="X"),))}
    wf = booking(
        flow=Flow(start="A", states=states),
        facts=(CallerFact(id="shut", value=1),),
        events=(),
        wordings=(wording("loop", "Hm."),),
    )
    s = official(wf)
    s.speak("r1", 500, (100, "X"))
    s.run(60_000)
    assert s.plans() == ["loop"] * 24
    assert s.said[0].facts == ()
    assert s.policy.refusals == ()


def test_beat_ends_when_the_state_changes_and_moves_without_words_are_no_plan() -> None:
    states = {
        "A": State(transitions=(on(None, "B", agent_act="GO"),)),
        "B": State(transitions=(on(answer("b"), "C", agent_act="X"),)),
        "C": State(transitions=(on(answer("c"), "C", agent_act="X"),)),
    }
    wf = booking(flow=Flow(start="A", states=states), events=(), wordings=(wording("b", "B."), wording("c", "C.")))
    s = official(wf)
    s.hear("r1", 500, (100, "GO"), (200, "X"))
    assert s.plans() == []
    s.hear("r2", 500, (200, "X"))
    s.run(6000)
    assert s.plans() == ["b"]


def test_event_with_unread_trigger_fields_fires_at_the_first_evaluation() -> None:
    event = ScriptedEvent(
        id="evt",
        type="X",
        trigger=Trigger(approval_request="pay", media_time_ms_gte=90_000),
        start_window_ms=(5000, 5000),
    )
    s = official(booking(events=(event,)))
    assert s.arms() == []
    s.policy.note_tool(s.now, "lookup", True)
    s.speak("r1", 3000)
    start = s.now
    assert s.until_said("fix").onset_ms == start + 700


def test_an_interruption_ends_the_beat() -> None:
    s = official(booking())
    s.speak("r1", 5000, (100, "CONFIRM:amount"), (200, "ASK:start"))
    s.until_said("fix")
    s.run(4000)
    assert s.plans() == ["open", "fix"]
