"""The bug reports that shaped these clients, continued: rows 14 to 26, audio, connections and dialects (see ``test_robustness``)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_kit import SETUP
from live_kit import LONG, SECOND, conduct
from peers.base import b64
from peers.gemini_peer import GeminiPeer
from peers.gptlive_peer import GptLivePeer
from peers.realtime_peer import RealtimePeer
from robustness_kit import ARGS, ARGUMENTS, barge_in, sent_types

from apex_tui.agents.dialects import load_profiles
from apex_tui.agents.gemini.profile import GEMINI
from apex_tui.agents.gptlive.agent import CAPABILITIES as LIVE_CAPABILITIES
from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.transports import Disconnected, MemoryTransport
from apex_tui.timeline.virtual import run_virtual

# --- audio ----------------------------------------------------------------------------------------------------------------------------


def test_row_14_only_possible_rates_and_never_at_the_wrong_speed() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.say("", SECOND, rate=1)
        peer.content(modelTurn={"parts": [{"inlineData": {"mimeType": "audio/mpeg", "data": b64(SECOND)}}]})
        peer.end()
        await asyncio.sleep(0.2)
        peer.say("", SECOND, rate=16_000)  # these samples last 1.5 s at 16 kHz
        peer.end()
        await asyncio.sleep(2.0)

    ran = conduct(GeminiPeer(), play)
    assert [event for event in ran.events if event[0] == "error"] == [("error", "bad_audio", False)]
    assert [len(audio) / 48 for audio in ran.audio.values()] == [pytest.approx(1500, abs=1)]
    assert ran.played_ms == pytest.approx(1500, abs=25)


def test_row_15_nothing_is_committed_where_the_server_hears_turns_itself() -> None:
    async def play(peer: RealtimePeer) -> None:
        for _ in range(3):
            peer.caller_starts()
            await asyncio.sleep(0.2)
            peer.caller_stops("words")
            peer.begin()
            peer.say("Yes.", SECOND)
            peer.end()
            await asyncio.sleep(1.2)

    peer = RealtimePeer()
    conduct(peer, play)
    assert set(sent_types(peer)) == {"session.update"}
    assert peer.faults == []


def test_row_16_transcripts_may_be_late_or_fail_and_are_settled() -> None:
    async def play(peer: RealtimePeer) -> None:
        first, second = peer.caller_stops(), peer.caller_stops()
        peer.begin()
        peer.say("An answer.", SECOND)
        peer.end()
        await asyncio.sleep(1.5)
        kind = "conversation.item.input_audio_transcription"
        peer.transcript_piece(second, "half a")
        peer.emit(f"{kind}.failed", item_id=second, content_index=0, error={"code": "bad", "message": "no words"})
        peer.transcribe(first, "The first turn.")

    ran = conduct(RealtimePeer(), play)
    assert ran.of("heard") == [
        ("heard", "half a", False),
        ("heard", "half a", True),
        ("heard", "The first turn.", True),
    ]
    assert ("error", "bad", False) in ran.events


def test_row_17_what_the_agent_says_is_never_sent_back_to_it() -> None:
    async def play(peer: Any) -> None:
        peer.begin()
        peer.say("Loud.", LONG)
        peer.end()
        await asyncio.sleep(3.2)

    for peer in (RealtimePeer(), GeminiPeer(), GptLivePeer()):
        ran = conduct(peer, play)
        assert ran.played_ms > 2900
        assert len(peer.heard) > 100_000
        assert not any(peer.heard)


# --- Gemini's connections ---------------------------------------------------------------------------------------------------------------


def test_row_18_the_session_outlives_turns_and_connections() -> None:
    async def play(peer: GeminiPeer) -> None:
        for _ in range(2):
            peer.say("A turn.", SECOND)
            peer.end()
            await asyncio.sleep(1.2)
        peer.offer_handle()
        peer.offer_handle(resumable=False)
        peer.go_away("30s")
        await asyncio.sleep(0.5)
        peer.say("After the change.", SECOND)
        peer.end()
        await asyncio.sleep(1.2)

    peer = GeminiPeer()
    ran = conduct(peer, play)
    assert [event[0] for event in ran.events] == ["begun", "ended"] * 2 + ["limit", "limit", "begun", "ended", "closed"]
    assert "moved to a new connection, as announced" in ran.messages[1]
    assert peer.resumed == [peer.handles[-2]]  # the newest that could be resumed; the last came after the change
    assert peer.opened_links == 2
    assert all(audio == SECOND for audio in ran.audio.values())
    assert len(peer.heard) * 3 // 2 >= ran.sent_bytes - 6_000  # the caller's audio waited and was not lost


def test_row_18_the_change_waits_for_a_quiet_moment_but_not_for_ever() -> None:
    async def talking(peer: GeminiPeer) -> None:
        peer.say("In mid-turn.", SECOND)
        peer.go_away("30s")
        await asyncio.sleep(1.5)
        assert peer.opened_links == 1
        peer.end()
        await asyncio.sleep(0.2)
        assert peer.opened_links == 2

    async def endless(peer: GeminiPeer) -> None:
        peer.say("It never ends.", SECOND)
        peer.go_away("8s")
        await asyncio.sleep(5.0)

    assert conduct(GeminiPeer(), talking).of("ended") == [("ended", "r1", "completed")]
    peer = GeminiPeer()
    ran = conduct(peer, endless)
    assert peer.opened_links == 2
    assert ran.of("ended") == [("ended", "r1", "incomplete")]
    assert 2.9 <= ran.time_of("ended") <= 4.2


def test_row_19_each_call_is_answered_once_or_taken_back() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.calls(("good", "update_form", ARGUMENTS), ("bad", "update_form", "no object"))
        await asyncio.sleep(0.5)
        peer.end()
        peer.calls(("gone", "update_form", ARGUMENTS))
        await asyncio.sleep(0.1)
        peer.caller_starts()
        await asyncio.sleep(1.0)

    peer = GeminiPeer()
    ran = conduct(peer, play)
    assert ran.runs == {"good": 1}
    assert set(peer.answers) == {"good", "bad"}
    assert peer.answers["good"]["response"] == {"output": {"ok": True}}
    assert "error" in peer.answers["bad"]["response"]
    assert ran.of("back") == [("back", "gone")]
    assert peer.faults == []


def test_row_20_a_broken_connection_is_resumed_and_no_tool_runs_again() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.calls(("done", "update_form", ARGUMENTS), ("open", "update_form", ARGUMENTS))
        await asyncio.sleep(0.1)
        peer.hang_up(1011, "Internal error encountered.")
        await asyncio.sleep(1.0)
        peer.say("Here again.", SECOND)
        peer.end()
        await asyncio.sleep(1.2)

    peer = GeminiPeer()
    ran = conduct(peer, play)
    assert {event[1] for event in ran.of("back")} == {"done", "open"}
    assert not ran.runs
    assert not peer.answers
    assert peer.opened_links == 2
    assert "it broke (1011)" in ran.messages[0]
    assert ran.audio["r1"] == SECOND
    assert peer.faults == []

    async def refused(peer: GeminiPeer) -> None:
        peer.hang_up(1008, "Quota exceeded.")

    over = conduct(GeminiPeer(), refused)
    assert over.events == [("closed", 1008, False)]
    assert over.messages == ["Quota exceeded."]


def test_row_20_a_call_that_was_carried_out_is_not_run_again_after_a_resumption() -> None:
    async def play(peer: GeminiPeer) -> None:
        peer.calls(("done", "update_form", ARGUMENTS))
        await asyncio.sleep(0.5)
        peer.hang_up(1011, "Internal error encountered.")
        await asyncio.sleep(0.5)
        peer.calls(("done", "update_form", ARGUMENTS))
        await asyncio.sleep(0.5)

    peer = GeminiPeer()
    ran = conduct(peer, play)
    assert peer.opened_links == 2
    assert ran.runs == {"done": 1}
    assert ran.of("call") == [("call", "done", "update_form", ARGUMENTS)]


def test_row_20_a_connection_that_keeps_breaking_is_given_up() -> None:
    async def play(peer: GeminiPeer) -> None:
        while True:
            peer.hang_up(1011, "Deadline expired")
            await asyncio.sleep(0.2)

    peer = GeminiPeer()
    ran = conduct(peer, play)
    assert peer.opened_links == 4
    assert ran.events[-1] == ("closed", 1011, False)
    assert ran.messages[-1] == "Deadline expired"


# --- dialects -------------------------------------------------------------------------------------------------------------------------


def test_row_21_a_server_that_never_says_that_the_session_was_created() -> None:
    class Quiet(RealtimePeer):
        def greet(self) -> None:
            self.emit("conversation.created", conversation={"id": "conv_1"})

    class Silent(Quiet):
        def _update(self, message: dict[str, Any]) -> None:
            pass

    async def play(peer: RealtimePeer) -> None:
        peer.begin()
        peer.end()

    xai = load_profiles()["xai"].profile
    for peer in (Quiet(), Silent()):
        assert conduct(peer, play, profile=xai).events[:2] == [("begun", "r1", False), ("ended", "r1", "completed")]


def test_row_22_all_calls_of_the_session_are_answered_before_the_delegate_goes_on() -> None:
    async def play(peer: GptLivePeer) -> None:
        peer.delegate(("a1", "update_form", ARGS), ("a2", "update_form", ARGS), delegation="dlg_a")
        await asyncio.sleep(0.1)
        peer.delegate(("b1", "update_form", ARGS), delegation="dlg_b", finish="")
        await asyncio.sleep(0.15)
        assert (len(peer.answers), peer.creates) == (2, 0)  # b1 is open
        await asyncio.sleep(0.2)
        assert (len(peer.answers), peer.creates) == (3, 0)  # its response still runs
        peer.finish("dlg_b")
        await asyncio.sleep(0.1)
        assert peer.creates == 1

    peer = GptLivePeer()
    ran = conduct(peer, play)
    assert ran.runs == {"a1": 1, "a2": 1, "b1": 1}
    assert peer.faults == []


def test_row_23_every_timing_of_a_barge_in_says_where_it_is_from() -> None:
    async def play(peer: Any) -> None:
        peer.begin()
        peer.say("A long one.", LONG)
        await asyncio.sleep(0.5)
        peer.caller_starts()
        await asyncio.sleep(0.5)

    assert conduct(RealtimePeer(), play).of("started") == [("started", "server_vad")]
    assert conduct(GeminiPeer(), play).of("started") == [("started", "server_interrupt")]
    assert conduct(GptLivePeer(), play).of("started") == []
    assert not LIVE_CAPABILITIES.reports_interruption
    assert not LIVE_CAPABILITIES.server_vad


class Stuck(MemoryTransport):
    """A socket that takes the set-up and then nothing."""

    def offer(self, message: str) -> bool:
        audio = ('{"type":"input_audio', '{"type":"session.input_audio', '{"realtimeInput":')
        return not message.startswith(audio) and super().offer(message)

    async def send(self, message: str) -> None:
        if not self.offer(message):
            await asyncio.sleep(60.0)
            raise Disconnected


def test_row_24_audio_that_cannot_be_sent_does_not_pile_up() -> None:
    from apex_tui.agents.gemini.agent import GeminiAgent
    from apex_tui.agents.gptlive.agent import GptLiveAgent
    from apex_tui.agents.gptlive.profile import GPT_LIVE
    from apex_tui.agents.realtime.agent import RealtimeAgent

    async def main(agent: Any) -> tuple[float, float, list[Any]]:
        await agent.open(SETUP)
        for _ in range(400):
            agent.send_audio(bytes(960))
            await asyncio.sleep(0.02)
        health = agent.health()
        await agent.close()
        return health.queued_ms, health.dropped_ms, [stamped.event async for stamped in agent.events()]

    for agent in (
        RealtimeAgent(Stuck(RealtimePeer()), OPENAI),
        GeminiAgent(Stuck(GeminiPeer()), GEMINI),
        GptLiveAgent(Stuck(GptLivePeer(track=False)), GPT_LIVE),
    ):
        queued, dropped, events = run_virtual(main(agent))
        assert 4900 <= queued <= 5000
        assert queued + dropped == pytest.approx(8000, abs=60)
        assert "backpressure" in [getattr(event, "kind", "") for event in events]


def test_row_25_the_text_of_a_call_is_never_spoken() -> None:
    async def realtime(peer: RealtimePeer) -> None:
        peer.begin()
        peer.call("c1", "update_form", '<tool>{"date": ')
        peer.end()
        await asyncio.sleep(0.3)

    async def gemini(peer: GeminiPeer) -> None:
        peer.calls(("c1", "update_form", '<tool>{"date": '))
        await asyncio.sleep(0.3)

    async def live(peer: GptLivePeer) -> None:
        peer.delegate(("c1", "update_form", '<tool>{"date": '))
        event = {"type": "response.output_text.delta", "delta": "thinking aloud", "sequence_number": 5}
        peer.inner("dlg_1", event)
        await asyncio.sleep(0.3)

    for peer, play in ((RealtimePeer(), realtime), (GeminiPeer(), gemini), (GptLivePeer(), live)):
        ran = conduct(peer, play)
        assert "".join(ran.said.values()) == ""
        assert ran.of("call") == [("call", "c1", "update_form", None)]


def test_row_26_a_reply_can_be_interrupted_as_long_as_it_plays() -> None:
    peer = RealtimePeer()
    ran = barge_in(peer, after=2.0)  # everything arrived 2 s ago, a second is still to play
    assert ran.of("ended") == [("ended", "r1", "completed")]
    assert ran.flushed_ms == [pytest.approx(1000, abs=120)]
    assert list(peer.truncated.values()) == [pytest.approx(2000, abs=120)]
    assert ran.played_ms < 2150
