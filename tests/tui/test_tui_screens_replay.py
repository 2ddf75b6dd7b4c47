"""Replay by its keys, and the habits that every screen has: help, palette, pictures, room, colours."""

import asyncio
from pathlib import Path

import pytest
import tui_sample as sample
from rich.style import Style
from textual.pilot import Pilot
from tui_fakes import make_app
from tui_pilot import (
    NARROW,
    RUN,
    WIDE,
    assert_palette,
    drive,
    live_app,
    live_screen,
    replay_screen,
    running,
    settle,
    showing,
    text_of,
)

from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.dialogs import HelpScreen
from apex_tui.tui.keys import LIVE, PICKER, REPLAY, SCORE
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.screen_score import ScoreScreen
from apex_tui.tui.widgets.painted import Pane

PLAYED = tuple(key for key in REPLAY if key.id != "scenario")
"""What a scored recording of a recorded caller has."""


async def test_replay_keys_go_to_the_right_instant() -> None:
    walk: tuple[tuple[str, float], ...] = (
        ("right", 1000), ("full_stop", 1500), ("full_stop", 4200), ("comma", 1500), ("shift+right", 11_500), ("left", 10_500),
        ("right_curly_bracket", 10_604), ("shift+left", 604), ("end", 26_000), ("left_square_bracket", 15_300),
        ("left_curly_bracket", 11_920), ("home", 0), ("right_square_bracket", 15_300),
    )  # fmt: skip

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for key, at_ms in walk:
            await pilot.press(key)
            assert replay_screen(app).player.at_ms == at_ms, key
        await pilot.press("home", "left_square_bracket")
        assert "no barge-in before the cursor" in text_of(app)
        await pilot.press("end", "right_curly_bracket")
        assert "no artifact version after the cursor" in text_of(app)

    await drive(make_app(Replay(Path("/s/one"))), driver)


async def test_replay_shows_the_state_at_the_cursor_and_dims_what_comes_later() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("right_square_bracket", "left")
        await pilot.pause()
        shown = text_of(app)
        assert "✓ BOUND  v2" in shown
        assert "cursor" in shown
        assert "00:14.300 / 00:26.000" in shown
        assert "■ paused 1x" in shown

    await drive(make_app(Replay(Path("/s/one"))), driver)


async def test_replay_plays_with_the_clock_and_changes_speed() -> None:
    now = [0.0]
    app = make_app(Replay(Path("/s/one")))
    app._clock = lambda: now[0]

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        player = replay_screen(app).player
        await pilot.press("space")
        now[0] += 2.0
        await settle(pilot)
        assert player.at_ms == 2000
        await pilot.press("plus", "plus")
        now[0] += 1.0
        await settle(pilot)
        assert (player.speed, player.at_ms) == (4.0, 6000)
        await pilot.press("minus", "space")
        now[0] += 5.0
        await settle(pilot)
        assert (player.speed, player.playing) == (2.0, False)
        assert player.at_ms <= 6000 + 10_000

    await drive(app, driver)


async def test_replay_of_an_unscored_session_says_so_and_a_click_seeks() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert "no verdict" in text_of(app)
        assert "enter scorecard" not in text_of(app)
        offered = {command.title for command in app.get_system_commands(app.screen)}
        assert not offered & {key.help for key in REPLAY if key.id in ("verdict", "scenario")}
        await pilot.click("#seek", offset=(60, 0))
        await settle(pilot)
        assert replay_screen(app).player.at_ms == pytest.approx(13_000, abs=10)

    await drive(make_app(Replay(Path("/s/one"))), driver)


async def test_replay_panes_diff_zoom_and_verdict() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        body = replay_screen(app).panes
        await pilot.press("end", "6", "d", "z")
        await pilot.pause()
        assert (body.active, body.diff, body.zoomed) == (6, True, True)
        assert "session.ended" in text_of(app)
        await pilot.press("tab")
        await pilot.pause()
        assert body.active == 1
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ScoreScreen)

    await drive(make_app(Replay(Path("/s/one")), verdict=sample.score()), driver)


async def test_a_recording_that_cannot_be_opened_ends_the_app_with_its_code() -> None:
    app = make_app(Replay(Path("/s/missing")))
    async with app.run_test(size=WIDE) as pilot:
        for _ in range(20):
            await pilot.pause(0.02)
    assert app.return_code == 2


