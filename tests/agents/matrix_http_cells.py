"""What agents that ask over HTTP must report in each situation of the family matrix, and what must be true besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from live_kit import LONG, SECOND, Ran
from matrix_plays import GREETING, HUGE
from peers.model_peer import ModelPeer

Events = list[tuple[Any, ...]]
BEGUN, ENDED = ("begun", "r1", False), ("ended", "r1", "completed")
CALL = ("call", "c1", "update_form", {"date": "2026-12-14"})
CALL_2 = ("call", "c2", "update_form", {"date": "2026-12-14"})
CUT_CALL = ("call", "c1", "update_form", None)
AFTER: Events = [("begun", "r2", True), ("ended", "r2", "completed")]
NEXT: Events = [("begun", "r2", False), ("ended", "r2", "completed")]
STARTED, STOPPED = ("started", "client_energy"), ("stopped", "client_energy")
CUT_OFF = ("ended", "r1", "cancelled")
JUNK = ("error", "unreadable", False)
FAILED: Events = [BEGUN, ("error", "server_error", False), ("ended", "r1", "failed")]
REFUSED: Events = [("begun", "r2", False), ("ended", "r2", "failed"), ("error", "invalid_api_key", True)]


def turn(words: str) -> Events:
    """A caller turn as the cascade hears it."""
    return [STARTED, STOPPED, ("heard", words, True)]


HELLO, DATE = turn("hello"), turn("the fourteenth")

WRITTEN: dict[str, Events] = {
    "text turn": [BEGUN, ENDED],
    "tool call": [BEGUN, CALL, ENDED, *AFTER],
    "two parallel calls": [BEGUN, CALL, CALL_2, ENDED, *AFTER],
    "barge-in while speaking": [BEGUN, CUT_OFF, *NEXT],
    "barge-in after the reply is complete but still playing": [BEGUN, ENDED, *NEXT],
    "cancel race": [BEGUN, CALL, ENDED, *NEXT],
    "double create": [BEGUN, ENDED],
    "unknown event": [BEGUN, ENDED],
    "binary frame": [BEGUN, JUNK, ENDED],
    "4 MiB message": [BEGUN, ENDED],
    "cut arguments": [BEGUN, CUT_CALL, ("ended", "r1", "incomplete"), *AFTER],
    "failed response": FAILED,
    "expiry": [BEGUN, ENDED, *REFUSED],
    "late and cumulative transcripts": [BEGUN, ENDED],
}
SPOKEN: dict[str, Events] = {
    "text turn": [*HELLO, BEGUN, ENDED],
    "tool call": [*DATE, BEGUN, CALL, ENDED, *AFTER],
    "two parallel calls": [*DATE, BEGUN, CALL, CALL_2, ENDED, *AFTER],
    "barge-in while speaking": [*HELLO, BEGUN, STARTED, CUT_OFF, STOPPED, ("heard", "wait", True), *NEXT],
    "barge-in after the reply is complete but still playing": [*HELLO, BEGUN, ENDED, *turn("wait"), *NEXT],
    "cancel race": [*DATE, BEGUN, CALL, ENDED, *turn("no, wait"), *NEXT],
    "double create": [
        STARTED,
        STOPPED,
        STARTED,
        STOPPED,
        ("heard", "hello", True),
        ("heard", "are you there", True),
        BEGUN,
        ENDED,
    ],
    "unknown event": [*HELLO, BEGUN, ENDED],
    "binary frame": [*HELLO, BEGUN, JUNK, ENDED],
    "4 MiB message": [*HELLO, BEGUN, ENDED],
    "cut arguments": [*DATE, BEGUN, CUT_CALL, ("ended", "r1", "incomplete"), *AFTER],
    "failed response": [*DATE, *FAILED],
    "expiry": [*HELLO, BEGUN, ENDED, *turn("are you there"), *REFUSED],
    "late and cumulative transcripts": [*turn("Move it to Tuesday."), BEGUN, ENDED],
}
CELLS = {"chat": WRITTEN, "responses": WRITTEN, "cascade": SPOKEN}

# --- what must be true besides --------------------------------------------------------------------------------------------------------


def whole(peer: ModelPeer, ran: Ran) -> None:
    """The words and all the sound of the one answer; the one question held the caller's words."""
    assert ran.said["r1"] == GREETING
    assert ran.audio == ({"r1": SECOND} if peer.cascade else {})
    assert len(peer.requests) == 1
    assert peer.most_open <= 2  # the words and the sound of one answer


