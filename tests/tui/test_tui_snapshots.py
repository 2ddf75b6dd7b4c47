"""Pictures of every screen at both sizes, dark, most of them light and without colour too: one app a screen, resized and recoloured.

Nothing in them comes from a clock. After a wanted change: ``pytest tests/tui/test_tui_snapshots.py --snapshot-update``, and look at each one.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import tui_sample as sample
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion
from test_tui_director import Stage
from test_tui_recorder import app_with, said
from test_tui_review import Commands, app_of
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app, opened

from apex_tui.timeline.messages import Run, Scored
from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.own_command import Ran

SIZES = {"120x36": (120, 36), "80x24": (80, 24)}
LOOKS = {"dark": "apex-dark", "light": "apex-light", "mono": "apex-dark"}


def _picker() -> ApexApp:
    return make_app(verdict=sample.score(False))


def _live() -> ApexApp:
    return make_app(Run(workflow="leave-request"), link=FakeLink(opened(sample.until_stale())))


def _scorecard() -> ApexApp:
    record = Scored(folder="/s/live", score=sample.score(False).model_dump(mode="json"))
    return make_app(Run(workflow="leave-request"), link=FakeLink([*opened(sample.session()), record], ended=True))


def _replay() -> ApexApp:
    return make_app(Replay(Path("/s/one")), verdict=sample.score())


def _director() -> ApexApp:
    return Stage().app


def _recorder() -> ApexApp:
    return app_with(said(), consent=lambda: "agreed")


def _review() -> ApexApp:
    return app_of(Commands(Ran(2, "", "unused")), Path())


MAKERS: dict[str, tuple[Callable[[], ApexApp], tuple[str, ...]]] = {
    "picker": (_picker, ()),
    "agents": (_picker, ("a", "s", "l", "o", "w")),
    "live": (_live, ()),
    "scorecard": (_scorecard, ()),
    "replay": (_replay, ("right_square_bracket", "right")),
    "why": (_replay, ("end", "2", "w")),
    "present": (_live, ("p",)),
    "results": (_picker, ("R", "down")),
    "help": (_replay, ("question_mark",)),
    "director": (_director, ("D", "D")),
    "recorder": (_recorder, ()),
    "review": (_review, ("down",)),
}
"""Screen -> how it is made, and the keys that lead to it."""
ONLY_DARK = ("director", "recorder", "review")
"""Their parts stand in the pictures of the others, too."""


def _wear(app: ApexApp, look: str) -> None:
    """Change the look of a running app."""
    app.theme = LOOKS[look]
    app.mono = look == "mono"
    app.set_class(app.mono, "-mono")
    app.refresh_css(animate=False)


async def _settle(app: ApexApp, pilot: Pilot[int]) -> None:
    await pilot.pause(0.06)
    await app.workers.wait_for_complete()
    await pilot.pause()


@pytest.mark.parametrize("name", MAKERS)
async def test_screen(snapshot: SnapshotAssertion, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the review shows where its file lies
    monkeypatch.setattr(
        "apex_tui.tui.screen_base.SAID_S", 3600.0
    )  # six pictures take more than ten seconds on a busy machine
    pictures = snapshot.use_extension(SVGImageExtension)
    make, keys = MAKERS[name]
    app = make()
    app.animation_level = "none"
    async with app.run_test(size=SIZES["120x36"]) as pilot:
        await _settle(app, pilot)
        await pilot.press(*keys)
        await _settle(app, pilot)
        for size, cells in SIZES.items():
            await pilot.resize_terminal(*cells)
            await _settle(app, pilot)
            for look in ("dark",) if name in ONLY_DARK else LOOKS:
                _wear(app, look)
                await _settle(app, pilot)
                picture = app.export_screenshot()
                assert pictures(name=f"{size}-{look}") == picture
