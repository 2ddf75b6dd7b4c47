"""``apex-tui devices`` and the options of a call, with a PortAudio of our own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fake_portaudio import FakeSoundDevice, device

from apex_tui.cli import about_devices
from apex_tui.cli.main import main
from apex_tui.store import devices
from apex_tui.store.devices import DeviceChoice, save_choice


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(devices, "choice_path", lambda: tmp_path / "devices.json")


def test_the_list_names_defaults_and_what_was_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeSoundDevice(device("Head\x1b[2Jset", inputs=1, outputs=2), device("Built-in", outputs=2), default=(0, 1))
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    save_choice(DeviceChoice("Old Mic", "Built-in"))
    assert about_devices.list_all(as_json=False) == 0
    first, second, gone = capsys.readouterr().out.splitlines()
    assert "\x1b" not in first
    assert "(default microphone)" in first
    assert "(default loudspeaker, chosen loudspeaker)" in second
    assert gone == "the remembered microphone Old Mic is not there now"
    assert about_devices.list_all(as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert [found["outputs"] for found in told["devices"]] == [2, 2]
    assert told["chosen"] == {"microphone": "Old Mic", "speaker": "Built-in", "headphones": False}


def test_no_device_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSoundDevice())
    assert about_devices.list_all(as_json=False) == 1
    assert capsys.readouterr().out == "no audio device: sessions run, without sound and without a microphone\n"
    assert main(["devices", "test"]) == 2
    assert capsys.readouterr().err == "apex-tui: no microphone: no input device\n"
    only_ears = FakeSoundDevice(device("Mic", inputs=1))
    monkeypatch.setitem(sys.modules, "sounddevice", only_ears)
    assert main(["devices", "test"]) == 2
    assert capsys.readouterr().err == "apex-tui: no loudspeaker: no output device\n"
    assert only_ears.streams[0].calls[-1] == "close"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--caller", "cat"], "apex-tui: --caller 'cat': input should be 'bank' or 'microphone'"),
        (
            ["--caller", "microphone", "--virtual"],
            "apex-tui: --caller microphone: a person cannot speak in simulated time",
        ),
        (["--caller", "microphone", "--headless"], "apex-tui: --caller microphone needs the screen"),
        (["--caller", "microphone", "--plain"], "apex-tui: --caller microphone needs the screen"),
        (["--echo", "loud"], "apex-tui: --echo 'loud': input should be"),
    ],
)
def test_a_call_needs_a_screen_and_real_time(
    capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert main(["run", "leave-request", *options]) == 2
    told = capsys.readouterr().err
    assert told.startswith(sentence)
    assert len(told.splitlines()) == 1
