"""``apex-tui devices``: which microphones and loudspeakers there are, and how well they work."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Any

from apex_tui.audio.device_test import MOVED_MS, Report, examine
from apex_tui.audio.microphone import DeviceMicrophone, open_microphone
from apex_tui.audio.portaudio import Device, NoDeviceError, list_devices, load_portaudio
from apex_tui.audio.sinks import DeviceSink, open_device_sink
from apex_tui.cli.text import clean
from apex_tui.store.devices import DeviceChoice, load_choice, save_choice
from apex_tui.timeline.errors import EXIT_FAILED, EXIT_OK, UserError

TOO_QUIET_DB, TOO_LOUD_DB = -45.0, -3.0
"""Outside of these the loudest 20 ms of a voice are too quiet to tell from a room, or about to be cut off."""


def list_all(*, as_json: bool) -> int:
    """Print the devices; exit code 1 when there is none."""
    choice = load_choice()
    devices: list[Device] = []
    reason: str | None = None
    try:
        devices = list_devices(load_portaudio())
    except NoDeviceError as error:
        reason = str(error)
    if not devices and reason is None:
        reason = "no audio device: sessions run, without sound and without a microphone"
    if as_json:
        print(json.dumps({"devices": [asdict(d) for d in devices], "chosen": asdict(choice), "problem": reason}))
    elif reason is not None:
        print(reason)
    else:
        for device in devices:
            print(_row(device, choice))
        _remembered_but_gone(devices, choice)
    return EXIT_OK if devices else EXIT_FAILED


def _row(device: Device, choice: DeviceChoice) -> str:
    uses = [f"{device.inputs} in"] if device.inputs else []
    uses += [f"{device.outputs} out"] if device.outputs else []
    marks = ["default microphone"] if device.default_input else []
    marks += ["default loudspeaker"] if device.default_output else []
    marks += ["chosen microphone"] if device.inputs and device.name == choice.microphone else []
    marks += ["chosen loudspeaker"] if device.outputs and device.name == choice.speaker else []
    note = f"  ({', '.join(marks)})" if marks else ""
    about = f"{', '.join(uses):<14} {device.rate:>6} Hz  {clean(device.api, 40)}"
    return f"{device.index:>3}  {clean(device.name, 60):<40} {about}{note}"


def _remembered_but_gone(devices: list[Device], choice: DeviceChoice) -> None:
    names = {device.name for device in devices}
    for what, name in (("microphone", choice.microphone), ("loudspeaker", choice.speaker)):
        if name is not None and name not in names:
            print(f"the remembered {what} {clean(name, 60)} is not there now")


def test(
    microphone: str | None,
    speaker: str | None,
    *,
    headphones: bool | None,
    remember: bool,
    speak_s: float,
    as_json: bool,
) -> int:
    """Measure a microphone and a loudspeaker; exit code 1 when something is wrong with them.

    Raises:
        UserError: one of them cannot be opened.
    """
    chosen = load_choice()
    choice = DeviceChoice(
        microphone or chosen.microphone,
        speaker or chosen.speaker,
        chosen.headphones if headphones is None else headphones,
    )
    listening, playing = _open(choice)
    try:
        report = asyncio.run(examine(listening, playing, speak_s, _narrate))
    finally:
        listening.close()
        playing.close()
    where = None
    if remember:
        where = save_choice(DeviceChoice(listening.name, playing.name, choice.headphones))
    complaints = complaints_of(report, asked=speak_s > 0, headphones=choice.headphones)
    if as_json:
        names: dict[str, Any] = {
            "microphone": listening.name,
            "microphone_rate_hz": listening.rate,
            "speaker": playing.name,
            "speaker_rate_hz": playing.rate,
            "headphones": choice.headphones,
        }
        print(json.dumps({**names, **asdict(report), "complaints": complaints}, ensure_ascii=False))
    else:
        _print(report, listening, playing, complaints)
        if where is not None:
            print(f"remembered in {where}")
    return EXIT_FAILED if complaints else EXIT_OK


def open_only(which: str, microphone: str | None, speaker: str | None) -> int:
    """Open one device and close it again; exit code 0.

    Raises:
        UserError: it cannot be opened, or there is no such kind of device.
    """
    chosen = load_choice()
    opened: DeviceMicrophone | DeviceSink
    if which == "microphone":
        opened = _microphone(microphone or chosen.microphone)
    elif which == "loudspeaker":
        opened = _loudspeaker(speaker or chosen.speaker)
    else:
        raise UserError(f"--only {which!r}: choose microphone or loudspeaker")
    print(f"{clean(opened.name, 60)} opens at {opened.rate} Hz")
    opened.close()
    return EXIT_OK


def _microphone(wanted: str | None) -> DeviceMicrophone:
    try:
        return open_microphone(wanted)
    except NoDeviceError as error:
        raise UserError(f"no microphone: {error}") from error


def _loudspeaker(wanted: str | None) -> DeviceSink:
    try:
        return open_device_sink(wanted, alone=True)
    except NoDeviceError as error:
        raise UserError(f"no loudspeaker: {error}") from error


def _open(choice: DeviceChoice) -> tuple[DeviceMicrophone, DeviceSink]:
    listening = _microphone(choice.microphone)
    try:
        return listening, _loudspeaker(choice.speaker)
    except UserError:
        listening.close()
        raise


def _narrate(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def complaints_of(report: Report, *, asked: bool, headphones: bool) -> list[str]:
    """What is wrong, a sentence each. With ``headphones`` a chirp that is not heard is as it should be."""
    out = list(report.problems)
    if report.clipped:
        out.append(f"{report.clipped} samples were cut off at full scale: turn the microphone down")
    if asked and report.voice_db is not None and report.voice_db < TOO_QUIET_DB:
        out.append(f"the voice is too quiet ({report.voice_db:.0f} dBFS at its loudest): turn the microphone up")
    elif asked and report.voice_db is not None and report.voice_db > TOO_LOUD_DB:
        out.append(f"the voice is too loud ({report.voice_db:.0f} dBFS at its loudest): turn the microphone down")
    if report.underruns_in or report.overruns_in:
        out.append(f"the microphone lost sound: {report.underruns_in} under-runs, {report.overruns_in} over-runs")
    if report.underruns_out:
        out.append(f"the loudspeaker ran dry {report.underruns_out} times: this machine may be too busy")
    if report.loopback is not None and report.loopback.moved_ms > MOVED_MS:
        out.append(
            f"the delays that the devices tell moved by {report.loopback.moved_ms:.0f} ms within seconds: this machine may be too busy, "
            "and times at the microphone are wrong by as much"
        )
    if report.loopback is None and not headphones:
        out.append("the microphone did not hear the chirps: turn the loudspeaker up, or say --headphones")
    if report.loopback is not None and headphones:
        out.append(
            "the microphone hears the loudspeaker: these are no headphones (say --loudspeaker), or they are too loud"
        )
    return out


def _print(report: Report, listening: DeviceMicrophone, playing: DeviceSink, complaints: list[str]) -> None:
    voice = "not asked" if report.voice_db is None else f"{report.voice_db:.1f} dBFS at its loudest"
    rows = [
        ("microphone", f"{clean(listening.name, 60)} at {listening.rate} Hz"),
        ("loudspeaker", f"{clean(playing.name, 60)} at {playing.rate} Hz"),
        ("room", f"{report.noise_db:.1f} dBFS"),
        ("voice", voice),
        ("cut off", f"{report.clipped} samples"),
        ("delay in", f"{report.input_latency_ms:.1f} ms from the microphone to the session"),
        ("delay out", f"{report.output_latency_ms:.1f} ms from the session to the loudspeaker"),
        ("lost", f"in {report.underruns_in} under, {report.overruns_in} over; out {report.underruns_out} under"),
    ]
    found = report.loopback
    if found is None:
        rows.append(("loop", f"none of {report.chirps} chirps was heard by the microphone"))
    else:
        spread = f"spread {found.spread_ms:.1f} ms, likeness {found.correlation:.2f}"
        told = f"the devices tell {found.told_ms:.1f} ms"
        rows.append(("loop", f"{found.delay_ms:.1f} ms by {found.heard} of {report.chirps} chirps ({spread}); {told}"))
    for name, text in rows:
        print(f"{name:<12} {text}")
    for complaint in complaints:
        print(f"✗ {clean(complaint, 300)}")
    if not complaints:
        print("✓ nothing is wrong")
