import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_facts import FACT_CLASSES, any_log, log

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import session_facts as s
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import FACT_TYPES, Event
from apex_tui.timeline.state import State
from apex_tui.timeline.view import HANDLERS, SessionView


def fold(*facts: Any) -> State:
    return SessionView.fold(log(*facts)).state


def marks(state: State) -> list[tuple[str, float, str]]:
    return [(mark.glyph, mark.at_ms, mark.label) for mark in state.marks]


def turn(number: int, onset_ms: float = 100, **more: Any) -> c.CallerTurnStarted:
    base: dict[str, Any] = {
        "plan": f"p{number}",
        "act": "ANSWER",
        "text": "words",
        "ends_ms": onset_ms + 900,
        "value_end_ms": onset_ms + 500,
    }
    return c.CallerTurnStarted(turn=number, onset_ms=onset_ms, **{**base, **more})  # fmt: skip


def ended(number: int, offset_ms: float = 1000) -> c.CallerTurnEnded:
    return c.CallerTurnEnded(turn=number, offset_ms=offset_ms)


def heard(item: str, text: str, final: bool = True) -> a.AgentHeardCaller:
    return a.AgentHeardCaller(item=item, text=text, final=final)


# --- the fold itself -------------------------------------------------------------------------------------------------------------------


def test_every_fact_has_exactly_one_handler() -> None:
    assert set(HANDLERS) == set(FACT_CLASSES)
    assert len(HANDLERS) == len(FACT_TYPES) == len(FACT_CLASSES)


@settings(max_examples=60, deadline=None)
@given(events=any_log(), cut=st.integers(0, 40))
def test_a_prefix_and_then_the_rest_is_the_whole(events: Sequence[Event], cut: int) -> None:
    view = SessionView.fold(events[:cut])
    for event in events[cut:]:
        view.apply(event)
    whole = SessionView.fold(events)
    assert view.state == whole.state
    assert view.ignored == whole.ignored
    assert whole.state.events == len(events)


@settings(max_examples=60, deadline=None)
@given(events=any_log())
def test_any_order_of_facts_leaves_a_state_that_holds_together(events: Sequence[Event]) -> None:
    state = SessionView.fold(events).state
    assert list(state.replies) == state.reply_order
    assert len({t.number for t in state.turns}) == len(state.turns)
    for artifact in state.artifacts.values():
        numbers = [version.number for version in artifact.versions]
        assert numbers == sorted(set(numbers))
    open_stretches = 0
    for reply in state.replies.values():
        assert all(end is not None for _, end in reply.speech[:-1]), "only the last stretch may be open"
        assert all(end is None or end >= start for start, end in reply.speech)
        open_stretches += bool(reply.speech and reply.speech[-1][1] is None)
    assert open_stretches <= 1
    assert {mark.seq for mark in state.marks} <= {event.seq for event in events}


@settings(max_examples=30, deadline=None)
@given(events=any_log(20))
def test_an_event_that_comes_twice_changes_nothing(events: Sequence[Event]) -> None:
    view = SessionView.fold(events)
    before = SessionView.fold(events).state
    for event in events:
        assert view.apply(event) == frozenset()
    assert view.state == before


def test_at_an_instant_counts_what_was_noted_up_to_it() -> None:
    events = log(s.OperatorMarked(), s.OperatorMarked(), s.OperatorMarked(), step_ms=10)
    assert [SessionView.at(events, ms).state.events for ms in (-1, 0, 9.9, 10, 25)] == [0, 1, 1, 2, 3]
    # A back-dated fact is not known before it was noted.
    late = log(s.OperatorMarked(), a.AgentSpeechStarted(reply="r", onset_ms=0), step_ms=50)
    assert SessionView.at(late, 40).state.agent_speaking is False
    assert SessionView.at(late, 50).state.agent_speaking is True


def test_a_hundred_thousand_events_are_folded_in_a_second() -> None:
    facts: list[Any] = [
        a.AgentSaid(reply="r", item="i", text="x", final=True),
        w.ToolCalled(call="c", name="n", arguments={}),
        w.ToolFinished(call="c", name="n", ok=True, latency_ms=1),
        a.AgentSpeechStarted(reply="r", onset_ms=1),
        a.AgentSpeechEnded(reply="r", offset_ms=2),
        s.SessionWarning(code="x", message="y"),
        c.CallerWaits(why="gap"),
        a.AgentActed(key="ASK", source="pattern"),
    ]
    events = [Event(n, n * 2.0, 0, facts[n % len(facts)], "harness") for n in range(100_000)]
    began = time.process_time()
    assert SessionView.fold(events).state.events == 100_000
    assert time.process_time() - began < 3.0, "CPU seconds; about 0.6 on a quiet core"


