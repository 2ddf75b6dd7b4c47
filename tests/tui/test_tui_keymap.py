"""A keymap is used as a person writes it, and what it cannot mean is one sentence."""

from pathlib import Path

import pytest

from apex_tui.timeline.errors import UserError
from apex_tui.tui.keymap import SCREENS, check_keymap, in_textual
from apex_tui.tui.keys import EVERYWHERE

FILE = Path("config.toml")


def test_no_two_actions_of_a_screen_share_a_key_by_default() -> None:
    for table in SCREENS:
        keys = {(key, entry.id) for entry in (*table, *EVERYWHERE) for key in entry.keys.split(",")}
        assert len({key for key, _ in keys}) == len(keys)


@pytest.mark.parametrize(
    ("keymap", "means"),
    [
        ({"help": "f2, ?"}, {"help": "f2,question_mark"}),
        ({"zoom": "Z"}, {"zoom": "Z"}),
        ({"why": "w,ctrl+w"}, {"why": "w,ctrl+w"}),
        ({"zoom": "q", "quit": "ctrl+q"}, {"zoom": "q", "quit": "ctrl+q"}),  # a key that was given away is free
        ({"play": "x"}, {"play": "x"}),  # x ends a live run; nothing of a replay
        ({"zoom": "é"}, {"zoom": "é"}),
    ],
)
def test_what_can_be_used(keymap: dict[str, str], means: dict[str, str]) -> None:
    check_keymap(keymap, FILE)
    assert in_textual(keymap) == means


@pytest.mark.parametrize(
    ("keymap", "told"),
    [
        ({"zoom": "q"}, "config.toml: keymap.zoom takes the key 'q' of 'quit' on the same screen"),
        ({"why": "?"}, "config.toml: keymap.why takes the key 'question_mark' of 'help' on the same screen"),
        ({"approve": "s"}, "config.toml: keymap.approve takes the key 's' of 'speak' on the same screen"),
        ({"zoom": "banana"}, "config.toml: keymap.zoom names no key: 'banana'"),
        ({"zoom": "hold+x"}, "config.toml: keymap.zoom names no key: 'hold+x'"),
        ({"zoom": "f2,"}, "config.toml: keymap.zoom names no key: ''"),
    ],
)
def test_what_cannot(keymap: dict[str, str], told: str) -> None:
    with pytest.raises(UserError) as raised:
        check_keymap(keymap, FILE)
    assert str(raised.value).startswith(told)
