"""Watching an agent's own backend: every change becomes an artifact version on the timeline, with the time since which it may have stood there.

A probe that fails says so once, and once more when it works again; when it stays blind the session ends, since a state that nobody sees
judges nobody. Deliberately not in here: how a look is taken (``probe_readers``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from apex_tui.caller.policy import CallerPolicy
from apex_tui.engine.probe_file import ProbeSpec
from apex_tui.engine.probe_readers import ProbeError, Reader
from apex_tui.engine.wiring import Wiring
from apex_tui.timeline.session_facts import Outcome, SessionWarning
from apex_tui.timeline.work_facts import ArtifactVersion
from apex_tui.workbench.values import UnfitValueError
from apex_tui.workbench.workbench import Workbench

MOST_WARNINGS = 20
"""Warnings of one probe that comes and goes; its blindness is still counted."""
SEEN = "(seen in the agent's backend)"
"""What the caller notes instead of a tool's name: which call wrote it is not known."""


@dataclass(slots=True)
class _Watch:
    spec: ProbeSpec
    reader: Reader
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    seen_ms: float | None = None
    """Position at which the last look that succeeded was begun."""
    blind_since: float | None = None
    warned: int = 0


class Probes:
    """All probes of one session."""

    def __init__(self, probes: list[tuple[ProbeSpec, Reader]]) -> None:
        self._watches = [_Watch(spec, reader) for spec, reader in probes]
        self._tasks: list[asyncio.Task[None]] = []

    def begin(
        self, workbench: Workbench, wiring: Wiring, policy: CallerPolicy, stop: Callable[[Outcome, str], None]
    ) -> None:
        """Look from now on, each probe at its own pace."""
        self._workbench, self._wiring, self._policy, self._stop = workbench, wiring, policy, stop
        self._tasks = [asyncio.create_task(self._follow(w), name=f"probe {w.spec.artifact}") for w in self._watches]

    async def look(self) -> None:
        """Look at everything afresh, now."""
        await asyncio.gather(*(self._look(watch) for watch in self._watches))

    async def end(self) -> None:
        """Look no more; what the probes hold is kept until `close`."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Let go of files and connections."""
        await self.end()
        for watch in self._watches:
            await watch.reader.close()

    async def _follow(self, watch: _Watch) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            await self._look(watch)
            due = max(
                due + watch.spec.every_ms / 1000, loop.time()
            )  # a slow answer delays the next look, and none is made up
            await asyncio.sleep(due - loop.time())

    async def _look(self, watch: _Watch) -> None:
        async with watch.lock:
            begun_ms = self._wiring.media_ms()
            try:
                values = await watch.reader.read()
                facts = self._workbench.observe(watch.spec.artifact, values, watch.spec.source, watch.seen_ms)
            except (ProbeError, UnfitValueError) as error:
                self._failed(watch, begun_ms, str(error))
                return
            if watch.blind_since is not None:
                self._works_again(watch)
            watch.seen_ms = begun_ms
        self._wiring.emit_all(facts)
        for fact in facts:
            if isinstance(fact, ArtifactVersion) and fact.author == "agent":
                paths = tuple(f"{fact.artifact}.{change.field}" for change in fact.changes)
                self._policy.note_tool(self._wiring.media_ms(), SEEN, True, paths)

    def _failed(self, watch: _Watch, begun_ms: float, why: str) -> None:
        spec = watch.spec
        if watch.blind_since is None:
            watch.blind_since = begun_ms
            known = (
                "nothing of it is known yet"
                if watch.seen_ms is None
                else f"it is known as of {watch.seen_ms / 1000:.1f} s"
            )
            self._warn(
                watch, "probe-failed", f"the probe of {spec.artifact} ({spec.source}) failed: {why[:300]}; {known}"
            )
        elif begun_ms - watch.blind_since >= 1000 * spec.give_up_s:
            self._stop(
                "infrastructure",
                f"the agent's backend could not be read for {spec.give_up_s:g} s ({spec.source}): {why[:300]}",
            )

    def _works_again(self, watch: _Watch) -> None:
        blind_s = (self._wiring.media_ms() - (watch.blind_since or 0.0)) / 1000
        watch.blind_since = None
        told = f"the probe of {watch.spec.artifact} ({watch.spec.source}) works again, after {blind_s:.1f} s"
        self._warn(watch, "probe-recovered", told)

    def _warn(self, watch: _Watch, code: str, message: str) -> None:
        watch.warned += 1
        if watch.warned <= MOST_WARNINGS:
            more = "; it comes and goes, and is reported no more" if watch.warned == MOST_WARNINGS else ""
            self._wiring.emit(SessionWarning(code=code, message=message + more))
