"""One session for a check: in simulated time, in a folder that is thrown away, and without a log of raw messages, which nobody would read.

Here is the one place where checks and the fault matrix run anything. Deliberately not in here: what is looked for in the verdict.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import resource_tracker
from typing import Literal, TypeVar

from apex_tui.agents.registry import make_agent
from apex_tui.agents.rehearsal.presets import is_rehearsal
from apex_tui.agents.seam import Agent
from apex_tui.engine.headless import run_headless
from apex_tui.engine.speech import Speech, load_speech
from apex_tui.score.verdict import Score
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyNotice, Run
from apex_tui.workflow.model import Workflow

Profile = Literal["strict", "official"]
REHEARSAL = "rehearsal"
MOST_WORKERS = 4
"""Processes: more than this many decode the same clips again and again."""
_interrupted = False
"""Whether this process was told to stop."""
T = TypeVar("T")
R = TypeVar("R")


def play(
    workflow: Workflow,
    seed: int = 1,
    *,
    profile: Profile = "strict",
    agent: str = REHEARSAL,
    typed: Callable[[list[Event]], Agent] | None = None,
    speech: Speech | None = None,
    latency: Mapping[str, float] | None = None,
    failures: Mapping[str, int] | None = None,
    budget_s: float | None = None,
) -> tuple[Score, list[Event]]:
    """Run a session; returns its verdict and its events.

    Args:
        workflow: what is played.
        seed: picks wordings and moments.
        profile: of the environment.
        agent: the rehearsal agent, with a fault if it has one.
        typed: makes an agent that stands in for it, from the list into which the events go as they happen.
        speech: stands in for the bank's.
        latency: ms by tool.
        failures: of a tool's first calls.
        budget_s: seconds after which it is over time.

    Raises:
        ApexError: it could not be run.
    """
    events: list[Event] = []

    def keep(item: Event | AnyNotice) -> None:
        if isinstance(item, Event):
            events.append(item)

    name = agent if typed is None else "typed"
    speech = speech or load_speech(workflow, seed, rehearsal=is_rehearsal(name))
    playing = typed(events) if typed is not None else _rehearsal(name, workflow, speech)
    with tempfile.TemporaryDirectory(prefix="apex-tui-check-") as folder:
        command = Run(
            workflow=workflow.id,
            agent=name,
            seed=seed,
            profile=profile,
            virtual=True,
            sound="none",
            out=folder,
            tool_latency=dict(latency or {}),
            tool_failures=dict(failures or {}),
            budget_s=budget_s,
        )
        result = run_headless(command, keep, workflow=workflow, agent=playing, speech=speech)
    return result.score, events


def _rehearsal(name: str, workflow: Workflow, speech: Speech) -> Agent:
    return make_agent(
        name, url=None, model=None, workflow=workflow, lines=speech.agent, virtual=True, wire=None, log_path=None
    )


def workers() -> int:
    """Processes for sessions that have nothing in common."""
    return min(MOST_WORKERS, os.cpu_count() or 1)


def spread(run: Callable[[T], R], tasks: Sequence[T], count: int | None = None) -> Iterator[R]:
    """The results of ``run`` over the tasks, in their order, by ``count`` processes (1: this one; None: as the machine has cores)."""
    count = workers() if count is None else count
    if count == 1 or len(tasks) < 2:
        yield from map(run, tasks)
        return
    resource_tracker.ensure_running()  # some Pythons open the mask below when they start it
    with ProcessPoolExecutor(min(count, len(tasks)), multiprocessing.get_context("spawn")) as pool:
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                results = pool.map(partial(_answering, run), tasks)  # starts the processes, which inherit the mask
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            yield from results
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _answering(run: Callable[[T], R], task: T) -> R:
    """``run`` in a process of the pool. Ctrl-C, which goes to all processes, is answered here: elsewhere it would print a traceback."""
    global _interrupted
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if _interrupted:
            raise KeyboardInterrupt
        return run(task)
    except KeyboardInterrupt:
        _interrupted = True  # the tasks that wait for this process already are not begun
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def spread_all(run: Callable[[T], R], tasks: Iterable[T], count: int | None = None) -> list[R]:
    """`spread`, all at once."""
    return list(spread(run, list(tasks), count))
