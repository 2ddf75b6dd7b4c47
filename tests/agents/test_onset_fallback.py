"""A server whose own detection sleeps while it speaks: the caller's energy stops it, and the timing says that it is ours."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from agent_kit import tone
from live_kit import LONG, Ran, conduct
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.dialects import load_profiles
from apex_tui.agents.realtime.onset import OnsetFallback
from apex_tui.audio.frames import FRAME_SAMPLES, pcm_bytes

XAI = load_profiles()["xai"].profile
STARTED = ("started", "client_energy")


class Peer(RealtimePeer):
    """Speaks at once. ``caller``: pairs of (when it begins, how long it lasts) in s; ``hears``: it notices so long after an onset."""

    def __init__(self, *caller: tuple[float, float], hears: float | None = None, done: bool = False) -> None:
        super().__init__()
        self.hears, self.done = hears, done
        self.lane = bytearray(8 * 48_000)
        self.onsets = [at for at, _ in caller]
        for at, seconds in caller:
            sound = pcm_bytes(tone(seconds, 330.0))
            begin = round(at * 24_000) * 2
            self.lane[begin : begin + len(sound)] = sound

    def frame(self) -> bytes:
        size = 2 * FRAME_SAMPLES
        sound, self.lane = bytes(self.lane[:size]), self.lane[size:]
        return sound + bytes(size - len(sound))

    async def play(self, _: Any) -> None:
        self.begin()
        self.say("A long sentence.", LONG)
        if self.done:
            self.end()
        for onset in self.onsets if self.hears is not None else ():
            assert self.hears is not None
            asyncio.get_running_loop().call_later(onset + self.hears - 0.1, self.caller_starts)
        await asyncio.sleep(5.0)


def ran(peer: Peer, **switches: Any) -> Ran:
    found = conduct(peer, peer.play, 6.0, profile=replace(XAI, **switches))
    assert peer.faults == []
    return found


def cancels(peer: Peer) -> int:
    return [message["type"] for message in peer.got].count("response.cancel")


def test_what_the_server_sleeps_through_stops_it_and_is_labelled_ours() -> None:
    peer = Peer((1.0, 1.5))
    found = ran(peer)
    assert found.events[:3] == [("begun", "r1", False), STARTED, ("ended", "r1", "cancelled")]
    assert found.time_of("started") == pytest.approx(1.6, abs=0.05)
    assert cancels(peer) == 1
    assert found.flushed_ms == [pytest.approx(1500, abs=60)]  # begun at 0.1 s, stopped at 1.6 s


def test_also_when_the_reply_is_complete_and_still_plays() -> None:
    peer = Peer((1.0, 1.5), done=True)
    found = ran(peer)
    assert found.events[:3] == [("begun", "r1", False), ("ended", "r1", "completed"), STARTED]
    assert cancels(peer) == 0, "there is nothing left to cancel"
    assert found.flushed_ms == [pytest.approx(1500, abs=60)]


@pytest.mark.parametrize(
    ("peer", "switches"),
    [
        (Peer((1.0, 1.5), hears=0.3), {}),
        (Peer((1.0, 0.45)), {}),  # a back-channel
        (Peer((4.0, 1.0)), {}),  # the agent is silent by then
        (Peer((1.0, 1.5)), {"onset_fallback": False}),
    ],
    ids=["the server hears it", "back-channel", "after the agent", "switched off"],
)
def test_it_is_silent_when_nothing_is_amiss(peer: Peer, switches: dict[str, Any]) -> None:
    assert STARTED not in ran(peer, **switches).events
    assert cancels(peer) == 0


def test_a_turn_that_was_noticed_early_and_one_onset_once() -> None:
    ear, sound, quiet = OnsetFallback(), tone(0.02, 330.0), tone(0.02) * 0
    ear.agent_sounds(24_000 * 10)
    for _ in range(10):
        assert ear.caller(quiet) is None
    onsets = [ear.caller(sound) for _ in range(100)]
    assert [round(onset) for onset in onsets if onset is not None] == [pytest.approx(200, abs=12)]
    ear.server_noticed()
    ear.agent_sounds(24_000 * 10)
    for _ in range(15):
        assert ear.caller(quiet) is None
    assert not [1 for _ in range(100) if ear.caller(sound) is not None], "it said so 300 ms before"


def test_only_the_dialects_that_need_it_have_it() -> None:
    having = [name for name, known in load_profiles().items() if getattr(known.profile, "onset_fallback", False)]
    assert having == ["xai"]
