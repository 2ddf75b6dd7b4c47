"""The bug reports that shaped these clients, each played by a server: the number is the row of the table they were collected in.

Rows 1 to 12: replies, requests, tools, and the ends of sessions. A row names what a client must do, and fails when it does not. Rows that
need a real socket are in ``test_robustness_sockets``; which test plays which row is listed in ``test_robustness_table``.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from agent_kit import SETUP
from live_kit import SECOND, agent_of, conduct
from peers.base import b64
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer
from robustness_kit import ARGS, ARGUMENTS, Client, barge_in, called, sent_types, void

from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.seam import AgentAudio, LateAudio, ProviderError, ReplyEnded, ToolRequest
from apex_tui.engine.replies import heard_prefix
from apex_tui.timeline.virtual import run_virtual

# --- replies and requests -------------------------------------------------------------------------------------------------------------


def test_row_01_a_request_that_races_a_turn_is_queued_again_once() -> None:
    class Dialect(RealtimePeer):
        """Reports "busy" in its own way."""

        def error(self, code: str | None, message: str, event_id: str | None = None, kind: str = "") -> None:
            cause = event_id if self.named else None
            self.emit("error", error={"type": self.kind, "code": self.code, "message": message, "event_id": cause})

        def __init__(self, code: str | None, kind: str, named: bool) -> None:
            super().__init__()
            self.code, self.kind, self.named = code, kind, named

    async def play(peer: RealtimePeer) -> None:
        peer.crossing = True
        peer.on_create = lambda: void(peer.begin())
        called(peer)
        await asyncio.sleep(1.0)
        peer.end()
        await asyncio.sleep(0.2)
        peer.end()

    # By code; by type with no code; by the message alone, without naming the cause.
    for code, kind, named in (
        ("conversation_already_has_active_response", "invalid_request_error", True),
        (None, "conversation_already_has_active_response", True),
        (None, "error", False),
    ):
        peer = Dialect(code, kind, named)
        ran = conduct(peer, play)
        assert sent_types(peer).count("response.create") == 2
        assert [event[1:] for event in ran.of("ended")] == [(f"r{n}", "completed") for n in (1, 2, 3)]
        assert not ran.of("error")
        assert peer.faults == []


def test_row_02_a_cancel_before_the_reply_has_an_id_is_sent_when_it_has_one() -> None:
    client = Client()
    client.begin("r1")
    item = {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": "{}", "status": "completed"}
    client.get("response.output_item.done", response_id="r1", item=item)
    client.get("response.done", response={"id": "r1", "status": "completed"})
    client.core.tool_result("c1", "{}")
    client.core.cancel()
    assert "response.cancel" not in [message["type"] for message in client.sent()]
    client.begin("orphan")
    (cancel,) = client.sent()
    assert (cancel["type"], cancel["response_id"]) == ("response.cancel", "orphan")
    sound = client.get("response.output_audio.delta", response_id="orphan", item_id="i", delta=b64(SECOND))
    assert not [event for event in sound if isinstance(event, AgentAudio)]


def test_a_call_id_that_is_used_again_for_another_call_is_told_and_runs_nothing() -> None:
    client = Client()
    client.begin("r1")
    item = {"type": "function_call", "call_id": "c1", "name": "submit", "arguments": '{"a": 1}', "status": "completed"}
    other = {**item, "arguments": '{"a": 2}'}
    first = client.get("response.output_item.done", response_id="r1", item=item)
    again = client.get("response.output_item.done", response_id="r1", item=other)
    done = client.get("response.done", response={"id": "r1", "status": "completed", "output": [item, other]})
    assert [event.arguments for event in first if isinstance(event, ToolRequest)] == [{"a": 1}]
    assert again == [ProviderError("bad_call", "the call c1 came again with other content; only the first is run")]
    assert [event for event in done if isinstance(event, ToolRequest | ProviderError)] == []


def test_a_reply_under_the_id_of_one_that_is_over_is_told() -> None:
    client = Client()
    client.begin("r1")
    client.get("response.done", response={"id": "r1", "status": "completed"})
    (error,) = client.get("response.created", response={"id": "r1"})
    assert isinstance(error, ProviderError)
    assert error.message.startswith("a reply begins under the id of one that is over (r1)")
    late = {"response_id": "r1", "item_id": "i2", "transcript": "Its sound is left out, and so are its words."}
    assert client.get("response.output_audio_transcript.done", **late) == []


def test_row_03_the_server_is_told_what_was_heard() -> None:
    peer = RealtimePeer()
    ran = barge_in(peer, done=False)
    assert list(peer.truncated.values()) == [pytest.approx(ran.played_ms, abs=20)]
    assert peer.faults == []


def test_row_04_a_truncation_never_exceeds_the_audio() -> None:
    peer = RealtimePeer()

    async def main() -> None:
        agent = agent_of(peer)
        await agent.open(SETUP)
        peer.begin()
        peer.say("Short.", SECOND[:9602])  # 200 ms and a sample
        item = peer.item
        peer.end()
        await asyncio.sleep(0.1)
        agent.truncate(item, 285)  # 85 ms too long
        await asyncio.sleep(0.1)
        await agent.close()

    run_virtual(main())
    assert list(peer.truncated.values()) == [200]
    assert peer.faults == []


def test_row_05_nothing_is_truncated_at_zero_or_without_audio() -> None:
    peer = RealtimePeer()

    async def play(server: RealtimePeer) -> None:
        server.begin()
        server.say("The first item sounds.", SECOND)
        first.append(server.item)
        server.close_item()
        server.say("Nobody hears the second.", SECOND)
        await asyncio.sleep(0.5)
        server.caller_starts()
        server.begin()
        server.write("Only written.")
        server.caller_starts()
        await asyncio.sleep(0.2)

    first: list[str] = []
    ran = conduct(peer, play)
    assert ran.flushed_ms == [pytest.approx(500, abs=40), 1000]
    assert list(peer.truncated) == first
    assert sent_types(peer).count("conversation.item.truncate") == 1
    assert peer.faults == []


def test_row_06_words_that_were_generated_are_not_words_that_were_heard() -> None:
    text = "The total is four hundred and twenty euros and I will send it now"
    heard = heard_prefix(text, 1000.0, 10_000.0, complete=False)
    assert text.startswith(heard)
    assert 0 < len(heard) <= len(text) / 10
    peer = RealtimePeer()
    ran = barge_in(peer)
    assert ran.said["r1"] == "A long sentence that nobody hears to its end."  # kept apart: this is what was generated
    assert ran.played_ms < 600


def test_row_07_no_sound_after_a_cancel() -> None:
    client = Client()
    client.begin("r1")
    client.get("response.output_audio.delta", response_id="r1", item_id="i", delta=b64(SECOND))
    client.get("response.done", response={"id": "r1", "status": "cancelled"})
    late = client.get("response.output_audio.delta", response_id="r1", item_id="i", delta=b64(SECOND))
    assert late == [LateAudio("r1", 1000.0)]

    async def play(peer: GeminiPeer) -> None:
        peer.say("Old sound.", SECOND)
        await asyncio.sleep(0.3)
        peer.content(interrupted=True)
        peer.say("", SECOND)  # resumes, as was seen
        peer.content(turnComplete=True)
        await asyncio.sleep(0.5)
        peer.say("New sound.", SECOND)
        peer.end()
        await asyncio.sleep(1.2)

    ran = conduct(GeminiPeer(), play)
    assert {reply: len(audio) for reply, audio in ran.audio.items()} == {"r1": len(SECOND), "r2": len(SECOND)}
    assert 1200 <= ran.played_ms <= 1500


# --- tools ----------------------------------------------------------------------------------------------------------------------------


def test_row_08_a_call_runs_once_wherever_it_is_repeated_and_only_when_complete() -> None:
    async def realtime(peer: RealtimePeer) -> None:
        peer.begin()
        peer.call("half", "update_form", ARGS, status="incomplete")
        peer.call("c1", "update_form", ARGS)
        peer.send(next(m for m in reversed(peer.sent) if m["type"] == "response.output_item.done"))
        peer.end()
        await asyncio.sleep(1.0)

    async def gemini(peer: GeminiPeer) -> None:
        peer.calls(("c1", "update_form", ARGUMENTS))
        peer.send(peer.sent[-1])
        await asyncio.sleep(1.0)

    async def live(peer: GptLivePeer) -> None:
        peer.delegate(("c1", "update_form", ARGS))
        for message in [m for m in peer.sent if m["type"] == "response.event"]:
            peer.send(message)
        await asyncio.sleep(1.0)

    for peer, play in ((RealtimePeer(), realtime), (GeminiPeer(), gemini), (GptLivePeer(), live)):
        ran = conduct(peer, play)
        assert ran.runs == {"c1": 1}
        assert peer.faults == []


def test_row_09_cut_arguments_do_not_run_and_an_empty_text_is_no_arguments() -> None:
    async def play(peer: RealtimePeer) -> None:
        peer.begin()
        peer.call("cut", "update_form", '{"date": "2026-')
        peer.call("none", "submit", "")
        peer.end()
        await asyncio.sleep(1.0)

    peer = RealtimePeer()
    ran = conduct(peer, play)
    assert [event[1:] for event in ran.of("call")] == [("cut", "update_form", None), ("none", "submit", {})]
    assert ran.runs == {"none": 1}
    assert peer.result_of("cut")["ok"] is False


def test_row_10_a_failed_reply_is_no_silence_and_runs_no_tool() -> None:
    client = Client()
    for status, details in (
        ("failed", {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}),
        ("incomplete", {"reason": "max_output_tokens"}),
    ):
        client.begin(status)
        call = {"type": "function_call", "call_id": status, "name": "submit", "arguments": "{}", "status": "completed"}
        (ended,) = client.get(
            "response.done", response={"id": status, "status": status, "status_details": details, "output": [call]}
        )
        assert isinstance(ended, ReplyEnded)
        assert ended.status == status
        assert ended.reason in ("rate_limit_exceeded: slow down", "max_output_tokens")

    async def play(peer: GeminiPeer) -> None:
        peer.end("failed")
        await asyncio.sleep(0.1)

    ran = conduct(GeminiPeer(), play)
    assert ran.events[:2] == [("begun", "r1", False), ("ended", "r1", "failed")]


def test_row_11_a_session_is_warned_of_its_end_and_ends_in_order() -> None:
    async def nothing(peer: Any) -> None:
        await asyncio.sleep(0.1)

    profile = replace(OPENAI, max_session_s=10.0, warn_before_s=4.0)
    ran = conduct(RealtimePeer(), nothing, 20.0, profile=profile)
    assert ran.events[:2] == [("limit",), ("error", "session_limit", True)]
    assert ran.times[:2] == [6.0, 8.0]
    live = conduct(GptLivePeer(expires_at=1_999_992_800 + 130), nothing, 140.0)
    assert live.events[:2] == [("limit",), ("error", "session_limit", True)]
    assert live.times[:2] == [10.0, 128.0]


def test_row_12_a_message_that_is_too_large_ends_the_session_and_says_for_whom() -> None:
    async def play(peer: RealtimePeer) -> None:
        peer.hang_up(1009, "")

    ran = conduct(RealtimePeer(), play)
    assert ran.events == [("closed", 1009, False)]
    assert ran.messages[-1] == "a message of ours was larger than the agent takes"