# --- session -----------------------------------------------------------------------------------------------------------------------------


def pulse(**more: Any) -> s.SessionPulse:
    base: dict[str, Any] = {
        "frames": 50,
        "late_p50_ms": 1,
        "late_p99_ms": 2,
        "late_max_ms": 3,
        "over_20ms": 0,
        "dropped": 0,
        "caller_db": -20,
        "agent_db": -60,
        "queue_ms": 0,
    }
    return s.SessionPulse(**{**base, **more})  # fmt: skip


def test_pulses_add_up_and_the_end_has_the_last_word() -> None:
    state = fold(pulse(late_max_ms=21, over_20ms=1), pulse(late_max_ms=40, over_20ms=2), pulse())
    assert (state.late_max_ms, state.over_20ms) == (40, 3)
    end = s.SessionEnded(
        outcome="completed", reason="", frames=200, late_p50_ms=1, late_p99_ms=2, late_max_ms=41, over_20ms=4, dropped=0,
        timing_degraded=True, caller_sha256="c", agent_sha256="a",
    )  # fmt: skip
    state = fold(pulse(over_20ms=1), turn(1), a.AgentSpeechStarted(reply="r", onset_ms=1), end)
    assert (state.late_max_ms, state.over_20ms, state.ended) == (41, 4, end)
    assert not state.caller_speaking
    assert not state.agent_speaking


def test_the_operators_mark_stands_on_the_lanes() -> None:
    view = SessionView()
    (event,) = log(s.OperatorMarked(note="odd"))
    assert view.apply(event) >= {"lanes"}
    assert marks(view.state) == [("M", 0.0, "odd")]


def test_the_first_start_counts() -> None:
    base: dict[str, Any] = {
        "workflow": "w", "workflow_version": "1", "workflow_digest": "d", "title": "t", "agent": "a",
        "rehearsal": True, "seed": 1, "profile": "strict", "caller": "bank", "clock_basis": "simulated",
        "virtual": True,
    }  # fmt: skip
    first, second = s.SessionStarted(session="one", **base), s.SessionStarted(session="two", **base)
    view = SessionView.fold(log(first, s.SessionClock(utc="2030-01-01T00:00:00Z"), second))
    assert view.state.started == first
    assert view.state.utc == "2030-01-01T00:00:00Z"
    assert view.ignored == 1


# --- caller ------------------------------------------------------------------------------------------------------------------------------


def planned(number: int, recovered: bool) -> c.CallerPlanned:
    return c.CallerPlanned(
        turn=number, plan="p", act="ASK", variant="v", clip="c", pcm_sha256="0", because="patience", recovered=recovered
    )


def test_a_turn_is_spoken_from_its_start_to_its_end() -> None:
    events = log(turn(1, 100, facts=("f",), values={"amount": 5}), ended(1, 950))
    view = SessionView.fold(events[:1])
    assert view.state.caller_speaking
    view.apply(events[1])
    (spoken,) = view.state.turns
    assert (spoken.onset_ms, spoken.offset_ms, spoken.facts, spoken.values) == (100, 950, ("f",), {"amount": 5})
    assert not view.state.caller_speaking


def test_an_end_that_comes_first_still_ends_the_turn() -> None:
    state = fold(ended(1, 950), turn(1))
    assert state.turns[0].offset_ms == 950
    assert not state.caller_speaking


def test_a_nudge_is_known_on_its_turn() -> None:
    assert [t.recovered for t in fold(planned(1, True), turn(1), planned(2, False), turn(2)).turns] == [True, False]
    assert fold(turn(1), planned(1, True)).turns[0].recovered


def test_a_fired_event_is_listed_and_marked() -> None:
    fired = c.EventFired(event="amount_changes", kind="correction")
    state = fold(c.EventArmed(event="amount_changes", trigger="t"), fired)
    assert [row[2] for row in state.fired] == [fired]
    assert marks(state) == [("E", 20.0, "amount_changes")]


# --- what the agent heard ----------------------------------------------------------------------------------------------------------------


def transcripts(*facts: Any) -> list[str | None]:
    return [t.heard_by_agent for t in fold(*facts).turns]


def test_a_transcript_goes_to_the_most_recent_turn() -> None:
    assert transcripts(turn(1), ended(1), heard("i1", "one"), turn(2), ended(2), heard("i2", "two")) == ["one", "two"]


