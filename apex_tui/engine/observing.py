"""The instrument looks at itself: pacing, queues, levels and under-runs, once a second on the timeline and at the end.

A slow machine must not pass for a slow agent, so a session whose pacing breaks a rule says so at once, and again in its last event.
Deliberately not in here: the rules (`pacing`), and the frames themselves (`conductor`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from apex_tui.agents.seam import Agent, Health, ReportsHealth
from apex_tui.audio.frames import FRAME_MS, RATE, SILENCE_DB
from apex_tui.audio.playout import PlayOut
from apex_tui.audio.sinks import Sink
from apex_tui.engine.pacing import Pace, Pacing
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.messages import Meters
from apex_tui.timeline.session_facts import SessionPulse, SessionWarning

FRAMES_PER_PULSE = 50
FRAMES_PER_METER = 3


class Frame(NamedTuple):
    """One frame as it was handled: its end on the media clock, how late it was, how long its work took, and both lanes' levels."""

    number: int
    end_ms: float
    late_ms: float
    work_ms: float
    caller_db: float
    agent_db: float


class Verdict(NamedTuple):
    """The whole session's health, as its last event states it."""

    pace: Pace
    dropped: int
    because: tuple[str, ...]
    tick_max_ms: float
    underruns: int


class SelfLook:
    """Collects every frame. ``backlog``: bytes that wait for a slow screen."""

    def __init__(
        self,
        agent: Agent,
        playout: PlayOut,
        sink: Sink,
        wiring: Wiring,
        meters: Callable[[Meters], None] | None,
        backlog: Callable[[], int] | None = None,
    ) -> None:
        self._agent, self._playout, self._sink, self._wiring = agent, playout, sink, wiring
        self._meters, self._backlog = meters, backlog
        self._pacing = Pacing()
        self._caller_db = self._agent_db = SILENCE_DB
        self._work_ms = self._work_max_ms = 0.0
        self._dropped = 0
        self._warned = False
        self._sink_problem: str | None = None

    def frame(self, frame: Frame) -> None:
        """One frame was handled."""
        self._pacing.note(frame.late_ms, frame.end_ms)
        self._caller_db = max(self._caller_db, frame.caller_db)
        self._agent_db = max(self._agent_db, frame.agent_db)
        self._work_ms = max(self._work_ms, frame.work_ms)
        if self._meters is not None and frame.number % FRAMES_PER_METER == 0:
            self._meters(
                Meters(
                    media_ms=frame.end_ms,
                    caller_db=frame.caller_db,
                    agent_db=frame.agent_db,
                    late_ms=round(frame.late_ms, 2),
                    queue_ms=self._queue_ms(),
                )
            )
        if (frame.number + 1) % FRAMES_PER_PULSE == 0:
            self._pulse()

    @property
    def late_ms(self) -> Sequence[float]:
        """The lateness of every frame so far, in ms."""
        return self._pacing.late_ms

    def whole(self, edges_ms: Sequence[float]) -> Verdict:
        """The session is over; ``edges_ms``: all audible edges."""
        self._work_max_ms = max(self._work_max_ms, self._work_ms)
        return Verdict(
            self._pacing.whole(),
            self._lost_frames(self._health()),
            self._pacing.reasons(edges_ms),
            round(self._work_max_ms, 3),
            self._underruns(),
        )

    def _pulse(self) -> None:
        pace, health = self._pacing.second(), self._health()
        lost = self._lost_frames(health)
        self._wiring.emit(
            SessionPulse(
                frames=pace.frames,
                late_p50_ms=pace.p50,
                late_p99_ms=pace.p99,
                late_max_ms=pace.max,
                over_20ms=pace.over_20ms,
                dropped=lost - self._dropped,
                caller_db=round(self._caller_db, 1),
                agent_db=round(self._agent_db, 1),
                queue_ms=self._queue_ms(),
                tick_max_ms=round(self._work_ms, 3),
                send_queue_ms=health.queued_ms,
                outlet_bytes=self._backlog() if self._backlog is not None else 0,
                log_lines=self._wiring.waiting_lines,
                underruns=self._underruns(),
            )
        )
        self._dropped = lost
        self._work_max_ms = max(self._work_max_ms, self._work_ms)
        self._work_ms = 0.0
        self._caller_db = self._agent_db = SILENCE_DB
        self._warn_once()
        problem = self._sink.problem
        if problem is not None and problem != self._sink_problem:
            self._wiring.emit(SessionWarning(code="sound-device", message=problem))
        elif problem is None and self._sink_problem is not None:
            self._wiring.emit(SessionWarning(code="sound-device", message=f"{self._sink.description} is back"))
        self._sink_problem = problem

    def _warn_once(self) -> None:
        if self._warned:
            return
        reasons = self._pacing.reasons_so_far(self._wiring.edges_ms)
        if reasons:
            self._warned = True
            message = f"this machine is too slow for trustworthy timings: {'; '.join(reasons)}"
            self._wiring.emit(SessionWarning(code="timing-degraded", message=message))

    def _queue_ms(self) -> float:
        return round(1000 * self._playout.pending() / RATE, 1)

    def _health(self) -> Health:
        return self._agent.health() if isinstance(self._agent, ReportsHealth) else Health()

    def _lost_frames(self, health: Health) -> int:
        return round(health.dropped_ms / FRAME_MS)

    def _underruns(self) -> int:
        return self._sink.underruns
