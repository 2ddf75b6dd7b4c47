"""The agent's half of a session by itself: neutral events in at media times, frames of the lane, facts out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from apex_tui.agents.seam import (
    Agent,
    AgentEvent,
    AgentSetup,
    AgentText,
    Capabilities,
    Health,
    Hint,
    Ready,
    Stamped,
)
from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, Pcm, pcm_bytes
from apex_tui.audio.playout import PlayOut
from apex_tui.caller.policy import CallerPolicy
from apex_tui.engine.agent_side import AgentSide
from apex_tui.engine.tool_tasks import ToolTasks
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.base import Fact
from apex_tui.timeline.caller_facts import CallerTurnEnded, CallerTurnStarted
from apex_tui.timeline.events import Event
from apex_tui.timeline.log import TimelineWriter
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.library import find_workflow

T = TypeVar("T", bound=Fact)


class FakeAgent:
    """Takes everything, and remembers what it was told."""

    name, family, url, rehearsal = "fake", "fake", "memory:", False

    def __init__(self) -> None:
        self.capabilities = Capabilities()
        self.truncated: list[tuple[str, int]] = []
        self.results: list[tuple[str, str]] = []
        self.lost_ms = 0.0

    async def open(self, setup: AgentSetup) -> Ready:
        return Ready()

    async def events(self) -> AsyncIterator[Stamped]:
        for _ in ():
            yield _

    def send_audio(self, pcm: bytes) -> None: ...
    def send_hint(self, hint: Hint) -> None: ...
    def send_tool_result(self, call_id: str, output: str) -> None:
        self.results.append((call_id, output))

    def truncate(self, item: str, audio_end_ms: int) -> None:
        self.truncated.append((item, audio_end_ms))

    def health(self) -> Health:
        return Health(40.0, self.lost_ms)

    async def close(self) -> None: ...


class Side:
    """An `AgentSide` on a clock that the test moves."""

    def __init__(self, folder: Path, workflow: str = "leave-request", *, voice: bool = True) -> None:
        self.now_s = 0.0
        self.events: list[Event] = []
        self.fake = FakeAgent()
        self.fake.capabilities = Capabilities(audio_out=voice)
        agent: Agent = self.fake
        flow = find_workflow(workflow)
        self.wiring = Wiring(lambda media, learn: self._writer(folder, media, learn), lambda: self.now_s)
        self.wiring.begin(0.0)
        self.playout = PlayOut()
        policy = CallerPolicy(flow, 1)
        self.bench = Workbench(flow, 1, "strict")
        self.tools = ToolTasks(self.bench, agent, self.wiring, policy, flow)
        self.side = AgentSide(flow, agent, self.playout, self.wiring, policy, self.tools)
        self.frames = 0

    def _writer(self, folder: Path, media: Callable[[], float], learn: Callable[[Event], None]) -> TimelineWriter:
        def each(event: Event) -> None:
            self.events.append(event)
            learn(event)

        return TimelineWriter(folder / "events.jsonl", lambda: self.now_s, media, each)

    def run_to(self, ms: float) -> None:
        """Play frames up to ``ms``."""
        while (self.frames + 1) * FRAME_MS <= ms:
            self.frames += 1
            self.now_s = self.frames * FRAME_MS / 1000
            self.wiring.advance(self.frames * FRAME_MS)
            self.side.heard(self.playout.seal(self.frames * FRAME_SAMPLES), self.frames * FRAME_MS)
        self.now_s = ms / 1000

    def take(self, *events: AgentEvent) -> None:
        """These arrive now."""
        for event in events:
            self.side.take(Stamped(self.now_s, event))

    def caller(self, turn: int, ms: float = 3000, floor: str = "BARGE_IN") -> None:
        """The caller becomes audible now."""
        at = self.now_s * 1000
        values: dict[str, Any] = {"plan": "p", "act": "CORRECT", "text": "no", "floor": floor}
        self.wiring.emit(CallerTurnStarted(turn=turn, onset_ms=at, ends_ms=at + ms, value_end_ms=at + ms, **values))

    def caller_ends(self, turn: int) -> None:
        """The caller falls silent now."""
        self.wiring.emit(CallerTurnEnded(turn=turn, offset_ms=self.now_s * 1000))

    def facts(self, kind: type[T]) -> list[T]:
        """The facts of one kind."""
        return [event.fact for event in self.events if isinstance(event.fact, kind)]


def tone(ms: float) -> Pcm:
    at = np.arange(round(ms * 24))
    return (8000 * np.sin(at * 2 * np.pi * 220 / 24000)).astype(np.int16)


def sound(ms: float) -> bytes:
    return pcm_bytes(tone(ms))


def words(text: str, *, final: bool = False, reply: str = "r1") -> AgentText:
    return AgentText(reply, f"i{reply}", text, final)
