"""How screen tests drive the app: a pilot that waits for what runs, and the screens by their own types."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import tui_sample as sample
from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.screen import Screen
from tui_fakes import FakeLink, make_app, opened

from apex_tui.timeline.messages import Run, Scored
from apex_tui.tui.app import ApexApp
from apex_tui.tui.keys import Key
from apex_tui.tui.screen_live import LiveScreen
from apex_tui.tui.screen_replay import ReplayScreen

RUN = Run(workflow="leave-request", seed=7)


WIDE, NARROW = (120, 36), (80, 24)


Driver = Callable[[ApexApp, Pilot[int]], Awaitable[None]]


def text_of(app: ApexApp) -> str:
    """The characters on the screen, with those of the screens behind a dialog."""
    visible_screen_stack.set(app._background_screens)
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


def assert_palette(app: ApexApp, table: tuple[Key, ...]) -> None:
    titles = {command.title for command in app.get_system_commands(app.screen)}
    assert {key.help for key in table} <= titles
    assert "Theme" in titles
