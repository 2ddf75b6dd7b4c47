from typing import get_args

import pytest
from rich.text import Text
from tui_sample import artifact_lines, score, session, to_events, until_stale

from apex_tui.timeline import agent_facts as a
from apex_tui.timeline import work_facts as w
from apex_tui.timeline.caller_facts import CallerWaits, SilentBecause
from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.session_facts import Outcome, SessionPulse
from apex_tui.timeline.state import State
from apex_tui.timeline.view import SessionView
from apex_tui.tui.figures import agent_speaker, answers, authority, observed_stops, why_silent
from apex_tui.tui.lines import big_millis
from apex_tui.tui.render_band import band, band_compact, level_bar
from apex_tui.tui.render_chrome import (
    Instrument,
    seek_column,
    seek_marks,
    seek_row,
    tabs,
    title_live,
    title_replay,
)
from apex_tui.tui.render_floor import barge_lines, event_line
from apex_tui.tui.render_lanes import LABEL, Axis, lane, lanes, overlaps
from apex_tui.tui.render_rows import keys_line
from apex_tui.tui.render_score import read_score, score_lines
from apex_tui.tui.render_transcript import block_lines, blocks, blocks_after, later_blocks
from apex_tui.tui.render_work import authority_lines, tool_lines
from apex_tui.tui.words import (
    DECISION_WORDS,
    OUTCOMES,
    STOP_WORDS,
    at,
    clock,
    latency_word,
    millis,
    outcome_text,
    stages,
    stop_word,
    values_text,
)

STALE = SessionView.fold(until_stale()).state
WHOLE = SessionView.fold(session()).state
NOW = 18_000.0


def words(lines: list[Text] | tuple[Text, ...] | Text) -> str:
    return lines.plain if isinstance(lines, Text) else "\n".join(line.plain for line in lines)


def test_times_and_numbers() -> None:
    assert clock(134_380) == "02:14.380"
    assert at(125_929.9) == "02:05.92"
    assert millis(1204) == "1,204 ms"
    assert millis(None) == "—"
    assert stages(96, "server_vad", 45) == "vad 96 + flush 45"
    assert stages(None, None, None) == "stages —"
    assert stages(94, "server_vad", -2) == "silent 2 before vad 94"
    assert values_text([141, 182]) == "141 and 182 ms"
    assert [latency_word(ms).word for ms in (600, 601, 1500, 1501, -40)] == [
        "natural",
        "holds together",
        "holds together",
        "strained",
        "natural",
    ]


def test_big_digits_switch_to_seconds_and_show_no_zero_for_nothing() -> None:
    assert big_millis(141)[1] == "ms"
    assert big_millis(10_400)[1] == "s"
    digits, unit = big_millis(None)
    assert (digits[1], unit) == ("╺━╸", "")


@pytest.mark.parametrize("width", [100, 110, 120, 133, 160, 240])
def test_band_has_six_rows_of_exact_width(width: int) -> None:
    lines = band(STALE, NOW, width, None)
    assert [line.cell_len for line in lines] == [width] * 6


def test_band_says_who_speaks_why_the_caller_waits_the_stop_the_answer_and_the_approval() -> None:
    shown = words(band(STALE, NOW, 120, None))
    for part in (
        "► SPEAKING",
        "0.2 s",
        "■ silent",
        "waits for the answer to",
        "its correction",
        "LAST STOP  B1",
        "✓ yielded",
        "vad 96 + flush 45",
        "answer 690 ms after a tool",
        "median 620 n 1 holds together",
        "✗ STALE  v2≠v3",
        "end_date, working_days",
    ):
        assert part in shown
    assert "╺┓ ╻ ╻╺┓" in shown  # 141 in big digits


