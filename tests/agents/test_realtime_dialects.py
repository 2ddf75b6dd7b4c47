"""What the switches of a dialect do to a session of the realtime family; virtual time over a link in memory."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from agent_kit import SETUP, TOOLS, parsed, tone

from apex_tui.agents.dialects import load_profiles
from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.client import RealtimeClient
from apex_tui.agents.realtime.profile import OPENAI, Profile
from apex_tui.agents.realtime.sessions import session_config
from apex_tui.agents.seam import (
    AgentAudio,
    Hint,
    LimitWarning,
    ProviderError,
    Ready,
    ReplyBegun,
    ReplyEnded,
    SpeechStarted,
    Stamped,
    ToolRequest,
    UserTranscript,
)
from apex_tui.agents.transports import MemoryTransport
from apex_tui.audio.frames import FRAME_SAMPLES, pcm_bytes, pcm_from_bytes, to_samples
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.virtual import run_virtual

XAI: Profile = load_profiles()["xai"].profile
STEPFUN: Profile = load_profiles()["stepfun"].profile


@dataclass
class Peer:
    """Answers the set-up with what the test gives, and keeps what it was sent."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    got: list[dict[str, Any]] = field(default_factory=list)
    link: MemoryTransport | None = None

    def opened(self, link: MemoryTransport) -> None:
        self.link = link

    def message(self, raw: str) -> None:
        self.got.append(json.loads(raw))
        if self.got[-1]["type"] == "session.update":
            self.say(*self.answers)

    def say(self, *messages: dict[str, Any]) -> None:
        assert self.link is not None
        for message in messages:
            self.link.feed(json.dumps(message))

    def closed(self) -> None:
        pass

    def sent(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.got if message["type"] == kind]


UPDATED = {"type": "session.updated", "session": {"tools": [{"name": tool["name"]} for tool in TOOLS]}}


def run(
    profile: Profile, peer: Peer, act: Callable[[RealtimeAgent, Peer], None], until_s: float = 1.0
) -> list[Stamped]:
    """Everything that the agent reports until it is closed."""

    async def main() -> list[Stamped]:
        agent = RealtimeAgent(MemoryTransport(peer), profile)
        await agent.open(SETUP)
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, act, agent, peer)
        loop.call_later(until_s, lambda: asyncio.ensure_future(agent.close()))
        return [stamped async for stamped in agent.events()]

    return run_virtual(main())


def of(seen: list[Stamped], kind: type[Any]) -> list[Any]:
    return [stamped.event for stamped in seen if isinstance(stamped.event, kind)]


def test_the_three_session_shapes() -> None:
    ga, xai, beta = (session_config(profile, SETUP) for profile in (OPENAI, XAI, STEPFUN))
    assert ga["type"] == "realtime"
    assert ga["audio"]["input"]["turn_detection"]["interrupt_response"] is True
    assert ga["tools"][0]["name"] == "update_form"
    assert ga["tool_choice"] == "auto"
    assert xai["voice"] == "eve"
    assert xai["turn_detection"] == {
        "type": "server_vad", "threshold": 0.85, "prefix_padding_ms": 333, "silence_duration_ms": 600
    }  # fmt: skip
    assert xai["audio"]["input"]["transcription"] == {"model": "grok-transcribe"}
    assert "tool_choice" not in xai
    assert "type" not in xai
    assert beta["modalities"] == ["text", "audio"]
    assert (beta["input_audio_format"], beta["output_audio_format"]) == ("pcm16", "pcm16")
    assert beta["turn_detection"]["energy_awakeness_threshold"] == 2500
    assert beta["tools"][0]["function"]["name"] == "update_form"
    assert beta["instructions"] == SETUP.instructions


def test_semantic_turn_detection_has_no_threshold() -> None:
    detection = session_config(replace(OPENAI, turn_detection="semantic_vad"), SETUP)["audio"]["input"][
        "turn_detection"
    ]
    assert detection == {"type": "semantic_vad", "create_response": True, "interrupt_response": True}


async def _opened(profile: Profile, peer: Peer) -> Ready:
    agent = RealtimeAgent(MemoryTransport(peer), profile)
    try:
        return await agent.open(SETUP)
    finally:
        await agent.close()


def test_a_server_that_never_confirms_is_ready_after_the_timeout_where_the_dialect_says_so() -> None:
    peer = Peer(answers=[{"type": "conversation.created", "conversation": {}}])
    assert run_virtual(_opened(XAI, peer)).accepted == {"unconfirmed": True}
    with pytest.raises(UserError, match="did not confirm the session within 15 s"):
        run_virtual(_opened(OPENAI, Peer(answers=[{"type": "session.created", "session": {}}])))
    with pytest.raises(UserError, match="within 10 s"):
        run_virtual(_opened(XAI, Peer()))


def test_another_event_can_mean_ready() -> None:
    profile = replace(XAI, ready_events=("conversation.created",))
    ready = run_virtual(_opened(profile, Peer(answers=[{"type": "conversation.created"}])))
    assert (ready.accepted, ready.model) == ({"tools": []}, "grok-voice-latest")


