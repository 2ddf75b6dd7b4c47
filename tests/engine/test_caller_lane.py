from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.engine.caller_lane import CallerLane, Utterance


def _utterance(start: int, length: int) -> Utterance:
    pcm = np.arange(1, length + 1, dtype=np.int16)
    return Utterance(
        turn=1, plan="open", act="OPENING_REQUEST", text="Hi", facts=(), values={}, floor="AFTER_FLOOR_RELEASE", clip="open.v1",
        pcm=pcm, start=start, onset=start, end=start + length, value_end=start + length,
    )  # fmt: skip


@given(start=st.integers(0, 2000), length=st.integers(1, 3000))
def test_every_sample_of_a_clip_lies_where_it_was_placed(start: int, length: int) -> None:
    lane = CallerLane()
    said = _utterance(start, length)
    lane.place(said)
    whole = np.concatenate([lane.frame(k) for k in range(12)])
    expected = np.zeros(12 * 480, dtype=np.int16)
    expected[start : start + length] = said.pcm
    assert np.array_equal(whole, expected)
    assert not lane.speaking


def test_silence_between_utterances_is_part_of_the_lane() -> None:
    assert not CallerLane().frame(0).any()


def test_two_utterances_at_once_are_refused() -> None:
    lane = CallerLane()
    lane.place(_utterance(0, 5000))
    with pytest.raises(ValueError, match="still being spoken"):
        lane.place(_utterance(10_000, 10))