def test_compact_band_keeps_the_words() -> None:
    lines = band_compact(STALE, NOW, 80, None)
    assert [line.cell_len for line in lines] == [80] * 3
    shown = words(lines)
    for part in (
        "► SPEAKING",
        "awaits an answer to its correction",
        "141 ms ✓ yielded",
        "vad 96 + flush 45",
        "STALE v2≠v3",
    ):
        assert part in shown
    assert "690 ms tool  median 620 n 1 holds together" in shown


def test_answers_that_needed_a_tool_get_no_band() -> None:
    only = [e for e in until_stale() if not (e.type == "response.measured" and e.media_ms < 5000)]
    state = SessionView.fold(only).state
    assert "median 1,290 n 2 after a tool" in words(band(state, NOW, 120, None))
    assert "690 ms tool  median 1,290 n 2 tool" in words(band_compact(state, NOW, 80, None))


def test_missing_values_are_dashes() -> None:
    shown = words(band(State(), 0.0, 120, None))
    assert "0 ms" not in shown
    assert "speak over the agent" in shown
    assert "? unknown" in shown
    assert words(level_bar(None, 4)) == "────"
    assert words(level_bar(-30.0, 4)) == "━━──"


def test_patience_counts_down_and_names_what_comes_next() -> None:
    events = [e for e in session() if e.media_ms <= 4210]
    state = SessionView.fold(events).state
    assert why_silent(state, 8100) == ("patience 2.1 s left", "nudge")
    assert agent_speaker(SessionView.at(session(), 4500).state, 4700).word.word == "thinking"


def test_lanes_are_exact_and_show_overlap_only_where_both_sound() -> None:
    lines = lanes(STALE, NOW, 116, True)
    assert [line.cell_len for line in lines] == [116] * 4
    caller, agent, marks, _ = (line.plain for line in lines)
    assert caller.count("╋") == agent.count("╋") == 1
    assert agent.endswith("►")
    assert "▲B1 141" in marks
    assert "◆v3" in marks
    assert "A✗" in marks


def test_lanes_round_starts_down_and_ends_up() -> None:
    axis = Axis(30_000, 100)
    assert axis.span(1000, 1120) == (3, 3)
    assert axis.span(890, 1210) == (2, 4)
    assert axis.span(-500, 10) == (0, 0)
    assert axis.span(-500, -10) is None
    assert lane([(29_990, None)], [], axis, "agent").plain[-1] == "►"
    one, other = [(0.0, 100.0)], [(200.0, 300.0)]
    assert overlaps(one, other, 30_000) == []  # the same cell, but not the same time
    assert overlaps([(0.0, None)], other, 30_000) == [(200.0, 300.0)]


def test_a_long_session_costs_the_lanes_nothing() -> None:
    axis_cells = 116 - LABEL
    assert lanes(WHOLE, 500_000.0, 116, False)[0].plain[LABEL:] == "─" * axis_cells


def test_transcript_shows_the_cut_and_what_was_not_heard() -> None:
    found = blocks(STALE)
    assert [b.at_ms for b in found] == sorted(b.at_ms for b in found)
    reply = next(b for b in found if b.who == "agent" and b.at_ms == 12_190)
    lines = block_lines(reply, 80)
    shown = words(lines)
    assert "fourteenth ╳ to" in shown.replace("\n" + " " * 17, " ")
    assert "╳ cut at B1 · 8 of 16 words heard" in shown
    struck = [line.plain[s.start : s.end] for line in lines for s in line.spans if s.style == "struck"]
    assert "".join(" ".join(struck).split()) == "toFridaytheeighteenth.ShallIsubmitit?"
    assert all(line.cell_len <= 80 for line in lines)


def test_transcript_interleaves_acts_tools_versions_and_authority() -> None:
    shown = words([line for b in blocks(STALE) for line in block_lines(b, 100)])
    for part in (
        "act CORRECT  end_date 2026-12-18 -> 2026-12-16  barge in",
        "T4 update_leave_form(end_date=2026-12-16, working_days=3) ✓ 84 ms",
        "◆ leave_form v3  end_date, working_days",
        "A? asks approval: submit_leave_request on v2",
        "A✓ approval of submit_leave_request covers v2",
    ):
        assert part in shown
    assert shown.index("No wait") < shown.index("T4 update") < shown.index("Done, the fourteenth")


