"""What the screens are driven with in tests: a scripted engine, fixed sources, a clock that stands still."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tui_sample as sample

from apex_tui.score.verdict import Score
from apex_tui.store.listing import Listing
from apex_tui.store.recording import Recording
from apex_tui.store.settings import Layout, Settings
from apex_tui.timeline.errors import RecordingError
from apex_tui.timeline.events import Event
from apex_tui.timeline.messages import AnyCommand, Opened, Run
from apex_tui.tui.agent_cards import REHEARSAL_CARD, AgentCard
from apex_tui.tui.app import ApexApp, Start
from apex_tui.tui.link import Item
from apex_tui.tui.own_command import Ran
from apex_tui.tui.sources import Sources
from apex_tui.workflow.caller_model import Flow, ScriptedEvent
from apex_tui.workflow.model import Workflow
from apex_tui.workflow.outcome_model import Gold
from apex_tui.workflow.work_model import ArtifactSchema, ArtifactSpec, Autonomy, FieldSpec, ToolSpec

NO_SOUND = "no sound: PortAudio was not found; the session runs at full speed without it"


@dataclass(frozen=True)
class CardStub:
    """A workflow in the picker's list."""

    id: str
    title: str
    archetype: str
    summary: str


CARDS = (
    CardStub(
        "leave-request", "Leave request", "FORM_FILL", "A caller asks for leave and corrects the end date mid-sentence."
    ),
    CardStub("payment", "Payment", "FORM_FILL", "A caller moves a scheduled payment and then changes its amount."),
)
LISTINGS = (
    Listing(Path("/s/one"), "one", "leave-request", "rehearsal", 7, "2026-11-29T12:31:00Z", "completed", True,
            {"TS": True, "PV": True, "AC": True, "AV": True}, True),
    Listing(Path("/s/two"), "two", "payment", "openai", 3, "2026-11-28T09:00:00Z", "completed", False,
            {"TS": True, "PV": False, "AC": True, "AV": True}, False),
)  # fmt: skip

AGENTS = (
    REHEARSAL_CARD,
    AgentCard("openai", "OpenAI realtime voice agent", note="OPENAI_API_KEY not found", ready=False),
    AgentCard("realtime", "any server of the OpenAI-realtime shape", needs_url=True),
    AgentCard("cascade", "three endpoints", note="OPENAI_API_KEY found (not shown)"),
    AgentCard("rehearsal:slow-to-yield", "speaks on for 900 ms when it is interrupted", rehearsal=True),
    AgentCard("rehearsal:slow-to-answer", "answers 2.5 s after the caller", rehearsal=True),
    AgentCard("rehearsal:fault=discloses", "speaks a protected value too early", rehearsal=True),
)


def workflow(name: str = "leave-request") -> Workflow:
    """A small workflow for the picker's card."""
    return Workflow(
        id=name, title="Leave request", source="recipe", archetype="FORM_FILL", primary_artifact="leave_form",
        autonomy=Autonomy(approval_required_for=("submit_leave_request",)), flow=Flow(states={}), gold=Gold(),
        artifacts={"leave_form": ArtifactSpec.model_validate({"schema": ArtifactSchema(
            artifact_type="FORM", fields=(FieldSpec(name="employee_id", required=True), FieldSpec(name="end_date")))})},
        tools=(ToolSpec(name="update_leave_form"),
               ToolSpec(name="submit_leave_request", tool_class="irreversible_commit")),
        events=(ScriptedEvent(id="e1", type="MID_SPEECH_CORRECTION", delivery="BARGE_IN"),),
    )  # fmt: skip


class FakeLink:
    """An engine that says what it is told to say."""

    def __init__(self, items: Iterable[Item] = (), *, ended: bool = False) -> None:
        self.items = list(items)
        self.sent: list[AnyCommand] = []
        self.problem: str | None = None
        self.ended = ended
        self.detached = False

    async def start(self, command: AnyCommand) -> None:
        self.sent.append(command)

    def send(self, command: AnyCommand) -> None:
        self.sent.append(command)

    def drain(self, limit: int = 300) -> list[Item]:
        items, self.items = self.items[:limit], self.items[limit:]
        return items

    async def detach(self) -> None:
        self.detached = True


def opened(events: Iterable[Event]) -> list[Item]:
    """What an engine says at first: the folder, then events."""
    return [Opened(session="s", folder="/s/live", sound=NO_SOUND), *events]


def recording(path: Path, events: list[Event] | None = None, verdict: Score | None = None) -> Recording:
    """A recording without files."""
    from apex_tui.store.layout import SessionFolder
    from apex_tui.store.meta import meta_from_events

    found = events if events is not None else sample.session()
    meta = meta_from_events(found)
    assert meta is not None
    score = None if verdict is None else verdict.model_dump(mode="json")
    return Recording(SessionFolder(path), meta, workflow(), found, None, score)


async def no_command(arguments: Sequence[str]) -> Ran:
    """No command of ours is run by these screens."""
    raise AssertionError(arguments)


async def some_microphone(_command: Run) -> str | None:
    """There is one."""
    return None


def make_app(
    start: Start | None = None,
    *,
    link: FakeLink | None = None,
    state: Path = Path("/nowhere"),
    verdict: Score | None = None,
    mono: bool = False,
    settings: Settings | None = None,
    own_command: Callable[[Sequence[str]], Awaitable[Ran]] | None = None,
) -> ApexApp:
    """The app over fixed sources and a clock that stands still."""

    def open_fixed(path: Path) -> Recording:
        if path.name == "missing":
            raise RecordingError(f"{path} does not exist")
        return recording(path, verdict=verdict)

    sources = Sources(
        cards=lambda: CARDS,
        workflow=workflow,
        recordings=lambda: LISTINGS,
        root=lambda: Path("/home/user/sessions"),
        open=open_fixed,
        link=lambda: link or FakeLink(),
        state_folder=lambda: state,
        agents=lambda: AGENTS,
        own_command=own_command or no_command,
        consent=lambda: "being recorded",
        no_microphone=some_microphone,
        agree=lambda: Path("/home/user/state/consent.json"),
        log_file=lambda: Path("/home/user/state/engine.log"),
        config_file=lambda: Path("/home/user/config.toml"),
        load_layout=Layout,
        save_layout=lambda _layout: None,
    )
    settings = settings or Settings()
    settings.values["mono"] = mono
    return ApexApp(start, sources=sources, clock=lambda: 0.0, settings=settings)
