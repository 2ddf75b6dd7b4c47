"""The engine in replay mode: it plays a recording's sound where the screen says, and tells the levels. The screen opens no device.

The screen keeps the clock: it says *play from here* whenever it starts, seeks or changes its speed, and *pause* when it stops. Without a device,
or without audio in the recording, one sentence says so and the levels (if there are any) still come. Sound is played at 1x only: at other speeds it
would not be what was heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, Pcm, level_db, silence, to_ms, to_samples
from apex_tui.audio.recording import read_lanes
from apex_tui.audio.sinks import NullSink, Sink, open_sink
from apex_tui.store.devices import load_choice
from apex_tui.store.layout import SessionFolder
from apex_tui.timeline.messages import AnyCommand, AnyNotice, Listen, Meters, Opened, Pause, Play

_METERS_EVERY = 3
"""Frames: sixteen times a second, as while a run goes on."""


class Transport:
    """A position in both lanes, and whether it moves. Pure but for the event that wakes whoever plays."""

    def __init__(self, caller: Pcm, agent: Pcm) -> None:
        self._lanes = caller, agent
        self._at = 0.0
        self.speed = 1.0
        self.playing = self.closed = False
        self.changed = asyncio.Event()

    @property
    def at_ms(self) -> float:
        """Position in ms."""
        return to_ms(int(self._at))

    def obey(self, command: AnyCommand) -> None:
        """Play from a place at a speed, or pause; any other command means nothing here."""
        if isinstance(command, Play):
            self._at, self.speed, self.playing = float(to_samples(command.at_ms)), command.speed, True
        elif isinstance(command, Pause):
            self.playing = False
        self.changed.set()

    def close(self) -> None:
        """Nobody listens any more."""
        self.closed, self.playing = True, False
        self.changed.set()

    def frame(self) -> tuple[Pcm, Pcm] | None:
        """What is heard in the next 20 ms of wall time, both lanes; at the end None, and the position stays there."""
        start = int(self._at)
        caller, agent = (lane[start : start + max(1, int(FRAME_SAMPLES * self.speed))] for lane in self._lanes)
        if not len(caller):
            self.playing = False
            return None
        self._at += FRAME_SAMPLES * self.speed
        return caller, agent


def open_transport(folder: Path) -> tuple[Transport, str | None]:
    """The recording's sound, and why there is none.

    Raises:
        RecordingError: its audio cannot be read.
    """
    audio = SessionFolder(folder).find_audio()
    if audio is None:
        return Transport(silence(0), silence(0)), "no sound: this recording holds no audio"
    return Transport(*read_lanes(audio)), None


async def play_out(transport: Transport, sink: Sink, notify: Callable[[AnyNotice], None], opened: Opened) -> None:
    """Play, against absolute deadlines, until the transport is closed. A device that goes away is told once."""
    loop = asyncio.get_running_loop()
    due, count, gone = loop.time(), 0, False
    while not transport.closed:
        if not transport.playing:
            transport.changed.clear()
            await transport.changed.wait()
            due = loop.time()
            continue
        at_ms, frame = transport.at_ms, transport.frame()
        if frame is None:
            continue
        if transport.speed == 1.0 and len(frame[0]) == FRAME_SAMPLES:
            sink.play(*frame)
        if count % _METERS_EVERY == 0:
            late_ms = max(0.0, loop.time() - due) * 1000.0
            caller_db, agent_db = map(level_db, frame)
            notify(Meters(media_ms=at_ms, caller_db=caller_db, agent_db=agent_db, late_ms=late_ms, queue_ms=0.0))
        count += 1
        if sink.problem is not None and not gone:
            gone = True
            notify(opened.model_copy(update={"sound": sink.problem.replace("the session", "the replay")}))
        due += FRAME_MS / 1000.0
        await asyncio.sleep(max(0.0, due - loop.time()))


async def replay(command: Listen, notify: Callable[[AnyNotice], None], follow: Callable[[Transport], object]) -> int:
    """Open the recording and the device, say what was found, play until nobody listens.

    ``follow`` is handed the transport, and starts whatever passes the screen's commands on to it.

    Raises:
        RecordingError: the audio cannot be read.
    """
    transport, nothing = await asyncio.to_thread(open_transport, Path(command.folder))
    if nothing is None:
        sink, sound = open_sink(command.sound, load_choice().speaker)
    else:
        sink, sound = NullSink(), nothing
    opened = Opened(session=Path(command.folder).name, folder=command.folder, sound=sound)
    notify(opened)
    following = follow(transport)
    try:
        await play_out(transport, sink, notify, opened)
    finally:
        sink.close()
        del following  # held until here: a task that nobody holds may be collected
    return 0