def test_replay_keeps_what_comes_later_apart() -> None:
    state = SessionView.at(session(), 15_000).state
    found = blocks(state)
    later = later_blocks(blocks_after(WHOLE, 15_000, 40), found)
    assert later
    assert all(b.later and b.at_ms > 15_000 for b in later)
    assert not {b.seq for b in later} & {b.seq for b in found}


def test_artifact_shows_old_and_new_and_the_rail() -> None:
    shown = words(artifact_lines(STALE, 60))
    assert "v1 ─ v2 ─[v3]" in shown
    assert "~ end_date      2026-12-18 -> 2026-12-16" in shown
    assert "  employee_id   4411" in shown
    only = words(artifact_lines(STALE, 60, diff=True))
    assert "employee_id" not in only
    assert "working_days  5 -> 3" in only


def test_artifact_marks_stale_fields_with_their_cause() -> None:
    facts: list[tuple[float, AnyFact]] = [
        (
            0.0,
            w.ArtifactVersion(
                artifact="f", version=1, digest="0" * 64, author="agent", lifecycle="DRAFT", fields={"x": 1}
            ),
        ),
        (5.0, w.ArtifactStale(artifact="f", version=1, fields={"x": "the caller moved the date"}, since_ms=5)),
    ]
    state = SessionView.fold(to_events(facts)).state
    assert "▲ stale: the caller moved the date" in words(artifact_lines(state, 80))
    assert "▲1" in words(tabs(state, 1, 2, 120))


def test_a_thousand_versions_keep_the_rail_on_one_line() -> None:
    facts: list[tuple[float, AnyFact]] = [
        (
            float(n),
            w.ArtifactVersion(
                artifact="f", version=n, digest="0" * 64, author="agent", lifecycle="DRAFT", fields={"x": n}
            ),
        )
        for n in range(1, 1001)
    ]
    state = SessionView.fold(to_events(facts)).state
    first = artifact_lines(state, 60)[0]
    assert first.cell_len == 60
    assert "… ─ v" in first.plain
    assert "[v1000]" in first.plain


def test_authority_names_versions_and_differing_values() -> None:
    shown = words(authority_lines(STALE, 90))
    for part in (
        "✗ STALE  v2≠v3",
        "covers     v2, artifact is v3, given 00:13.90",
        "end_date 2026-12-18≠2026-12-16",
        "working_days 5≠3",
        "must ask again",
        "asked submit_leave_request v2: granted",
    ):
        assert part in shown
    done = words(authority_lines(WHOLE, 80))
    assert "● USED  v3" in done
    assert "commit submit_leave_request at completion: ✓ authorised" in done


def test_authority_words() -> None:
    assert str(authority(State()).word) == "- none"
    assert str(authority(SessionView.at(session(), 13_000).state).word) == "… PENDING"
    assert str(authority(SessionView.at(session(), 15_000).state).word) == "✓ BOUND"
    assert str(authority(SessionView.at(session(), 21_000).state).word) == "… PENDING"
    refused: list[tuple[float, AnyFact]] = [
        (
            1.0,
            w.CommitDecided(call="c", action="submit", target="t", decision="PREMATURE", at="call", why="nobody asked"),
        )
    ]
    found = authority(SessionView.fold(to_events(refused)).state)
    assert (str(found.word), found.detail) == ("✗ NOT GIVEN", "nobody asked")


def test_running_tools_count_up() -> None:
    state = SessionView.at(session(), 11_000).state
    shown = words(tool_lines(state, 11_120, 80))
    assert "running 0.5 s" in shown
    assert "2 calls · 0 failed · 0 refused · 0 cancelled" in shown
    assert "-> v3" in words(tool_lines(STALE, NOW, 80))


