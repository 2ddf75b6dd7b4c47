from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from tui_sample import session, to_events, until_stale

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact, Event
from apex_tui.timeline.fork import fork
from apex_tui.timeline.view import SessionView
from apex_tui.tui.feed import Feed
from apex_tui.tui.player import SPEEDS, Player


def test_feed_folds_what_came_in_bounded_slices() -> None:
    feed = Feed()
    for event in session():
        feed.push(event)
    assert feed.advance(10) >= {"events"}
    assert feed.state.events == 10
    assert feed.waiting == len(session()) - 10
    while feed.waiting:
        feed.advance(10)
    assert feed.state == SessionView.fold(session()).state
    assert len(feed.events) == len(session())


def test_a_held_feed_counts_and_shows_nothing_new() -> None:
    feed = Feed()
    feed.held = True
    for event in until_stale():
        feed.push(event)
    assert feed.advance() == frozenset()
    assert feed.waiting == len(until_stale())
    assert feed.state.events == 0
    feed.held = False
    feed.advance()
    assert feed.state.events == len(until_stale())


def test_an_event_seen_twice_is_shown_once() -> None:
    feed = Feed()
    for event in [*until_stale(), *until_stale()]:
        feed.push(event)
    feed.advance()
    assert len(feed.events) == len(until_stale())


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(min_value=-1000, max_value=30_000), min_size=1, max_size=12))
def test_seeking_anywhere_equals_folding_up_to_there(moments: list[float]) -> None:
    player = Player(session())
    for moment in moments:
        player.seek(moment)
    assert player.state == SessionView.at(session(), player.at_ms).state
    assert 0 <= player.at_ms <= player.end_ms


def test_steps_tell_events_of_one_instant_apart() -> None:
    player = Player(session())
    player.seek(17_504)
    before = player.count
    player.step(-1)
    assert player.count == before - 1
    assert player.at_ms == 17_504
    player.step(1)
    assert player.count == before
    player.step(-10_000)
    assert (player.count, player.at_ms) == (0, 0.0)


def test_jumps_go_to_barge_ins_and_versions() -> None:
    player = Player(session())
    assert player.to_barge_in(1)
    assert player.at_ms == 15_300
    assert not player.to_barge_in(1)
    assert player.to_version(-1)
    assert player.at_ms == 11_920
    assert player.state.artifacts["leave_form"].versions[-1].number == 2
    assert player.to_version(1)
    assert player.at_ms == 17_504
    assert not player.to_version(1)


def test_playing_moves_with_the_speed_and_stops_at_the_end() -> None:
    player = Player(session())
    assert not player.tick(1.0)
    player.toggle()
    assert player.tick(0.5)
    assert player.at_ms == 500
    player.change_speed(1)
    player.tick(1.0)
    assert player.at_ms == 2500
    player.tick(100.0)
    assert (player.at_ms, player.playing) == (26_000, False)
    player.toggle()
    assert player.at_ms == 0.0
    for _ in range(20):
        player.change_speed(1)
    assert player.speed == SPEEDS[-1]
    for _ in range(20):
        player.change_speed(-1)
    assert player.speed == SPEEDS[0]


def test_an_empty_recording_can_be_played() -> None:
    player = Player([])
    player.toggle()
    player.tick(1.0)
    player.step(1)
    assert player.at_ms == player.end_ms == 0.0


def _with_rare_facts() -> list[Event]:
    """The sample session, its last words, and facts that change rows which stood still for long."""
    about: dict[str, Any] = {"action": "x", "target": "leave_form", "artifact": None, "version": None, "digest": None}
    rare: list[AnyFact] = [
        a.AgentHeardCaller(item="i1", text="Hi, I would like", final=True),
        a.AgentUsage(part="agent", counts={"tokens": 3.0}),
        a.AgentUsage(part="agent", counts={"tokens": 4.0}),
        a.LateDropped(reply="r1", dropped_ms=20),
        w.ApprovalRequested(request="q8", **about),
        w.ApprovalRequested(request="q9", **about),
        w.ApprovalGranted(approval="a8", request="q9", **about, granted_ms=1),
        w.ApprovalRevoked(action="x", target=None, approvals=("a8",), requests=("q9",), revoked_ms=2),
        w.ToolCalled(call="c9", name="x", arguments={}),
        w.ToolCancelled(call="c9", name="x", reason="over"),
        w.ArtifactStale(artifact="leave_form", version=9, fields={"end_date": "moved"}, since_ms=1),
    ]
    known = session()
    return [*known, *to_events([(26_000, fact) for fact in rare], len(known))]


def test_views_share_what_neither_changes_and_no_more() -> None:
    events = _with_rare_facts()
    view, stops = SessionView(), []
    for event in events:
        stops.append(fork(view))
        view.apply(event)
    for place, stop in enumerate(stops):
        twin = fork(stop)
        for event in events[place:]:
            twin.apply(event)
        assert twin.state == view.state
    so_far = SessionView()
    for event, stop in zip(events, stops, strict=True):
        assert (stop.state, stop._memory) == (so_far.state, so_far._memory)
        so_far.apply(event)
    assert (view.state, view._memory) == (so_far.state, so_far._memory)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0, 26_000), min_size=1, max_size=12))
def test_seeks_from_kept_stops_give_the_same_state(places: list[float]) -> None:
    with mock.patch("apex_tui.tui.player.STOP", 7):
        player = Player(session())
        for ms in places:
            player.seek(ms)
            assert player.state == SessionView.at(session(), ms).state
            player.step(1)
            player.step(-1)
            assert player.state == SessionView.fold(session()[: player.count]).state