def test_a_transcript_that_may_still_change_is_not_what_was_heard() -> None:
    assert transcripts(turn(1), ended(1), heard("i1", "wo", final=False)) == [None]


def test_an_item_stays_with_the_turn_where_it_was_first_met() -> None:
    assert transcripts(turn(1), heard("i1", "o", final=False), ended(1), turn(2), heard("i1", "one")) == ["one", None]
    assert transcripts(turn(1), ended(1), heard("i1", "on"), turn(2), heard("i1", "one")) == ["one", None]


def test_a_turn_split_at_its_pause_is_put_together() -> None:
    facts = turn(1), heard("i1", "I need "), ended(1), heard("i2", "the blue one")
    assert transcripts(*facts) == ["I need the blue one"]


def test_a_late_transcript_goes_to_the_turn_before_the_one_being_spoken() -> None:
    facts = turn(1), ended(1), turn(2), heard("i1", "one"), ended(2), heard("i2", "two")
    assert transcripts(*facts) == ["one", "two"]


def test_a_back_channel_does_not_wait_for_a_transcript() -> None:
    facts = turn(1, act="BACKCHANNEL"), ended(1), turn(2), heard("i1", "a part"), ended(2)
    assert transcripts(*facts) == [None, "a part"]


def test_a_transcript_before_any_turn_has_no_place() -> None:
    view = SessionView.fold(log(heard("i1", "noise")))
    assert view.ignored == 1


# --- replies -----------------------------------------------------------------------------------------------------------------------------


def said(text: str, item: str = "i1", final: bool = False) -> a.AgentSaid:
    return a.AgentSaid(reply="r1", item=item, text=text, final=final)


def test_words_grow_by_deltas_and_the_final_replaces_them() -> None:
    assert fold(said("Hel"), said("lo")).replies["r1"].text == "Hello"
    assert fold(said("Hel"), said("Hello!", final=True)).replies["r1"].text == "Hello!"
    assert fold(said("One."), said("Two.", "i2")).replies["r1"].text == "One. Two."
    assert fold(said("Hello"), said("", final=True)).replies["r1"].text == "Hello", "no words take none back"


def test_a_closed_reply_keeps_the_text_that_heard_is_a_prefix_of() -> None:
    closed = a.ReplyClosed(reply="r1", how="flushed", played_ms=400, generated_ms=2000, text="Hello you", heard="Hello")
    reply = fold(a.ReplyStarted(reply="r1", after_tool=True), said("Hello "), closed, said("later words")).replies["r1"]
    assert (reply.text, reply.heard, reply.closed, reply.played_ms, reply.closed_ms) == ("Hello you", "Hello", "flushed", 400, 40.0)  # fmt: skip
    assert reply.after_tool


def test_all_words_of_a_reply_that_was_heard_to_its_end_were_heard_whenever_they_come() -> None:
    ended = a.ReplyGenerated(reply="r1", status="completed", reason="", generated_ms=900)
    closed = a.ReplyClosed(reply="r1", how="played", played_ms=900, generated_ms=900, text="Hello", heard="Hello")
    reply = fold(said("Hello"), ended, closed, said("", final=True), said("You.", "i2"), said("Too.", "i3"))
    assert (reply.replies["r1"].text, reply.replies["r1"].heard) == ("Hello You. Too.",) * 2
    silence = a.AgentConnected(
        family="x", url="u", capabilities={"tells_end": False}, instructions_sha256="0" * 64, tools_sha256="0" * 64
    )
    reply = fold(silence, said("Hello"), ended, closed, said("You.", "i2"))
    assert (reply.replies["r1"].text, reply.replies["r1"].heard) == ("Hello",) * 2, "it may have been broken off"


def test_speech_opens_and_closes_as_played() -> None:
    events = log(
        a.AgentSpeechStarted(reply="r1", onset_ms=10), a.AgentSpeechEnded(reply="r1", offset_ms=90),
        a.AgentSpeechStarted(reply="r1", onset_ms=400),
    )  # fmt: skip
    view = SessionView.fold(events)
    assert view.state.replies["r1"].speech == [(10, 90), (400, None)]
    assert view.state.agent_speaking


@pytest.mark.parametrize("reply", [None, "r2"])
def test_an_end_closes_the_stretch_whatever_reply_it_names(reply: str | None) -> None:
    state = fold(a.AgentSpeechStarted(reply="r1", onset_ms=10), a.AgentSpeechEnded(reply=reply, offset_ms=90))
    assert state.replies["r1"].speech == [(10, 90)]
    assert not state.agent_speaking


