"""Runs the cells of a plan: bounded in number, in processes of their own, tried again when the infrastructure fails, resumable after any death.

In here: which cell runs when, retries, and progress. Deliberately not in here: the files (``campaign_cells``), what a process does
(``campaign_worker``), and what the sessions come to (``results``).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from apex_tui.agents.registry import make_agent
from apex_tui.agents.rehearsal.faults import planted
from apex_tui.agents.rehearsal.presets import is_rehearsal, parse
from apex_tui.audio.channel import parse_channel
from apex_tui.engine.speech import Speech, load_speech
from apex_tui.store.layout import SessionFolder
from apex_tui.timeline.messages import Run
from apex_tui.timeline.paths import real_path
from apex_tui.trials.campaign_cells import RETRIED, Attempt, CampaignFolder, Cell, Record
from apex_tui.trials.campaign_inputs import agent_inputs, located, speech_inputs
from apex_tui.trials.plan import Contender, Plan, PlanMistake, about, contenders, wishes
from apex_tui.workflow.library import find_workflow, list_workflows
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.snapshot import digest

Narrate = Callable[[str], None]
MAX_ANSWER = 1 << 20
_GRACE_S = 5.0  # a process that was told to end gets so long to do it


@dataclass(frozen=True, slots=True)
class Tally:
    """How a campaign's work went. ``ran`` cells were finished now, ``skipped`` ones before; ``retries`` are attempts that were repeated."""

    cells: int
    ran: int
    skipped: int
    retries: int
    unsettled: int
    """Cells that have no session that counts: every attempt fell to the infrastructure."""


def cells_of(plan: Plan, home: Path) -> list[Cell]:
    """The cells of a plan in order. ``home``: the folder that paths in the plan are relative to.

    Raises:
        PlanMistake: a workflow, a channel or an agent of the plan does not exist or cannot be used; nothing has been run then.
    """
    names = [card.id for card in list_workflows()] if plan.workflows == ("all",) else list(plan.workflows)
    named = {name: _located(name, home) for name in names}
    loaded: dict[str, Workflow] = {}
    speech: dict[str, Speech] = {}
    for number, name in enumerate(names):
        with about("workflows", number):
            loaded[name] = find_workflow(named[name])
            speech[name] = load_speech(loaded[name], plan.seeds[0])
    for number, channel in enumerate(plan.channels):
        with about("channels", number):
            parse_channel(channel)
    agents = contenders(plan)
    options = {contender.label: located(contender.options, home) for contender in agents}
    for contender in agents:
        with about("agents", contender.place):
            for workflow in loaded.values():
                _check_fits(contender, options[contender.label], workflow)
            _check(contender, options[contender.label], plan, loaded[names[0]], speech[names[0]])
    inputs: dict[str, dict[str, str]] = {}
    for contender in agents:
        with about("agents", contender.place):
            inputs[contender.label] = agent_inputs(contender.agent, options[contender.label])
    digests = {name: digest(workflow) for name, workflow in loaded.items()}
    spoken = {name: speech_inputs(workflow) for name, workflow in loaded.items()}
    cells = [
        Cell(
            workflow=named[wish.workflow],
            workflow_digest=digests[wish.workflow],
            label=wish.contender.label,
            agent=wish.contender.agent,
            url=wish.contender.url,
            model=wish.contender.model,
            options=options[wish.contender.label],
            inputs={**spoken[wish.workflow], **inputs[wish.contender.label]},
            parts=wish.contender.parts,
            seed=wish.seed,
            repeat=wish.repeat,
            channel=wish.channel,
            profile=plan.profile,
            virtual=plan.virtual,
            max_s=plan.max_s,
            usd_per_minute=wish.contender.usd_per_minute,
        )
        for wish in wishes(plan, tuple(names))
    ]
    return list({cell.digest: cell for cell in cells}.values())


def _located(name: str, home: Path) -> str:
    path = home / name
    return str(real_path(path)) if "/" in name or name.endswith((".yaml", ".yml")) or path.is_dir() else name


