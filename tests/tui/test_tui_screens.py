"""The picker, the live screen and the scorecard by their keys: what is shown, what is sent, and how the app ends."""

import gc
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import tui_sample as sample
from textual.pilot import Pilot
from textual.widgets import OptionList
from tui_fakes import CARDS, NO_SOUND, FakeLink, make_app, opened
from tui_pilot import NARROW, RUN, WIDE, drive, live_app, live_screen, running, scored, settle, showing, text_of

from apex_tui.timeline.errors import EXIT_FAILED, EXIT_INVALID, EXIT_OK
from apex_tui.timeline.messages import Failed, Mark, Meters, Run, Scored, Stop
from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.dialogs import AskScreen, RecordingsScreen
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.screen_results import ResultsScreen
from apex_tui.tui.screen_score import ScoreScreen
from apex_tui.tui.widgets.painted import Pane


async def test_picker_shows_workflows_runs_and_what_will_happen() -> None:
    async def driver(app: ApexApp, _pilot: Pilot[int]) -> None:
        shown = text_of(app)
        for part in (
            "Leave request", "form fill", "2 workflows · 2 sessions", "agent rehearsal (scripted)",
            "submit_leave_request", "seed 1", "Nothing is sent until you press enter", "✗ PV",
        ):  # fmt: skip
            assert part in shown

    await drive(make_app(), driver)


async def test_a_chosen_workflow_stays_in_sight_when_the_window_gets_small() -> None:
    app = make_app()
    app.sources = replace(
        app.sources, cards=lambda: [replace(CARDS[0], id=f"w{n}", title=f"Form {n}") for n in range(40)]
    )

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press(*["down"] * 25)
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        assert (screen.choice.workflow, screen.list.highlighted) == ("w25", 25)
        assert "Form 25 " in text_of(app)

    await drive(app, driver)


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


async def test_diff_follow_and_mark_and_what_is_told_goes_again_but_not_bad_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = running()
    monkeypatch.setattr("apex_tui.tui.screen_base.SAID_S", 0.05)

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
        await pilot.pause(0.1)
        assert "marked: the mark" not in text_of(app)
        await pilot.press("space")
        live_screen(app).say("the disk is full", "bad")
        await pilot.pause(0.1)
        assert "the disk is full" in text_of(app)

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


@pytest.mark.parametrize("key", ["x", "enter"])
async def test_x_twice_or_enter_ends_the_run(key: str) -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("R")
        await pilot.pause()
        assert "its result stands among the others when it has ended" in " ".join(text_of(app).split())
        await pilot.press("x")
        await pilot.pause()
        await pilot.press(key)
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
        await pilot.press("R")
        await settle(pilot)
        assert showing(app, ResultsScreen)
        await pilot.press("q")
        await settle(pilot)
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
        assert "q quit" in text_of(app)
        assert ("w failing moment" in text_of(app)) is not success
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


async def test_from_a_finished_run_each_q_goes_one_step_back_and_the_run_itself_is_no_step() -> None:
    app = make_app(link=scored())
    async with app.run_test(size=NARROW) as pilot:
        await settle(pilot)
        assert "q quit" in text_of(app)
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ScoreScreen)
        card = app.screen
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ReplayScreen)
        assert "q back" in text_of(app)
        await pilot.press("enter")  # to the scorecard that it came from, not to another one
        await settle(pilot)
        assert app.screen is card
        await pilot.press("q")
        await settle(pilot)
        assert showing(app, PickerScreen)


async def test_a_scorecard_that_a_replay_opened_leads_back_to_it() -> None:
    app = make_app(Replay(Path("/s/one")), verdict=sample.score(False))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        replay = app.screen
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, ScoreScreen)
        await pilot.press("w")
        await settle(pilot)
        assert app.screen is replay
        assert "00:17.800 /" in text_of(app)


async def test_the_key_line_of_a_run_that_is_over_offers_what_is_left() -> None:
    app = live_app(running())
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert "space hold  f follow  w why  x end  b mark  D direct" in text_of(app)
        live_screen(app)._failed(Failed(message="the engine is gone", exit_code=3))
        await settle(pilot)
        assert "enter scorecard  R results  w why" in text_of(app)
        assert "x end" not in text_of(app)


async def test_a_row_that_is_left_at_once_leaves_no_work_behind_that_python_complains_about() -> None:
    app = make_app()
    app.sources = replace(app.sources, cards=lambda: [replace(CARDS[0], id=f"w{n}") for n in range(3)])

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, PickerScreen)
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            for row in (1, 2):  # both before a worker has taken its first step
                screen.on_option_list_option_highlighted(
                    OptionList.OptionHighlighted(screen.list, screen.list.get_option_at_index(row), row)
                )
            await settle(pilot)
            gc.collect()
        assert [str(c.message) for c in complaints] == []
        assert screen.choice.workflow == "w2"

    await drive(app, driver)


async def test_a_view_held_over_the_end_says_so_and_lets_go() -> None:
    link = running()

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("space")
        last = sample.until_stale()[-1].seq
        verdict = Scored(folder="/s/live", score=sample.score().model_dump(mode="json"))
        link.items += [*(event for event in sample.session() if event.seq > last), verdict]
        link.ended = True
        await settle(pilot)
        assert "the run is over; the view is still held" in text_of(app)
        assert "space hold" in text_of(app)
        await pilot.press("space")
        await settle(pilot)
        assert showing(app, ScoreScreen)

    await drive(live_app(link), driver)


async def test_a_run_that_is_over_cannot_be_held() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        link.ended = True
        await settle(pilot)
        await pilot.press("space")
        assert "the run is over: nothing moves any more" in text_of(app)
        assert not live_screen(app).feed.held

    link = running()
    await drive(live_app(link), driver)
