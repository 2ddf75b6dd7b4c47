from __future__ import annotations

from agent_kit import TURNS

from apex_tui.agents.rehearsal.brain import RehearsalBrain, Reply
from apex_tui.workflow.outcome_model import ReferenceTurn, Step


def brief(reply: Reply) -> list[str]:
    return [step.say or "" for step in reply.says] + ([f"({reply.call.call})"] if reply.call else [])


def line(text: str, after: str | None = None) -> ReferenceTurn:
    return ReferenceTurn(after=after, steps=(Step(say=text),))


def test_words_and_the_call_behind_them_are_one_reply() -> None:
    brain = RehearsalBrain(TURNS)
    brain.heard("date")
    assert brief(brain.next_reply()) == ["One moment.", "(update_form)"]
    assert brief(brain.next_reply()) == []
    brain.returned({"ok": True})
    assert brain.has_more
    assert brief(brain.next_reply())[-1] == "(submit)"
    brain.returned({"ok": False, "error": "no approval"})
    assert brain.refused == ["submit"]
    assert brief(brain.next_reply()) == ["Done."]
    assert brief(brain.next_reply()) == []


def test_turns_without_a_plan_come_in_file_order() -> None:
    brain = RehearsalBrain([line("a"), line("b"), line("x", "special")])
    for plan, wanted in [("one", ["a"]), ("special", ["x"]), ("two", ["b"]), ("three", [])]:
        brain.heard(plan)
        assert brief(brain.next_reply()) == wanted


def test_without_any_plan_the_file_order_is_followed() -> None:
    brain = RehearsalBrain([line("a", "p"), line("b", "q")])
    brain.heard("p")
    assert brief(brain.next_reply()) == ["a"]
    brain.heard(None)
    assert brief(brain.next_reply()) == ["b"]
    brain.heard(None)
    assert brief(brain.next_reply()) == []


def test_the_same_plan_again_takes_its_next_turn_and_then_the_last_again() -> None:
    brain = RehearsalBrain([line("first", "p"), line("second", "p")])
    said = []
    for _ in range(3):
        brain.heard("p")
        said += brief(brain.next_reply())
    assert said == ["first", "second", "second"]


def test_an_interruption_drops_the_rest_even_while_a_call_is_out() -> None:
    brain = RehearsalBrain(TURNS)
    brain.heard("date")
    brain.next_reply()
    brain.interrupted()
    brain.returned({"ok": True})
    assert not brain.has_more
    brain.heard("correction")
    assert brief(brain.next_reply()) == ["(update_form)"]


def test_a_nudge_repeats_the_line_and_resumes_what_it_cut_off() -> None:
    brain = RehearsalBrain(TURNS)
    brain.heard("date")
    brain.next_reply()
    brain.interrupted(unsent=True)
    brain.heard("nudge", "ASK")
    assert brief(brain.next_reply()) == ["One moment.", "(update_form)"]
    brain.returned(None)
    assert brain.has_more


def test_a_turn_that_was_not_begun_is_kept() -> None:
    brain = RehearsalBrain(TURNS)
    brain.heard("opening")
    brain.next_reply()
    brain.interrupted(unheard=True)
    brain.heard("correction")
    assert brief(brain.next_reply()) == ["Hello, which date do you want?", "(update_form)"]


def test_an_unheard_reply_inside_a_turn_is_dropped_with_it() -> None:
    brain = RehearsalBrain(TURNS)
    brain.heard("date")
    brain.next_reply()
    brain.returned({"ok": True})
    brain.next_reply()
    brain.interrupted(unheard=True)
    assert not brain.has_more


LOOKUPS = ReferenceTurn(after="a", steps=(Step(call="one"), Step(call="two"), Step(say="Both done.")))


def brain_in_lookups() -> RehearsalBrain:
    """The first call is out, nothing was said yet."""
    brain = RehearsalBrain([LOOKUPS, line("Hello.", "b")])
    brain.heard("a")
    assert brief(brain.next_reply()) == ["(one)"]
    brain.interrupted()
    return brain


def test_what_an_unknown_plan_cut_off_is_resumed() -> None:
    brain = brain_in_lookups()
    brain.heard("thanks", "ACKNOWLEDGE")
    assert brief(brain.next_reply()) == ["(two)"]
    brain.returned(None)
    assert brief(brain.next_reply()) == ["Both done."]


def test_calls_go_on_when_the_caller_says_something_more_before_any_words() -> None:
    brain = brain_in_lookups()
    brain.heard("b", "ANSWER")
    assert brief(brain.next_reply()) == ["(two)"]
    brain.returned(None)
    assert brief(brain.next_reply()) == ["Hello."]


def test_calls_do_not_go_on_after_a_correction() -> None:
    brain = brain_in_lookups()
    brain.heard("b", "CORRECT")
    assert brief(brain.next_reply()) == ["Hello."]


def test_back_channels_and_unknown_plans_change_nothing() -> None:
    brain = RehearsalBrain(TURNS)
    brain.heard("opening", "BACKCHANNEL")
    brain.heard("no such plan")
    brain.heard("nudge")
    assert not brain.has_more


BEHIND = (
    ReferenceTurn(
        after="a", steps=(Step(say="That takes a while. Meanwhile, who are you?"), Step(call="slow", background=True))
    ),
    ReferenceTurn(
        after="b", steps=(Step(call="save"), Step(say="Bear with me.", wait="slow"), Step(say="Here it is."))
    ),
)


def test_a_call_in_the_background_holds_nothing_up() -> None:
    brain = RehearsalBrain(BEHIND)
    brain.heard("a")
    assert brief(brain.next_reply()) == ["That takes a while. Meanwhile, who are you?", "(slow)"]
    brain.heard("b")
    assert brief(brain.next_reply()) == ["(save)"]
    brain.arrived("slow", {"ok": True})
    brain.returned({"ok": True})
    assert brief(brain.next_reply()) == ["Here it is."]  # nothing is left to wait for


def test_what_needs_the_result_of_a_call_in_the_background_waits_for_it() -> None:
    brain = RehearsalBrain(BEHIND)
    brain.heard("a")
    brain.next_reply()
    brain.heard("b")
    brain.next_reply()
    brain.returned({"ok": True})
    assert brief(brain.next_reply()) == ["Bear with me."]
    assert not brain.has_more
    brain.arrived("slow", {"ok": True})
    assert brief(brain.next_reply()) == ["Here it is."]


def test_a_call_in_the_background_that_was_cut_off_is_made_when_it_is_needed() -> None:
    brain = RehearsalBrain(BEHIND)
    brain.heard("a")
    brain.next_reply()
    brain.interrupted(unsent=True)
    brain.heard("b", "CORRECT")
    brain.next_reply()
    brain.returned({"ok": True})
    assert brief(brain.next_reply()) == ["Bear with me.", "(slow)"]
    brain.returned({"ok": True})
    assert brief(brain.next_reply()) == ["Here it is."]
