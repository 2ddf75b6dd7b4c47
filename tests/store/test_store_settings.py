"""Settings: file, environment and flags in order, the source of each, one sentence for every mistake; the remembered layout."""

from pathlib import Path

import pytest

from apex_tui.store.settings import OPTIONS, Layout, load_layout, load_settings, save_layout
from apex_tui.timeline.errors import UserError


def write(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_everything_is_the_default(tmp_path: Path) -> None:
    settings = load_settings(path=tmp_path / "none.toml", environment={})
    assert settings.values == {name: option.default for name, option in OPTIONS.items()}
    assert set(settings.sources.values()) == {"default"}


def test_flags_win_over_the_environment_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'theme = "light"\nfps = 10\nseed = 4\n[keymap]\nzoom = "f2"\n')
    environment = {"APEX_TUI_FPS": "5", "APEX_TUI_MOUSE": "no", "APEX_TUI_SEED": ""}
    settings = load_settings({"fps": 30, "theme": None}, path=path, environment=environment, actions={"zoom"})
    assert (settings.text("theme"), settings.number("fps"), settings.flag("mouse"), settings.number("seed")) == (
        "light",
        30,
        False,
        4,
    )
    assert settings.sources["fps"] == "flag --fps"
    assert settings.sources["mouse"] == "environment APEX_TUI_MOUSE"
    assert settings.sources["theme"] == str(path)
    assert settings.keymap == {"zoom": "f2"}


def test_no_color_is_mono_unless_it_was_set_otherwise(tmp_path: Path) -> None:
    none = tmp_path / "none.toml"
    assert load_settings(path=none, environment={"NO_COLOR": "1"}).flag("mono")
    assert not load_settings(path=none, environment={"NO_COLOR": ""}).flag("mono")
    assert not load_settings(path=none, environment={"NO_COLOR": "1", "APEX_TUI_MONO": "false"}).flag("mono")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("theem = 'dark'", "did you mean 'theme'?"),
        ("theme = 'drak'", "did you mean 'dark'?"),
        ("theme = 3", "theme must be text"),
        ("fps = 0", "fps must be 1 to 60"),
        ("fps = 2.5", "fps must be a whole number"),
        ("mono = 1", "mono must be true or false"),
        ("[keymap]\nzom = 'f2'", "did you mean 'zoom'?"),
        ("[keymap]\nzoom = 3", "keymap.zoom must be text"),
        ("[keymap]\nzoom = 'f2'\nhelp = 'f3,f2'", "gives the key 'f2' to both zoom and help"),
        ("keymap = 1", "keymap must be a table"),
        ("zzzz = 1", "known are"),
        ("theme = ", "is not valid TOML"),
        ("fps = 0x" + "f" * 5000, "is not valid TOML: it holds a number beyond 64 bits"),
    ],
)
def test_every_mistake_is_one_sentence_that_names_the_file(tmp_path: Path, text: str, told: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load_settings(path=path, environment={}, actions={"zoom", "help"})
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_value_in_the_environment_names_the_variable(tmp_path: Path) -> None:
    for wrong in ("fast", "9" * 5000):
        with pytest.raises(UserError, match="APEX_TUI_FPS: fps must be a whole number"):
            load_settings(path=tmp_path / "none", environment={"APEX_TUI_FPS": wrong})


def test_the_layout_comes_back_and_a_broken_one_is_the_usual(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "layout.json"
    save_layout(Layout((3, 5), 2, True), path)
    assert load_layout(path) == Layout((3, 5), 2, True)
    for text in ("", "[]", '{"hidden": [9, 1, 4], "active": 99, "zoomed": 1}', '{"hidden": "x"}', "[" * 100_000):
        path.write_text(text)
        assert load_layout(path) in (Layout(), Layout((4,), 1, False))
    path.unlink()
    path.mkdir()
    save_layout(Layout(), path)
    assert load_layout(path) == Layout()
