"""Finding moments: the packed archive, search, kinds, typed places, comparisons of versions, running again, the failing moment."""

from pathlib import Path
from typing import Any

import pytest
import tui_sample as sample
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.score.verdict import GateVerdict
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline.log import read_log
from apex_tui.timeline.messages import Run
from apex_tui.timeline.state import State
from apex_tui.timeline.view import SessionView
from apex_tui.tui.again import failing_ms, run_again
from apex_tui.tui.archive import BLOCK, LOOSE, Archive
from apex_tui.tui.compare import MISSING, Wish, compared, differences
from apex_tui.tui.player import Player
from apex_tui.tui.search import found_in, moment, of_kind

EVENTS = sample.session()
WHOLE = SessionView.fold(EVENTS).state


def test_the_archive_gives_back_every_event_packed_or_not() -> None:
    facts: list[tuple[float, Any]] = [
        (n, a.AgentError(kind="k", message=f"{n} \ud800 \n")) for n in range(LOOSE + 3 * BLOCK)
    ]
    events = sample.to_events(facts)
    archive = Archive()
    for event in events:
        archive.append(event)
    assert len(archive) == len(events)
    assert archive[0] == events[0]
    assert archive[BLOCK - 1 : BLOCK + 1] == events[BLOCK - 1 : BLOCK + 1]
    assert archive[-1] == events[-1]
    assert list(archive) == events
    with pytest.raises(IndexError):
        archive[len(events)]


def test_search_finds_words_of_speech_and_types_whatever_the_case() -> None:
    assert next(EVENTS[i].type for i in found_in(EVENTS, "SIXTEENTH")) == "caller.turn_started"
    assert all(EVENTS[i].type == "artifact.version" for i in found_in(EVENTS, "artifact.version"))
    assert found_in(EVENTS, "  ") == found_in(EVENTS, "no such words") == []


def test_a_kind_is_a_beginning_or_a_word_of_the_type() -> None:
    assert {EVENTS[i].type for i in of_kind(EVENTS, "tool")} == {"tool.called", "tool.finished"}
    assert {EVENTS[i].type for i in of_kind(EVENTS, "granted")} == {"approval.granted"}
    assert of_kind(EVENTS, "") == of_kind(EVENTS, "ool") == []


def test_stepping_goes_through_the_kept_events_only() -> None:
    player = Player(EVENTS)
    player.kept = of_kind(EVENTS, "artifact")
    seen = []
    for step in (1, 1, 1, 1, -1, -1, -1):
        player.step(step)
        seen.append(EVENTS[player.count - 1].media_ms)
    assert seen == [10_604, 11_920, 17_504, 17_504, 11_920, 10_604, 10_604]
    player.seek(17_000)
    player.step(-1)
    assert player.at_ms == 11_920


@pytest.mark.parametrize(
    ("typed", "ms"),
    [
        ("1:02.5", 62_500),
        ("83", 83_000),
        ("v3", 17_504),
        ("B1", 15_300),
        ("t2", 10_620),
        ("a1", 14_000),
        ("#0", 0),
        ("s1", 24_600),
    ],
)
def test_what_is_typed_is_a_moment(typed: str, ms: float) -> None:
    found = moment(typed, WHOLE, EVENTS)
    if typed == "s1":
        ms = WHOLE.decisions[1][1]  # of one call: at the call, and at its completion
    assert found == ms


def test_a_thing_that_was_gone_to_is_there_whenever_its_sound_began() -> None:
    (folder,) = (Path(__file__).resolve().parents[2] / "sessions" / "examples").glob("2*")
    events = read_log(folder / "events.jsonl").events
    player = Player(events)

    def at(typed: str) -> State:
        found = moment(typed, player.whole, events)
        assert isinstance(found, float)
        player.seek(found)
        return player.state

    assert 1 in at("b1").barge_ins
    assert [a.state for a in at("a1").approvals.values()] == ["bound"]
    assert [a.state for a in at("s1").approvals.values()] == ["used"]
    for mark in player.whole.marks:
        player.to_event(mark.seq)
        assert any(shown.seq == mark.seq for shown in player.state.marks), mark


@pytest.mark.parametrize("typed", ["", "v9", "b7", "t99", "a3", "s9", "#99999", "x1", "1:2:3", "-4"])
def test_what_is_no_moment_is_told_in_a_sentence(typed: str) -> None:
    found = moment(typed, WHOLE, EVENTS)
    assert isinstance(found, str)
    assert found.endswith(".")


