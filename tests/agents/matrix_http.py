"""How the situations of the family matrix are played against agents that ask over HTTP: chat completions, Responses, and the cascade.

Such a server cannot begin anything, so the caller speaks and the answers lie ready. What cannot happen over HTTP is played as the nearest
thing that can; ``NEAREST`` says what that is and why.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from agent_kit import tone
from http_peer import Abort, Answer, Chunk, data
from live_kit import LONG, SECOND
from matrix_http_cells import BEGUN, Events
from matrix_plays import ARGS, GREETING, HUGE
from peers.base import pieces
from peers.model_peer import ModelPeer

from apex_tui.audio.frames import pcm_bytes

NO_SOUND = "it has no voice and no ears: turns are text, and an answer counts as heard once it is over"
NO_CREATE = (
    "every request asks for exactly one answer, so two can only be due at the same moment; one question must be asked"
)
ONE_WAY = "a stream is closed by the client, so the race is a result that crosses the caller's next turn"
NO_FRAMES = "server-sent events are text; the nearest are bytes that are neither UTF-8 nor JSON"
NO_SESSION = "there is no session that could expire; the key can, between two requests"
NO_TRANSCRIPT = "the caller's words reach it as they are: there is no transcript"
WHOLE_TRANSCRIPT = "a transcript comes once, whole; it can be late, and the answer waits for it"

NEAREST: dict[str, dict[str, str]] = {
    "barge-in while speaking": {"chat": NO_SOUND, "responses": NO_SOUND},
    "barge-in after the reply is complete but still playing": {"chat": NO_SOUND, "responses": NO_SOUND},
    "cancel race": dict.fromkeys(("chat", "responses", "cascade"), ONE_WAY),
    "double create": dict.fromkeys(("chat", "responses", "cascade"), NO_CREATE),
    "binary frame": dict.fromkeys(("chat", "responses", "cascade"), NO_FRAMES),
    "expiry": dict.fromkeys(("chat", "responses", "cascade"), NO_SESSION),
    "late and cumulative transcripts": {
        "chat": NO_TRANSCRIPT,
        "responses": NO_TRANSCRIPT,
        "cascade": WHOLE_TRANSCRIPT,
    },
}
"""Row -> family -> why the situation itself does not exist there; what is played instead is the nearest that does."""

BURST: list[Chunk] = [SECOND]
FIRST_WORD = {"chat": 2, "responses": 4}
"""How many chunks of an answer hold its first word and what comes before."""
UTTERANCE = pcm_bytes(tone(0.5, 330.0))


def paced(pcm: bytes) -> list[Chunk]:
    """Sound at the speed at which it is heard, so that its reply is open while it plays."""
    out: list[Chunk] = []
    for piece in pieces(pcm):
        out += [piece, len(piece) / 48_000]
    return out


async def until(true: Callable[[], bool]) -> None:
    """Wait in virtual time; a minute is for ever."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.02)


async def text_turn(peer: ModelPeer) -> None:
    peer.answer(GREETING[:9], GREETING[9:])
    peer.voice.append(list(BURST))
    peer.caller("hello")
    await asyncio.sleep(3.5)


async def tools(peer: ModelPeer, *calls: tuple[str, str, str]) -> None:
    peer.answer(GREETING, calls=calls)
    peer.answer("Done, thank you.")
    peer.voice += [list(BURST), list(BURST)]
    peer.caller("the fourteenth")
    await asyncio.sleep(5.0)


async def one_call(peer: ModelPeer) -> None:
    await tools(peer, ("c1", "update_form", ARGS))


async def two_calls(peer: ModelPeer) -> None:
    await tools(peer, ("c1", "update_form", ARGS), ("c2", "update_form", ARGS))


async def barge_in(peer: ModelPeer) -> None:
    """The caller speaks into an answer: into its sound, or (without sound) while it is being written."""
    half, rest = GREETING[:9], GREETING[9:]
    if peer.cascade:
        peer.answer(half, rest)
    else:
        peer.answer(half, rest)
        whole: Any = peer.script[-1]
        at = FIRST_WORD[peer.api]
        peer.script[-1] = [*whole[:at], 5.0, *whole[at:]]
    peer.voice += [paced(LONG), list(BURST)]
    peer.answer("Yes, I am listening.")
    peer.caller("hello")
    await until(lambda: bool(peer.spoken) if peer.cascade else bool(peer.requests))
    await asyncio.sleep(0.6)
    peer.caller("wait", 0.4)
    await asyncio.sleep(2.5)


async def barge_in_after_done(peer: ModelPeer) -> None:
    peer.answer(GREETING)
    peer.voice += [[LONG], list(BURST)]
    peer.answer("Yes, I am listening.")
    peer.caller("hello")
    await until(lambda: bool(peer.spoken) if peer.cascade else bool(peer.requests))
    await asyncio.sleep(0.6)
    peer.caller("wait", 0.4)
    await asyncio.sleep(2.5)


async def cancel_race(peer: ModelPeer) -> None:
    """The caller goes on while a call runs: its result and the turn are told together, once."""
    peer.answer(calls=(("c1", "update_form", ARGS),))
    peer.answer("Done, thank you.")
    peer.voice.append(list(BURST))
    peer.caller("the fourteenth")
    await until(lambda: bool(peer.requests))
    peer.caller("no, wait", 0.1)
    await asyncio.sleep(2.5)