def test_the_first_packet_and_the_providers_status() -> None:
    reply = fold(
        a.ReplyStarted(reply="r1"), a.AudioArrived(reply="r1", item="i"), a.AudioArrived(reply="r1", item="i"),
        a.ReplyGenerated(reply="r1", status="cancelled", reason="turn_detected", generated_ms=800),
    ).replies["r1"]  # fmt: skip
    assert (reply.first_byte_ms, reply.status, reply.status_reason, reply.generated_ms) == (20.0, "cancelled", "turn_detected", 800)  # fmt: skip


# --- the floor ---------------------------------------------------------------------------------------------------------------------------


def closed(**more: Any) -> a.BargeInClosed:
    base: dict[str, Any] = {"barge_in": 1, "turn": 2, "reply": "r1", "kind": "overlap", "onset_ms": 500}
    return a.BargeInClosed(**{**base, **more})


@pytest.mark.parametrize(
    ("end", "label"),
    [
        (closed(stop_kind="yielded", stop_delay_ms=141.2), "141 ms"),
        (closed(stop_kind="not_stopped"), "not stopped"),
        (closed(stop_kind="natural_end", stop_delay_ms=80), "natural end"),
    ],
)
def test_a_barge_in_is_marked_at_its_onset_and_named_when_it_closes(end: a.BargeInClosed, label: str) -> None:
    opened = a.BargeInOpened(barge_in=1, turn=2, reply="r1", kind="overlap", onset_ms=500)
    assert marks(fold(opened)) == [("B", 500.0, "?")]
    for facts in ((opened, end), (end,), (opened, end, closed(stop_kind="censored"))):
        state = fold(*facts)
        assert marks(state) == [("B", 500.0, label)]
        assert state.barge_ins[1].closed == end
        assert state.replies["r1"].barge_in == 1


def test_measures_are_filed() -> None:
    response = a.ResponseMeasured(turn=1, reply="r1", first_audible_ms=-40)
    cut_in = a.CutIn(turn=1, reply="r1", onset_ms=10, overlap_ms=400, kind="cut_in")
    false_yield = a.FalseYield(turn=1, reply="r1", onset_ms=10, silent_ms=700)
    silence = a.SilenceMeasured(kind="dead_air", from_ms=0, to_ms=3000)
    state = fold(response, cut_in, false_yield, silence)
    assert (state.responses, state.cut_ins, state.false_yields, state.silences) == ([response], [cut_in], [false_yield], [silence])  # fmt: skip


# --- work --------------------------------------------------------------------------------------------------------------------------------


def called(call: str = "c1", **more: Any) -> w.ToolCalled:
    return w.ToolCalled(call=call, name="update", arguments={"x": 1}, **more)


def finished(ok: bool = True, **more: Any) -> w.ToolFinished:
    return w.ToolFinished(call="c1", name="update", ok=ok, latency_ms=40, **more)


def version(number: int, digest: str = "d", call: str | None = "c1", **more: Any) -> w.ArtifactVersion:
    base: dict[str, Any] = {"author": "agent", "lifecycle": "DRAFT", "fields": {"amount": number}}
    return w.ArtifactVersion(artifact="claim", version=number, digest=digest, call=call, **{**base, **more})


@pytest.mark.parametrize(
    ("facts", "outcome", "label"),
    [
        ((called(),), "running", "update"),
        ((called(), finished()), "done", "update ✓"),
        ((called(), finished(ok=False, error="no")), "failed", "update ✗"),
        ((called(error="unknown tool"), finished(ok=False)), "refused", "update ✗"),
        ((called(), w.ToolCancelled(call="c1", name="update", reason="revoked")), "cancelled", "update ✗"),
        ((called(), w.ToolCancelled(call="c1", name="update", reason="r"), finished()), "cancelled", "update ✗"),
    ],
)
def test_a_call_has_one_end(facts: tuple[Any, ...], outcome: str, label: str) -> None:
    state = fold(*facts)
    assert state.calls["c1"].state == outcome
    assert marks(state) == [("T", 0.0, label)]


def test_an_end_of_an_unknown_call_is_counted_and_nothing_else() -> None:
    view = SessionView.fold(log(finished()))
    assert view.state.calls == {}
    assert view.ignored == 1


