"""Official step semantics, with the toy package's walk-through as the vector, and what strict use adds."""

from __future__ import annotations

from typing import Any

import pytest
from sample_package import published_sample
from stage import answer, booking, fact, on, wording

from apex_tui.caller.facts import FactBook
from apex_tui.caller.flow import FlowEngine, Observation, matches
from apex_tui.workflow.caller_model import Action, CallerFact, Flow, Reveal, ScriptedEvent, State, Trigger
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.official import read_package

OPEN = Action(act="OPENING_REQUEST", plan_id="open")


def machine(
    states: dict[str, State], facts: tuple[CallerFact, ...] = (), *, strict: bool = False, **more: Any
) -> FlowEngine:
    return FlowEngine(booking(flow=Flow(start="A", states=states), facts=facts, events=(), **more), strict=strict)


@pytest.fixture
def toy() -> Workflow:
    return read_package(published_sample())


def test_toy_walk_through(toy: Workflow) -> None:
    flow = FlowEngine(toy)
    beats = [
        (Observation(), "open", "START"),
        (Observation(agent_acts=("ASK:employee_id",)), "ans_emp", "S_EMP"),
        (Observation(agent_acts=("ASK:trip_purpose",), mutations=("expense_1.employee_id",)), "ans_purpose", "S_PURPOSE"),
        (Observation(agent_acts=("ASK:cost_center",)), "ans_cc", "S_CC"),
        (Observation(agent_acts=("ASK:total_amount",)), "ans_total", "S_TOTAL"),
        (Observation(agent_acts=("CONFIRM:total_amount",), events=("evt_correct_total",)), "correct_total", "S_CORRECTED"),
        (Observation(agent_acts=("REQUEST_APPROVAL:expense_1",), approval_requests=("submit_expense",)), "approve_submit", "S_DONE"),
    ]  # fmt: skip
    for seen, plan, state in beats:
        got = flow.step(seen)
        assert got is not None
        assert (got.id, got.state, got.leaked) == (plan, state, ())
    assert flow.leaks == []
    assert flow.done
    assert flow.step(Observation(agent_acts=("COMMIT:submit_expense",))) is None
    assert flow.book.revealed == {"employee_id", "trip_purpose", "cost_center", "total_amount", "total_amount_v2"}


def test_correction_comes_with_its_floor_action_and_event(toy: Workflow) -> None:
    flow = FlowEngine(toy)
    flow.step()
    for field in ("employee_id", "trip_purpose", "cost_center", "total_amount"):
        flow.step(Observation(agent_acts=(f"ASK:{field}",)))
    plan = flow.step(Observation(events=("evt_correct_total",)))
    assert plan is not None
    assert (plan.act, plan.floor, plan.event_id, plan.facts) == (
        "CORRECT",
        "BARGE_IN",
        "evt_correct_total",
        ("total_amount_v2",),
    )


def test_entry_is_spoken_once_and_before_any_transition() -> None:
    flow = machine({"A": State(on_enter=OPEN, transitions=(on(answer("b"), "B"),)), "B": State()})
    assert [plan.id if plan else None for plan in (flow.step(), flow.step(), flow.step())] == ["open", "b", None]


def test_state_entered_with_words_speaks_its_entry_in_the_next_step() -> None:
    flow = machine({"A": State(transitions=(on(answer("go"), "B"),)), "B": State(on_enter=OPEN)})
    first, second = flow.step(), flow.step()
    assert first is not None
    assert second is not None
    assert (first.id, first.state, second.id, second.state) == ("go", "B", "open", "B")
    assert flow.step() is None


def test_state_entered_silently_speaks_its_entry_even_again() -> None:
    back = on(None, "A", agent_act="BACK")
    flow = machine(
        {"A": State(on_enter=OPEN, transitions=(on(None, "B", agent_act="GO"),)), "B": State(transitions=(back,))}
    )
    assert flow.step() is not None
    assert flow.step(Observation(agent_acts=("GO",))) is None
    assert flow.state == "B"
    again = flow.step(Observation(agent_acts=("BACK",)))
    assert again is not None
    assert again.id == "open"


