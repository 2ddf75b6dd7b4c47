"""Where the screens get things from: workflows, recordings, engines, folders. One bundle, so that tests hand in their own.

The defaults import when they are called: the first paint does not wait for YAML or for the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from apex_tui.store.settings import Layout, config_path, load_layout, save_layout
from apex_tui.tui.agent_cards import REHEARSAL_CARD, AgentCard
from apex_tui.tui.places import engine_log_path, state_folder

if TYPE_CHECKING:
    from apex_tui.store.recording import Listing, Recording
    from apex_tui.timeline.messages import Run
    from apex_tui.tui.link import Link
    from apex_tui.tui.own_command import Ran
    from apex_tui.workflow.model import Workflow


class Card(Protocol):
    """What the picker needs to know of a workflow (``workflow.library.Card``)."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def title(self) -> str:
        """Its name for people."""

    @property
    def archetype(self) -> str:
        """Its kind of work."""

    @property
    def summary(self) -> str:
        """One or two sentences."""


def _cards() -> Sequence[Card]:
    from apex_tui.workflow.library import list_own, list_workflows

    return [*list_workflows(), *list_own()]


def _workflow(name: str) -> Workflow:
    from apex_tui.workflow.library import find_workflow

    return find_workflow(name)


def _root() -> Path:
    from apex_tui.store.roots import sessions_root

    return sessions_root()


def _recordings() -> Sequence[Listing]:
    from apex_tui.store.recording import list_recordings
    from apex_tui.store.roots import examples_root

    return [*list_recordings(_root()), *list_recordings(examples_root())]


FIRST_EVENTS = 4_000
"""Events of a recording that are read before it is shown: a tenth of a second; a session of ten minutes is read whole."""


def _open(path: Path) -> Recording:
    from apex_tui.store.recording import begin_recording

    return begin_recording(path, FIRST_EVENTS)


def _link() -> Link:
    from apex_tui.tui.link import EngineLink

    return EngineLink()


async def _own_command(arguments: Sequence[str]) -> Ran:
    from apex_tui.tui.own_command import run_own

    return await run_own(arguments)


async def _no_microphone(command: Run) -> str | None:
    from apex_tui.tui.own_command import no_device

    return await no_device(command, "microphone")


def _consent() -> str | None:
    from apex_tui.store.consent import load_consent

    return load_consent()


def _agree() -> Path:
    from apex_tui.store.consent import save_consent

    return save_consent()


def _agents() -> Sequence[AgentCard]:
    return (REHEARSAL_CARD,)


@dataclass(frozen=True, slots=True)
class Sources:
    """The outside world of the screens."""

    cards: Callable[[], Sequence[Card]] = _cards
    workflow: Callable[[str], Workflow] = _workflow
    recordings: Callable[[], Sequence[Listing]] = _recordings
    root: Callable[[], Path] = _root
    open: Callable[[Path], Recording] = _open
    """Called in a thread. A long recording comes with its beginning, and with what reads the rest."""
    link: Callable[[], Link] = _link
    state_folder: Callable[[], Path] = state_folder
    agents: Callable[[], Sequence[AgentCard]] = _agents
    """Asked in a thread when the list of agents is opened; it may import and may raise ``UserError``."""
    consent: Callable[[], str | None] = _consent
    """Whether the person agreed to being recorded; None: they were not asked yet."""
    agree: Callable[[], Path] = _agree
    no_microphone: Callable[[Run], Awaitable[str | None]] = _no_microphone
    """Why the microphone of a run cannot be opened, asked beside the screen; None: it can."""
    own_command: Callable[[Sequence[str]], Awaitable[Ran]] = _own_command
    """Runs our own command line beside the screen."""
    log_file: Callable[[], Path] = engine_log_path
    config_file: Callable[[], Path] = config_path
    load_layout: Callable[[], Layout] = load_layout
    save_layout: Callable[[Layout], None] = save_layout
