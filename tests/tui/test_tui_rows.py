"""The rows at the edges: which keys a line names, what is not parted, and how long a warning is news."""

from tui_sample import until_stale

from apex_tui.timeline.session_facts import SessionWarning
from apex_tui.timeline.view import SessionView
from apex_tui.tui.lines import flowing, row
from apex_tui.tui.render_chrome import Instrument, status_line
from apex_tui.tui.render_rows import keys_line, line_of_keys


def test_a_key_line_that_leaves_keys_out_says_where_all_of_them_are() -> None:
    own = [("space", "play"), ("[ ]", "barge-in"), ("w", "why")]
    always = ("?", "help"), ("^p", "palette"), ("q", "back")

    def shown(width: int) -> str:
        return keys_line(line_of_keys(own, *always, width), width).plain.rstrip()

    assert shown(80) == " space play  [ ] barge-in  w why  ? help  ^p palette  q back"
    assert shown(58) == " space play  [ ] barge-in  w why  ? all keys  q back"
    assert shown(42) == " space play  ? all keys  q back"


def test_pieces_of_a_row_are_not_parted_where_a_line_has_room_for_them() -> None:
    items = [row("○ start_date 2026-12-14"), row("○ handover_to Dana Whitfield"), row("✓ 1 told")]
    assert [line.plain for line in flowing(row(" tell "), items, 40)] == [
        " tell ○ start_date 2026-12-14",
        "      ○ handover_to Dana Whitfield",
        "      ✓ 1 told",
    ]
    assert len(flowing(row(" tell "), items, 80)) == 1


def test_a_warning_leaves_the_status_line_when_it_is_no_news_any_more() -> None:
    state = SessionView.fold(until_stale()).state
    state.warnings.append((900, 20_000.0, SessionWarning(code="microphone", message="the microphone is gone")))
    fresh = status_line(state, 49_000.0, Instrument(), None, 160).plain
    later = status_line(state, 51_000.0, Instrument(), None, 160).plain
    assert "▲ the microphone is gone" in fresh
    assert "frames late p99" not in fresh
    assert "the microphone is gone" not in later
    assert "▲ 1 warning" in later
