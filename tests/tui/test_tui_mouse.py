"""The mouse: what a click, the wheel and a selection do in the panes of a session."""

from pathlib import Path

import tui_sample as sample
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection
from tui_fakes import make_app
from tui_pilot import NARROW, drive, replay_screen, settle, showing, text_of

from apex_tui.timeline.events import AnyFact
from apex_tui.timeline.view import SessionView
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_picker import PickerScreen
from apex_tui.tui.screen_replay import ReplayScreen
from apex_tui.tui.screen_why import WhyScreen
from apex_tui.tui.widgets.body import SessionBody

REPLAYED = Replay(Path("/s/one"))


async def test_the_mouse_reaches_marks_tabs_versions_and_fields() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        screen = replay_screen(app)
        marks = screen.seek_bar.lines[1].plain
        await pilot.click("#seek", offset=(marks.index("B1") + 1, 1))
        assert screen.player.at_ms == 15_300
        await pilot.click("#tabs", offset=(screen.panes.tabs.lines[0].plain.index("3 "), 0))
        await pilot.pause()
        assert screen.panes.active == 3
        await pilot.press("2", "end")
        await pilot.pause()
        rail = screen.panes.panes[2].lines[0].plain
        await pilot.click("#pane-2", offset=(2 + rail.index("v2"), 1))
        await settle(pilot)
        assert screen.player.at_ms == 11_920
        field = next(n for n, line in enumerate(screen.panes.panes[2].lines) if "working_days" in line.plain)
        await pilot.click("#pane-2", offset=(4, 1 + field))
        await settle(pilot)
        assert isinstance(app.screen, WhyScreen)
        assert "working_days = 5" in text_of(app)

    await drive(make_app(REPLAYED), driver, NARROW)


def test_a_click_asks_about_the_field_of_its_line_and_no_other() -> None:
    """One field's name begins another's, one artifact's id is part of another's, and a value looks like a rail."""
    fields = {"arrival": "[v9] stay", "arrival_time": "after ten " * 20}
    facts: list[tuple[float, AnyFact]] = [
        (
            1.0,
            ArtifactVersion(
                artifact=name, version=n, digest="0" * 64, author="agent", lifecycle="DRAFT", fields=fields
            ),
        )
        for name in ("v1_order", "v1_order_copy")
        for n in (1, 2)
    ]
    state = SessionView.fold(sample.to_events(facts)).state
    asked: list[object] = []
    body = SessionBody()
    body.state = state
    body.asked_field = asked.append
    body.asked_version = lambda *version: asked.append(version)
    lines = body._artifact(60)
    for number, line in enumerate(lines):
        body._artifact_clicked(line.plain.index("v2") if "[v2]" in line.plain else 4, number)
    first = ["v1_order.arrival", *["v1_order.arrival_time"] * 5]
    assert asked == [("v1_order", 2), *first, ("v1_order_copy", 2), *[a.replace(".", "_copy.") for a in first]]
    body._artifact_clicked(lines[0].plain.index("v1_"), 0)
    assert len(asked) == 14


async def test_the_edge_says_at_once_that_the_wheel_let_go_of_the_end() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("end")
        await settle(pilot)
        assert "follow ON" in text_of(app)
        replay_screen(app).panes.transcript.scroll_relative(y=-2, animate=False, immediate=True)
        await pilot.pause()
        assert "follow off" in text_of(app)

    await drive(make_app(REPLAYED), driver, NARROW)


async def test_what_is_selected_is_copied_and_asks_about_nothing() -> None:
    """From right of a short line's end, over rows that cannot be selected, and of lines that are gone: each was fatal or copied nonsense."""

    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        pane = replay_screen(app).panes.panes[2]
        await pilot.press("end", "2")
        await settle(pilot)
        await pilot.mouse_down("#pane-2", offset=(70, 2))
        await pilot.hover("#pane-2", offset=(16, 3))
        await pilot.mouse_up("#pane-2", offset=(16, 3))
        await settle(pilot)
        assert showing(app, ReplayScreen)
        assert app.screen.get_selected_text() == f"{pane.lines[1].plain[68:]}\n{pane.lines[2].plain[:15]}"
        assert pane.lines[2].plain[:14] in text_of(app)
        pane.source = lambda _width: ()
        pane.reload()
        assert not app.screen.get_selected_text()
        await pilot.mouse_down("#pane-2", offset=(3, 1))
        await pilot.hover(offset=(3, 1))
        await pilot.mouse_up(offset=(3, 1))
        assert "#" not in (app.screen.get_selected_text() or "")

    await drive(make_app(REPLAYED, verdict=sample.score()), driver, NARROW)


async def test_of_the_events_only_the_rows_that_are_selected_are_made() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("end", "6")
        await settle(pilot)
        pane = replay_screen(app).panes.events_pane
        rows = pane.all_text().splitlines()
        part = Selection(Offset(3, 8), Offset(5, 9))
        assert pane.get_selection(part) == (f"{rows[8][3:]}\n{rows[9][:5]}", "\n")
        whole = pane.get_selection(Selection(None, None))
        assert whole is not None
        assert whole[0].splitlines() == rows
        assert pane.get_selection(Selection(Offset(0, len(rows)), None)) is None

    await drive(make_app(REPLAYED), driver, NARROW)


async def test_without_colour_a_selection_is_reversed() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.press("end", "1")
        await settle(pilot)
        await pilot.mouse_down("#pane-1", offset=(2, 1))
        await pilot.hover("#pane-1", offset=(30, 3))
        await pilot.mouse_up("#pane-1", offset=(30, 3))
        pane = replay_screen(app).panes.transcript
        assert all(
            segment.style is not None and segment.style.reverse
            for segment in pane.render_line(1)
            if segment.text.strip()
        )

    await drive(make_app(REPLAYED, mono=True), driver, NARROW)


async def test_a_click_on_a_workflow_chooses_it_and_runs_nothing() -> None:
    async def driver(app: ApexApp, pilot: Pilot[int]) -> None:
        await pilot.click("#workflows", offset=(5, 2))
        await settle(pilot)
        assert isinstance(app.screen, PickerScreen)
        assert app.screen.choice.workflow == "payment"
        await pilot.press("enter")
        await settle(pilot)
        assert showing(app, LiveScreen)

    await drive(make_app(), driver)