async def double_create(peer: ModelPeer) -> None:
    """Two turns are due at once: a second transcript that waits behind a slow first one, or two turns in one frame."""
    peer.answer(GREETING)
    peer.voice.append(list(BURST))
    peer.caller("hello")
    if peer.cascade:
        peer.transcripts[-1] = [2.0, json.dumps({"text": "hello"}).encode()]
        await asyncio.sleep(1.2)
    peer.caller("are you there")
    await asyncio.sleep(4.0)


async def unknown_event(peer: ModelPeer) -> None:
    peer.answer(
        GREETING, before=(b"event: telepathy\n" + data({"type": "telepathy", "object": "?"}), b": a comment\n\n")
    )
    peer.voice.append(list(BURST))
    peer.caller("hello")
    await asyncio.sleep(3.5)


async def binary_frame(peer: ModelPeer) -> None:
    peer.answer(GREETING, before=(b"data: \xff\xfe\x00\n\n",))
    peer.voice.append([SECOND[:3], SECOND[3:1000], SECOND[1000:1001], SECOND[1001:]])  # samples cut in their middle
    peer.caller("hello")
    await asyncio.sleep(3.5)


async def huge_message(peer: ModelPeer) -> None:
    """Four mebibytes in one event of the model, and in one piece of sound."""
    filler = {"type": "telepathy", "padding": "x" * (4 * 1024 * 1024 + 1)}
    peer.answer(GREETING, before=(data(filler),))
    peer.voice.append([HUGE])
    peer.caller("hello")
    await asyncio.sleep(3.5)


async def cut_arguments(peer: ModelPeer) -> None:
    end = "incomplete" if peer.api == "responses" else "length"
    peer.answer(calls=(("c1", "update_form", '{"date": "2026-'),), end=end)
    peer.answer("Once more, please.")
    peer.voice.append(list(BURST))
    peer.caller("the fourteenth")
    await asyncio.sleep(3.5)


async def failed_response(peer: ModelPeer) -> None:
    if peer.api == "responses":
        peer.answer(calls=(("c1", "update_form", ARGS),), end="failed")
    else:
        peer.answer(calls=(("c1", "update_form", ARGS),))
        whole: Any = peer.script[-1]
        peer.script[-1] = [*whole[:-3], data({"error": {"code": "server_error", "message": "The model went away."}})]
    peer.caller("the fourteenth")
    await asyncio.sleep(2.0)


async def expiry(peer: ModelPeer) -> None:
    """The key is refused from the second request on."""
    peer.answer(GREETING)
    peer.voice.append(list(BURST))
    peer.script.append(Answer([b'{"error":{"code":"invalid_api_key","message":"expired"}}'], 401, "application/json"))
    peer.caller("hello")
    await asyncio.sleep(3.0)
    peer.caller("are you there")
    await asyncio.sleep(3.0)


async def late_transcript(peer: ModelPeer) -> None:
    peer.answer(GREETING)
    peer.voice.append(list(BURST))
    peer.caller("Move it to Tuesday.")
    if peer.cascade:
        peer.transcripts[-1] = [2.0, json.dumps({"text": "Move it to Tuesday."}).encode()]
    await asyncio.sleep(5.0)


PLAYS: dict[str, Callable[[ModelPeer], Any]] = {
    "text turn": text_turn,
    "tool call": one_call,
    "two parallel calls": two_calls,
    "barge-in while speaking": barge_in,
    "barge-in after the reply is complete but still playing": barge_in_after_done,
    "cancel race": cancel_race,
    "double create": double_create,
    "unknown event": unknown_event,
    "binary frame": binary_frame,
    "4 MiB message": huge_message,
    "cut arguments": cut_arguments,
    "failed response": failed_response,
    "expiry": expiry,
    "late and cumulative transcripts": late_transcript,
}

# --- ends -----------------------------------------------------------------------------------------------------------------------------


def refusal(status: int, code: str, message: str) -> Answer:
    error = json.dumps({"error": {"code": code, "message": message}}).encode()
    return Answer([error], status, "application/json")


ENDS: dict[int, tuple[str, list[list[Chunk] | Answer], Events, int]] = {
    1000: ("the stream ends in order without an ending", [[b": nothing\n\n"]], [BEGUN, ("ended", "r1", "failed")], 1),
    1001: (
        "the service goes away (503): tried again, three times in all",
        [refusal(503, "unavailable", "the reason")] * 3,
        [BEGUN, ("ended", "r1", "failed"), ("error", "unavailable", True)],
        3,
    ),
    1008: (
        "the service refuses by policy (429, no quota left): not tried again",
        [refusal(429, "insufficient_quota", "the reason")],
        [BEGUN, ("ended", "r1", "failed"), ("error", "insufficient_quota", True)],
        1,
    ),
    1009: (
        "the request is larger than the service takes (413): not tried again",
        [refusal(413, "", "the reason")],
        [BEGUN, ("ended", "r1", "failed"), ("error", "http_413", True)],
        1,
    ),
    1011: (
        "the connection breaks in the middle of an answer: the words so far stand, the session goes on",
        [[Abort]],
        [BEGUN, ("ended", "r1", "failed"), ("error", "broken", False)],
        1,
    ),
}
"""Close code of a socket -> its counterpart over HTTP, the answers that play it, what is reported, and how often the model is asked."""


def ending(peer: ModelPeer, code: int) -> Callable[[ModelPeer], Any]:
    """Play the counterpart of a close code."""
    peer.script = list(ENDS[code][1])
    if code == 1011:
        peer.answer("A word, ")
        whole: Any = peer.script.pop()
        peer.script = [[*whole[: FIRST_WORD[peer.api]], Abort]]

    async def play(peer: ModelPeer) -> None:
        peer.caller("hello")
        await asyncio.sleep(5.0)

    return play
