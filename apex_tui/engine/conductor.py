"""The conductor: the 20 ms frame, and who is told what. The only place where the caller, the agent, the workbench and the clock meet.

Frame k covers [20k, 20k+20) ms and is sent, sealed and recorded at tick k+1, against an absolute deadline. Messages of the agent are handled
between ticks, at the position where they arrive; a flush or the start of a reply may fall inside a frame. All time is the running loop's time.
Not in here: loading, folders, scoring (`session`), tools as tasks (`tool_tasks`), what the agent's messages mean (`agent_side`), what the
caller's intents mean (`caller_side`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from apex_tui.agents.keys import hide
from apex_tui.agents.seam import Agent, AgentEvent, AgentText, ProviderError, ToolRequest, UserTranscript
from apex_tui.agents.veil import Veil
from apex_tui.audio.channel import Channel, ChannelSpec
from apex_tui.audio.frames import FRAME_MS, FRAME_SAMPLES, SILENT_FRAME, level_db, pcm_bytes
from apex_tui.audio.playout import PlayOut
from apex_tui.audio.recording import LaneWriter
from apex_tui.audio.sinks import Sink
from apex_tui.caller.directed import DirectedPolicy
from apex_tui.caller.scene import Scene
from apex_tui.engine.agent_side import AgentSide
from apex_tui.engine.caller_side import CallerSide, Clips
from apex_tui.engine.director import Director, PersonDoor
from apex_tui.engine.observing import Frame, SelfLook
from apex_tui.engine.person import Person, PersonSide
from apex_tui.engine.tool_tasks import Answer, ToolTasks
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.messages import Direct, Meters
from apex_tui.timeline.session_facts import Outcome, SessionEnded, SessionWarning
from apex_tui.workbench.workbench import Workbench
from apex_tui.workflow.model import Workflow

FRAME_S = FRAME_MS / 1000
FLOOD_MESSAGES = 5000
"""How many messages an agent may be ahead of speech: 100 s of it in pieces of 20 ms. More would fill the disk and starve the frames."""
CHARS_PER_MESSAGE = 256
"""Characters that count as one more message: a quarter of a minute of speech. Few long messages are a flood as many short ones are."""
CALL_WEIGHT = 25
"""Messages that a tool call counts as: it runs for a while, and may leave a version on the disk. Two hundred at once are a flood."""
SPOKEN_PER_FRAME = 4
"""Messages that speech itself takes, a frame: pieces of 10 ms with their words. So many are forgiven in each 20 ms. No measure of speed: a
slow machine, which reads a flood slowly, sees it all the same."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the session ended."""

    outcome: Outcome
    reason: str


def weight(event: AgentEvent) -> int:
    """How many messages an event of the agent counts as."""
    match event:
        case AgentText(text=said) | UserTranscript(text=said) | ProviderError(message=said):
            return 1 + len(said) // CHARS_PER_MESSAGE
        case ToolRequest(arguments=arguments):
            return CALL_WEIGHT + len(str(arguments)) // CHARS_PER_MESSAGE
    return 1


LAST_WORDS_MS = 15_000.0
"""Longest wait for the agent's last words once it has given the call to a person."""


