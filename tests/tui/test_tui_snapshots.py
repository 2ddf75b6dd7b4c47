"""Pictures of the four screens, dark, at both sizes. Nothing in them comes from a clock."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tui_sample as sample
from textual.app import App
from textual.pilot import Pilot
from tui_fakes import FakeLink, make_app, opened

from apex_tui.timeline.messages import Run, Scored
from apex_tui.tui.app import ApexApp, Replay

SIZES = [(120, 36), (80, 24)]
Compare = Callable[..., bool]


def _picker() -> ApexApp:
    return make_app()


def _live() -> ApexApp:
    return make_app(Run(workflow="leave-request"), link=FakeLink(opened(sample.until_stale())))


def _scorecard() -> ApexApp:
    record = Scored(folder="/s/live", score=sample.score(False).model_dump(mode="json"))
    link = FakeLink([*opened(sample.session()), record], ended=True)
    return make_app(Run(workflow="leave-request"), link=link)


def _replay() -> ApexApp:
    return make_app(Replay(Path("/s/one")), verdict=sample.score())


MAKERS: dict[str, tuple[Callable[[], ApexApp], tuple[str, ...]]] = {
    "picker": (_picker, ()),
    "live": (_live, ()),
    "scorecard": (_scorecard, ()),
    "replay": (_replay, ("right_square_bracket", "right")),
}


@pytest.mark.parametrize("size", SIZES, ids=["120x36", "80x24"])
@pytest.mark.parametrize("name", MAKERS)
def test_screen(snap_compare: Compare, name: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    make, keys = MAKERS[name]

    async def settle(pilot: Pilot[object]) -> None:
        app: App[object] = pilot.app
        app.animation_level = "none"
        for _ in range(2):
            await pilot.pause(0.06)
        await app.workers.wait_for_complete()
        for key in keys:
            await pilot.press(key)
        await pilot.pause(0.1)

    assert snap_compare(make(), terminal_size=size, run_before=settle)
