from __future__ import annotations

from apex_tui.engine.pacing import Pacing, pace_of


def test_percentiles_are_nearest_rank_and_late_frames_are_counted() -> None:
    late = [1.0] * 98 + [12.0, 25.0]
    pace = pace_of(late)
    assert (pace.frames, pace.p50, pace.p99, pace.max, pace.over_20ms) == (100, 1.0, 12.0, 25.0, 1)


def test_no_frames_is_all_zero() -> None:
    assert pace_of([]) == pace_of(())
    assert pace_of([]).frames == 0


def test_second_counts_only_frames_since_the_last_call() -> None:
    pacing = Pacing()
    for _ in range(50):
        pacing.note(1.0, 0.0)
    assert pacing.second().frames == 50
    pacing.note(7.0, 1020.0)
    second = pacing.second()
    assert (second.frames, second.max) == (1, 7.0)
    assert pacing.whole().frames == 51


def test_early_frames_count_as_on_time() -> None:
    pacing = Pacing()
    pacing.note(-3.0, 20.0)
    assert pacing.whole().max == 0.0


def _paced(late: dict[int, float], frames: int = 3000) -> Pacing:
    pacing = Pacing()
    for k in range(frames):
        pacing.note(late.get(k, 1.0), (k + 1) * 20.0)
    return pacing


def test_a_quiet_machine_is_not_degraded() -> None:
    assert not _paced({}).degraded([1000.0])


def test_p99_above_ten_ms_degrades() -> None:
    assert _paced(dict.fromkeys(range(60), 11.0)).degraded([])


def test_more_than_one_in_a_thousand_over_20_ms_degrades() -> None:
    assert _paced({10: 21.0, 20: 21.0, 30: 21.0, 40: 21.0}).degraded([])
    assert not _paced({10: 21.0, 20: 21.0}).degraded([])


def test_one_late_frame_degrades_only_near_a_scored_edge() -> None:
    pacing = _paced({1000: 30.0})  # at 20,020 ms
    assert pacing.degraded([21_000.0])
    assert not pacing.degraded([21_100.0])
