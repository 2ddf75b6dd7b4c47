"""Draws the pictures of the README with the app itself, from the recorded example: ``python docs/screenshot.py``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from apex_tui.store.recording import find_recording
from apex_tui.tui.app import ApexApp, Replay
from apex_tui.tui.pictures import self_contained

HERE = Path(__file__).parent


async def draw() -> None:
    """The moment at which the corrected version stands and its approval is asked for."""
    app = ApexApp(Replay(find_recording(None)))
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(0.5)
        for key in ("end", *["shift+left"] * 2, *["right"] * 3):
            await pilot.press(key)
        await pilot.pause(0.5)
        drawn = self_contained(app.export_screenshot(title="apex-tui"))
        (HERE / "live.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(draw())