class Conductor:
    """Runs one session from the first frame to the last."""

    def __init__(
        self,
        workflow: Workflow,
        agent: Agent,
        clips: Clips,
        policy: DirectedPolicy,
        workbench: Workbench,
        wiring: Wiring,
        recording: LaneWriter,
        sink: Sink,
        meters: Callable[[Meters], None] | None = None,
        max_s: float | None = None,
        channel: Channel | None = None,
        backlog: Callable[[], int] | None = None,
        secrets: Sequence[str] = (),
        person: Person | None = None,
        door: PersonDoor | None = None,
        directions: Sequence[Direct] = (),
    ) -> None:
        self._veil, self._secrets = Veil(secrets), secrets
        self._agent, self._policy, self._sink = agent, policy, sink
        self._wiring, self._recording = wiring, recording
        budget_s = float(workflow.time_budget_s)
        self._max_ms = 1000 * min(budget_s, max_s if max_s is not None else budget_s)
        self._limit: Ending = (
            Ending("operator", f"the limit of {max_s:g} s that was asked for is reached")
            if max_s is not None and max_s < budget_s
            else Ending("over_time", f"the time budget of {budget_s:.0f} s is used up")
        )
        self._deadline = 0.0
        self._ahead = 0
        self._channel = channel or Channel(ChannelSpec(), ())
        self._playout = PlayOut()
        self._look = SelfLook(agent, self._playout, sink, wiring, meters, backlog)
        self._handed_ms: float | None = None
        self._ending: Ending | None = None
        self._tools = ToolTasks(workbench, agent, wiring, policy, workflow)
        self._tools.failed = partial(self.stop, "infrastructure")
        self._agent_side = AgentSide(workflow, agent, self._playout, wiring, policy, self._tools)
        self._bank = CallerSide(workflow, agent, clips, wiring, policy, workbench)
        self._called = (
            None if person is None else PersonSide(workflow, person, wiring, workbench, sink, policy, self._bank.flags)
        )
        self.director = (
            None
            if self._called is not None or door is None
            else Director(workflow, agent, policy, self._bank, wiring, workbench, sink, door, directions)
        )
        """Who may direct the recorded caller; a person who calls needs none."""

    @property
    def person(self) -> PersonSide | None:
        """The person at the microphone: the one who calls, or one whom the director let in."""
        return self._called or (self.director.person if self.director is not None else None)

    @property
    def tools(self) -> ToolTasks:
        """The calls of the session."""
        return self._tools

    def take_mounted(self, request: ToolRequest, answer: Answer) -> None:
        """A call of an agent that mounted the tools; ``answer`` gets its result."""
        self._tools.begin(hide(request, self._secrets), self._agent_side.too_late(request.reply), answer)

    def stop(self, outcome: Outcome, reason: str) -> None:
        """End the session at the next frame; the first reason counts."""
        if self._ending is None:
            self._ending = Ending(outcome, reason)

    @property
    def late_ms(self) -> Sequence[float]:
        """The lateness of every frame so far, in ms."""
        return self._look.late_ms

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
                deadline = self._deadline = start + (frame + 1) * FRAME_S
                delay = deadline - loop.time()
                # Zero also yields: an overdue frame must not starve the socket.
                await asyncio.sleep(max(0.0, delay))
                begun = loop.time()
                caller_db, agent_db = self._tick(frame)
                work_ms = 1000 * (loop.time() - begun)
                late_ms = 1000 * (begun - deadline)
                self._look.frame(Frame(frame, (frame + 1) * FRAME_MS, late_ms, work_ms, caller_db, agent_db))
                self._wiring.flush_if_due()
                self._ahead = max(0, self._ahead - SPOKEN_PER_FRAME)
                frame += 1
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await self._tools.cancel_all("the session ended")
            if self.director is not None:
                await self.director.close()
        return self._end(frame)

    # --- one frame ----------------------------------------------------------------------------------------------------------------

    def _tick(self, frame: int) -> tuple[float, float]:
        """Send, seal and record one frame, and let the caller act. Returns both lanes' levels (dBFS)."""
        now_ms = (frame + 1) * FRAME_MS
        until = (frame + 1) * FRAME_SAMPLES
        self._wiring.advance(now_ms)
        person = self.person
        caller = self._channel.send((self._bank if person is None else person).frame(frame))
        self._agent.send_audio(pcm_bytes(caller))
        sealed = self._playout.seal(until)
        self._agent_side.heard(sealed, now_ms)
        self._recording.append(caller, sealed.pcm)
        self._sink.play(caller if person is None else SILENT_FRAME, sealed.pcm)  # nobody wants to hear their own voice
        if person is not None:
            person.played(sealed.pcm)
            person.agent_audible = self._agent_side.audible
            person.agent_has_floor = self._agent_side.audible or (
                self._agent_side.open_reply is not None and self._agent_side.reply_played_ms > 0
            )
        self._agent_side.heard_after_ms = self._sink.latency_ms if person is not None else 0.0
        self._let_the_caller_act(self._scene(now_ms), until)
        if self._tools.handed_over is not None and self._said_to_the_end(now_ms):
            self.stop("handed_over", f"the agent gave the call to a person: {self._tools.handed_over[:200]}")
        if now_ms >= self._max_ms:
            self.stop(self._limit.outcome, self._limit.reason)
        return level_db(caller), level_db(sealed.pcm)

    def _let_the_caller_act(self, scene: Scene, until: int) -> None:
        endings = [self.director.frame(scene, until)] if self.director is not None else []
        endings += [self._bank.carry_out(intent, until) for intent in self._policy.look(scene)]
        for ending in endings:
            if ending is not None:
                self.stop(*ending)

    def _said_to_the_end(self, now_ms: float) -> bool:
        """Whether the words with which the agent hands over were heard, or have had time enough."""
        if self._handed_ms is None:
            self._handed_ms = now_ms
        speaking = self._agent_side.audible or self._playout.pending() > 0
        return not speaking or now_ms > self._handed_ms + LAST_WORDS_MS

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
            agent_expected=side.expected or self._tools.awaits_answer(now_ms, side.quiet_since_ms),
        )

    # --- the agent's messages ------------------------------------------------------------------------------------------------------

    async def _read_agent(self) -> None:
        loop = asyncio.get_running_loop()
        async for stamped in self._agent.events():
            for shown in self._veil.take(stamped):
                ending = self._agent_side.take(shown)
                if ending is not None:
                    self.stop(*ending)
            self._ahead += weight(stamped.event)
            if self._ahead > FLOOD_MESSAGES:
                self.stop(
                    "infrastructure",
                    f"the agent floods: it is more than {FLOOD_MESSAGES} messages ahead of what speech takes",
                )
                return
            if loop.time() >= self._deadline:
                await asyncio.sleep(0)  # a full queue is no reason to hold up the frame that is due

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
        for shown in self._veil.finish():
            self._agent_side.take(shown)
        self._agent_side.close()
        if self.person is not None:
            self.person.close()
        self._wiring.finish()
        self._recording.close()
        health = self._look.whole(self._wiring.edges_ms)
        pace = health.pace
        fact = SessionEnded(
            outcome=ending.outcome,
            reason=ending.reason,
            frames=frames,
            late_p50_ms=pace.p50,
            late_p99_ms=pace.p99,
            late_max_ms=pace.max,
            over_20ms=pace.over_20ms,
            dropped=health.dropped,
            timing_degraded=bool(health.because),
            degraded_because=health.because,
            tick_max_ms=health.tick_max_ms,
            underruns=health.underruns,
            caller_sha256=self._recording.caller_sha256,
            agent_sha256=self._recording.agent_sha256,
            caller_clean_sha256=self._channel.clean_sha256,
            lost_packets=self._channel.lost_packets,
        )
        self._wiring.emit(fact)
        return fact
