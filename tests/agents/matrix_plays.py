"""How the situations of the family matrix are played by the servers of the socket families, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from agent_kit import tone
from live_kit import LONG, SECOND
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.audio.frames import pcm_bytes

GREETING = "Good day, what can I do for you?"
HUGE = pcm_bytes(np.tile(tone(1.0), 66))
ARGS = '{"date": "2026-12-14"}'


def opened(peer: Any, text: str = GREETING, pcm: bytes = SECOND) -> None:
    peer.begin()
    peer.say(text, pcm)


async def turn(peer: Any, pcm: bytes = SECOND) -> None:
    """One whole spoken turn, until nothing of it is left to come."""
    opened(peer, GREETING, pcm)
    peer.end()
    await asyncio.sleep(len(pcm) / 48_000 + 1.2)


def call(peer: Any, *calls: tuple[str, str]) -> None:
    """Calls of ``update_form`` with these arguments (JSON text), in one reply of the agent."""
    if isinstance(peer, RealtimePeer):
        for call_id, arguments in calls:
            peer.call(call_id, "update_form", arguments)
    elif isinstance(peer, GeminiPeer):
        # An object, unless the text is cut: then what a broken server would put there.
        peer.calls(*((i, "update_form", {"date": "2026-12-14"} if a == ARGS else a) for i, a in calls))
    else:
        peer.delegate(*((call_id, "update_form", arguments) for call_id, arguments in calls))


def answers(peer: RealtimePeer, text: str, pcm: bytes) -> None:
    """Each reply that is asked for is this one."""

    def create() -> None:
        peer.begin()
        if text:
            peer.say(text, pcm)
        peer.end()

    peer.on_create = create


async def text_turn(peer: Any) -> None:
    await turn(peer)


async def tool_turn(peer: Any, *calls: tuple[str, str]) -> None:
    if isinstance(peer, RealtimePeer):
        answers(peer, "Done.", SECOND)
    opened(peer)
    call(peer, *calls)
    peer.end()
    await asyncio.sleep(2.5)
    if not isinstance(peer, RealtimePeer):
        opened(peer, "Done.")
        peer.end()
        await asyncio.sleep(2.5)


async def one_call(peer: Any) -> None:
    await tool_turn(peer, ("c1", ARGS))


async def two_calls(peer: Any) -> None:
    await tool_turn(peer, ("c1", ARGS), ("c2", ARGS))


async def barge_in(peer: Any) -> None:
    opened(peer, GREETING, LONG)
    await asyncio.sleep(0.5)
    peer.caller_starts()
    await asyncio.sleep(1.5)


async def barge_in_after_done(peer: Any) -> None:
    opened(peer, GREETING, LONG)
    if isinstance(peer, GeminiPeer):
        peer.content(generationComplete=True)  # turnComplete waits until the service thinks it was played
    else:
        peer.end()
    await asyncio.sleep(0.5)
    peer.caller_starts()
    await asyncio.sleep(1.5)


async def cancel_race(peer: Any) -> None:
    """Sound, or a result, that crosses the end of its reply on the wire."""
    if isinstance(peer, GptLivePeer):
        peer.delegate(("c1", "update_form", ARGS), finish="failed")
    elif isinstance(peer, GeminiPeer):
        opened(peer)
        peer.content(interrupted=True)
        peer.audio(SECOND)
        peer.content(turnComplete=True)
    else:
        opened(peer)
        reply, item = peer.active, peer.item
        peer.end("cancelled", "turn_detected")
        peer.audio(SECOND, item, reply)
    await asyncio.sleep(0.5)


async def double_create(peer: Any) -> None:
    """The server's own reply crosses the one we ask for; or what comes closest to it in the family."""
    if isinstance(peer, RealtimePeer):
        answers(peer, "", b"")
        peer.crossing = True
        peer.begin()
        call(peer, ("c1", ARGS))
        peer.end()
        await asyncio.sleep(0.5)
        peer.end()
    elif isinstance(peer, GeminiPeer):
        call(peer, ("c1", ARGS))
        peer.send(peer.sent[-1])
        peer.end()
    else:
        peer.refuse_creates = 1
        call(peer, ("c1", ARGS))
    await asyncio.sleep(0.5)


async def unknown_event(peer: Any) -> None:
    peer.unknown()
    await turn(peer)


async def binary_frame(peer: Any) -> None:
    peer.raw(b"\xff\xfe\x00")
    await turn(peer)


async def huge_message(peer: Any) -> None:
    if isinstance(peer, GptLivePeer):
        peer.track(HUGE)
    else:
        peer.begin()
        if isinstance(peer, RealtimePeer):
            peer.say("")
        peer.audio(HUGE)
        peer.end()
    await asyncio.sleep(1.0)


async def cut_arguments(peer: Any) -> None:
    if isinstance(peer, RealtimePeer):
        peer.begin()
    call(peer, ("c1", '{"date": "2026-'))
    peer.end()
    await asyncio.sleep(0.5)


async def failed_response(peer: Any) -> None:
    if isinstance(peer, GptLivePeer):
        peer.delegate(finish="failed")
    elif isinstance(peer, RealtimePeer):
        opened(peer)
        peer.end("failed", None, {"type": "server_error", "code": "server_error"})
    else:
        peer.end("failed")
    await asyncio.sleep(0.5)


async def expiry(peer: Any) -> None:
    if isinstance(peer, RealtimePeer):
        peer.error("session_expired", "Your session hit the maximum duration of 60 minutes.")
    elif isinstance(peer, GeminiPeer):
        peer.go_away("10s")
        await asyncio.sleep(1.0)
        peer.hang_up(1001, "the session is over")
    else:
        peer.over("expired")
        peer.hang_up(1000)


async def late_transcript(peer: Any) -> None:
    """The transcript of the caller comes after the answer has begun, in pieces; dialects repeat the whole each time."""
    opened(peer)
    if isinstance(peer, RealtimePeer):
        item = peer.name("item")
        peer.transcript_piece(item, "move ")
        peer.transcript_piece(item, "move it" if peer.cumulative else "it")
        peer.end()
        peer.transcribe(item, "Move it.")
    elif isinstance(peer, GeminiPeer):
        peer.caller_said("move ")
        peer.caller_said("it")
        peer.end()
    else:
        await asyncio.sleep(0.5)
        peer.caller_said("move ", 100, 200)
        peer.caller_said("it", 200, 300)
    await asyncio.sleep(2.2)