def test_first_matching_transition_in_file_order_wins() -> None:
    flow = machine(
        {"A": State(transitions=(on(answer("one"), "A", agent_act="X"), on(answer("two"), "A", agent_act="X")))}
    )
    plan = flow.step(Observation(agent_acts=("X",)))
    assert plan is not None
    assert plan.id == "one"


def test_self_loop_repeats_but_events_and_approvals_are_one_shot_and_approvals_re_arm() -> None:
    flow = machine(
        {
            "A": State(
                transitions=(
                    on(answer("act"), "A", agent_act="X"),
                    on(answer("evt"), "A", external_event="e"),
                    on(answer("ok"), "A", approval_request="pay"),
                )
            )
        }
    )
    seen = Observation(events=("e",), approval_requests=("pay",))
    taken = [flow.step(seen), flow.step(seen), flow.step(seen)]
    assert [plan.id if plan else None for plan in taken] == ["evt", "ok", None]
    assert flow.step() is None
    assert flow.step(Observation(events=("e",))) is None
    rearmed = flow.step(Observation(approval_requests=("pay",)))
    assert rearmed is not None
    x = Observation(agent_acts=("X",))
    assert [plan.id if plan else None for plan in (flow.step(x), flow.step(x))] == ["act", "act"]


def test_fact_not_eligible_is_taken_off_and_recorded_but_the_plan_is_spoken() -> None:
    facts = (CallerFact(id="free", value=1, reveal=Reveal(may_volunteer=True)), CallerFact(id="shut", value=2))
    flow = machine({"A": State(transitions=(on(answer("both", "free", "shut", "ghost"), "A"),))}, facts)
    plan = flow.step()
    assert plan is not None
    assert (plan.facts, plan.leaked) == (("free",), ("shut", "ghost"))
    assert flow.leaks == [("both", "shut"), ("both", "ghost")]
    assert flow.book.revealed == {"free"}


def test_strict_refuses_it_and_looks_further() -> None:
    facts = (CallerFact(id="shut", value=2),)
    states = {"A": State(transitions=(on(answer("leak", "shut"), "A"), on(answer("safe"), "A")))}
    flow = machine(states, facts, strict=True)
    plan = flow.step()
    assert plan is not None
    assert plan.id == "safe"
    assert [(r.plan, r.facts, r.because) for r in flow.refusals] == [
        ("leak", ("shut",), "shut may not be revealed yet")
    ]
    entry = machine({"A": State(on_enter=answer("leak", "shut"))}, facts, strict=True)
    assert entry.step() is None
    assert entry.book.revealed == set()


def test_plan_id_defaults_to_state_and_act() -> None:
    flow = machine(
        {"A": State(on_enter=Action(act="ASK"), transitions=(on(Action(act="DENY"), "B"),)), "B": State(terminal=True)},
        wordings=(),
    )
    first, second = flow.step(), flow.step()
    assert first is not None
    assert second is not None
    assert (first.id, second.id) == ("A:ASK", "B:DENY")