async def test_help_lists_every_key_the_glyphs_and_the_numbers() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for key in ("f1", "question_mark"):
            await pilot.press(key)
            await pilot.pause()
            assert showing(app, HelpScreen)
            told = "\n".join(line.plain for line in app.screen.query_one(Pane).lines)
            for entry in PLAYED:
                assert " ".join(entry.help.split()[:3]) in told
            assert "STALE v3≠v4" in told
            assert "╋" in told
            await pilot.press("escape")
            await pilot.pause()
            assert showing(app, ReplayScreen)

    await drive(make_app(Replay(Path("/s/one")), verdict=sample.score()), driver)


async def test_the_palette_holds_every_action_of_the_screen() -> None:
    async def run(app: ApexApp, pilot: Pilot[int]) -> None:
        assert_palette(app, PICKER)
        await pilot.press("enter")
        await settle(pilot)
        assert_palette(app, LIVE)

    async def review(app: ApexApp, pilot: Pilot[int]) -> None:
        assert_palette(app, PLAYED)
        await pilot.press("enter")
        await settle(pilot)
        assert_palette(app, SCORE)

    await drive(make_app(link=running()), run)
    await drive(make_app(Replay(Path("/s/one")), verdict=sample.score(False)), review)


async def test_a_palette_command_does_what_its_key_does() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        command = next(c for c in app.get_system_commands(app.screen) if c.title == "End")
        outcome = command.callback()
        if asyncio.iscoroutine(outcome):
            await outcome
        await pilot.pause()
        assert replay_screen(app).player.at_ms == 26_000
        await pilot.press("ctrl+p")
        await settle(pilot)
        assert "CommandPalette" in type(app.screen).__name__

    await drive(make_app(Replay(Path("/s/one"))), driver)


async def test_a_screenshot_is_saved_and_its_place_is_told(tmp_path: Path) -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("ctrl+s", "ctrl+s")
        await settle(pilot)
        files = sorted(p.name for p in (tmp_path / "screenshots").iterdir())
        assert files == ["live-1.svg", "live-2.svg"]
        assert "screenshot saved to" in text_of(app)
        picture = (tmp_path / "screenshots" / "live-1.svg").read_text()
        assert "rehearsal" in picture
        assert "@font-face" not in picture

    await drive(live_app(running(), tmp_path), driver, (200, 50))


async def test_too_little_room_is_asked_for_and_themes_switch_in_mid_run() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for size in ((59, 30), (100, 19), (20, 5)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert "60x20" in " ".join(text_of(app).split())
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "● REC" in text_of(app)
        assert "60x20" not in text_of(app)
        assert {"apex-dark", "apex-light", "apex-contrast"} <= set(app.available_themes)
        for theme in ("apex-light", "apex-contrast", "ansi-dark", "apex-dark"):
            app.theme = theme
            await pilot.pause()
            assert "● REC" in text_of(app)

    await drive(live_app(running()), driver, NARROW)


async def test_monochrome_has_no_colour_and_all_the_words() -> None:
    async def driver(app: ApexApp, _pilot: Pilot[int]) -> None:
        styles: list[Style] = [
            segment.style
            for strip in app.screen._compositor.render_strips()
            for segment in strip.apply_filter(app.get_line_filters()[0], app.screen.styles.background)
            if segment.style is not None
        ]
        colours = [c for s in styles for c in (s.color, s.bgcolor) if c is not None]
        assert all(c.is_default for c in colours)
        assert any(s.strike for s in styles)
        for state in ("► SPEAKING", "✗ STALE", "✓ yielded", "~ end_date"):
            assert state in text_of(app)

    await drive(make_app(RUN, link=running(), mono=True), driver, (120, 60))


async def test_an_unchanged_state_repaints_no_pane() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        body = live_screen(app).panes
        before = [id(pane._lines) for pane in body.panes.values()], id(body.band._lines), id(body.lanes._lines)
        await settle(pilot)
        after = [id(pane._lines) for pane in body.panes.values()], id(body.band._lines), id(body.lanes._lines)
        assert before == after

    await drive(live_app(running()), driver)


async def test_home_and_end_are_the_recordings_whichever_pane_has_the_keys() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = replay_screen(app)
        await pilot.press("1")
        await pilot.pause()
        assert screen.panes.transcript.has_focus
        await pilot.press("end")
        assert screen.player.at_ms == screen.player.end_ms == 26_000
        await pilot.press("ctrl+home")
        await pilot.pause()
        assert screen.panes.transcript.scroll_offset.y == 0
        assert screen.player.at_ms == 26_000
        await pilot.press("home")
        assert screen.player.at_ms == 0

    await drive(make_app(Replay(Path("/s/one"))), driver)