def test_barge_ins_keep_the_bad_ones_in_the_summary() -> None:
    extra: list[tuple[float, AnyFact]] = [
        (30_000.0, a.BargeInOpened(barge_in=2, turn=9, reply="r9", kind="overlap", onset_ms=30_000)),
        (32_000.0, a.BargeInClosed(barge_in=2, turn=9, reply="r9", kind="overlap", onset_ms=30_000, stop_kind="not_stopped")),
        (33_000.0, a.BargeInOpened(barge_in=3, turn=10, reply="r9", kind="overlap", onset_ms=33_000)),
        (34_000.0, a.BargeInClosed(barge_in=3, turn=10, reply="r9", kind="overlap", onset_ms=33_000, stop_kind="censored")),
    ]  # fmt: skip
    events = [*session()[:-1], *to_events(extra, first=1000)]
    shown = words(barge_lines(SessionView.fold(events).state, 100))
    assert "n 1: 141 ms · 1/2 yielded · 1 not stopped · 1 censored" in shown
    assert "—" in shown
    assert "B1 00:15.30   141 ms ✓ yielded" in shown
    assert "answers n 1: 620 ms  median 620 ms holds together" in shown


def test_event_lines_name_seq_and_type() -> None:
    line = event_line(next(e for e in session() if e.type == "barge_in.closed")).plain
    assert line.startswith("00:17.300 barge_in.closed")
    assert "B1 yielded 141 ms (vad 96 + flush 45)" in line
    assert "seq " in line


def test_every_event_of_the_session_has_a_line() -> None:
    for event in session():
        assert event_line(event).plain.startswith(clock(event.media_ms))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_titles_keep_the_rehearsal_label(width: int) -> None:
    live = title_live(STALE, NOW, Instrument("ok", 12.0), width)
    assert live.cell_len == width
    assert "rehearsal (scripted)" in live.plain
    replay = title_replay(STALE, WHOLE, 1000, 26_000, False, 1.0, width)
    assert "rehearsal (scripted)" in replay.plain
    assert replay.cell_len == width


def test_title_words() -> None:
    assert "● REC 00:18.000  engine ok  screen 12 ms" in title_live(STALE, NOW, Instrument("ok", 12.0), 120).plain
    assert "HELD · 7 events wait" in title_live(STALE, NOW, Instrument("ok", 12.0, True, 7), 80).plain
    assert "LATE 240 ms" in title_live(STALE, NOW, Instrument("ok", 240.0), 120).plain
    assert "■ completed" in title_live(WHOLE, NOW, Instrument("ended", None), 120).plain


def test_tabs_carry_live_values() -> None:
    assert words(tabs(STALE, 3, 55, 120)).split("  ")[0].strip() == "1 talk"
    assert "[3 authority ✗ STALE]" in words(tabs(STALE, 3, 55, 120))
    assert tabs(STALE, 3, 55, 80).cell_len == 80
    assert "2 art v3 ~2" in words(tabs(STALE, 3, 55, 80))


def test_key_line_drops_whole_entries() -> None:
    assert keys_line([("a", "one"), ("b", "two")], 9).plain == " a one   "


def test_seek_bar_puts_the_cursor_where_it_is() -> None:
    assert seek_column(0, 26_000, 118) == 0
    assert seek_column(26_000, 26_000, 118) == 117
    assert seek_column(0, 0, 118) == 0
    bar, marks = seek_row(13_000, 26_000, 120), seek_marks(WHOLE, 26_000, 120)
    assert bar.plain.index("╋") == 60
    assert "B1" in marks.plain


