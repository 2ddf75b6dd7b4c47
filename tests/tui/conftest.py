"""What all screen tests share: style sheets are parsed once, not once an app, nothing is animated, and frames that nobody reads are not drawn."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[Any, list[Any]] = {}


def _parse_once(self: Stylesheet, css: str, *args: Any, **options: Any) -> list[Any]:
    key = (css, str(args), str(options), tuple(sorted(self._variables.items())))
    if key not in _parsed:
        _parsed[key] = _parse(self, css, *args, **options)
    return _parsed[key]


_draw = Compositor.render_update
_DRAWN = ("test_tui_hostile", "test_tui_snapshots")
"""Modules whose apps draw every frame, as in a terminal: they ask whether any text can be drawn, and what it looks like."""


def _undrawn(self: Compositor, full: bool = False, *args: Any, **options: Any) -> Any:
    """A headless app throws its frames away, and a test reads the cells of its own (`text_of`) or takes a picture, which is a full frame."""
    if full:
        return _draw(self, full, *args, **options)
    self._dirty_regions.clear()
    return None


@pytest.fixture(autouse=True)
def unread_frames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of what a screen test costs otherwise."""
    if request.module.__name__ not in _DRAWN:
        monkeypatch.setattr(Compositor, "render_update", _undrawn)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every app of a test run use the rules that the first one parsed with the same theme."""
    monkeypatch.setattr(Stylesheet, "_parse_rules", _parse_once)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


@pytest.fixture(scope="session", autouse=True)
def few_collections() -> Iterator[None]:
    """As the app itself does in a terminal: what is there is frozen. Looking for garbage is a tenth of what a screen test costs otherwise."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
