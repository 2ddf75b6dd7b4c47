"""What holds for any agent, however it behaves; and official packages under the strict caller."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_package import published_sample
from stage import Stage, answer, booking, fact, on, stage, wording

from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import HangUp
from apex_tui.timeline.errors import WorkflowError
from apex_tui.workflow.caller_model import Action, CallerFact, Flow, Reveal, ScriptedEvent, State, Trigger
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package

ACTS = (
    "ASK:amount",
    "ASK:start",
    "ASK:end",
    "CONFIRM:amount",
    "CONFIRM:start",
    "MISREAD:amount",
    "REQUEST_APPROVAL:pay",
    "EXPLAIN",
    "ASK:x",
)

act = st.tuples(st.floats(0, 4000), st.sampled_from(ACTS))
step: st.SearchStrategy[tuple[str, int, list[tuple[float, str]]]] = st.one_of(
    st.tuples(st.just("reply"), st.integers(100, 4000), st.lists(act, max_size=4)),
    st.tuples(st.just("quiet"), st.integers(20, 9000), st.just([])),
    st.tuples(st.just("approval"), st.integers(0, 500), st.just([])),
    st.tuples(st.just("commit"), st.integers(0, 500), st.just([])),
    st.tuples(st.just("tool"), st.integers(20, 3000), st.just([])),
)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 50), st.lists(step, max_size=10), st.sampled_from([None, 0.0, 250.0, 1600.0]), st.integers(200, 2500)
)
def test_any_agent(
    seed: int, steps: list[tuple[str, int, list[tuple[float, str]]]], yields: float | None, length: int
) -> None:
    s = stage(seed=seed, yields_ms=yields, length_ms=float(length))
    for number, (kind, ms, acts) in enumerate(steps):
        if kind == "reply":
            if s.reply is None:
                s.speak(f"r{number}", float(ms), *acts)
            s.run(ms / 2)
        elif kind == "approval":
            s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
        elif kind == "commit":
            s.policy.note_tool(s.now, "do_pay", True, ("form.status",), commit=("pay", True))
        elif kind == "tool":
            s.scene = replace(s.scene, tools_running=("slow",))
            s.run(ms)
            s.scene = replace(s.scene, tools_running=())
        else:
            s.run(ms)
    s.run(8000)

    heard = {key for kind, _, acts in steps for _, key in acts}
    fixed = next((n for n, say in enumerate(s.said) if say.plan == "fix"), None)
    for number, say in enumerate(s.said):
        if fixed is not None and number >= fixed:
            assert say.values.get("form.amount") != 500.0
        if fixed is None or number < fixed:
            assert "amount2" not in say.facts
        for name in say.facts:
            told = booking().fact(name)
            assert told is not None
            assert heard & set(told.reveal.agent_acts) or set(told.reveal.events) & {"evt"}
        assert say.plan != "yes" or (fixed is not None and number > fixed)
        assert say.onset_ms >= 500
    assert max((s.plans().count(plan) for plan in s.plans()), default=0) <= 4
    for (_, ends), (onset, _) in zip(s.spoken, s.spoken[1:], strict=False):
        assert onset >= ends
    hung = next((at for at, intent in s.intents if isinstance(intent, HangUp)), None)
    assert hung is None or all(at <= hung for at, _ in s.intents)
    assert [say.turn for say in s.said] == list(range(1, len(s.said) + 1))


# --- official packages -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy() -> Workflow:
    return read_package(published_sample())


def ask(s: Stage, number: int, field: str) -> None:
    s.hear(f"q{number}", 900, (800, f"ASK:{field}"))


def finish(s: Stage) -> None:
    """The read-back, the correction, the approval and the commit."""
    s.speak("read", 4000, (400, "CONFIRM:total_amount"))
    assert s.until_said("correct_total").delivered == "barge_in"
    s.run(1500)
    s.policy.note_tool(s.now, "request_approval", True, approval_request="submit_expense")
    s.hear("shall", 1500)
    assert s.plans()[-1] == "approve_submit"
    assert s.ended() is None
    s.speak("done", 1000)
    s.run(1000)
    s.scene = replace(s.scene, tools_running=("submit_expense",))
    s.run(4000)
    assert s.ended() is None
    s.policy.note_tool(s.now, "submit_expense", True, commit=("submit_expense", True))
    s.scene = replace(s.scene, tools_running=())
    s.run(3000)
    ended = s.ended()
    assert ended is not None
    assert (ended.outcome, ended.reason) == ("completed", "the dialogue reached its end")


def test_toy_in_its_order(toy: Workflow) -> None:
    s = stage(toy)
    for number, name in enumerate(("employee_id", "trip_purpose", "cost_center", "total_amount")):
        ask(s, number, name)
    assert s.plans() == ["open", "ans_emp", "ans_purpose", "ans_cc", "ans_total"]
    assert not any(say.recovered for say in s.said)
    finish(s)


def test_toy_in_another_order_is_answered_and_still_ends(toy: Workflow) -> None:
    s = stage(toy)
    for number, name in enumerate(("cost_center", "total_amount", "employee_id", "trip_purpose", "employee_id")):
        ask(s, number, name)
    assert s.plans() == ["open", "ans_cc", "ans_total", "ans_emp", "ans_purpose", "ans_emp"]
    assert [say.recovered for say in s.said] == [False, True, True, False, False, True]
    finish(s)


def test_toy_question_after_the_correction_gets_the_new_amount(toy: Workflow) -> None:
    s = stage(toy)
    for number, name in enumerate(("employee_id", "trip_purpose", "cost_center", "total_amount")):
        ask(s, number, name)
    s.speak("read", 4000, (400, "CONFIRM:total_amount"))
    s.until_said("correct_total")
    s.run(1500)
    s.hear("ok", 800)
    ask(s, 9, "total_amount")
    assert s.said[-1].plan == "correct_total"
    assert s.said[-1].values == {"total_amount": 200.0}


def test_dialogue_that_ends_without_farewell_waits_for_the_agents_answer() -> None:
    states = {"A": State(transitions=(on(answer("ok"), "Z", agent_act="X"),)), "Z": State(terminal=True)}
    s = stage(booking(flow=Flow(start="A", states=states), events=(), wordings=(wording("ok", "Okay."),)))
    s.hear("r1", 500, (100, "X"))
    assert s.ended() is None
    s.run(6000)
    ended = s.ended()
    assert ended is not None
    assert ended.outcome == "completed"


def test_moves_without_words_lead_on_to_what_is_said() -> None:
    states = {
        "A": State(transitions=(on(None, "B", agent_act="X"), on(None, "Z", agent_act="Q"))),
        "B": State(transitions=(on(answer("ok"), "B", agent_act="Y"),)),
        "Z": State(terminal=True),
    }
    wf = booking(flow=Flow(start="A", states=states), events=(), wordings=(wording("ok", "Okay."),))
    s = stage(wf)
    s.hear("r1", 500, (100, "X"), (200, "Y"))
    assert s.plans() == ["ok"]
    t = stage(wf)
    t.hear("r1", 500, (100, "Q"))
    assert t.run(4000).ended() is not None


def test_time_and_wildcard_transitions_speak_once_a_reply() -> None:
    states = {
        "A": State(
            transitions=(on(answer("late"), "B", media_time_ms_gte=4000), on(answer("hm"), "A", fact_unrevealed="x"))
        ),
        "B": State(on_enter=Action(act="ASK", plan_id="entry")),
    }
    wf = booking(
        flow=Flow(start="A", states=states), events=(), facts=(fact("x", 1),),
        wordings=(wording("late", "Late."), wording("hm", "Hm."), wording("entry", "And?")),
    )  # fmt: skip
    s = stage(wf)
    assert s.plans() == ["hm"]
    s.run(3000)
    assert s.plans() == ["hm"]
    s.hear("r1", 200)
    assert s.said[1].because == "4.0 s have passed"
    assert s.plans() == ["hm", "late"]
    s.hear("r2", 200)
    assert (s.plans(), s.said[-1].because) == (["hm", "late", "entry"], "state B was entered")


def test_wildcard_stops_at_the_cap() -> None:
    wf = booking(
        flow=Flow(start="A", states={"A": State(transitions=(on(answer("hm"), "A"),))}),
        events=(),
        wordings=(wording("hm", "Hm."),),
    )
    s = stage(wf)
    for number in range(7):
        s.hear(f"r{number}", 200)
    assert s.plans() == ["hm"] * 4
    assert s.said[0].because == "the flow goes on"


def test_repeated_question_cap_holds_outside_the_flow_too(toy: Workflow) -> None:
    s = stage(toy)
    for number in range(6):
        ask(s, number, "cost_center")
    assert s.plans() == ["open", *["ans_cc"] * 4]


def test_event_whose_words_may_not_be_said_takes_effect_in_silence() -> None:
    fix = Action(act="CORRECT", plan_id="fix", facts=("shut",), floor_action="BARGE_IN", event_id="evt")
    states = {
        "A": State(
            transitions=(on(fix, external_event="evt"), on(answer("ok"), "A", agent_act="ASK:x", events_done=("evt",)))
        )
    }
    wf = booking(
        flow=Flow(start="A", states=states), facts=(CallerFact(id="shut", value=1, reveal=Reveal(events=("other",))),),
        wordings=(wording("fix", "No."), wording("ok", "Okay.")),
    )  # fmt: skip
    s = stage(wf)
    s.hear("r1", 4000, (100, "CONFIRM:amount"))
    assert [(fire.event_id, "may not be said" in fire.note) for fire in s.fires()] == [("evt", True)]
    s.hear("r2", 500, (100, "ASK:x"))
    assert s.plans() == ["ok"]
    t = stage(wf)
    t.hear("r1", 300, (100, "CONFIRM:amount"))
    assert [fire.event_id for fire in t.fires()] == ["evt"]


def test_event_without_floor_claim_is_spoken_in_turn_before_the_answers() -> None:
    base = booking()
    call = base.flow.states["CALL"]
    news = Action(act="INTENT_SWITCH", plan_id="news", event_id="news")
    states = {
        "CALL": call.model_copy(update={"transitions": (on(news, external_event="news"), *call.transitions)}),
        "DONE": State(terminal=True),
    }
    event = ScriptedEvent(id="news", type="INTENT_SWITCH", trigger=Trigger(agent_act="ASK:amount"))
    wf = booking(
        flow=Flow(start="CALL", states=states),
        events=(event,),
        wordings=(*base.wordings, wording("news", "One more thing.")),
    )
    s = stage(wf)
    s.hear("r1", 1000, (900, "ASK:amount"))
    assert (s.plans(), s.said[-1].delivered, s.said[-1].note) == (["open", "news"], "in_turn", "")


def test_turn_that_takes_back_drops_what_was_asked_before() -> None:
    stop = Action(act="REVOKE", plan_id="stop", revokes="pay")
    states = {
        "A": State(
            transitions=(
                on(stop, "A", agent_act="ASK:x"),
                on(Action(act="APPROVE", plan_id="yes"), "A", approval_request="pay"),
            )
        )
    }
    s = stage(
        booking(
            flow=Flow(start="A", states=states), events=(), wordings=(wording("stop", "Stop."), wording("yes", "Yes."))
        )
    )
    s.policy.note_tool(s.now, "ask_ok", True, approval_request="pay")
    s.hear("r1", 900, (800, "ASK:x"))
    s.run(5000)
    assert s.plans() == ["stop"]


def test_reply_cut_by_someone_else_is_not_answered() -> None:
    s = stage()
    s.policy.note_act(s.now, "ASK:amount", "r1")
    s.policy.note_reply_closed(s.now, "r1", True, True)
    s.run(3000)
    assert s.plans() == ["open"]


def test_barge_in_for_a_reply_that_was_never_seen_open() -> None:
    s = stage()
    s.policy.note_act(s.now, "CONFIRM:amount", "r1")
    s.speak("r1", 4000)
    start = s.now
    assert 900 <= s.until_said("fix").onset_ms - start <= 1300


def test_unknown_turn_number_changes_nothing() -> None:
    s = Stage(CallerPolicy(booking(), 1))
    s.run(600)
    s.policy.note_turn_ended(99, 610)
    s.run(300)
    assert s.plans() == ["open"]


def test_entry_needs_words_too() -> None:
    with pytest.raises(WorkflowError, match="plan open of state CALL has no wording"):
        CallerPolicy(booking(wordings=()), 1)
