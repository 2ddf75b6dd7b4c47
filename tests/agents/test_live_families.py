"""What the Gemini Live and GPT-Live clients do beyond the table of bug reports: stalls, asynchronous tools, words of a track, junk."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from agent_kit import SETUP
from live_kit import SECOND, conduct
from peers.base import Message
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer
from robustness_kit import ARGUMENTS, called

from apex_tui.agents.gemini.client import GeminiClient
from apex_tui.agents.gemini.profile import GEMINI
from apex_tui.agents.seam import AgentText, ToolRequest

# --- what goes beyond the rows ----------------------------------------------------------------------------------------------------------


def test_a_server_that_owes_a_reply_and_falls_silent_ends_the_session() -> None:
    async def realtime(peer: RealtimePeer) -> None:
        peer.begin()

    async def live(peer: GptLivePeer) -> None:
        await asyncio.sleep(1.0)
        peer._end()

    async def gemini(peer: GeminiPeer) -> None:
        peer.say("I will", SECOND)

    for peer, play in ((RealtimePeer(), realtime), (GptLivePeer(), live), (GeminiPeer(), gemini)):
        ran = conduct(peer, play, 30.0, stall_s=10.0)
        at = ran.times[ran.events.index(("error", "stalled", True))]
        assert 10.0 <= at <= 12.5


def test_silence_that_nobody_owes_is_no_stall() -> None:
    async def realtime(peer: RealtimePeer) -> None:
        called(peer)  # the tool takes long, and then the server is slow once
        await asyncio.sleep(29.0)
        peer.begin()
        peer.end()

    ran = conduct(RealtimePeer(), realtime, 60.0, stall_s=10.0, tool_s=20.0)
    assert not ran.of("error")
    assert ran.events[-1] == ("closed", 1000, True)


def test_a_gemini_tool_that_blocks_cuts_the_reply_in_two() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.say("One moment.", SECOND)
        peer.calls(("c1", "update_form", ARGUMENTS))
        await asyncio.sleep(1.5)
        peer.say("Done.", SECOND)
        peer.end()
        await asyncio.sleep(1.2)

    blocking = replace(GEMINI, tools="BLOCKING")
    peer = GeminiPeer()
    ran = conduct(peer, play, profile=blocking)
    assert [event[:3] for event in ran.events[:-1]] == [
        ("begun", "r1", False),
        ("call", "c1", "update_form"),
        ("ended", "r1", "completed"),
        ("begun", "r2", True),
        ("ended", "r2", "completed"),
    ]
    assert peer.setup["tools"][0]["functionDeclarations"][0]["behavior"] == "BLOCKING"
    assert "scheduling" not in peer.answers["c1"]


def test_a_gemini_agent_talks_on_while_a_call_is_open() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.calls(("c1", "update_form", ARGUMENTS))
        peer.say("I look it up, and meanwhile:", SECOND)
        peer.end()
        await asyncio.sleep(1.5)
        peer.say("Done.", SECOND)
        peer.end()
        await asyncio.sleep(1.2)

    peer = GeminiPeer()
    ran = conduct(peer, play, tool_s=0.6)
    assert [event[0] for event in ran.events[:-1]] == ["call", "begun", "ended", "begun", "ended"]
    assert ran.of("begun") == [("begun", "r1", False), ("begun", "r2", True)]
    assert peer.answers["c1"]["scheduling"] == "WHEN_IDLE"
    assert peer.setup["tools"][0]["functionDeclarations"][0]["behavior"] == "NON_BLOCKING"


def test_speech_goes_on_while_a_call_is_open_and_the_result_goes_back_when_it_is_there() -> None:
    """The realtime shape has no flag for it: the server answers the caller meanwhile, and is asked for a reply on the result once it is idle."""
    at: dict[str, float] = {}

    class Peer(RealtimePeer):
        def take(self, message: Message) -> None:
            if message["type"] != "input_audio_buffer.append":
                at.setdefault(message.get("item", {}).get("type", message["type"]), asyncio.get_running_loop().time())
            super().take(message)

    async def play(peer: RealtimePeer) -> None:
        begun = asyncio.get_running_loop().time()

        def answer() -> None:
            peer.begin()
            peer.say("It is done.", SECOND)
            peer.end()

        peer.on_create = answer
        peer.begin()
        peer.call("c1", "update_form", '{"date": "2026-12-14"}')
        peer.end()
        await asyncio.sleep(0.2)
        peer.caller_starts()
        await asyncio.sleep(0.3)
        peer.caller_stops("are you still there")
        peer.begin()  # by itself
        peer.say("Yes, I am looking it up.", SECOND)
        await asyncio.sleep(1.5)
        peer.end()
        at["idle"] = asyncio.get_running_loop().time()
        await asyncio.sleep(1.5)
        assert at["function_call_output"] - begun == pytest.approx(
            1.0, abs=0.03
        )  # as soon as it was there, in mid-reply

    peer = Peer()
    ran = conduct(peer, play, tool_s=1.0)
    assert ran.runs == {"c1": 1}
    assert ran.of("begun") == [("begun", "r1", False), ("begun", "r2", False), ("begun", "r3", True)]
    assert ran.audio == {"r2": SECOND, "r3": SECOND}
    assert peer.creates == 1
    assert at["response.create"] >= at["idle"] - 0.001, "not while another reply is active"
    assert peer.faults == []


def test_the_words_of_a_continuous_track_find_their_reply() -> None:
    async def play(peer: GptLivePeer) -> None:
        peer.say("One.", SECOND)
        await asyncio.sleep(2.5)
        peer.words(" late", 500, 600)  # of the first, which is over
        peer.words("Two", 3_000, 3_100)  # before its sound
        await asyncio.sleep(0.5)
        peer.say(" and more.", SECOND)
        await asyncio.sleep(2.5)

    ran = conduct(GptLivePeer(), play)
    assert ran.said == {"r1": "One. late", "r2": "Two and more."}
    assert [audio.rstrip(b"\0") for audio in ran.audio.values()] == [SECOND.rstrip(b"\0")] * 2


def test_a_session_of_gpt_live_is_closed_in_order() -> None:
    async def nothing(peer: GptLivePeer) -> None:
        await asyncio.sleep(0.1)

    peer = GptLivePeer()
    ran = conduct(peer, nothing, 1.0)
    assert [m["type"] for m in peer.got if m["type"] != "session.input_audio.append"] == [
        "session.start",
        "session.close",
    ]
    assert ran.events == [("closed", 1000, True)]


JUNK: list[str | bytes] = [
    "",
    "[]",
    "3",
    '{"a":',
    b"\xff\xfe",
    '{"serverContent":3}',
    '{"toolCall":{"functionCalls":[1,{}]}}',
]


@pytest.mark.parametrize("raw", JUNK)
def test_junk_never_ends_a_gemini_session(raw: str | bytes) -> None:
    core = GeminiClient(GEMINI)
    core.start(SETUP)
    core.receive(b'{"setupComplete":{}}')
    assert all(getattr(event, "fatal", False) is False for event in core.receive(raw))
    events = core.receive('{"serverContent":{"modelTurn":{"parts":[{"text":"on"}]}}}')
    assert [type(event) for event in events][-1] is AgentText


def test_several_calls_and_a_turn_may_share_a_message() -> None:
    core = GeminiClient(GEMINI)
    core.start(SETUP)
    core.receive('{"setupComplete":{}}')
    message = {
        "serverContent": {"outputTranscription": {"text": "Now."}, "turnComplete": True},
        "toolCall": {"functionCalls": [{"id": "a", "name": "submit"}, {"id": "b", "name": "submit", "args": {}}]},
        "usageMetadata": {"totalTokenCount": 3},
    }
    calls = [event for event in core.receive(json.dumps(message)) if isinstance(event, ToolRequest)]
    assert [(call.call_id, call.arguments) for call in calls] == [("a", {}), ("b", {})]


def test_a_gemini_session_that_cannot_be_continued_is_no_clean_end() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.handles.clear()  # the service forgot the session
        peer.go_away("30s")
        await asyncio.sleep(5.0)

    peer = GeminiPeer()
    ran = conduct(peer, play)
    assert ran.events[:2] == [("limit",), ("error", "not_resumed", True)]
    assert peer.opened_links == 4  # three attempts


def test_closing_in_the_middle_of_a_move_ends_the_events() -> None:
    class Deaf(GeminiPeer):
        def _set_up(self, setup: Message | None) -> None:
            if self.opened_links == 1:
                super()._set_up(setup)

    async def play(peer: GeminiPeer) -> None:
        peer.go_away("30s")
        await asyncio.sleep(5.0)

    ran = conduct(Deaf(), play, 2.0)
    assert ran.events == [("limit",)]


def test_words_that_lag_behind_their_sound_are_awaited_until_the_turn_is_over() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.say("", SECOND)
        peer.content(generationComplete=True)
        await asyncio.sleep(1.2)  # it has been heard to its end
        for word in ("Good ", "day."):
            peer.content(outputTranscription={"text": word})
        await asyncio.sleep(0.1)
        peer.content(turnComplete=True)
        await asyncio.sleep(0.5)
        peer.say("", SECOND)
        peer.content(generationComplete=True)
        peer.say("And now?", SECOND)  # another one in the same turn
        peer.content(generationComplete=True)

    ran = conduct(GeminiPeer(), play, 4.0)
    assert [event for event in ran.events if event[0] in ("begun", "ended")] == [
        (word, reply, *rest)
        for reply in ("r1", "r2", "r3")
        for word, *rest in (("begun", False), ("ended", "completed"))
    ]
    assert ran.time_of("ended") == pytest.approx(1.4, abs=0.02)
    assert ran.said == {"r1": "Good day.", "r3": "And now?"}


def test_a_reply_whose_words_were_awaited_when_the_connection_broke_is_complete() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.say("", SECOND)
        peer.content(generationComplete=True)
        peer.hang_up(1011, "Internal error encountered.")

    assert ("ended", "r1", "completed") in conduct(GeminiPeer(), play, 2.0).events
