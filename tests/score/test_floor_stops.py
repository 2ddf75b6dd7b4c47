"""The kinds of a stop as a table, and the one that is never averaged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_logs import Log
from score_scenes import talking

from apex_tui.score.floor import measure
from apex_tui.score.floor_numbers import floor_of
from apex_tui.score.stops import Burst, Observed, judge_stop
from apex_tui.timeline.agent_facts import BargeInClosed

SEEN = Observed(onset=3000, turn_end=4500, silent_from=3200, until=5000)
CASES: list[tuple[dict[str, Any], str, float | None, int]] = [
    ({}, "unattributed", 200, 0),
    ({"proven_at": 3195.0}, "yielded", 200, 0),
    ({"natural": True}, "natural_end", 200, 0),
    ({"natural": True, "proven_at": 3195.0}, "yielded", 200, 0),
    ({"silent_from": 3000.0, "proven_at": 2998.0}, "yielded", 0, 0),
    ({"silent_from": 2991.0, "proven_at": 2990.0}, "yielded", 0, 0),  # within the error of an edge
    ({"silent_from": 2900.0}, "invalid", None, 0),
    ({"turn_end": 2999.0}, "invalid", None, 0),
    ({"silent_from": 5000.0}, "unattributed", 2000, 0),
    ({"silent_from": 5001.0}, "not_stopped", None, 0),
    ({"silent_from": None}, "not_stopped", None, 0),
    ({"silent_from": None, "until": 4000.0, "cut": True}, "censored", None, 0),
    ({"silent_from": 3500.0, "until": 3400.0, "cut": True}, "censored", None, 0),
    # sound after the stop
    ({"later": (Burst(3600, 3899, "r1"),), "proven_at": 3195.0}, "yielded", 200, 1),
    ({"later": (Burst(3600, 3900, "r1"),), "proven_at": 3195.0}, "resumed", 200, 0),
    ({"later": (Burst(3600, 3900, "r2"),), "proven_at": 3195.0}, "resumed", 200, 0),
    ({"later": (Burst(4300, 6000, "r2"),), "proven_at": 3195.0}, "yielded", 200, 0),  # the answer, a little early
    ({"later": (Burst(4600, 4700, "r2"),), "proven_at": 3195.0}, "yielded", 200, 0),  # the answer's first word
    ({"later": (Burst(4600, 4700, "r1"),), "proven_at": 3195.0}, "yielded", 200, 1),
    ({"later": (Burst(5100, 6000, "r1"),)}, "unattributed", 200, 0),
    # a reply that was merely going on
    ({"later": (Burst(3600, 4000, "r1", after_pause=True),)}, "unattributed", 1000, 0),
    ({"later": (Burst(3600, 4000, "r1", after_pause=True),), "natural": True}, "natural_end", 1000, 0),
    ({"later": (Burst(3600, None, "r1", after_pause=True),)}, "not_stopped", None, 0),
    ({"later": (Burst(3600, 4000, "r1"),), "proven_at": 3990.0}, "yielded", 1000, 0),
    ({"later": (Burst(3600, None, "r1"),), "turn_end": 3400.0}, "not_stopped", None, 0),  # however short the words were
    # in a pause there is no delay: only whether it went on
    ({"silent_from": 3000.0, "in_pause": True}, "unattributed", None, 0),
    ({"silent_from": 3000.0, "in_pause": True, "proven_at": 3100.0}, "yielded", None, 0),
    ({"silent_from": 3000.0, "in_pause": True, "later": (Burst(3300, None, "r1"),)}, "resumed", None, 0),
    ({"silent_from": 3000.0, "in_pause": True, "later": (Burst(4600, None, "r1"),)}, "not_stopped", None, 0),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "delay", "bursts"), CASES)
def test_kinds(changes: dict[str, Any], kind: str, delay: float | None, bursts: int) -> None:
    stop = judge_stop(replace(SEEN, **changes))
    assert (stop.kind, stop.delay_ms, stop.stale_bursts) == (kind, delay, bursts)


times = st.floats(2000, 8000)


@given(times, times, st.none() | times, st.none() | times, st.booleans(), st.booleans())
def test_a_delay_is_never_negative_nor_beyond_the_window(
    onset: float, end: float, silent: float | None, proven: float | None, natural: bool, in_pause: bool
) -> None:
    seen = Observed(onset, end, silent, proven_at=proven, natural=natural, until=onset + 2000, in_pause=in_pause)
    stop = judge_stop(seen)
    assert stop.delay_ms is None or 0 <= stop.delay_ms <= 2000
    if stop.kind in ("invalid", "censored", "not_stopped"):
        assert stop.delay_ms is None


def test_a_stop_older_than_its_start_is_shown_with_its_times_and_averaged_nowhere() -> None:
    log = talking()
    log.caller(1, 3000, 4500)
    log.off(900, "r1")  # before the stretch began
    log.caller_ends(1, 4500)
    log.end(9000)
    measured = measure(log.events)
    (closed,) = [m.fact for m in measured if isinstance(m.fact, BargeInClosed)]
    assert (closed.stop_kind, closed.stop_delay_ms, closed.onset_ms, closed.last_audible_ms) == (
        "invalid",
        None,
        3000,
        900,
    )
    floor = floor_of(log.events, measured, 9000)
    assert (floor.invalid_n, floor.observed_n, floor.stop_delay_ms.n, floor.yielded_share) == (1, 0, 0, None)


def test_a_phrase_pause_of_an_agent_that_is_cut_later_is_no_stop() -> None:
    log = talking()
    log.caller(1, 3000, 5200)
    log.off(3200, "r1")
    log.on(3600, "r1")
    log.noticed(4480)
    log.flushed(4490, "r1")
    log.off(4500, "r1")
    log.closed(4520, "r1", "flushed")
    log.caller_ends(1, 5200)
    log.end(9000)
    (closed,) = [m.fact for m in measure(log.events) if isinstance(m.fact, BargeInClosed)]
    assert (closed.stop_kind, closed.stop_delay_ms, closed.flush_ms) == ("yielded", 1500.0, 20.0)


def test_a_stop_before_the_next_turn_is_known_though_that_turn_began() -> None:
    log = talking()
    log.caller(1, 3000, 3400)
    log.flushed(3100, "r1")
    log.caller_ends(1, 3400)
    log.caller(2, 3500, 4000)
    log.off(3300, "r1")  # noted at 3570, after the next turn began
    log.closed(3600, "r1", "flushed")
    log.caller_ends(2, 4000)
    log.end(9000)
    closed = [m.fact for m in measure(log.events) if isinstance(m.fact, BargeInClosed)]
    assert (closed[0].stop_kind, closed[0].stop_delay_ms) == ("yielded", 300.0)


def test_a_cut_at_the_very_onset_is_a_delay_of_zero() -> None:
    log = talking()
    log.flushed(2993, "r1")
    log.closed(2998, "r1", "flushed")
    log.caller(1, 3000, 4500)
    log.off(2996, "r1")
    log.caller_ends(1, 4500)
    log.end(9000)
    (closed,) = [m.fact for m in measure(log.events) if isinstance(m.fact, BargeInClosed)]
    assert (closed.kind, closed.stop_kind, closed.stop_delay_ms) == ("overlap", "yielded", 0.0)


def test_side_talk_is_no_barge_in_and_wants_no_answer() -> None:
    log = Log()
    log.events = talking().events
    start = log.caller(1, 3000, 3600)
    fact = log.events[start].fact.model_copy(update={"floor": "OVERLAP_WITHOUT_FLOOR_CLAIM"})
    log.events[start] = replace(log.events[start], fact=fact)
    log.caller_ends(1, 3600)
    log.off(6000, "r1")
    log.end(8000)
    assert [m.fact.type for m in measure(log.events)] == []
