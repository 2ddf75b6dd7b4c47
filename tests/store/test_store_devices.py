"""The remembered microphone and loudspeaker."""

from __future__ import annotations

from pathlib import Path

import pytest

from apex_tui.store.devices import DeviceChoice, load_choice, save_choice
from apex_tui.timeline.errors import UserError


def test_a_choice_is_kept_by_name(tmp_path: Path) -> None:
    path = tmp_path / "state" / "devices.json"
    choice = DeviceChoice("USB Headset", None, headphones=True)
    assert save_choice(choice, path) == path
    assert load_choice(path) == choice


@pytest.mark.parametrize("content", ["", "[]", "null", '{"microphone": 7, "speaker": "", "headphones": "yes"}', "{"])
def test_what_cannot_be_read_is_no_choice(tmp_path: Path, content: str) -> None:
    path = tmp_path / "devices.json"
    path.write_text(content)
    assert load_choice(path) == DeviceChoice()
    assert load_choice(tmp_path / "nothing") == DeviceChoice()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        save_choice(DeviceChoice(), tmp_path / "file" / "devices.json")