def test_versions_are_compared_with_previous_final_gold_and_each_other() -> None:
    now = SessionView.at(EVENTS, 12_000).state.artifacts["leave_form"]
    verdict = sample.score()

    def rows(wish: Wish, whole: State | None = WHOLE) -> dict[str, tuple[Any, Any]]:
        made = compared(wish, now, whole, verdict)
        assert made is not None
        return {r.field: (r.left, r.right) for r in made.rows}

    assert rows(Wish("previous")) == {"working_days": (MISSING, 5), "handover_to": (MISSING, "M. Ruiz")}
    assert rows(Wish("final")) == {"end_date": ("2026-12-18", "2026-12-16"), "working_days": (5, 3)}
    assert rows(Wish("gold")) == {"end_date": ("2026-12-18", "2026-12-16"), "reason": (MISSING, None)}
    assert rows(Wish("versions", (2, 1))) == {"working_days": (5, MISSING), "handover_to": ("M. Ruiz", MISSING)}
    assert compared(Wish(), now, WHOLE, verdict) is None
    problems = [
        compared(Wish("versions", (1, 7)), now, None, None), compared(Wish("final"), now, None, None),
        compared(Wish("gold"), now, None, None),
    ]  # fmt: skip
    assert [bool(p is not None and p.problem) for p in problems] == [True] * 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s, max_size=2), max_leaves=4
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=5), st.dictionaries(st.text(max_size=3), JSON, max_size=5))
def test_differences_turn_one_side_into_the_other(left: dict[str, Any], right: dict[str, Any]) -> None:
    made = dict(left)
    for row in differences(left, right):
        if row.right is MISSING:
            del made[row.field]
        else:
            made[row.field] = row.right
    assert made == right
    assert {k: type(v) for k, v in made.items() if isinstance(v, bool)} == {
        k: type(v) for k, v in right.items() if isinstance(v, bool)
    }
    assert differences(left, left) == ()


def test_the_same_run_again_has_workflow_seed_agent_and_parameters() -> None:
    assert run_again(WHOLE) == Run(workflow="leave-request", agent="rehearsal", seed=7, profile="strict")
    assert "cannot be run again" in str(run_again(State()))
    started = WHOLE.started
    assert started is not None
    state = State(started=started.model_copy(update={
        "rehearsal": False, "agent": "openai",
        "parameters": {"model": "m", "max_s": 9.0, "channel": "telephone", "instructions": "coaching", "x": 1}}))  # fmt: skip
    state.connected = a.AgentConnected(family="f", url="ws://h:1/v1?model=m", instructions_sha256="0", tools_sha256="0")
    assert run_again(state) == Run(workflow="leave-request", agent="openai", seed=7, url="ws://h:1/v1", model="m", max_s=9.0,
                                   channel="telephone", instructions="coaching")  # fmt: skip
    parts = {"llm": "http://a/v1"}
    cascade = {"rehearsal": False, "agent": "cascade", "parameters": {"url": None, "parts": parts}}
    state.started = started.model_copy(update=cascade)
    assert run_again(state) == Run(workflow="leave-request", agent="cascade", seed=7, parts=parts)
    state.started = started.model_copy(
        update={"rehearsal": False, "agent": "chat", "parameters": {"url": "http://b/v1"}}
    )
    assert run_again(state) == Run(workflow="leave-request", agent="chat", seed=7, url="http://b/v1")
    state.started = started.model_copy(update={"caller": "microphone"})
    assert "microphone" in str(run_again(state))


def test_the_failing_moment_is_that_of_the_last_event_that_the_first_failed_check_rests_on() -> None:
    (check,) = sample.score(False).gates[3].checks
    assert check.evidence == (41, 52)
    assert failing_ms(sample.score(False), EVENTS) == EVENTS[52].media_ms == 17_800
    assert failing_ms(sample.score(), EVENTS) is None
    nobody = sample.score(False).model_copy(update={"validity": "operator"})
    assert failing_ms(nobody, EVENTS) is None, "a run that judges nobody did not fail"
    bare = sample.score(False).model_copy(
        update={"gates": (GateVerdict(gate="TS", passed=False, reason="r"),), "fields": ()}
    )
    assert failing_ms(bare, EVENTS) is None
