"""The sound of a replay: an engine in replay mode that plays where the screen's cursor is. The screen opens no device.

It is started when something is played for the first time, and joins when it is ready. What it found (a device, none, no audio in the recording)
is one sentence; the replay goes on in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from apex_tui.timeline.errors import ApexError
from apex_tui.timeline.messages import Failed, Listen, Meters, Opened, Pause, Play
from apex_tui.timeline.paths import real_path
from apex_tui.tui.link import Link
from apex_tui.tui.render_band import Levels

ASTRAY_MS = 250.0
"""How far sound and cursor may come apart before the engine is told the place again: as long as anyone takes it for the same moment."""


class ReplaySound:
    """Sound of the recording in ``folder``; None: where it lies is not known, and there is none."""

    def __init__(self, link: Callable[[], Link], folder: Path | None) -> None:
        self._open = link
        self._folder = folder
        self._link: Link | None = None
        self.on = folder is not None
        self.told = ""
        """What the engine said it found; empty: nothing yet."""
        self.levels: Levels | None = None
        """The newest levels while something plays."""
        self._ready = False
        self._wanted: tuple[float, float] | None = None
        """Where it is to play (ms) and how fast; None: it is to be silent."""

    @property
    def to_start(self) -> bool:
        """Something plays, and there is no engine yet."""
        return self.on and self._wanted is not None and self._link is None

    async def start(self) -> str | None:
        """Start the engine; a sentence when that failed."""
        if self._folder is None:
            return None
        link = self._link = self._open()
        try:
            await link.start(Listen(folder=str(real_path(self._folder))))
        except ApexError as error:
            self.on = False
            return f"no sound: {error}"
        return None

    def play(self, at_ms: float, speed: float) -> None:
        """The cursor moves on from here at this speed."""
        self._wanted = (at_ms, speed)
        if self.on and self._ready and self._link is not None:
            self._link.send(Play(at_ms=max(0.0, at_ms), speed=speed))

    def pause(self) -> None:
        """The cursor stands still."""
        if self._wanted is None:
            return
        self._wanted, self.levels = None, None
        if self._ready and self._link is not None:
            self._link.send(Pause())

    def toggle(self) -> bool:
        """Sound on or off; whether it is on now. Without a folder it stays off."""
        self.on = not self.on and self._folder is not None
        if not self.on and self._ready and self._link is not None:
            self._link.send(Pause())
        self.levels = None
        return self.on

    def follow(self, at_ms: float, speed: float) -> str | None:
        """Take what the engine said; ``at_ms``: where the cursor is while it plays. A sentence when there is news."""
        if self._link is None:
            return None
        news = None
        for item in self._link.drain():
            if isinstance(item, Opened):
                news, self.told, self._ready = item.sound, item.sound, True
                if self.on and self._wanted is not None:
                    self.play(at_ms, speed)
            elif isinstance(item, Meters) and self.on and self._wanted is not None:
                self.levels = Levels(item.caller_db, item.agent_db)
                if abs(item.media_ms - at_ms) > ASTRAY_MS * max(1.0, speed):
                    self.play(at_ms, speed)
            elif isinstance(item, Failed):
                news, self.on, self._ready = f"no sound: {item.message}", False, False
        return news

    async def close(self) -> None:
        """Nobody listens any more; the engine in replay mode ends by itself."""
        if self._link is not None:
            await self._link.detach()
