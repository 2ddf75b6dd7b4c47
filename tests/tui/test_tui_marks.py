"""What the newer parts of the screens say: drift and difference marks, back-channels, status row, tabs, presenter boxes, results."""

from dataclasses import replace
from pathlib import Path

import pytest
import tui_sample as sample
from tui_fakes import LISTINGS, workflow
from tui_hostile import HOSTILE

from apex_tui.score.known_values import KnownValues
from apex_tui.score.verdict import GATE_WORDS
from apex_tui.score.verdict_work import Drift, WorkMeasures
from apex_tui.score.work_drift import drift_of
from apex_tui.store.listing import Listing
from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import caller_facts as c
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.session_facts import INVALID_OUTCOMES
from apex_tui.timeline.state import Artifact, State, Version
from apex_tui.timeline.view import SessionView
from apex_tui.tui.drift import DriftWatch
from apex_tui.tui.plain import arguments, plain
from apex_tui.tui.render_chrome import Instrument, status_line, tab_at, tabs, time_left
from apex_tui.tui.render_lanes import Axis, mark_at, place_marks
from apex_tui.tui.render_present import form_box, large, present_lines, spaced, verdict_box
from apex_tui.tui.render_results import chosen_lines, fits, listing_line, outcome_word, results_lines, summary_words
from apex_tui.tui.render_score import score_lines
from apex_tui.tui.render_transcript import blocks, heard_parts
from apex_tui.tui.render_work import drift_words
from apex_tui.tui.words import GATE_NAMES, JUDGES_NOBODY

EVENTS = sample.session()
WHOLE = SessionView.fold(EVENTS).state
STALE = SessionView.fold(sample.until_stale()).state


def drifted(**changes: object) -> Drift:
    base = Drift(field="leave_form.end_date", said="2026-12-16", heard="2026-12-06", claimed="2026-12-18", reason="r",
                 first_disagreement="heard", in_artifact="2026-12-18")  # fmt: skip
    return base.model_copy(update=changes)


def test_a_drifted_field_says_where_it_came_apart() -> None:
    shown = "\n".join(t.plain for t in sample.artifact_lines(STALE, 100, drift={"leave_form.end_date": drifted()}))
    assert "≠ drift: misheard as 2026-12-06 (caller said 2026-12-16)" in shown
    assert drift_words(drifted(first_disagreement="claimed")) == "agent said 2026-12-18 (caller said 2026-12-16)"
    assert drift_words(drifted(first_disagreement="artifact")) == "caller said 2026-12-16"
    silent = sample.artifact_lines(STALE, 100, drift={"leave_form.end_date": drifted(first_disagreement=None)})
    assert "drift" not in "\n".join(t.plain for t in silent)


def test_drift_is_made_anew_only_when_something_can_have_changed_it() -> None:
    watch = DriftWatch(workflow())
    first = watch.of(STALE)
    assert watch.of(STALE) is first
    assert DriftWatch().of(STALE) == {}


def test_words_that_come_after_their_reply_closed_make_the_rows_anew() -> None:
    first = [e for e in sample.session() if e.media_ms <= 12_000]
    whole = {"how": "played", "played_ms": 900, "generated_ms": 900, "text": "", "heard": ""}
    late: list[tuple[float, AnyFact]] = [
        (12_100, a.ReplyStarted(reply="late", after_tool=False)),
        (12_200, a.ReplyGenerated(reply="late", status="completed", reason="", generated_ms=900)),
        (13_200, a.ReplyClosed.model_validate({"reply": "late", **whole})),
        (13_500, a.AgentSaid(reply="late", item="i", text="Until 2026-12-18.", final=True)),
    ]
    events = [*first, *sample.to_events(late, len(first))]
    watch = DriftWatch(workflow())
    claimed = [watch.of(SessionView.fold(part).state)["leave_form.end_date"].claimed for part in (events[:-1], events)]
    assert claimed == [None, "2026-12-18"]


def test_a_table_that_was_prepared_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = DriftWatch(workflow())
    watch.prepare()
    monkeypatch.setattr("apex_tui.score.known_values.KnownValues.__init__", None)  # the first seek makes none
    assert tuple(watch.of(STALE).values()) == drift_of(STALE, workflow(), watch._kept[0][1].unlearned())


