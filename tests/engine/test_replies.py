from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.audio.playout import PlayOut
from apex_tui.engine.replies import Replies, heard_prefix


def test_all_words_are_heard_once_all_audio_was_played() -> None:
    assert heard_prefix("Sure. One moment.", 900.0, 900.0, True) == "Sure. One moment."


def test_nothing_is_heard_before_anything_was_played() -> None:
    assert heard_prefix("Sure.", 0.0, 900.0, True) == ""
    assert heard_prefix("Sure.", 0.0, 0.0, False) == ""


def test_half_the_audio_is_about_half_the_words_and_only_whole_ones() -> None:
    assert heard_prefix("one two three four five six", 1000.0, 2000.0, False) == "one two three"


def test_text_that_runs_ahead_of_its_audio_is_not_heard() -> None:
    long = "word " * 100
    assert len(heard_prefix(long, 1000.0, 1000.0, False)) <= 30


@given(st.text(alphabet="ab ", max_size=80), st.floats(0, 5000), st.floats(0, 5000), st.booleans())
def test_the_heard_words_are_a_prefix_that_grows(text: str, played: float, more: float, complete: bool) -> None:
    text = text.strip()
    first = heard_prefix(text, played, 5000.0, complete)
    second = heard_prefix(text, min(5000.0, played + more), 5000.0, complete)
    assert text.startswith(first)
    assert len(second) >= len(first)


def test_a_reply_closes_when_it_is_complete_and_played() -> None:
    playout = PlayOut()
    replies = Replies(playout)
    book = replies.begin("r1", 5, False)
    replies.words("r1", "i1", "Hello there", False)
    playout.push(0, "r1", "i1", np.full(960, 1000, dtype=np.int16))
    playout.seal(480)
    book.status = "completed"
    playout.complete("r1")
    assert replies.due_to_close() == []
    playout.seal(960)
    assert replies.due_to_close() == [book]
    assert replies.heard(book) == "Hello there"
    replies.close(book)
    assert replies.open is None


def test_a_whole_without_words_takes_none_back() -> None:
    replies = Replies(PlayOut())
    book = replies.begin("r1", 5, False)
    assert replies.words("r1", "i1", "Hello", False)
    assert not replies.words("r1", "i1", "", True)
    assert replies.words("r1", "i1", " there", False)
    assert book.text == "Hello there"


def test_a_flushed_reply_keeps_only_the_words_that_were_played() -> None:
    playout = PlayOut()
    replies = Replies(playout)
    book = replies.begin("r1", 5, False)
    replies.words("r1", "i1", "one two three four", True)
    playout.push(0, "r1", "i1", np.full(48_000, 1000, dtype=np.int16))
    playout.seal(24_000)
    playout.flush(24_000)
    book.flushed = True
    playout.seal(24_480)
    assert replies.due_to_close() == [book]
    assert replies.heard(book) == "one two"


def test_words_that_nobody_can_have_said_yet_are_not_heard_where_a_reply_may_have_been_broken_off() -> None:
    text = "This sentence has very many words of which one second of sound cannot hold all."
    for tells_end, heard in ((True, text), (False, "This sentence has very many")):
        playout = PlayOut()
        replies = Replies(playout, tells_end=tells_end)
        book = replies.begin("r1", 5, False)
        replies.words("r1", "i1", text, False)
        playout.push(0, "r1", "i1", np.full(24_000, 1000, dtype=np.int16))
        playout.seal(24_000)
        book.status = "completed"
        assert replies.heard(book) == heard
