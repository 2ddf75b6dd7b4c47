"""Barge-ins, false yields, cut-ins, answers and silences as tiny timelines with known answers; live and offline measuring agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_logs import Log
from score_scenes import (
    SCENES,
    asked,
    backchannel,
    cut_by_end,
    cut_by_next_turn,
    in_pause,
    in_pause_resumed,
    in_pause_yielded,
    natural_end,
    not_stopped,
    resumed,
    stale_bursts,
    talking,
    unattributed,
    waiting,
    yielded,
)

from apex_tui.score.consistency import MEASURED, disagreements
from apex_tui.score.floor import FloorMeter, measure
from apex_tui.timeline.agent_facts import (
    BargeInClosed,
    BargeInOpened,
    CutIn,
    FalseYield,
    ResponseMeasured,
    SilenceMeasured,
)
from apex_tui.timeline.events import AnyFact, Event

T = TypeVar("T")


def facts(log: Log, kind: type[T]) -> list[T]:
    return [m.fact for m in measure(log.events) if isinstance(m.fact, kind)]


@pytest.mark.parametrize(
    ("build", "kind", "stop_kind", "delay"),
    [
        (yielded, "overlap", "yielded", 141.0),
        (natural_end, "overlap", "natural_end", 300.0),
        (unattributed, "overlap", "unattributed", 300.0),
        (resumed, "overlap", "resumed", 200.0),
        (not_stopped, "overlap", "not_stopped", None),
        (cut_by_next_turn, "overlap", "censored", None),
        (cut_by_end, "overlap", "censored", None),
        (stale_bursts, "overlap", "yielded", 250.0),
        (in_pause, "in_pause", "not_stopped", None),
        (in_pause_resumed, "in_pause", "resumed", None),
        (in_pause_yielded, "in_pause", "yielded", None),
    ],
)
def test_a_barge_in_ends_in_its_kind(build: Callable[[], Log], kind: str, stop_kind: str, delay: float | None) -> None:
    closed = facts(build(), BargeInClosed)[0]
    assert (closed.kind, closed.stop_kind, closed.stop_delay_ms) == (kind, stop_kind, delay)
    opened = facts(build(), BargeInOpened)[0]
    assert (opened.kind, opened.onset_ms, opened.reply) == (kind, 3000.0, "r1")


def test_a_yield_comes_with_its_proof_and_the_agents_own_signal() -> None:
    log = yielded()
    found = [m for m in measure(log.events) if isinstance(m.fact, BargeInClosed)]
    fact = found[0].fact
    assert isinstance(fact, BargeInClosed)
    assert (fact.detect_ms, fact.detect_source, fact.flush_ms) == (80.0, "server_vad", 61.0)
    assert (fact.played_ms, fact.generated_ms) == (1141, 4000)
    types = {log.events[seq].type for seq in found[0].causes}
    assert types == {"caller.turn_started", "agent.reply_started", "agent.noticed", "agent.reply_flushed", "agent.speech_ended"}  # fmt: skip


def test_short_sounds_after_a_stop_are_counted_and_do_not_move_it() -> None:
    assert facts(stale_bursts(), BargeInClosed)[0].stale_bursts == 2


def test_a_cancelled_reply_without_a_flush_is_a_yield() -> None:
    log = talking()
    log.caller(1, 3000, 4500)
    log.off(3300, "r1")
    log.generated(3700, "r1", "cancelled")
    log.caller_ends(1, 4500)
    log.end(9000)
    assert facts(log, BargeInClosed)[0].stop_kind == "yielded"


def test_no_barge_in_without_an_open_reply() -> None:
    log = talking()
    log.off(2000, "r1")
    log.closed(2300, "r1")
    log.caller(1, 3000, 3500)
    log.caller_ends(1, 3500)
    log.end(9000)
    assert facts(log, BargeInOpened) == []
    assert facts(log, BargeInClosed) == []


@pytest.mark.parametrize(
    ("log", "silent"),
    [
        (backchannel(3500), 600.0),
        (backchannel(3500, again=4400), 900.0),
        (backchannel(3500, again=3900), None),  # went on within 0.6 s
        (backchannel(4200), None),  # fell silent too late to be an answer to it
        (backchannel(3500, flush=False), None),  # nothing proves that it was cut
        (backchannel(3500, end=3800), None),  # the log ends before it can be told
    ],
)
def test_false_yield(log: Log, silent: float | None) -> None:
    found = facts(log, FalseYield)
    assert [f.silent_ms for f in found] == ([] if silent is None else [silent])
    assert facts(log, BargeInOpened) == []


@pytest.mark.parametrize(
    ("on", "off", "text", "kind", "overlap"),
    [
        (3500, 6000, "let me stop you there", "cut_in", 1500.0),
        (4800, 7000, "right so", "terminal_overlap", 200.0),
        (3500, 3900, "mm-hm", "agent_backchannel", 400.0),
        (3500, 3900, "one two three", "cut_in", 400.0),  # short, but too many words
        (3500, 4700, "okay", "cut_in", 1200.0),  # one word, but too long
    ],
)
def test_cut_in(on: float, off: float, text: str, kind: str, overlap: float) -> None:
    log = Log()
    log.start()
    log.caller(1, 2000, 5000)
    log.reply(on - 100, "r1")
    log.on(on, "r1")
    if off < 5000:
        log.off(off, "r1")
        log.closed(off + 270, "r1", text=text)
        log.caller_ends(1, 5000)
    else:
        log.caller_ends(1, 5000)
        log.off(off, "r1")
        log.closed(off + 270, "r1", text=text)
    log.end(12000)
    assert [(f.kind, f.overlap_ms, f.onset_ms) for f in facts(log, CutIn)] == [(kind, overlap, on)]
    assert facts(log, BargeInOpened) == []


def test_a_backchannel_just_before_the_turn_ends_is_judged_once_its_end_is_known() -> None:
    log = Log()
    log.start()
    log.caller(1, 2000, 5000)
    log.reply(4000, "r1")
    log.on(4000, "r1")
    log.caller_ends(1, 5000)
    log.off(4960, "r1")
    log.closed(5300, "r1", text="mm-hm")
    log.end(9000)
    assert [f.kind for f in facts(log, CutIn)] == ["agent_backchannel"]


@pytest.mark.parametrize(("on", "latency"), [(3412.0, 412.0), (2850.0, -150.0), (3000.0, 0.0)])
@pytest.mark.parametrize("after_tool", [False, True])
def test_answers_are_measured_from_the_last_syllable_and_signed(on: float, latency: float, after_tool: bool) -> None:
    found = facts(asked(on, after_tool=after_tool), ResponseMeasured)
    assert [(f.first_audible_ms, f.first_byte_ms, f.leading_silence_ms, f.after_tool, f.reply) for f in found] == [
        (latency, latency - 150, 40, after_tool, "r1")
    ]


def test_an_agents_backchannel_is_not_the_answer() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 5000)
    log.reply(1900, "r1")
    log.on(2000, "r1")
    log.off(2400, "r1")
    log.closed(2700, "r1", text="mm-hm")
    log.caller_ends(1, 5000)
    log.reply(5300, "r2")
    log.on(5450, "r2")
    log.off(7000, "r2")
    log.end(9000)
    assert [(f.reply, f.first_audible_ms) for f in facts(log, ResponseMeasured)] == [("r2", 450.0)]


def test_a_backchannel_whose_end_is_not_known_yet_is_not_the_answer() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 5000)
    log.reply(4500, "r1")
    log.on(4550, "r1")
    log.caller_ends(1, 5000)
    log.off(4900, "r1")
    log.closed(5180, "r1", text="mm-hm")
    log.reply(5300, "r2")
    log.on(5450, "r2")
    log.off(7000, "r2")
    log.end(9000)
    assert [(f.reply, f.first_audible_ms) for f in facts(log, ResponseMeasured)] == [("r2", 450.0)]


def test_the_interrupted_reply_is_no_answer_and_an_unanswered_turn_has_no_latency() -> None:
    found = facts(yielded(), ResponseMeasured)
    assert [(f.turn, f.reply, f.first_audible_ms) for f in found] == [(1, None, None)]


def test_the_next_turn_leaves_the_one_before_unanswered() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 2000)
    log.caller_ends(1, 2000)
    log.caller(2, 8000, 9000)
    log.caller_ends(2, 9000)
    log.reply(9200, "r1")
    log.on(9300, "r1")
    log.off(9900, "r1")
    log.end(12000)
    assert [(f.turn, f.reply, f.first_audible_ms) for f in facts(log, ResponseMeasured)] == [
        (1, None, None),
        (2, "r1", 300.0),
    ]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (waiting(None), [("dead_air", 2000.0, 6500.0, None)]),
        (waiting((2500, 6000)), [("silent_wait", 2000.0, 6500.0, "search")]),
        (waiting((1200, 1800)), [("dead_air", 2000.0, 6500.0, None)]),  # over before the silence began
        (waiting(None, until=4900), []),
    ],
)
def test_silence(log: Log, expected: list[Any]) -> None:
    assert [(f.kind, f.from_ms, f.to_ms, f.tool) for f in facts(log, SilenceMeasured)] == expected


def test_a_refused_call_is_no_running_tool() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 2000)
    log.caller_ends(1, 2000)
    log.tool(2100, "t1", "nothing", error="there is no tool nothing")
    log.end(7000)
    assert [(f.kind, f.to_ms) for f in facts(log, SilenceMeasured)] == [("dead_air", 7000.0)]


def live(events: Sequence[Event], step: float = 20.0) -> list[AnyFact]:
    """As the conductor does it: time passes in frames, and every event is learned as it is noted."""
    meter = FloorMeter()
    out: list[AnyFact] = []
    now = 0.0
    for event in events:
        while now + step <= event.media_ms:
            now += step
            out += [m.fact for m in meter.advance(now)]
        out += [m.fact for m in meter.take(event)]
    return out


def recorded(events: Sequence[Event], step: float = 20.0) -> list[Event]:
    """The log that a live session would leave: measured facts in it, numbered through."""
    log = Log()
    meter = FloorMeter()
    now = 0.0
    for event in events:
        while now + step <= event.media_ms:
            now += step
            for m in meter.advance(now):
                log.add(now, m.fact)
        log.add(event.media_ms, event.fact)
        for m in meter.take(event):
            log.add(event.media_ms, m.fact)
    return log.events


@pytest.mark.parametrize("build", SCENES)
def test_live_and_offline_give_the_same_facts(build: Callable[[], Log]) -> None:
    events = build().events
    offline = [m.fact for m in measure(events)]
    assert offline
    assert sorted(map(repr, live(events))) == sorted(map(repr, offline))
    assert disagreements(recorded(events)) == []


@given(st.sampled_from(SCENES), st.data())
def test_a_log_cut_anywhere_agrees_with_itself(build: Callable[[], Log], data: st.DataObject) -> None:
    events = recorded(build().events)
    end = next(i for i, e in enumerate(events) if e.type == "session.ended")
    cut = data.draw(st.integers(1, end))
    assert disagreements(events[:cut]) == []
    measure(events[:cut])


def test_a_changed_or_missing_fact_is_named() -> None:
    events = recorded(yielded().events)
    at = next(i for i, e in enumerate(events) if isinstance(e.fact, BargeInClosed))
    fact = events[at].fact
    forged = fact.model_copy(update={"stop_delay_ms": 41.0})
    changed = [*events[:at], Event(at, events[at].media_ms, 0, forged, "harness"), *events[at + 1 :]]
    found = disagreements(changed)
    assert len(found) == 2
    assert '"stop_delay_ms":41.0' in found[0]
    assert found[0].startswith("logged, but not recomputed: barge_in.closed")
    assert found[1].startswith("recomputed, but not logged: barge_in.closed")
    without = [e for e in events if not isinstance(e.fact, MEASURED)]
    assert len(disagreements(without)) == len(events) - len(without)


def test_a_log_that_was_cut_is_closed_at_its_last_event() -> None:
    events = [e for e in cut_by_end().events if e.type != "session.ended"]
    kinds = [m.fact.stop_kind for m in measure(events) if isinstance(m.fact, BargeInClosed)]
    assert kinds == ["censored"]
    assert measure([]) == []
