from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from agent_kit import SETUP, TOOLS

from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.profile import OPENAI, flat_tool
from apex_tui.agents.seam import AgentAudio, Closed, Hint, ProviderError, ReplyBegun, Stamped
from apex_tui.agents.transports import Disconnected, MemoryTransport
from apex_tui.timeline.errors import UserError
from apex_tui.timeline.virtual import run_virtual

UPDATED = json.dumps({"type": "session.updated", "session": {"tools": [flat_tool(tool) for tool in TOOLS]}})


@dataclass
class ScriptedPeer:
    """A server that answers the set-up, and then does what the test says."""

    setup_answer: str | None = UPDATED
    got: list[dict[str, Any]] = field(default_factory=list)
    link: MemoryTransport | None = None
    gone: bool = False

    def opened(self, link: MemoryTransport) -> None:
        self.link = link
        link.feed('{"type":"session.created","session":{}}')

    def message(self, raw: str) -> None:
        self.got.append(json.loads(raw))
        if self.got[-1]["type"] == "session.update" and self.setup_answer is not None:
            assert self.link is not None
            self.link.feed(self.setup_answer)

    def closed(self) -> None:
        self.gone = True


def run(act: Callable[[MemoryTransport], None], peer: ScriptedPeer | None = None) -> list[Stamped]:
    """Everything that the agent reports when the peer acts 100 ms after the start and the agent closes at 1 s."""
    chosen = peer if peer is not None else ScriptedPeer()

    async def main() -> list[Stamped]:
        agent = RealtimeAgent(MemoryTransport(chosen), OPENAI)
        await agent.open(SETUP)
        assert chosen.link is not None
        loop = asyncio.get_running_loop()
        loop.call_later(0.1, act, chosen.link)
        loop.call_later(1.0, lambda: asyncio.ensure_future(agent.close()))
        return [stamped async for stamped in agent.events()]

    return run_virtual(main())


def test_events_are_stamped_with_the_loop_time_of_their_arrival() -> None:
    seen = run(lambda link: link.feed('{"type":"response.created","response":{"id":"r1"}}'))
    assert seen[0] == Stamped(0.1, ReplyBegun("r1"))


def test_our_own_close_is_clean() -> None:
    peer = ScriptedPeer()
    assert run(lambda link: None, peer) == [Stamped(1.0, Closed(1000, "", True))]
    assert peer.gone


@pytest.mark.parametrize("code", [1001, 1008, 1011, None])
def test_a_close_from_the_other_side_is_not_clean(code: int | None) -> None:
    seen = run(lambda link: link.hang_up(code, "Your session hit the maximum duration of 60 minutes."))
    assert seen == [Stamped(0.1, Closed(code, "Your session hit the maximum duration of 60 minutes.", False))]


def test_what_was_sent_before_the_close_still_arrives() -> None:
    def act(link: MemoryTransport) -> None:
        link.feed('{"type":"response.created","response":{"id":"r1"}}')
        link.hang_up(1000, "bye")

    assert [stamped.event for stamped in run(act)] == [ReplyBegun("r1"), Closed(1000, "bye", True)]


def test_a_large_message_is_taken() -> None:
    delta = "AAAA" * (1024 * 1024)
    seen = run(
        lambda link: link.feed(
            json.dumps({"type": "response.output_audio.delta", "response_id": "r", "item_id": "i", "delta": delta})
        )
    )
    assert [len(stamped.event.pcm) for stamped in seen if isinstance(stamped.event, AgentAudio)] == [3 * 1024 * 1024]


def test_binary_junk_is_reported_and_tapped() -> None:
    tapped: list[tuple[float, str, str]] = []
    peer = ScriptedPeer()

    async def main() -> list[Stamped]:
        agent = RealtimeAgent(MemoryTransport(peer), OPENAI, wire=lambda at, way, text: tapped.append((at, way, text)))
        await agent.open(SETUP)
        assert peer.link is not None
        peer.link.feed(b"\xff\xfe")
        await asyncio.sleep(0.1)
        await agent.close()
        return [stamped async for stamped in agent.events()]

    seen = run_virtual(main())
    assert isinstance(seen[0].event, ProviderError)
    assert [way for _, way, _ in tapped] == ["out", "in", "in", "in"]
    assert json.loads(tapped[0][2])["type"] == "session.update"
    assert tapped[-1] == (0.0, "in", "\ufffd\ufffd")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ('{"type":"session.updated","session":{"tools":[]}}', "did not take the tools update_form, submit"),
        (
            '{"type":"error","error":{"code":"unknown_parameter","message":"Unknown: x"}}',
            "refused the session: Unknown: x.",
        ),
        (None, "did not confirm the session within 15 s"),
    ],
)
def test_a_session_that_does_not_stand_is_one_sentence(answer: str | None, sentence: str) -> None:
    peer = ScriptedPeer(answer)

    async def main() -> None:
        await RealtimeAgent(MemoryTransport(peer, "memory:test"), OPENAI).open(SETUP)

    with pytest.raises(UserError, match=sentence) as caught:
        run_virtual(main())
    assert str(caught.value).startswith("memory:test ")
    assert peer.gone


def test_a_close_during_the_setup_is_one_sentence() -> None:
    class Refusing(ScriptedPeer):
        def opened(self, link: MemoryTransport) -> None:
            link.hang_up(4000, "invalid_request_error.beta_api_shape_disabled")

    async def main() -> None:
        await RealtimeAgent(MemoryTransport(Refusing(), "memory:test"), OPENAI).open(SETUP)

    with pytest.raises(UserError, match=r"closed the connection before the session stood \(4000, invalid_request"):
        run_virtual(main())


def test_a_hint_goes_only_to_a_rehearsal_agent() -> None:
    peer = ScriptedPeer()

    async def main() -> None:
        agent = RealtimeAgent(MemoryTransport(peer), OPENAI)
        await agent.open(SETUP)
        agent.send_hint(Hint(1, "p", "ANSWER", "t", 0, 10))
        await agent.close()

    run_virtual(main())
    assert [message["type"] for message in peer.got] == ["session.update"]


class SlowTransport(MemoryTransport):
    """A socket that takes nothing before ``open_at``."""

    open_at = 10.0

    def offer(self, message: str) -> bool:
        return "session.update" in message and super().offer(message)

    async def send(self, message: str) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self.open_at - loop.time()))
        if not super().offer(message):
            raise Disconnected


def test_a_backlog_of_audio_is_reported_with_what_it_cost() -> None:
    peer = ScriptedPeer()

    async def main() -> list[Stamped]:
        agent = RealtimeAgent(SlowTransport(peer), OPENAI)
        await agent.open(SETUP)
        for _ in range(550):
            agent.send_audio(bytes(960))
            await asyncio.sleep(0.02)
        await agent.close()
        return [stamped async for stamped in agent.events()]

    seen = run_virtual(main())
    reports = [s.event for s in seen if isinstance(s.event, ProviderError)]
    assert [report.kind for report in reports] == ["backpressure", "backpressure"]
    assert "5 s wait" in reports[0].message
    arrived = sum(message["type"] == "input_audio_buffer.append" for message in peer.got)
    assert f"{(550 - arrived) * 20} ms" in reports[1].message
    assert 250 < arrived < 550
