"""The instrument's own health: once a second, and said aloud once when it is bad."""

from __future__ import annotations

from pathlib import Path

from agent_side_kit import Side

from apex_tui.audio.sinks import NullSink
from apex_tui.engine.observing import Frame, SelfLook
from apex_tui.timeline.session_facts import SessionPulse, SessionWarning


class SlowSink(NullSink):
    underruns = 3


def look(side: Side, late: dict[int, float], frames: int) -> SelfLook:
    seen = SelfLook(side.fake, side.playout, SlowSink(), side.wiring, None, lambda: 512)
    for k in range(frames):
        seen.frame(Frame(k, (k + 1) * 20.0, late.get(k, 0.5), 7.0 if k == 3 else 1.0, -30.0, -120.0))
    return seen


def test_a_pulse_tells_what_waits_where(tmp_path: Path) -> None:
    side = Side(tmp_path)
    side.fake.lost_ms = 100.0
    look(side, {}, 100)
    first, second = side.facts(SessionPulse)
    assert (first.tick_max_ms, first.send_queue_ms, first.outlet_bytes, first.underruns) == (7.0, 40.0, 512, 3)
    assert (first.dropped, second.dropped) == (5, 0)
    assert second.tick_max_ms == 1.0
    assert second.log_lines >= 1
    assert side.facts(SessionWarning) == []


def test_bad_pacing_is_said_once_and_counted_at_the_end(tmp_path: Path) -> None:
    side = Side(tmp_path)
    side.wiring.edges_ms.append(2000.0)
    seen = look(side, {120: 31.0, 200: 40.0}, 400)
    (warning,) = side.facts(SessionWarning)
    assert warning.code == "timing-degraded"
    assert "31 ms late at 2.4 s" in warning.message
    whole = seen.whole(side.wiring.edges_ms)
    assert len(whole.because) == 2  # the share of late frames counts at the end, and after 20 s
    assert (whole.tick_max_ms, whole.underruns, whole.pace.over_20ms) == (7.0, 3, 2)


def test_one_late_frame_far_from_any_edge_is_no_alarm(tmp_path: Path) -> None:
    side = Side(tmp_path)
    look(side, {120: 31.0}, 400)
    assert side.facts(SessionWarning) == []


def test_a_share_is_judged_live_after_twenty_seconds(tmp_path: Path) -> None:
    side = Side(tmp_path)
    look(side, dict.fromkeys(range(100, 130), 12.0), 1000)
    (warning,) = side.facts(SessionWarning)
    assert "30 of 1000 frames are more than 10 ms late" in warning.message
