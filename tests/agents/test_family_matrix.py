"""Every family against every situation: the same neutral events, no lost byte of audio, no tool run twice.

A row is a situation, played by the family's own server in virtual time; a cell is what the engine must be told. To add a family, give it a
server in ``FAMILIES`` (or ``HTTP``) and a cell in every row: a missing cell fails. ``matrix_plays`` plays the rows on sockets, ``matrix_http``
for agents that ask over HTTP, whose cells are in ``matrix_http_cells``; ``NEAREST`` says what cannot happen there and what stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import matrix_http
import matrix_http_cells
import pytest
from live_kit import SECOND, Ran, conduct
from matrix_plays import (
    GREETING,
    HUGE,
    barge_in,
    barge_in_after_done,
    binary_frame,
    cancel_race,
    cut_arguments,
    double_create,
    expiry,
    failed_response,
    huge_message,
    late_transcript,
    one_call,
    text_turn,
    two_calls,
    unknown_event,
)
from peers.base import Server
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.model_peer import ModelPeer
from peers.realtime_peer import RealtimePeer, XaiPeer

from apex_tui.agents.dialects import load_profiles
from apex_tui.agents.realtime.profile import OPENAI, Profile

BETA = replace(OPENAI, session_shape="beta", tool_shape="nested", user_transcript="cumulative", supports_truncate=False)
FAMILIES: dict[str, tuple[Callable[[], Server], Profile | None]] = {
    "ga": (RealtimePeer, None),
    "beta": (lambda: RealtimePeer(beta=True), BETA),
    "xai": (XaiPeer, load_profiles()["xai"].profile),
    "gemini": (lambda: GeminiPeer(resumable=False), None),
    "gpt-live": (GptLivePeer, None),
}
HTTP: dict[str, Callable[[], ModelPeer]] = {
    "chat": lambda: ModelPeer("chat"),
    "responses": lambda: ModelPeer("responses"),
    "cascade": lambda: ModelPeer("chat", cascade=True),
}
TURN = [("begun", "r1", False), ("ended", "r1", "completed")]


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
    if family in ("ga", "beta", "xai"):
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
        same([BEGUN, CALL, ENDED, *AFTER], gpt_live=[CALL, BEGUN, ENDED, *AFTER]),
        ran_once("c1"),
    ),
    "two parallel calls": Row(
        two_calls,
        same([BEGUN, CALL, CALL_2, ENDED, *AFTER], gpt_live=[CALL, CALL_2, BEGUN, ENDED, *AFTER]),
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
        same(
            [("error", "session_expired", True)],
            xai=[("error", "invalid_request_error", True)],
            gemini=[("limit",), ("closed", 1001, False)],
        ),
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
    return events[:-1] if events[-1] in (("closed", 1000, True), ("closed", None, True)) else events


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


@pytest.mark.parametrize("family", HTTP)
@pytest.mark.parametrize("row", ROWS)
def test_http_cell(row: str, family: str) -> None:
    peer = HTTP[family]()
    ran = conduct(peer, matrix_http.PLAYS[row], 14.0)
    assert last_is_our_close(ran.events) == matrix_http_cells.CELLS[family][row]
    matrix_http_cells.CHECKS[row](peer, ran)
    assert peer.faults == []
    assert peer.open_streams == 0
    assert all(count == 1 for count in ran.runs.values())
    assert peer.heard.count(matrix_http.UTTERANCE[:960]) >= (1 if peer.cascade else 0), "the caller's sound is in it"


def test_what_cannot_happen_over_http_says_why_and_what_stands_in_for_it() -> None:
    for row, families in matrix_http.NEAREST.items():
        assert row in ROWS
        assert set(families) <= set(HTTP)
        assert all(len(why.split()) > 5 for why in families.values())
    for family in HTTP:
        assert (
            set(matrix_http_cells.CELLS[family]) == set(ROWS) == set(matrix_http.PLAYS) == set(matrix_http_cells.CHECKS)
        )


@pytest.mark.parametrize("family", HTTP)
@pytest.mark.parametrize("code", matrix_http.ENDS)
def test_the_end_of_a_stream_is_what_it_is(code: int, family: str) -> None:
    """The counterparts of the close codes: of a stream, and of the connection under it."""
    peer = HTTP[family]()
    ran = conduct(peer, matrix_http.ending(peer, code), 14.0)
    _, _, events, asked = matrix_http.ENDS[code]
    assert last_is_our_close(ran.events) == [*(matrix_http_cells.HELLO if peer.cascade else []), *events]
    assert len(peer.requests) == asked
    if any(event[-1] is True for event in events):
        assert "the reason" in ran.messages[0]


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
        assert ran.messages[-1] == "the reason: a message of ours was larger than the agent takes"
