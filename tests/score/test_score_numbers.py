"""Summaries, bands, shares, overlap and tool counts, each by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_logs import Log, leave_gold, workflow

from apex_tui.score.case import build
from apex_tui.score.floor import measure
from apex_tui.score.floor_numbers import band_of, floor_of, latency_of, overlap_ratio, percentile, summarise
from apex_tui.score.tool_use import tool_use
from apex_tui.score.verdict import Floor, ToolUse
from apex_tui.workflow.outcome_model import Reference


def test_percentiles_only_from_twenty_values() -> None:
    few = summarise(range(19))
    assert (few.n, few.values, few.median, few.p95) == (19, tuple(range(19)), None, None)
    many = summarise(range(21))
    assert (many.n, many.values, many.median, many.p95) == (21, (), 10, 19.0)
    assert summarise([]).n == 0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_lies_among_its_values(values: list[float], share: float) -> None:
    assert min(values) - 1e-6 <= percentile(values, share) <= max(values) + 1e-6
    assert percentile(values, 0) == min(values)
    assert percentile(values, 1) == max(values)


@pytest.mark.parametrize(
    ("values", "band"),
    [([], None), ([-300], "natural"), ([600], "natural"), ([601], "holds together"), ([600, 2400], "holds together"), ([1500, 1502], "strained")],
)  # fmt: skip
def test_bands(values: list[float], band: str | None) -> None:
    assert band_of(values) == band


def stops(*kinds: str) -> Floor:
    """One barge-in of each kind, ten seconds apart."""
    log = Log()
    log.start()
    for n, kind in enumerate(kinds):
        at, reply = 10_000.0 * n, f"r{n}"
        log.reply(at + 900, reply)
        log.on(at + 1000, reply)
        if kind == "natural_end":
            log.generated(at + 1500, reply)
        if kind == "in_pause":
            log.off(at + 2500, reply)
        log.caller(n, at + 3000, at + 4500)
        if kind == "yielded":
            log.flushed(at + 3090, reply)
        if kind not in ("not_stopped", "in_pause", "censored"):
            log.off(at + 3200, reply)
            log.closed(at + 3500, reply, "flushed" if kind == "yielded" else "played")
        if kind == "resumed":
            log.on(at + 3600, reply)
        log.caller_ends(n, at + 4500)
        if kind == "censored":
            log.end(at + 4600)
            break
        if kind in ("not_stopped", "resumed"):
            log.off(at + 6000, reply)
        log.closed(at + 6300, reply)
    return floor_of(log.events, measure(log.events), log.events[-1].media_ms)


def test_the_share_counts_overlaps_that_were_observed_and_leaves_no_bad_one_out() -> None:
    floor = stops("yielded", "natural_end", "unattributed", "not_stopped", "resumed", "in_pause", "censored")
    assert [row.stop_kind for row in floor.barge_ins] == [
        "yielded", "natural_end", "unattributed", "not_stopped", "resumed", "unattributed", "censored",
    ]  # fmt: skip
    assert [row.kind for row in floor.barge_ins].index("in_pause") == 5
    assert (floor.yielded_n, floor.observed_n, floor.yielded_share) == (1, 5, 0.2)
    assert floor.stop_delay_ms.values == (200.0, 2000.0, 200.0)  # the one that did not stop stands at the window


def test_without_a_barge_in_there_is_no_share() -> None:
    floor = floor_of([], [], 0.0)
    assert (floor.yielded_share, floor.observed_n, floor.overlap_ratio) == (None, 0, None)


def test_kinds_of_overlap_and_unanswered_turns_are_counted() -> None:
    log = Log()
    log.start()
    log.caller(1, 1000, 4000)
    log.reply(1900, "r1")
    log.on(2000, "r1")
    log.off(2400, "r1")
    log.closed(2700, "r1", text="mm-hm")
    log.reply(2800, "r2")
    log.on(3000, "r2")
    log.off(3200, "r2")
    log.closed(3500, "r2", text="now wait a moment")
    log.reply(3600, "r3")
    log.on(3800, "r3")
    log.caller_ends(1, 4000)
    log.off(6000, "r3")
    log.closed(6300, "r3")
    log.caller(2, 7000, 7500)
    log.caller_ends(2, 7500)
    log.tool(7600, "t1", "search")
    log.end(12000)
    measured = measure(log.events)
    floor, latency = floor_of(log.events, measured, 12000), latency_of(measured, None)
    assert (floor.cut_ins, floor.terminal_overlaps, floor.agent_backchannels) == (1, 1, 1)
    assert floor.overlap_ratio == round((400 + 200 + 200) / 12000, 4)
    assert (latency.unanswered, latency.silent_wait_n, latency.dead_air_n) == (1, 1, 0)
    assert latency.first_audible_ms.values == (-200.0,)
    assert latency.band == "natural"


def test_overlap_of_a_cut_log_ends_with_it() -> None:
    log = Log()
    log.start()
    log.on(1000, "r1")
    log.on(1500, "r2")  # one lane: the first stretch ended here at the latest
    log.caller(1, 2000, 9000, pauses=((2200, 2400),))
    assert overlap_ratio(log.events, 4000) == round((200 + 1600) / 4000, 4)


def counted(*calls: tuple[str, dict[str, Any], str | None], **changes: Any) -> ToolUse:
    log = Log()
    log.start()
    for n, (name, arguments, error) in enumerate(calls):
        log.tool(100 * n, f"t{n}", name, arguments, error=error)
    return tool_use(build(log.events, workflow(leave_gold(), **changes), "strict"))


@pytest.mark.parametrize(
    ("name", "arguments", "error", "invalid"),
    [
        ("search", {}, "refused", True),
        ("search", {"query": "x"}, "the arguments could not be read", True),
        ("search", {"query": 5}, "refused", True),
        ("search", {"query": True}, "refused", True),
        ("search", {"query": "x", "more": 1}, "refused", True),
        ("search", {"query": "x"}, "say who is calling first", False),
        ("submit_form", {"target_id": "other"}, "refused", True),
        ("submit_form", {"target_id": "form"}, "refused", False),
        ("update_form", {"fields": {"employee": "x"}}, "the form is committed", False),
        ("update_form", {"fields": {"shoe_size": 44}}, "refused", True),
        ("update_form", {"fields": "x"}, "refused", True),
        ("teleport", {}, "refused", False),
    ],
)
def test_invalid_arguments(name: str, arguments: dict[str, Any], error: str, invalid: bool) -> None:
    use = counted((name, arguments, error))
    assert use.invalid_arguments == int(invalid)
    assert use.unknown_tool == int(name == "teleport")
    assert (use.calls, use.ok, use.failed) == (1, 0, 1)


def test_calls_that_still_run_are_only_counted() -> None:
    use = counted(("search", {"query": "x"}, None), ("search", {"query": "x"}, None), reference=Reference())
    assert (use.calls, use.ok, use.failed, use.cancelled, use.repeated) == (2, 0, 0, 0, 0)
    assert use.ratio is None


def test_a_refusal_by_the_guard_is_no_invalid_argument() -> None:
    log = Log()
    log.start()
    log.tool(100, "t1", "submit_form", {}, error="needs approval")
    log.decided(100, "t1", "PREMATURE", "call")
    use = tool_use(build(log.events, workflow(leave_gold()), "strict"))
    assert (use.invalid_arguments, use.failed) == (0, 1)


def test_the_same_failure_twice_is_a_repetition() -> None:
    assert counted(("search", {}, "no"), ("search", {}, "no"), ("search", {}, "other")).repeated == 1
