"""A small engine around an agent in virtual time: it plays out, runs tools, yields, and notes what the agent reported in short words.

The words, one tuple per neutral event (audio and text are summed up per reply instead):
    begun reply after_tool · ended reply status · call id name arguments · back id · started source · stopped source · heard text final ·
    error kind fatal · limit · closed code clean
Replies are named r1, r2 ... in the order in which they began.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agent_kit import SETUP, tone
from peers.base import Server

from apex_tui.agents import seam
from apex_tui.agents.gemini.agent import GeminiAgent
from apex_tui.agents.gemini.profile import GEMINI, GeminiProfile
from apex_tui.agents.gptlive.agent import GptLiveAgent
from apex_tui.agents.gptlive.profile import GPT_LIVE
from apex_tui.agents.realtime.agent import RealtimeAgent
from apex_tui.agents.realtime.profile import OPENAI
from apex_tui.agents.transports import MemoryTransport
from apex_tui.audio.frames import FRAME_SAMPLES, pcm_bytes, pcm_from_bytes, to_ms, to_samples
from apex_tui.audio.playout import PlayOut
from apex_tui.timeline.virtual import run_virtual

SECOND = pcm_bytes(tone(1.0))
LONG = pcm_bytes(tone(3.0))
TOOL_S = 0.2
SILENT_FRAME = bytes(2 * FRAME_SAMPLES)


@dataclass
class Ran:
    """What happened. ``audio``: bytes per reply; ``said``: words per reply; ``runs``: how often each call was carried out."""

    events: list[tuple[Any, ...]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    audio: dict[str, bytes] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)
    flushed_ms: list[float] = field(default_factory=list)
    played_ms: float = 0.0
    sent_bytes: int = 0
    messages: list[str] = field(default_factory=list)

    def of(self, word: str) -> list[tuple[Any, ...]]:
        return [event for event in self.events if event[0] == word]

    def time_of(self, word: str) -> float:
        return next(at for event, at in zip(self.events, self.times, strict=True) if event[0] == word)


class Engine:
    """Conducts one agent for some seconds of virtual time."""

    def __init__(
        self, agent: seam.Agent, ran: Ran, tool_s: float = TOOL_S, frame: Callable[[], bytes] = lambda: SILENT_FRAME
    ) -> None:
        self.agent, self.ran, self.tool_s, self.frame = agent, ran, tool_s, frame
        self.playout = PlayOut()
        self._names: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._items: dict[str, list[str]] = {}
        self.over = False

    async def run(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.start = loop.time()
        reader = asyncio.ensure_future(self._read())
        for number in range(round(seconds * 50)):
            if self.over:
                break
            await asyncio.sleep(max(0.0, self.start + (number + 1) * 0.02 - loop.time()))
            frame = self.frame()
            self.agent.send_audio(frame)
            self.ran.sent_bytes += len(frame)
            sealed = self.playout.seal((number + 1) * FRAME_SAMPLES)
            self.ran.played_ms += to_ms(sum(span.samples for span in sealed.spans))
        await self.agent.close()
        await reader

    async def _read(self) -> None:
        async for stamped in self.agent.events():
            self.take(stamped.event, stamped.at)

    def name(self, reply: str | None) -> str | None:
        if reply is None:
            return None
        return self._names.setdefault(reply, f"r{len(self._names) + 1}")

    def note(self, at: float, *words: Any) -> None:
        self.ran.events.append(words)
        self.ran.times.append(round(at - self.start, 3))

    def take(self, event: seam.AgentEvent, at: float) -> None:
        match event:
            case seam.AgentAudio(reply=reply, item=item, pcm=pcm):
                name = self.name(reply) or ""
                self.ran.audio[name] = self.ran.audio.get(name, b"") + pcm
                self.playout.push(to_samples(1000 * (at - self.start)), reply, item, pcm_from_bytes(pcm))
            case seam.AgentText(reply=reply, text=text, final=final):
                name = self.name(reply) or ""
                self.ran.said[name] = text if final else self.ran.said.get(name, "") + text
            case seam.ReplyBegun(reply=reply, after_tool=after):
                self.note(at, "begun", self.name(reply), after)
            case seam.ReplyEnded(reply=reply, status=status):
                self.note(at, "ended", self.name(reply), status)
                if status == "cancelled" and self.playout.pending_of(reply):
                    self.flush(at)
                self.playout.complete(reply)
            case seam.SpeechStarted(source=source):
                self.note(at, "started", source)
                self.flush(at)
            case seam.SpeechStopped(source=source):
                self.note(at, "stopped", source)
            case seam.UserTranscript(text=text, final=final):
                self.note(at, "heard", text, final)
            case seam.ToolRequest():
                self.note(at, "call", event.call_id, event.name, event.arguments)
                self._run(event)
            case seam.ToolCancelled(call_id=call_id):
                self.note(at, "back", call_id)
                task = self._tasks.pop(call_id, None)
                if task is not None:
                    task.cancel()
            case seam.ProviderError(kind=kind, fatal=fatal):
                self.note(at, "error", kind, fatal)
                self.ran.messages.append(event.message)
                self.over = self.over or fatal
            case seam.LimitWarning():
                self.note(at, "limit")
                self.ran.messages.append(event.message)
            case seam.Closed(code=code, clean=clean):
                self.note(at, "closed", code, clean)
                self.ran.messages.append(event.reason)
                self.over = True

    def flush(self, at: float) -> None:
        flushed = self.playout.flush(to_samples(1000 * (at - self.start)))
        for item in flushed.items:
            self.ran.flushed_ms.append(to_ms(item.received_samples - item.played_samples))
            if item.played_samples and self.agent.capabilities.truncate:
                self.agent.truncate(item.item, int(to_ms(item.played_samples)))

    def _run(self, event: seam.ToolRequest) -> None:
        if event.arguments is None:
            self.agent.send_tool_result(event.call_id, '{"ok":false,"error":"unreadable"}')
            return
        self._tasks[event.call_id] = asyncio.ensure_future(self._tool(event.call_id))

    async def _tool(self, call_id: str) -> None:
        await asyncio.sleep(self.tool_s)
        self._tasks.pop(call_id, None)
        self.ran.runs[call_id] += 1
        self.agent.send_tool_result(call_id, '{"ok":true}')


Script = Callable[[Any], Awaitable[None]]


def model_agent(peer: Any) -> seam.Agent:
    """The agent that asks this server of endpoints, over memory."""
    from peers.model_peer import BASE

    from apex_tui.agents.cascade.agent import CascadeAgent
    from apex_tui.agents.cascade.parts import SpeechToText, TextToSpeech
    from apex_tui.agents.cascade.profile import CascadeProfile
    from apex_tui.agents.text.agent import TextAgent
    from apex_tui.agents.text.endpoint import Endpoint
    from apex_tui.agents.text.model import Model
    from apex_tui.agents.text.profile import TextProfile

    def endpoint() -> Endpoint:
        return Endpoint(BASE, {}, "THE_KEY", 30.0, peer)

    model = Model(TextProfile(family=peer.api, model="m"), endpoint())
    if peer.cascade:
        ears, voice = SpeechToText(endpoint(), "m", None), TextToSpeech(endpoint(), "m", "v")
        peer.agent = CascadeAgent(CascadeProfile(), ears, model, voice)
    else:
        peer.agent = TextAgent(model, name="text")
    agent: seam.Agent = peer.agent
    return agent


def agent_of(peer: Any, *, profile: Any = None, stall_s: float = 30.0) -> seam.Agent:
    """The agent that talks to this server, over memory."""
    from peers.gemini_peer import GeminiPeer
    from peers.gptlive_peer import GptLivePeer

    if not isinstance(peer, Server):
        return model_agent(peer)

    transport = MemoryTransport(peer)
    if isinstance(peer, GeminiPeer):
        chosen = profile if isinstance(profile, GeminiProfile) else GEMINI
        return GeminiAgent(transport, chosen, dial=lambda: MemoryTransport(peer), stall_s=stall_s)
    if isinstance(peer, GptLivePeer):
        return GptLiveAgent(transport, GPT_LIVE, utc=lambda: 1_999_992_800.0, stall_s=stall_s)
    return RealtimeAgent(transport, profile or OPENAI, stall_s=stall_s)


def conduct(peer: Any, script: Script, seconds: float = 6.0, **options: Any) -> Ran:
    """Run the agent against this server while ``script`` plays it; everything in virtual time, ``seconds`` at most."""
    ran = Ran()
    tool_s = options.pop("tool_s", TOOL_S)

    async def main() -> None:
        agent = agent_of(peer, **options)
        await agent.open(SETUP)
        engine = Engine(agent, ran, tool_s, getattr(peer, "frame", lambda: SILENT_FRAME))
        playing = asyncio.ensure_future(_after(0.1, script, peer))
        await engine.run(seconds)
        if not playing.done():
            playing.cancel()
        else:
            playing.result()

    run_virtual(main())
    return ran


async def _after(pause: float, script: Script, peer: Any) -> None:
    await asyncio.sleep(pause)
    await script(peer)