def _check(contender: Contender, options: dict[str, Any], plan: Plan, workflow: Workflow, speech: Speech) -> None:
    """What would fail in every session is said before the first one."""
    try:
        Run.model_validate({"workflow": workflow.id, "agent": contender.agent, **options})
    except ValidationError as error:
        first = error.errors()[0]
        raise PlanMistake(("agents", contender.place, "options", *first["loc"]), first["msg"].lower()) from None
    dialects = options.get("profile_file")
    make_agent(
        contender.agent, url=contender.url, model=contender.model, workflow=workflow, lines=speech.agent,
        virtual=plan.virtual, wire=None, log_path=None,
        profile_file=Path(str(dialects)) if dialects is not None else None, parts=options.get("parts"),
    )  # fmt: skip


def _check_fits(contender: Contender, options: dict[str, Any], workflow: Workflow) -> None:
    """What would fail in every session of one workflow is no infrastructure either."""
    if is_rehearsal(contender.agent):
        character = parse(contender.agent)
        planted(character.fault, workflow, character.manner)
    for option in ("tool_latency", "tool_failures"):
        unknown = [name for name in options.get(option, {}) if workflow.tool(name) is None]
        if unknown:
            key = ("agents", contender.place, "options", option)
            raise PlanMistake(key, f"{workflow.id} has no tool {unknown[0]!r}")


class _Worker:
    """One process of ``campaign_worker``."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> _Worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "apex_tui.trials.campaign_worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            limit=MAX_ANSWER, start_new_session=True,
        )  # fmt: skip
        return cls(process)

    async def run(self, command: Run) -> dict[str, Any] | None:
        """The answer to one job; None when the process died over it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return None
        try:
            stdin.write(json.dumps({"run": command.model_dump(mode="json")}).encode() + b"\n")
            await stdin.drain()
            line = await stdout.readline()
            answer = json.loads(line) if line.endswith(b"\n") else None
        except (OSError, ValueError):
            return None
        return answer if isinstance(answer, dict) else None

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def close(self, *, kill: bool = False) -> int | None:
        """End the process and return its exit code."""
        if self.alive:
            if kill:
                with suppress(ProcessLookupError):
                    self._process.kill()
            elif self._process.stdin is not None:
                self._process.stdin.close()
            try:
                await asyncio.wait_for(self._process.wait(), _GRACE_S)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
        return self._process.returncode


