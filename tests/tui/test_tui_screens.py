"""Every key of every screen, driven through the app as a person drives it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import tui_sample as sample
from rich.style import Style
from textual.pilot import Pilot
from textual.screen import Screen
from tui_fakes import NO_SOUND, FakeLink, make_app, opened

from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK
from apex_tui.timeline.messages import Failed, Mark, Meters, Run, Scored, Stop
from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.dialogs import AskScreen, HelpScreen, RecordingsScreen
from apex_tui.tui.keys import LIVE, PICKER, REPLAY, SCORE, Key
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.screen_score import ScoreScreen
from apex_tui.tui.widgets.painted import Pane

RUN = Run(workflow="leave-request", seed=7)
WIDE, NARROW = (120, 36), (80, 24)
Driver = Callable[[ApexApp, Pilot[int]], Awaitable[None]]


def text_of(app: ApexApp) -> str:
    """The characters on the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def settle(pilot: Pilot[int]) -> None:
    """Let timers, workers and repaints come through."""
    await pilot.pause(0.07)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def drive(app: ApexApp, driver: Driver, size: tuple[int, int] = WIDE) -> None:
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await driver(app, pilot)


def live_app(link: FakeLink, state: Path = Path("/nowhere")) -> ApexApp:
    return make_app(RUN, link=link, state=state)


def running() -> FakeLink:
    return FakeLink(opened(sample.until_stale()))


def scored(success: bool = True) -> FakeLink:
    verdict = Scored(folder="/s/live", score=sample.score(success).model_dump(mode="json"))
    return FakeLink([*opened(sample.session()), verdict], ended=True)


def showing(app: ApexApp, kind: type[Screen[Any]]) -> bool:
    """Whether the screen in front is of that kind."""
    return isinstance(app.screen, kind)


def live_screen(app: ApexApp) -> LiveScreen:
    assert isinstance(app.screen, LiveScreen)
    return app.screen


def replay_screen(app: ApexApp) -> ReplayScreen:
    assert isinstance(app.screen, ReplayScreen)
    return app.screen


# --- picker ----------------------------------------------------------------------------------------------------------------------------


async def test_picker_shows_workflows_runs_and_what_will_happen() -> None:
    async def driver(app: ApexApp, _pilot: Pilot[int]) -> None:
        shown = text_of(app)
        for part in (
            "Leave request", "form fill", "2 workflows · 2 sessions", "agent rehearsal (scripted)",
            "submit_leave_request", "seed 1", "Nothing is sent until you press enter", "✗ PV",
        ):  # fmt: skip
            assert part in shown

    await drive(make_app(), driver)


async def test_picker_runs_what_was_chosen() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("down", "s", "4", "2", "enter")
        await settle(pilot)
        assert "against the agent rehearsal (scripted)" in text_of(app)
        assert "seed 42" in text_of(app)
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, LiveScreen)
        assert link.sent[0] == Run(workflow="payment", agent="rehearsal", seed=42)

    await drive(make_app(link=link), driver)


async def test_picker_opens_a_recorded_session() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("o")
        await settle(pilot)
        assert showing(app, RecordingsScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert showing(app, PickerScreen)
        await pilot.press("o")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ScoreScreen)

    await drive(make_app(verdict=sample.score()), driver)


async def test_q_leaves_the_picker_with_success() -> None:
    app = make_app()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("q")
    assert app.return_code == EXIT_OK


# --- live ------------------------------------------------------------------------------------------------------------------------------


async def test_live_follows_the_meters_and_space_holds_the_view() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        shown = text_of(app)
        for part in ("rehearsal (scripted)", "● REC 00:18.000", "► SPEAKING", "STALE", "No wait", NO_SOUND):
            assert part in shown
        link.items = [Meters(media_ms=18_640, caller_db=-70, agent_db=-20, late_ms=0, queue_ms=0)]
        await settle(pilot)
        assert "● REC 00:18.640" in text_of(app)
        assert live_screen(app).levels == (-70, -20)
        await pilot.press("space")
        link.items = list(sample.session()[len(sample.until_stale()) :])
        await settle(pilot)
        assert f"HELD · {len(sample.session()) - len(sample.until_stale())} events wait" in text_of(app)
        assert "STALE" in text_of(app)
        await pilot.press("space")
        await settle(pilot)
        assert "HELD" not in text_of(app)
        assert "● USED" in text_of(app)

    await drive(live_app(link), driver)


async def test_number_keys_tab_and_zoom_bring_panes_to_the_front() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        body = live_screen(app).panes
        for number in "234561":
            await pilot.press(number)
            await pilot.pause()
            assert body.active == int(number)
            assert body.panes[int(number)].display
            assert app.focused is body.panes[int(number)]
        await pilot.press("tab")
        await pilot.pause()
        assert body.active == 2
        await pilot.press("shift+tab")
        await pilot.pause()
        assert body.active == 1
        await pilot.press("z")
        await pilot.pause()
        assert [n for n, p in body.panes.items() if p.display] == [1]
        await pilot.press("z")
        await pilot.pause()
        assert [n for n, p in body.panes.items() if p.display] == [1, 2, 3, 4, 5]

    await drive(live_app(running()), driver)


