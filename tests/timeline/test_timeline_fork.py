"""A fork goes its own way: what happens to it does not happen to the view that it was taken from."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_facts import any_log

from apex_tui.timeline.events import Event
from apex_tui.timeline.fork import fork
from apex_tui.timeline.view import SessionView


@settings(max_examples=80, deadline=None)
@given(events=any_log(40), share=st.floats(0, 1))
def test_both_go_on_as_if_the_other_was_not_there(events: Sequence[Event], share: float) -> None:
    place = int(len(events) * share)
    view = SessionView.fold(events[:place])
    twin = fork(view)
    assert (twin.state, twin._memory) == (view.state, view._memory)
    for event in events[place:]:
        twin.apply(event)
    first, whole = SessionView.fold(events[:place]), SessionView.fold(events)
    assert (view.state, view._memory) == (first.state, first._memory)
    assert (twin.state, twin._memory) == (whole.state, whole._memory)
    for event in events[place:]:
        view.apply(event)
    assert (view.state, view._memory) == (whole.state, whole._memory)
