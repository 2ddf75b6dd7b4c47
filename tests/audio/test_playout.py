"""Play-out on the sample clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apex_tui.audio import playout
from apex_tui.audio.frames import Pcm, silence
from apex_tui.audio.playout import ItemPlayed, PlayOut, Sealed, Span


def tone(samples: int, value: int = 1000) -> Pcm:
    return np.full(samples, value, dtype=np.int16)


def test_audio_starts_at_its_sample_inside_a_frame() -> None:
    out = PlayOut()
    out.push(100, "r", "i", tone(200))
    sealed = out.seal(480)
    assert len(sealed.pcm) == 480
    assert not sealed.pcm[:100].any()
    assert (sealed.pcm[100:300] == 1000).all()
    assert not sealed.pcm[300:].any()
    assert sealed.spans == (Span("r", "i", 100, 0, 200),)


def test_audio_queues_behind_what_waits_and_a_gap_starts_anew() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(700, 1))
    out.push(10, "r", "j", tone(300, 2))
    out.push(1200, "s", "k", tone(10, 3))
    sealed = out.seal(1440)
    assert sealed.spans == (Span("r", "i", 0, 0, 700), Span("r", "j", 700, 0, 300), Span("s", "k", 1200, 0, 10))
    assert sealed.pcm.tolist() == [1] * 700 + [2] * 300 + [0] * 200 + [3] * 10 + [0] * 230


def test_a_push_before_the_seal_plays_at_the_seal() -> None:
    out = PlayOut()
    out.seal(480)
    out.push(200, "r", "i", tone(10))
    assert out.seal(960).spans == (Span("r", "i", 480, 0, 10),)


def test_spans_go_on_where_the_item_was_left() -> None:
    out = PlayOut()
    for _ in range(3):
        out.push(0, "r", "i", tone(300))
    assert out.seal(480).spans == (Span("r", "i", 0, 0, 480),)
    assert out.seal(960).spans == (Span("r", "i", 480, 480, 420),)


def test_counts_while_a_reply_plays_out() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(500))
    out.push(0, "r", "j", tone(100))
    assert (out.pending(), out.pending_of("r"), out.playing) == (600, 600, "r")
    out.seal(480)
    assert (out.played("i"), out.received("i"), out.pending()) == (480, 500, 120)
    out.complete("r")
    assert not out.is_played_out("r")
    out.seal(960)
    assert out.is_played_out("r")
    assert (out.played("i"), out.played("j"), out.pending_of("r"), out.playing) == (500, 100, 0, None)


def test_a_reply_that_is_not_complete_is_not_played_out() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(10))
    out.seal(480)
    assert not out.is_played_out("r")
    out.complete("r")
    assert out.is_played_out("r")


def test_a_flush_inside_a_frame_fades_for_5_ms_and_drops_the_rest() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(600))
    out.push(0, "r", "j", tone(400))
    out.seal(480)
    flushed = out.flush(500)
    assert flushed.items == (ItemPlayed("r", "j", 20, 400),)
    sealed = out.seal(960)
    assert (sealed.pcm[:20] == 1000).all()
    ramp = sealed.pcm[20:140].astype(int)
    assert ramp[0] == 1000
    assert ramp[-1] == round(1000 / 120)
    assert set(np.diff(ramp).tolist()) <= {-8, -9}
    assert not sealed.pcm[140:].any()
    assert sealed.spans == (Span("r", "i", 480, 480, 120), Span("r", "j", 600, 0, 20))


def test_a_flush_reports_every_item_that_lost_audio_also_unheard_ones() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(480))
    out.push(0, "r", "j", tone(480))
    out.push(0, "s", "k", tone(480))
    flushed = out.flush(240)
    assert flushed.items == (
        ItemPlayed("r", "i", 360, 480),
        ItemPlayed("r", "j", 0, 480),
        ItemPlayed("s", "k", 0, 480),
    )
    assert (out.played("i"), out.played("j"), out.pending(), out.playing) == (360, 0, 0, None)
    out.seal(480)
    assert out.played("i") == 360


def test_late_audio_of_a_flushed_reply_is_swallowed_and_a_new_reply_plays_behind_the_fade() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(4800))
    out.flush(240)
    out.push(250, "r", "i", tone(100))
    out.push(250, "s", "k", tone(50, 7))
    assert (out.late_dropped("r"), out.late_dropped("s"), out.received("i")) == (100, 0, 4800)
    assert out.seal(480).spans == (Span("r", "i", 0, 0, 360), Span("s", "k", 360, 0, 50))


def test_a_flush_also_ends_an_open_reply_that_has_run_dry_but_no_finished_one() -> None:
    out = PlayOut()
    out.push(0, "done", "a", tone(10))
    out.complete("done")
    out.push(0, "dry", "b", tone(10))
    out.seal(480)
    assert out.flush(500).items == ()
    out.push(510, "dry", "b", tone(10))
    out.push(510, "done", "a", tone(10))
    assert (out.late_dropped("dry"), out.late_dropped("done")) == (10, 0)


def test_a_flush_of_nothing_changes_nothing() -> None:
    out = PlayOut()
    assert out.flush(100).items == ()
    out.push(120, "r", "i", tone(10))
    assert out.seal(480).spans == (Span("r", "i", 120, 0, 10),)


def test_a_flush_in_a_gap_does_not_sound_what_had_not_begun() -> None:
    out = PlayOut()
    out.push(300, "r", "i", tone(10))
    assert out.flush(250).items == (ItemPlayed("r", "i", 0, 10),)
    assert not out.seal(480).pcm.any()


def test_a_second_flush_leaves_the_first_fade_alone() -> None:
    out = PlayOut()
    out.push(0, "r", "i", tone(4800))
    out.flush(240)
    assert out.flush(300).items == ()
    assert out.seal(480).spans == (Span("r", "i", 0, 0, 360),)


def test_more_than_ten_minutes_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert playout.MAX_WAITING_SAMPLES == 14_400_000
    monkeypatch.setattr(playout, "MAX_WAITING_SAMPLES", 1000)
    out = PlayOut()
    out.push(0, "r", "i", tone(900))
    out.push(0, "r", "i", tone(200))
    assert (out.pending(), out.overflow, out.received("i")) == (1000, 100, 1100)
    out.seal(480)
    out.push(480, "r", "i", tone(480))
    assert (out.pending(), out.overflow) == (1000, 100)
    assert out.seal(2000).spans[-1] == Span("r", "i", 1000, 1100, 480)


def test_a_flood_of_crumbs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playout, "MAX_WAITING_CHUNKS", 10)
    out = PlayOut()
    for _ in range(15):
        out.push(0, "r", "i", tone(1))
    assert (out.pending(), out.overflow) == (10, 5)


def test_the_lane_cannot_be_sealed_backwards() -> None:
    out = PlayOut()
    out.seal(480)
    assert len(out.seal(480).pcm) == 0
    with pytest.raises(ValueError, match="sealed up to sample 480"):
        out.seal(479)


def test_the_senders_buffer_may_be_reused() -> None:
    out = PlayOut()
    buffer = tone(10)
    out.push(0, "r", "i", buffer)
    buffer[:] = 0
    assert (out.seal(480).pcm[:10] == 1000).all()


pushes = st.lists(st.tuples(st.integers(0, 3000), st.sampled_from("abc"), st.integers(0, 900)), max_size=12)


@given(pushes, st.lists(st.integers(0, 700), max_size=8))
def test_every_sample_is_heard_once_in_order_however_the_lane_is_cut(
    arrivals: list[tuple[int, str, int]], cuts: list[int]
) -> None:
    total = 3000 + sum(count for _, _, count in arrivals)
    whole, pieces = PlayOut(), PlayOut()
    for at, item, count in sorted(arrivals):
        for out in (whole, pieces):
            out.push(at, "r", item, tone(count))
    once = whole.seal(total)
    sealed: list[Sealed] = []
    at = 0
    for cut in cuts:
        at = min(total, at + cut)
        sealed.append(pieces.seal(at))
    sealed.append(pieces.seal(total))
    assert np.array_equal(np.concatenate([piece.pcm for piece in sealed]), once.pcm)
    assert int(np.count_nonzero(once.pcm)) == sum(count for _, _, count in arrivals)
    assert whole.pending() == pieces.pending() == 0
    for item in "abc":
        assert whole.played(item) == pieces.played(item) == whole.received(item)


@given(pushes, st.integers(0, 4000), st.integers(0, 4000))
def test_a_flush_never_loses_count(arrivals: list[tuple[int, str, int]], sealed_to: int, flush_at: int) -> None:
    out = PlayOut()
    for at, item, count in sorted(arrivals):
        out.push(at, "r", item, tone(count))
    heard = out.seal(sealed_to)
    flushed = out.flush(flush_at)
    rest = out.seal(20_000)
    spans = heard.spans + rest.spans
    for item in "abc":
        assert out.played(item) == sum(span.samples for span in spans if span.item == item)
    for entry in flushed.items:
        assert entry.played_samples == out.played(entry.item) < entry.received_samples
    assert out.pending() == 0
    cut = max(flush_at, sealed_to) + playout.FADE_SAMPLES
    lane = np.concatenate((heard.pcm, rest.pcm, silence(cut)))
    assert not lane[cut:].any()