def test_a_confirmation_without_tools_is_a_refusal_only_where_tools_are_echoed() -> None:
    bare = {"type": "session.updated", "session": {}}
    assert run_virtual(_opened(XAI, Peer(answers=[bare]))).accepted["tools"] == []
    with pytest.raises(UserError, match="did not take the tools update_form, submit"):
        run_virtual(_opened(OPENAI, Peer(answers=[bare])))
    wrong = {"type": "session.updated", "session": {"tools": [{"name": "submit"}]}}
    with pytest.raises(UserError, match="did not take the tools update_form"):
        run_virtual(_opened(XAI, Peer(answers=[wrong])))


def client(profile: Profile) -> RealtimeClient:
    made = RealtimeClient(profile)
    made.start(SETUP)
    made.receive(json.dumps(UPDATED))
    made.take()
    return made


def call_and_answer(made: RealtimeClient) -> list[dict[str, Any]]:
    made.receive('{"type":"response.created","response":{"id":"r1"}}')
    call = {"type": "function_call", "status": "completed", "call_id": "c1", "name": "submit", "arguments": "{}"}
    made.receive(json.dumps({"type": "response.output_item.done", "response_id": "r1", "item": call}))
    made.receive('{"type":"response.done","response":{"id":"r1","status":"completed"}}')
    made.take()
    made.tool_result("c1", "{}")
    return parsed(made.take())


def test_a_server_that_continues_by_itself_is_not_asked() -> None:
    assert [m["type"] for m in call_and_answer(client(OPENAI))] == ["conversation.item.create", "response.create"]
    made = client(replace(OPENAI, auto_continue_after_tool=True))
    assert [m["type"] for m in call_and_answer(made)] == ["conversation.item.create"]
    begun = made.receive('{"type":"response.created","response":{"id":"r2"}}')
    assert begun == [ReplyBegun("r2", after_tool=True)]
    made.receive('{"type":"response.done","response":{"id":"r2","status":"completed"}}')
    made.text("hello")
    assert [m["type"] for m in parsed(made.take())] == ["conversation.item.create", "response.create"]


def test_a_written_turn_asks_once_and_waits_for_a_running_reply() -> None:
    made = client(OPENAI)
    made.receive('{"type":"response.created","response":{"id":"r1"}}')
    made.text("hello")
    (item,) = parsed(made.take())
    assert item["item"]["content"] == [{"type": "input_text", "text": "hello"}]
    made.receive('{"type":"response.done","response":{"id":"r1","status":"completed"}}')
    assert [m["type"] for m in parsed(made.take())] == ["response.create"]


def test_errors_are_matched_by_message_where_a_dialect_has_no_codes() -> None:
    made = client(XAI)
    made.text("hello")
    made.take()
    error = {"type": "error", "error": {"message": "Conversation already has an active response"}}
    assert made.receive(json.dumps(error)) == []
    assert [m["type"] for m in parsed(made.take())] == ["response.create"], "asked once more"
    own = client(replace(XAI, busy_match=("busy now",)))
    (seen,) = own.receive(json.dumps(error))
    assert isinstance(seen, ProviderError)
    (over,) = made.receive('{"type":"error","error":{"message":"max_duration reached"}}')
    assert isinstance(over, ProviderError)
    assert over.fatal


def test_cumulative_transcripts_replace_each_other() -> None:
    made = client(XAI)
    kind = "conversation.item.input_audio_transcription"
    seen = [
        *made.receive(json.dumps({"type": f"{kind}.updated", "item_id": "i", "transcript": "the four"})),
        *made.receive(json.dumps({"type": f"{kind}.updated", "item_id": "i", "transcript": "the fourteenth"})),
        *made.receive(json.dumps({"type": f"{kind}.completed", "item_id": "i", "transcript": "the fourteenth."})),
    ]
    assert seen == [
        UserTranscript("i", "the four", final=False),
        UserTranscript("i", "the fourteenth", final=False),
        UserTranscript("i", "the fourteenth.", final=True),
    ]


def test_a_dialect_without_cancel_only_mutes() -> None:
    made = client(replace(OPENAI, supports_cancel=False))
    made.receive('{"type":"response.created","response":{"id":"r1"}}')
    made.cancel()
    assert made.take() == []
    late = {"type": "response.output_audio.delta", "response_id": "r1", "item_id": "i", "delta": "AAAA"}
    assert not [event for event in made.receive(json.dumps(late)) if isinstance(event, AgentAudio)]