@dataclass(slots=True)
class Campaign:
    """One run over the cells of a plan. ``narrate`` gets a line for every finished session."""

    plan: Plan
    cells: Sequence[Cell]
    folder: CampaignFolder
    narrate: Narrate
    _idle: list[_Worker] = field(default_factory=list)
    _running: dict[asyncio.Task[Attempt], Cell] = field(default_factory=dict)
    _tries: Counter[str] = field(default_factory=Counter)
    _ran: int = 0
    _started: float = 0.0

    async def run(self) -> Tally:
        """Run what is not finished yet. Raises ``RecordingError`` when the disk refuses."""
        loop = asyncio.get_running_loop()
        self._started = loop.time()
        todo = deque(c for c in self.cells if (r := self.folder.record(c.digest)) is None or not r.settled)
        waiting: list[tuple[float, Cell]] = []
        skipped, total = len(self.cells) - len(todo), len(todo)
        if skipped:
            self.narrate(f"{skipped} of {len(self.cells)} sessions are finished already")
        try:
            while todo or waiting or self._running:
                todo.extend(cell for due, cell in waiting if due <= loop.time())
                waiting = [(due, cell) for due, cell in waiting if due > loop.time()]
                self._fill(todo)
                pause = min((due for due, _ in waiting), default=None)
                timeout = None if pause is None else max(0.0, pause - loop.time())
                if not self._running:
                    await asyncio.sleep(timeout or 0.0)
                    continue
                done, _ = await asyncio.wait(self._running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    cell = self._running.pop(task)
                    delay = self._take(cell, task.result(), total)
                    if delay is not None:
                        waiting.append((loop.time() + delay, cell))
        finally:
            await self._stop()
        records = [self.folder.record(cell.digest) for cell in self.cells]
        return Tally(
            cells=len(self.cells),
            ran=self._ran,
            skipped=skipped,
            retries=sum(self._tries.values()) - self._ran,
            unsettled=sum(1 for record in records if record is None or not record.settled),
        )

    def _fill(self, todo: deque[Cell]) -> None:
        """Start every cell that may run now, in order."""
        limits = {c.label: c.concurrency or self.plan.concurrency.per_agent for c in contenders(self.plan)}
        busy = Counter(cell.label for cell in self._running.values())
        for cell in list(todo):
            if len(self._running) >= self.plan.concurrency.total:
                return
            # A virtual session talks to nobody: only the processor bounds how many there may be.
            if not cell.virtual and busy[cell.label] >= limits[cell.label]:
                continue
            todo.remove(cell)
            busy[cell.label] += 1
            self._tries[cell.digest] += 1
            self._running[asyncio.create_task(self._attempt(cell), name=cell.title)] = cell

    async def _attempt(self, cell: Cell) -> Attempt:
        number, place = self.folder.attempt_folder(cell.digest)
        command = Run.model_validate(
            {
                **cell.options,
                "workflow": cell.workflow,
                "agent": cell.agent,
                "url": cell.url,
                "model": cell.model,
                "seed": cell.seed,
                "profile": cell.profile,
                "virtual": cell.virtual,
                "channel": cell.channel,
                "out": str(place),
                "sound": "none",
                "budget_s": cell.max_s,
            }
        )
        worker = self._idle.pop() if self._idle else await _Worker.start()
        try:
            answer = await worker.run(command)
        except asyncio.CancelledError:
            await worker.close(kill=True)
            raise
        if answer is not None and cell.virtual:
            self._idle.append(worker)
            code = 0
        else:
            code = await worker.close() or 0
        attempt = self._judged(number, place, answer, code)
        self.folder.note_attempt(cell.digest, attempt)
        return attempt

    def _judged(self, number: int, place: Path, answer: dict[str, Any] | None, code: int) -> Attempt:
        if answer is None:
            words = (
                f"the session's process died (signal {-code})" if code < 0 else f"the session's process ended ({code})"
            )
            return Attempt(number=number, validity="not_run", outcome="not run", error=words)
        session = answer.pop("folder")
        where = None if session is None else str(Path(session).relative_to(self.folder.path))
        return Attempt.model_validate({**answer, "number": number, "session": where})

    def _take(self, cell: Cell, attempt: Attempt, total: int) -> float | None:
        """File an attempt; returns the seconds after which the cell is to be tried again, or None when it is finished."""
        tries = self._tries[cell.digest]
        if attempt.validity in RETRIED and tries < self.plan.retries.attempts:
            delay = self.plan.retries.backoff_s * tries
            why = attempt.error or attempt.outcome
            self.narrate(f"{cell.title}: {attempt.validity} ({why}); again in {delay:g} s")
            return delay
        before = tuple(a for a in self.folder.attempts(cell.digest) if a.number < attempt.number)
        self._drop_audio(attempt)
        self.folder.finish(Record(cell=cell, last=attempt, before=before))
        self._ran += 1
        word = "succeeded" if attempt.success else "failed" if attempt.validity == "scored" else attempt.validity
        why = f" ({attempt.error or attempt.outcome})" if not attempt.success else ""
        self.narrate(f"{self._ran}/{total}  {cell.title}: {word}{why}{self._left(total)}")
        return None

    def _left(self, total: int) -> str:
        rest = total - self._ran
        if not rest:
            return ""
        spent = asyncio.get_running_loop().time() - self._started
        left = spent / self._ran * rest
        return f" · {left / 60:.0f} min left" if left >= 90 else f" · {left:.0f} s left"

    def _drop_audio(self, attempt: Attempt) -> None:
        keep = self.plan.keep_audio
        if attempt.session is None or keep == "all" or (keep == "failed" and not attempt.success):
            return
        audio = SessionFolder(self.folder.path / attempt.session).find_audio()
        if audio is not None:
            with suppress(OSError):
                audio.unlink()

    async def _stop(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self._idle))
        self._idle.clear()


def run_campaign(plan: Plan, home: Path, folder: Path, narrate: Narrate) -> Tally:
    """Run a plan to its end; only one process at a time can do so in ``folder``.

    Raises:
        UserError: the plan names something that does not exist, or another process works on it.
        RecordingError: the disk refuses.
    """
    place = CampaignFolder(folder)
    cells = cells_of(plan, home)
    with place.locked():
        place.prepare(plan.name, plan.model_dump(mode="json"), cells)
        narrate(f"campaign {plan.name}: {len(cells)} session{'' if len(cells) == 1 else 's'} in {folder}")
        return asyncio.run(Campaign(plan, cells, place, narrate).run())
