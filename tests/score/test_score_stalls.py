"""What is measured while the instrument itself stands still says nothing about the agent."""

from __future__ import annotations

from apex_tui.score.gold import asks_nothing
from apex_tui.score.stalls import across_stall, stalls
from apex_tui.timeline.agent_facts import BargeInClosed, ResponseMeasured
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionPulse
from apex_tui.workflow.library import find_workflow
from apex_tui.workflow.outcome_model import Gold


def _pulse(seq: int, media_ms: float, late_max_ms: float) -> Event:
    fact = SessionPulse(
        frames=50, late_p50_ms=1.0, late_p99_ms=late_max_ms, late_max_ms=late_max_ms, over_20ms=1, dropped=0, caller_db=-120.0,
        agent_db=-120.0, queue_ms=0.0,
    )  # fmt: skip
    return Event(seq, media_ms, 0, fact, "harness")


def _answer(turn: int, ms: float) -> ResponseMeasured:
    return ResponseMeasured(turn=turn, reply="r", first_audible_ms=ms)


def test_a_second_that_came_six_seconds_late_reaches_back_over_them() -> None:
    assert stalls([_pulse(1, 1000.0, 3.0), _pulse(2, 9000.0, 6000.0)]) == [(2000.0, 9000.0)]
    assert stalls([_pulse(1, 1000.0, 199.0)]) == []


def test_an_answer_that_spans_a_stall_is_left_out_and_others_are_not() -> None:
    found, ends = [(2000.0, 9000.0)], {1: 1500.0, 2: 9500.0, 3: 1000.0}
    assert across_stall(_answer(1, 7720.0), found, ends)
    assert not across_stall(_answer(2, 600.0), found, ends)
    assert not across_stall(_answer(3, 600.0), found, ends)
    assert not across_stall(_answer(1, 7720.0), [], ends)
    assert not across_stall(ResponseMeasured(turn=1, reply=None), found, ends)


def test_a_stop_that_spans_a_stall_is_left_out() -> None:
    closed = BargeInClosed(
        barge_in=1, turn=1, reply="r", kind="overlap", onset_ms=1900.0, stop_kind="yielded", stop_delay_ms=6000.0
    )
    assert across_stall(closed, [(2000.0, 9000.0)], {})
    assert not across_stall(closed.model_copy(update={"stop_delay_ms": 90.0}), [(2000.0, 9000.0)], {})


def test_a_workflow_without_a_gold_outcome_judges_nobody() -> None:
    leave = find_workflow("leave-request")
    assert not asks_nothing(leave)
    assert asks_nothing(leave.model_copy(update={"gold": Gold()}))


def test_whoever_did_not_stop_while_the_instrument_stood_still_is_left_out() -> None:
    never = BargeInClosed(barge_in=1, turn=1, reply="r", kind="overlap", onset_ms=1000.0, stop_kind="not_stopped")
    assert across_stall(never, [(2000.0, 9000.0)], {})
    assert not across_stall(never, [(3001.0, 9000.0)], {})
