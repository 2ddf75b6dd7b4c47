"""Manners in whole sessions: the instrument's numbers against the nominal ones, in virtual time."""

from __future__ import annotations

import pytest
from shared_sessions import shared_session

from apex_tui.score.verdict import Score
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline.base import Fact
from apex_tui.timeline.events import Event
from apex_tui.timeline.session_facts import SessionStarted


def session(agent: str) -> tuple[Score, list[Event]]:
    ran = shared_session("payment", agent=agent)
    score = ran.result.score
    assert score.success, (agent, [gate.reason for gate in score.gates if not gate.passed])
    return score, ran.events


def facts(agent: str, kind: type[Fact]) -> list[Fact]:
    return [event.fact for event in session(agent)[1] if isinstance(event.fact, kind)]


# One session shows several manners: what one of them does is nowhere near what another is measured by.
LATE = "rehearsal:stop=0,burst=4,answer=800,leading=400,noise=900"
EARLY = "rehearsal:early-starter,stop=130,burst=20,stale=3"
STUBBORN = "rehearsal:never-yields,over=600"
RUDE = "rehearsal:yields-to-backchannels,cut_in=300"


@pytest.mark.parametrize(("agent", "stop_ms"), [(LATE, 0), (EARLY, 130)])
def test_the_last_audible_sample_lies_where_the_manner_says(agent: str, stop_ms: float) -> None:
    (row,) = session(agent)[0].floor.barge_ins
    assert (row.kind, row.stop_kind) == ("overlap", "yielded")
    assert row.stop_delay_ms == pytest.approx(stop_ms, abs=10)


def test_one_that_never_yields_is_not_stopped() -> None:
    (row,) = session(STUBBORN)[0].floor.barge_ins
    assert (row.stop_kind, row.stop_delay_ms) == ("not_stopped", None)


def test_answers_silence_and_early_starts_are_where_the_manner_says() -> None:
    plain = [r for r in facts(LATE, a.ResponseMeasured) if isinstance(r, a.ResponseMeasured) and not r.after_tool]
    assert plain
    for row in plain:
        assert row.first_byte_ms == pytest.approx(800, abs=10)
        assert row.first_audible_ms == pytest.approx(1200, abs=10)
        assert row.leading_silence_ms == pytest.approx(400, abs=10)
    early = [r for r in facts(EARLY, a.ResponseMeasured) if isinstance(r, a.ResponseMeasured)]
    first = [row.first_audible_ms for row in early if not row.after_tool]
    assert first == [pytest.approx(-200, abs=10)] * len(first)
    assert len(first) >= 3


def test_what_comes_out_after_a_stop() -> None:
    (row,) = session("rehearsal:resumes")[0].floor.barge_ins
    assert row.stop_kind == "resumed"
    (closed,) = facts(EARLY, a.BargeInClosed)
    assert isinstance(closed, a.BargeInClosed)
    assert (closed.stop_kind, closed.stale_bursts) == ("yielded", 3)


def test_rude_manners_are_named_and_the_work_is_done_all_the_same() -> None:
    polite, rude = session(LATE)[0].floor, session(RUDE)[0].floor
    assert (polite.false_yields, polite.cut_ins) == (0, 0)
    assert (rude.false_yields, rude.cut_ins) == (1, 1)
    assert session(STUBBORN)[0].floor.cut_ins > 3


def test_the_session_says_the_whole_name() -> None:
    (started,) = facts(RUDE, SessionStarted)
    assert isinstance(started, SessionStarted)
    assert started.agent == RUDE
    assert started.rehearsal
