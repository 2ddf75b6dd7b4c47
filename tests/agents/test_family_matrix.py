"""Every family against every situation: the same neutral events, no lost byte of audio, no tool run twice.

A row is a situation, played by the family's own server in virtual time; a cell is what the engine must be told. To add a family, give it a
server in ``FAMILIES`` and a cell in every row: a missing cell fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from agent_kit import tone
from live_kit import LONG, SECOND, Ran, conduct
from peers.base import Server
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer

from apex_tui.agents.realtime.profile import OPENAI, Profile
from apex_tui.audio.frames import pcm_bytes

BETA = replace(OPENAI, session_shape="beta", tool_shape="nested", user_transcript="cumulative", supports_truncate=False)
FAMILIES: dict[str, tuple[Callable[[], Server], Profile | None]] = {
    "ga": (RealtimePeer, None),
    "beta": (lambda: RealtimePeer(beta=True), BETA),
    "gemini": (lambda: GeminiPeer(resumable=False), None),
    "gpt-live": (GptLivePeer, None),
}
GREETING = "Good day, what can I do for you?"
HUGE = pcm_bytes(np.tile(tone(1.0), 66))
ARGS = '{"date": "2026-12-14"}'
TURN = [("begun", "r1", False), ("ended", "r1", "completed")]


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
        peer.transcript_piece(item, "move it" if peer.beta else "it")
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


@dataclass(frozen=True)
class Row:
    """A situation: how it is played, what each family must report, and what must be true besides."""

    play: Callable[[Any], Any]
    cells: dict[str, list[tuple[Any, ...]]]
    check: Callable[[str, Any, Ran], None] = lambda family, peer, ran: None


def same(events: list[tuple[Any, ...]], **others: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    return {**dict.fromkeys(FAMILIES, events), **{name.replace("_", "-"): cell for name, cell in others.items()}}


def whole(family: str, peer: Any, ran: Ran) -> None:
    """All the audio of the one turn, and its words."""
    assert ran.audio["r1"].rstrip(b"\0") == SECOND.rstrip(b"\0")
    assert ran.said["r1"].strip() == GREETING


def ran_once(*calls: str) -> Callable[[str, Any, Ran], None]:
    def check(family: str, peer: Any, ran: Ran) -> None:
        assert ran.runs == dict.fromkeys(calls, 1)
        assert getattr(peer, "creates", 1) == 1
        assert ran.audio["r2"].rstrip(b"\0") == SECOND.rstrip(b"\0")
        if not isinstance(peer, RealtimePeer):
            assert set(peer.answers) == set(calls)

    return check


def not_run(family: str, peer: Any, ran: Ran) -> None:
    assert not ran.runs


def yielded(family: str, peer: Any, ran: Ran) -> None:
    assert 480 <= ran.played_ms <= 620 or family == "gpt-live"
    if family == "ga":
        (heard_ms,) = peer.truncated.values()
        assert abs(heard_ms - ran.played_ms) <= 20  # the frame in which the flush fell
    if family == "gpt-live":
        # Its track is real time: nothing waits to be flushed, and it is silent once the service has stopped.
        assert not ran.flushed_ms
        assert 400 <= len(ran.audio["r1"].rstrip(b"\0")) / 48 <= 600
    else:
        assert ran.flushed_ms == [pytest.approx(3000 - ran.played_ms, abs=40)]


def dropped(family: str, peer: Any, ran: Ran) -> None:
    if family == "gpt-live":
        assert not ran.runs
        assert not peer.answers
    else:
        assert ran.audio["r1"] == SECOND


def asked_again(family: str, peer: Any, ran: Ran) -> None:
    assert ran.runs == {"c1": 1}
    assert getattr(peer, "creates", 1) == 1
    if family in ("ga", "beta"):
        assert [m["type"] for m in peer.got].count("response.create") == 2


def huge(family: str, peer: Any, ran: Ran) -> None:
    assert ran.audio["r1"][: len(HUGE)] == HUGE
    assert any(len(str(message)) > 4 * 1024 * 1024 for message in peer.sent)


def told_why(family: str, peer: Any, ran: Ran) -> None:
    assert peer.result_of("c1")["ok"] is False if isinstance(peer, RealtimePeer) else peer.answers["c1"]
    assert not ran.runs


CALL = ("call", "c1", "update_form", {"date": "2026-12-14"})
CALL_2 = ("call", "c2", "update_form", {"date": "2026-12-14"})
CUT_CALL = ("call", "c1", "update_form", None)
JUNK = ("error", "unreadable", False)
AFTER = [("begun", "r2", True), ("ended", "r2", "completed")]
THIRD = [("begun", "r3", True), ("ended", "r3", "completed")]
AFTER_LIVE = [("begun", "r2", False), ("ended", "r2", "completed")]
YIELD = [("begun", "r1", False), ("ended", "r1", "cancelled"), ("started", "server_vad")]
YIELD_GEMINI = [("begun", "r1", False), ("ended", "r1", "cancelled"), ("started", "server_interrupt")]
FLUSH = [*TURN, ("started", "server_vad")]
HEARD = [("heard", "move ", False), ("heard", "move it", False)]
ENDED = ("ended", "r1", "completed")
BEGUN = ("begun", "r1", False)

ROWS: dict[str, Row] = {
    "text turn": Row(text_turn, same(TURN), whole),
    "tool call": Row(
        one_call,
        same([BEGUN, CALL, ENDED, *AFTER], gpt_live=[CALL, BEGUN, ENDED, *AFTER_LIVE]),
        ran_once("c1"),
    ),
    "two parallel calls": Row(
        two_calls,
        same([BEGUN, CALL, CALL_2, ENDED, *AFTER], gpt_live=[CALL, CALL_2, BEGUN, ENDED, *AFTER_LIVE]),
        ran_once("c1", "c2"),
    ),
    "barge-in while speaking": Row(barge_in, same(YIELD, gemini=YIELD_GEMINI, gpt_live=TURN), yielded),
    "barge-in after the reply is complete but still playing": Row(
        barge_in_after_done,
        same(FLUSH, gemini=[*TURN, ("started", "server_interrupt")], gpt_live=TURN),
        yielded,
    ),
    "cancel race": Row(
        cancel_race,
        same(
            YIELD[:2],
            gemini=YIELD_GEMINI,
            gpt_live=[CALL, ("back", "c1"), ("error", "delegate_failed", False)],
        ),
        dropped,
    ),
    "double create": Row(
        double_create,
        same([BEGUN, CALL, ENDED, *AFTER, *THIRD], gemini=[CALL], gpt_live=[CALL]),
        asked_again,
    ),
    "unknown event": Row(unknown_event, same(TURN), whole),
    "binary frame": Row(binary_frame, same([JUNK, *TURN]), whole),
    "4 MiB message": Row(huge_message, same(TURN), huge),
    "cut arguments": Row(
        cut_arguments, same([BEGUN, CUT_CALL, ENDED], gemini=[CUT_CALL], gpt_live=[CUT_CALL]), told_why
    ),
    "failed response": Row(
        failed_response,
        same([BEGUN, ("ended", "r1", "failed")], gpt_live=[("error", "delegate_failed", False)]),
        not_run,
    ),
    "expiry": Row(
        expiry,
        same([("error", "session_expired", True)], gemini=[("limit",), ("closed", 1001, False)]),
    ),
    "late and cumulative transcripts": Row(
        late_transcript,
        same(
            [BEGUN, *HEARD, ENDED, ("heard", "Move it.", True)],
            gemini=[BEGUN, *HEARD, ENDED],
            gpt_live=[BEGUN, *HEARD, ENDED],
        ),
    ),
}


def last_is_our_close(events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The events without our own close at the end of the script."""
    assert events[-1][0] == "closed"
    return events[:-1] if events[-1] == ("closed", 1000, True) else events


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("row", ROWS)
def test_cell(row: str, family: str) -> None:
    make, profile = FAMILIES[family]
    peer, chosen = make(), ROWS[row]
    ran = conduct(peer, chosen.play, 7.0, profile=profile)
    assert last_is_our_close(ran.events) == chosen.cells[family]
    chosen.check(family, peer, ran)
    assert peer.faults == []
    assert all(count == 1 for count in ran.runs.values())
    wire = ran.sent_bytes * 2 // 3 if family == "gemini" else ran.sent_bytes  # 16 kHz there; its filter holds some
    assert wire - 6_000 <= len(peer.heard) <= wire


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("code", [1000, 1001, 1008, 1009, 1011])
def test_a_close_is_what_it_is(code: int, family: str) -> None:
    make, profile = FAMILIES[family]

    async def play(peer: Any) -> None:
        peer.hang_up(code, "the reason")

    peer = make()
    ran = conduct(peer, play, profile=profile)
    assert ran.events == [("closed", code, code == 1000)]
    assert ran.messages[-1].startswith("the reason")
    if code == 1009:
        assert "MAX_SIZE" in ran.messages[-1]