def test_a_version_belongs_to_the_call_that_wrote_it() -> None:
    state = fold(called(), version(1, stale={"total": "amount changed in v1"}), finished())
    assert state.calls["c1"].version == 1
    artifact = state.artifacts["claim"]
    assert artifact.current is not None
    assert (artifact.current.number, artifact.current.fields) == (1, {"amount": 1})
    assert artifact.stale == {"total": "amount changed in v1"}
    assert ("v", 20.0, "v1") in marks(state)


def test_staleness_is_of_the_current_version_only() -> None:
    stale = w.ArtifactStale(artifact="claim", version=1, fields={"amount": "corrected"}, since_ms=30)
    assert fold(version(1), stale).artifacts["claim"].stale == {"amount": "corrected"}
    assert fold(version(1), stale, version(2)).artifacts["claim"].stale == {}
    assert fold(version(1), version(2), stale).artifacts["claim"].stale == {}


def test_versions_stay_in_order() -> None:
    artifact = fold(version(2, stale={"a": "b"}), version(1), version(1)).artifacts["claim"]
    assert [v.number for v in artifact.versions] == [1, 2]
    assert artifact.stale == {"a": "b"}


def test_world_and_searches() -> None:
    state = fold(
        w.WorldChanged(path="stock.blue", old=3, new=2, cause="c1"), w.WorldChanged(path="stock.blue", old=2, new=0, cause="e"),
        w.KnowledgeSearched(call="c1", query="limits", hits=("d1", "d2")),
    )  # fmt: skip
    assert state.world == {"stock.blue": 0}
    assert state.searches == [("c1", "limits", ("d1", "d2"))]


# --- authority ---------------------------------------------------------------------------------------------------------------------------

REQUEST = w.ApprovalRequested(request="q1", action="pay", target="claim", artifact="claim", version=1, digest="d")
GRANT = w.ApprovalGranted(
    approval="a1", request="q1", action="pay", target="claim", artifact="claim", version=1, digest="d", granted_ms=15
)
STALE = w.ApprovalStale(approval="a1", covers=1, now=2, differs=("amount",))
REVOKE = w.ApprovalRevoked(action="pay", target=None, approvals=("a1",), requests=(), revoked_ms=33)


def decided(decision: Any = "AUTHORIZED", at: Any = "completion", approval: str | None = "a1") -> w.CommitDecided:
    return w.CommitDecided(call="c1", action="pay", target="claim", decision=decision, at=at, approval=approval)


@pytest.mark.parametrize(
    ("facts", "outcome", "ended_ms"),
    [
        ((), "bound", None),
        ((STALE,), "stale", 40.0),
        ((REVOKE,), "revoked", 33),
        ((STALE, REVOKE), "revoked", 33),
        ((REVOKE, STALE), "revoked", 33),
        ((decided(at="call"),), "bound", None),
        ((decided("STALE_APPROVAL"),), "bound", None),
        ((decided(),), "used", 40.0),
        ((decided(), REVOKE), "used", 40.0),
        ((decided(), STALE), "used", 40.0),
    ],
)
def test_what_becomes_of_an_approval(facts: tuple[Any, ...], outcome: str, ended_ms: float | None) -> None:
    state = fold(REQUEST, GRANT, *facts)
    approval = state.approvals["a1"]
    assert (approval.state, approval.ended_ms) == (outcome, ended_ms)
    assert state.requests["q1"].state == "granted"


def test_a_stale_approval_names_what_differs() -> None:
    assert fold(REQUEST, GRANT, STALE).approvals["a1"].differs == ("amount",)


def test_a_request_is_denied_or_revoked() -> None:
    denied = w.ApprovalDenied(request="q1", action="pay", target="claim", at_ms=12)
    assert fold(REQUEST).requests["q1"].state == "pending"
    assert fold(REQUEST, denied).requests["q1"].state == "denied"
    revoked = w.ApprovalRevoked(action="pay", target=None, approvals=(), requests=("q1",), revoked_ms=12)
    assert fold(REQUEST, revoked).requests["q1"].state == "revoked"


def test_authority_is_marked_where_it_was_spoken() -> None:
    assert marks(fold(REQUEST, GRANT, STALE, REVOKE)) == [
        ("A", 15.0, "granted"),
        ("A", 40.0, "stale"),
        ("A", 33.0, "revoked"),
    ]


def test_a_commit_is_marked_when_it_is_decided_at_completion() -> None:
    state = fold(called(), decided(at="call"), decided("POST_REVOCATION"))
    assert marks(state)[1:] == [("S", 40.0, "POST_REVOCATION")]
    assert state.calls["c1"].decision == "POST_REVOCATION"
    assert [row[2].at for row in state.decisions] == ["call", "completion"]
