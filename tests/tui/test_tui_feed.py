from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from tui_sample import session, until_stale

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


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 26_000), min_size=1, max_size=12))
def test_seeks_from_pickled_stops_give_the_same_state(places: list[float]) -> None:
    with mock.patch("apex_tui.tui.player.STOP", 7):
        player = Player(session())
        for ms in places:
            player.seek(ms)
            assert player.state == SessionView.at(session(), ms).state
            player.step(1)
            player.step(-1)
            assert player.state == SessionView.fold(session()[: player.count]).state