def ran_once(*calls: str) -> Callable[[ModelPeer, Ran], None]:
    def check(peer: ModelPeer, ran: Ran) -> None:
        assert ran.runs == dict.fromkeys(calls, 1)
        assert len(peer.requests) == 2
        assert peer.results_of(peer.requests[1]) == {call: {"ok": True} for call in calls}
        assert ran.said["r2"] == "Done, thank you."
        assert not peer.cascade or ran.audio == {"r1": SECOND, "r2": SECOND}

    return check


def cut_off(peer: ModelPeer, ran: Ran) -> None:
    """The stream was closed, the model is told what was heard (or written) and no more, and nothing of it comes later."""
    assert peer.left_early == 1
    (heard, *_) = peer.told(1, "assistant")
    assert GREETING.startswith(heard)
    assert 0 < len(heard) < len(GREETING)
    assert peer.told(1, "user")[-1] == "wait"
    if peer.cascade:
        assert 500 <= len(ran.audio["r1"]) / 48 <= 900
        assert ran.audio["r2"] == SECOND


def still_playing(peer: ModelPeer, ran: Ran) -> None:
    if not peer.cascade:
        assert peer.told(1, "assistant") == [GREETING]
        return
    (heard, *_) = peer.told(1, "assistant")
    assert GREETING.startswith(heard)
    assert 0 < len(heard) < len(GREETING)
    assert ran.audio["r1"] == LONG, "all of it had arrived"
    assert 2000 <= ran.flushed_ms[0] <= 2600


def told_together(peer: ModelPeer, ran: Ran) -> None:
    assert ran.runs == {"c1": 1}
    assert len(peer.requests) == 2
    assert peer.results_of(peer.requests[1]) == {"c1": {"ok": True}}
    assert peer.told(1, "user") == ["the fourteenth", "no, wait"]


def asked_once(peer: ModelPeer, ran: Ran) -> None:
    assert len(peer.requests) == 1
    assert peer.told(0, "user") == ["hello", "are you there"]


def huge(peer: ModelPeer, ran: Ran) -> None:
    assert ran.said["r1"] == GREETING
    assert ran.audio == ({"r1": HUGE} if peer.cascade else {})


def told_why(peer: ModelPeer, ran: Ran) -> None:
    assert not ran.runs
    assert peer.results_of(peer.requests[1])["c1"]["ok"] is False


def not_run(peer: ModelPeer, ran: Ran) -> None:
    assert not ran.runs
    assert len(peer.requests) == 1


def ended_there(peer: ModelPeer, ran: Ran) -> None:
    assert len(peer.requests) == 2, "a refused key is not tried again"


def as_said(peer: ModelPeer, ran: Ran) -> None:
    assert peer.told(0, "user") == ["Move it to Tuesday."]


CHECKS: dict[str, Callable[[ModelPeer, Ran], None]] = {
    "text turn": whole,
    "tool call": ran_once("c1"),
    "two parallel calls": ran_once("c1", "c2"),
    "barge-in while speaking": cut_off,
    "barge-in after the reply is complete but still playing": still_playing,
    "cancel race": told_together,
    "double create": asked_once,
    "unknown event": whole,
    "binary frame": whole,
    "4 MiB message": huge,
    "cut arguments": told_why,
    "failed response": not_run,
    "expiry": ended_there,
    "late and cumulative transcripts": as_said,
}