async def test_narrow_screens_show_one_pane_and_tabs_with_live_values() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        body = live_screen(app).panes
        shown = text_of(app)
        for part in ("rehearsal (scripted)", "● REC 00:18.000", "► SPEAKING", "STALE", "No wait", NO_SOUND):
            assert part in shown
        assert [n for n, p in body.panes.items() if p.display] == [1]
        assert "2 art v3 ~2  3 auth ✗" in text_of(app)
        await pilot.press("3")
        await pilot.pause()
        assert "must ask again" in text_of(app)
        await pilot.resize_terminal(120, 36)
        await settle(pilot)
        assert [n for n, p in body.panes.items() if p.display] == [1, 2, 3, 4, 5]
        await pilot.resize_terminal(200, 50)
        await settle(pilot)
        assert all(p.display for p in body.panes.values())

    await drive(live_app(running()), driver, NARROW)


async def test_diff_follow_and_mark() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        assert "employee_id   4411" in text_of(app)
        await pilot.press("d")
        await pilot.pause()
        assert "employee_id   4411" not in text_of(app)
        assert "changes only" in text_of(app)
        await pilot.press("f")
        await pilot.pause()
        assert "follow off" in text_of(app)
        await pilot.press("f", "b")
        await pilot.pause()
        assert "follow ON" in text_of(app)
        assert link.sent == [RUN, Mark()]

    await drive(live_app(link), driver)


async def test_x_asks_before_it_ends_the_run_and_q_leaves_the_engine_running() -> None:
    link = running()
    app = live_app(link)
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await pilot.press("x")
        await pilot.pause()
        assert showing(app, AskScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert link.sent == [RUN]
        await pilot.press("q")
        await pilot.pause()
        assert "the recording goes on" in text_of(app)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == EXIT_OK
    assert link.detached
    assert Stop() not in link.sent


async def test_x_twice_ends_the_run() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("x")
        await pilot.pause()
        await pilot.press("x")
        await pilot.pause()
        assert link.sent == [RUN, Stop()]
        assert showing(app, LiveScreen)

    await drive(live_app(link), driver, NARROW)


async def test_an_engine_failure_is_one_sentence_with_a_way_back() -> None:
    link = FakeLink([Failed(message="The engine ended with exit code 9", exit_code=9)], ended=True)
    app = make_app(link=link)
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert "✗ The engine ended with exit code 9 · q goes back" in text_of(app)
        await pilot.press("q")
        await settle(pilot)
        assert showing(app, PickerScreen)


@pytest.mark.parametrize(("success", "code"), [(True, EXIT_OK), (False, EXIT_FAILED)])
async def test_the_scorecard_comes_by_itself_and_sets_the_exit_code(success: bool, code: int) -> None:
    app = live_app(scored(success))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert showing(app, ScoreScreen)
        assert ("SUCCESS" if success else "FAILED") in text_of(app)
        await pilot.press("q")
        await settle(pilot)
        assert showing(app, LiveScreen)
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ScoreScreen)
        await pilot.press("q")
        await settle(pilot)
        await pilot.press("q")
    assert app.return_code == code


async def test_a_run_that_was_ended_by_the_operator_judges_nobody() -> None:
    verdict = sample.score().model_copy(update={"validity": "operator", "success": False})
    record = Scored(folder="/s/live", score=verdict.model_dump(mode="json"))
    app = live_app(FakeLink([*opened(sample.session()), record], ended=True))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "NOT SCORED" in text_of(app)
        await pilot.press("ctrl+q")
    assert app.return_code == EXIT_INVALID


# --- scorecard and replay --------------------------------------------------------------------------------------------------------------


async def test_scorecard_scrolls_and_replays() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        assert showing(app, ScoreScreen)
        pane = app.screen.query_one(Pane)
        await pilot.press("down", "j")
        await pilot.pause()
        assert pane.scroll_offset.y == 2
        await pilot.press("up", "k", "pagedown")
        await pilot.pause()
        assert pane.scroll_offset.y > 2
        await pilot.press("pageup")
        await pilot.pause()
        assert pane.scroll_offset.y == 0
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ReplayScreen)
        await pilot.press("q")
        await settle(pilot)
        assert showing(app, ScoreScreen)

    await drive(live_app(scored()), driver, NARROW)


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


# --- everywhere ------------------------------------------------------------------------------------------------------------------------


async def test_help_lists_every_key_the_glyphs_and_the_numbers() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        for key in ("f1", "question_mark"):
            await pilot.press(key)
            await pilot.pause()
            assert showing(app, HelpScreen)
            told = "\n".join(line.plain for line in app.screen.query_one(Pane).lines)
            for entry in REPLAY:
                assert " ".join(entry.help.split()[:3]) in told
            assert "STALE v3≠v4" in told
            assert "╋" in told
            await pilot.press("escape")
            await pilot.pause()
            assert showing(app, ReplayScreen)

    await drive(make_app(Replay(Path("/s/one"))), driver)


def assert_palette(app: ApexApp, table: tuple[Key, ...]) -> None:
    titles = {command.title for command in app.get_system_commands(app.screen)}
    assert {key.help for key in table} <= titles
    assert "Theme" in titles


async def test_the_palette_holds_every_action_of_the_screen() -> None:
    async def run(app: ApexApp, pilot: Pilot[int]) -> None:
        assert_palette(app, PICKER)
        await pilot.press("enter")
        await settle(pilot)
        assert_palette(app, LIVE)

    async def review(app: ApexApp, pilot: Pilot[int]) -> None:
        assert_palette(app, REPLAY)
        await pilot.press("enter")
        await settle(pilot)
        assert_palette(app, SCORE)

    await drive(make_app(link=running()), run)
    await drive(make_app(Replay(Path("/s/one")), verdict=sample.score()), review)


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