def test_the_limit_of_a_session_is_warned_of_and_ends_it_in_order() -> None:
    profile = replace(OPENAI, max_session_s=100.0, warn_before_s=30.0)

    async def main() -> list[Stamped]:
        agent = RealtimeAgent(MemoryTransport(Peer(answers=[UPDATED])), profile)
        await agent.open(SETUP)
        assert agent.capabilities.max_session_s == 100.0
        loop = asyncio.get_running_loop()
        loop.call_later(120, lambda: asyncio.ensure_future(agent.close()))
        return [stamped async for stamped in agent.events()]

    seen = run_virtual(main())
    (warning,) = of(seen, LimitWarning)
    assert warning.seconds == pytest.approx(30, abs=2)
    (over,) = of(seen, ProviderError)
    assert over.fatal
    at = {type(stamped.event): stamped.at for stamped in seen}
    assert at[LimitWarning] == pytest.approx(70, abs=2)
    assert 95 <= at[ProviderError] <= 101


def test_other_wire_rates_lose_no_sound() -> None:
    profile = replace(OPENAI, in_rate=16_000, out_rate=48_000)
    peer = Peer(answers=[UPDATED])
    spoken = np.repeat(tone(1.0), 2)
    frames = tone(0.5)

    def act(agent: RealtimeAgent, peer: Peer) -> None:
        for start in range(0, len(frames), FRAME_SAMPLES):
            agent.send_audio(pcm_bytes(frames[start : start + FRAME_SAMPLES]))
        peer.say({"type": "response.created", "response": {"id": "r1"}})
        for start in range(0, len(spoken), 4799):
            delta = base64.b64encode(pcm_bytes(spoken[start : start + 4799])).decode()
            peer.say({"type": "response.output_audio.delta", "response_id": "r1", "item_id": "i1", "delta": delta})
        peer.say({"type": "response.done", "response": {"id": "r1", "status": "completed"}})

    seen = run(profile, peer, act)
    heard = np.concatenate([pcm_from_bytes(event.pcm) for event in of(seen, AgentAudio)])
    assert len(heard) == pytest.approx(24_000, abs=2)
    assert np.corrcoef(heard[1000:23_000].astype(float), tone(1.0)[1000:23_000].astype(float))[0, 1] > 0.99
    kinds = [type(stamped.event) for stamped in seen]
    assert kinds.index(ReplyEnded) > len(kinds) - 1 - kinds[::-1].index(AgentAudio), "the rest comes before the end"
    sent = sum(len(base64.b64decode(m["audio"])) // 2 for m in peer.sent("input_audio_buffer.append"))
    assert sent == pytest.approx(8_000, abs=40)


def test_push_to_talk_sends_turns_only_commits_them_and_interrupts_at_the_first_sound() -> None:
    profile = replace(OPENAI, turn_detection="push_to_talk")
    assert session_config(profile, SETUP)["audio"]["input"]["turn_detection"] is None
    capabilities = profile.capabilities()
    assert (capabilities.server_vad, capabilities.reports_interruption) == (False, False)
    peer = Peer(answers=[UPDATED])

    async def main() -> list[Stamped]:
        agent = RealtimeAgent(MemoryTransport(peer), profile)
        ready = await agent.open(SETUP)
        assert ready.accepted["mode"] == "push_to_talk"
        loop = asyncio.get_running_loop()
        agent.send_hint(Hint(1, "a", "ANSWER", "words", to_samples(1000), to_samples(1600)))
        agent.send_hint(Hint(2, "b", "BACKCHANNEL", "mhm", to_samples(2500), to_samples(2600)))
        start = loop.time()
        for frame in range(200):
            await asyncio.sleep(start + (frame + 1) * 0.02 - loop.time())
            agent.send_audio(bytes(2 * FRAME_SAMPLES))
        await agent.close()
        return [Stamped(stamped.at - start, stamped.event) async for stamped in agent.events()]

    seen = run_virtual(main())
    (spoken,) = (stamped for stamped in seen if isinstance(stamped.event, SpeechStarted))
    assert spoken.event == SpeechStarted("client_cancel")
    assert spoken.at == pytest.approx(1.02, abs=0.001), "the frame that holds the first sound"
    assert len(peer.sent("input_audio_buffer.append")) == 50, "200 ms before to 200 ms after the turn"
    assert len(peer.sent("input_audio_buffer.commit")) == 1
    assert len(peer.sent("response.create")) == 1
    kinds = [message["type"] for message in peer.got]
    assert kinds.index("input_audio_buffer.commit") == len(kinds) - 2


def test_no_call_is_reported_by_a_dialect_that_repeats_it() -> None:
    made = client(XAI)
    made.receive('{"type":"response.created","response":{"id":"r1"}}')
    call = {"type": "function_call", "status": "completed", "call_id": "c1", "name": "submit", "arguments": "{}"}
    done = {"type": "response.function_call_arguments.done", "response_id": "r1", "call_id": "c1", "arguments": "{}"}
    events = [
        *made.receive(json.dumps(done)),
        *made.receive(json.dumps({"type": "response.output_item.done", "response_id": "r1", "item": call})),
        *made.receive(
            json.dumps({"type": "response.done", "response": {"id": "r1", "status": "completed", "output": [call]}})
        ),
    ]
    assert len([event for event in events if isinstance(event, ToolRequest)]) == 1
