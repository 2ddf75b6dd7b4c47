"""The conductor: the 20 ms frame, and who is told what. The only place where the caller, the agent, the workbench and the clock meet.

Frame k covers [20k, 20k+20) ms and is sent, sealed and recorded at tick k+1, against an absolute deadline. Messages of the agent are handled
between ticks, at the position where they arrive; a flush or the start of a reply may fall inside a frame. All time is the running loop's time.
Not in here: loading, folders, scoring (`session`), tools as tasks (`tool_tasks`), what the agent's messages mean (`agent_side`), what the
caller's intents mean (`caller_side`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from apex_tui.agents.seam import Agent
from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, RATE, level_db, pcm_bytes
from apex_tui.audio.playout import PlayOut
from apex_tui.audio.recording import LaneWriter
from apex_tui.audio.sinks import Sink
from apex_tui.caller.policy import CallerPolicy
from apex_tui.caller.scene import Scene
from apex_tui.engine.agent_side import AgentSide
from apex_tui.engine.caller_side import CallerSide, Clips
from apex_tui.engine.pacing import Pacing
from apex_tui.engine.tool_tasks import ToolTasks
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.messages import Meters
from apex_tui.timeline.session_facts import Outcome, SessionEnded, SessionPulse, SessionWarning
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.model import Workflow

FRAMES_PER_PULSE = 50
FRAMES_PER_METER = 3
FRAME_S = FRAME_MS / 1000


@dataclass(frozen=True, slots=True)
class Ending:
    """How the session ended."""

    outcome: Outcome
    reason: str


class Conductor:
    """Runs one session from the first frame to the last."""

    def __init__(
        self,
        workflow: Workflow,
        agent: Agent,
        clips: Clips,
        policy: CallerPolicy,
        workbench: Workbench,
        wiring: Wiring,
        recording: LaneWriter,
        sink: Sink,
        meters: Callable[[Meters], None] | None = None,
        max_s: float | None = None,
    ) -> None:
        self._agent, self._policy, self._sink = agent, policy, sink
        self._wiring, self._recording, self._meters = wiring, recording, meters
        self._max_ms = 1000 * (max_s if max_s is not None else workflow.time_budget_s)
        self._pacing = Pacing()
        self._playout = PlayOut()
        self._ending: Ending | None = None
        self._tools = ToolTasks(workbench, agent, wiring, policy, workflow)
        self._agent_side = AgentSide(workflow, agent, self._playout, wiring, policy, self._tools)
        self._caller_side = CallerSide(workflow, agent, clips, wiring, policy, workbench)
        self._level_caller = self._level_agent = -120.0
        self._stretch: list[float] = []

    def stop(self, outcome: Outcome, reason: str) -> None:
        """End the session at the next frame; the first reason counts."""
        if self._ending is None:
            self._ending = Ending(outcome, reason)

    async def run(self, workbench_opening: Callable[[], None]) -> SessionEnded:
        """Conduct until someone hangs up, time is over, or the connection is gone. Returns the last fact (already on the timeline)."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        self._wiring.begin(start)
        workbench_opening()
        reader = asyncio.create_task(self._read_agent(), name="agent reader")
        reader.add_done_callback(self._reader_over)
        frame = 0
        try:
            while self._ending is None:
                deadline = start + (frame + 1) * FRAME_S
                delay = deadline - loop.time()
                # Zero also yields: an overdue frame must not starve the socket.
                await asyncio.sleep(max(0.0, delay))
                self._tick(frame, 1000 * (loop.time() - deadline))
                frame += 1
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await self._tools.cancel_all("the session ended")
        return self._end(frame)

    # --- one frame ----------------------------------------------------------------------------------------------------------------

    def _tick(self, frame: int, late_ms: float) -> None:
        now_ms = (frame + 1) * FRAME_MS
        until = (frame + 1) * FRAME_SAMPLES
        self._wiring.advance(now_ms)
        caller = self._caller_side.frame(frame)
        self._agent.send_audio(pcm_bytes(caller))
        sealed = self._playout.seal(until)
        self._agent_side.heard(sealed, now_ms)
        self._recording.append(caller, sealed.pcm)
        self._sink.play(caller, sealed.pcm)
        self._pacing.note(late_ms, now_ms)
        self._stretch.append(late_ms)
        for intent in self._policy.look(self._scene(now_ms)):
            ending = self._caller_side.carry_out(intent, until)
            if ending is not None:
                self.stop(*ending)
        self._summarise(frame, now_ms, late_ms, level_db(caller), level_db(sealed.pcm))
        if now_ms >= self._max_ms:
            self.stop("over_time", f"the time budget of {self._max_ms / 1000:.0f} s is used up")
        self._wiring.flush_if_due()

    def _scene(self, now_ms: float) -> Scene:
        side = self._agent_side
        return Scene(
            now_ms=now_ms,
            agent_audible=side.audible,
            open_reply=side.open_reply,
            reply_played_ms=side.reply_played_ms,
            agent_quiet_since_ms=side.quiet_since_ms,
            tools_running=self._tools.running,
            approval_pending=self._tools.approval_pending,
            agent_expected=side.expected or self._tools.awaiting_answer,
        )

    def _summarise(self, frame: int, now_ms: float, late_ms: float, caller_db: float, agent_db: float) -> None:
        self._level_caller, self._level_agent = max(self._level_caller, caller_db), max(self._level_agent, agent_db)
        queue_ms = round(1000 * self._playout.pending() / RATE, 1)
        if self._meters is not None and frame % FRAMES_PER_METER == 0:
            self._meters(
                Meters(
                    media_ms=now_ms,
                    caller_db=caller_db,
                    agent_db=agent_db,
                    late_ms=round(late_ms, 2),
                    queue_ms=queue_ms,
                )
            )
        if (frame + 1) % FRAMES_PER_PULSE:
            return
        pace = self._pacing.second()
        self._wiring.emit(
            SessionPulse(
                frames=pace.frames,
                late_p50_ms=pace.p50,
                late_p99_ms=pace.p99,
                late_max_ms=pace.max,
                over_20ms=pace.over_20ms,
                dropped=0,
                caller_db=round(self._level_caller, 1),
                agent_db=round(self._level_agent, 1),
                queue_ms=queue_ms,
            )
        )
        self._level_caller = self._level_agent = -120.0

    # --- the agent's messages ------------------------------------------------------------------------------------------------------

    async def _read_agent(self) -> None:
        async for stamped in self._agent.events():
            ending = self._agent_side.take(stamped)
            if ending is not None:
                self.stop(*ending)

    def _reader_over(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._wiring.emit(SessionWarning(code="agent-reader", message=f"reading the agent failed: {error}"))
            self.stop("infrastructure", f"reading the agent failed: {type(error).__name__}: {error}")
        else:
            self.stop("infrastructure", "the agent's connection ended")

    def _end(self, frames: int) -> SessionEnded:
        ending = self._ending or Ending("infrastructure", "the session was cut off")
        self._agent_side.close()
        self._wiring.finish()
        self._recording.close()
        pace = self._pacing.whole()
        fact = SessionEnded(
            outcome=ending.outcome,
            reason=ending.reason,
            frames=frames,
            late_p50_ms=pace.p50,
            late_p99_ms=pace.p99,
            late_max_ms=pace.max,
            over_20ms=pace.over_20ms,
            dropped=0,
            timing_degraded=self._pacing.degraded(self._wiring.edges_ms),
            caller_sha256=self._recording.caller_sha256,
            agent_sha256=self._recording.agent_sha256,
        )
        self._wiring.emit(fact)
        return fact