@pytest.mark.parametrize(
    ("trigger", "seen", "hit"),
    [
        ({}, Observation(), True),
        ({"agent_act": "ASK:a"}, Observation(agent_acts=("ASK:a",)), True),
        ({"agent_act": "ASK:a"}, Observation(agent_acts=("ASK:b",)), False),
        ({"agent_act": "CONFIRM"}, Observation(agent_acts=("CONFIRM:b",)), False),
        ({"tool_call": "t"}, Observation(tool_calls=("t",)), True),
        ({"tool_call": "t"}, Observation(), False),
        ({"tool_result": "t"}, Observation(tool_results=("t",)), True),
        ({"artifact_mutation": "f.a"}, Observation(mutations=("f.a",)), True),
        ({"commit_attempt": "pay"}, Observation(commit_attempts=("pay",)), True),
        ({"approval_request": "pay"}, Observation(approval_requests=("pay",)), True),
        ({"world_predicate": "w"}, Observation(world_predicates=("w",)), True),
        ({"external_event": "e"}, Observation(events=("e",)), True),
        ({"committed": "pay"}, Observation(committed=("pay",)), True),
        ({"committed": "pay"}, Observation(commit_attempts=("pay",)), False),
        ({"media_time_ms_gte": 100}, Observation(media_ms=100), True),
        ({"media_time_ms_gte": 100}, Observation(media_ms=99), False),
        ({"agent_speech_continuous_ms_gte": 5}, Observation(agent_speech_ms=4), False),
        ({"repetition_count_gte": 2}, Observation(repetitions=2), True),
        ({"repetition_count_gte": 2}, Observation(repetitions=1), False),
        ({"fact_unrevealed": "amount"}, Observation(), True),
        ({"events_done": ("old",)}, Observation(), True),
        ({"events_done": ("old", "new")}, Observation(), False),
        ({"agent_act": "ASK:a", "tool_call": "t"}, Observation(agent_acts=("ASK:a",)), False),
    ],
)  # fmt: skip
def test_every_populated_field_must_match(trigger: dict[str, Any], seen: Observation, hit: bool) -> None:
    book = FactBook(booking())
    book.deliver(["old"])
    assert matches(Trigger(**trigger), seen, book) is hit


def test_trigger_without_field_matches_any_field_in_strict_use_and_a_revealed_fact_no_longer() -> None:
    book = FactBook(booking())
    assert matches(Trigger(agent_act="CONFIRM"), Observation(agent_acts=("CONFIRM:b",)), book, generic=True)
    assert not matches(Trigger(agent_act="CONFIRM"), Observation(agent_acts=("CONFIRMED:b",)), book, generic=True)
    book.revealed.add("amount")
    assert not matches(Trigger(fact_unrevealed="amount"), Observation(), book)


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        (Reveal(), False),
        (Reveal(may_volunteer=True), True),
        (Reveal(agent_acts=("ASK:x", "ASK:y")), True),
        (Reveal(agent_acts=("ASK:z",)), False),
        (Reveal(events=("e",)), True),
        (Reveal(events=("f",)), False),
        (Reveal(on_state=("CALL",)), True),
    ],
)
def test_reveal_rules(rule: Reveal, allowed: bool) -> None:
    engine = FlowEngine(booking(facts=(CallerFact(id="x", value=1, reveal=rule),)))
    engine.observe(Observation(agent_acts=("ASK:y",), events=("e",)))
    assert engine.book.eligible("x") is allowed
    assert not engine.book.eligible("unknown")


def test_supersession_through_several_steps_and_event_updates() -> None:
    facts = (
        fact("a", 1, field="form.a"),
        CallerFact(id="b", value=2, supersedes="a", reveal=Reveal(events=("e1",))),
        CallerFact(id="c", value=3, supersedes="b", reveal=Reveal(agent_acts=("ASK:a",))),
        fact("d", 4),
    )
    update = ScriptedEvent(id="e2", type="X", fact_updates={"d": 5, "new": 6})
    book = FactBook(booking(facts=facts, events=(update,)))
    assert book.wanted() == {"form.a": 1, "d": 4}
    assert book.successor("a", also_event="e1") == "b"
    book.deliver(["e1", "e1"])
    assert (book.successor("a"), book.successor("b"), book.field_of("c")) == ("b", None, "form.a")
    assert book.wanted()["form.a"] == 2
    book.revealed.add("c")
    assert book.wanted()["form.a"] == 3
    assert book.superseded_values() == {"form.a": (1, 2)}
    book.deliver(["e2"])
    assert book.wanted()["d"] == 5
    assert book.blocked(["d"]) == "d no longer holds: d__v_evt_e2 replaced it"
    assert book.values(["c", "nobody"]) == {"form.a": 3}


def test_authored_successor_stands_for_the_events_update() -> None:
    event = booking().events[0].model_copy(update={"fact_updates": {"amount": 555.23}})
    book = FactBook(booking(events=(event,)))
    book.deliver(["evt"])
    assert book.successor("amount") == "amount2"


def test_wordings_helper_numbers_variants() -> None:
    assert [v.variant_id for v in wording("p", "a", "b").variants] == ["p#v1", "p#v2"]
