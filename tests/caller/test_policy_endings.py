"""How the strict caller approves, says goodbye, and loses patience."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stage import booking, corrected, stage

from apex_tui.caller.scene import HangUp, Say, Wait

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


def test_a_question_that_was_answered_often_enough_is_told_as_that() -> None:
    s = stage()
    for turn in range(5):
        s.run(1500).hear(f"r{turn}", 500, (100, "ASK:amount"))
    s.run(30_000)
    assert s.plans().count("ans_amount") == 4
    ended = s.ended()
    assert ended is not None
    assert (ended.outcome, ended.reason) == ("agent_stalled", "the agent was silent for 6 s")
    because = [say.because for say in s.said if say.plan == "nudge"]
    assert because[0] == "the agent asked again for what the caller had said 4 times, and was silent for 6 s"
