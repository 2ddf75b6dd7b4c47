"""What all screen tests share: style sheets are parsed once, not once an app, and nothing is animated."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_parsed: dict[Any, list[Any]] = {}


def _parse_once(self: Stylesheet, css: str, *args: Any, **options: Any) -> list[Any]:
    key = (css, str(args), str(options), tuple(sorted(self._variables.items())))
    if key not in _parsed:
        _parsed[key] = _parse(self, css, *args, **options)
    return _parsed[key]


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