def test_scorecard_of_a_failure_names_gate_field_and_evidence() -> None:
    shown = words(score_lines(score(False), 100))
    for part in (
        "✗ FAILED · AV artifact validity",
        "rehearsal (scripted)",
        "✓ pass  TS target state",
        "✗ FAIL  AV artifact validity",
        "└ field.end_date: 2026-12-18, not 2026-12-16  seq 41, 52",
        "✗ WRONG end_date",
        "AFA 50.0 % (n 2; a diagnosis, no part of success)",
        "141 ms  ✓ yielded",
        "yielded 1 of 1 (100%)",
        "n 2: 1,890 and 690 ms",
    ):
        assert part in shown
    card = words(score_lines(score(), 140))
    assert "504 ms as wanted corrected" in card
    assert "✓ SUCCESS · all four gates passed" in words(score_lines(score(), 140))


def test_an_invalid_session_judges_nobody() -> None:
    verdict = score().model_copy(update={"validity": "operator", "success": False})
    assert "NOT SCORED · ended by the operator" in words(score_lines(verdict, 100))


def test_a_score_that_is_none_is_refused_in_one_sentence() -> None:
    with pytest.raises(Exception, match=r"score\.json is not a verdict"):
        read_score({"schema_version": 1})


def test_no_render_draws_glyphs_of_double_width() -> None:
    lines = [*band(STALE, NOW, 120, None), *lanes(STALE, NOW, 120, True), *score_lines(score(False), 100)]
    assert all(line.cell_len == len(line.plain) for line in lines)


def test_every_kind_of_the_log_has_its_words() -> None:
    assert set(get_args(a.StopKind)) == set(STOP_WORDS)
    assert set(get_args(Outcome)) == set(OUTCOMES)
    assert set(get_args(w.Decision)) == set(DECISION_WORDS)
    assert stop_word("new_kind") == ("?", "new kind", "warn")
    assert outcome_text("new_end") == "new end"
    for why in get_args(SilentBecause):
        state = State(waits=CallerWaits(why=why, until_ms=2000))
        assert why_silent(state, 0.0)[0]


def test_barge_ins_in_a_pause_stand_in_no_share() -> None:
    extra: list[tuple[float, AnyFact]] = [
        (30_000.0, a.BargeInOpened(barge_in=2, turn=9, reply="r9", kind="in_pause", onset_ms=30_000)),
        (32_000.0, a.BargeInClosed(barge_in=2, turn=9, reply="r9", kind="in_pause", onset_ms=30_000, stop_kind="yielded")),
    ]  # fmt: skip
    state = SessionView.fold([*session()[:-1], *to_events(extra, first=1000)]).state
    assert "n 1: 141 ms · 1/1 yielded · 1 in a pause" in words(barge_lines(state, 100))
    assert [stop.barge_in for stop in observed_stops(state)] == [1]


def test_what_was_measured_across_a_stall_of_ours_stands_in_no_number() -> None:
    before = SessionView.fold(session()).state
    known = answers(before).plain
    late: list[tuple[float, AnyFact]] = [
        (30_000.0, a.BargeInOpened(barge_in=2, turn=9, reply="r9", kind="overlap", onset_ms=30_000)),
        (30_300.0, a.ResponseMeasured(turn=before.turns[-1].number, reply="r9", first_audible_ms=30_300.0 - before.turns[-1].ends_ms)),
        (32_000.0, a.BargeInClosed(
            barge_in=2, turn=9, reply="r9", kind="overlap", onset_ms=30_000, stop_kind="yielded", stop_delay_ms=900.0)),
    ]  # fmt: skip
    told = SessionPulse(
        frames=50, late_p50_ms=1.0, late_p99_ms=1.0, late_max_ms=1000.0, over_20ms=1, dropped=0, caller_db=-120.0, agent_db=-120.0,
        queue_ms=0.0,
    )  # fmt: skip
    events = [*session()[:-1], *to_events(late, first=1000)]
    state = SessionView.fold(events).state
    assert len(answers(state).plain) == len(known) + 1
    state = SessionView.fold([*events, *to_events([(32_010.0, told)], first=1010)]).state
    assert "n 1: 141 ms · 1/1 yielded · 1 across a stall of ours" in words(barge_lines(state, 100))
    assert answers(state).plain == known
