"""Scripted truth: agents whose behaviour is known to the millisecond, in whole virtual sessions; and every number comes again from the log.

The manners are those of ``tests/trials/test_manners.py`` where they will do: sessions are shared, and these are long.
"""

from __future__ import annotations

import pytest
from shared_sessions import Session, shared_session

from apex_tui.score.consistency import disagreements
from apex_tui.timeline import agent_facts as a

EXACT_MS = 10
AT_ONCE = "stop=0,burst=4,answer=800,leading=400,noise=900"
STALE = "stale-bursts"
STUBBORN = "never-yields,over=600"


def spoken_by(manner: str) -> Session:
    return shared_session("payment", agent=f"rehearsal:{manner}")


@pytest.mark.parametrize(("manner", "stop"), [(AT_ONCE, 0), ("stop=1500", 1500)])
def test_the_stop_delay_is_the_scripted_one(manner: str, stop: int) -> None:
    ran = spoken_by(manner)
    (closed,) = ran.facts(a.BargeInClosed)
    assert (closed.kind, closed.stop_kind) == ("overlap", "yielded")
    assert closed.stop_delay_ms == pytest.approx(stop, abs=EXACT_MS)
    assert disagreements(ran.events) == []
    heard = [t.audio_end_ms for t in ran.facts(a.AgentTruncated)]
    assert len(heard) == 1
    assert closed.played_ms is not None
    assert closed.generated_ms is not None
    assert 0 < heard[0] <= closed.played_ms <= closed.generated_ms


def test_an_agent_that_never_stops_is_never_said_to_have_stopped() -> None:
    ran = spoken_by(STUBBORN)
    (closed,) = ran.facts(a.BargeInClosed)
    assert (closed.stop_kind, closed.stop_delay_ms) == ("not_stopped", None)
    assert ran.result.score.floor.stop_delay_ms.censored == 1
    assert disagreements(ran.events) == []


def test_typing_is_heard_and_is_no_speech() -> None:
    ran = spoken_by("hold-music")
    latency = ran.result.score.latency
    assert len(latency.first_speech_ms.values) == len(latency.first_audible_ms.values) > 2
    for audible, speech in zip(latency.first_audible_ms.values, latency.first_speech_ms.values, strict=True):
        assert speech - audible == pytest.approx(1525, abs=40)
    assert disagreements(ran.events) == []


def test_bursts_after_a_stop_do_not_move_it() -> None:
    ran = spoken_by(STALE)
    (closed,) = ran.facts(a.BargeInClosed)
    assert (closed.stop_kind, closed.stale_bursts) == ("yielded", 3)
    assert closed.stop_delay_ms == pytest.approx(94, abs=EXACT_MS)
    assert ran.facts(a.CutIn) == []
    assert disagreements(ran.events) == []


def test_stages_explain_the_whole_answer() -> None:
    ran = spoken_by("hold-music")
    answers = {m.reply: m.first_audible_ms for m in ran.facts(a.ResponseMeasured)}
    for detail in ran.facts(a.ResponseDetailed):
        assert sum(s.ms for s in detail.stages) == pytest.approx(answers[detail.reply], abs=0.01)
        assert "unexplained" not in {s.name for s in detail.stages}
    assert ran.facts(a.StateDisagreed) == []
