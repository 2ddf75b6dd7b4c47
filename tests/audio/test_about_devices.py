"""``apex-tui devices`` and the options of a call, with a PortAudio of our own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_portaudio import FakeSoundDevice, device

from apex_tui.cli import about_devices, screen
from apex_tui.cli.main import main
from apex_tui.engine.session import run_session
from apex_tui.store import devices
from apex_tui.store.devices import DeviceChoice, save_choice
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.messages import Run
from apex_tui.tui import own_command
from apex_tui.tui.own_command import Ran


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
    assert (
        capsys.readouterr().err
        == "apex-tui: no microphone: no input device: plug one in, and see 'apex-tui devices list'\n"
    )
    only_ears = FakeSoundDevice(device("Mic", inputs=1))
    monkeypatch.setitem(sys.modules, "sounddevice", only_ears)
    assert main(["devices", "test"]) == 2
    assert capsys.readouterr().err == "apex-tui: no loudspeaker: no output device\n"
    assert only_ears.streams[0].calls[-1] == "close"


def test_one_device_is_opened_and_closed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeSoundDevice(device("Mic", inputs=1), device("Box", outputs=2), rates=(44_100,))
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    assert main(["devices", "test", "--only", "microphone"]) == 0
    assert capsys.readouterr().out == "Mic opens at 44100 Hz\n"
    assert main(["devices", "test", "--only", "loudspeaker", "-s", "box"]) == 0
    assert [stream.calls[-1] for stream in fake.streams] == ["close", "close"]
    fake.refuses = True
    assert main(["devices", "test", "--only", "microphone"]) == 2
    assert capsys.readouterr().err == "apex-tui: no microphone: Mic cannot be opened (Device unavailable)\n"
    assert main(["devices", "test", "--only", "ear"]) == 2


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (["--caller", "microphone", "-m", "Mic"], ("devices", "test", "--only", "microphone", "--microphone=Mic")),
        (["--sound", "device"], ("devices", "test", "--only", "loudspeaker")),
    ],
)
def test_a_device_that_is_needed_and_not_there_is_said_before_the_screen_opens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], asked: tuple[str, ...]
) -> None:
    ran: list[Sequence[str]] = []

    async def refused(arguments: Sequence[str]) -> Ran:
        ran.append(arguments)
        return Ran(2, "", "no microphone: no input device")

    monkeypatch.setattr(screen, "has_terminal", lambda: True)
    monkeypatch.setattr(own_command, "run_own", refused)
    assert main(["run", "leave-request", *options]) == 2
    assert capsys.readouterr().err == "apex-tui: no microphone: no input device\n"
    assert ran == [asked]


@pytest.mark.parametrize("how", [["--headless"], ["--virtual"], ["--plain"], []])
def test_an_unknown_utterance_is_said_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    monkeypatch.setattr(screen, "has_terminal", lambda: True)
    assert main(["run", "leave-request", *how, "--direct", "5 say ans_contact_during_leaf"]) == 2
    told = "--direct: there is no utterance 'ans_contact_during_leaf'; did you mean ans_contact_during_leave"
    assert capsys.readouterr().err.startswith(f"apex-tui: {told}")


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
        (["--direct", "5 microphone", "--headless"], "apex-tui: --direct with microphone needs the screen"),
        (
            ["--direct", "5 microphone", "--virtual"],
            "apex-tui: --direct '5 microphone': a person cannot speak in simulated time",
        ),
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


def test_a_microphone_that_is_not_allowed_is_one_sentence_and_no_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = FakeSoundDevice(device("Mic", inputs=1), device("Box", outputs=2), refuses=True)
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    command = Run(workflow="leave-request", caller="microphone", sound="none", out=str(tmp_path))
    with pytest.raises(UserError, match=r"no microphone: Mic cannot be opened \(Device unavailable\)"):
        asyncio.run(run_session(command, lambda item: None))
    assert list(tmp_path.iterdir()) == []
