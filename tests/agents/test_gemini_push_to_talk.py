"""Gemini with our own button: turns are bracketed, the first sound interrupts, and a press survives a change of the connection."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from agent_kit import SETUP, tone
from live_kit import LONG, SECOND, Engine, Ran
from peers.gemini_peer import GeminiPeer

from apex_tui.agents.gemini.agent import GeminiAgent
from apex_tui.agents.gemini.profile import GEMINI
from apex_tui.agents.seam import Hint
from apex_tui.agents.transports import MemoryTransport
from apex_tui.audio.frames import FRAME_SAMPLES, pcm_bytes
from apex_tui.timeline.virtual import run_virtual

BY_BUTTON = replace(GEMINI, turn_detection="push_to_talk")


class Manual(GeminiPeer):
    """Hears nothing by itself: a turn is what lies between activity messages. ``turns``: bytes of each."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[int] = []
        self.open = False

    def greet(self) -> None:
        super().greet()
        self.open = False

    def _hear(self, given: dict[str, Any]) -> None:
        if "activityStart" in given:
            if self.open:
                self.faults.append("activityStart inside an activity")
            self.open = True
            self.turns.append(0)
            if self.in_turn:
                self.caller_starts()
        elif "activityEnd" in given:
            if not self.open:
                self.faults.append("activityEnd without its start")
            self.open = False
        else:
            before = len(self.heard)
            super()._hear(given)
            if not self.open:
                self.faults.append("audio outside an activity")
            else:
                self.turns[-1] += len(self.heard) - before


def conduct(peer: Manual, play: Any, seconds: float = 6.0, *turns: tuple[float, float]) -> Ran:
    """``turns``: when the caller speaks (s), and for how long."""
    ran = Ran()
    lane = bytearray(round(seconds * 48_000))
    for at, length in turns:
        sound = pcm_bytes(tone(length, 330.0))
        lane[round(at * 24_000) * 2 : round(at * 24_000) * 2 + len(sound)] = sound
    size, sent = 2 * FRAME_SAMPLES, [0]

    def frame() -> bytes:
        sent[0] += size
        return bytes(lane[sent[0] - size : sent[0]]).ljust(size, b"\0")

    async def main() -> None:
        agent = GeminiAgent(MemoryTransport(peer), BY_BUTTON, dial=lambda: MemoryTransport(peer))
        ready = await agent.open(SETUP)
        assert ready.accepted["mode"] == "push_to_talk"
        assert "turn_detection" not in ready.accepted
        assert not agent.capabilities.reports_interruption
        for number, (at, length) in enumerate(turns):
            agent.send_hint(Hint(number, "p", "ANSWER", "words", round(at * 24_000), round((at + length) * 24_000)))
        engine = Engine(agent, ran, frame=frame)
        playing = asyncio.ensure_future(play(peer))
        await engine.run(seconds)
        await playing

    run_virtual(main())
    assert peer.faults == []
    return ran


async def nothing(peer: Manual) -> None:
    pass


def test_each_turn_is_bracketed_and_nothing_else_is_sent() -> None:
    peer = Manual()
    ran = conduct(peer, nothing, 5.0, (1.0, 1.0), (3.0, 0.5))
    assert peer.setup["realtimeInputConfig"]["automaticActivityDetection"] == {"disabled": True}
    assert [round(turn / 32_000, 1) for turn in peer.turns] == [
        1.2,
        0.7,
    ]  # the sound, and the 200 ms for which the button is held on
    assert ran.times[:2] == [1.02, 3.02]
    assert ran.of("started") == [("started", "client_cancel")] * 2


def test_the_first_sound_interrupts() -> None:
    async def play(peer: Manual) -> None:
        await asyncio.sleep(0.5)
        peer.say("A long sentence.", LONG)

    peer = Manual()
    ran = conduct(peer, play, 5.0, (1.5, 1.0))
    assert ran.events[:3] == [("begun", "r1", False), ("started", "client_cancel"), ("ended", "r1", "cancelled")]
    assert 900 <= ran.played_ms <= 1100


def test_a_press_survives_a_change_of_the_connection() -> None:
    async def broken(peer: Manual) -> None:
        await asyncio.sleep(1.4)
        peer.hang_up(1011, "Internal error encountered.")
        await asyncio.sleep(1.0)
        peer.say("Here again.", SECOND)
        peer.end()

    peer = Manual()
    ran = conduct(peer, broken, 5.0, (1.0, 1.0))
    assert peer.opened_links == 2
    assert len(peer.turns) == 2, "what was pressed is pressed on the new connection too"
    assert round(sum(peer.turns) / 32_000, 1) == 1.2
    assert ran.audio["r1"] == SECOND

    async def leaving(peer: Manual) -> None:
        await asyncio.sleep(1.2)
        peer.go_away("30s")
        await asyncio.sleep(0.5)
        assert peer.opened_links == 1, "not in the middle of a turn"

    peer = Manual()
    conduct(peer, leaving, 5.0, (1.0, 1.0))
    assert peer.opened_links == 2
    assert len(peer.turns) == 1


def test_a_turn_that_follows_at_once_is_said_under_the_same_press() -> None:
    for gap, presses in ((0.06, 1), (0.2, 1), (0.22, 1), (0.26, 2)):
        peer = Manual()
        ran = conduct(peer, nothing, 5.0, (1.0, 1.0), (2.0 + gap, 1.0))
        assert len(peer.turns) == presses
        sound = np.frombuffer(bytes(peer.heard), dtype="<i2")
        assert np.count_nonzero(np.abs(sound) > 100) / 16_000 == pytest.approx(2.0, abs=0.1), "all of both was sent"
        assert len(ran.of("started")) == presses