def test_drift_back_in_a_replay_knows_nothing_of_what_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent hears a date that nobody knows, and writes it a second later: only from then on it is known what it heard."""
    first = [e for e in sample.session() if e.media_ms <= 12_000]
    written = {"end_date": "2027-03-27"}
    heard = a.AgentHeardCaller(item="i2", text="Until 2027-03-27.", final=True)
    version = w.ArtifactVersion(artifact="leave_form", version=9, digest="0" * 64, author="agent", call=None, lifecycle="DRAFT",
                                fields=written, changes=())  # fmt: skip
    events = [*first, *sample.to_events([(12_100, heard), (13_000, version)], len(first))]
    now, later = SessionView.fold(events[:-1]).state, SessionView.fold(events).state
    watch, new = DriftWatch(workflow()), KnownValues(workflow())
    monkeypatch.setattr("apex_tui.tui.drift.STOP", 1)  # what was known is kept at every event that is shown
    for state, expected in ((now, None), (later, "2027-03-27"), (now, None), (later, "2027-03-27")):
        assert watch.of(state)["leave_form.end_date"].heard == expected
        assert tuple(watch.of(state).values()) == drift_of(state, workflow(), new.unlearned())


def test_words_that_the_agent_misheard_or_missed_are_marked_in_place() -> None:
    parts = heard_parts("No wait, make that the sixteenth.", "no wait make that the sixth")
    text = "".join(p if isinstance(p, str) else p[0] for p in parts)
    assert text.strip() == "no wait make that the [sixth] (-sixteenth.)"
    assert heard_parts("x " * 500, "y") == ["y"]


def test_a_backchannel_is_a_small_b_and_a_change_of_mind_an_e() -> None:
    facts: list[tuple[float, AnyFact]] = [(1000.0, c.EventFired(event="listening", kind="BACKCHANNEL", delivered="overlap")),
             (9000.0, c.EventFired(event="change_dates", kind="MID_SPEECH_CORRECTION"))]  # fmt: skip
    state = SessionView.fold(sample.to_events(facts)).state
    axis = Axis(10_000, 60, 10_000)
    text = place_marks(state, axis).plain
    assert " b " in text
    assert "listening" not in text
    assert "E change_dates" in text
    found = mark_at(state, axis, text.index("b"))
    assert found is not None
    assert found.label == "listening"
    assert mark_at(state, axis, 0) is None


def test_a_single_object_of_fields_is_unwrapped() -> None:
    assert arguments({"fields": {"employee_id": "E2047", "days": 3}}) == "employee_id=E2047, days=3"
    assert arguments({"fields": {"a": 1}, "note": "x"}) == 'fields={"a": 1}, note=x'
    assert arguments({"fields": []}) == "fields=[]"


def test_the_status_row_counts_down_to_the_nearer_limit() -> None:
    line = status_line(STALE, 18_000, Instrument(budget_s=720), None, 200).plain
    assert "left 11:42 of 12:00 (time budget)" in line
    assert "gates so far TS — PV — AC — AV — · floor 1/1 yielded" in line
    assert "agent connected" in line
    assert STALE.connected is not None
    connected = STALE.connected.model_copy(update={"capabilities": {"max_session_s": 60}})
    state = State(started=STALE.started, connected=connected)
    assert time_left(state, 18_000, 720.0) == (42.0, 60.0, "provider's limit")
    assert time_left(State(), 0, None) is None
    assert "left —" in status_line(State(), 0, Instrument(), None, 200).plain
    state.closed = (1011, "boom", False)
    assert "LOST 1011 boom" in status_line(state, 0, Instrument(), None, 200).plain
    assert "AV ✗" in status_line(WHOLE, 0, Instrument(), sample.score(False), 200).plain


@pytest.mark.parametrize("width", [80, 120])
def test_every_column_of_the_tabs_belongs_to_its_tab(width: int) -> None:
    line = tabs(STALE, 3, 50, width).plain
    words = ("talk", "art", "auth", "tools", "barge", "events")
    for number, word in enumerate(words, 1):
        assert tab_at(STALE, 3, 50, width, line.index(f"{number} {word}")) == number
    assert tab_at(STALE, 3, 50, width, 500) is None


@pytest.mark.parametrize(("width", "height"), [(60, 18), (80, 21), (120, 33), (240, 60)])
@pytest.mark.parametrize("verdict", [None, sample.score(), sample.score(False)])
def test_presenter_boxes_fill_the_screen_exactly(width: int, height: int, verdict: object) -> None:
    given = verdict if not isinstance(verdict, type(None)) else None
    for state in (State(), STALE, WHOLE):
        lines = present_lines(state, 18_000, given, width, height, "leave_form", {"leave_form.end_date": drifted()})  # type: ignore[arg-type]
        assert len(lines) == height
        assert {t.cell_len for t in lines if t.plain} == {width}
    text = "\n".join(t.plain for t in present_lines(STALE, 18_000, None, width, height))
    assert "S T A L E" in text
    if width >= 80:
        assert "2026-12-18 -> 2026-12-16" in text
    assert "█" not in "".join(t.plain for t in present_lines(State(), 0, None, width, height)), "no value is no bar"


def test_a_field_has_one_entry_in_the_presenters_form_and_its_cause_is_whole() -> None:
    version = Version("leave_form", 2, 9, 0.0, "0" * 64, "agent", None, "DRAFT", {},
                      (w.FieldChange(field="end_date", old="2026-12-18", new="2026-12-16", kind="changed"),))  # fmt: skip
    stale = {
        "end_date": "start_date was corrected after it had been worked out",
        "working_days": "end_date was corrected",
    }
    lines = form_box(Artifact("leave_form", [version], stale), 36, 8, {"leave_form.end_date": drifted()})
    text = " ".join(" ".join(line.plain for line in lines).split())
    assert [text.count(glyph) for glyph in "▲≠~"] == [2, 0, 0]
    assert text.count("end date") == 1
    assert "start_date was corrected after it had been worked out" in text
    assert "2026-12-18 -> 2026-12-16" in text
    few = form_box(Artifact("leave_form", [version], stale), 36, 3, {})
    assert few[-1].plain == "… and 1 more"
    assert len(few) == 3


def test_a_run_that_judges_nobody_is_no_failure_in_any_list() -> None:
    assert JUDGES_NOBODY == INVALID_OUTCOMES
    gates = {"TS": False, "PV": True, "AC": False, "AV": False}
    ended = Listing(Path("/s/x"), "x", "payment", "openai", 3, None, "operator", False, gates, False)
    assert outcome_word(ended).word == "not scored"
    assert "? not scored" in listing_line(ended, 100).plain
    assert "✗" not in listing_line(ended, 100).plain
    assert listing_line(ended, 49).plain.rstrip().endswith(" payment")  # rather no seed than half of one
    assert "—  —  —  —" in results_lines([ended], 0, 120)[1].plain
    assert not fits(ended, "pv ac")
    assert "failed   not scored" in "\n".join(line.plain for line in chosen_lines(ended, 100))


def test_a_session_that_is_not_scored_shows_no_gate_as_passed_or_failed() -> None:
    invalid = sample.score(success=False).model_copy(update={"validity": "infrastructure", "outcome": "infrastructure"})
    card = "\n".join(line.plain for line in score_lines(invalid, 100)[:12])
    assert "gates as they stood; they judge nobody" in card
    assert ("· held  TS" in card, "✗ FAIL" in card, "✓ pass" in card) == (True, False, False)
    assert "gates not scored" in status_line(WHOLE, 18_000, Instrument(), invalid, 120).plain
    box = [line.plain.strip() for line in verdict_box(invalid, 60)]
    assert box == ["?  N O T   S C O R E D", "", "infrastructure"]


def test_the_gates_have_the_words_of_the_verdict() -> None:
    assert GATE_NAMES == GATE_WORDS


def test_large_digits_are_told_apart() -> None:
    assert len({tuple(large(d)) for d in "0123456789—"}) == 11
    assert {len(r) for r in large("1,204")} == {40}
    assert spaced("not given") == "N O T   G I V E N"


def test_results_name_outcome_gates_and_agent_and_can_be_filtered() -> None:
    text = "\n".join(t.plain for t in results_lines(LISTINGS, 1, 110))
    assert "▸ ✗ failed     ✓  ✗  ✓  ✓" in text
    assert "rehearsal (scripted)" in text
    assert fits(LISTINGS[1], "PAY pv")
    assert not fits(LISTINGS[0], "pv")
    assert "PV process validity" in "\n".join(t.plain for t in chosen_lines(LISTINGS[1], 80))
    assert summary_words(LISTINGS) == "2 sessions · 1 success · 1 failed"
    assert summary_words(LISTINGS[:1]).startswith("1 session ·")
    assert "enter on the picker" in results_lines([], 0, 80)[0].plain


def test_the_scorecard_tells_what_the_work_measures_found() -> None:
    verdict = sample.score().model_copy(update={"work": WorkMeasures(drift=(drifted(evidence={"heard": (41,)}),))})
    text = "\n".join(t.plain for t in score_lines(verdict, 100))
    assert "drift          r  seq 41" in text
    assert "\nwork\n" not in "\n".join(t.plain for t in score_lines(sample.score(), 100))


def test_the_transcript_keeps_its_end_when_it_is_cut() -> None:
    whole = blocks(WHOLE)
    assert blocks(WHOLE, 5) == whole[-5:]
    assert blocks(WHOLE, 500) == whole


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_the_newer_panes(text: str) -> None:
    listing = replace(
        LISTINGS[1],
        workflow=text,
        agent=text,
        name=text,
        outcome=text,
        labels=(text,),
        started_utc=text,
        path=Path("x"),
    )
    lines = [*results_lines([listing], 0, 80), *chosen_lines(listing, 80)]
    key = text[:100] or "k"
    drift = drifted(field=f"leave_form.{key}", said=text, heard=text, reason=text)
    facts: list[tuple[float, AnyFact]] = [(0.0, c.CallerTurnStarted(turn=1, plan=text, act="ASK", text=text, onset_ms=0, ends_ms=9, value_end_ms=9)),
             (5.0, a.AgentHeardCaller(item="i", text=text + "!", final=True))]  # fmt: skip
    state = SessionView.fold(sample.to_events(facts)).state
    state.artifacts = STALE.artifacts
    lines += present_lines(state, 1000, None, 80, 21, text, {drift.field: drift})
    lines += sample.artifact_lines(
        STALE, 80, drift={"leave_form.end_date": drift.model_copy(update={"field": "leave_form.end_date"})}
    )
    for line in lines:
        assert plain(line.plain.replace("\t", ""), 10_000) == line.plain
        assert line.cell_len <= 80
